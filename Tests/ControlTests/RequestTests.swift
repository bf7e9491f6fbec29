import Foundation
import Frames
import JSON
import TestSupport
import Testing

@testable import Control

/// Parsing of requests, and the errors for invalid ones.
struct RequestTests {
    private func request(_ line: String) throws -> Request {
        try Request(id: nil, JSON(Array(line.utf8), file: "request"))
    }

    @Test(arguments: [
        (#"{"request": "toggle", "mask": "santa"}"#, Command.toggle("santa")),
        (
            #"{"request": "set", "mask": "santa", "key": "opacity", "value": 0.5}"#,
            .set(mask: "santa", key: "opacity", value: 0.5)
        ),
        (
            #"{"request": "set", "key": "camera.when", "value": "always"}"#,
            .set(mask: nil, key: "camera.when", value: "always")
        ),
        (#"{"request": "record"}"#, .startRecording(nil)),
        (#"{"request": "record", "action": "stop"}"#, .stopRecording),
        (#"{"request": "snapshot", "path": "/tmp/a.png"}"#, .snapshot("/tmp/a.png", note: false)),
        (#"{"request": "snapshot", "note": true}"#, .snapshot(nil, note: true)),
        (#"{"request": "wear", "masks": ["a", "b"]}"#, .wear(["a", "b"])),
        (#"{"request": "wear", "masks": []}"#, .wear([])),
        (#"{"request": "subscribe", "events": ["faces"]}"#, .subscribe([.faces])),
        (#"{"request": "subscribe"}"#, .subscribe(Topic.allCases)),
    ])
    func `a valid line is parsed`(line: String, command: Command) throws {
        let found = try request(line).command
        // Compares values without their lines.
        #expect("\(found)".filter { !$0.isNumber } == "\(command)".filter { !$0.isNumber })
    }

    @Test func `every listed name is parsed`() throws {
        let more = [
            "show": #", "mask": "a""#, "hide": #", "mask": "a""#, "toggle": #", "mask": "a""#,
            "only": #", "mask": "a""#,
            "wear": #", "masks": ["a"]"#, "set": #", "key": "a", "value": 1"#, "use": #", "device": "auto""#,
        ]
        for name in Command.names { _ = try request("{\"request\": \"\(name)\"\(more[name] ?? "")}") }
    }

    @Test(arguments: [
        (#"{"request": "togle"}"#, RequestError.Code.unknownRequest, "did you mean 'toggle'?"),
        (#"{"request": "toggle"}"#, .badValue, "'mask' is missing"),
        (#"{"request": "toggle", "mask": 3}"#, .badValue, "'mask' is a number; allowed: a string"),
        (#"{"request": "toggle", "mask": "a", "msk": 1}"#, .badValue, "unknown key 'msk'; did you mean 'mask'?"),
        (#"{"request": "set", "key": "a"}"#, .badValue, "'value' is missing"),
        (#"{"request": "wear"}"#, .badValue, "'masks' is missing"),
        (#"{"request": "snapshot", "note": "yes"}"#, .badValue, "true or false"),
        (#"{"request": "snapshot", "path": "a.png"}"#, .badValue, "an absolute path"),
        (#"{"request": "subscribe", "events": ["face"]}"#, .badValue, "did you mean 'faces'?"),
        (#"{"request": "record", "action": "strt"}"#, .badValue, "did you mean 'start'?"),
        (#"[1]"#, .badValue, "expected an object {...}"),
    ])
    func `errors say what is allowed`(line: String, code: RequestError.Code, words: String) throws {
        let requestError = #expect(throws: RequestError.self) { try request(line) }
        #expect(requestError?.code == code)
        #expect(requestError?.message.contains(words) == true, "\(requestError?.message ?? "")")
    }

    @Test func `the documentation names every request, event and error, and no others`() throws {
        let text = try String(contentsOfFile: Fixtures.inPackage("docs/control.md"), encoding: .utf8)
        /// The names in the first column of the table below a heading.
        func names(below heading: String) -> Set<String> {
            let part =
                text.components(separatedBy: "\n## \(heading)\n").last?.components(separatedBy: "\n## ").first ?? ""
            let cells = part.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|")[0] }
            return Set(cells.flatMap { $0.matches(of: /`([a-z-]+)`/).map { String($0.1) } })
        }
        #expect(names(below: "Requests") == Set(Command.names))
        #expect(names(below: "Events") == Set(Topic.allCases.map(\.rawValue)))
        #expect(names(below: "Errors") == Set(RequestError.Code.allCases.map(\.rawValue)))
    }

    @Test func `requests are read back as written`() throws {
        let value = JSON([
            "text": "a\"b\\c\n\u{1}é👓", "number": 0.25, "whole": 12, "yes": true, "none": JSON(.null),
            "list": [1, "b", JSON([:])],
        ])
        let text = value.text
        #expect(!text.contains("\n"))
        let again = try JSON(Array(text.utf8), file: "again")
        #expect(again.text == text)
        #expect(again["text"]?.string == "a\"b\\c\n\u{1}é👓")
        #expect(JSON(Double.infinity).text == "null")
        let long = value.with("more", JSON((0..<40).map { JSON(["name": JSON("m\($0)")]) }))
        for text in [long.pages, long.ascii] {
            let again = try JSON(Array(text.utf8), file: "again")
            #expect(again.text == long.text, "\(text)")
        }
        #expect(long.pages.split(separator: "\n").count > 10 && long.ascii.utf8.allSatisfy { $0 < 0x80 })
    }
}
