"""sound.py GUISE SECONDS: how far sound and picture of a recording are apart, with a real PulseAudio.

The picture flashes and the microphone clicks at each whole second of the monotonic clock. Prints, in milliseconds, how
much later than the flash the click is, in the median and at most, and how much that changes in a minute.
Uses HOME and XDG_RUNTIME_DIR. `sound.py frames` is the decoder of the clip, which Guise takes for ffmpeg.
"""
import math
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import threading
import time

width, height, rate = 320, 180, 30
sample_rate, piece = 48000, 480


def frames():
    """Writes a frame each 1/30 s, as a camera: light ones for 0.2 s from each whole second on."""
    dark, light = (bytes([luma]) * (width * height) + b"\x80" * (width * height // 2) for luma in (40, 220))
    start, number = int(time.monotonic()) + 1, 0
    while True:
        time.sleep(max(0, start + number / rate - time.monotonic()))
        picture = memoryview(light if number % rate < rate // 5 else dark)
        while picture:
            picture = picture[os.write(1, picture):]
        number += 1


def click(path):
    """Writes the sound in pieces of 10 ms, each once it was heard. What the server doesn't take is lost."""
    sound = [int(20000 * math.sin(math.tau * 3000 * at / sample_rate) * math.exp(-at / 150)) for at in range(600)]
    microphone = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    start, number = time.monotonic(), 0
    while True:
        first = start + number * piece / sample_rate
        number += 1
        time.sleep(max(0, start + number * piece / sample_rate - time.monotonic()))
        ages = [int((first + at / sample_rate) % 1 * sample_rate) for at in range(piece)]
        try:
            os.write(microphone, struct.pack(f"<{piece}h", *(sound[age] if age < len(sound) else 0 for age in ages)))
        except BlockingIOError:
            pass
        except BrokenPipeError:
            return


def decoded(path, *options):
    command = ["ffmpeg", "-v", "error", "-i", path, *options, "-"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def measure(path):
    """The delays of the clicks, in milliseconds, with the times of their flashes."""
    lumas = decoded(path, "-map", "0:v", "-vf", "scale=1:1,format=gray", "-f", "rawvideo")
    flashes = [at / rate for at in range(1, len(lumas)) if lumas[at] > 130 >= lumas[at - 1]]
    samples = decoded(path, "-map", "0:a", "-f", "s16le", "-ac", "1", "-ar", str(sample_rate))
    clicks = []
    for at, (sample,) in enumerate(struct.iter_unpack("<h", samples)):
        if abs(sample) > 3000 and (not clicks or at / sample_rate - clicks[-1] > 0.5):
            clicks.append(at / sample_rate)
    pairs = [(flash, min(clicks, key=lambda click: abs(click - flash))) for flash in flashes]
    return [(flash, (click - flash) * 1000) for flash, click in pairs if abs(click - flash) < 0.5]


def main(guise, seconds):
    folder = pathlib.Path(os.environ["HOME"])
    real, tools = shutil.which("ffmpeg"), folder / "tools"
    clip, recording, microphone = folder / "clip.mkv", folder / "recording.mp4", folder / "microphone"
    # At twice the rate, so that Guise waits for the frames and not for their time.
    gray = f"color=gray:s={width}x{height}:r={2 * rate}:d=2"
    subprocess.run([real, "-v", "error", "-f", "lavfi", "-i", gray, clip], check=True)
    tools.mkdir()
    (tools / "ffmpeg").write_text(
        f"#!/bin/sh\ncase \"$*\" in *passthrough*rawvideo*) exec '{sys.executable}' '{__file__}' frames ;; esac\n"
        f"exec '{real}' \"$@\"\n")
    (tools / "ffmpeg").chmod(0o700)
    environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
    programs = [subprocess.Popen([
        "pulseaudio", "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--log-level=error",
        "-L", "module-native-protocol-unix", "-L",
        f"module-pipe-source file={microphone} format=s16le rate={sample_rate} channels=1"])]
    try:
        while not microphone.exists() or not pathlib.Path(os.environ["XDG_RUNTIME_DIR"], "pulse/native").exists():
            assert programs[0].poll() is None, "pulseaudio ended"
            time.sleep(0.1)
        threading.Thread(target=click, args=[microphone], daemon=True).start()
        programs.append(subprocess.Popen(
            [guise, "run", "--source", clip, "--realtime", "--loop", "--sink", "null"], env=environment))
        while subprocess.run([guise, "status"], capture_output=True, env=environment).returncode:
            assert programs[1].poll() is None, "guise ended"
            time.sleep(0.1)
        time.sleep(2)
        subprocess.run([guise, "record", "start", recording, "--sound"], check=True, env=environment, stdout=sys.stderr)
        time.sleep(seconds)
        subprocess.run([guise, "record", "stop"], check=True, env=environment, stdout=sys.stderr)
    finally:
        for program in reversed(programs):
            program.terminate()
            program.wait()
    pairs = measure(recording)
    assert len(pairs) >= seconds - 2, f"{len(pairs)} flashes with their clicks in {seconds} s"
    delays = [delay for _, delay in pairs]
    drift = statistics.linear_regression(*zip(*pairs)).slope * 60
    print(f"{statistics.median(delays):.1f} {max(delays, key=abs):.1f} {drift:.1f}")


if sys.argv[1] == "frames":
    frames()
else:
    main(sys.argv[1], float(sys.argv[2]))
