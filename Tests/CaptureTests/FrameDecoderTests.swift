import Testing

@testable import Capture
@testable import SystemKit
@testable import V4L2

struct FrameDecoderTests {
    @Test func `an unknown format is an error that names it`() {
        let format = StreamFormat(fourCC: "H264", width: 64, height: 48)
        var requestError: Problem?
        do { _ = try FrameDecoder(format, descriptor: -1) } catch { requestError = error }
        #expect(requestError?.kind == .unusable)
        #expect(requestError?.message.contains("H264 64x48") == true)
    }

    /// libv4lconvert would read far outside the picture.
    @Test(arguments: [64, 256])
    func `a rare format with overlapping or padded rows is rejected`(bytesPerLine: Int) {
        let format = StreamFormat(fourCC: "RGB3", width: 64, height: 48, bytesPerLine: bytesPerLine)
        var requestError: Problem?
        do { _ = try FrameDecoder(format, descriptor: -1) } catch { requestError = error }
        #expect(requestError?.kind == .unusable)
    }
}
