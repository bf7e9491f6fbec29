import Foundation
import TestSupport
import Testing

extension EndToEnd {
    @Suite struct Installation {
        @Test(
            .needsSample,
            .enabled(
                if: Fixtures.exists(Fixtures.inPackage(".build/release/guise-objects")),
                "needs the release build: make build"))
        func `installing again, and removing, leaves what was taught, also below a folder with a space`() throws {
            let scratch = try ScratchFolder()
            // The folder that XDG_DATA_HOME/guise is by default, where the installation goes too.
            let shared = "my home/.local/share/guise"
            try scratch.write("a picture", "\(shared)/Things/card/1.jpg")
            func make(_ goal: String) throws {
                try scratch.shell(
                    "make -C '\(Fixtures.package)' -o build -o sample -o outline \(goal) SETUP=: "
                        + "DESTDIR='\(scratch.url.path)' PREFIX='/my home/.local'")
            }
            try make("install")
            #expect(scratch.names(in: shared).contains("Masks") && scratch.names(in: shared).contains("Things"))
            // The test's own, which users have no use for.
            #expect(!scratch.names(in: "\(shared)/samples").contains("axe"))
            let launcher = try scratch.read("my home/.local/share/applications/guise.desktop")
            #expect(String(decoding: launcher, as: UTF8.self).contains("\nExec=\"/my home/.local/bin/guise\" page\n"))
            try scratch.write("old", "\(shared)/Masks/old/mask.json")
            try make("install")
            #expect(!scratch.names(in: "\(shared)/Masks").contains("old"))
            try make("uninstall")
            #expect(scratch.names(in: shared) == ["Things"])
            #expect(scratch.names(in: "\(shared)/Things/card") == ["1.jpg"])
            #expect(scratch.names(in: "my home/.local/bin").isEmpty)
        }
    }
}
