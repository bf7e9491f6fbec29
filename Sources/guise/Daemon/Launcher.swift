import Capture
import Compose
import Control
import Engine
import Frames
import Glibc
import Page
import Publish
import SystemKit

/// Puts the daemon together: opens source and sinks, connects the frame loop with what controls it, and runs it.
enum Launcher {
    /// Whether the page is started with the daemon, and opened in a browser.
    enum PageUse {
        /// Start the page if it is among the sinks. Open it if it was chosen automatically, for lack of a virtual
        /// camera, and standard error is a terminal.
        case asChosen
        /// Start and open the page, whatever the sinks are.
        case shown
        /// Start the page and print its link, whatever the sinks are.
        case printed

        /// Whether the page is opened in a browser.
        /// - Parameters:
        ///   - sinks: the wanted sinks, before `auto` was resolved.
        ///   - isTerminal: whether standard error is one.
        func opensBrowser(sinks: [String], isTerminal: Bool) -> Bool {
            switch self {
            case .asChosen: isTerminal && !sinks.contains("page")
            case .shown: true
            case .printed: false
            }
        }
    }

    /// Runs the daemon until it is interrupted or the source ends.
    /// - Parameters:
    ///   - context: the configuration and the paths.
    ///   - source: the source; nil for the configured one.
    ///   - sinks: the sinks; empty for the configured ones.
    ///   - masks: the names of the masks; empty for the configured ones.
    ///   - isRealtime: whether the frames of a file are processed at the file's own rate.
    ///   - isLooped: whether a file starts again at its end.
    ///   - overwrites: whether existing files are replaced.
    ///   - page: whether the page is started and opened.
    static func serve(
        _ context: AppContext, source: String? = nil, sinks: [String] = [], masks: [String] = [],
        isRealtime: Bool = false,
        isLooped: Bool = false, overwrites: Bool = false, page: PageUse
    ) throws {
        let settings = context.configuration
        let wantedSinks = sinks.isEmpty ? settings.sinks : sinks
        let (sourceSpec, sinkSpecs, notes) = context.resolveAuto(
            source: SourceSpec(source ?? settings.source), sinks: wantedSinks)
        for note in notes { log(note) }
        let hasPage = sinkSpecs.contains(.page) || page != .asChosen

        let signals = try Signals()
        // A live output must always have a picture, and the daemon accepts commands.
        let hasLiveOutput = hasPage || !sinkSpecs.allSatisfy(\.keepsFrames)
        var listening = hasLiveOutput ? try Self.listen() : ControlListener()
        // Whether somebody can watch: in another program or on the page.
        let isViewable = hasPage || sinkSpecs.contains(where: \.isDevice)
        // The sample is a stand-in for a camera, and is replaced by one on request.
        let isSourceManaged = isViewable && sourceSpec.isReplaceable
        let source: (any FrameSource & ~Copyable)? =
            isSourceManaged ? nil : try context.openSource(sourceSpec, loop: isLooped)

        // The first device determines the size and format, because other programs may have fixed them.
        let size = settings.output
        var outputLayout = FrameLayout(width: size.width, height: size.height, format: .yuyv)
        var rate = size.rate
        var title = sourceSpec.description
        var isLiveSource = isSourceManaged
        switch source {
        case .some(let source):
            title = source.description
            isLiveSource = source.isLive
            if !source.isLive { rate = source.rate ?? size.rate }
            let layout = source.layout
            if !source.isLive, sourceSpec != .sample, !hasLiveOutput {
                outputLayout = layout
            } else if !sinkSpecs.contains(where: \.isDevice) {
                // Without a device that needs its own format, frames keep the source's format.
                outputLayout = FrameLayout(
                    width: size.width, height: size.height, format: layout.format, range: layout.range)
            }
        case .none: break
        }
        var outputs: [Output] = []
        for spec in sinkSpecs.filter({ $0 != .page }).sorted(by: { $0.isDevice && !$1.isDevice }) {
            let sink = try context.openSink(spec, outputLayout, rate: rate, overwrites: overwrites)
            let output = Output(sink)
            if outputs.isEmpty { outputLayout = output.layout }
            outputs.append(output)
            log("\(title) -> \(output.description)")
        }
        if let failure = listening.failure { log("guise: commands can't reach this process: \(failure)", .warning) }
        // Masks are loaded before the first frame, so that no face is shown unmasked.
        let looks = LookStore(folder: context.paths.user)
        let loader = try context.maskLoader(
            masks.isEmpty ? context.startMasks(looks) : masks.map { MaskSelection($0) }, for: outputLayout)
        var pipeline = Pipeline(tracker: try context.tracker(), loader: loader, output: outputLayout)

        var first = LoopSettings()
        first.apply(settings)
        if isSourceManaged { first.source = sourceSpec }
        let mailbox = try Mailbox(first)
        let placeholders = Placeholders(outputLayout)
        let preview = Preview(layout: outputLayout) { mailbox.wakeEvent.signal() }
        pipeline.monitor = preview
        let pageService = PageService(context, mailbox, loader, preview, CaptureStore())
        var descriptions = outputs.map(\.description)
        if hasPage {
            let (link, address) = try pageService.open(port: settings.port)
            descriptions.append("page \(address)")
            // Others may be able to read files and journals, so the link with the secret is only shown on a terminal.
            log("\(title) -> page \(isatty(STDERR_FILENO) == 1 ? link : address)")
            if page == .printed { print(link) }
            if page.opensBrowser(sinks: wantedSinks, isTerminal: isatty(STDERR_FILENO) == 1) { Browser.open(link) }
        }
        let cameras = CameraSettingsStore(folder: context.paths.state)
        let daemon = try Daemon(
            context, mailbox, loader, pageService, outputs: descriptions, outputLayout: outputLayout,
            context.configurationText,
            looks, cameras)
        daemon.status.setCamera(isSourceManaged ? "" : title)
        let cameraController = try CameraController(wake: mailbox.wakeEvent) { wanted in
            let source = try cameras.open(wanted, context)
            daemon.status.cameraOpened(source.description)
            return source
        } closing: {
            cameras.saveSettings()
        } failed: { problem in
            daemon.events.report("\(problem)")
            daemon.status.setCamera(problem.message)
            placeholders.draw(.problem, "No picture", "\(problem)")
        }
        if hasLiveOutput { startThread(named: "placeholders") { placeholders.drawAll() } }
        var server: ControlServer?
        if hasLiveOutput {
            let fresh = try ControlServer(listening.listener.take(), daemon)
            pageService.setControlServer(fresh)
            server = fresh
        }
        loader.start(signaling: mailbox.wakeEvent) { daemon.events.report($0) }
        daemon.configuration.watch {
            try daemon.history.record("edit of the configuration", $0)
        } report: {
            daemon.events.report($0)
        }
        daemon.startSaving()
        defer {
            daemon.stopSaving()
            loader.close()
            cameraController.close()
        }
        // Whoever watches a file wants to see it at its own rate.
        let isPaced = !isLiveSource && (isRealtime || isViewable)
        let service = Service()
        let descriptor = signals.descriptor
        var loop = FrameLoop(
            signals: signals, outputs: outputs, source: source, rate: rate, isPaced: isPaced,
            FrameLoop.Dependencies(
                clock: .system, mailbox: mailbox, cameraController: cameraController, placeholders: placeholders,
                monitor: preview,
                requestReload: { daemon.configuration.requestReload() }, ready: { service.notifyReady() },
                pingWatchdog: { service.pingWatchdog() }, setStatus: { service.setStatus($0) }))
        defer {
            pageService.close()
            server?.close()
        }
        if sinkSpecs.contains(where: \.keepsFrames) { ChildDeadline.killAfterSignal(descriptor) }
        let outcome = Result { try loop.run(&pipeline) }
        service.notifyStopping()
        // After the end of a file, the encoder may need longer for the last frames.
        if case .success(.sourceEnded) = outcome {} else { ChildDeadline.killAfterTimeout() }
        // The outputs are finished first, so that no face stays on a device whatever happened. Finishing a recording
        // takes a while.
        var ending = Result<Void, any Error>.success(())
        for output in outputs {
            do { try placeholders.withPlaceholder(.stopped) { try output.finish(placeholder: $0) } } catch {
                ending = .failure(error)
            }
        }
        try? mailbox.settings.recorder?.finish()
        _ = try outcome.get()
        try ending.get()
    }

    /// Opens the control socket. Without a place for it, Guise runs without a socket. If another process listens there,
    /// this throws.
    private static func listen() throws -> ControlListener {
        do throws(Problem) { return ControlListener(listener: try Listener(), failure: nil) } catch {
            guard error.kind == .missing else { throw error }
            return ControlListener(listener: nil, failure: error)
        }
    }

    private struct ControlListener: ~Copyable {
        var listener: Listener?
        /// Why there is no listener; nil if there is one, or if none is needed.
        var failure: Problem?
    }
}
