import Frames
import Objects
import Outline
import Track

/// Draws masks on the faces of each frame. Keeps the state that outlasts a frame: each person's light, expression and
/// head pose, and the state of each layer on each person. Once warm it allocates nothing.
public struct Compositor: ~Copyable {
    /// The masks in use, in drawing order.
    public private(set) var masks: [Mask]
    private var scene = Scene()
    private var people: [PersonState]
    /// The state of each layer on each person: layer by layer, `slots` each. The last slot of a layer is for the whole
    /// picture.
    private var states: [LayerState]
    private var time: Double?
    /// Whether the frame is the same as the one before, which is composed again with other masks.
    private var isSameFrame = false
    /// The last estimate of the room's light, and when it was made.
    private var ambient: (estimate: AmbientEstimate, time: Double)?
    /// The id of the person who counts as the largest.
    private var largest: Int?
    /// The id of the person whose outline is the main one.
    private var mainPerson: Int?
    private var hands = Hands()
    /// The heads of all people in the frame, for the outline.
    private var heads: [OutlineHead] = []
    /// When the sizes of heads were measured last, in seconds by the source's clock.
    private var fitted: Double?
    private var arrivals = 0
    private let seed: UInt64

    /// People to remember: twice as many as can be tracked at once. In photos there may be more.
    private static let usualPeople = 2 * Tracker.maxFaces
    /// The states of a layer: one for each person, and one for the whole picture.
    private var slots: Int { people.count + 1 }
    /// How far a head with its hair reaches from the point between the eyes, in eye distances.
    private static let headReach: Float = 2.5
    /// Seconds for a layer to fade in or out.
    private static let fade: Float = 0.08
    /// Seconds between two estimates of the room's light. The light is smoothed over a longer time, and the sampled
    /// pixels are far apart in memory.
    fileprivate static let roomInterval = 0.2
    /// Seconds between measurements of the heads' sizes: while somebody has none, has fewer than `enoughSizes`, and
    /// afterwards. A run of the network costs 1 to 2 ms.
    private static let (newInterval, unsureInterval, sureInterval) = (0.25, 0.8, 4.0)
    private static let enoughSizes = 5
    /// Size ratio at which another face becomes the largest, here and for the zoom. It keeps two faces of similar size
    /// from alternating.
    static let replacingRatio: Float = 1.2

    /// Prepares to draw masks.
    /// - Parameters:
    ///   - masks: in drawing order.
    ///   - seed: for what is drawn at random for each person.
    public init(masks: [Mask], seed: UInt64 = .random(in: 0...UInt64.max)) {
        self.masks = masks
        self.seed = seed
        people = Array(repeating: PersonState(), count: Self.usualPeople)
        states = Self.states(for: masks, slots: Self.usualPeople + 1)
        scene.trackedFaces.reserveCapacity(Tracker.maxFaces)
        heads.reserveCapacity(Tracker.maxFaces)
    }

    /// What the masks in use promise to hide.
    public var hidden: HiddenParts { HiddenParts(hiddenBy: masks) }

    /// The radius by which the masks in use blur the room, as `Concealment.roomBlur`.
    public var roomBlur: Float { Concealment.roomBlur(of: masks) }

    /// Whether a mask in use changes the picture even if there is no face.
    public var changesPictureWithoutFaces: Bool {
        masks.contains { mask in
            mask.opacity > 0 && (mask.bystanders != nil || mask.layers.contains { !$0.isOnFaces })
        }
    }

    /// The first use of the outline by the masks in use; nil if none needs it.
    private var loadedOutline: LoadedOutline? {
        for mask in masks where mask.opacity > 0 {
            if let use = mask.bystanders { return use }
            for layer in mask.layers { if let use = layer.outline { return use } }
        }
        return nil
    }

    /// The model of the outline, for masks in use that take the size of heads; nil if there are none.
    private var headSizeModel: OutlineModel? {
        for mask in masks where mask.opacity > 0 {
            for layer in mask.layers { if let model = layer.headSizeModel { return model } }
        }
        return nil
    }

