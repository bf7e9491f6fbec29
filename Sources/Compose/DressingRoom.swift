import Foundation
import Frames
import Synchronization

/// A mask that somebody wants to wear, and how.
public struct Wish: Equatable, Sendable {
    /// The mask's name.
    public var mask: String
    /// 0...1.
    public var opacity: Float = 1
    /// By the names that the mask's layers give to what may be chosen: colours ("#rrggbb"), texts, palettes.
    public var choices: [String: String] = [:]

    /// Who wears it; nil: everybody.
    public var turn: Turn?

    /// As its author made it.
    public init(_ mask: String) { self.mask = mask }
}

/// Loads masks beside the frame loop: reads, decodes and draws their art on a thread of its own, and hands over whole
/// masks, which the loop puts on between two frames. If one of the requested masks can't be loaded, nothing changes, so that
/// a mistake never takes off a mask that hides a face. Watches the folders of the masks in use: an edit shows at once; an
/// invalid one is reported once and leaves the last valid mask on.
///
/// The loop's part, `news`, is one atomic load while nothing is new; it neither waits nor allocates then.
public final class DressingRoom: Sendable {
    private struct Shelf {
        var wishes: [Wish]
        /// What is to be worn now.
        var fresh: [Mask]
        /// What the loop gave back: freed here, for that takes its time.
        var spent: [[Mask]] = []
        var isOpen = true
    }

    private let tell: @Sendable (String) -> Void
    private let bell: Bell
    private let shelf: Mutex<Shelf>
    /// Counts what was put on the shelf.
    private let generation = Atomic<Int>(0)
    /// Until the thread has it.
    private let rails: Mutex<Rails?>

    /// An editor's save is over when nothing changed for so many milliseconds.
    private static let quiet: CInt = 100

    /// Loads all that is wished for, and returns when it is there.
    /// - Parameters:
    ///   - places: folders of mask folders; where two hold the same name, the first has it.
    ///   - tell: says one line to the user; called by the room's thread too.
    /// - Throws: `Problem` if one of the masks can't be loaded.
    public init(
        places: [String], target: ArtTarget, wishes: [Wish], tell: @escaping @Sendable (String) -> Void
    ) throws {
        self.tell = tell
        bell = try Bell()
        var rails = Rails(places: places, target: target)
        let lines = rails.fulfil(wishes)
        if let problem = rails.unworn { throw problem }
        lines.forEach(tell)
        shelf = Mutex(Shelf(wishes: wishes, fresh: rails.masks))
        self.rails = Mutex(rails)
    }

    // MARK: - for those who choose

    /// Changes what is worn, in the order in which it is drawn. Returns at once: it shows when it is loaded. If
    /// one of them can't be loaded, that is reported, and `wishes` returns to the current masks.
    public func wear(_ wishes: [Wish]) {
        shelf.withLock { $0.wishes = wishes }
        bell.ring()
    }

    /// What was asked for last.
    public var wishes: [Wish] { shelf.withLock { $0.wishes } }

    // MARK: - for the frame loop

    /// True where `news` has something.
    public func hasNews(since seen: Int) -> Bool { generation.load(ordering: .acquiring) != seen }

    /// What is to be worn now, if that has changed.
    /// - Parameter seen: the caller's count of changes; 0 at first.
    public func news(since seen: inout Int) -> [Mask]? {
        let now = generation.load(ordering: .acquiring)
        guard now != seen else { return nil }
        seen = now
        return shelf.withLock { $0.fresh }
    }

    /// What is worn at first.
    public var masks: [Mask] { shelf.withLock { $0.fresh } }

    /// Takes what is no longer worn, to free it beside the loop.
    public func giveBack(_ masks: consuming [Mask]) {
        // Moved onto the shelf: no reference stays here, that might be the last one.
        var giving: [Mask]? = consume masks
        shelf.withLock { shelf in
            if let given = giving.take() { shelf.spent.append(given) }
        }
        bell.ring()
    }

    // MARK: - the thread

