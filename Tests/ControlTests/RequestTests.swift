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

    /// Each line with the request that it means, in the order of the documentation.
    static let requests: [(String, any RequestGroup)] = [
        (#"{"request":"status"}"#, ServiceRequest.status),
        (#"{"request":"faces"}"#, ServiceRequest.faces),
        (#"{"request":"masks"}"#, MaskRequest.masks),
        (#"{"request":"devices"}"#, DeviceRequest.devices),
        (#"{"request":"remove","mask":"santa"}"#, MaskRequest.remove("santa")),
        (#"{"request":"toggle","mask":"santa"}"#, MaskRequest.toggle("santa")),
        (#"{"request":"only","mask":"santa"}"#, MaskRequest.only("santa")),
        (#"{"request":"next"}"#, MaskRequest.next),
        (#"{"request":"previous"}"#, MaskRequest.previous),
        (#"{"request":"clear"}"#, MaskRequest.clear),
        (#"{"request":"wear","masks":["a","b"]}"#, MaskRequest.wear(["a", "b"])),
        (#"{"request":"wear","masks":[]}"#, MaskRequest.wear([])),
        (#"{"request":"add","masks":["a","b"]}"#, MaskRequest.add(["a", "b"])),
        (#"{"request":"order","masks":["a","b"]}"#, MaskRequest.order(["a", "b"])),
        (#"{"request":"random"}"#, MaskRequest.random(all: false)),
        (#"{"request":"random","all":true}"#, MaskRequest.random(all: true)),
        (#"{"request":"surprise"}"#, MaskRequest.surprise(all: false)),
        (#"{"request":"surprise","all":true}"#, MaskRequest.surprise(all: true)),
        (#"{"request":"looks"}"#, LookRequest.looks),
        (#"{"request":"look","name":"a b"}"#, LookRequest.look("a b", .wear)),
        (#"{"request":"look","name":"a","action":"save"}"#, LookRequest.look("a", .save)),
        (#"{"request":"look","name":"a","action":"delete"}"#, LookRequest.look("a", .delete)),
        (#"{"request":"favourite","mask":"santa"}"#, LookRequest.favourite("santa", isOn: true)),
        (#"{"request":"favourite","mask":"santa","on":false}"#, LookRequest.favourite("santa", isOn: false)),
        (#"{"request":"undo"}"#, HistoryRequest.undo),
        (#"{"request":"redo"}"#, HistoryRequest.redo),
        (
            #"{"request":"set","mask":"santa","key":"opacity","value":0.5}"#,
            ConfigurationRequest.set(mask: "santa", key: "opacity", value: 0.5)
        ),
        (
            #"{"request":"set","mask":"stamps","key":"items","value":"[]","step":7}"#,
            ConfigurationRequest.set(mask: "stamps", key: "items", value: "[]", step: 7)
        ),
        (
            #"{"request":"set","key":"camera.when","value":"always"}"#,
            ConfigurationRequest.set(mask: nil, key: "camera.when", value: "always")
        ),
        (#"{"request":"pause"}"#, PictureRequest.pause),
        (#"{"request":"panic"}"#, PictureRequest.panic),
        (#"{"request":"resume"}"#, PictureRequest.resume),
        (#"{"request":"freeze"}"#, PictureRequest.freeze),
        (#"{"request":"snapshot"}"#, PictureRequest.snapshot(nil, note: false)),
        (#"{"request":"snapshot","path":"/tmp/a.png"}"#, PictureRequest.snapshot("/tmp/a.png", note: false)),
        (#"{"request":"snapshot","note":true}"#, PictureRequest.snapshot(nil, note: true)),
        (#"{"request":"record","action":"start"}"#, PictureRequest.startRecording(nil, sound: false)),
        (
            #"{"request":"record","action":"start","path":"/a.mp4"}"#,
            PictureRequest.startRecording("/a.mp4", sound: false)
        ),
        (
            #"{"request":"record","action":"start","sound":true}"#,
            PictureRequest.startRecording(nil, sound: true)
        ),
        (#"{"request":"record","action":"stop"}"#, PictureRequest.stopRecording),
        (#"{"request":"album"}"#, PictureRequest.album),
        (#"{"request":"album","action":"rename","name":"a.png","to":"b"}"#, PictureRequest.rename("a.png", to: "b")),
        (#"{"request":"album","action":"delete","name":"a.png"}"#, PictureRequest.delete("a.png")),
        (#"{"request":"things"}"#, ThingRequest.things),
        (#"{"request":"teach","name":"card"}"#, ThingRequest.teach("card", photos: [])),
        (#"{"request":"teach","name":"card","photos":["/a.png"]}"#, ThingRequest.teach("card", photos: ["/a.png"])),
        (#"{"request":"forget","name":"card"}"#, ThingRequest.forget("card")),
        (#"{"request":"reload"}"#, ConfigurationRequest.reload),
        (#"{"request":"configuration"}"#, ConfigurationRequest.configuration),
        (#"{"request":"save"}"#, ConfigurationRequest.save),
        (#"{"request":"doctor"}"#, ServiceRequest.doctor),
        (#"{"request":"page"}"#, ServiceRequest.page),
        (#"{"request":"use","device":"auto"}"#, DeviceRequest.use("auto")),
        (#"{"request":"camera"}"#, DeviceRequest.camera),
        (
            #"{"request":"camera","action":"set","control":"gain","value":50}"#, DeviceRequest.setControl("gain", 50)
        ),
        (#"{"request":"camera","action":"reset"}"#, DeviceRequest.resetCamera),
        (#"{"request":"subscribe","events":["faces"]}"#, SubscriptionRequest.subscribe([.faces])),
        (#"{"request":"stop"}"#, ServiceRequest.stop),
    ]

    private func group(_ content: Request.Content) -> any RequestGroup {
        switch content {
        case .command(.mask(let request)): request
        case .command(.look(let request)): request
        case .command(.history(let request)): request
        case .command(.thing(let request)): request
        case .command(.picture(let request)): request
        case .command(.device(let request)): request
        case .command(.configuration(let request)): request
        case .command(.service(let request)): request
        case .subscription(let request): request
        }
    }

    @Test(arguments: requests.indices)
    func `a line is parsed, and written again by a client`(number: Int) throws {
        let (line, expected) = Self.requests[number]
        let found = group(try request(line).content)
        #expect(withoutLines(found) == withoutLines(expected))
        #expect(type(of: found) == type(of: expected))
        #expect(found.json.text == line && expected.json.text == line)
    }

    /// A value's description without the lines that its JSON was read from.
    private func withoutLines(_ group: any RequestGroup) -> String {
        "\(group)".replacing(/line: \d+/, with: "")
    }

    @Test func `keys that may be left out have a default`() throws {
        #expect(
            try request(#"{"request": "record"}"#).content == .command(.picture(.startRecording(nil, sound: false))))
        let subscription = try request(#"{"request": "subscribe"}"#).content
        #expect(subscription == .subscription(.subscribe(Topic.allCases)))
    }

    @Test func `every name is parsed by one group`() throws {
        let named = Self.requests.compactMap { $0.1.json["request"]?.string }
        #expect(Set(named) == Set(Request.names))
        #expect(Set(Request.names).count == Request.names.count, "two groups have a request of the same name")
    }

    @Test(arguments: [
        (#"{"request": "togle"}"#, RequestError.Code.unknownRequest, "did you mean 'toggle'?"),
        (#"{"request": "show", "mask": "a"}"#, .unknownRequest, "the request 'show' was renamed; use 'wear'"),
        (#"{"request": "hide", "mask": "a"}"#, .unknownRequest, "the request 'hide' was renamed; use 'remove'"),
        (#"{"request": "toggle"}"#, .badValue, "'mask' is missing"),
        (#"{"request": "toggle", "mask": 3}"#, .badValue, "'mask' is a number; allowed: a string"),
        (#"{"request": "toggle", "mask": "a", "msk": 1}"#, .badValue, "unknown key 'msk'; did you mean 'mask'?"),
        (#"{"request": "set", "key": "a"}"#, .badValue, "'value' is missing"),
        (#"{"request": "wear"}"#, .badValue, "'masks' is missing"),
        (#"{"request": "add"}"#, .badValue, "'masks' is missing"),
        (
            #"{"request": "add", "masks": ["a"\#(String(repeating: #", "a""#, count: 64))]}"#, .badValue,
            "allowed: at most 64"
        ),
        (#"{"request": "look", "name": "a", "action": "sav"}"#, .badValue, "did you mean 'save'?"),
        (#"{"request": "snapshot", "note": "yes"}"#, .badValue, "true or false"),
        (#"{"request": "snapshot", "path": "a.png"}"#, .badValue, "an absolute path"),
        (#"{"request": "snapshot", "path": "/a\u0000.png"}"#, .badValue, "an absolute path"),
        (#"{"request": "subscribe", "events": ["face"]}"#, .badValue, "did you mean 'faces'?"),
        (#"{"request": "camera", "action": "set", "control": "gain"}"#, .badValue, "'value' is missing"),
        (#"{"request": "record", "action": "strt"}"#, .badValue, "did you mean 'start'?"),
        (#"[1]"#, .badLine, "the request is a list; expected an object {...}"),
    ])
    func `errors say what is allowed`(line: String, code: RequestError.Code, words: String) throws {
        let requestError = #expect(throws: RequestError.self) { try request(line) }
        #expect(requestError?.code == code)
        #expect(requestError?.message.contains(words) == true, "\(requestError?.message ?? "")")
    }

    /// The rows of the table below a heading of docs/control.md: their cells.
    private func rows(below heading: String) throws -> [[Substring]] {
        let text = try String(contentsOfFile: Fixtures.inPackage("docs/control.md"), encoding: .utf8)
        let part = text.components(separatedBy: "\n## \(heading)\n").last?.components(separatedBy: "\n## ").first ?? ""
        return part.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|") }
    }

    /// The words in code style.
    private func code(_ text: some StringProtocol) -> [String] {
        String(text).matches(of: /`([a-z-]+)`/).map { String($0.1) }
    }

    @Test func `the documentation names every event and error, and no others`() throws {
        func names(below heading: String) throws -> Set<String> {
            Set(try rows(below: heading).flatMap { code($0[0]) })
        }
        #expect(try names(below: "Events") == Set(Topic.allCases.map(\.rawValue)))
        #expect(try names(below: "Errors") == Set(RequestError.Code.allCases.map(\.rawValue)))
    }

    @Test func `the documentation lists every request with what it does`() throws {
        try Reference.checkTable(
            in: "docs/control.md", below: "Requests", titles: ["Request", "Keys", "What it does"],
            rows: Request.help.map { ["`\($0.name)`", $0.help.keys, $0.help.meaning] })
    }

    @Test func `the help for a request names all its keys, and no others`() throws {
        // Allowed values are listed behind a colon.
        let named = Request.help.map { name, help in
            (name, Set(help.keys.split(separator: ";").flatMap { code($0.split(separator: ":")[0]) }))
        }
        var known: [String: Set<String>] = [:]
        for (line, group) in Self.requests {
            // The error for an unknown key lists the known ones.
            let error = #expect(throws: RequestError.self) {
                try request(line.dropLast() + #","qqqqqqqqqqqqqqqq":1}"#)
            }
            let keys = error?.message.split(separator: "known keys: ").last?.split(separator: ", ") ?? []
            known[group.json["request"]?.string ?? "", default: []].formUnion(keys.map(String.init))
        }
        #expect(Dictionary(uniqueKeysWithValues: named) == known.mapValues { $0.subtracting(["id", "request"]) })
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
        for text in [long.prettyText, long.ascii] {
            let again = try JSON(Array(text.utf8), file: "again")
            #expect(again.text == long.text, "\(text)")
        }
        #expect(long.prettyText.split(separator: "\n").count > 10 && long.ascii.utf8.allSatisfy { $0 < 0x80 })
    }
}