    /// The first use of taught things by the masks in use; nil if none needs them.
    private var loadedThings: LoadedThings? {
        for mask in masks where mask.opacity > 0 {
            for layer in mask.layers { if let use = layer.things { return use } }
        }
        return nil
    }

    /// Whether a mask in use has a layer of a pass.
    private func has(_ pass: MaskLayer.Pass) -> Bool {
        for mask in masks where mask.opacity > 0 {
            for layer in mask.layers where layer.pass == pass { return true }
        }
        return false
    }

    /// Whether hands belong in front of the masks: no mask hides a face, and one is drawn on faces.
    private var showsHands: Bool {
        var isOnFaces = false
        for mask in masks where mask.opacity > 0 {
            if mask.hidden.contains(.faces) { return false }
            for layer in mask.layers {
                guard case .face(let content) = layer.content else { continue }
                if content.hidesFace { return false }
                isOnFaces = true
            }
        }
        return isOnFaces
    }

    /// Whether people other than the main one are blurred.
    private var blursBystanders: Bool {
        for mask in masks where mask.opacity > 0 && mask.bystanders != nil { return true }
        return false
    }

    /// Whether a background keeps only the main person, not everybody.
    private var showsMainPersonOnly: Bool {
        for mask in masks where mask.opacity > 0 {
            for layer in mask.layers where layer.background?.keepsMainPersonOnly == true { return true }
        }
        return false
    }

    /// Replaces the masks, between two frames.
    /// - Returns: the masks in use until now, to be freed outside the frame loop.
    public mutating func replaceMasks(with masks: consuming [Mask]) -> [Mask] {
        swap(&masks, &self.masks)
        // Layers of masks that stay keep their state.
        var states = Self.states(for: self.masks, slots: slots)
        var first = 0
        for mask in self.masks {
            if let before = firstState(of: mask, in: masks) {
                for i in 0..<mask.layers.count * slots { states[first + i] = self.states[before + i] }
            }
            first += mask.layers.count * slots
        }
        self.states = states
        return masks
    }

    private static func states(for masks: [Mask], slots: Int) -> [LayerState] {
        Array(repeating: LayerState(), count: masks.reduce(0) { $0 + $1.layers.count } * slots)
    }

    /// Index of the first state of the same loaded mask in another list; nil if the mask isn't in it.
    private func firstState(of mask: Mask, in masks: [Mask]) -> Int? {
        var first = 0
        for other in masks {
            if mask.revision > 0 && other.revision == mask.revision { return first }
            first += other.layers.count * slots
        }
        return nil
    }

    /// Draws all masks.
    /// - Parameters:
    ///   - faces: in pixels of the searched frame.
    ///   - placement: map from those pixels to the canvas's.
    ///   - time: seconds, by the source's clock.
    public mutating func compose(_ canvas: inout Canvas, _ faces: [Face], placement: Affine, at time: Double) {
        scene.time = time
        scene.trackedFaces.removeAll(keepingCapacity: true)
        for face in faces { scene.trackedFaces.append(TrackedFace(face: face.moved(by: placement))) }
        if faces.count > people.count { makeRoom(for: faces.count) }
        scene.trackedFaces.sort { $0.face.head.scale < $1.face.head.scale }
        // If the clock went back or jumped ahead, the elapsed time is unknown.
        let elapsed = self.time.map { time - $0 } ?? 0
        // A source that is opened again counts from 0: who was seen before is not seen last for that.
        if elapsed < 0 { for i in people.indices { people[i].lastSeen += elapsed } }
        isSameFrame = self.time == time
        self.time = time
        measure(canvas, placement, elapsed: (0...1).contains(elapsed) ? Float(elapsed) : 0)
        (canvas.roomBlur, canvas.areBystandersHidden) = (0, false)
        if let things = loadedThings {
            canvas.things.update(
                canvas.frame, things.taught, things.recognizer, waits: canvas.namesThingsAtOnce, at: time,
                isOnHead: { point in
                    scene.trackedFaces.contains {
                        (point - $0.face.head.origin).length < Self.headReach * $0.face.head.scale
                    }
                })
        } else {
            canvas.things.release()
        }
        canvas.meshes.detail = MeshDetail(enlargement: abs(placement.determinant).squareRoot())
        let headSizeModel = headSizeModel
        if headSizeModel != nil { canvas.outline.resetCost() }
        if let loadedOutline {
            drawBehindPeople(on: &canvas, loadedOutline.model, elapsed: elapsed)
        } else if headSizeModel == nil {
            canvas.releaseOutline()
        }
        if let headSizeModel { fitHeads(on: &canvas, headSizeModel, elapsed: elapsed) }
        if canvas.mayShowHands && showsHands { pressHair(on: &canvas) }
        drawLayers(.front, on: &canvas, elapsed: elapsed)
    }

