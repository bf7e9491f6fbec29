import ArgumentParser
import Capture
import Compose
import Control
import Frames
import Glibc
import Page
import Publish

/// `guise run`: the daemon, in the foreground.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Start Guise: camera in, masked video out, until interrupted.")

    @Option(help: "Configuration file; else the user's, else the installed one.")
    var config: String?
    @Option(help: "camera, /dev/videoN, sample, or a photo or clip.")
    var source: String?
    @Option(
        name: .customLong("sink"), help: "loopback, /dev/videoN, page, null, or a file; may be given several times.")
    var sinks: [String] = []
    @Option(name: .customLong("mask"), help: "A mask to wear; may be given several times.")
    var masks: [String] = []
    @Flag(help: "Give a file's frames at their own pace instead of as fast as they can be made.")
    var realtime = false
    @Flag(help: "Begin a file again at its end.")
    var loop = false
    @Flag(help: "Replace files that exist.")
    var overwrite = false

    func run() throws {
        try Self.serve(
            AppContext(configuration: config), source: source, sinks: sinks, masks: masks, isRealtime: realtime,
            isLooped: loop, overwrites: overwrite, page: .asChosen)
    }

    /// Whether the page is begun with the daemon, and opened.
    enum PageUse {
        /// Where it is among the sinks; opened where it is there for want of a virtual camera, and a person looks on.
        case asChosen
        /// Whatever the sinks are.
        case shown
        /// The same, and its address is only printed.
        case printed
    }

    /// Dresses frames until it is interrupted.
    /// - Parameters:
    ///   - source: nil: the configuration's.
    ///   - sinks: none: the configuration's; the same with `masks`.
    ///   - overwrites: files that exist are replaced.
    static func serve(
        _ context: AppContext, source: String? = nil, sinks: [String] = [], masks: [String] = [],
        isRealtime: Bool = false,
        isLooped: Bool = false, overwrites: Bool = false, page: PageUse
    ) throws {
        let settings = context.configuration
        let wantedSinks = sinks.isEmpty ? settings.sinks : sinks
        let (sourceSpec, sinkSpecs, notes) = context.resolveAuto(
            source: source ?? settings.source, sinks: wantedSinks)
        for note in notes { log(note) }
        let hasPage = sinkSpecs.contains("page") || page != .asChosen

        let signals = try Signals()
        // Somebody looks at it, or may: then it is never without a picture, and can be told what to do.
        let isLive = hasPage || !sinkSpecs.allSatisfy(Self.isFile)
        var listening = isLive ? try Self.listen() : Listening()
        let isShown = hasPage || sinkSpecs.contains(where: Self.isDevice)
        // The sample stands for a camera, and gives way to one.
        let isKept = isShown && (["camera", "sample"].contains(sourceSpec) || Self.isDevice(sourceSpec))
        let source: (any FrameSource & ~Copyable)? = isKept ? nil : try context.openSource(sourceSpec, loop: isLooped)

        // The first device decides the size and format: it may have been fixed by others.
        let size = settings.output
        var canvas = FrameLayout(width: size.width, height: size.height, format: .yuyv)
        var rate = size.rate
        var title = sourceSpec
        var isLiveSource = isKept
        switch source {
        case .some(let source):
            title = source.description
            isLiveSource = source.isLive
            if !source.isLive { rate = source.rate ?? size.rate }
            let layout = source.layout
            if !source.isLive, sourceSpec != "sample", !isLive {
                canvas = layout
            } else if !sinkSpecs.contains(where: Self.isDevice) {
                // No device has a format of its own: frames stay in the source's.
                canvas = FrameLayout(
                    width: size.width, height: size.height, format: layout.format, range: layout.range)
            }
        case .none: break
        }
        var outputs: [Output] = []
        for spec in sinkSpecs.filter({ $0 != "page" }).sorted(by: { Self.isDevice($0) && !Self.isDevice($1) }) {
            let sink = try context.openSink(spec, canvas, rate: rate, overwrites: overwrites)
            let output = Output(sink, canvas: outputs.isEmpty ? nil : canvas)
            if outputs.isEmpty { canvas = output.layout }
            outputs.append(output)
            log("\(title) -> \(output.description)")
        }
        if let absence = listening.absence { log("guise: no command reaches it: \(absence)", .warning) }
        // Loaded before the first frame: no face is shown undressed.
        let loader = try context.maskLoader(
            masks.isEmpty ? settings.masks : masks.map { MaskSelection($0) }, for: canvas)
        var pipeline = Pipeline(tracker: try context.tracker(), loader: loader, output: canvas)

        var first = Settings()
        first.apply(settings)
        if isKept { first.source = sourceSpec }
        let mailbox = try Mailbox(first)
        let placeholders = Placeholders(canvas)
        let preview = Preview(layout: canvas) { mailbox.wakeEvent.signal() }
        pipeline.preview = preview
        let pageService = PageService(context, mailbox, loader, preview, CaptureStore())
        var descriptions = outputs.map(\.description)
        if hasPage {
            let (link, place) = try pageService.open(port: settings.port)
            descriptions.append("page \(place)")
            // Files and journals may be read by others; only a person at a terminal is shown the way in.
            log("\(title) -> page \(isatty(STDERR_FILENO) == 1 ? link : place)")
            if page == .printed { print(link) }
            let isSeen = page == .shown || page == .asChosen && !sinks.contains("page") && isatty(2) == 1
            if isSeen { Browser.open(link) }
        }
        let daemon = try Daemon(
            context, mailbox, loader, pageService, outputs: descriptions, canvas: canvas, context.read)
        daemon.setCamera(isKept ? "" : title)
        let cameraSettings = CameraSettingsStore()
        let cameraController = try CameraController(wake: mailbox.wakeEvent) { wanted in
            let source = try cameraSettings.open(wanted, context)
            daemon.cameraOpened(source.description)
            return source
        } closing: {
            cameraSettings.saveSettings()
        } failed: { problem in
            daemon.report("\(problem)")
            daemon.setCamera(problem.message)
            placeholders.draw(.problem, "No picture", "\(problem)")
        }
        if isLive { startThread(named: "placeholders") { placeholders.drawAll() } }
        var server: ControlServer?
        if isLive {
            let fresh = try ControlServer(listening.listener.take(), daemon)
            pageService.setControlServer(fresh)
            server = fresh
        }
        loader.start(signaling: mailbox.wakeEvent)
        daemon.watchConfiguration()
        defer {
            loader.close()
            cameraController.close()
        }
        let isPaced = !isLiveSource && isRealtime
        let service = Service()
        let descriptor = signals.descriptor
        var loop = FrameLoop(
            signals: signals, outputs: outputs, source: source, rate: rate, isPaced: isPaced,
            FrameLoop.Dependencies(
                clock: .system, mailbox: mailbox, cameraController: cameraController, placeholders: placeholders,
                captures: pageService.captures, preview: preview,
                requestReload: { daemon.requestReload() }, ready: { service.notifyReady() },
                pingWatchdog: { service.pingWatchdog() }, setStatus: { service.setStatus($0) }))
        defer {
            pageService.close()
            server?.close()
        }
        if sinkSpecs.contains(where: Self.isFile) { Self.watch(signals: descriptor) }
        let outcome = Result { try loop.run(&pipeline) }
        service.notifyStopping()
        // A file's last frames may take its encoder longer than that.
        if case .success(.sourceEnded) = outcome {} else { Self.endChildren() }
        // The face goes from the device whatever happened, and before a recording is brought to its end, which takes a while.
        var ending = Result<Void, any Error>.success(())
        for output in outputs {
            do { try placeholders.withPlaceholder(.stopped) { try output.finish(placeholder: $0) } } catch {
                ending = .failure(error)
            }
        }
        try? mailbox.now.recorder?.finish()
        _ = try outcome.get()
        try ending.get()
    }

    /// Encoders get so long to end their files, microseconds: a service manager, and who logs out, wait for 2 seconds.
    private static let patience: useconds_t = 1_500_000

    /// Kills children that have not ended in time.
    private static func endChildren() {
        startThread(named: "ending") {
            usleep(patience)
            ChildProcess.killAll()
        }
    }

    /// Kills children if the loop, which waits for the encoder of a file, does not take a signal to end in time.
    private static func watch(signals: CInt) {
        startThread(named: "signals") {
            while true {
                var waiting = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
                guard unsafe poll(&waiting, 1, -1) >= 0 || errno == EINTR else { return }
                usleep(patience)
                // Not for one that asks to read the configuration again.
                var pending = sigset_t()
                _ = unsafe sigpending(&pending)
                let isToEnd = [SIGINT, SIGTERM].contains { unsafe sigismember(&pending, $0) == 1 }
                if isToEnd { ChildProcess.killAll() }
            }
        }
    }

    /// Where there is no place for a socket, guise runs without; where another one listens, not at all.
    private static func listen() throws -> Listening {
        do throws(Problem) { return Listening(listener: try Listener(), absence: nil) } catch {
            guard error.kind == .missing else { throw error }
            return Listening(listener: nil, absence: error)
        }
    }

    private struct Listening: ~Copyable {
        var listener: Listener?
        /// Why there is none.
        var absence: Problem?
    }

    private static func isDevice(_ spec: String) -> Bool { spec == "loopback" || spec.hasPrefix("/dev/video") }

    private static func isFile(_ spec: String) -> Bool { !isDevice(spec) && spec != "page" && spec != "null" }
}
