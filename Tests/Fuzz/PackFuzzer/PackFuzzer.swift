import CFuzzer
import Compose
import Frames
import Glibc
import SystemKit
import Track

/// Fuzzer of mask packs: libFuzzer changes the bytes, and observes which parts of the reader they reach.
///
/// A pack is either a valid mask, or a `Problem`. Anything else (a trap, a hang, unlimited memory) ends the run, and
/// the bytes are kept.
@main enum PackFuzzer {
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
    guard let folder = Pack.folder else { fatalError("no folder can be made in /dev/shm") }
    for name in Pack.names { removeFile("\(folder)/pack/\(name)") }
    for (name, text) in Pack.files(of: input) { Pack.write(text, to: "\(folder)/pack/\(name)") }
    do {
        Pack.wear(try MaskLibrary(searchPaths: [folder]).load("pack", for: Pack.target))
    } catch is Problem {
        // A `Problem` is a valid result.
    } catch {
        fatalError("no Problem, but \(error)")
    }
    return 0
}

private enum Pack {
    /// The files that a pack may have; inputs can't write elsewhere.
    static let names = ["mask.json", "art.svg", "art.png", "art.gltf", "art.glb", "art.bin"]
    /// Small, because only reading is tested, not the picture.
    static let layout = FrameLayout(width: 64, height: 64, format: .yuyv)
    static let target = ArtTarget(layout)

    /// A folder in memory for this process's packs; nil if none could be made.
    static let folder: String? = {
        let folder = "/dev/shm/guise-fuzz-\(getpid())"
        unsafe mkdir(folder, 0o700)
        return unsafe mkdir("\(folder)/pack", 0o700) == 0 ? folder : nil
    }()

    /// Splits the bytes into files at lines "=== NAME"; the part before the first such line is mask.json.
    static func files(of input: [UInt8]) -> [(name: String, text: [UInt8])] {
        var files: [(name: String, text: [UInt8])] = [("mask.json", [])]
        for line in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.starts(with: "=== ".utf8) {
                let name = String(decoding: line.dropFirst(4), as: UTF8.self)
                files.append((names.contains(name) ? name : "art.svg", []))
            } else {
                files[files.count - 1].text += line + [UInt8(ascii: "\n")]
            }
        }
        // Removes the last line's end, which the file did not have.
        for i in files.indices where !files[i].text.isEmpty { files[i].text.removeLast() }
        return files
    }

    static func write(_ bytes: [UInt8], to path: String) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        _ = unsafe Glibc.write(descriptor, bytes, bytes.count)
        close(descriptor)
    }

    /// On a face that almost fills the picture, and without faces.
    static func wear(_ mask: Mask) {
        var compositor = Compositor(masks: [mask])
        var canvas = Canvas(layout)
        let map = Affine(a: 20, b: 0, c: 0, d: 20, tx: 32, ty: 24)
        for time in [0, 0.1] { compositor.compose(&canvas, [.mean], placement: map, at: time) }
        compositor.compose(&canvas, [], placement: map, at: 0.2)
    }
}