    /// Presses the hair of everybody who wears a hat to the head. Not while faces must be hidden: what lies beside the
    /// head moves with the hair, out of what covers it.
    private mutating func pressHair(on canvas: inout Canvas) {
        for i in scene.trackedFaces.indices where wearsHat(i, canvas.things) {
            let fit = people[scene.trackedFaces[i].slot].fit
            scene.trackedFaces[i].fit = fit.pressedFit
            let head = scene.trackedFaces[i].face.head
            if let press = HairPress(head, hair: fit.hair, fit: fit.pressedFit) { canvas.draw(press) }
        }
    }

    /// Whether a tracked face wears a layer that presses the hair.
    private func wearsHat(_ tracked: Int, _ things: borrowing ThingTracker) -> Bool {
        let slot = scene.trackedFaces[tracked].slot
        for mask in masks where mask.opacity > 0 && isWorn(mask.personSlot, slot: slot) {
            for layer in mask.layers {
                if case .face(let content) = layer.content, content.pressesHair, isSelected(layer.style.on, tracked),
                    layer.style.isShown(isTriggered: isMet(layer, slot: slot, things))
                {
                    return true
                }
            }
        }
        return false
    }

    /// Whether a person is one of those who wear a mask.
    private func isWorn(_ personSlot: PersonSlot?, slot: Int) -> Bool {
        personSlot.map { (people[slot].arrival - 1) % $0.of == $0.number } ?? true
    }

    /// Updates the sizes of the heads in the frame: often until each is known, then rarely.
    private mutating func fitHeads(on canvas: inout Canvas, _ model: OutlineModel, elapsed: Double) {
        var (isAnyNew, isAnyUnsure) = (false, false)
        for i in scene.trackedFaces.indices {
            let count = people[scene.trackedFaces[i].slot].fit.count
            isAnyNew = isAnyNew || count == 0
            isAnyUnsure = isAnyUnsure || count < Self.enoughSizes
        }
        let interval = isAnyNew ? Self.newInterval : isAnyUnsure ? Self.unsureInterval : Self.sureInterval
        let isDue = fitted.map { !(0..<interval).contains(scene.time - $0) } ?? true
        if isDue, !scene.trackedFaces.isEmpty, !canvas.missesDeadline {
            canvas.outline.probe(canvas.frame, model, at: scene.time)
            fitted = scene.time
            for i in scene.trackedFaces.indices where scene.trackedFaces[i].face.state == .tracked {
                let size = HeadSize(scene.trackedFaces[i].face.head, cell: canvas.outline.cellSize.max()) { point in
                    canvas.outline.coverage(at: point)
                }
                guard let size else { continue }
                people[scene.trackedFaces[i].slot].fit.add(size)
            }
        }
        for i in scene.trackedFaces.indices {
            people[scene.trackedFaces[i].slot].fit.update(elapsed: Float(max(0, min(elapsed, 1))))
            let fit = people[scene.trackedFaces[i].slot].fit
            scene.trackedFaces[i].fit = fit.fit
            scene.trackedFaces[i].hair = fit.hairWidth
        }
    }

    /// Makes room for more people than can be tracked at once, as a photo may have. Those from before are forgotten.
    private mutating func makeRoom(for count: Int) {
        people = Array(repeating: PersonState(), count: count)
        states = Self.states(for: masks, slots: slots)
    }

