import SystemKit
import TestSupport
import Testing

@testable import guise

@Suite struct FailedMasksTests {
    @Test func `a mask that could not be loaded is tried again once its files change`() throws {
        let scratch = try ScratchFolder()
        let file = try scratch.write("{}", "mask.json")
        let failed = FailedMasks()
        var tries = 0
        func load(_ mask: String) throws -> String {
            try failed.load(mask, [FileVersion(file)].compactMap { $0 }) {
                tries += 1
                guard tries > 2 else { throw Problem(.unusable, "try \(tries)", fix: "change it") }
                return mask
            }
        }
        for _ in 0..<3 {
            let problem = #expect(throws: Problem.self) { try load("heavy") }
            #expect(problem?.message == "try 1")
        }
        #expect(tries == 1)
        // Another one is another matter.
        let problem = #expect(throws: Problem.self) { try load("other") }
        #expect(problem?.message == "try 2")
        try scratch.write("{\"version\": 1}", "mask.json")
        #expect(try load("heavy") == "heavy")
        #expect(tries == 3)
        // What the system refuses once is tried again.
        for _ in 0..<2 {
            #expect(throws: Problem.self) {
                try failed.load("crown", []) { () throws -> String in
                    tries += 1
                    throw Problem(.system, "no memory")
                }
            }
        }
        #expect(tries == 5)
        // What could be loaded may be loaded again.
        #expect(try load("heavy") == "heavy")
        #expect(tries == 6)
    }
}
