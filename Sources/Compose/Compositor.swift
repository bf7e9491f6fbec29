import Frames
import Track

/// Puts masks on the faces of frame after frame. Holds what outlasts a frame: who is there, how they are lit and what
/// they do, and what each layer was doing on them. Once warm it allocates nothing.
public struct Compositor: ~Copyable {
    /// In the order in which they are drawn.
    public private(set) var masks: [Mask]
    private var scene = Scene()
    private var people: [PersonState]
    /// What each layer does on each person: layer by layer, `slots` each; the last is the picture's own.
    private var states: [LayerState]
    private var time: Double?
    /// What was last seen of the room's light, and when.
    private var ambient: (estimate: AmbientEstimate, time: Double)?
    /// Who is taken for the largest.
    private var largest: Int?
    private var arrivals = 0
    private let seed: UInt64

    /// Twice as many people are remembered as are seen at once.
    private static let mostPeople = 16
    private static let slots = mostPeople + 1
    /// Seconds in which a layer appears or goes.
    private static let fade: Float = 0.08
    /// Seconds after which the room is looked at again: its light is smoothed over longer, and its pixels lie far apart.
    private static let roomInterval = 0.2
    /// One face is larger than another from here on, so that two alike do not take turns.
    private static let larger: Float = 1.2

    /// - Parameters:
    ///   - masks: in the order in which they are drawn.
    ///   - seed: of what is drawn by chance for each person.
    public init(masks: [Mask], seed: UInt64 = .random(in: 0...UInt64.max)) {
        self.masks = masks
        self.seed = seed
        people = Array(repeating: PersonState(), count: Self.mostPeople)
        states = Self.states(for: masks)
        scene.trackedFaces.reserveCapacity(Tracker.mostFaces)
    }

    /// What is done about a lost face: the strictest of what is worn.
    public var onLostFace: LostFacePolicy {
        for mask in masks where mask.onLostFace == .cover && mask.opacity > 0 { return .cover }
        return .show
    }

    /// Changes what is worn, between two frames.
    /// - Returns: what was worn until now, for somebody with time to let go of.
    public mutating func replaceMasks(with masks: consuming [Mask]) -> [Mask] {
        swap(&masks, &self.masks)
        // What layers that stay were doing they go on doing.
        var states = Self.states(for: self.masks)
        var first = 0
        for mask in self.masks {
            if let before = Self.firstState(of: mask, in: masks) {
                for i in 0..<mask.layers.count * Self.slots { states[first + i] = self.states[before + i] }
            }
            first += mask.layers.count * Self.slots
        }
        self.states = states
        return masks
    }

    private static func states(for masks: [Mask]) -> [LayerState] {
        Array(repeating: LayerState(), count: masks.reduce(0) { $0 + $1.layers.count } * slots)
    }

    /// Where the states of the very same mask begin; nil where it is not among those.
    private static func firstState(of mask: Mask, in masks: [Mask]) -> Int? {
        var first = 0
        for other in masks {
            if mask.edition > 0 && other.edition == mask.edition { return first }
            first += other.layers.count * slots
        }
        return nil
    }

    /// Draws all that is worn.
    /// - Parameters:
    ///   - faces: in the pixels of the frame that was searched.
    ///   - placement: from those to the canvas's.
    ///   - time: seconds, by the source's clock.
    public mutating func compose(_ canvas: inout Canvas, _ faces: [Face], placement: Affine, at time: Double) {
        scene.time = time
        scene.trackedFaces.removeAll(keepingCapacity: true)
        for face in faces.prefix(Tracker.mostFaces) {
            scene.trackedFaces.append(TrackedFace(face: face.moved(by: placement)))
        }
        scene.trackedFaces.sort { $0.face.head.scale < $1.face.head.scale }
        // A clock that went back, or far ahead, tells no time.
        let elapsed = self.time.map { time - $0 } ?? 0
        self.time = time
        measure(canvas, placement, elapsed: (0...1).contains(elapsed) ? Float(elapsed) : 0)
        var index = 0
        for mask in masks {
            for layer in mask.layers {
                draw(
                    layer, index, on: &canvas, opacity: mask.opacity, personSlot: mask.personSlot,
                    elapsed: Float(max(0, min(elapsed, 1))))
                index += 1
            }
        }
    }