    /// Draws what needs the outline of the people. It is found before anything else is drawn on the frame, but for
    /// bystanders, who are blurred first: they are no part of what lies behind.
    private mutating func drawBehindPeople(on canvas: inout Canvas, _ model: OutlineModel?, elapsed: Double) {
        findHeads(canvas.outline)
        let time = scene.time
        if blursBystanders {
            canvas.outline.update(canvas.frame, model, showing: .allButOthers, heads: heads, at: time)
            canvas.blurBystanders()
        }
        let hasBehind = has(.behind)
        guard hasBehind || has(.background) else { return }
        canvas.outline.update(
            canvas.frame, model, showing: showsMainPersonOnly ? .mainPerson : .everybody, heads: heads, at: time)
        drawLayers(.background, on: &canvas, elapsed: elapsed)
        guard hasBehind else { return }
        canvas.savePeople()
        drawLayers(.behind, on: &canvas, elapsed: elapsed)
        canvas.restorePeople()
    }

    /// Collects the heads of the people in the frame; cats are none. While the main person's face is lost, but not the
    /// outline, nobody else takes that role: a person who turns away is still the one in the call, and has another
    /// number if that takes long.
    private mutating func findHeads(_ outline: borrowing OutlineTracker) {
        let main = scene.trackedFaces.firstIndex { $0.face.id == mainPerson }
        // The largest comes last.
        let last = scene.trackedFaces.last { $0.face.kind == .human }?.face
        if !outline.hasMainPerson {
            mainPerson = last?.id
        } else if let main, let last {
            // While this face was lost, somebody else counted as the largest.
            if last.head.scale > Self.replacingRatio * scene.trackedFaces[main].face.head.scale { mainPerson = last.id }
        } else {
            // Somebody who only passes in front had a face before.
            for i in scene.trackedFaces.indices
            where scene.trackedFaces[i].face.kind == .human
                && people[scene.trackedFaces[i].slot].since == scene.time
                && outline.showsMainPerson(at: scene.trackedFaces[i].face.head.origin)
            {
                mainPerson = scene.trackedFaces[i].face.id
            }
        }
        heads.removeAll(keepingCapacity: true)
        for i in scene.trackedFaces.indices where scene.trackedFaces[i].face.kind == .human {
            let face = scene.trackedFaces[i].face
            heads.append(
                OutlineHead(center: face.head.origin, size: face.head.scale, isMain: face.id == mainPerson))
        }
    }

    /// Draws the layers of a pass, in order.
    private mutating func drawLayers(_ pass: MaskLayer.Pass, on canvas: inout Canvas, elapsed: Double) {
        var index = 0
        // What is drawn on the whole picture lies in front of hands, too.
        var areHandsSaved = false
        for mask in masks {
            for layer in mask.layers {
                if layer.pass == pass {
                    if hands.areFound && layer.isOnFaces && !areHandsSaved {
                        canvas.saveHands(hands)
                        areHandsSaved = true
                    } else if areHandsSaved && !layer.isOnFaces {
                        canvas.restoreHands()
                        areHandsSaved = false
                    }
                    draw(
                        layer, index, on: &canvas, opacity: mask.opacity, personSlot: mask.personSlot,
                        elapsed: Float(max(0, min(elapsed, 1))))
                }
                index += 1
            }
        }
        if areHandsSaved { canvas.restoreHands() }
    }

