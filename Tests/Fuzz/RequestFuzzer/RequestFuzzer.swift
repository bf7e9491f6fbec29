import CFuzzer
import Control
import Frames
import Glibc
import JSON

/// Fuzzer of requests: libFuzzer changes the bytes, and observes which parts of the reader they reach.
///
/// A line is either a request, or an error with a message. Parsed lines are written and read back the same. Anything
/// else ends the run, and the bytes are kept.
@main enum RequestFuzzer {
    static func main() {
        var count = CommandLine.argc
        var words = unsafe CommandLine.unsafeArgv
        let result = unsafe withUnsafeMutablePointer(to: &words) { words in
            unsafe words.withMemoryRebound(to: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?.self, capacity: 1) {
                unsafe LLVMFuzzerRunDriver(&count, $0, test)
            }
        }
        exit(result)
    }
}

private func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    for line in input.split(separator: UInt8(ascii: "\n")) {
        guard let json = try? JSON(Array(line), file: "request") else { continue }
        guard let again = try? JSON(Array(json.text.utf8), file: "again"), again.text == json.text else {
            fatalError("what was written is not what was read: \(json.text)")
        }
        do throws(RequestError) { _ = try Request(id: json["id"], json) } catch {
            guard !error.message.isEmpty else { fatalError("refused without a word") }
        }
    }
    return 0
}
