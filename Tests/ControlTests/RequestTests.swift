import Frames
import JSON
import Testing

@testable import Control

/// What a line may say, and what is answered to one that may not.
struct RequestTests {
    private func request(_ line: String) throws -> Request {
        try Request(id: nil, JSON(Array(line.utf8), file: "request"))
    }

    @Test(arguments: [
        (#"{"request": "toggle", "mask": "santa"}"#, Verb.toggle("santa")),
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
        (#"{"request": "subscribe", "events": ["faces"]}"#, .subscribe([.faces])),
        (#"{"request": "subscribe"}"#, .subscribe(Topic.allCases)),
    ])
    func `a sound line is understood`(line: String, verb: Verb) throws {
        let found = try request(line).verb
        // Values know their line; what they are is compared.
        #expect("\(found)".filter { !$0.isNumber } == "\(verb)".filter { !$0.isNumber })
    }

    @Test func `every name that is offered is understood`() throws {
        let more = [
            "show": #", "mask": "a""#, "hide": #", "mask": "a""#, "toggle": #", "mask": "a""#,
            "only": #", "mask": "a""#,
            "set": #", "key": "a", "value": 1"#, "use": #", "device": "auto""#,
        ]
        for name in Verb.names { _ = try request("{\"request\": \"\(name)\"\(more[name] ?? "")}") }
    }

    @Test(arguments: [
        (#"{"request": "togle"}"#, Refusal.Code.unknownRequest, "did you mean 'toggle'?"),
        (#"{"request": "toggle"}"#, .badValue, "'mask' is missing"),
        (#"{"request": "toggle", "mask": 3}"#, .badValue, "'mask' is a number; allowed: a text"),
        (#"{"request": "toggle", "mask": "a", "msk": 1}"#, .badValue, "unknown key 'msk'; did you mean 'mask'?"),
        (#"{"request": "set", "key": "a"}"#, .badValue, "'value' is missing"),
        (#"{"request": "snapshot", "path": "a.png"}"#, .badValue, "a path from the root"),
        (#"{"request": "subscribe", "events": ["face"]}"#, .badValue, "did you mean 'faces'?"),
        (#"{"request": "record", "action": "strt"}"#, .badValue, "did you mean 'start'?"),
        (#"[1]"#, .badValue, "an object {...} is wanted"),
    ])
    func `what is wrong is said with what would be right`(line: String, code: Refusal.Code, words: String) throws {
        let refusal = #expect(throws: Refusal.self) { try request(line) }
        #expect(refusal?.code == code)
        #expect(refusal?.message.contains(words) == true, "\(refusal?.message ?? "")")
    }

    @Test func `what is written can be read again`() throws {
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
    }
}