    /// Begins to listen to wishes, and to watch the folders of what is worn.
    /// - Parameter wake: rung when there is news.
    public func open(waking wake: Bell? = nil) {
        guard let rails = rails.withLock({ $0.take() }) else { return }
        let thread = Thread { [self] in work(rails, wake) }
        thread.name = "dressing room"
        // As a main thread's: what reads strangers' files goes some levels deep.
        thread.stackSize = 8 << 20
        thread.start()
    }

    /// Ends the thread.
    public func close() {
        shelf.withLock { $0.isOpen = false }
        bell.ring()
    }

    private func work(_ rails: consuming Rails, _ wake: Bell?) {
        giveWay()
        var rails = rails
        var watch = FolderWatch(bell: bell.descriptor)
        while true {
            let (wishes, isOpen, spent) = shelf.withLock { shelf in
                defer { shelf.spent = [] }
                return (shelf.wishes, shelf.isOpen, shelf.spent)
            }
            // Megabytes are freed here, not while the frame loop may wait for the lock.
            _ = consume spent
            guard isOpen else { return }
            // Watched before it is read, so that no edit falls between; what is included is known after reading only.
            var folders = rails.folders(for: wishes)
            while true {
                watch.set(files: folders.files, names: folders.names)
                let now = rails.folders(for: wishes)
                if now == folders { break }
                folders = now
            }
            let before = rails.masks
            // On a copy: the current masks stay if one can't be loaded.
            var fresh = rails
            let lines = fresh.fulfil(wishes)
            if let problem = fresh.unworn {
                let worn = rails.wishes
                shelf.withLock { if $0.wishes == wishes { $0.wishes = worn } }
                tell("\(problem) (what is worn stays on)")
                continue
            }
            rails = fresh
            let masks = rails.masks
            let isSame = before.elementsEqual(masks) {
                ($0.edition, $0.opacity, $0.turn) == ($1.edition, $1.opacity, $1.turn)
            }
            if !isSame {
                let last = shelf.withLock { shelf in
                    defer { shelf.fresh = masks }
                    return shelf.fresh
                }
                _ = consume last
                generation.add(1, ordering: .releasing)
                wake?.ring()
            }
            lines.forEach(tell)
            // What may be wished for next is made ready meanwhile, piece by piece: a wish goes first.
            while shelf.withLock({ $0.wishes == wishes && $0.isOpen }), rails.prepare() {}
            guard shelf.withLock({ $0.wishes == wishes && $0.isOpen }) else { continue }
            watch.wait(quiet: Self.quiet)
        }
    }
}

/// What is worn, mask by mask, with what its files were when it was loaded. Knows nothing of threads.
struct Rails: Sendable {
    private struct Rail {
        var wish: Wish
        let marks: [FileMark]
        /// Nil: none could ever be loaded.
        var mask: Mask?
        /// What is wrong with it as it is now.
        let problem: (any Error)?
    }

    private let places: [String]
    private let target: ArtTarget
    private var rails: [Rail] = []
    /// What was worn, or may be next, the newest last.
    private var resting: [Rail] = []
    /// Masks that could not be made ready, with their files' marks: not tried again as they are.
    private var unready: [String: [FileMark]] = [:]
    /// Counts masks that were loaded.
    private var editions = 0

    /// Masks kept ready beside what is worn: what a hot key is likely to ask for. Their art takes a megabyte each.
    private static let mostResting = 6

    init(places: [String], target: ArtTarget) { (self.places, self.target) = (places, target) }

    /// In the order in which they are drawn.
    var masks: [Mask] { rails.compactMap(\.mask) }

    var wishes: [Wish] { rails.map(\.wish) }

    /// The error of the first mask that could never be loaded; nil if all are on, at least in an older version.
    var unworn: (any Error)? { rails.first { $0.mask == nil }?.problem }

