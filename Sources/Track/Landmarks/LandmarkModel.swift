import Frames
import SystemKit

/// A landmark model, read-only and shared by all fitters: dlib's trees in a compact format of our own.
public final class LandmarkModel: Sendable {
    /// The path where Debian's libdlib-data installs the model.
    public static let debianPath = "/usr/share/dlib/shape_predictor_68_face_landmarks.dat"

    let tables: MappedFile
    let file: LandmarkFile
    /// The mean shape in the unit box: (0, 0) is the box's top left corner, (1, 1) its bottom right one.
    public let meanShape: Face.Landmarks
    let frame: ReferenceFrame

    /// Opens the model through its compact file in `cache`, which is created if it is missing, outdated or damaged. If
    /// it cannot be written, the model is converted at each start. Fits read a copy in memory: each touches thousands
    /// of places in it, and on large pages they are accessed faster (docs/tracker.md).
    /// - Parameters:
    ///   - path: a dlib model of 68 points.
    ///   - cache: a directory of our own, created if missing; nil: no cache.
    /// - Throws: `Problem` that names the file and its package if the model is missing or unusable.
    public convenience init(path: String = debianPath, cache: String?) throws(Problem) {
        let source = try DlibModel.read(path).stamp
        let kept = cache.map { "\($0)/landmarks-68.v\(LandmarkFile.version)" }
        if let kept, let tables = try? MappedFile(path: kept), let file = LandmarkFile(tables),
            file.sourceSize == source.size, file.sourceModified == source.modified
        {
            self.init(tables: try MappedFile(copying: tables.bytes), file: file)
            return
        }
        let bytes = try LandmarkConverter.convert(path)
        if let cache, let kept {
            do throws(Problem) {
                try makeOwnFolders(cache)
                try writeOwnFile(bytes, to: kept, overwrites: true, isDurable: true)
            } catch {
                // A full or read-only disk costs the next start half a second, and this one nothing.
            }
        }
        let tables = try MappedFile(copying: bytes.span)
        guard let file = LandmarkFile(tables) else { throw Problem(.system, "the landmark tables are inconsistent") }
        self.init(tables: tables, file: file)
    }

    private init(tables: consuming MappedFile, file: LandmarkFile) {
        let shape = Self.meanShape(tables, file)
        self.tables = tables
        self.file = file
        meanShape = shape
        frame = ReferenceFrame(shape)
    }

    private static func meanShape(_ tables: borrowing MappedFile, _ file: LandmarkFile) -> Face.Landmarks {
        let points = tables.table(of: Point.self, at: file.reference.offset, count: 68)
        var shape = Face.Landmarks(repeating: Point())
        for i in points.indices { shape[i] = points[i] }
        return shape
    }

    /// `$XDG_CACHE_HOME/guise`, otherwise `~/.cache/guise`; nil if the environment has neither.
    public static func cacheDirectory(environment: [String: String]) -> String? {
        if let cache = environment["XDG_CACHE_HOME"], cache.hasPrefix("/") { return "\(cache)/guise" }
        if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.cache/guise" }
        return nil
    }

    /// The box whose mean shape is nearest to a shape (least squares): the starting box if the last frame's shape is
    /// known.
    /// - Returns: the map from the unit box; nil if the points coincide or are not finite.
    public func box(around shape: borrowing Face.Landmarks) -> Affine? {
        guard let turn = frame.similarity(to: shape.span), turn.a * turn.a + turn.b * turn.b > 1e-12 else { return nil }
        var box = Affine(a: turn.a, b: -turn.b, c: turn.b, d: turn.a, tx: 0, ty: 0)
        let shift = turn.mean - box.linear(frame.mean)
        (box.tx, box.ty) = (shift.x, shift.y)
        return box
    }
}

/// The mean shape, prepared for finding the similarity that maps it nearest to another shape (Umeyama, "Least-squares
/// estimation of transformation parameters between two point patterns", 1991, in its closed form for the plane).
struct ReferenceFrame: ~Copyable, Sendable {
    let mean: Point
    /// The points minus their mean, divided by the sum of their squared lengths.
    private let weights: Face.Landmarks

    init(_ shape: Face.Landmarks) {
        var sum = SIMD2<Double>()
        for i in 0..<68 { sum += SIMD2<Double>(shape[i]) }
        let mean = sum / 68
        var square = 0.0
        for i in 0..<68 {
            let d = SIMD2<Double>(shape[i]) - mean
            square += d.x * d.x + d.y * d.y
        }
        var weights = shape
        for i in 0..<68 { weights[i] = Point((SIMD2<Double>(shape[i]) - mean) / max(square, 1e-30)) }
        self.mean = Point(mean)
        self.weights = weights
    }

    /// The matrix `(a, -b; b, a)` about the means, and the other shape's mean; nil if that is not finite.
    borrowing func similarity(to shape: Span<Point>) -> (a: Float, b: Float, mean: Point)? {
        var (a, b, sum) = (0.0, 0.0, SIMD2<Double>())
        for i in 0..<68 {
            // The weights sum to zero, so the other shape's mean need not be subtracted first.
            let (w, p) = (SIMD2<Double>(weights[i]), SIMD2<Double>(shape[i]))
            a += w.x * p.x + w.y * p.y
            b += w.x * p.y - w.y * p.x
            sum += p
        }
        guard a.isFinite, b.isFinite else { return nil }
        return (Float(a), Float(b), Point(sum / 68))
    }
}
