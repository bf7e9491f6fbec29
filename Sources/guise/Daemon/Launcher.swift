import Capture
import Compose
import Control
import Engine
import Frames
import Glibc
import Page
import Publish
import SystemKit
import V4L2

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
        func opensBrowser(sinks: [SinkSpec], isTerminal: Bool) -> Bool {
            switch self {
            case .asChosen: isTerminal && !sinks.contains(.page)
            case .shown: true
            case .printed: false
            }
        }
    }

    /// What `guise run` and `guise page` ask for. Whatever is left out comes from the configuration.
    struct Options {
        /// The source; nil for the configured one.
        var source: SourceSpec?
        /// The sinks; empty for the configured ones.
        var sinks: [SinkSpec] = []
        /// The names of the masks; empty for the configured ones.
        var masks: [String] = []
        /// Whether the frames of a file are processed at the file's own rate.
        var isRealtime = false
        /// Whether a file starts again at its end.
        var isLooped = false
        /// Whether existing files are replaced.
        var overwrites = false
        /// Whether the page is started and opened.
        var page: PageUse
    }

    /// The source and the sinks of one run, and what follows from them.
    private struct Plan {
        let source: SourceSpec
        /// The source that is asked for; `auto` is resolved again whenever it is opened.
        let wantedSource: SourceSpec
        let sinks: [SinkSpec]
        /// Whether there is a page.
        let hasPage: Bool
        /// Whether a browser is opened to show it.
        let opensBrowser: Bool
        /// Whether a picture must always be there, and commands are accepted.
        let hasLiveOutput: Bool
        /// Whether somebody can watch: in another program or on the page.
        let isViewable: Bool
        /// Whether the camera controller opens the source, and replaces it on request. The sample is a stand-in for a
        /// camera.
        let isSourceManaged: Bool

        /// Resolves what is `auto`, and tells the user what was chosen.
        init(_ context: AppContext, _ options: Options) {
            let wanted = options.sinks.isEmpty ? context.configuration.sinks : options.sinks
            wantedSource = options.source ?? context.configuration.source
            let (source, sinks, notes) = context.resolveAuto(source: wantedSource, sinks: wanted)
            for note in notes { log(note) }
            (self.source, self.sinks) = (source, sinks)
            hasPage = sinks.contains(.page) || options.page != .asChosen
            opensBrowser = options.page.opensBrowser(sinks: wanted, isTerminal: isatty(STDERR_FILENO) == 1)
            hasLiveOutput = hasPage || !sinks.allSatisfy(\.keepsFrames)
            isViewable = hasPage || sinks.contains(where: \.isDevice)
            // A file of the configuration was chosen by `use`, so it can be replaced.
            isSourceManaged = isViewable && (source.isReplaceable || options.source == nil)
        }
    }

    /// What is published, before any output has said what it takes.
    private struct Video {
        var layout: FrameLayout
        /// The frame rate, in frames per second.
        var rate: Double
        /// The source's description.
        var title: String
        /// Whether the source sets the pace.
        var isLive: Bool

        /// - Parameters:
        ///   - source: the open source; nil if the camera controller opens it.
        ///   - size: the configured size and rate.
        init(_ plan: Plan, _ source: borrowing (any FrameSource & ~Copyable)?, size: VideoFormat) {
            layout = FrameLayout(width: size.width, height: size.height, format: .yuyv)
            rate = size.rate
            title = plan.source.description
            isLive = plan.isSourceManaged
            switch source {
            case .some(let source):
                title = source.description
                isLive = source.isLive
                if !source.isLive { rate = source.rate ?? size.rate }
                let original = source.layout
                if !source.isLive, plan.source != .sample, !plan.hasLiveOutput {
                    layout = original
                } else if !plan.sinks.contains(where: \.isDevice) {
                    // Without a device that needs its own format, frames keep the source's format.
                    layout = FrameLayout(
                        width: size.width, height: size.height, format: original.format, range: original.range)
                }
            case .none: break
            }
        }
    }

    /// Runs the daemon until it is interrupted or the source ends.
    /// - Parameter context: the configuration and the paths.
    static func serve(_ context: AppContext, _ options: Options) throws {
        let plan = Plan(context, options)
        let signals = try Signals()
        // Masks and models may take longer to load than service managers wait for the end. The guard process of a
        // virtual camera leaves a placeholder there, and what was hidden stays hidden at the next start.
        let interruption = try Interruption { _ in 0 }
        var listening = plan.hasLiveOutput ? try Self.listen(interruption) : ControlListener()
        let source: (any FrameSource & ~Copyable)? =
            plan.isSourceManaged ? nil : try context.openSource(plan.source, loop: options.isLooped)
        let video = Video(plan, source, size: context.configuration.output)
        let outputs = try openOutputs(plan, video, overwrites: options.overwrites, interruption)
        let outputLayout = outputs.first?.layout ?? video.layout
        if let failure = listening.failure { logWarning("commands can't reach this process: \(failure)") }
        // Masks are loaded before the first frame, so that no face is shown unmasked.
        let looks = LookStore(folder: context.paths.user)
        // A batch job leaves the file of the daemon that runs beside it alone, and so does a second daemon.
        let runtimeFolder = plan.hasLiveOutput ? (try? DeviceLock.runtimeFolder()) : nil
        let hiddenLock = runtimeFolder.flatMap { HiddenStateLock(folder: $0) }
        defer { withExtendedLifetime(hiddenLock) {} }
        if runtimeFolder != nil, hiddenLock == nil {
            logWarning("nothing stays hidden after a crash, since another Guise runs beside this one: stop one of them")
        }
        let hiddenState = HiddenState(folder: hiddenLock == nil ? nil : runtimeFolder)
        var hidden = try hiddenState.read()
        let wanted = try options.masks.isEmpty ? context.startMasks(looks) : options.masks.map { MaskSelection($0) }
        let loader = try context.maskLoader(keeping(&hidden, wanted, context), for: outputLayout)
        pauseIfLessIsHidden(&hidden, by: loader)
        var pipeline = Pipeline(tracker: try context.tracker(), loader: loader, output: outputLayout)

        let mailbox = try Mailbox(firstSettings(plan, hidden, context))
        let placeholders = Placeholders(outputLayout)
        let preview = Preview(layout: outputLayout) { mailbox.wakeEvent.signal() }
        pipeline.monitor = preview
        let pageService = PageService(context, mailbox, loader, preview, CaptureStore())
        let page = try openPage(pageService, plan, options, of: video, context, isAlone: outputs.isEmpty)
        let descriptions = outputs.map(\.description) + (page.map { ["page \($0)"] } ?? [])
        let cameras = CameraSettingsStore(folder: context.paths.state)
        let daemon = try Daemon(
            context, mailbox, loader, pageService, outputs: descriptions, outputLayout: outputLayout,
            context.configurationText, looks, cameras, hiddenState)
        daemon.status.setCamera(plan.isSourceManaged ? "" : video.title)
        let cameraController = try cameraController(daemon, cameras, placeholders, mailbox, context)
        if plan.hasLiveOutput { startThread(named: "placeholders") { placeholders.drawAll() } }
        var server: ControlServer?
        if plan.hasLiveOutput {
            let fresh = try ControlServer(listening.listener.take(), daemon)
            pageService.setControlServer(fresh)
            server = fresh
        }
        watchFiles(daemon, loader, mailbox)
        // What a batch job wears is not what was worn last.
        if plan.hasLiveOutput { daemon.startSaving() }
        var isWantedEnd = false
        defer {
            daemon.stopSaving()
            // Programs that still read the camera may see the next process's picture.
            if isWantedEnd, mailbox.lastStatus.hasReaders != true { hiddenState.remove() }
            loader.close()
            cameraController.close()
        }
        let service = Service()
        let signalDescriptor = signals.descriptor
        var loop = FrameLoop(
            signals: signals, outputs: outputs, source: source, rate: video.rate,
            // A file that is watched plays at its own rate.
            isPaced: !video.isLive && (options.isRealtime || plan.isViewable),
            dependencies(daemon, mailbox, cameraController, placeholders, preview, service))
        defer {
            pageService.close()
            server?.close()
        }
        // From here on the loop reads the signals.
        interruption.release()
        EndDeadline.watch(signalDescriptor)
        let outcome = Result { try loop.run(&pipeline) }
        if case .success = outcome { isWantedEnd = true }
        service.notifyStopping()
        // After the end of a file, the encoder may need longer for the last frames.
        switch outcome {
        case .success(.sourceEnded): break
        case .success: EndDeadline.start(status: EXIT_SUCCESS)
        case .failure: EndDeadline.start(status: EXIT_FAILURE)
        }
        let ending = Result { try finish(outputs, placeholders) }
        try? mailbox.settings.recorder?.finish()
        daemon.finishRecordings()
        _ = try outcome.get()
        try ending.get()
    }

    /// The frame loop's settings at the start.
    private static func firstSettings(
        _ plan: Plan, _ hidden: HiddenState.Content, _ context: AppContext
    ) -> LoopSettings {
        var settings = LoopSettings()
        settings.apply(context.configuration)
        if plan.isSourceManaged { settings.source = plan.wantedSource }
        settings.isPaused = hidden.isPaused
        return settings
    }

    /// Starts the threads that watch the masks' files and the configuration.
    private static func watchFiles(_ daemon: Daemon, _ loader: MaskLoader, _ mailbox: Mailbox) {
        loader.start(signaling: mailbox.wakeEvent) {
            daemon.events.report($0)
            // A mask that can't be loaded is not worn any more.
            daemon.requestSaving()
        }
        daemon.configuration.watch {
            try daemon.history.record("edit of the configuration", $0)
        } report: {
            daemon.events.report($0)
        }
    }

    /// The interfaces of the frame loop to the daemon.
    private static func dependencies(
        _ daemon: Daemon, _ mailbox: Mailbox, _ cameraController: CameraController, _ placeholders: Placeholders,
        _ preview: Preview, _ service: Service
    ) -> FrameLoop.Dependencies {
        FrameLoop.Dependencies(
            clock: .system, mailbox: mailbox, cameraController: cameraController, placeholders: placeholders,
            monitor: preview, requestReload: { daemon.configuration.requestReload() },
            ready: { service.notifyReady() }, pingWatchdog: { service.pingWatchdog() },
            setStatus: { service.setStatus($0) })
    }

    /// The masks of the start, with those that were hiding something when the process before this one ended. If one of
    /// them is not there any more, or hides nothing any more, the picture is paused.
    private static func keeping(
        _ hidden: inout HiddenState.Content, _ wanted: [MaskSelection], _ context: AppContext
    ) -> [MaskSelection] {
        // One that hides nothing any more, such as a stranger's of the same name, doesn't take its place.
        let hiding = context.library.summaries.filter { !$0.hidden.isEmpty }.map(\.name)
        let (masks, kept, missing) = hidden.keeping(wanted, known: hiding)
        for mask in kept {
            log("\(mask) stays on, since it was worn when Guise ended; take it off with `guise remove \(mask)`")
        }
        if !missing.isEmpty {
            hidden.isPaused = true
            let names = missing.joined(separator: ", ")
            logWarning(
                "the picture is paused: \(names) hid something when Guise ended, and can't be read or hides nothing "
                    + "any more; put another mask on, and run `guise resume`")
        } else if hidden.isPaused {
            log("the picture stays paused, as it was when Guise ended; `guise resume` shows it")
        }
        return masks
    }

    /// Pauses the picture if a mask that is still there hides less than when the process before this one ended.
    private static func pauseIfLessIsHidden(_ hidden: inout HiddenState.Content, by loader: MaskLoader) {
        let names = hidden.hidingLess(loader.masks)
        guard !names.isEmpty else { return }
        hidden.isPaused = true
        logWarning(
            "the picture is paused: \(names.joined(separator: ", ")) would hide less than when Guise ended; put "
                + "another mask on, or none, and run `guise resume`")
    }

    /// Opens the sinks. The first device determines the size and format of all, because other programs may have fixed
    /// them.
    private static func openOutputs(
        _ plan: Plan, _ video: Video, overwrites: Bool, _ interruption: Interruption
    ) throws -> [Output] {
        var layout = video.layout
        var outputs: [Output] = []
        for spec in plan.sinks.filter({ $0 != .page }).sorted(by: { $0.isDevice && !$1.isDevice }) {
            let sink = try spec.open(
                layout, rate: video.rate, isRecording: video.isLive, overwrites: overwrites, interruption)
            let output = Output(sink)
            if outputs.isEmpty { layout = output.layout }
            outputs.append(output)
            log("\(video.title) -> \(output.description)")
        }
        return outputs
    }

    /// Starts the page if the plan has one, and shows it if the user wants that.
    /// - Parameter isAlone: whether there is no other output.
    /// - Returns: the page's address, without the secret; nil if it was not started.
    private static func openPage(
        _ pageService: PageService, _ plan: Plan, _ options: Options, of video: Video, _ context: AppContext,
        isAlone: Bool
    ) throws(Problem) -> String? {
        guard plan.hasPage else { return nil }
        let (link, address): (String, String)
        do throws(Problem) {
            (link, address) = try pageService.open(port: context.configuration.port)
        } catch {
            // What only the page needs, such as a folder for its secret, ends no camera. A taken port is a setting.
            guard error.kind != .busy, !isAlone, options.page == .asChosen else { throw error }
            logWarning("it runs without the page: \(error), then run `guise page`")
            return nil
        }
        // Others may be able to read files and journals, so the link with the secret is only shown on a terminal.
        log("\(video.title) -> page \(isatty(STDERR_FILENO) == 1 ? link : address)")
        if options.page == .printed { printNow("\(link)\n") }
        if plan.opensBrowser { Browser.open(link) }
        return address
    }

    /// A controller of cameras that tells the daemon what became of them.
    private static func cameraController(
        _ daemon: Daemon, _ cameras: CameraSettingsStore, _ placeholders: Placeholders, _ mailbox: Mailbox,
        _ context: AppContext
    ) throws -> CameraController {
        try CameraController(wake: mailbox.wakeEvent) { wanted in
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
    }

    /// Shows a placeholder on every output and closes it. Comes before a recording is finished, which takes a while, so
    /// that no face stays on a device whatever happens.
    /// - Throws: the last output's error.
    private static func finish(_ outputs: [Output], _ placeholders: Placeholders) throws {
        var ending = Result<Void, any Error>.success(())
        for output in outputs {
            do { try placeholders.withLastPlaceholder { try output.finish(placeholder: $0) } } catch {
                ending = .failure(error)
            }
        }
        try ending.get()
    }

    /// Opens the control socket. Without a place for it, Guise runs without a socket. If another process listens there,
    /// this throws.
    private static func listen(_ interruption: Interruption) throws -> ControlListener {
        do throws(Problem) {
            let listener = try Listener()
            if let path = listener.path { interruption.atEnd { removeFile(path) } }
            return ControlListener(listener: listener, failure: nil)
        } catch {
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
