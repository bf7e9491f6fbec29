import Foundation
import JSON
import Testing

/// A screen in memory, for a browser that is not headless.
public final class Screen {
    private let server: Running
    /// The X display: ":1".
    public let display: String

    public init(in scratch: ScratchFolder) throws {
        // It writes the number of its display to standard error, once it is ready, perhaps after warnings.
        let server = try Running(
            ["-displayfd", "2", "-screen", "0", "1280x900x24", "-nolisten", "tcp"], of: "Xvfb", in: scratch)
        func number(_ said: String) -> Int? {
            // What follows the last end of a line may be part of a number.
            said.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { Int($0) }.last
        }
        try #require(server.waits { number($0) != nil }, "\(server.said)")
        display = ":\(try #require(number(server.said)))"
        self.server = server
    }

    deinit {
        server.send(signal: SIGTERM)
        server.wait()
    }
}

/// A Chromium, controlled over WebDriver (https://www.w3.org/TR/webdriver2/) by Debian's chromium-driver.
public final class Browser: @unchecked Sendable {
    private let driver: Running
    private let place: String
    private let session: String
    private let scratch: ScratchFolder

    /// - Parameters:
    ///   - screen: where its windows are; nil: nowhere, it is headless.
    ///   - width: of what is seen of a page, in pixels.
    public init(in scratch: ScratchFolder, on screen: Screen? = nil, width: Int = 1280, height: Int = 800) throws {
        // It prints its port on standard output. It needs the same one for IPv4 and IPv6, which sometimes isn't free.
        func start() throws -> Running {
            let display = screen.map { "DISPLAY=\($0.display) " } ?? ""
            return try Running(["-c", "\(display)exec chromedriver --port=0 >&2"], of: "/bin/bash", in: scratch)
        }
        var driver = try start()
        for _ in 0..<5 where !driver.waits(for: "started successfully on port") { driver = try start() }
        let port = try #require(driver.said.firstMatch(of: /successfully on port (\d+)/)?.1)
        (self.driver, self.scratch, place) = (driver, scratch, "http://127.0.0.1:\(port)")
        // Root has no sandbox; containers have little shared memory.
        let options: [String] =
            (screen == nil ? ["--headless=new"] : []) + [
                "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                // One process for all pages, and none in reserve: starting them took a third of the browser's time.
                "--renderer-process-limit=1", "--disable-site-isolation-trials", "--disable-extensions",
                "--disable-features=SpareRendererForSitePerProcess,BackForwardCache,site-per-process",
                // The page is in the language of the browser.
                "--accept-lang=en-US,en",
                "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
                // In seconds: by default a process ends, the network's too, that a busy machine has not connected to
                // the others after 15.
                "--ipc-connection-timeout=3600",
                "--user-data-dir=\(scratch.path("browser"))",
            ]
        let answer = try Self.send(
            "POST", "\(place)/session",
            JSON([
                "capabilities": JSON([
                    "alwaysMatch": JSON([
                        "browserName": JSON("chrome"), "goog:chromeOptions": JSON(["args": JSON(options)]),
                    ])
                ])
            ]))
        session = "\(place)/session/\(try #require(answer["sessionId"]?.string, "\(answer.text)"))"
        // Scripts wait for what they are to see.
        _ = try command("timeouts", ["script": JSON(.null), "pageLoad": JSON(Self.timeout)])
        try resize(width: width, height: height)
        // A shared browser lives until the test run exits.
        Running.atExit { [weak self] in self?.quit() }
    }

    /// Milliseconds: more than any machine takes for a page.
    private static let timeout = 3_600_000

    deinit { quit() }

    /// Ends the browser; ending only the driver would leave it running.
    private func quit() {
        guard driver.isRunning else { return }
        _ = try? Self.send("DELETE", session, nil)
        driver.send(signal: SIGTERM)
        driver.wait()
    }

    /// A page of another origin on this computer: the driver's. Browsers send our cookies to it, because cookies ignore
    /// ports.
    public var foreignPage: String { "\(place)/status" }

