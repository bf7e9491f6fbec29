import Frames
import Glibc
import SystemKit

/// A landmark model, read-only and shared by all fitters: dlib's trees in a compact format of our own.
public final class LandmarkModel: Sendable {
    /// The path where Debian's libdlib-data installs the model.
    public static let debianPath = "/usr/share/dlib/shape_predictor_68_face_landmarks.dat"
    /// The name of the compact file, which differs with each version of its layout.
    static let compactName = "landmarks-68.v\(LandmarkFile.version)"

    /// The path of the landmark data to use: that of `GUISE_LANDMARKS`, otherwise the compact file that packages
    /// install with Guise, otherwise Debian's dlib model.
    /// - Parameter shared: the folder of Guise's own files; nil if it was not found.
    public static func path(shared: String?, environment: [String: String]) -> String {
        if let named = environment["GUISE_LANDMARKS"] { return named }
        let compact = shared.map { "\($0)/landmarks/\(compactName)" }
        if let compact, isReadable(compact) { return compact }
        return debianPath
    }

    /// Converts a dlib model to a compact file that every user can read.
    /// - Returns: the path of the new file in `folder`.
    /// - Throws: `Problem` that names the file if the model is missing or unusable, or the folder cannot be written.
    public static func convert(_ path: String, into folder: String) throws(Problem) -> String {
        let compact = "\(folder)/\(compactName)"
        try writeOwnFile(try LandmarkConverter.convert(path), to: compact, overwrites: true, isDurable: true)
        guard unsafe chmod(compact, 0o644) == 0 else {
            throw Problem(.system, "could not make \(compact) readable for all: \(errorMessage(of: errno))")
        }
        return compact
    }

    let tables: MappedFile
    let file: LandmarkFile
    /// The mean shape in the unit box: (0, 0) is the box's top left corner, (1, 1) its bottom right one.
    public let meanShape: Face.Landmarks
    let frame: ReferenceFrame

    /// Opens the model through its compact file in `cache`, which is created if it is missing, outdated or damaged. If
    /// it cannot be written, the model is converted at each start. Fits read a copy in memory: each touches thousands
    /// of places in it, and on large pages they are accessed faster (docs/tracker.md).
    /// - Parameters:
    ///   - path: a dlib model of 68 points, or a compact file, which needs no cache.
    ///   - cache: a directory of our own, created if missing; nil: no cache.
    /// - Throws: `Problem` that names the file and its package if the model is missing or unusable.
    public convenience init(path: String = debianPath, cache: String?) throws(Problem) {
        if let tables = try? MappedFile(path: path), let file = LandmarkFile(tables) {
            self.init(tables: try MappedFile(copying: tables.bytes), file: file)
            return
        }
        if let tables = try? MappedFile(path: path), LandmarkFile.isMeant(by: tables) {
            throw Problem(
                .unusable,
                "the converted landmark model \(path) is damaged, or made by another version of Guise",
                fix: "install Guise again, or convert dlib's model again: guise landmarks FOLDER")
        }
        let source = try DlibModel.read(path).stamp
        let kept = cache.map { "\($0)/\(Self.compactName)" }
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
        let landmarks = Self.meanShape(tables, file)
        self.tables = tables
        self.file = file
        meanShape = landmarks
        frame = ReferenceFrame(landmarks)
    }

    private static func meanShape(_ tables: borrowing MappedFile, _ file: LandmarkFile) -> Face.Landmarks {
        let points = tables.table(of: Point.self, at: file.reference.offset, count: 68)
        var landmarks = Face.Landmarks(repeating: Point())
        for i in points.indices { landmarks[i] = points[i] }
        return landmarks
    }

    /// The box whose mean shape is nearest to a shape (least squares): the starting box if the last frame's shape is
    /// known.
    /// - Returns: the map from the unit box; nil if the points coincide or are not finite.
    public func box(around landmarks: borrowing Face.Landmarks) -> Affine? {
        guard let turn = frame.similarity(to: landmarks.span), turn.a * turn.a + turn.b * turn.b > 1e-12 else {
            return nil
        }
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

    init(_ landmarks: Face.Landmarks) {
        var sum = SIMD2<Double>()
        for i in 0..<68 { sum += SIMD2<Double>(landmarks[i]) }
        let mean = sum / 68
        var square = 0.0
        for i in 0..<68 {
            let d = SIMD2<Double>(landmarks[i]) - mean
            square += d.x * d.x + d.y * d.y
        }
        var weights = landmarks
        for i in 0..<68 { weights[i] = Point((SIMD2<Double>(landmarks[i]) - mean) / max(square, 1e-30)) }
        self.mean = Point(mean)
        self.weights = weights
    }

    /// The matrix `(a, -b; b, a)` about the means, and the other shape's mean; nil if that is not finite.
    borrowing func similarity(to landmarks: Span<Point>) -> (a: Float, b: Float, mean: Point)? {
        var (a, b, sum) = (0.0, 0.0, SIMD2<Double>())
        for i in 0..<68 {
            // The weights sum to zero, so the other shape's mean need not be subtracted first.
            let (w, p) = (SIMD2<Double>(weights[i]), SIMD2<Double>(landmarks[i]))
            a += w.x * p.x + w.y * p.y
            b += w.x * p.y - w.y * p.x
            sum += p
        }
        guard a.isFinite, b.isFinite else { return nil }
        return (Float(a), Float(b), Point(sum / 68))
    }
}