    /// Measures the light and expressions of all faces, before anything is drawn on the frame.
    private mutating func measure(_ canvas: borrowing Canvas, _ placement: Affine, elapsed: Float) {
        guard !scene.trackedFaces.isEmpty else {
            hands.clear()
            return
        }
        let back = placement.inverse ?? .identity
        for i in scene.trackedFaces.indices { scene.trackedFaces[i].slot = slot(of: scene.trackedFaces[i].face.id) }
        let pixels = PixelReader(canvas.frame.view)
        let ambient: AmbientEstimate
        var isRoomNew = false
        if let last = self.ambient, (0..<Self.roomInterval).contains(scene.time - last.time) {
            ambient = last.estimate
        } else {
            ambient = AmbientEstimate(pixels, leavingOut: scene.trackedFaces)
            self.ambient = (ambient, scene.time)
            isRoomNew = true
        }
        let height = Float(canvas.frame.layout.height)
        for i in scene.trackedFaces.indices {
            let slot = scene.trackedFaces[i].slot
            // Head motion is measured in the source's frame, so that a zoom doesn't count as motion.
            let head = scene.trackedFaces[i].face.head.moved(by: back)
            if !isSameFrame {
                people[slot].measure(
                    scene.trackedFaces[i].face, head, pixels, ambient, isRoomNew: isRoomNew, height: height,
                    elapsed: elapsed)
            }
            if scene.trackedFaces[i].face.state == .tracked {
                people[slot].blinkDetector.closeLids(&scene.trackedFaces[i].face, pixels, elapsed: elapsed)
            }
            scene.trackedFaces[i].face.head = people[slot].stabilizedHead(head, elapsed: isSameFrame ? nil : elapsed)
                .moved(by: placement)
            scene.trackedFaces[i].light = people[slot].lightEstimator.light
            scene.trackedFaces[i].blur = people[slot].blurEstimator.deviation
            scene.trackedFaces[i].noise = Self.noise(
                people[slot].noiseEstimator.deviation, canvas.frame.layout.range, at: scene.time)
        }
        if !canvas.mayShowHands || !showsHands {
            hands.clear()
        } else if !isSameFrame {
            hands.update(
                pixels, scene.trackedFaces, isRoomNew: isRoomNew, roomInterval: Float(Self.roomInterval),
                elapsed: elapsed, at: scene.time)
        }
        // Faces are sorted by size, so the last one is the largest. The person who counted as the largest keeps that
        // role until somebody else is clearly larger.
        if let last = scene.trackedFaces.last?.face {
            let kept = scene.trackedFaces.first { $0.face.id == largest }?.face
            if kept.map({ last.head.scale > Self.replacingRatio * $0.head.scale }) ?? true { largest = last.id }
        }
    }

    /// Noise of a deviation in full-range levels, another one in each frame; nil for none.
    private static func noise(_ deviation: Float, _ range: ColorRange, at time: Double) -> Noise? {
        guard deviation > 0 else { return nil }
        return Noise(
            deviation: deviation * Float(range.lumaSpan) / 255, seed: UInt32(truncatingIfNeeded: time.bitPattern >> 20))
    }

    /// The index in `people` of a tracked face's id. A new person replaces the one who has been away longest.
    private mutating func slot(of id: Int) -> Int {
        if let known = people.firstIndex(where: { $0.id == id }) {
            people[known].lastSeen = scene.time
            return known
        }
        var free = 0
        for i in people.indices {
            if people[i].id == nil {
                free = i
                break
            }
            let isHere = scene.trackedFaces.contains { $0.face.id == people[i].id }
            let isFreeHere = scene.trackedFaces.contains { $0.face.id == people[free].id }
            if !isHere && (isFreeHere || people[i].lastSeen < people[free].lastSeen) { free = i }
        }
        arrivals += 1
        // Drawn by the person's id alone, whoever came before.
        var personRandom = SplitMix64(seed: seed, skipped: id - 1)
        people[free] = PersonState(id: id, arrival: arrivals, draw: personRandom.next(), since: scene.time)
        for layer in 0..<states.count / slots { states[layer * slots + free] = LayerState() }
        return free
    }