    /// Measures light and doing of all, before anything is drawn on the frame.
    private mutating func measure(_ canvas: borrowing Canvas, _ placement: Affine, elapsed: Float) {
        guard !scene.trackedFaces.isEmpty else { return }
        let back = placement.inverse ?? .identity
        for i in scene.trackedFaces.indices { scene.trackedFaces[i].slot = slot(of: scene.trackedFaces[i].face.id) }
        let pixels = PixelReader(canvas.frame.view)
        let ambient: AmbientEstimate
        if let seen = self.ambient, (0..<Self.roomInterval).contains(scene.time - seen.time) {
            ambient = seen.estimate
        } else {
            ambient = AmbientEstimate(pixels, leavingOut: scene.trackedFaces)
            self.ambient = (ambient, scene.time)
        }
        let height = Float(canvas.frame.layout.height)
        for i in scene.trackedFaces.indices {
            let slot = scene.trackedFaces[i].slot
            // How the head moved is seen in the source's frame: a zoom moves nobody.
            let head = scene.trackedFaces[i].face.head.moved(by: back)
            people[slot].measure(scene.trackedFaces[i].face, head, pixels, ambient, height: height, elapsed: elapsed)
            if scene.trackedFaces[i].face.state == .tracked {
                people[slot].blinkDetector.closeLids(&scene.trackedFaces[i].face, pixels, elapsed: elapsed)
            }
            scene.trackedFaces[i].face.head = people[slot].stabilizedHead(head, elapsed: elapsed).moved(by: placement)
            scene.trackedFaces[i].light = people[slot].lightEstimator.light
            scene.trackedFaces[i].skin = people[slot].lightEstimator.skin
        }
        // The last is the largest by size; who was it stays it while nobody is clearly larger.
        if let last = scene.trackedFaces.last?.face {
            let kept = scene.trackedFaces.first { $0.face.id == largest }?.face
            if kept.map({ last.head.scale > Self.larger * $0.head.scale }) ?? true { largest = last.id }
        }
    }

    /// Where a person is remembered; who was away longest is forgotten for somebody new.
    private mutating func slot(of id: Int) -> Int {
        if let known = people.firstIndex(where: { $0.id == id }) {
            people[known].seen = scene.time
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
            if !isHere && (isFreeHere || people[i].seen < people[free].seen) { free = i }
        }
        arrivals += 1
        // By the person's number, whoever came before.
        var lot = SplitMix64(seed: seed, skipped: id - 1)
        people[free] = PersonState(id: id, arrival: arrivals, draw: lot.next(), seen: scene.time)
        for layer in 0..<states.count / Self.slots { states[layer * Self.slots + free] = LayerState() }
        return free
    }

    /// - Parameters:
    ///   - opacity: of the whole mask, 0...1.
    ///   - personSlot: whose mask it is.
    private mutating func draw(
        _ layer: MaskLayer, _ index: Int, on canvas: inout Canvas, opacity: Float, personSlot: PersonSlot?,
        elapsed: Float
    ) {
        switch layer.content {
        case .face(let content):
            for i in scene.trackedFaces.indices {
                let slot = scene.trackedFaces[i].slot
                let isDoing = layer.style.when.map { people[slot].expression[$0.doing] } ?? true
                let isOwn = personSlot.map { (people[slot].arrival - 1) % $0.of == $0.number } ?? true
                let isWorn = isOwn && isSelected(layer.style.on, i)
                let state = index * Self.slots + slot
                var appearance = states[state].appearance(
                    layer.style, isWorn: isWorn, isDoing: isDoing, at: scene.time, elapsed: elapsed, Self.fade)
                appearance.opacity *= opacity
                if let swing = layer.style.motion.swing {
                    let person = people[slot]
                    states[state].pendulum.step(swing, speed: person.speed, lean: person.lean, elapsed: elapsed)
                    appearance.swing = states[state].pendulum.degrees
                }
                if appearance.opacity > 0 { content.draw(on: &canvas, scene.trackedFaces[i], appearance) }
            }
        case .picture(let content):
            let doer = scene.trackedFaces.first { $0.face.id == largest }
            let isDoing =
                layer.style.when.map { when in
                    doer.map { people[$0.slot].expression[when.doing] } ?? (when.doing == .faceLost)
                } ?? true
            var appearance = states[index * Self.slots + Self.slots - 1].appearance(
                layer.style, isWorn: true, isDoing: isDoing, at: scene.time, elapsed: elapsed, Self.fade)
            appearance.opacity *= opacity
            if appearance.opacity > 0 { content.draw(on: &canvas, scene, appearance) }
        }
    }

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

/// Who is or was there.
private struct PersonState: Sendable {
    /// Nil: nobody yet.
    var id: Int?
    /// Counts people, by their coming.
    var arrival = 0
    /// 0..<1, drawn once.
    var draw: Float = 0
    /// Seconds, by the source's clock.
    var seen: Double = 0
    var lightEstimator = LightEstimator()
    var expression = ExpressionState()
    var blinkDetector = BlinkDetector()
    /// Of the head's top: to the picture's right and away from the viewer, eye distances a second.
    private(set) var speed = SIMD2<Float>.zero
    /// The roll, and how far the head nods forward, radians.
    private(set) var lean = SIMD2<Float>.zero
    private var top: Point?
    private var head: HeadPoseFilter?

