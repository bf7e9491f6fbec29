import TestSupport
import Testing

/// A clip of a face with a green mark, by which a test notices that the face is visible where no tracker would find it.
extension ScratchFolder {
    /// Makes a clip of 60 frames at 10 frames per second, 640x360. The sample's head appears after a second. From the
    /// third second to the fifth a grey bar hides its eyes, so that the tracker loses it, but not the mark on its
    /// cheek. The rest of the picture is grey.
    /// - Parameters:
    ///   - width: of the part with the head, in pixels; its height is 5/8 of that.
    ///   - x: of that part's left edge, in pixels.
    ///   - y: of that part's upper edge, in pixels.
    func makeMarkedFace(_ name: String, width: Int, x: Int, y: Int) throws {
        try make(
            name,
            """
            -f lavfi -i color=gray:s=640x360:r=10:d=6 -loop 1 -t 6 -r 10 -i \(Fixtures.sample) \
            -filter_complex [1]crop=512:320:0:0,drawbox=x=212:y=130:w=20:h=16:color=lime:t=fill,\
            drawbox=x=150:y=80:w=140:h=50:color=gray:t=fill:enable='between(t,3,5)',scale=\(width):-1[head];\
            [0][head]overlay=\(x):\(y):enable='gte(t,1)' -c:v ffv1
            """)
    }

    /// The number of frames in which the mark is visible. Its red-difference sample is 33 at most; in a mosaic of it,
    /// and elsewhere in these clips, the smallest is over 100. Fails if the clip has not all of its frames: a file that
    /// was not written shows no mark either.
    func framesWithMark(_ name: String) throws -> Int {
        let filter = "signalstats,metadata=print:key=lavfi.signalstats.VMIN:file=-"
        let lines = try shell("ffmpeg -v error -i '\(name)' -vf \(filter) -f null - | grep -o 'VMIN=.*' | cut -d= -f2")
        let levels = lines.split(separator: "\n").compactMap { Int($0) }
        try #require(levels.count == 60, "\(name): \(lines)")
        return levels.count { $0 < 70 }
    }
}
