import Foundation
import TestSupport
import Testing

extension EndToEnd {
    @Suite(.needsSample) struct Runs {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        private func servedPort(_ text: String) -> Int? {
            text.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) }
        }

        @Test(arguments: [SIGINT, SIGTERM])
        func `an interrupt ends it cleanly`(signal: Int32) throws {
            let guise = try RunningGuise(["--source", "sample", "--sink", "null"], in: scratch)
            guise.running.send(signal: signal)
            let outcome = guise.running.wait()
            #expect(outcome.code == 0, "\(outcome)")
        }

        @Test(arguments: [SIGINT, SIGTERM])
        func `an interrupt ends it while it still starts, and its socket is removed`(signal: Int32) throws {
            let clip = try scratch.testPicture("in.mkv", frames: 10)
            try scratch.makeRuntimeFolder()
            // The source is opened by a program that does not end.
            try scratch.shell(
                "mkdir bin; printf '#!/bin/sh\\ntouch started; exec sleep 100000' >bin/ffprobe; "
                    + "chmod +x bin/ffprobe; cp bin/ffprobe bin/ffmpeg")
            let running = try Running(
                ["PATH=\(scratch.path("bin")):/usr/bin:/bin", Program.path, "run", "--source", clip, "--sink", "null"],
                of: "/usr/bin/env", in: scratch)
            while !scratch.names().contains("started"), running.isRunning { usleep(1000) }
            try #require(scratch.names(in: "run/guise").contains("control.sock"), "\(running.said)")
            running.send(signal: signal)
            let outcome = running.wait()
            #expect(outcome.code == 0, "\(outcome)")
            #expect(!scratch.names(in: "run/guise").contains("control.sock"))
        }

        @Test func `an interrupted recording is a clip that plays`() throws {
            let guise = try RunningGuise(["--source", "sample", "--sink", "out.mp4", "--sink", "null"], in: scratch)
            try guise.waits(pictures: 10)
            guise.running.send(signal: SIGINT)
            let outcome = guise.running.wait()
            try #require(outcome.code == 0, "\(outcome)")
            let parts = try scratch.measure(scratch.path("out.mp4")).split(separator: " ")
            #expect(parts.first == "640x360" && (Int(parts.last ?? "") ?? 0) > 5, "\(parts)")
            #expect(try scratch.shell("ls").contains(".part.") == false)
        }

        @Test(arguments: [["--sink", "null"], ["--sink", "null", "--sink", "side.mkv"]])
        func `it ends although an encoder hangs, and the recording is kept`(sinks: [String]) throws {
            let guise = try RunningGuise(["--source", "sample"] + sinks, in: scratch)
            #expect(try guise.guise("record", "start", scratch.path("clip.mkv")).code == 0)
            #expect(guise.waits { $0["recording"]?["frames"]?.number ?? 0 > 5 })
            try scratch.shell("kill -STOP $(pgrep -P \(guise.running.pid) -x ffmpeg)")
            guise.running.send(signal: SIGTERM)
            let outcome = guise.running.wait()
            #expect(outcome.code < 128, "it ends by itself: \(outcome)")
            #expect(!scratch.names().contains { $0.contains(".part.") }, "\(scratch.names())")
            #expect(scratch.names().contains("clip.mkv"))
        }

        @Test func `a slow encoder gets its time when the source has ended`() throws {
            let clip = try scratch.testPicture("in.mkv", frames: 10)
            try scratch.shell(
                """
                mkdir bin; printf '#!/bin/sh\\n/usr/bin/ffmpeg "$@"; code=$?; case "$*" in *.part.*) sleep 2.5;; esac; exit $code' > bin/ffmpeg
                chmod +x bin/ffmpeg
                PATH="$PWD/bin:$PATH" '\(Program.path)' run --source '\(clip)' --sink out.mkv --mask polaroid
                """)
            #expect(try scratch.measure(scratch.path("out.mkv")) == "64x48 10")
        }

        @Test(.needsNoVideoDevices)
        func `without camera and loopback it shows the sample on a page, and says how to get the rest`() throws {
            let config = try scratch.write("{\"page\": {\"port\": 0}}", "c.json")
            try scratch.makeRuntimeFolder()
            let running = try Running(["run", "--config", config], in: scratch)
            try #require(running.waits(for: "http://127.0.0.1:"), "\(running.said)")
            #expect(running.said.contains("--source FILE") && running.said.contains("sudo modprobe v4l2loopback"))
            let port = try #require(servedPort(running.said))
            // Its output may go to a file, so the link with the secret is only printed by `guise page`.
            #expect(!running.said.contains("#"), "\(running.said)")
            let told = try scratch.guise("page", "--no-open")
            let secret = String(try #require(told.out.firstMatch(of: /#([0-9a-f]{64})/)?.1))
            let session = try HTTPTestClient.signIn(port: port, secret: secret)
            let address = "http://127.0.0.1:\(port)/stream"
            try scratch.shell(
                "ffmpeg -v error -headers 'Authorization: Guise \(session.token)' -f mpjpeg -i \(address) -frames:v 2 'frame%d.png'"
            )
            #expect(try scratch.measure(scratch.path("frame2.png")) == "640x360 1")
            withExtendedLifetime(session) {}
            kill(running.pid, SIGINT)
            #expect(running.wait().code == 0)
        }

        @Test func `a port in use is an error, with the fix`() throws {
            let config = try scratch.write("{\"page\": {\"port\": 0}}", "free.json")
            let first = try Running(["run", "--source", "sample", "--sink", "page", "--config", config], in: scratch)
            try #require(first.waits(for: "http://127.0.0.1:"), "\(first.said)")
            let port = try #require(servedPort(first.said))
            let taken = try scratch.write("{\"page\": {\"port\": \(port)}}", "taken.json")
            let outcome = try scratch.guise("run", "--source", "sample", "--sink", "page", "--config", taken)
            #expect(outcome.code == 1, "\(outcome)")
            #expect(outcome.lines.last?.contains("port \(port): another program uses it") == true, "\(outcome)")
            kill(first.pid, SIGTERM)
            #expect(first.wait().code == 0)
        }

        @Test func `without a folder for the page's secret it runs without the page, and says why`() throws {
            try scratch.write("a file", "state")
            let guise = try RunningGuise(
                ["--source", "sample", "--sink", "page", "--sink", "null"],
                config: "{\(RunningGuise.smallOutput), \"page\": {\"port\": 0}}", in: scratch)
            #expect(guise.running.said.contains("it runs without the page: could not use the folder"))
            #expect(guise.running.said.contains(scratch.path("state")), "\(guise.running.said)")
            #expect(try guise.guise("page", "--no-open").code == 1)
            // It opens once the folder can be made.
            try scratch.shell("rm state")
            #expect(try guise.guise("page", "--no-open").code == 0)
            #expect(try guise.end().code == 0)
            // Without anything else to show the picture, it is an error.
            try scratch.shell("rm -r state; touch state")
            let outcome = try scratch.guise("run", "--source", "sample", "--sink", "page")
            #expect(outcome.code == 1 && outcome.errors.contains("could not use the folder"), "\(outcome)")
        }

        @Test(.needsNoVideoDevices)
        func `a missing camera, device or loopback is an error of one line with the fix`() throws {
            for (arguments, words) in [
                (["--source", "camera", "--sink", "null"], "no camera was found; plug one in"),
                (["--source", "/dev/video77", "--sink", "null"], "/dev/video77"),
                (["--source", "sample", "--sink", "loopback"], "sudo modprobe v4l2loopback exclusive_caps=1"),
                (["--source", "sample", "--sink", "/dev/video77"], "/dev/video77"),
            ] {
                let outcome = try Program.run(["run"] + arguments, in: scratch)
                #expect(outcome.code == 1 && outcome.lines.count == 1, "\(outcome)")
                #expect(outcome.errors.hasPrefix("guise: ") && outcome.errors.contains(words), "\(outcome)")
            }
            let devices = try scratch.guise("devices")
            #expect(devices.code == 0 && devices.errors.contains("no video devices"), "\(devices)")
        }

        @Test func `without a command it says in three lines what to do next`() throws {
            let outcome = try scratch.guise()
            #expect(outcome.code == 0 && outcome.out.split(separator: "\n").count == 3, "\(outcome)")
            #expect(outcome.out.hasPrefix("camera: ") && outcome.out.contains("guise page"), "\(outcome)")
        }

        @Test func `an unknown option is a usage error`() throws {
            let outcome = try scratch.guise("run", "--sorce", "sample")
            #expect(outcome.code == 64 && outcome.errors.contains("--source"), "\(outcome)")
        }
    }
}