    /// Loads what is wished for, and not there or no longer as it was.
    /// - Returns: what the user should know, and has not been told.
    mutating func fulfil(_ wishes: [Wish]) -> [String] {
        let wardrobe = Wardrobe(places: places)
        var lines: [String] = []
        var now: [Rail] = []
        for wish in wishes {
            let marks = wardrobe.marks(of: wish.mask)
            let same = rails.firstIndex { $0.wish.mask == wish.mask }
            // Each rail is taken once: the same mask may be worn twice.
            let before = same.map { rails.remove(at: $0) } ?? rested(wish, marks)
            if var kept = before, kept.marks == marks, kept.wish.choices == wish.choices {
                kept.wish = wish
                kept.mask?.opacity = wish.opacity
                kept.mask?.turn = wish.turn
                now.append(kept)
                continue
            }
            now.append(load(wish, marks, wardrobe, before: before, &lines))
        }
        for rail in rails { rest(rail) }
        rails = now
        Raster.rest()
        return lines
    }

    /// Loads one of the masks beside the one that was put on last, by name, where it is not at hand: `next` and
    /// `previous` lead there.
    /// - Returns: true where there may be more to do.
    mutating func prepare() -> Bool {
        guard let last = rails.last?.wish.mask else { return false }
        let wardrobe = Wardrobe(places: places)
        let names = wardrobe.names
        guard let place = names.firstIndex(of: last) else { return false }
        for step in [1, names.count - 1] {
            let name = names[(place + step) % names.count]
            let isThere = (rails + resting).contains { $0.wish.mask == name }
            guard !isThere else { continue }
            let marks = wardrobe.marks(of: name)
            guard unready[name] != marks else { continue }
            var lines: [String] = []
            let rail = load(Wish(name), marks, wardrobe, before: nil, &lines)
            // Told when somebody wants to wear it.
            if rail.problem == nil { rest(rail) } else { unready[name] = marks }
            Raster.rest()
            return true
        }
        return false
    }

    private mutating func rest(_ rail: Rail) {
        guard rail.problem == nil, rail.mask != nil else { return }
        resting.removeAll { $0.wish.mask == rail.wish.mask }
        resting.append(rail)
        if resting.count > Self.mostResting { resting.removeFirst() }
    }

    /// What was kept of a mask, if it is what is wished for.
    private mutating func rested(_ wish: Wish, _ marks: [FileMark]) -> Rail? {
        guard let place = resting.firstIndex(where: { $0.wish.mask == wish.mask }) else { return nil }
        let rail = resting.remove(at: place)
        return rail.marks == marks && rail.wish.choices == wish.choices ? rail : nil
    }

    private mutating func load(
        _ wish: Wish, _ marks: [FileMark], _ wardrobe: Wardrobe, before: Rail?, _ lines: inout [String]
    ) -> Rail {
        do {
            var target = target
            target.choices = wish.choices
            var mask = try wardrobe.load(wish.mask, for: target)
            editions += 1
            (mask.edition, mask.opacity, mask.turn) = (editions, wish.opacity, wish.turn)
            if let before, before.marks != marks { lines.append("the mask '\(wish.mask)' is worn as it is now") }
            return Rail(wish: wish, marks: marks, mask: mask, problem: nil)
        } catch {
            let words = "\(error)"
            if before?.problem.map({ "\($0)" }) != words {
                lines.append(words + (before?.mask == nil ? "" : " (until then it is worn as it was)"))
            }
            var old = before?.mask
            old?.opacity = wish.opacity
            old?.turn = wish.turn
            return Rail(wish: wish, marks: marks, mask: old, problem: error)
        }
    }

    /// The folders in which a change may change what is worn: those of the masks and of what they include, wherever they
    /// are or would be, and those in which they would be found.
    func folders(for wishes: [Wish]) -> (files: [String], names: [String]) {
        let wardrobe = Wardrobe(places: places)
        let family = Set(wishes.flatMap { wardrobe.family(of: $0.mask) })
            .filter { !$0.isEmpty && !$0.hasPrefix(".") && !$0.contains("/") }.sorted()
        let files = family.flatMap { name in
            places.flatMap { fileMarks(in: "\($0)/\(name)").filter(\.isFolder).map(\.path) }
        }
        return (files, places.compactMap(Self.standing))
    }

    /// The folder itself, or the nearest one above it that is there.
    private static func standing(_ folder: String) -> String? {
        var folder = folder[...]
        while !folder.isEmpty, !isFolder(String(folder)) {
            folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)]
        }
        return folder.isEmpty ? nil : String(folder)
    }
}