    /// Draws one layer: on each face that it applies to, or on the whole picture.
    /// - Parameters:
    ///   - opacity: of the whole mask, 0...1.
    ///   - personSlot: which people wear the mask; nil: everybody.
    private mutating func draw(
        _ layer: MaskLayer, _ index: Int, on canvas: inout Canvas, opacity: Float, personSlot: PersonSlot?,
        elapsed: Float
    ) {
        switch layer.content {
        case .face(let content):
            for i in scene.trackedFaces.indices {
                let slot = scene.trackedFaces[i].slot
                let isTriggered = isMet(layer, slot: slot, canvas.things)
                let isWorn = isWorn(personSlot, slot: slot) && isSelected(layer.style.on, i)
                let state = index * slots + slot
                var appearance = states[state].appearance(
                    layer.style, isWorn: isWorn, isTriggered: isTriggered, at: scene.time, elapsed: elapsed, Self.fade)
                appearance.opacity *= opacity
                if let swing = layer.style.motion.swing {
                    let person = people[slot]
                    states[state].pendulum.step(
                        swing, speed: person.speed, tilt: person.tilt, elapsed: isSameFrame ? nil : elapsed)
                    appearance.swing = states[state].pendulum.degrees
                }
                if appearance.opacity > 0 { content.draw(on: &canvas, scene.trackedFaces[i], appearance) }
            }
        case .picture(let content): draw(content, layer, index, on: &canvas, opacity: opacity, elapsed: elapsed)
        }
    }

    /// Draws one layer on the whole picture.
    private mutating func draw(
        _ content: some PictureLayer, _ layer: MaskLayer, _ index: Int, on canvas: inout Canvas, opacity: Float,
        elapsed: Float
    ) {
        let largestFace = scene.trackedFaces.first { $0.face.id == largest }
        let isTriggered = isMet(layer, slot: largestFace?.slot, canvas.things)
        var appearance = states[index * slots + slots - 1].appearance(
            layer.style, isWorn: true, isTriggered: isTriggered, at: scene.time, elapsed: elapsed, Self.fade)
        appearance.opacity *= opacity
        if appearance.opacity > 0 { content.draw(on: &canvas, scene, appearance) }
    }

    /// Whether the condition of a layer's trigger is met; true if it has none.
    /// - Parameter slot: of the person that the layer is drawn on; nil if there is no face.
    private func isMet(_ layer: MaskLayer, slot: Int?, _ things: borrowing ThingTracker) -> Bool {
        switch layer.style.when?.condition {
        case .none: true
        case .expression(let expression): slot.map { people[$0].expression[expression] } ?? (expression == .faceLost)
        case .object: layer.trigger.map { things.isPresent($0) } ?? false
        }
    }

    /// Whether a layer's face selector applies to a tracked face.
    private func isSelected(_ choice: FaceSelector, _ tracked: Int) -> Bool {
        let person = people[scene.trackedFaces[tracked].slot]
        switch choice {
        case .every: return true
        case .largest: return person.id == largest
        case .nth(let number):
            return scene.trackedFaces.count { people[$0.slot].arrival < person.arrival } == number - 1
        case .drawn(let range): return range.contains(person.draw)
        }
    }
}

/// The state of one person who is or was in the picture.
private struct PersonState: Sendable {
    /// The tracked face's id; nil: the slot is free.
    var id: Int?
    /// The person's number in order of arrival, from 1.
    var arrival = 0
    /// A random number in 0..<1, drawn once per person.
    var draw: Float = 0
    /// When the person came, and was last seen, in seconds by the source's clock.
    private(set) var since: Double = 0
    var lastSeen: Double = 0
    var lightEstimator = LightEstimator()
    var blurEstimator = BlurEstimator()
    var noiseEstimator = NoiseEstimator()
    var expression = ExpressionState()
    var blinkDetector = BlinkDetector()
    var fit = HeadFitEstimator()
    /// Velocity of the head's top: to the picture's right, and away from the viewer; eye distances per second.
    private(set) var speed = SIMD2<Float>.zero
    /// The head's roll, and how far it nods forward; radians.
    private(set) var tilt = SIMD2<Float>.zero
    private var top: Point?
    private var head: HeadPoseFilter?

    init() {}

    init(id: Int, arrival: Int, draw: Float, since: Double) {
        (self.id, self.arrival, self.draw) = (id, arrival, draw)
        (self.since, lastSeen) = (since, since)
    }

    /// The filtered head placement, for drawing.
    /// - Parameter elapsed: seconds since the last frame; nil: the frame is the same.
    mutating func stabilizedHead(_ measured: HeadPlacement, elapsed: Float?) -> HeadPlacement {
        var head = self.head ?? HeadPoseFilter(measured)
        defer { self.head = head }
        return head.update(measured, elapsed: elapsed)
    }

