import Foundation
import Frames
import JSON
import Testing

@testable import Compose
@testable import SystemKit

/// The keys that layers of all kinds have in common.
private func style(_ text: String, choices: [String: String] = [:]) throws -> LayerStyle {
    var target = ArtTarget(FrameLayout(width: 640, height: 360, format: .yuyv))
    target.choices = choices
    var fields = try Fields(try JSON(Array(text.utf8), file: "mask.json"), file: "mask.json")
    let style = try LayerStyle(&fields, target)
    try fields.finish()
    return style
}

struct StyleTests {
    @Test func `without keys a layer is opaque, lit, still, and on all faces always`() throws {
        let plain = try style("{}")
        #expect(plain.opacity == 1 && plain.blend == .normal && plain.light == 1)
        #expect(plain.tint == nil && plain.when == nil && plain.on == .every)
        #expect(plain.motion.frames.isEmpty && plain.motion.swing == nil)
    }

    @Test func `all keys are read`() throws {
        let all = try style(
            """
            {"opacity": 0.5, "blend": "soft light", "tint": {"name": "hat", "color": "#102030"}, "light": 0.25,
             "when": {"is": "mouth open", "then": "start"}, "on": {"draw": 2, "of": 4},
             "motion": {"frames": [{"art": "a.svg", "milliseconds": 80}, {"art": "b.svg"}], "repeat": "back and forth",
                        "swing": {"frequency": 2, "damping": 0.3, "limit": 20, "stands": true}}}
            """)
        #expect(all.opacity == 0.5 && all.blend == .softLight && all.light == 0.25)
        #expect(all.tint?.color == Color(16, 32, 48))
        #expect(all.when?.condition == .expression(.mouthOpen) && all.when?.then == .start)
        #expect(all.on == .drawn(0.25..<0.5))
        #expect(all.motion.frames.map(\.milliseconds) == [80, 100] && all.motion.repetition == .backAndForth)
        #expect(all.motion.swing?.frequency == 2 && all.motion.swing?.isInverted == true)
        #expect(try style(#"{"when": "smile"}"#).when?.then == .show)
        #expect(try style(#"{"when": {"object": "card"}}"#).when?.condition == .object("card"))
        #expect(try style(#"{"on": {"nth": 2}}"#).on == .nth(2))
        #expect(try style(#"{"on": {"chance": 0.3}}"#).on == .drawn(0..<0.3))
    }

    @Test func `a named colour is the user's choice if there is one`() throws {
        let text = ##"{"tint": {"name": "hat", "color": "#102030"}}"##
        #expect(try style(text, choices: ["hat": "#ff0000"]).tint?.color == Color(255, 0, 0))
        #expect(try style(text, choices: ["hat": "red", "shoe": "#ff0000"]).tint?.color == Color(16, 32, 48))
    }