    /// - Parameter scale: the screen's pixels per pixel of the page.
    public func resize(width: Int, height: Int, scale: Double = 1) throws {
        let metrics: JSON = JSON([
            "width": JSON(width), "height": JSON(height), "deviceScaleFactor": JSON(scale),
            "mobile": JSON(width < 500),
        ])
        _ = try command("goog/cdp/execute", ["cmd": JSON("Emulation.setDeviceMetricsOverride"), "params": metrics])
    }

    public func open(_ address: String) throws { _ = try command("url", ["url": JSON(address)]) }

    /// The result of a script; for a promise, its value.
    @discardableResult
    public func run(_ script: String) throws -> JSON {
        try command("execute/sync", ["script": JSON(script), "args": JSON([JSON]())])
    }

    public func number(_ script: String) throws -> Double { try #require(run("return \(script)").number, "\(script)") }
    public func text(_ script: String) throws -> String { try #require(run("return \(script)").string, "\(script)") }

    /// Waits until an expression is true.
    /// - Returns: false if it is not true after `maxLooks` checks, between which the page continues: on a busy machine
    ///   they take longer.
    public func waits(for expression: String) -> Bool {
        let script = """
            return new Promise((resolve) => {
                let left = \(Self.maxLooks);
                const lookAgain = () => {
                    let isTrue = false;
                    try { isTrue = Boolean(\(expression)); } catch {}
                    if (isTrue || --left < 0) resolve(isTrue); else setTimeout(lookAgain, 50);
                };
                lookAgain();
            });
            """
        // A page that is loaded meanwhile, as after a link with a secret, ends the script with an error.
        for _ in 0..<Self.maxLoads {
            if let answer = try? run(script) { return answer.value == .bool(true) }
        }
        return false
    }

    /// More than a page is loaded while something is waited for.
    private static let maxLoads = 10

    /// Five minutes' worth if nothing delays them: what the page waits for may be slower on a busy machine than its
    /// timers are.
    private static let maxLooks = 6000

    /// Does something in the browser's other window, such as one that stays on top: scripts run there meanwhile.
    public func inOtherWindow<Value>(_ work: () throws -> Value) throws -> Value {
        let own = try #require(Self.send("GET", "\(session)/window", nil).string)
        let windows = try Self.send("GET", "\(session)/window/handles", nil).elements.compactMap(\.string)
        let other = try #require(windows.first { $0 != own }, "\(windows)")
        _ = try command("window", ["handle": JSON(other)])
        let result = Result { try work() }
        _ = try command("window", ["handle": JSON(own)])
        return try result.get()
    }

    /// Waits until changes are laid out and painted.
    public func waitForLayout() throws {
        try run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
    }

    /// Clicks on an element like a mouse, once it is visible. Fails if it is covered.
    public func click(_ selector: String) throws {
        try #require(waits(for: "document.querySelector(\(JSON(selector).text)).checkVisibility()"), "\(selector)")
        _ = try command("element/\(element(selector))/click", [:])
    }

    /// Drags the middle of an element by a distance in pixels.
    /// - Parameter pointer: mouse, pen or touch.
    public func drag(_ selector: String, by distance: (x: Int, y: Int), pointer: String = "mouse") throws {
        let middle = try run(
            """
            const box = document.querySelector("\(selector)").getBoundingClientRect();
            return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];
            """
        ).elements.compactMap { $0.number.map { Int($0) } }
        try #require(middle.count == 2, "\(selector)")
        func move(_ x: Int, _ y: Int) -> JSON {
            JSON(["type": JSON("pointerMove"), "duration": JSON(0), "x": JSON(x), "y": JSON(y)])
        }
        let (x, y) = (middle[0], middle[1])
        let steps = [
            move(x, y), JSON(["type": JSON("pointerDown"), "button": JSON(0)]),
            move(x + distance.x / 2, y + distance.y / 2), move(x + distance.x, y + distance.y),
            JSON(["type": JSON("pointerUp"), "button": JSON(0)]),
        ]
        let actions: JSON = JSON([
            "type": JSON("pointer"), "id": JSON(pointer), "parameters": JSON(["pointerType": JSON(pointer)]),
            "actions": JSON(steps),
        ])
        _ = try command("actions", ["actions": JSON([actions])])
    }

    /// Presses keys, one after the other, wherever the focus is.
    public func stroke(_ keys: String...) throws { for key in keys { try act(down: key, up: key) } }
    /// Presses a key while others, such as Control, are held.
    public func chord(_ held: String..., key: String) throws {
        for modifier in held { try press(modifier) }
        try stroke(key)
        for modifier in held.reversed() { try release(modifier) }
    }
    public func press(_ key: String) throws { try act(down: key, up: nil) }
    public func release(_ key: String) throws { try act(down: nil, up: key) }

    /// Resident memory of the process that shows the page, MB, under memory pressure, because otherwise it caches some
    /// hundred MB of decoded pictures. The browser's other processes vary.
    public func memory() throws -> Int {
        let isShort: JSON = JSON(["level": JSON("critical")])
        _ = try command(
            "goog/cdp/execute", ["cmd": JSON("Memory.simulatePressureNotification"), "params": isShort])
        _ = try command("goog/cdp/execute", ["cmd": JSON("HeapProfiler.collectGarbage"), "params": JSON([:])])
        var (sizes, children) = ([Int: Int](), [Int: [Int]]())
        for line in try scratch.shell("ps -ewwo pid=,ppid=,rss=,args=").split(separator: "\n") {
            let words = line.split(separator: " ")
            let numbers = words.prefix(3).compactMap { Int($0) }
            guard numbers.count == 3 else { continue }
            if words.contains("--type=renderer") { sizes[numbers[0]] = numbers[2] }
            children[numbers[1], default: []].append(numbers[0])
        }
        var (most, waiting) = (0, [Int(driver.pid)])
        while let next = waiting.popLast() {
            most = max(most, sizes[next] ?? 0)
            waiting += children[next] ?? []
        }
        return most / 1000
    }

    private func element(_ selector: String) throws -> String {
        let found = try command("element", ["using": JSON("css selector"), "value": JSON(selector)])
        // The standard's key for a reference to an element.
        return try #require(found["element-6066-11e4-a52e-4f735466cecf"]?.string, "\(found.text)")
    }

    private func act(down: String?, up: String?) throws {
        let steps = [("keyDown", down), ("keyUp", up)].compactMap { kind, key in
            key.map { JSON(["type": JSON(kind), "value": JSON($0)]) }
        }
        let keyboard: JSON = JSON(["type": JSON("key"), "id": JSON("keyboard"), "actions": JSON(steps)])
        _ = try command("actions", ["actions": JSON([keyboard])])
    }

    private func command(_ path: String, _ body: KeyValuePairs<String, JSON>) throws -> JSON {
        try Self.send("POST", "\(session)/\(path)", JSON(body))
    }

    private static func send(_ method: String, _ address: String, _ body: JSON?) throws -> JSON {
        let answer = try prefetch(
            method, address, ["Content-Type": "application/json"], body: Array((body?.text ?? "").utf8))
        let value = try #require(try JSON(answer.body, file: "answer")["value"])
        try #require(answer.status == 200, "\(address): \(value["message"]?.string ?? value.text)")
        return value
    }

    /// Sends a request to a server on this computer (Foundation's own client refuses the driver's headers), and waits
    /// for the whole answer. No cookies are kept, and no redirection is followed.
    /// - Parameter address: "http://127.0.0.1:PORT/PATH".
    public static func prefetch(
        _ method: String, _ address: String, _ headers: [String: String] = [:], body: [UInt8] = []
    ) throws -> Answer {
        let parts = try #require(address.wholeMatch(of: /http:\/\/(127\.0\.0\.1:(\d+))(\/.*)/), "\(address)")
        let connection = try HTTPTestClient(port: try #require(Int(parts.2)))
        try connection.request(
            method, String(parts.3), headers.merging(["Host": String(parts.1)]) { given, _ in given }, body: body)
        return try connection.answer()
    }
}

/// Keys without a letter, in WebDriver's encoding.
public enum Key {
    public static let (tab, enter, escape) = ("\u{E004}", "\u{E007}", "\u{E00C}")
    public static let (left, up, right, down) = ("\u{E012}", "\u{E013}", "\u{E014}", "\u{E015}")
    public static let (shift, control) = ("\u{E008}", "\u{E009}")
    public static let (home, pageDown, delete) = ("\u{E011}", "\u{E00F}", "\u{E017}")
}
