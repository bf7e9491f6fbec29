import Frames
import Testing

@testable import SystemKit
@testable import Track

struct CascadeFileTests {
    /// The smallest valid cascade: a single stump over two rectangles.
    static let small = """
        <?xml version="1.0"?><!-- a comment with < and > in it -->
        <opencv_storage><cascade type_id="opencv-cascade-classifier"><stageType>BOOST</stageType>
        <featureType>HAAR</featureType><height>20</height><width>20</width>
        <stageParams><maxWeakCount>1</maxWeakCount></stageParams><featureParams><maxCatCount>0</maxCatCount></featureParams>
        <stageNum>1</stageNum><stages><_><maxWeakCount>1</maxWeakCount><stageThreshold>-1.5e-01</stageThreshold>
        <weakClassifiers><_><internalNodes> 0 -1 0 2.5e-3</internalNodes><leafValues>-9.2e-1 6.25</leafValues></_>
        </weakClassifiers></_></stages><features><_><rects><_>2 7 16 4 -1.</_><_>2 9 16 2 2.</_></rects>
        <tilted>0</tilted></_></features></cascade></opencv_storage>
        """

    @Test func `a small cascade is read completely`() throws {
        let bytes = Array(Self.small.utf8)
        let cascade = try Cascade(xml: bytes.span, file: "small.xml")
        #expect(cascade.stageCount == 1 && cascade.windowWidth == 20 && cascade.features == .haar)
        #expect(cascade.nodes[0].threshold == 2.5e-3)
        #expect(cascade.leaves == [-0.92, 6.25])
        #expect(cascade.stages[0].threshold == Float(-0.15) - 1e-5)
        #expect(cascade.shapes[0].weights == SIMD4(-1, 2, 0, 0))
    }

    @Test(
        arguments: [
            ("<stageType>BOOST", "<stageType>FOREST"), ("HAAR", "HOG"), ("<width>20", "<width>2000"),
            ("<width>20", "<width>"), ("0 -1 0 2.5e-3", "0 -1 1 2.5e-3"), ("0 -1 0 2.5e-3", "0 -2 0 2.5e-3"),
            ("0 -1 0 2.5e-3", "0 1 0 2.5e-3"), ("0 -1 0 2.5e-3", "0 -1 0"), ("0 -1 0 2.5e-3", "0 -1 0 x"),
            ("-9.2e-1 6.25", "-9.2e-1"), ("2 7 16 4", "2 7 19 4"), ("2 7 16 4", "-2 7 16 4"), ("2 7 16 4", "2 7 16"),
            ("<tilted>0", "<tilted>1"), ("</cascade>", ""), ("</_></features>", "</features>"), ("-1.5e-01", "1e99"),
            ("<stageThreshold>-1.5e-01</stageThreshold>", ""), ("-->", ""), ("cascade type_id", "haar type_id"),
        ])
    func `a damaged file is an error with its name and package`(change: (from: String, to: String)) throws {
        let parts = Self.small.split(separator: change.from, maxSplits: 1, omittingEmptySubsequences: false)
        try #require(parts.count == 2)
        let bytes = Array((parts[0] + change.to + parts[1]).utf8)
        let problem = #expect(throws: Problem.self) { _ = try Cascade(xml: bytes.span, file: "small.xml") }
        #expect(problem?.kind == .unusable)
        #expect(problem?.message.contains("small.xml") == true)
        #expect(problem?.fix.contains("opencv-data") == true)
    }

    @Test func `a file truncated anywhere is an error`() throws {
        let bytes = Array(Self.small.utf8)
        for length in stride(from: 0, to: bytes.count - 18, by: 1) {
            let part = Array(bytes[..<length])
            #expect(throws: Problem.self) { _ = try Cascade(xml: part.span, file: "small.xml") }
        }
    }

    @Test func `a cascade in the format before OpenCV 2 is an error`() throws {
        // The small cascade in that format: it is named by its object, and its nodes contain their features.
        let old = """
            <?xml version="1.0"?>
            <opencv_storage><face type_id="opencv-haar-classifier"><size>20 20</size><stages><_><trees><_><_><feature>
            <rects><_>2 7 16 4 -1.</_><_>2 9 16 2 2.</_></rects><tilted>0</tilted></feature>
            <threshold>2.5e-3</threshold><left_val>-9.2e-1</left_val><right_val>6.25</right_val></_></_></trees>
            <stage_threshold>-1.5e-01</stage_threshold><parent>-1</parent><next>-1</next></_></stages></face>
            </opencv_storage>
            """
        let bytes = Array(old.utf8)
        let problem = #expect(throws: Problem.self) { _ = try Cascade(xml: bytes.span, file: "face.xml") }
        #expect(problem?.message.contains("the format before OpenCV 2") == true)
    }

    @Test(arguments: [
        "haarcascade_smile", "haarcascade_lefteye_2splits", "haarcascade_fullbody", "lbpcascade_silverware",
    ])
    func `other cascades of opencv-data are read`(name: String) throws {
        #expect(try OpenCVData.cascade(name).stageCount > 10)
    }

    @Test func `a cascade with tilted features is rejected as the detector, and not as a verifier`() throws {
        let entry = CascadeCatalog.Entry(
            name: "smile", role: .face, path: "\(CascadeCatalog.systemFolder)/haarcascades/haarcascade_smile.xml",
            window: 36, eyes: Point(0.5, 0.4), eyeDistance: 0.4)
        let problem = #expect(throws: Problem.self) {
            _ = try CascadeClassifier(entry, side: ScanScheduler.side, scansTiles: true)
        }
        #expect(problem?.kind == .unusable)
        #expect(problem?.message.contains("'smile'") == true && problem?.fix.contains("'face'") == true)
        _ = try CascadeClassifier(entry, side: ScanScheduler.side)
    }
}