    init() {}

    init(id: Int, arrival: Int, draw: Float, seen: Double) {
        (self.id, self.arrival, self.draw, self.seen) = (id, arrival, draw, seen)
    }

    /// How the head lies for what it wears. Called for each frame.
    mutating func stabilizedHead(_ seen: HeadPlacement, elapsed: Float) -> HeadPlacement {
        var head = self.head ?? HeadPoseFilter(seen)
        defer { self.head = head }
        return head.update(seen, elapsed: elapsed)
    }

    /// Where what dangles mostly hangs: above the forehead, so that tilts move it too. Head space.
    private static let pivot: SIMD3<Float> = [0, -1.5, 0.2]
    /// The head nods about a place so far below that.
    private static let nodRadius: Float = 3
    /// Landmarks shake: the speed is taken with this time constant, seconds.
    private static let inertia: Float = 0.06

    mutating func measure(
        _ face: borrowing Face, _ head: HeadPlacement, _ pixels: borrowing PixelReader, _ ambient: AmbientEstimate,
        height: Float,
        elapsed: Float
    ) {
        if face.state == .tracked { lightEstimator.update(FaceIllumination(pixels, face, ambient), elapsed: elapsed) }
        expression.update(face, elapsed: elapsed, height: height)
        let now = head(Self.pivot)
        let pose = face.pose
        let leans = SIMD2(radians(pose.roll), radians(-pose.pitch))
        if let top, elapsed > 0 {
            let across = (now.x - top.x) / max(head.scale, 1) / elapsed
            let back = (lean.y - leans.y) / elapsed * Self.nodRadius
            // A face that is found elsewhere was not thrown there.
            let isThrown = abs(across) > 40
            let weight = 1 - exp(-elapsed / Self.inertia)
            speed = isThrown ? .zero : speed + (SIMD2(across, back) - speed) * weight
        }
        (top, lean) = (now, leans)
    }
}

/// What a layer does on a person.
private struct LayerState: Sendable {
    /// 0 (hidden) to 1 (shown); less than 0: not drawn yet.
    private var shown: Float = -1
    private var wasShown = false
    private var wasDoing = false
    /// When the animation began, seconds; nil: it stands at its beginning.
    private var began: Double?
    var pendulum = Pendulum()

    /// How the layer is drawn now.
    mutating func appearance(
        _ style: LayerStyle, isWorn: Bool, isDoing: Bool, at time: Double, elapsed: Float, _ fade: Float
    ) -> Appearance {
        let then = style.when?.then ?? .show
        let isShown: Bool
        switch then {
        case .show: isShown = isWorn && isDoing
        case .hide: isShown = isWorn && !(style.when != nil && isDoing)
        case .start, .stop: isShown = isWorn
        }
        switch then {
        case .show, .hide:
            if isShown && !wasShown { began = time }
        case .start:
            if isDoing && !wasDoing { began = time }
        case .stop:
            if isDoing { began = nil } else if began == nil { began = time }
        }
        (wasShown, wasDoing) = (isShown, isDoing)
        let target: Float = isShown ? 1 : 0
        if shown < 0 {
            shown = target
        } else {
            let step = elapsed / fade
            shown += max(-step, min(step, target - shown))
        }
        // Rounding must not leave a hint of what has gone.
        if shown < 1e-3 && !isShown { shown = 0 }
        var appearance = Appearance()
        appearance.opacity = style.opacity * shown
        appearance.blend = style.blend
        appearance.light = style.light
        appearance.time = began.map { max(0, time - $0) * 1000 } ?? 0
        return appearance
    }
}