    /// A typical pivot of swinging parts, in head space: above the forehead, so that tilts move it too.
    private static let pivot: SIMD3<Float> = [0, -1.5, 0.2]
    /// Distance from the nod's axis up to `pivot`, in eye distances.
    private static let nodRadius: Float = 3
    /// Time constant of the velocity's low-pass filter, in seconds. Landmarks are noisy.
    private static let timeConstant: Float = 0.06

    /// Updates light, blur, noise, expression and motion with a frame.
    /// - Parameters:
    ///   - face: in pixels of the canvas.
    ///   - head: in pixels of the searched frame.
    ///   - isRoomNew: whether the room was measured in this frame; blur and noise, which change as rarely, are too.
    ///   - height: of the canvas, in pixels.
    ///   - elapsed: seconds since the last frame; 0: unknown.
    mutating func measure(
        _ face: borrowing Face, _ head: HeadPlacement, _ pixels: borrowing PixelReader, _ ambient: AmbientEstimate,
        isRoomNew: Bool, height: Float, elapsed: Float
    ) {
        if face.state == .tracked {
            lightEstimator.update(FaceIllumination(pixels, face, ambient), elapsed: elapsed)
            if isRoomNew {
                blurEstimator.update(pixels, face.box, elapsed: Float(Compositor.roomInterval))
                noiseEstimator.update(pixels, face.box, elapsed: Float(Compositor.roomInterval))
            }
        }
        expression.update(face, elapsed: elapsed, height: height)
        let now = head(Self.pivot)
        let pose = face.pose
        let newTilt = SIMD2(radians(pose.roll), radians(-pose.pitch))
        if let top, elapsed > 0 {
            let across = (now.x - top.x) / max(head.scale, 1) / elapsed
            let back = (tilt.y - newTilt.y) / elapsed * Self.nodRadius
            // A jump this fast means that the face was found in another place, not that it moved there.
            let isThrown = abs(across) > 40
            let weight = 1 - exp(-elapsed / Self.timeConstant)
            speed = isThrown ? .zero : speed + (SIMD2(across, back) - speed) * weight
        }
        (top, tilt) = (now, newTilt)
    }
}

/// The state of one layer on one person.
private struct LayerState: Sendable {
    /// Fade, from 0 (hidden) to 1 (shown); less than 0 before the first frame.
    private var shown: Float = -1
    private var wasShown = false
    private var wasTriggered = false
    /// When the animation started, in seconds; nil: it shows its first picture.
    private var began: Double?
    /// When the state was last updated, in seconds.
    private var updated: Double?
    var pendulum = Pendulum()

    /// Updates the state with a frame, and returns how to draw the layer in it.
    mutating func appearance(
        _ style: LayerStyle, isWorn: Bool, isTriggered: Bool, at time: Double, elapsed: Float, _ fade: Float
    ) -> Appearance {
        // A source that is opened again counts from 0: the animation goes on where it was.
        if let updated, let began, time < updated { self.began = began + time - updated }
        updated = time
        let isShown = isWorn && style.isShown(isTriggered: isTriggered)
        switch style.when?.then ?? .show {
        case .show, .hide:
            if isShown && !wasShown { began = time }
        case .start:
            if isTriggered && !wasTriggered { began = time }
        case .stop:
            if isTriggered { began = nil } else if began == nil { began = time }
        }
        (wasShown, wasTriggered) = (isShown, isTriggered)
        let target: Float = isShown ? 1 : 0
        if shown < 0 {
            shown = target
        } else {
            let step = elapsed / fade
            shown += max(-step, min(step, target - shown))
        }
        // Rounding must not leave a trace of a hidden layer.
        if shown < 1e-3 && !isShown { shown = 0 }
        var appearance = Appearance()
        appearance.opacity = style.opacity * shown
        appearance.blend = style.blend
        appearance.light = style.light
        appearance.time = began.map { max(0, time - $0) * 1000 } ?? 0
        return appearance
    }
}
