import Frames
import SystemKit

/// A parser for the XML of OpenCV cascades only: elements, numbers and words, without entities or CDATA.
///
/// Every step advances or throws, so damaged text is rejected in time proportional to its length.
struct CascadeXML: ~Copyable, ~Escapable {
    /// The bytes of a name or of text, as offsets into the file.
    typealias Part = Range<Int>

    enum Token {
        case open(Part)
        case close(Part)
        case text(Part)
        case end
    }

    private let bytes: Span<UInt8>
    private let file: String
    private var at = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, file: String) {
        self.bytes = bytes
        self.file = file
    }

    /// The next tag, or the text up to it. Skips comments, declarations and white space.
    mutating func next() throws(Problem) -> Token {
        while true {
            skipSpace()
            guard at < bytes.count else { return .end }
            guard bytes[at] == UInt8(ascii: "<") else {
                let start = at
                while at < bytes.count, bytes[at] != UInt8(ascii: "<") { at += 1 }
                return .text(start..<at)
            }
            if starts("<!--") {
                try skip(behind: "-->")
            } else if starts("<?") {
                try skip(behind: "?>")
            } else {
                return try tag()
            }
        }
    }

    private mutating func tag() throws(Problem) -> Token {
        at += 1
        let closes = at < bytes.count && bytes[at] == UInt8(ascii: "/")
        if closes { at += 1 }
        let start = at
        while at < bytes.count, !isSpace(bytes[at]), bytes[at] != UInt8(ascii: ">") { at += 1 }
        let name = start..<at
        while at < bytes.count, bytes[at] != UInt8(ascii: ">") { at += 1 }
        guard at < bytes.count, !name.isEmpty, bytes[at - 1] != UInt8(ascii: "/") else {
            throw damaged("a tag is not closed")
        }
        at += 1
        return closes ? .close(name) : .open(name)
    }

    /// The next child element's name; nil at the end of the enclosing element.
    mutating func child() throws(Problem) -> Part? {
        switch try next() {
        case .open(let name): return name
        case .close: return nil
        case .text, .end: throw damaged("a list contains something other than elements")
        }
    }

    /// Opens the next element, which must be named `name`.
    mutating func open(_ name: StaticString) throws(Problem) {
        guard case .open(let found) = try next(), matches(found, name) else { throw damaged("<\(name)> is missing") }
    }

    mutating func close() throws(Problem) {
        guard case .close = try next() else { throw damaged("an element is not closed") }
    }

    /// Skips the rest of an open element.
    mutating func skipElement() throws(Problem) {
        var depth = 1
        while depth > 0 {
            switch try next() {
            case .open: depth += 1
            case .close: depth -= 1
            case .text: break
            case .end: throw damaged("an element is not closed")
            }
        }
    }

    /// The text of an open element; reads to the element's end.
    mutating func word() throws(Problem) -> String {
        guard case .text(let part) = try next(), part.count < 64 else { throw damaged("a word is missing") }
        try close()
        return String(decoding: part.map { bytes[$0] }, as: UTF8.self).filter { !$0.isWhitespace }
    }

    /// The integer in an open element; reads to the element's end.
    mutating func integer(in range: ClosedRange<Int>) throws(Problem) -> Int {
        var numbers: [Double] = []
        try self.numbers(into: &numbers, atMost: 1)
        guard numbers.count == 1, let value = Int(exactly: numbers[0]), range.contains(value) else {
            throw damaged("a number is missing or out of range")
        }
        return value
    }

    /// The numbers in an open element; reads to the element's end.
    mutating func numbers(into list: inout [Double], atMost limit: Int) throws(Problem) {
        list.removeAll(keepingCapacity: true)
        guard case .text(let part) = try next() else { throw damaged("numbers are missing") }
        at = part.lowerBound
        while at < part.upperBound {
            guard list.count < limit else { throw damaged("a list contains too many numbers") }
            list.append(try number())
            skipSpace()
        }
        try close()
    }

    /// A decimal number, accurate to 1 part in 10^15: far finer than the spacing of the Floats whose digits
    /// OpenCV writes.
    private mutating func number() throws(Problem) -> Double {
        var negative = false
        if let sign = peek(), sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            negative = sign == UInt8(ascii: "-")
            at += 1
        }
        var digits: UInt64 = 0
        var exponent = 0
        let start = at
        var point: Int? = nil
        while let byte = peek() {
            if byte == UInt8(ascii: "."), point == nil {
                point = at
            } else if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
                let room = digits < 1_000_000_000_000_000_000
                if room { digits = digits * 10 + UInt64(byte - UInt8(ascii: "0")) }
                if room == (point != nil) { exponent += room ? -1 : 1 }
            } else {
                break
            }
            at += 1
        }
        guard at > start + (point == nil ? 0 : 1) else { throw damaged("a number is malformed") }
        if let byte = peek(), byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            at += 1
            exponent += try self.exponent()
        }
        if let byte = peek(), !isSpace(byte), byte != UInt8(ascii: "<") { throw damaged("a number is malformed") }
        guard abs(exponent) < 60 else { throw damaged("a number is out of range") }
        var power = 1.0
        for _ in 0..<abs(exponent) { power *= 10 }
        let value = exponent < 0 ? Double(digits) / power : Double(digits) * power
        return negative ? -value : value
    }

    private mutating func exponent() throws(Problem) -> Int {
        var negative = false
        if let sign = peek(), sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            negative = sign == UInt8(ascii: "-")
            at += 1
        }
        let start = at
        var value = 0
        while let byte = peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), at < start + 4 {
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
            at += 1
        }
        guard at > start else { throw damaged("a number is malformed") }
        return negative ? -value : value
    }

    /// Whether a part of the file equals `word`.
    func matches(_ part: Part, _ word: StaticString) -> Bool {
        part.count == word.utf8CodeUnitCount && equals(part.lowerBound, word)
    }

    func damaged(_ why: String) -> Problem {
        var line = 1
        for i in 0..<min(at, bytes.count) where bytes[i] == UInt8(ascii: "\n") { line += 1 }
        return Cascade.unusable(file, "\(why) (line \(line))")
    }

    private func equals(_ start: Int, _ word: StaticString) -> Bool {
        guard start + word.utf8CodeUnitCount <= bytes.count else { return false }
        var i = start
        for byte in word.description.utf8 {
            guard bytes[i] == byte else { return false }
            i += 1
        }
        return true
    }

    private func starts(_ word: StaticString) -> Bool { equals(at, word) }

    private mutating func skip(behind word: StaticString) throws(Problem) {
        while !starts(word) {
            guard at < bytes.count else { throw damaged("a comment is not closed") }
            at += 1
        }
        at += word.utf8CodeUnitCount
    }

    private mutating func skipSpace() { while at < bytes.count, isSpace(bytes[at]) { at += 1 } }
    private func peek() -> UInt8? { at < bytes.count ? bytes[at] : nil }
    private func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (byte >= 9 && byte <= 13) }
}
