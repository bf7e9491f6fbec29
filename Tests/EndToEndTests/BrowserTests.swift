import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
    /// The local page as users see it: a running Guise, used in a real browser.
    @Suite(.serialized, .goesFirst, .needsSample, .needsReleaseBuild, .needsBrowser) struct BrowserTests {
        /// The page of a running Guise, open in the browser that all of these tests share.
        private final class Stage {
            let guise: RunningGuise
            let browser: Browser
            /// The link with the secret.
            let link: String
            /// The address: "http://127.0.0.1:PORT/".
            let place: String

            private static let browser = Result { try Browser(in: try ScratchFolder()) }
            private static let sample = Result { try start(["--source", "sample"]) }

            static func start(
                _ source: [String], port: Int = 0, in scratch: ScratchFolder? = nil
            ) throws -> RunningGuise {
                try RunningGuise(
                    source + ["--sink", "page"],
                    config:
                        #"{"page": {"port": \#(port)}, "masks": [], "faces": {"minSize": 0.1}, \#(RunningGuise.smallOutput(rate: 6))}"#,
                    in: scratch,
                    isPublishing: false)
            }

            /// - Parameters:
            ///   - own: one of the test's own; nil: the one that tests share, as it was at its start.
            ///   - other: a browser of the test's own.
            init(_ own: RunningGuise? = nil, in other: Browser? = nil, width: Int = 1280) throws {
                guise = try own ?? Self.sample.get()
                browser = try other ?? Self.browser.get()
                let told = try guise.guise("page", "--no-open")
                let match = try #require(
                    told.out.firstMatch(of: /(http:\/\/127\.0\.0\.1:\d+\/)#[0-9a-f]{64}/), "\(told)")
                (link, place) = (String(match.0), String(match.1))
                try browser.resize(width: width, height: 800)
                // A link to the page that is already open would not reload it.
                try browser.open("about:blank")
                try browser.open(link)
                try #require(browser.waits(for: "document.querySelector('#live').width"), "\(state())")
                try #require(browser.waits(for: "document.querySelectorAll('[data-mask]').length > 40"))
                try guise.reset()
                // What keys and buttons do depends on what the page knows: the settings, and that the reset is over.
                try #require(browser.waits(for: "document.querySelector('#config-text').textContent"))
                try #require(
                    browser.waits(
                        for: "!document.querySelector('#worn li') && document.querySelector('#panic-end').hidden"
                            + " && document.querySelector('#freeze').ariaPressed == 'false'"))
                try browser.run(Self.eyes)
            }

            /// What the page says of its connection, and what Guise does, for a picture that does not come.
            private func state() -> String {
                let page = try? browser.run(
                    "return [location.href, document.hidden, document.querySelector('#presence-text')?.textContent]")
                return "no picture: \(page?.text ?? "the browser doesn't answer"); \(guise.running.said.suffix(500))"
            }

            /// Defines `look()`: the picture on the page as 64 x 36 pixels of red, green, blue. Scripts of other sites
            /// can't read them.
            private static let eyes = """
                window.lookAt = (what) => {
                    const canvas = document.createElement("canvas");
                    [canvas.width, canvas.height] = [64, 36];
                    const pen = canvas.getContext("2d");
                    pen.imageSmoothingQuality = "high";
                    pen.drawImage(document.querySelector(what), 0, 0, 64, 36);
                    return [...pen.getImageData(0, 0, 64, 36).data].filter((_, at) => at % 4 < 3);
                };
                window.look = () => lookAt("#live");
                """

            func look(at what: String = "#live") throws -> [Double] {
                try browser.run("return lookAt('\(what)')").elements.compactMap(\.number)
            }

            /// Drops the sample's portrait on the page, to put masks on it as a photo, and waits until it is shown.
            func dropPortrait() throws {
                try browser.run(
                    """
                    return import("/session.js").then((session) => session.request("/thumbnail?mask=tint&face=sample"))
                        .then((answer) => answer.blob()).then((blob) => {
                        const files = new DataTransfer();
                        files.items.add(new File([blob], "me.jpg", {type: "image/jpeg"}));
                        dispatchEvent(new DragEvent("drop", {dataTransfer: files, cancelable: true}));
                    });
                    """)
                let isOpen = browser.waits(for: "document.querySelector('#photo').naturalWidth > 0")
                let words = try browser.text("document.querySelector('#toasts').innerText")
                try #require(isOpen, "\(words)")
            }

            /// What axe finds on the page, one line for each.
            func findings() throws -> [String] {
                if try browser.run("return typeof axe").string == "undefined" {
                    try browser.run(String(contentsOfFile: Fixtures.axe, encoding: .utf8))
                }
                // Colours on their way to others are not what people read.
                return try browser.run(
                    """
                    const ends = document.getAnimations()
                        .filter((one) => one instanceof CSSTransition || one.effect.getTiming().iterations === 1);
                    return Promise.allSettled(ends.map((one) => one.finished)).then(() => axe.run(document))
                        .then(({ violations }) => violations.map(
                            ({ impact, id, nodes }) => `${impact} ${id}: ${nodes[0].html}`));
                    """
                ).elements.compactMap(\.string)
            }

            /// What axe finds on the page in its light and in its dark colours.
            func findingsInBothSchemes() throws -> [String] {
                try ["light", "dark"].flatMap { scheme in
                    try browser.run("document.documentElement.style.colorScheme = '\(scheme)'")
                    return try findings().map { "\(scheme): \($0)" }
                }
            }

            var worn: [String] { get throws { try guise.worn } }

            /// The files of a folder in the home.
            func files(_ folder: String) -> [String] {
                guise.scratch.names(in: folder).map { guise.scratch.path("\(folder)/\($0)") }
            }

            /// Sends a request without the browser and its session.
            func ask(_ path: String, _ method: String = "GET", _ headers: [String: String] = [:]) throws -> Answer {
                try Browser.prefetch(method, place + path, headers)
            }

            /// Waits while pictures are published.
            func comes(_ isMet: () throws -> Bool) -> Bool { guise.waits { _ in try isMet() } }
        }

        /// Mean difference of two pictures, of 255.
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
            // A photo is still: only the mask changes.
            let stage = try Stage(Stage.start(["--source", Fixtures.sample, "--realtime", "--loop"]))
            let bare = try stage.look()
            try stage.browser.click(".mask[data-mask=santa]")
            #expect(stage.browser.waits(for: "document.querySelector('.mask[data-mask=santa]').ariaPressed == 'true'"))
            #expect(try stage.worn == ["santa"])
            #expect(stage.comes { try difference(bare, stage.look()) > 2 })
            // The mask fades in.
            try stage.guise.waits(pictures: 40)
            let dressed = try difference(bare, stage.look())

            // The list of active masks may be redrawn in between.
            for _ in 0..<5 {
                try stage.browser.run("document.querySelector('#worn input[type=range]').focus()")
                try stage.browser.stroke(Key.pageDown)
            }
            #expect(stage.comes { try difference(bare, stage.look()) < dressed * 0.75 })
            let faint = try difference(bare, stage.look())
            try stage.browser.run("document.querySelector('#worn input[type=range]').focus()")
            try stage.browser.stroke(Key.home)
            #expect(stage.comes { try stage.guise.status()["masks"]?.elements.first?["opacity"]?.number == 0 })
            #expect(stage.comes { try difference(bare, stage.look()) < 0.3 })
            #expect(faint > dressed * 0.25)
        }

        @Test func `a snapshot is a PNG of the picture that is shown`() throws {
            let stage = try Stage()
            try stage.browser.click(".mask[data-mask=polaroid]")
            #expect(stage.comes { try stage.worn == ["polaroid"] })
            try stage.browser.click("#freeze")
            #expect(stage.comes { try stage.guise.status()["frozen"]?.value == .bool(true) })
            try stage.guise.waits(pictures: 5)
            // The page shows the picture once two reads are alike.
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
            // The list of masks is stored in it.
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(data.firstRange(of: Data("tEXt".utf8)) != nil && data.firstRange(of: Data("polaroid".utf8)) != nil)
            // The page serves the file unchanged.
            let bytes = try stage.browser.number(
                "fetch(document.querySelector('#taken a').href).then((answer) => answer.blob()).then((blob) => blob.size)"
            )
            #expect(Int(bytes) == data.count)
        }

        @Test func `a recording shows its time, ends, and plays`() throws {
            let stage = try Stage()
            try stage.browser.run(
                """
                window.said = [];
                const chip = document.querySelector("#chip-recording");
                new MutationObserver(() => said.push(chip.hidden ? "" : chip.textContent))
                    .observe(chip, { childList: true, attributes: true });
                """)
            try stage.browser.click("#record")
            #expect(
                stage.browser.waits(
                    for: "/0:(0[5-9]|[1-5])/.test(document.querySelector('#chip-recording').textContent)"))
            try stage.browser.click("#record")
            // Completing the file takes a while, in which the time does not go on.
            #expect(stage.browser.waits(for: "document.querySelector('#chip-recording').hidden"))
            let said = try stage.browser.run("return said").elements.compactMap(\.string)
            #expect(said.last { !$0.isEmpty } == "Saving…" && said.contains { $0.contains("0:0") }, "\(said)")
            // The browser plays it from memory.
            #expect(stage.browser.waits(for: "document.querySelector('#taken video')?.duration > 1"))
            #expect(stage.browser.waits(for: "document.querySelector('#taken video').readyState >= 2"))
            let path = try #require(stage.files("Videos/Guise").first { $0.hasSuffix(".mp4") })
            let parts = try stage.guise.scratch.measure(path).split(separator: " ")
            #expect(parts.first == "640x360" && (Int(parts.last ?? "") ?? 0) > 20, "\(parts)")
            #expect(try stage.guise.status()["recording"]?.value == .null)
        }

        @Test func `without a session, or from another origin, there is no picture`() throws {
            let stage = try Stage()
            let secret = stage.link.drop { $0 != "#" }.dropFirst()
            for path in [
                "stream", "stream?picture=before", "thumbnail?mask=santa&face=sample", "album/a.png",
                "stream?token=\(secret)",
            ] {
                for headers in [[:], ["Authorization": "Guise \(secret)"], ["Cookie": "guise=\(secret)"]] {
                    let answer = try stage.ask(path, "GET", headers)
                    #expect(answer.status == 401 && answer.text.contains("guise page"), "\(path): \(answer.status)")
                }
            }
            let page = try stage.ask("")
            #expect(
                page.status == 200 && page.headers["content-security-policy"]?.contains("default-src 'none'") == true)
            #expect(page.headers["set-cookie"] == nil)
            #expect(try stage.ask("face", "POST", ["Origin": "http://evil.example"]).status == 403)

            // For browsers a page on another port is the same site, but another origin.
            try stage.browser.open(stage.browser.foreignPage)
            let picture = """
                return new Promise((resolve) => {
                    const image = new Image();
                    image.onload = () => resolve("shown");
                    image.onerror = () => resolve("refused");
                    image.src = "\(stage.place)icon.svg";
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
            let fetched = """
                return fetch("\(stage.place)stream", {credentials: "include", headers: {Authorization: "Guise x"}})
                    .then(() => "answered", () => "refused");
                """
            #expect(try stage.browser.run(fetched).string == "refused")
        }

        @Test func `the link opens the page and leaves its secret nowhere`() throws {
            let stage = try Stage()
            let secret = String(stage.link.drop { $0 != "#" }.dropFirst())
            #expect(try stage.browser.text("location.href") == stage.place)
            let stored = """
                return (async () => {
                    const opening = indexedDB.open("guise");
                    await new Promise((done) => { opening.onsuccess = done; });
                    const reading = opening.result.transaction("keys").objectStore("keys").get("page");
                    await new Promise((done) => { reading.onsuccess = done; });
                    const key = reading.result;
                    const exported = await crypto.subtle.exportKey("raw", key).then(() => "readable", () => "sealed");
                    return [key.type, key.extractable, exported, document.cookie,
                        JSON.stringify({...localStorage}), JSON.stringify({...sessionStorage})].join("|");
                })();
                """
            #expect(try stage.browser.run(stored).string == "secret|false|sealed||{}|{}")
            // Neither the history nor the loaded resources contain it.
            let seen =
                "JSON.stringify([history.state, document.referrer, performance.getEntries().map((one) => one.name)])"
            #expect(try !stage.browser.text(seen).contains(secret))
            // The browser no longer needs the link.
            try stage.browser.open("about:blank")
            try stage.browser.open(stage.place)
            #expect(stage.browser.waits(for: "document.querySelector('#live').width > 0"))
        }

        @Test func `a server on another port receives nothing that opens the page`() throws {
            let stage = try Stage()
            let secret = String(stage.link.drop { $0 != "#" }.dropFirst())
            // A server that records what it receives.
            let script = """
                import http.server, sys
                class Handler(http.server.BaseHTTPRequestHandler):
                    def do_GET(self):
                        open("sent", "a").write(self.requestline + "\\n" + str(self.headers))
                        self.send_response(200); self.end_headers(); self.wfile.write(b"<p>other")
                # Browsers may open a second connection that they don't use.
                server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
                print("port %d." % server.server_address[1], file=sys.stderr, flush=True)
                server.serve_forever()
                """
            let scratch = stage.guise.scratch
            let other = try Running(
                ["-c", "cd '\(scratch.path("."))' && exec python3 '\(try scratch.write(script, "other.py"))'"],
                of: "/bin/bash",
                in: scratch)
            try #require(other.waits(for: "port "))
            let port = try #require(other.said.firstMatch(of: /port (\d+)\./)?.1)
            try stage.browser.open("http://127.0.0.1:\(port)/")
            let sent = String(decoding: try scratch.read("sent"), as: UTF8.self)
            #expect(sent.contains("GET / HTTP/1.1") && sent.contains("Host: 127.0.0.1:\(port)"), "\(sent)")
            #expect(!sent.contains("Cookie") && !sent.contains("Authorization") && !sent.contains(secret), "\(sent)")
            // Its page has no key either: databases belong to an origin, which includes the port.
            #expect(
                try stage.browser.run("return indexedDB.databases().then((all) => all.map((one) => one.name).join())")
                    .string
                    == "")
        }

        @Test func `when the link is revoked the page says what to do, and the new link opens it`() throws {
            let guise = try Stage.start(["--source", "sample"])
            let stage = try Stage(guise)
            let revoked = try guise.guise("page", "--revoke", "--no-open")
            #expect(stage.browser.waits(for: "document.querySelector('#notice-text').innerText.includes('guise page')"))
            #expect(
                try stage.browser.text("document.querySelector('#notice').innerText").contains("not valid any more"))
            #expect(stage.browser.waits(for: "document.querySelector('#live').width == 0"))
            // The page tries again meanwhile. Once it is connected, no attempt may be left that would connect twice.
            try stage.browser.run(
                """
                window.attempts = new Set(); const [start, stop] = [setTimeout, clearTimeout];
                window.setTimeout = (act, ...more) => {
                    const id = start((...values) => { attempts.delete(id); act(...values); }, ...more);
                    if (act.name === "connect") attempts.add(id);
                    return id;
                };
                window.clearTimeout = (id) => { attempts.delete(id); stop(id); };
                """)
            try #require(stage.browser.waits(for: "attempts.size > 0"))
            // In the open tab: its address differs only in the fragment.
            try stage.browser.open(revoked.out.trimmingCharacters(in: .whitespacesAndNewlines))
            #expect(stage.browser.waits(for: "document.querySelector('#notice').hidden"))
            #expect(stage.browser.waits(for: "look().some((part) => part > 0)"))
            #expect(try stage.browser.text("String(attempts.size)") == "0")
            #expect(try stage.browser.text("location.href") == stage.place)
            #expect(try guise.end().code == 0)
        }

        @Test func `a program on Guise's port while Guise isn't running receives only a proof`() throws {
            let guise = try Stage.start(["--source", "sample"])
            let stage = try Stage(guise)
            let port = try #require(stage.place.firstMatch(of: /:(\d+)/)?.1)
            // A server that opens web socket handshakes without knowing the secret, and records what it receives.
            let script = """
                import base64, hashlib, re, socket, struct, sys
                def text(connection):
                    head = connection.recv(2, socket.MSG_WAITALL)
                    if len(head) < 2 or head[0] != 0x81: return None
                    size = head[1] & 127
                    if size == 126: size = struct.unpack(">H", connection.recv(2, socket.MSG_WAITALL))[0]
                    data = connection.recv(4 + size, socket.MSG_WAITALL)
                    return bytes(byte ^ data[at % 4] for at, byte in enumerate(data[4:])).decode()
                def send(connection, words):
                    size = bytes([len(words)]) if len(words) < 126 else struct.pack(">BH", 126, len(words))
                    connection.sendall(b"\\x81" + size + words.encode())
                server = socket.socket()
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                server.bind(("127.0.0.1", int(sys.argv[1])))
                server.listen()
                print("listening", file=sys.stderr, flush=True)
                while True:
                    connection, _ = server.accept()
                    head = b""
                    while b"\\r\\n\\r\\n" not in head:
                        more = connection.recv(4096)
                        if not more: break
                        head += more
                    key = re.search(rb"Sec-WebSocket-Key: (\\S+)", head)
                    if key:
                        code = base64.b64encode(
                            hashlib.sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
                        connection.sendall(
                            ("HTTP/1.1 101 OK\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                                + "Sec-WebSocket-Accept: " + code + "\\r\\n\\r\\n").encode())
                        send(connection, '{"nonce": "' + "00" * 32 + '"}')
                        sent = text(connection)
                        send(connection, '{"proof": "' + "11" * 32 + '", "session": "' + "22" * 32 + '"}')
                        while sent:
                            print("sent:", sent, file=sys.stderr, flush=True)
                            sent = text(connection)
                        print("closed", file=sys.stderr, flush=True)
                    else:
                        print("other:", head, file=sys.stderr, flush=True)
                    connection.close()
                """
            #expect(try guise.end().code == 0)
            let impostor = try Running(
                [try guise.scratch.write(script, "impostor.py"), String(port)], of: "/usr/bin/python3",
                in: guise.scratch)
            try #require(impostor.waits(for: "closed"))
            #expect(stage.browser.waits(for: "document.querySelector('#notice').innerText.includes('Another program')"))
            let sent = impostor.said.split(separator: "\n").filter { $0.hasPrefix("sent:") || $0.hasPrefix("other:") }
            #expect(!sent.isEmpty)
            for line in sent {
                #expect(
                    line.wholeMatch(of: /sent: \{"nonce":"[0-9a-f]{64}","proof":"[0-9a-f]{64}"\}/) != nil, "\(line)")
            }
        }

        @Test func `a browser without the key shows how to get it`() throws {
            let stage = try Stage()
            // Another host name is another origin, with its own database.
            try stage.browser.open(stage.place.replacing("127.0.0.1", with: "localhost"))
            #expect(stage.browser.waits(for: "document.querySelector('#notice-text').innerText.includes('guise page')"))
            #expect(try stage.browser.text("document.querySelector('#notice').innerText").contains("no key"))
            #expect(
                try stage.browser.number("document.querySelector('#live').width") == 0)
        }

        @Test func `when Guise restarts the page reconnects by itself`() throws {
            let first = try Stage.start(["--source", "sample"])
            let old = try Stage(first)
            try old.browser.click("#snapshot")
            try #require(old.browser.waits(for: "document.querySelector('#taken li')"))
            #expect(try first.end().code == 0)
            #expect(old.browser.waits(for: "!document.querySelector('#notice').hidden"))
            let port = try #require(old.place.firstMatch(of: /:(\d+)/).flatMap { Int($0.1) })
            let second = try Stage.start(["--source", "sample"], port: port, in: first.scratch)
            #expect(
                old.browser.waits(for: "document.querySelector('#notice').hidden && look().some((part) => part > 0)"))
            let picture = try old.look()
            #expect(second.waits { _ in try difference(picture, old.look()) > 5 }, "the picture moves again")
            // What it does not know can be neither renamed nor deleted.
            #expect(old.browser.waits(for: "!document.querySelector('#taken li')"))
            try old.browser.click(".mask[data-mask=crown]")
            #expect(second.waits { _ in try second.worn == ["crown"] })
            // If it doesn't come back, the page says so.
            #expect(try second.end().code == 0)
            #expect(old.browser.waits(for: "!document.querySelector('#notice').hidden"))
            #expect(try old.browser.text("document.querySelector('#notice').innerText").contains("isn't running"))
        }

        @Test func `no width from 320 pixels needs sideways scrolling`() throws {
            let stage = try Stage(width: 320)
            for mask in ["name-tag", "makeup-evening"] {
                try stage.browser.run("document.querySelector('.mask[data-mask=\(mask)]').click()")
            }
            #expect(stage.browser.waits(for: "document.querySelectorAll('#worn li').length == 2"))
            try expectFit(stage, widths: [320, 390, 620, 900, 1099, 1100, 1440, 2560])
        }

        @Test func `what a message covers at the end of a narrow page can be scrolled clear of it`() throws {
            let stage = try Stage(width: 390)
            let browser = stage.browser
            try #require(browser.waits(for: "document.querySelectorAll('[data-mask]').length > 40"))
            try browser.run(
                "return import('/elements.js').then((page) => { page.toast('Saved.'); scrollTo(0, 1e6); })")
            try browser.waitForLayout()
            func bottom(_ selector: String) throws -> Double {
                try browser.number(
                    "[...document.querySelectorAll('\(selector)')].at(-1).getBoundingClientRect().bottom")
            }
            let top = try browser.number("document.querySelector('.toast').getBoundingClientRect().top")
            #expect(try bottom("#masks li") <= top)
            #expect(try bottom(".panel:not([hidden])") <= top)
        }

        @Test func `a thumbnail's place shows that it is being drawn, until it is there`() throws {
            let stage = try Stage()
            let browser = stage.browser
            func animation(_ mask: String) -> String {
                "getComputedStyle(document.querySelector('[data-mask=\(mask)] .face')).animationName"
            }
            // Far below, none is fetched yet.
            #expect(try browser.text(animation("witch")) == "wait")
            try #require(browser.waits(for: "document.querySelector('[data-mask=antennae] img').naturalWidth == 192"))
            #expect(browser.waits(for: "\(animation("antennae")) == 'none'"))
        }

        /// Expects that nothing is beyond the edges of the page in any of its tabs.
        private func expectFit(_ stage: Stage, widths: [Int]) throws {
            for width in widths {
                try stage.browser.resize(width: width, height: 800)
                for tab in ["masks", "settings", "health"] {
                    try stage.browser.run("document.querySelector('#tab-\(tab)').click()")
                    try stage.browser.waitForLayout()
                    let wide = try stage.browser.number("document.documentElement.scrollWidth")
                    #expect(Int(wide) <= width, "\(tab) at \(width): \(wide)")
                    let beyond = try stage.browser.text(
                        "[...document.querySelectorAll('button, input, select, h2, code')].filter((one) => one.checkVisibility() "
                            + "&& !one.closest('.tags, .taken, .shelf, pre, .unseen') && (one.getBoundingClientRect().right > innerWidth + 1 "
                            + "|| one.getBoundingClientRect().left < -1)).map((one) => one.id || one.className || one.textContent).join()"
                    )
                    #expect(beyond == "", "\(tab) at \(width): \(beyond)")
                }
            }
        }

        /// The elements of the page with an English word without accents, each with its text: in a language for tests,
        /// the word is in no catalogue. What Guise and the system name, files and keys are not translated.
        private static let plainWords = #"""
            [...document.body.querySelectorAll("*")]
                .filter((one) => !one.closest("body [lang], code, pre, kbd, noscript, #undo, #redo, #checks .fix, #cameras label:not(:last-child)"))
                .flatMap((one) => [
                    ...[...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data),
                    ...["title", "aria-label", "placeholder", "alt"].map((name) => one.getAttribute(name) ?? ""),
                ].map((text) => `${one.id || one.className || one.tagName}: ${text.trim()}`)
                    .filter((line) => /[a-z]{2}/i.test(line.slice(line.indexOf(": ")).replace(/Guise|\b(ms|[kMG]B)\b|(\/.*)?\.(mp4|png)/g, ""))))
                .join("\n")
            """#

        @Test(arguments: ["en-XA", "ar-XB"])
        func `every word of the page is in a catalogue, and longer words have room in both directions`(
            language: String
        ) throws {
            let stage = try Stage()
            let browser = stage.browser
            try browser.run("localStorage.language = '\(language)'")
            defer {
                _ = try? browser.run("localStorage.removeItem('language')")
                _ = try? stage.guise.ask("favourite", ["mask": "crown", "on": false])
            }
            // Masks with all kinds of choices.
            let masks: JSON = ["name-tag", "heart-glasses", "makeup-evening", "background-picture"]
            try stage.guise.ask("add", ["masks": masks])
            try stage.guise.ask("favourite", ["mask": "crown"])
            try browser.open("about:blank")
            try browser.open(stage.place)
            try #require(browser.waits(for: "document.querySelector('#live').width"), "the picture comes")
            try #require(browser.waits(for: "document.querySelectorAll('#worn li').length == 4"))
            #expect(try browser.text("document.documentElement.lang") == language)
            #expect(try browser.text("document.documentElement.dir") == (language == "ar-XB" ? "rtl" : "ltr"))
            try expectFit(stage, widths: [320, 390, 1440])
            #expect(browser.waits(for: "document.querySelector('#checks li')"))
            let plain = try browser.text(Self.plainWords)
            #expect(plain == "", "\(plain)")
            // Arrow keys lead where they point.
            try browser.run(
                "document.querySelector('#tab-masks').click(); document.querySelector('#tab-masks').focus()")
            try browser.stroke(language == "ar-XB" ? Key.left : Key.right)
            #expect(try browser.text("document.activeElement.id") == "tab-settings")
            // Words that come later: messages, and states over the picture.
            try browser.run("document.querySelector('#clear').click(); document.querySelector('#pause').click()")
            try #require(
                browser.waits(for: "document.querySelector('.toast') && document.querySelector('#panic').hidden"))
            let later = try browser.text(Self.plainWords)
            #expect(later == "", "\(later)")
            try browser.open(stage.place + "small.html")
            try #require(browser.waits(for: "document.querySelectorAll('.small-list button').length == 6"))
            let small = try browser.text(Self.plainWords)
            #expect(small == "", "\(small)")
        }

        @Test func `a mask is found, put on, moved and taken off with the keyboard alone`() throws {
            let stage = try Stage()
            let browser = stage.browser
            // The first tab stop skips the controls.
            try browser.stroke(Key.tab)
            #expect(try browser.text("document.activeElement.className") == "skip")
            try browser.stroke(Key.enter)
            #expect(browser.waits(for: "document.activeElement.id == 'search'"))
            for letter in "crown" { try browser.stroke(String(letter)) }
            try browser.stroke(Key.down)
            #expect(try browser.text("document.activeElement.dataset.mask") == "crown")
            // The focus is visible.
            #expect(
                try browser.text("getComputedStyle(document.activeElement.querySelector('.face')).outlineStyle")
                    == "solid")
            try browser.stroke(Key.enter)
            #expect(stage.comes { try stage.worn == ["crown"] })
            // Enter would replace the hat; plus adds another one.
            try browser.stroke(Key.right, "+")
            #expect(stage.comes { try stage.worn == ["crown", "flower-crown"] })
            try #require(browser.waits(for: "document.querySelectorAll('#worn li').length == 2"))
            // The list shows the top mask first.
            try browser.run("document.querySelector('#worn .grip').focus()")
            try browser.stroke(Key.down)
            #expect(stage.comes { try stage.worn == ["flower-crown", "crown"] })
            #expect(browser.waits(for: "document.querySelector('#announcer').textContent.includes('2 of 2')"))
            #expect(
                try browser.text("document.activeElement.className") == "grip", "the focus stays with what was moved")
            // Hot keys; in text fields they are letters.
            try browser.stroke("0")
            #expect(stage.comes { try stage.worn == [] })
            try browser.run("document.activeElement.blur()")
            // Arrows only move.
            try browser.stroke(Key.right)
            try browser.stroke("n")
            #expect(stage.comes { try stage.worn.count == 1 })
            let first = try stage.worn
            try browser.stroke("n")
            #expect(stage.comes { try stage.worn.count == 1 && stage.worn != first })
            try browser.chord(Key.shift, key: "N")
            #expect(stage.comes { try stage.worn == first })
            try browser.press("b")
            #expect(browser.waits(for: "document.querySelector('#before').width > 0"))
            try browser.release("b")
            #expect(browser.waits(for: "document.querySelector('#before').hidden"))
            try browser.stroke("?")
            #expect(browser.waits(for: "document.querySelector('#help').open"))
            try browser.stroke(Key.escape)
            #expect(browser.waits(for: "!document.querySelector('#help').open"))
        }

        @Test func `two clicks put a picture behind the person, and a picture that is dropped becomes the background`()
            throws
        {
            let stage = try Stage(Stage.start(["--source", Fixtures.sample, "--realtime", "--loop"]))
            let bare = try stage.look()
            try stage.browser.click(".mask[data-mask=background-picture]")
            #expect(stage.comes { try difference(bare, stage.look()) > 10 })
            try #require(stage.browser.waits(for: "document.querySelector('#worn .pictures input[value=dawn]')"))
            let study = try stage.look()
            try stage.browser.run("document.querySelector('#worn .pictures input[value=dawn]').click()")
            #expect(stage.comes { try difference(study, stage.look()) > 10 })

            // The other half of the page puts masks on the picture.
            let drop = """
                return new Promise((resolve) => {
                    const canvas = document.createElement("canvas");
                    [canvas.width, canvas.height] = [320, 180];
                    const pen = canvas.getContext("2d");
                    pen.fillStyle = "#00a030";
                    pen.fillRect(0, 0, 320, 180);
                    canvas.toBlob((blob) => {
                        const files = new DataTransfer();
                        files.items.add(new File([blob], "The meadow.png", {type: "image/png"}));
                        const drag = (kind) => document.querySelector("[data-drop=background]").dispatchEvent(
                            new DragEvent(kind, {dataTransfer: files, bubbles: true, cancelable: true}));
                        drag("dragenter");
                        const isOffered = !document.querySelector("#drop").hidden;
                        drag("dragover");
                        drag("drop");
                        resolve(isOffered);
                    });
                });
                """
            #expect(try stage.browser.run(drop).value == .bool(true))
            try #require(
                stage.browser.waits(for: "document.querySelector('#worn input[value=\"The meadow.jpg\"]')?.checked"))
            // The corners are the room's.
            #expect(
                stage.comes {
                    let corner = try stage.look().prefix(3)
                    return corner[0] < 60 && corner[1] > 120 && corner[2] < 90
                })
            #expect(stage.guise.scratch.names(in: "config/guise/Pictures") == ["The meadow.jpg"])
            let meadow = try stage.look()
            // A file that is no picture is reported, and the background stays.
            try stage.browser.run(
                """
                const files = new DataTransfer();
                files.items.add(new File(["no picture"], "no.jpg", {type: "image/jpeg"}));
                document.querySelector("[data-drop=background]").dispatchEvent(
                    new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
                """)
            #expect(stage.browser.waits(for: "document.querySelector('.toast.error')"))
            try stage.guise.waits(pictures: 5)
            #expect(try difference(meadow, stage.look()) < 10)
        }

        @Test func `stamps are placed, sized and turned by dragging and by keys, on the picture and on each face`()
            throws
        {
            let stage = try Stage(Stage.start(["--source", Fixtures.sample, "--realtime", "--loop"]))
            let browser = stage.browser
            func stamps() throws -> [JSON] {
                let worn = try stage.guise.ask("status")["masks"]?.elements ?? []
                let text = worn.first { $0["name"]?.string == "stamps" }?["choices"]?["items"]?.string ?? "[]"
                return try JSON(Array(text.utf8), file: "stamps").elements
            }
            func numbers(_ json: JSON?) -> [Double] { json?.elements.compactMap(\.number) ?? [] }
            let bare = try stage.look()
            try browser.click(".mask[data-mask=stamps]")
            #expect(stage.comes { try difference(bare, stage.look()) > 3 })
            let (heart, wreath) = (".stamp-handles [data-stamp='0']", ".stamp-handles [data-stamp='1']")
            // Put on by hand, it shows the handles at once, also those on the face.
            try #require(browser.waits(for: "document.querySelector(\"\(wreath)\")?.hidden === false"))
            // No handle covers Panic.
            let hit = try browser.run(
                """
                const handle = document.createElement("button");
                handle.style.cssText = "position: absolute; inset: 0; width: 100%; height: 100%";
                document.querySelector(".stamp-handles").append(handle);
                const box = document.querySelector("#panic").getBoundingClientRect();
                const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
                handle.remove();
                return hit.closest("button").id;
                """
            ).string
            #expect(hit == "panic")

            let before = try stage.look()
            try browser.drag("\(heart) .stamp-move", by: (60, 80))
            // The preview is mirrored, so the right is the picture's left.
            #expect(stage.comes { try stamps().count == 2 && numbers(stamps()[0]["at"])[0] < 0.8 })
            let at = try numbers(stamps()[0]["at"])
            #expect(at[0] > 0.7 && at[1] > 0.25, "\(at)")
            #expect(stage.comes { try difference(before, stage.look()) > 1 })
            let size = try stamps()[0]["size"]?.number ?? 0
            try browser.run("document.querySelector(\"\(heart) .stamp-turn\").focus()")
            try browser.stroke(Key.up, Key.up, Key.right)
            #expect(stage.comes { try stamps()[0]["size"]?.number ?? 0 > size * 1.05 })

            // What is taken off the face stays where it is.
            #expect(try stamps()[1]["on"]?.string == "face")
            let face = try #require(stage.guise.ask("faces")["faces"]?.elements.first)
            try browser.run(
                """
                const select = document.querySelectorAll(".stamp-rows select")[1];
                select.value = "picture";
                select.onchange();
                """)
            #expect(stage.comes { try stamps()[1]["on"]?.string == "picture" })
            let (place, eyes) = (try numbers(stamps()[1]["at"]), numbers(face["eyes"]))
            #expect(
                abs(place[0] - eyes[0]) < 0.05 && place[1] > eyes[1] && place[1] < eyes[1] + 0.15, "\(place) \(eyes)")

            try browser.run("document.querySelector('.stamp-menu button').click()")
            #expect(stage.comes { try stamps().count == 3 && stamps()[2]["text"]?.string == "Hello" })
            try browser.run("document.querySelector(\"\(heart) .stamp-move\").focus()")
            try browser.stroke(Key.delete)
            #expect(stage.comes { try stamps().count == 2 && stamps()[0]["art"]?.string == "wreath" })
            try browser.chord(Key.control, key: "z")
            // How much it takes back depends on how quickly the last changes followed each other.
            #expect(stage.comes { try stamps().first?["art"]?.string != "wreath" })
        }

        @Test func `a stamp on each face is placed by hand on a photo, and each drag is undone alone`() throws {
            let stage = try Stage()
            let browser = stage.browser
            func wreath() throws -> JSON? {
                let worn = try stage.guise.ask("status")["masks"]?.elements ?? []
                let text = worn.first { $0["name"]?.string == "stamps" }?["choices"]?["items"]?.string ?? "[]"
                return try JSON(Array(text.utf8), file: "stamps").elements.last
            }
            func numbers(_ json: JSON?) -> [Double] { json?.elements.compactMap(\.number) ?? [] }
            // The face is elsewhere, and smaller, than in the live picture.
            try browser.run(
                """
                return import("/session.js").then((session) => session.request("/thumbnail?mask=tint&face=sample"))
                    .then((answer) => answer.blob()).then(createImageBitmap).then((face) => new Promise((resolve) => {
                    const canvas = document.createElement("canvas");
                    [canvas.width, canvas.height] = [800, 450];
                    const pen = canvas.getContext("2d");
                    pen.fillStyle = "#8a9098";
                    pen.fillRect(0, 0, 800, 450);
                    pen.drawImage(face, 460, 90, 300, 300);
                    canvas.toBlob((blob) => {
                        window.mine = blob;
                        const files = new DataTransfer();
                        files.items.add(new File([blob], "me.jpg", {type: "image/jpeg"}));
                        dispatchEvent(new DragEvent("drop", {dataTransfer: files, cancelable: true}));
                        resolve();
                    }, "image/jpeg", 0.95);
                }));
                """)
            try #require(browser.waits(for: "document.querySelector('#photo').naturalWidth > 0"))
            #expect(try browser.text("document.querySelector('#photo-says').textContent") == "1 face")
            let bare = try stage.look(at: "#photo")
            try browser.click(".mask[data-mask=stamps]")
            let handles = ".stamp-handles [data-stamp='1']"
            try #require(browser.waits(for: "document.querySelector(\"\(handles)\")?.hidden === false"))
            #expect(stage.comes { try difference(bare, stage.look(at: "#photo")) > 2 })
            // The bar is below the photo, not over it and its handles.
            let gap = """
                document.querySelector("#photo-bar").getBoundingClientRect().top
                    - document.querySelector("#photo").getBoundingClientRect().bottom
                """
            #expect(try browser.number(gap) >= 0)

            // From the middle of the eyes to the handle, and from eye to eye, in pixels of the photo.
            let offset = try browser.run(
                """
                return import("/session.js")
                    .then((session) => session.request("/photo/faces", {method: "POST", body: window.mine}))
                    .then((answer) => answer.json()).then(({faces, width, height}) => {
                    const middle = (from, to) => [0, 1].map((axis) => faces[0].landmarks.slice(from, to)
                        .reduce((sum, point) => sum + point[axis], 0) / (to - from));
                    const [both, one, other] = [middle(36, 48), middle(36, 42), middle(42, 48)];
                    const photo = document.querySelector("#photo").getBoundingClientRect();
                    const scale = Math.min(photo.width / width, photo.height / height);
                    const handle = document.querySelector("\(handles) .stamp-move").getBoundingClientRect();
                    const x = (handle.x + handle.width / 2 - photo.x - (photo.width - width * scale) / 2) / scale;
                    const y = (handle.y + handle.height / 2 - photo.y - (photo.height - height * scale) / 2) / scale;
                    return [x - both[0], y - both[1], Math.hypot(one[0] - other[0], one[1] - other[1])];
                });
                """
            ).elements.compactMap(\.number)
            try #require(offset.count == 3)
            #expect(abs(offset[0]) < 0.25 * offset[2], "\(offset)")
            #expect(offset[1] > 0.1 * offset[2] && offset[1] < 0.6 * offset[2], "\(offset)")

            // Each change is a step, however quickly they follow each other.
            let placed = try stage.look(at: "#photo")
            try browser.drag("\(handles) .stamp-move", by: (-60, 0))
            try browser.drag("\(handles) .stamp-turn", by: (0, 40))
            #expect(stage.comes { try wreath()?["turn"]?.number ?? 0 > 5 })
            let (at, size) = (try numbers(wreath()?["at"]), try wreath()?["size"]?.number)
            #expect(try wreath()?["on"]?.string == "face" && at.first ?? 0 < -0.3 && size != 6.2)
            #expect(stage.comes { try difference(placed, stage.look(at: "#photo")) > 1 })
            try browser.run("document.activeElement.blur()")
            try browser.chord(Key.control, key: "z")
            #expect(stage.comes { try wreath()?["turn"]?.number ?? 0 == 0 })
            #expect(try numbers(wreath()?["at"]).first ?? 0 < -0.3, "the first drag stays")
            try browser.chord(Key.control, key: "z")
            #expect(stage.comes { try numbers(wreath()?["at"]).first ?? 0 == 0 })
            try browser.click("#photo-close")
        }

        @Test func `what is held up is taught, named and forgotten on the page`() throws {
            let scratch = try ScratchFolder()
            let clip = scratch.path("held.y4m")
            try Data(DrawnPicture.heldCard).write(to: URL(fileURLWithPath: clip))
            let stage = try Stage(Stage.start(["--source", clip, "--realtime", "--loop"], in: scratch))
            let browser = stage.browser
            try browser.click(".mask[data-mask=objects]")
            try #require(browser.waits(for: "document.querySelector('.things input')"))
            let teach = "document.querySelector('.things [type=submit]')"
            // Without a name, the field for it is what is next.
            try browser.run("\(teach).click()")
            #expect(try browser.text("document.activeElement.ariaLabel") == "Name of a thing")
            let isTeaching = try browser.run(
                "document.querySelector('.things input').value = ' red card '; \(teach).click(); "
                    + "return \(teach).disabled")
            #expect(isTeaching.bool == true)
            let names = "[...document.querySelectorAll('.things .pills button')].map((name) => name.innerText).join()"
            // On a busy machine too few pictures may come in the time for them; then it is asked for again.
            #expect(browser.waits(for: "\(names) == 'red card' || (\(teach).disabled || \(teach).click(), false)"))
            #expect(browser.waits(for: "!\(teach).disabled"))
            #expect(try stage.guise.guise("things").out == "red card: 3 pictures\n")
            // The name and the number in the corner, on a plain ground.
            func corner() throws -> Double {
                let picture = try stage.look()
                return (1..<5).flatMap { row in (1..<12).map { picture[3 * (row * 64 + $0)] } }.min() ?? 0
            }
            #expect(stage.comes { try corner() < 110 }, "it is named")
            // A name that is taken is an error on the page.
            try browser.run("document.querySelector('.things input').value = 'a/b'; \(teach).click()")
            #expect(browser.waits(for: "document.querySelector('.toast.error')"))
            try browser.run("document.querySelector('.things .pills button').focus(); document.activeElement.click()")
            #expect(browser.waits(for: "\(names) == ''"))
            #expect(try browser.text("document.activeElement.ariaLabel") == "Name of a thing")
            #expect(stage.comes { try corner() > 140 })
        }

        @Test func `a photo gets the current masks, and again when they change`() throws {
            let stage = try Stage()
            try stage.dropPortrait()
            #expect(try stage.browser.text("document.querySelector('#photo-says').textContent") == "1 face")
            try stage.browser.resize(width: 320, height: 640)
            try stage.browser.waitForLayout()
            #expect(try stage.browser.number("document.querySelector('#photo-bar').clientHeight") < 64, "one row")
            try stage.browser.resize(width: 1280, height: 800)
            let bare = try stage.look(at: "#photo")
            try stage.browser.run("document.querySelector('.mask[data-mask=top]').click()")
            #expect(stage.comes { try difference(bare, stage.look(at: "#photo")) > 2 })
            // While Guise is away, the last result stays, and where the faces are is asked for again.
            try stage.browser.run(
                """
                const fetched = fetch;
                window.failures = [];
                window.fetch = (path, ...more) => path.startsWith("/photo")
                    ? new Promise((_, fail) => failures.push(() => fail(new Error("Away.")))) : fetched(path, ...more);
                window.comeBack = () => { window.fetch = fetched; };
                """)
            let redraw = "return import('/library.js').then((library) => library.redraw())"
            for count in 1...2 {
                try stage.browser.run(redraw)
                try #require(stage.browser.waits(for: "failures.length == \(count)"))
            }
            try stage.browser.run("for (const fail of failures) fail()")
            #expect(stage.browser.waits(for: "document.querySelector('.toast.error')"))
            #expect(try stage.browser.text("document.querySelector('#photo-says').textContent") == "1 face")
            let found = try stage.browser.run(
                """
                return import("/photo.js").then(async ({ facesOfPhoto }) => {
                    const first = facesOfPhoto().catch(() => "none");
                    failures.at(-1)();
                    comeBack();
                    return `${await first} ${(await facesOfPhoto().catch(() => [])).length}`;
                });
                """)
            #expect(found.string == "none 1")
            try stage.browser.run("for (const error of document.querySelectorAll('.toast.error')) error.remove()")
            try stage.browser.click("#photo-close")
            #expect(stage.browser.waits(for: "document.querySelector('#live').width > 0"))
            // A file that is no picture is reported with Guise's own message.
            try stage.browser.run(
                """
                const files = new DataTransfer();
                files.items.add(new File(["no picture"], "no.jpg", {type: "image/jpeg"}));
                dispatchEvent(new DragEvent("drop", {dataTransfer: files, cancelable: true}));
                """)
            #expect(stage.browser.waits(for: "document.querySelector('.toast.error')"))
        }

        @Test func `a photo's faces are corrected by hand and by keys, undone alone, and kept for the photo`() throws {
            let stage = try Stage()
            let browser = stage.browser
            try stage.dropPortrait()
            let bare = try stage.look(at: "#photo")
            let plain = try browser.text("document.querySelector('#photo').src")
            try browser.run("document.querySelector('.mask[data-mask=round-glasses]').click()")
            let seen = "document.querySelector('#photo')"
            #expect(browser.waits(for: "\(seen).src !== '\(plain)' && \(seen).complete"))
            let found = try stage.look(at: "#photo")
            /// Whether the photo is shown with glasses, but elsewhere.
            func isMoved() throws -> Bool {
                let now = try stage.look(at: "#photo")
                return try browser.text("document.querySelector('#photo-says').textContent") == "1 face"
                    && difference(now, found) > 0.2 && difference(now, bare) > 0.2
            }
            func isBack() throws -> Bool { try difference(stage.look(at: "#photo"), found) < 0.1 }
            /// Waits until the photo is drawn with all changes.
            func isDrawn() -> Bool {
                browser.waits(for: "\(seen).complete && document.querySelector('#correction').ariaBusy == 'false'")
            }

            try browser.click("#photo-correct")
            let eye = "[aria-label='Left eye of face 1']"
            try #require(browser.waits(for: "document.querySelector(\"\(eye)\")"))
            #expect(try browser.number("document.querySelectorAll('#correction .handle').length") == 13)
            // The overlay lies over the photo, and its handles are as large as a finger needs.
            let size = try browser.number("document.querySelector(\"\(eye) .hit\").getBoundingClientRect().width")
            #expect(size >= 24)
            let place = "document.querySelector(\"\(eye)\").getAttribute('aria-valuetext')"
            let first = try browser.text(place)
            try browser.drag(eye, by: (40, -30))
            #expect(try browser.text(place) != first)
            #expect(try isDrawn() && isMoved())
            let dragged = try stage.look(at: "#photo")

            // Undo takes back the correction, and leaves the mask on.
            try browser.chord(Key.control, key: "z")
            #expect(try isDrawn() && isBack())
            #expect(try browser.text(place) == first)
            #expect(try stage.worn == ["round-glasses"])
            try browser.click("#correct-redo")
            #expect(try isDrawn() && difference(dragged, stage.look(at: "#photo")) < 0.1)

            // By a finger, and back.
            for distance in [(20, 10), (-20, -10)] {
                let before = try browser.text(place)
                try browser.drag(eye, by: distance, pointer: "touch")
                #expect(try browser.text(place) != before)
            }
            #expect(try isDrawn() && difference(dragged, stage.look(at: "#photo")) < 0.1)

            // By keys: a pixel of the photo, and ten.
            try browser.run("document.querySelector(\"\(eye)\").focus()")
            let x = "Number(document.querySelector(\"\(eye)\").getAttribute('aria-valuenow'))"
            let from = try browser.number(x)
            try browser.stroke(Key.right)
            #expect(try browser.number(x) == from + 1)
            try browser.chord(Key.shift, key: Key.right)
            #expect(try browser.number(x) == from + 11)
            #expect(try isDrawn() && isMoved() && difference(dragged, stage.look(at: "#photo")) > 0.1)
            let last = try stage.look(at: "#photo")

            // Escape ends the correction, and closes the photo only then.
            try browser.stroke(Key.escape)
            #expect(browser.waits(for: "document.querySelector('#correction').hasAttribute('hidden')"))
            #expect(try browser.run("return document.querySelector('#photo').hidden").bool == false)
            try browser.stroke(Key.escape)
            #expect(browser.waits(for: "document.querySelector('#photo').hidden"))
            try stage.dropPortrait()
            #expect(try difference(last, stage.look(at: "#photo")) < 0.1)

            // A face that was not found, and all forgotten.
            try browser.click("#photo-correct")
            try #require(browser.waits(for: "document.querySelector(\"\(eye)\")"))
            try browser.click("#correct-add")
            #expect(try browser.text("document.activeElement.getAttribute('aria-label')") == "All of face 2")
            #expect(browser.waits(for: "document.querySelector('#photo-says').textContent == '2 faces'"))
            try browser.click("#correct-again")
            #expect(browser.waits(for: "document.querySelector('#photo-says').textContent == '1 face'"))
            #expect(try isDrawn() && isBack())
            #expect(browser.waits(for: "\(place) == '\(first)'"))
            #expect(stage.guise.scratch.names(in: "state/guise/corrections").isEmpty)
            try browser.click("#photo-correct")
            try browser.click("#photo-close")
        }

        @Test(.needsAxe) func `axe finds nothing that hinders people, in any tab or width, light or dark`()
            throws
        {
            let stage = try Stage()
            let browser = stage.browser
            try browser.run("document.querySelector('.bar').append(document.createElement('button'))")
            #expect(try stage.findings().contains { $0.hasPrefix("critical button-name") }, "it finds what is wrong")
            try browser.run("document.querySelector('.bar > button').remove()")
            for scheme in ["light", "dark"] {
                try browser.run("document.documentElement.style.colorScheme = '\(scheme)'")
                for width in [1280, 900, 390, 320] {
                    try browser.resize(width: width, height: 800)
                    for tab in ["health", "settings", "masks"] {
                        try browser.click("#tab-\(tab)")
                        try #require(browser.waits(for: "!document.querySelector('#panel-\(tab)').hidden"))
                        let found = try stage.findings()
                        #expect(found == [], "\(tab), \(width) pixels, \(scheme): \(found)")
                    }
                }
            }
            try browser.resize(width: 1280, height: 800)
            try browser.run("document.documentElement.style.colorScheme = ''")
        }

        @Test(.needsAxe) func `axe finds nothing that hinders people in dialogs, photos, the album and the small view`()
            throws
        {
            let stage = try Stage(Stage.start(["--source", "sample"]))
            let browser = stage.browser
            func expectNothing(_ place: String) throws {
                let found = try stage.findingsInBothSchemes()
                #expect(found == [], "\(place): \(found)")
            }
            let masks: JSON = ["name-tag", "heart-glasses", "makeup-evening", "background-picture", "stamps"]
            try stage.guise.ask("add", ["masks": masks])
            try stage.guise.ask("favourite", ["mask": "crown"])
            try #require(browser.waits(for: "document.querySelectorAll('#worn li').length >= 5"))
            try #require(browser.waits(for: "document.querySelector('#shelf-list li')"))
            try expectNothing("worn masks and favourites")

            try browser.click("#help-open")
            try #require(browser.waits(for: "document.querySelector('#help').open"))
            try expectNothing("the list of hot keys")
            try browser.click("#help-close")

            try browser.click("#look-save")
            try #require(browser.waits(for: "document.querySelector('#look-dialog').open"))
            try expectNothing("the name of a look")
            try browser.click("#look-dialog .main")
            try #require(browser.waits(for: "document.querySelector('.toast')"))
            try expectNothing("a message")
            try #require(browser.waits(for: "document.querySelectorAll('#shelf-list li').length == 2"))
            try browser.run("document.querySelector('#shelf-list .remove').click()")
            try #require(browser.waits(for: "document.querySelector('#look-delete').open"))
            try expectNothing("the question before a look is deleted")
            try browser.click("#look-delete-cancel")

            try stage.dropPortrait()
            try expectNothing("a photo")
            try browser.click("#photo-correct")
            try #require(browser.waits(for: "document.querySelector('#correction .handle')"))
            try expectNothing("the points of a photo")
            try browser.click("#photo-correct")
            try browser.click("#photo-close")

            try browser.click("#snapshot")
            try #require(browser.waits(for: "document.querySelector('#taken img')?.naturalWidth == 640"))
            try expectNothing("the album")
            try browser.click("#taken a")
            try #require(browser.waits(for: "document.querySelector('#viewer').open"))
            try expectNothing("the viewer of the album")
            try browser.click("#viewer-close")

            try browser.click("#panic")
            try #require(browser.waits(for: "!document.querySelector('#panic-end').hidden"))
            try expectNothing("the placeholder")

            try browser.open(stage.place + "small.html")
            try #require(browser.waits(for: "document.querySelector('.small-picture')?.width > 0"))
            try #require(browser.waits(for: "document.querySelectorAll('.small-list button').length == 6"))
            try expectNothing("the small view, paused")
            try browser.click(".small-panic .main")
            try #require(browser.waits(for: "document.querySelector('.small-panic .main').hidden"))
            try expectNothing("the small view")
            #expect(try stage.guise.end().code == 0)
        }

        @Test func `a list says what is left to do before the first call, until it is closed`() throws {
            let stage = try Stage()
            try stage.browser.run("delete localStorage.firstCall; location.reload()")
            let done = "[...document.querySelectorAll('#first-steps li')].map((item) => item.className).join()"
            func shows(_ classes: String) -> Bool { stage.browser.waits(for: "\(done) === '\(classes)'") }
            try #require(shows(",,,"), "the sample is no camera, and there is no virtual one, no mask and no call")
            try stage.browser.click("[data-step='mask']")
            #expect(try stage.browser.run("return document.activeElement.id").string == "search")
            #expect(try stage.guise.guise("wear", "santa").code == 0)
            #expect(shows(",,done,"))
            try stage.browser.click("[data-step='virtualCamera']")
            #expect(
                stage.browser.waits(
                    for:
                        "document.querySelector('#checks .error, #checks .warning') && !document.querySelector('#panel-health').hidden"
                ))
            // What is well does not hide what is not.
            #expect(
                stage.browser.waits(
                    for:
                        "document.querySelector('#checks .ok') && !document.querySelector('#checks .ok').checkVisibility()"
                ))
            try stage.browser.click("#tab-masks")
            try stage.browser.click("#first-call-close")
            #expect(stage.browser.waits(for: "document.querySelector('#first-call').hidden"))
            try stage.browser.run("location.reload()")
            try #require(
                stage.browser.waits(
                    for: "document.querySelector('#checks li') && document.querySelector('#live').width"))
            #expect(try stage.browser.run("return document.querySelector('#first-call').hidden").bool == true)
        }

        @Test func `a click replaces the same kind, Shift adds, and undo and redo follow`() throws {
            let stage = try Stage()
            let browser = stage.browser
            func isUndoable(_ id: String) -> Bool {
                browser.waits(for: "document.querySelector('#\(id)').ariaDisabled != 'true'")
            }
            try browser.click(".mask[data-mask=crown]")
            #expect(stage.comes { try stage.worn == ["crown"] })
            try browser.click(".mask[data-mask=stubble]")
            #expect(stage.comes { try stage.worn == ["crown", "stubble"] })
            try browser.click(".mask[data-mask=top]")
            #expect(stage.comes { try stage.worn == ["top", "stubble"] })
            #expect(browser.waits(for: "document.querySelector('#worn-replaced').innerText.includes('Crown')"))
            try browser.click("#worn-both")
            #expect(stage.comes { try stage.worn == ["top", "stubble", "crown"] })
            try #require(isUndoable("undo"))
            try browser.click("#undo")
            #expect(stage.comes { try stage.worn == ["top", "stubble"] })
            try browser.chord(Key.control, key: "z")
            #expect(stage.comes { try stage.worn == ["crown", "stubble"] })
            try #require(isUndoable("redo"))
            try browser.chord(Key.control, Key.shift, key: "z")
            #expect(stage.comes { try stage.worn == ["top", "stubble"] })
            // Shift adds.
            try browser.press(Key.shift)
            try browser.click(".mask[data-mask=beanie]")
            try browser.release(Key.shift)
            #expect(stage.comes { try stage.worn == ["top", "stubble", "beanie"] })
            // A setting is undone like a mask, and the page follows.
            try browser.run("document.querySelector('#zoom').click()")
            #expect(browser.waits(for: "document.querySelector('#zoom').ariaPressed == 'true'"))
            try #require(browser.waits(for: "document.querySelector('#undo').title.includes('view.zoom')"))
            try browser.click("#undo")
            #expect(browser.waits(for: "document.querySelector('#zoom').ariaPressed == 'false'"))
            #expect(try stage.guise.ask("configuration")["values"]?["view"]?["zoom"]?.string == "off")
            // So does a slider that still has the focus.
            try browser.click("#tab-settings")
            let slider = "document.querySelector('[data-key=\"view.maxZoom\"]')"
            let before = try browser.text("\(slider).value")
            try browser.run(
                "\(slider).focus(); \(slider).value = 3; \(slider).dispatchEvent(new Event('input'))")
            try #require(browser.waits(for: "document.querySelector('#undo').title.includes('view.maxZoom')"))
            try browser.chord(Key.control, key: "z")
            #expect(browser.waits(for: "\(slider).value == '\(before)' && document.activeElement == \(slider)"))
            try browser.click("#tab-masks")
            // The command line takes back the same changes.
            let undone = try stage.guise.guise("undo")
            #expect(undone.out == "undone: add beanie; worn: top, stubble\n", "\(undone)")
        }

        @Test func `Panic shows the placeholder, and only Resume ends it`() throws {
            let stage = try Stage()
            let browser = stage.browser
            func isPaused() throws -> Bool? { try stage.guise.status()["paused"]?.bool }
            try browser.run("document.activeElement.blur(); localStorage.keys = 'off'")
            try browser.stroke(".")
            #expect(stage.comes { try isPaused() == true })
            try #require(browser.waits(for: "document.querySelector('#panic').hidden"))
            try browser.stroke(".")
            try browser.chord(Key.control, key: "z")
            #expect(try isPaused() == true)
            try browser.click("#panic-end")
            #expect(stage.comes { try isPaused() == false })
            try browser.run("localStorage.removeItem('keys')")
            // In a text, with Control, and by the button.
            try browser.run("document.querySelector('#search').focus()")
            try browser.stroke(".")
            #expect(try isPaused() == false)
            try browser.chord(Key.control, key: ".")
            #expect(stage.comes { try isPaused() == true })
            #expect(try browser.text("document.querySelector('#search').value") == ".")
            try #require(browser.waits(for: "document.querySelector('#panic').hidden"))
            try stage.guise.ask("resume")
            try #require(browser.waits(for: "!document.querySelector('#panic').hidden"))
            try browser.click("#panic")
            #expect(stage.comes { try isPaused() == true })
            #expect(try stage.guise.guise("panic").code == 0)
            #expect(try isPaused() == true)
            try stage.guise.ask("resume")
            // Also above an open dialog.
            try browser.run("document.activeElement.blur()")
            try browser.stroke("?")
            try #require(browser.waits(for: "document.querySelector('#help').open"))
            try browser.stroke(".")
            #expect(stage.comes { try isPaused() == true })
            try browser.run("document.querySelector('#help').close()")
            try stage.guise.ask("resume")
        }

        @Test func `locked hot keys change nothing during a call, and Panic still works`() throws {
            let stage = try Stage()
            let browser = stage.browser
            // In one script, because the page soon notices that no call is watching.
            try browser.run(
                """
                document.activeElement.blur();
                localStorage.keysInCall = "locked";
                return import('/key-lock.js').then((lock) => {
                    lock.setCall(true);
                    for (const key of ["r", "n", "u", "f", "0", "1", "."]) {
                        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
                    }
                });
                """)
            #expect(stage.comes { try stage.guise.status()["paused"]?.bool == true })
            #expect(try stage.worn.isEmpty && stage.guise.status()["frozen"]?.bool == false)
            try browser.run("localStorage.removeItem('keysInCall')")
            try stage.guise.ask("resume")
        }

        @Test func `the own preview is mirrored, for its owner only`() throws {
            let stage = try Stage()
            let browser = stage.browser
            let shown = "getComputedStyle(document.querySelector('#live')).transform"
            #expect(try browser.text(shown) == "matrix(-1, 0, 0, 1, 0, 0)")
            #expect(try stage.guise.ask("configuration")["values"]?["view"]?["mirror"]?.bool == false)
            try browser.run("document.activeElement.blur()")
            try browser.stroke("m")
            #expect(try browser.text(shown) == "none")
            try browser.stroke("m")
            #expect(try browser.text(shown) == "matrix(-1, 0, 0, 1, 0, 0)")
            // What is mirrored for others is not mirrored back.
            try stage.guise.ask("set", ["key": "view.mirror", "value": true])
            #expect(browser.waits(for: "\(shown) == 'none'"))
            try stage.guise.ask("set", ["key": "view.mirror", "value": false])
            #expect(browser.waits(for: "\(shown) != 'none'"))
            // A placeholder has words on it.
            try stage.guise.ask("pause")
            #expect(browser.waits(for: "\(shown) == 'none'"))
            try stage.guise.ask("resume")
            #expect(browser.waits(for: "\(shown) != 'none'"))
        }

        @Test func `the picture has as many pixels as are shown`() throws {
            let stage = try Stage()
            for (width, scale, pixels) in [(390, 1.0, 416), (390, 1.5, 608), (1280, 1.0, 640)] {
                try stage.browser.resize(width: width, height: 800, scale: scale)
                let isSharp = stage.browser.waits(for: "document.querySelector('#live').width == \(pixels)")
                #expect(isSharp, "\(width) at \(scale)")
            }
            try stage.browser.resize(width: 1280, height: 800)
        }

        @Test func `looks and favourites are saved, worn by key, and deleted`() throws {
            let stage = try Stage()
            let browser = stage.browser
            try stage.guise.ask("wear", ["masks": ["crown", "stubble"]])
            #expect(browser.waits(for: "!document.querySelector('#look-save').hidden"))
            try browser.click("#look-save")
            try browser.run(
                "document.querySelector('#look-name').value = ''; document.querySelector('#look-name').focus()")
            for letter in "King" { try browser.stroke(String(letter)) }
            try browser.stroke(Key.enter)
            #expect(browser.waits(for: "document.querySelector('#shelf-list .name')?.textContent == 'King'"))
            try browser.run("document.querySelector('.masks li:has([data-mask=top]) .star').click()")
            #expect(browser.waits(for: "document.querySelectorAll('#shelf-list li').length == 2"))
            try browser.run("document.activeElement.blur()")
            try browser.stroke("2")
            #expect(stage.comes { try stage.worn == ["top", "stubble"] })
            try browser.stroke("1")
            #expect(stage.comes { try stage.worn == ["crown", "stubble"] })
            #expect(browser.waits(for: "document.querySelector('#shelf-list .shelved').ariaPressed == 'true'"))
            #expect(browser.waits(for: "document.querySelector('#shelf-list img').naturalWidth == 192"))
            #expect(try stage.guise.guise("looks").out == "1  King: crown, stubble\nfavourites: top\n")
            try stage.guise.ask("clear")
            #expect(try stage.guise.guise("look", "King").out == "worn: crown, stubble\n")
            // A favourite that hides faces is not taken off by its key.
            try stage.guise.ask("favourite", ["mask": "pixelate"])
            #expect(browser.waits(for: "document.querySelectorAll('#shelf-list li').length == 3"))
            try browser.stroke("3")
            #expect(stage.comes { try stage.worn.contains("pixelate") })
            let third = "document.querySelector('#shelf-list li:nth-child(3) .shelved')"
            try #require(browser.waits(for: "\(third).ariaPressed == 'true'"))
            try browser.stroke("3")
            #expect(browser.waits(for: "document.querySelector('.toast')?.innerText.includes('stays on')"))
            try browser.stroke("1")
            #expect(stage.comes { try stage.worn == ["pixelate", "crown", "stubble"] })
            try stage.guise.ask("remove", ["mask": "pixelate"])
            // Before a look is deleted, the page asks.
            for (button, left) in [("#look-delete-cancel", 3), ("#look-delete .main", 2)] {
                try browser.run("document.querySelector('#shelf-list .remove').click()")
                try #require(browser.waits(for: "document.querySelector('#look-delete').open"))
                #expect(try browser.text("document.querySelector('#look-delete-title').textContent").contains("King"))
                try browser.click(button)
                #expect(browser.waits(for: "!document.querySelector('#look-delete').open"))
                #expect(browser.waits(for: "document.querySelectorAll('#shelf-list li').length == \(left)"))
            }
            for left in [1, 0] {
                try browser.run("document.querySelector('#shelf-list .remove').click()")
                #expect(browser.waits(for: "document.querySelectorAll('#shelf-list li').length == \(left)"))
            }
            #expect(try stage.guise.ask("looks")["looks"]?.elements.isEmpty == true)
        }

        @Test func `a mask whose title was edited has the new one at once`() throws {
            let scratch = try ScratchFolder()
            func describe(_ title: String) throws {
                try scratch.write(
                    #"{"version": 1, "title": "\#(title)", "layers": [{"kind": "effect", "mode": "grey"}]}"#,
                    "config/guise/Masks/own/mask.json")
            }
            try describe("Before the edit")
            let stage = try Stage(Stage.start(["--source", "sample"], in: scratch))
            let browser = stage.browser
            try stage.guise.ask("favourite", ["mask": "own"])
            let shown = "document.querySelector('#shelf-list .name')?.textContent"
            #expect(browser.waits(for: "\(shown) == 'Before the edit'"))
            try describe("After the edit")
            // As if the user came back from the editor beside the page.
            try browser.run("dispatchEvent(new Event('focus'))")
            #expect(browser.waits(for: "\(shown) == 'After the edit'"))
            #expect(
                browser.waits(
                    for: "document.querySelector('[data-mask=own] .name').textContent == 'After the edit'"))
        }

        @Test func `masks are found by kind, by other words, and in spite of typing errors`() throws {
            let stage = try Stage()
            let browser = stage.browser
            func found(_ words: String) throws -> String {
                try browser.run(
                    "const field = document.querySelector('#search'); field.value = '\(words)'; field.oninput()")
                return try browser.text(
                    "[...document.querySelectorAll('.masks li')].filter((one) => !one.hidden).map((one) => one.firstChild.dataset.mask).join()"
                )
            }
            for (words, mask) in [
                ("mustache", "chevron"), ("xmas", "santa"), ("sungalsses", "sunglasses"), ("privacy", "blur"),
                ("spectacles", "round-glasses"), ("crwon", "crown"),
            ] {
                #expect(try found(words).split(separator: ",").contains(Substring(mask)), "\(words)")
            }
            #expect(try !found("mustache").contains("crown"))
            #expect(try found("zzzzzzz") == "")
            _ = try found("")
            try browser.run("document.querySelector('#kinds [data-kind=glasses]').click()")
            #expect(try found("") == "heart-glasses,round-glasses,sunglasses")
            #expect(browser.waits(for: "document.querySelector('[data-mask=sunglasses] img').naturalWidth == 192"))
            #expect(try browser.number("document.querySelectorAll('#kinds button').length") <= 12)
            // A search is in all kinds, and what it finds comes into view, below the picture.
            try browser.resize(width: 390, height: 800)
            try browser.run("scrollTo(0, 0)")
            #expect(try found("hat").split(separator: ",").contains("santa-hat"))
            #expect(try browser.text("document.querySelector('#kinds [aria-pressed=true]').dataset.kind") == "")
            try browser.waitForLayout()
            let isSeen = """
                (() => {
                    const first = [...document.querySelectorAll('.masks li')].find((one) => !one.hidden);
                    const box = first.getBoundingClientRect();
                    const above = document.querySelector('#screen').getBoundingClientRect().bottom;
                    return box.top >= above && box.bottom <= innerHeight;
                })()
                """
            #expect(browser.waits(for: isSeen))
            _ = try found("")
            // Enter that ends a word of an input method, as for Japanese, is not for the page.
            let isComposing = "new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, cancelable: true })"
            try browser.run(
                "const field = document.querySelector('#search'); field.focus(); field.onkeydown(\(isComposing))")
            #expect(try browser.text("document.activeElement.id") == "search")
        }

        @Test func `a message is shown once, alone where there is little room, and in an open dialog`() throws {
            let stage = try Stage()
            let browser = stage.browser
            func say(_ words: String) throws {
                try browser.run("return import('/elements.js').then((page) => { page.toast('\(words)'); })")
            }
            func said() throws -> String {
                try browser.text(
                    "[...document.querySelectorAll('.toast')].filter((one) => one.checkVisibility())"
                        + ".map((one) => one.innerText).join()")
            }
            // None leaves by itself, however long a busy machine takes from one look to the next.
            try browser.run(
                """
                const start = setTimeout;
                window.setTimeout = (act, ...more) => act.name === "dismiss" ? 0 : start(act, ...more);
                """)
            for words in ["First.", "Second.", "First."] { try say(words) }
            #expect(try said() == "Second.,First.")
            try browser.resize(width: 390, height: 800)
            #expect(try said() == "First.")
            try browser.run("document.querySelector('#help').showModal()")
            try say("In the dialog.")
            // Whether it is what a click would hit.
            let isOnTop = """
                (() => {
                    const box = [...document.querySelectorAll('.toast')].at(-1).getBoundingClientRect();
                    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
                    return hit?.closest('.toast')?.innerText === 'In the dialog.';
                })()
                """
            #expect(browser.waits(for: isOnTop))
            try browser.click("#help-close")
            #expect(browser.waits(for: "document.querySelector('#toasts').parentElement === document.body"))
            #expect(browser.waits(for: isOnTop))
        }

        @Test func `undo says that a mask which hides faces stays on, and how to take it off`() throws {
            let stage = try Stage()
            let browser = stage.browser
            try browser.click(".mask[data-mask=pixelate]")
            try #require(browser.waits(for: "document.querySelector('#undo').title.includes('pixelate')"))
            try browser.run("document.querySelector('#announcer').textContent = ''")
            try browser.click("#undo")
            let said = "document.querySelector('.toast')?.innerText"
            #expect(browser.waits(for: "\(said)?.includes('Pixelate hides faces and stays on.')"))
            #expect(try browser.text("document.querySelector('#announcer').textContent") == "")
            #expect(try stage.worn == ["pixelate"])
            try browser.click(".toast .link")
            #expect(stage.comes { try stage.worn.isEmpty })
        }

        @Test func `another language is chosen without losing the place in the settings`() throws {
            let stage = try Stage()
            let browser = stage.browser
            defer { _ = try? browser.run("localStorage.removeItem('language')") }
            try browser.click("#tab-settings")
            try browser.run(
                "const list = document.querySelector('#language'); list.value = 'de'; list.onchange()")
            #expect(
                browser.waits(for: "document.documentElement.lang == 'de' && document.activeElement.id == 'language'"))
            let place = "document.activeElement.getBoundingClientRect()"
            #expect(browser.waits(for: "\(place).top > 0 && \(place).bottom < innerHeight"))
            #expect(try browser.text("JSON.stringify({...sessionStorage})") == "{}")
        }

        @Test func `the picture keeps its place when one is taken, and leaves room for what is below`() throws {
            let stage = try Stage(Stage.start(["--source", "sample"]), width: 1440)
            let browser = stage.browser
            try browser.resize(width: 1440, height: 900)
            try browser.waitForLayout()
            let box = "JSON.stringify(document.querySelector('#screen').getBoundingClientRect())"
            let before = try browser.text(box)
            try browser.click("#snapshot")
            try #require(browser.waits(for: "document.querySelector('#taken img')?.naturalWidth == 640"))
            try #require(browser.waits(for: "document.querySelector('.toast')"))
            try browser.waitForLayout()
            #expect(try browser.text(box) == before)
            try browser.resize(width: 1024, height: 768)
            try browser.waitForLayout()
            #expect(try browser.number("document.querySelector('#screen').clientHeight") <= 768 * 0.45)
            #expect(try stage.guise.end().code == 0)
        }

        @Test func `settings save themselves, without what is worn`() throws {
            let stage = try Stage(Stage.start(["--source", "sample"]))
            let browser = stage.browser
            try browser.click(".mask[data-mask=hud]")
            #expect(stage.comes { try stage.worn == ["hud"] })
            try browser.run("document.querySelector('#tab-settings').click()")
            try browser.run("document.querySelector('[data-key=\"view.mirror\"]').click()")
            func saved() throws -> JSON {
                try JSON([UInt8](stage.guise.scratch.read("config/guise/config.json")), file: "config.json")
            }
            #expect(stage.comes { try saved()["view"]?["mirror"]?.bool == true })
            #expect(try saved()["masks"]?.elements.isEmpty == true)
            // What Guise does not accept is not shown either.
            let slider = "document.querySelector('[data-key=\"view.maxZoom\"]')"
            let zoom = try browser.number("\(slider).valueAsNumber")
            try browser.run("\(slider).max = 1000; \(slider).value = 1000; \(slider).oninput()")
            #expect(browser.waits(for: "document.querySelector('.toast.error')"))
            #expect(browser.waits(for: "\(slider).valueAsNumber == \(zoom)"))
            // What is worn at the start is chosen apart from that.
            try browser.run(
                "const start = document.querySelector('#start'); start.value = 'last'; start.onchange()")
            #expect(stage.comes { try saved()["start"]?.string == "last" })
            #expect(try stage.guise.end().code == 0)
            let again = try RunningGuise(
                ["--source", "sample", "--sink", "page"],
                config: String(decoding: stage.guise.scratch.read("config/guise/config.json"), as: UTF8.self),
                in: stage.guise.scratch, isPublishing: false)
            #expect(try again.worn == ["hud"])
            #expect(try again.end().code == 0)
        }

        @Test func `a camera's controls are shown as far as it has them, and what is rejected is not shown`() throws {
            let stage = try Stage()
            let browser = stage.browser
            try browser.run("document.querySelector('#tab-settings').click()")
            try #require(browser.waits(for: "document.querySelectorAll('#cameras label').length"))
            #expect(try browser.run("return document.querySelector('#camera-controls').hidden").bool == true)
            // The sample has none, so the page is given those of a camera.
            try browser.run(
                """
                window.sent = [];
                const send = WebSocket.prototype.send;
                WebSocket.prototype.send = function (text) { sent.push(text); send.call(this, text); };
                const control = (name, more) => ({
                    name, title: name, kind: "integer", min: 0, max: 255, step: 1, default: 128, value: 128,
                    inactive: false, ...more,
                });
                const controls = [
                    control("gamma"), control("auto-gain", { kind: "boolean", max: 1, value: 1 }),
                    control("gain", { inactive: true, automatic: true, autoControl: "auto-gain" }), control("brightness"),
                ];
                return import("/camera-controls.js").then((page) => {
                    page.showControls({ camera: "Webcam", path: "/dev/video9", controls });
                });
                """)
            func rows(_ place: String) throws -> String {
                try browser.text(
                    "[...document.querySelectorAll('\(place) .row > :first-child')].map((e) => e.textContent).join()")
            }
            #expect(try rows("#camera-rows") == "Brightness,Automatic gain,Gain")
            #expect(try rows("#camera-more-rows") == "Gamma")
            let sliders = "document.querySelectorAll('#camera-rows input[type=range]')"
            #expect(try browser.run("return \(sliders)[1].disabled").bool == true)
            try browser.run("\(sliders)[0].value = 200; \(sliders)[0].oninput()")
            #expect(browser.waits(for: "document.querySelector('.toast.error')"))
            #expect(browser.waits(for: "\(sliders)[0].value == 128"))
            try browser.run("document.querySelector('#camera-rows input[type=checkbox]').click()")
            #expect(browser.waits(for: "sent.length == 2"))
            let sent = try browser.text("sent.map((line) => line.replace(/\"id\":\\d+,/, '')).join('')")
            #expect(
                sent == #"{"request":"camera","action":"set","control":"brightness","value":200}"#
                    + #"{"request":"camera","action":"set","control":"gain","value":128}"#)
        }

        @Test func `a camera is chosen with its size and rate, and one that comes or goes is seen`() throws {
            let stage = try Stage(Stage.start(["--source", "sample"]))
            let browser = stage.browser
            // There are no cameras here, so the test answers in the daemon's place, and as if the chosen one were used.
            try browser.run(
                """
                const webcam = (path, name, modes) => ({ path, name, camera: true, loopback: false, problem: null, modes });
                const mode = (format, width, height, rates) => ({ format, width, height, rates });
                window.first = webcam("/dev/video0", "First", [
                    mode("MJPG", 1920, 1080, [30, 60]), mode("YUYV", 640, 480, [30]), mode("MJPG", 640, 480, [30])]);
                window.second = webcam("/dev/video2", "Second", [mode("YUYV", 800, 600, [25])]);
                const loopback = { path: "/dev/video9", name: "Guise Camera", camera: false, loopback: true, modes: [] };
                [window.devices, window.used, window.sent] = [[first, loopback], "sample", []];
                const send = WebSocket.prototype.send;
                return import("/connection.js").then(({ ask }) => ask("status")).then((status) => {
                    const answers = {
                        devices: () => ({ devices }),
                        status: () => ({ ...status, source: used }),
                        use: ({ device }) => ({ source: used = device }),
                        camera: () => ({ camera: null, path: null, controls: [] }),
                    };
                    WebSocket.prototype.send = function (text) {
                        const asked = JSON.parse(text);
                        if (asked.request === "use" || asked.request === "set") sent.push(asked);
                        const answer = answers[asked.request];
                        if (!answer) return send.call(this, text);
                        const ok = answer(asked);
                        queueMicrotask(() => this.onmessage({ data: JSON.stringify({ id: asked.id, ok }) }));
                    };
                });
                """)
            let names =
                "[...document.querySelectorAll('#cameras label')].map((one) => one.innerText.split('\\n')[0]).join()"
            let checked = "document.querySelector('#cameras input:checked')?.value"
            try browser.click("#tab-settings")
            #expect(browser.waits(for: "\(names) == 'First,Sample portrait' && \(checked) == 'sample'"))
            try browser.run("document.querySelector('#cameras input').click()")
            #expect(browser.waits(for: "\(checked) == '/dev/video0' && sent[0]?.device == '/dev/video0'"))

            // Each size and rate once, the largest first, and what is set now.
            let modes = "[...document.querySelector('#mode').options].map((one) => one.label)"
            #expect(browser.waits(for: "\(modes)[0]?.startsWith('1920')"))
            let offered = try browser.text("\(modes).join('; ')")
            #expect(offered.hasPrefix("1920 × 1080, 60 fps; 1920 × 1080, 30 fps; "), "\(offered)")
            #expect(offered.components(separatedBy: "640 × 480, 30 fps").count == 2, "\(offered)")
            try browser.run(
                """
                const list = document.querySelector("#mode");
                list.value = [...list.options].find((one) => one.label === "1920 × 1080, 60 fps").value;
                list.onchange();
                """)
            #expect(
                stage.comes {
                    let camera = try stage.guise.ask("configuration")["values"]?["camera"]
                    return camera?["width"]?.number == 1920 && camera?["height"]?.number == 1080
                        && camera?["rate"]?.number == 60
                })
            #expect(try browser.text("document.querySelector('#mode').selectedOptions[0].label").hasPrefix("1920"))

            // Another one is plugged in, and later the chosen one is gone.
            try browser.run("devices.push(second); dispatchEvent(new Event('focus'))")
            #expect(browser.waits(for: "\(names) == 'First,Second,Sample portrait' && \(checked) == '/dev/video0'"))
            try browser.run("devices.shift(); dispatchEvent(new Event('focus'))")
            #expect(browser.waits(for: "\(names) == 'Second,Sample portrait' && !\(checked)"))
            try browser.run("document.querySelector('#cameras input').click()")
            #expect(browser.waits(for: "\(checked) == '/dev/video2' && \(modes).includes('800 × 600, 25 fps')"))
            #expect(try stage.guise.end().code == 0)
        }

        @Test func `a connection that ends before it is complete is made again`() throws {
            let stage = try Stage()
            try stage.browser.run(
                """
                const send = WebSocket.prototype.send;
                let isOpen = true;
                window.states = [];
                WebSocket.prototype.send = function (message) {
                    // The open one ends, and then the next one when it is about to be complete.
                    if (!isOpen && !message.includes("subscribe")) return send.call(this, message);
                    if (!isOpen) WebSocket.prototype.send = send;
                    isOpen = false;
                    this.close();
                };
                return import("/connection.js").then((connection) => {
                    connection.on("connection", ({ state }) => states.push(state));
                    connection.ask("status").catch(() => {});
                });
                """)
            #expect(stage.browser.waits(for: "states.join() == 'lost,lost,open'"))
        }

        @Test func `a link that is opened during a handshake leaves one connection`() throws {
            let stage = try Stage()
            let secret = stage.link.drop { $0 != "#" }
            // The first connection ends, and the handshake of the second one waits until the link has come again.
            try stage.browser.run(
                """
                const [sign, Socket] = [crypto.subtle.sign, WebSocket];
                window.sockets = [];
                window.WebSocket = class extends Socket {
                    constructor(...words) { super(...words); sockets.push(this); }
                };
                let goOn;
                const held = new Promise((resolve) => { goOn = resolve; });
                crypto.subtle.sign = (...words) => {
                    delete crypto.subtle.sign;
                    window.isHeld = true;
                    return held.then(() => sign.apply(crypto.subtle, words));
                };
                addEventListener("connection-held", () => goOn());
                location.hash = "\(secret)";
                return import("/connection.js").then((connection) => { window.connection = connection; });
                """)
            try #require(stage.browser.waits(for: "window.isHeld"))
            try stage.browser.run(
                """
                const { on } = connection;
                on("connection", () => dispatchEvent(new Event("connection-held")));
                location.hash = "\(secret)";
                """)
            #expect(
                stage.browser.waits(
                    for: "sockets.map((one) => one.readyState).join() == '3,1' && connection.state == 'open'"))
        }

        @Test func `a link that is opened while a connection is completed is tried after the shortest pause`() throws {
            let stage = try Stage()
            let secret = stage.link.drop { $0 != "#" }
            try stage.browser.run(
                """
                const send = WebSocket.prototype.send;
                let isOpen = true;
                window.pauses = [];
                WebSocket.prototype.send = function (message) {
                    // The open one ends, and the next one is not answered before the link comes.
                    if (!isOpen && !message.includes("subscribe")) return send.call(this, message);
                    if (isOpen) { isOpen = false; return this.close(); }
                    WebSocket.prototype.send = send;
                    location.hash = "\(secret)";
                };
                return import("/connection.js").then((connection) => {
                    connection.on("connection", ({ state, seconds }) => pauses.push(seconds ?? state));
                    connection.ask("status").catch(() => {});
                });
                """)
            #expect(stage.browser.waits(for: "pauses.join() == '0.5,0.5,open'"))
        }

        @Test func `a row that is dragged while its mask is taken off ends the drag`() throws {
            let stage = try Stage()
            let browser = stage.browser
            try stage.guise.ask("wear", ["masks": ["crown", "stubble"]])
            let count = "document.querySelectorAll('#worn li').length"
            try #require(browser.waits(for: "\(count) == 2"))
            try browser.run(
                """
                const grip = document.querySelector("#worn .grip");
                grip.setPointerCapture = () => {};
                grip.onpointerdown(new PointerEvent("pointerdown", { button: 0 }));
                """)
            try stage.guise.ask("clear")
            try #require(browser.waits(for: "\(count) == 0"))
            try stage.guise.ask("wear", ["masks": ["santa"]])
            #expect(browser.waits(for: "\(count) == 1"))
        }

        @Test func `a colour that is undone while its field has the focus is shown`() throws {
            let stage = try Stage()
            let browser = stage.browser
            try stage.guise.ask("wear", ["masks": ["stubble"]])
            let field = "document.querySelector('#worn input[type=color]')"
            try #require(browser.waits(for: field))
            let first = try browser.text("\(field).value")
            try browser.run("\(field).focus(); \(field).value = '#123456'; \(field).oninput()")
            #expect(stage.comes { try stage.guise.status().text.contains("#123456") })
            try browser.chord(Key.control, key: "z")
            #expect(stage.comes { try !stage.guise.status().text.contains("#123456") })
            #expect(browser.waits(for: "\(field).value == '\(first)'"))
        }

        @Test func `a stamp that is removed while it is dragged leaves the others movable`() throws {
            let stage = try Stage()
            let browser = stage.browser
            try browser.click(".mask[data-mask=stamps]")
            let count = "document.querySelectorAll('.stamp-handles > div').length"
            try #require(browser.waits(for: "\(count) == 2"))
            let seize = """
                const handle = document.querySelector(".stamp-handles [data-stamp='0'] .stamp-move");
                handle.setPointerCapture = () => {};
                handle.onpointerdown(new PointerEvent("pointerdown", { button: 0 }));
                """
            try browser.run(seize)
            try browser.run("document.activeElement.onkeydown(new KeyboardEvent('keydown', { key: 'Delete' }))")
            try #require(browser.waits(for: "\(count) == 1"))
            try browser.run("document.querySelector('.stamp-rows select').value = 'picture'")
            try browser.run("document.querySelector('.stamp-rows select').onchange()")
            let isSeized = try browser.run(seize + "return Boolean(handle.onpointermove);").bool
            #expect(isSeized == true)
            try browser.run("document.querySelector(\".stamp-handles .stamp-move\").onpointerup()")
        }

        @Test func `the focus stays in a list from which something is removed`() throws {
            let stage = try Stage()
            let browser = stage.browser
            for mask in ["crown", "santa", "top"] { try stage.guise.ask("favourite", ["mask": JSON(mask)]) }
            let count = "document.querySelectorAll('#shelf-list li').length"
            try #require(browser.waits(for: "\(count) == 3"))
            try browser.run("document.querySelector('#shelf-list li:nth-child(2) .remove').focus()")
            for left in [2, 1] {
                try browser.stroke(Key.enter)
                try #require(browser.waits(for: "\(count) == \(left)"))
                #expect(try browser.text("document.activeElement.className") == "remove")
            }
            try browser.stroke(Key.enter)
            try #require(browser.waits(for: "\(count) == 0"))
            #expect(try browser.text("document.activeElement.id") == "search")
            // A favourite that is none any more leaves the favourites of the gallery.
            for mask in ["crown", "top"] { try stage.guise.ask("favourite", ["mask": JSON(mask)]) }
            try #require(browser.waits(for: "\(count) == 2"))
            try browser.run("document.querySelector('#kinds [data-kind=favourites]').click()")
            try browser.run("document.querySelector('.mask[data-mask=crown]').focus()")
            try browser.stroke("*")
            #expect(browser.waits(for: "document.activeElement.dataset.mask == 'top'"))
            try browser.stroke("*")
            #expect(browser.waits(for: "\(count) == 0"))
        }

        @Test func `a picture is enlarged, renamed and deleted, after a countdown`() throws {
            let stage = try Stage(Stage.start(["--source", "sample"]))
            let browser = stage.browser
            try browser.click("#timer")
            #expect(try browser.text("document.querySelector('#countdown').value") == "3")
            try browser.run(
                """
                window.counted = [];
                const count = document.querySelector("#count");
                new MutationObserver(() => counted.push(count.textContent)).observe(count, { childList: true });
                """)
            try browser.click("#snapshot")
            try #require(browser.waits(for: "document.querySelector('#taken img')?.naturalWidth == 640"))
            #expect(try browser.run("return counted").elements.compactMap(\.string) == ["3", "2", "1"])
            try browser.run("localStorage.removeItem('countdown')")
            try browser.click("#taken a")
            #expect(browser.waits(for: "document.querySelector('#viewer').open"))
            #expect(browser.waits(for: "document.querySelector('#viewer-picture img').clientWidth > 600"))
            try browser.run(
                "const name = document.querySelector('#viewer-name'); name.value = 'Me'; name.form.requestSubmit()")
            #expect(
                stage.comes { stage.files("Pictures/Guise").map { $0.split(separator: "/").last ?? "" } == ["Me.png"] })
            #expect(browser.waits(for: "document.querySelector('#taken img').alt == 'Picture Me.png'"))
            // Pictures are listed again on a page that is opened later.
            try browser.open("about:blank")
            try browser.open(stage.place)
            try #require(browser.waits(for: "document.querySelector('#taken img')?.alt == 'Picture Me.png'"))
            try browser.click("#taken a")
            #expect(browser.waits(for: "document.querySelector('#viewer').open"))
            try browser.click("#viewer-delete")
            #expect(stage.comes { stage.files("Pictures/Guise").isEmpty })
            #expect(
                browser.waits(for: "!document.querySelector('#viewer').open && !document.querySelector('#taken li')"))
            let trash = try stage.guise.scratch.shell(
                "find . -path '*Trash/files/Me.png'; cat $(find . -name Me.png.trashinfo)")
            #expect(trash.contains("Trash/files/Me.png") && trash.contains("Path=") && trash.contains("DeletionDate="))
            #expect(try stage.guise.end().code == 0)
        }

        @Test func `at the end of the album the keys go on, and Delete that is held down removes one`() throws {
            let stage = try Stage(Stage.start(["--source", "sample"]))
            let browser = stage.browser
            for count in 1...3 {
                try browser.click("#snapshot")
                try #require(browser.waits(for: "document.querySelectorAll('#taken li').length == \(count)"))
            }
            try browser.click("#taken a")
            try #require(browser.waits(for: "document.querySelector('#viewer').open"))
            try browser.run("document.querySelector('#viewer-older').focus()")
            try browser.stroke(Key.enter, Key.enter)
            let name = "document.querySelector('#viewer-name').value"
            let oldest = try browser.text(name)
            #expect(try browser.text("document.querySelector('#viewer-older').ariaDisabled") == "true")
            try browser.stroke(Key.left)
            #expect(try browser.text(name) != oldest)
            try browser.run(
                """
                document.querySelector("#viewer").dispatchEvent(
                    new KeyboardEvent("keydown", { key: "Delete", repeat: true }));
                """)
            try browser.stroke(Key.delete)
            #expect(browser.waits(for: "document.querySelectorAll('#taken li').length == 2"))
            #expect(try browser.text("String(document.querySelector('.toast.error'))") == "null")
            #expect(stage.files("Pictures/Guise").count == 2)
            #expect(try stage.guise.end().code == 0)
        }

        @Test(.needsScreen)
        func `the small view is in a window that stays on top, with a sharp picture, six masks and Panic`() throws {
            let scratch = try ScratchFolder()
            // Headless browsers have no such windows.
            let screen = try Screen(in: scratch)
            let browser = try Browser(in: scratch, on: screen)
            let stage = try Stage(in: browser)
            try browser.run(
                """
                window.view = () => documentPictureInPicture.window.document;
                window.picture = () => {
                    const pen = new OffscreenCanvas(64, 36).getContext("2d");
                    pen.drawImage(view().querySelector("canvas"), 0, 0, 64, 36);
                    return [...pen.getImageData(0, 0, 64, 36).data].filter((_, at) => at % 4 < 3);
                };
                """)
            func picture() throws -> [Double] { try browser.run("return picture()").elements.compactMap(\.number) }
            try browser.click("#small")
            try #require(browser.waits(for: "view().querySelectorAll('.small-list button').length == 6"))
            // As many pixels as are seen.
            let shown = "Math.min(canvas.clientWidth, canvas.clientHeight * canvas.width / canvas.height)"
            let isSharp = browser.waits(
                for: "(() => { const canvas = view().querySelector('canvas'); return canvas.width >= \(shown); })()")
            let widths = try browser.run(
                "const canvas = view().querySelector('canvas'); return [canvas.width, \(shown), canvas.clientHeight]")
            #expect(isSharp, "\(widths.text)")
            #expect(
                browser.waits(
                    for: "[...view().querySelectorAll('.small-list img')].every((i) => i.naturalWidth == 192)"))
            let first = try picture()
            #expect(stage.comes { try difference(first, picture()) > 5 })
            try browser.run("view().querySelector('.small-list button').click()")
            #expect(stage.comes { try stage.worn.count == 1 })
            try browser.run("view().querySelector('.small-panic .panic').click()")
            #expect(stage.comes { try stage.guise.status()["paused"]?.bool == true })
            #expect(
                browser.waits(for: "view().querySelector('.small-words').textContent == 'Others see a placeholder'"))
            try browser.run("view().querySelector('.small-panic .main').click()")
            #expect(stage.comes { try stage.guise.status()["paused"]?.bool == false })
            if Fixtures.exists(Fixtures.axe) {
                let found = try browser.inOtherWindow { try stage.findings() }
                #expect(found == [], "\(found)")
            }
            // The same button closes it, and the page goes on.
            try browser.click("#small")
            #expect(browser.waits(for: "documentPictureInPicture.window === null"))
            let last = try stage.look()
            #expect(stage.comes { try difference(last, stage.look()) > 5 })
            // Where there are no such windows, it is in one of its own.
            try browser.run(
                """
                Object.defineProperty(window, "documentPictureInPicture", { value: undefined });
                const open = window.open;
                window.open = (...words) => window.own = open(...words);
                window.view = () => own.document;
                """)
            try browser.click("#small")
            try #require(browser.waits(for: "view().querySelectorAll('.small-list button').length == 6"))
            #expect(
                browser.waits(for: "view().querySelector('canvas').width >= own.innerWidth && own.innerWidth < 400"))
            let second = try picture()
            #expect(stage.comes { try difference(second, picture()) > 5 })
            try browser.run("own.close()")
        }

        @Test func `the small view shows the picture, six masks and Panic`() throws {
            let stage = try Stage()
            let browser = stage.browser
            // The window of browsers without one that stays on top.
            try browser.open(stage.place + "small.html")
            try #require(browser.waits(for: "document.querySelector('.small-picture')?.width > 0"))
            try #require(browser.waits(for: "document.querySelectorAll('.small-list button').length == 6"))
            #expect(browser.waits(for: "document.querySelector('.small-list img').naturalWidth == 192"))
            try browser.run("document.querySelector('.small-list button').click()")
            #expect(stage.comes { try stage.worn.count == 1 })
            try browser.click(".small-panic .panic")
            #expect(stage.comes { try stage.guise.status()["paused"]?.bool == true })
            try #require(browser.waits(for: "!document.querySelector('.small-panic .main').hidden"))
            try browser.click(".small-panic .main")
            #expect(stage.comes { try stage.guise.status()["paused"]?.bool == false })
            // With the keyboard, as on the page: Ctrl+. too, and locked keys wear nothing.
            try browser.run(
                """
                localStorage.keysInCall = "locked";
                return import('/key-lock.js').then((lock) => {
                    lock.setCall(true);
                    const press = (key, ctrlKey) => window.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey }));
                    press("2", false);
                    press(".", true);
                });
                """)
            #expect(stage.comes { try stage.guise.status()["paused"]?.bool == true })
            #expect(try stage.worn.count == 1)
            try browser.run("localStorage.removeItem('keysInCall')")
            try stage.guise.ask("resume")
            // A window that nobody sees neither draws nor keeps the camera open.
            try browser.run(
                """
                Object.defineProperty(document, "hidden", { get: () => window.isAway, configurable: true });
                window.isAway = true;
                document.dispatchEvent(new Event("visibilitychange"));
                """)
            #expect(browser.waits(for: "document.querySelector('.small-picture').width == 0"))
            try browser.run("window.isAway = false; document.dispatchEvent(new Event('visibilitychange'))")
            #expect(browser.waits(for: "document.querySelector('.small-picture').width > 0"))
            // The page can be installed.
            let manifest = try stage.ask("manifest.webmanifest")
            let json = try JSON(manifest.body, file: "manifest")
            #expect(manifest.headers["content-type"] == "application/manifest+json")
            for icon in json["icons"]?.elements ?? [] {
                #expect(try stage.ask(String((icon["src"]?.string ?? "").dropFirst())).status == 200)
            }
        }
    }
}