    @Test(
        "Errors name the value and what is allowed",
        arguments: [
            (#"{"blend": "multply"}"#, "'multply'", "did you mean 'multiply'?"),
            (#"{"opacity": 1.2}"#, "1.2", "0 to 1"), (#"{"light": -1}"#, "-1", "0 to 1"),
            (#"{"tint": "red"}"#, "'red'", "#ffcc00"), (#"{"tint": 3}"#, "a number", "a string"),
            (##"{"tint": {"color": "#102030"}}"##, "'tint.name' is missing", "a string"),
            (##"{"tint": {"name": "", "color": "#102030"}}"##, "empty", "a name"),
            (#"{"when": "mouth opn"}"#, "'mouth opn'", "did you mean 'mouth open'?"),
            (#"{"when": {"is": "smile", "then": "go"}}"#, "'go'", "show, hide, start, stop"),
            (#"{"when": {"if": "smile"}}"#, "'when.is' is missing", "a string"),
            (#"{"on": "largst"}"#, "'largst'", "did you mean 'largest'?"),
            (#"{"on": {"draw": 5, "of": 4}}"#, "5", "1 to 4"), (#"{"on": {"nth": 0}}"#, "0", "1 to 8"),
            (#"{"on": {"chance": 0.5, "of": 2}}"#, "unknown key 'on.of'", "known keys"),
            (#"{"motion": {"swing": {"freqency": 2}}}"#, "'motion.swing.freqency'", "did you mean 'frequency'?"),
            (#"{"motion": {"swing": {"damping": 0}}}"#, "0", "0.02 to 1"),
            (#"{"motion": {"frames": [{"art": "a.svg", "milliseconds": 1}]}}"#, "1", "10 to 60000"),
            (#"{"motion": {"repeat": "twice"}}"#, "'twice'", "forever, once, back and forth"),
        ])
    func wrong(text: String, said: String, allowed: String) throws {
        let problem = try #require(throws: Problem.self) { try style(text) }
        #expect(problem.description.contains(said), "\(problem.description)")
        #expect(problem.description.contains(allowed), "\(problem.description)")
        #expect(problem.description.contains("mask.json:1"), "\(problem.description)")
    }

    @Test func `tinted art keeps its light and dark`() {
        // Three opaque greys around their mean, one half transparent, one fully transparent.
        var raster = RGBAImage(
            width: 5, height: 1,
            bytes: [0, 0, 0, 255, 100, 100, 100, 255, 200, 200, 200, 255, 50, 50, 50, 128, 0, 0, 0, 0])
        Tint(color: Color(200, 100, 0)).apply(&raster)
        #expect(Array(raster.bytes[0..<4]) == [0, 0, 0, 255])
        #expect(Array(raster.bytes[16..<20]) == [0, 0, 0, 0])
        let (middle, light, half) = (raster.bytes[4..<8], raster.bytes[8..<12], raster.bytes[12..<16])
        #expect(middle.first.map { $0 > 190 } == true && middle.last == 255)
        #expect(zip(light, middle).allSatisfy { $0 >= $1 } && light[10] > 60, "light greys go towards white")
        #expect(half.allSatisfy { $0 <= 128 }, "premultiplied still")
    }

    @Test func `dark hair dyed fair is not black beside white`() {
        let hair: [UInt8] = [10, 10, 10, 255, 25, 25, 25, 255, 30, 30, 30, 255, 35, 35, 35, 255]
        var (fair, dark) = (RGBAImage(width: 4, height: 1, bytes: hair), RGBAImage(width: 4, height: 1, bytes: hair))
        Tint(color: Color(200, 165, 105)).apply(&fair)
        Tint(color: Color(24, 18, 14)).apply(&dark)
        print("dyed fair \(fair.bytes), dark \(dark.bytes)")
        #expect(fair.bytes[0] > 120 && fair.bytes[0] < fair.bytes[4], "a lock in the shade")
        #expect(dark.bytes[0] <= 10, "dark hair stays as it was")
    }

    @Test(arguments: ["", "#", "102030", "#10203", "#1020300", "#+12345", "#-00000", "#10203g", "#１02030"])
    func `what is not six hexadecimal digits after a # is no colour`(text: String) { #expect(Color(text) == nil) }

    @Test func `a timeline shows its frames in turn`() {
        let durations: [Double] = [100, 50, 200]
        let forever = Timeline(durations: durations, .forever)
        #expect([0, 99, 100, 149, 150, 349, 350, 455].map { forever.frame(at: $0) } == [0, 0, 1, 1, 2, 2, 0, 1])
        #expect([-5, .nan, .infinity].map { forever.frame(at: $0) } == [0, 0, 0])
        let once = Timeline(durations: durations, .once)
        #expect([0, 120, 349, 350, 9000].map { once.frame(at: $0) } == [0, 1, 2, 2, 2])
        let back = Timeline(durations: durations, .backAndForth)
        #expect([0, 120, 349, 351, 401].map { back.frame(at: $0) } == [0, 1, 2, 1, 0])
        #expect(Timeline(durations: [40], .forever).frame(at: 500) == 0)
    }
}
