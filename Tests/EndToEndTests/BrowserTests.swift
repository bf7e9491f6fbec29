import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
    /// The local page as people meet it: a running guise, looked at and clicked on in a real browser.
    @Suite(.serialized, .goesFirst, .needsSample, .needsReleaseBuild, .needsBrowser) struct BrowserTests {
        /// The page of a running guise, open in the browser that all of these tests share.
        private final class Stage {
            let guise: RunningGuise
            let browser: Browser
            /// With the token.
            let address: String
            /// "http://127.0.0.1:PORT/"
            let place: String

            private static let browser = Result { try Browser(in: try ScratchFolder()) }
            private static let sample = Result { try start(["--source", "sample"]) }

            static func start(
                _ source: [String], port: Int = 0, in scratch: ScratchFolder? = nil
            ) throws -> RunningGuise {
                try RunningGuise(
                    source + ["--sink", "page"],
                    config: #"{"page": {"port": \#(port)}, "masks": [], \#(RunningGuise.smallOutput)}"#, in: scratch,
                    isPublishing: false)
            }

            /// - Parameter guise: one of the test's own; nil: the one that tests share, as it was at its start.
            init(_ own: RunningGuise? = nil, width: Int = 1280) throws {
                guise = try own ?? Self.sample.get()
                browser = try Self.browser.get()
                let told = try guise.guise("page", "--no-open")
                let match = try #require(told.out.firstMatch(of: /(http:\/\/127\.0\.0\.1:\d+\/)\?token=\S+/), "\(told)")
                (address, place) = (String(match.0), String(match.1))
                try browser.resize(width: width, height: 800)
                try browser.open(address)
                try #require(browser.waits(for: "document.querySelector('#live').naturalWidth"), "the picture comes")
                try #require(browser.waits(for: "document.querySelectorAll('[data-mask]').length > 40"))
                try guise.reset()
                try browser.run(Self.eyes)
            }

            /// `look()`: the picture on the page as 64 x 36 pixels of red, green, blue; no other site's script may see them.
            private static let eyes = """
                window.lookAt = (what) => {
                    const canvas = document.createElement("canvas");
                    [canvas.width, canvas.height] = [64, 36];
                    const pen = canvas.getContext("2d");
                    pen.drawImage(document.querySelector(what), 0, 0, 64, 36);
                    return [...pen.getImageData(0, 0, 64, 36).data].filter((_, at) => at % 4 < 3);
                };
                window.look = () => lookAt("#live");
                """

            func look(at what: String = "#live") throws -> [Double] {
                try browser.run("return lookAt('\(what)')").elements.compactMap(\.number)
            }

            var worn: [String] { get throws { try guise.worn } }

            /// The files of a folder in the home.
            func files(_ folder: String) -> [String] {
                guise.scratch.names(in: folder).map { guise.scratch.path("\(folder)/\($0)") }
            }

            /// Asks without a browser, and without its cookie.
            func ask(_ path: String, _ method: String = "GET", _ headers: [String: String] = [:]) throws -> (
                code: Int, headers: [String: String], body: String
            ) {
                try Browser.fetch(method, place + path, headers, in: guise.scratch)
            }

            /// Waits while pictures are published.
            func comes(_ isMet: () throws -> Bool) -> Bool { guise.waits { _ in try isMet() } }
        }

        /// Mean difference of two looks, of 255.
        private func difference(_ one: [Double], _ two: [Double]) -> Double {
            zip(one, two).reduce(0) { $0 + abs($1.0 - $1.1) } / Double(max(1, one.count))
        }

        @Test func `the picture moves`() throws {
            let stage = try Stage()
            let first = try stage.look()
            try #require(first.count == 64 * 36 * 3)
            #expect(stage.comes { try difference(first, stage.look()) > 5 })
        }

        @Test func `a click on santa changes the picture, and so does a slider`() throws {
            // A photo stands still: what changes is the mask.
            let stage = try Stage(Stage.start(["--source", Fixtures.sample, "--realtime", "--loop"]))
            let bare = try stage.look()
            try stage.browser.click(".mask[data-mask=santa]")
            #expect(stage.browser.waits(for: "document.querySelector('.mask[data-mask=santa]').ariaPressed == 'true'"))
            #expect(try stage.worn == ["santa"])
            #expect(stage.comes { try difference(bare, stage.look()) > 2 })
            let dressed = try difference(bare, stage.look())

            try stage.browser.run("document.querySelector('#worn input[type=range]').focus()")
            for _ in 0..<5 { try stage.browser.stroke(Key.pageDown) }
            #expect(stage.comes { try difference(bare, stage.look()) < dressed * 0.75 })
            let faint = try difference(bare, stage.look())
            try stage.browser.stroke(Key.home)
            #expect(stage.comes { try stage.guise.status()["masks"]?.elements.first?["opacity"]?.number == 0 })
            #expect(stage.comes { try difference(bare, stage.look()) < 0.3 })
            #expect(faint > dressed * 0.25)
        }

        @Test func `a snapshot is a PNG of the very picture that is shown`() throws {
            let stage = try Stage()
            try stage.browser.click(".mask[data-mask=polaroid]")
            #expect(stage.comes { try stage.worn == ["polaroid"] })
            try stage.browser.click("#freeze")
            #expect(stage.comes { try stage.guise.status()["frozen"]?.value == .bool(true) })
            try stage.guise.waits(pictures: 5)
            // The page has the picture once two looks are alike.
            var shown = try stage.look()
            #expect(
                stage.comes {
                    let before = shown
                    shown = try stage.look()
                    return before == shown
                })
            try stage.browser.click("#snapshot")
            try #require(stage.browser.waits(for: "document.querySelector('#taken img')?.naturalWidth == 640"))
            let path = try #require(stage.files("Pictures/Guise").first { $0.hasSuffix(".png") })
            #expect(try stage.guise.scratch.measure(path) == "640x360 1")
            try stage.guise.scratch.shell("ffmpeg -v error -y -i '\(path)' -vf scale=64:36:flags=area small.png")
            let taken = try stage.guise.scratch.picture(stage.guise.scratch.path("small.png"))
            let apart = difference(shown, taken.bytes.map { Double($0) })
            #expect(apart < 8)
            // What was worn is written in it.
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(data.firstRange(of: Data("tEXt".utf8)) != nil && data.firstRange(of: Data("polaroid".utf8)) != nil)
            // The page gives it back as it lies there.
            let bytes = try stage.browser.number(
                "fetch(document.querySelector('#taken a').href).then((answer) => answer.blob()).then((blob) => blob.size)"
            )
            #expect(Int(bytes) == data.count)
        }

        @Test func `a recording says its time, ends, and plays`() throws {
            let stage = try Stage()
            try stage.browser.click("#record")
            #expect(stage.browser.waits(for: "/0:0[2-9]/.test(document.querySelector('#chip-recording').textContent)"))
            try stage.browser.click("#record")
            // The browser plays it from the album, by ranges.
            #expect(stage.browser.waits(for: "document.querySelector('#taken video')?.duration > 1"))
            #expect(stage.browser.waits(for: "document.querySelector('#taken video').readyState >= 2"))
            let path = try #require(stage.files("Videos/Guise").first { $0.hasSuffix(".mp4") })
            let parts = try stage.guise.scratch.measure(path).split(separator: " ")
            #expect(parts.first == "640x360" && (Int(parts.last ?? "") ?? 0) > 20, "\(parts)")
            #expect(try stage.guise.status()["recording"]?.value == .null)
        }

        @Test func `strangers get no picture: no token, a wrong one, another origin`() throws {
            let stage = try Stage()
            for path in [
                "", "stream", "stream?picture=before", "thumbnail?mask=santa&face=sample", "page.js", "?token=",
                "?token=wrong",
            ] {
                let answer = try stage.ask(path)
                #expect(answer.code == 403, "\(path): \(answer.code)")
                #expect(
                    answer.headers["set-cookie"] == nil
                        && answer.headers["content-type"]?.hasPrefix("text/html") == true)
                #expect(answer.body.contains("guise page"))
            }
            // What the browser was given opens the page, and another site's name beside it shuts it.
            let known = try stage.ask(String(stage.address.dropFirst(stage.place.count)))
            #expect(known.code == 303)
            let cookie = try #require(known.headers["set-cookie"])
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
            let pair = String(cookie.prefix { $0 != ";" })
            let page = try stage.ask("", "GET", ["Cookie": pair])
            #expect(page.code == 200 && page.headers["content-security-policy"]?.contains("default-src 'none'") == true)
            #expect(try stage.ask("face", "POST", ["Cookie": pair]).code == 403)
            #expect(try stage.ask("face", "POST", ["Cookie": pair, "Origin": "http://evil.example"]).code == 403)

            // A page of another port is the same site to browsers, so that they send our cookie along.
            try stage.browser.open(stage.browser.foreignPage)
            let picture = """
                return new Promise((resolve) => {
                    const image = new Image();
                    image.onload = () => resolve("shown");
                    image.onerror = () => resolve("refused");
                    image.src = "\(stage.place)stream";
                    setTimeout(() => resolve("nothing"), 5000);
                });
                """
            #expect(try stage.browser.run(picture).string == "refused")
            let socket = """
                return new Promise((resolve) => {
                    const socket = new WebSocket("\(stage.place.replacing("http", with: "ws"))socket");
                    socket.onopen = () => resolve("open");
                    socket.onerror = () => resolve("refused");
                });
                """
            #expect(try stage.browser.run(socket).string == "refused")
            // The browser hides the answer from another origin whatever it is: what counts is that no face was kept.
            let post = """
                return fetch("\(stage.place)face", {method: "POST", credentials: "include", mode: "no-cors"})
                    .then(() => "sent", () => "sent");
                """
            #expect(try stage.browser.run(post).string == "sent")
            #expect(try stage.ask("thumbnail?mask=santa&face=mine", "GET", ["Cookie": pair]).code == 409)
        }

        @Test func `guise may end and come back: the page waits, and goes on by itself`() throws {
            let first = try Stage.start(["--source", "sample"])
            let old = try Stage(first)
            #expect(try first.end().code == 0)
            #expect(old.browser.waits(for: "!document.querySelector('#notice').hidden"))
            let port = try #require(old.place.firstMatch(of: /:(\d+)/).flatMap { Int($0.1) })
            let second = try Stage.start(["--source", "sample"], port: port, in: first.scratch)
            #expect(
                old.browser.waits(for: "document.querySelector('#notice').hidden && look().some((part) => part > 0)"))
            let picture = try old.look()
            #expect(second.waits { _ in try difference(picture, old.look()) > 5 }, "the picture moves again")
            try old.browser.click(".mask[data-mask=crown]")
            #expect(second.waits { _ in try second.worn == ["crown"] })
            // Where it stays away, that is said.
            #expect(try second.end().code == 0)
            #expect(old.browser.waits(for: "!document.querySelector('#notice').hidden"))
            #expect(try old.browser.text("document.querySelector('#notice').innerText").contains("does not run"))
        }

        @Test func `no width from 360 pixels on has to be scrolled sideways`() throws {
            let stage = try Stage(width: 360)
            for mask in ["name-tag", "makeup-evening"] {
                try stage.browser.run("document.querySelector('.mask[data-mask=\(mask)]').click()")
            }
            #expect(stage.browser.waits(for: "document.querySelectorAll('#worn li').length == 2"))
            for width in [360, 620, 900, 1099, 1100, 1440, 2560] {
                try stage.browser.resize(width: width, height: 800)
                for tab in ["masks", "settings", "health"] {
                    try stage.browser.run("document.querySelector('#tab-\(tab)').click()")
                    try stage.browser.waitForLayout()
                    let wide = try stage.browser.number("document.documentElement.scrollWidth")
                    #expect(Int(wide) <= width, "\(tab) at \(width): \(wide)")
                    let beyond = try stage.browser.text(
                        "[...document.querySelectorAll('button, input, select, h2, code')].filter((one) => one.checkVisibility() "
                            + "&& !one.closest('.tags, .taken, pre, .unseen') && one.getBoundingClientRect().right > innerWidth + 1)"
                            + ".map((one) => one.id || one.className || one.textContent).join()")
                    #expect(beyond == "", "\(tab) at \(width): \(beyond)")
                }
            }
        }

        @Test func `by the keyboard alone a mask is found, put on, moved and taken off`() throws {
            let stage = try Stage()
            let browser = stage.browser
            // The first stop leads past the controls.
            try browser.stroke(Key.tab)
            #expect(try browser.text("document.activeElement.className") == "skip")
            try browser.stroke(Key.enter)
            #expect(browser.waits(for: "document.activeElement.id == 'search'"))
            for letter in "crown" { try browser.stroke(String(letter)) }
            try browser.stroke(Key.down)
            #expect(try browser.text("document.activeElement.dataset.mask") == "crown")
            // What has the focus is seen to have it.
            #expect(
                try browser.text("getComputedStyle(document.activeElement.querySelector('.face')).outlineStyle")
                    == "solid")
            try browser.stroke(Key.enter)
            #expect(stage.comes { try stage.worn == ["crown"] })
            try browser.stroke(Key.right, " ")
            #expect(stage.comes { try stage.worn == ["crown", "flower-crown"] })
            // The stack shows the uppermost first.
            try browser.run("document.querySelector('#worn .grip').focus()")
            try browser.stroke(Key.down)
            #expect(stage.comes { try stage.worn == ["flower-crown", "crown"] })
            #expect(browser.waits(for: "document.querySelector('#announcer').textContent.includes('2 of 2')"))
            #expect(
                try browser.text("document.activeElement.className") == "grip", "the focus stays with what was moved")
            // Hot keys; they are letters where letters are written.
            try browser.stroke("0")
            #expect(stage.comes { try stage.worn == [] })
            try browser.run("document.activeElement.blur()")
            try browser.stroke(Key.right)
            #expect(stage.comes { try stage.worn.count == 1 })
            try browser.press("b")
            #expect(browser.waits(for: "document.querySelector('#before').naturalWidth > 0"))
            try browser.release("b")
            #expect(browser.waits(for: "document.querySelector('#before').hidden"))
            try browser.stroke("?")
            #expect(browser.waits(for: "document.querySelector('#help').open"))
            try browser.stroke(Key.escape)
            #expect(browser.waits(for: "!document.querySelector('#help').open"))
        }

        @Test func `a photo is dressed with what is worn, and again when that changes`() throws {
            let stage = try Stage()
            let drop = """
                return fetch("/thumbnail?mask=tint&face=sample").then((answer) => answer.blob()).then((blob) => {
                    const files = new DataTransfer();
                    files.items.add(new File([blob], "me.jpg", {type: "image/jpeg"}));
                    dispatchEvent(new DragEvent("drop", {dataTransfer: files, cancelable: true}));
                });
                """
            try stage.browser.run(drop)
            try #require(stage.browser.waits(for: "document.querySelector('#photo').naturalWidth > 0"))
            #expect(try stage.browser.text("document.querySelector('#photo-says').textContent") == "1 face")
            let bare = try stage.look(at: "#photo")
            try stage.browser.run("document.querySelector('.mask[data-mask=top]').click()")
            #expect(stage.comes { try difference(bare, stage.look(at: "#photo")) > 2 })
            try stage.browser.click("#photo-close")
            #expect(stage.browser.waits(for: "document.querySelector('#live').naturalWidth > 0"))
            // What is no picture is refused in guise's own words.
            try stage.browser.run(
                """
                const files = new DataTransfer();
                files.items.add(new File(["no picture"], "no.jpg", {type: "image/jpeg"}));
                dispatchEvent(new DragEvent("drop", {dataTransfer: files, cancelable: true}));
                """)
            #expect(stage.browser.waits(for: "document.querySelector('.toast.error')"))
        }
    }
}
