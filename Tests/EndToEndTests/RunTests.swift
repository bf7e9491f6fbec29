import Foundation
import Testing

extension EndToEnd {
    @Suite(.enabled(if: Package.hasSample, "needs the sample: make sample")) struct Runs {
        let workshop: Workshop
        init() throws { workshop = try Workshop() }

        private func servedPort(_ text: String) -> Int? {
            text.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) }
        }

        @Test(arguments: [SIGINT, SIGTERM])
        func `an interrupt ends it at once and well`(signal: Int32) throws {
            let running = try Running(["run", "--source", "sample", "--sink", "null"], in: workshop)
            try #require(running.waits(for: "->"), "\(running.said)")
            Thread.sleep(forTimeInterval: 1)
            try #require(running.process.isRunning, "\(running.said)")
            let asked = Date()
            kill(running.process.processIdentifier, signal)
            let outcome = running.wait(limit: 20)
            #expect(outcome.code == 0, "\(outcome)")
            #expect(Date().timeIntervalSince(asked) < 2, "\(outcome)")
        }

        @Test func `an interrupted recording is a clip that plays`() throws {
            let running = try Running(["run", "--source", "sample", "--sink", "out.mp4"], in: workshop)
            try #require(running.waits(for: "out.mp4"), "\(running.said)")
            Thread.sleep(forTimeInterval: 3)
            kill(running.process.processIdentifier, SIGINT)
            let outcome = running.wait(limit: 30)
            try #require(outcome.code == 0, "\(outcome)")
            let parts = try workshop.measure(workshop.path("out.mp4")).split(separator: " ")
            #expect(parts.first == "1280x720" && (Int(parts.last ?? "") ?? 0) > 5, "\(parts)")
            #expect(try workshop.shell("ls").contains(".part.") == false)
        }

        @Test(.enabled(if: !Package.hasVideoDevices, "needs a computer without video devices"))
        func `without camera and loopback it shows the sample on a page, and says how to get the rest`() throws {
            let config = try workshop.write("{\"page\": {\"port\": 0}}", "c.json")
            let running = try Running(["run", "--config", config], in: workshop)
            try #require(running.waits(for: "http://127.0.0.1:"), "\(running.said)")
            #expect(running.said.contains("--source FILE") && running.said.contains("sudo modprobe v4l2loopback"))
            let port = try #require(servedPort(running.said))
            let token = try #require(running.said.firstMatch(of: /token=([0-9a-f]{64})/)?.1)
            let cookie = "Cookie: guise-\(port)=\(token)"
            let address = "http://127.0.0.1:\(port)/stream"
            try workshop.shell(
                "timeout 20 ffmpeg -v error -headers '\(cookie)' -f mpjpeg -i \(address) -frames:v 2 'frame%d.png'")
            #expect(try workshop.measure(workshop.path("frame2.png")) == "640x360 1")
            let asked = Date()
            kill(running.process.processIdentifier, SIGINT)
            #expect(running.wait(limit: 20).code == 0)
            #expect(Date().timeIntervalSince(asked) < 2)
        }

        @Test func `a port that another program has is told, with the cure`() throws {
            let config = try workshop.write("{\"page\": {\"port\": 0}}", "free.json")
            let first = try Running(["run", "--source", "sample", "--sink", "page", "--config", config], in: workshop)
            try #require(first.waits(for: "http://127.0.0.1:"), "\(first.said)")
            let port = try #require(servedPort(first.said))
            let taken = try workshop.write("{\"page\": {\"port\": \(port)}}", "taken.json")
            let outcome = try workshop.guise("run", "--source", "sample", "--sink", "page", "--config", taken)
            #expect(outcome.code == 1, "\(outcome)")
            #expect(outcome.lines.last?.contains("port \(port): another program has it") == true, "\(outcome)")
            kill(first.process.processIdentifier, SIGTERM)
            #expect(first.wait().code == 0)
        }

        @Test(.enabled(if: !Package.hasVideoDevices, "needs a computer without video devices"))
        func `no camera, no such device and no loopback are each one line with the cure`() throws {
            for (arguments, words) in [
                (["--source", "camera", "--sink", "null"], "no camera was found; plug one in"),
                (["--source", "/dev/video77", "--sink", "null"], "/dev/video77"),
                (["--source", "sample", "--sink", "loopback"], "sudo modprobe v4l2loopback exclusive_caps=1"),
                (["--source", "sample", "--sink", "/dev/video77"], "/dev/video77"),
            ] {
                let outcome = try Program.run(["run"] + arguments, in: workshop)
                #expect(outcome.code == 1 && outcome.lines.count == 1, "\(outcome)")
                #expect(outcome.errors.hasPrefix("guise: ") && outcome.errors.contains(words), "\(outcome)")
            }
            let devices = try workshop.guise("devices")
            #expect(devices.code == 0 && devices.errors.contains("no video devices"), "\(devices)")
        }

        @Test func `an option that does not exist is refused as the command line's mistake`() throws {
            let outcome = try workshop.guise("run", "--sorce", "sample")
            #expect(outcome.code == 64 && outcome.errors.contains("--source"), "\(outcome)")
        }
    }
}
