#!/usr/bin/env python3
"""Tries programs on the virtual camera: each one opens it, and must show what the first one shows.

    programs.py WAY DEVICE WIDTH HEIGHT

Guise's picture is frozen meanwhile. WAY names the kind of camera in the table.
Prints a row for each program: its name and version, the way, the number of pictures, the size that it took, and ok or
what went wrong. Programs that are not installed have no row.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import browsers

WAY, DEVICE, WIDTH, HEIGHT = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
FRAMES = 10
# Pictures are compared as this many means, across and down.
ACROSS, DOWN = 16, 12
# The least correlation of these means with those of the first program.
LEAST = 0.95

PAGE = """<!doctype html><meta charset="utf-8"><title>camera</title><video muted playsinline></video><script>
const say = (what, body) => fetch('/' + what, {method: 'POST', body})
const media = navigator.mediaDevices, video = document.querySelector('video'), canvas = document.createElement('canvas')
const pause = () => new Promise(done => setTimeout(done, 100));
(async () => {
    try {
        // Names are told to those only who may open a camera.
        (await media.getUserMedia({video: true})).getTracks().forEach(track => track.stop())
        const ours = (await media.enumerateDevices()).filter(one => one.label.startsWith('Guise Camera'))
        if (ours.length !== 1) throw Error(`${ours.length} cameras are called Guise Camera`)
        video.srcObject = await media.getUserMedia({video: {deviceId: {exact: ours[0].deviceId}}})
        await video.play()
        for (let count = 0, last = -1; count < FRAMES;) {
            await pause()
            if (video.currentTime === last || !video.videoWidth) continue
            [last, count] = [video.currentTime, count + 1]
        }
        [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight]
        const context = canvas.getContext('2d')
        context.drawImage(video, 0, 0)
        const {data} = context.getImageData(0, 0, canvas.width, canvas.height)
        const luma = (at) => 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2]
        const gray = new Uint8Array(data.length / 4).map((_, i) => luma(4 * i))
        await say('size', JSON.stringify([canvas.width, canvas.height]))
        await say('picture', gray)
        video.srcObject.getTracks().forEach(track => track.stop())
    } catch (error) { await say('failed', `${error.name}: ${error.message}`) }
    await say('end', '')
})()
</script>""".replace("FRAMES", str(FRAMES))


def means(gray, width, height):
    """The mean levels of ACROSS x DOWN parts of a picture with one byte per pixel."""
    found = []
    for row in range(DOWN):
        top, bottom = row * height // DOWN, (row + 1) * height // DOWN
        for column in range(ACROSS):
            left, right = column * width // ACROSS, (column + 1) * width // ACROSS
            lines = [gray[y * width + left:y * width + right] for y in range(top, bottom)]
            found.append(sum(map(sum, lines)) / max(1, sum(map(len, lines))))
    return found


def correlation(first, second):
    """The correlation of two lists of levels, -1 to 1; 0 if one of them is flat."""
    def centred(levels):
        mean = sum(levels) / len(levels)
        return [level - mean for level in levels]
    a, b = centred(first), centred(second)
    size = (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    return sum(x * y for x, y in zip(a, b)) / size if size else 0.0


def run(command):
    """Runs a command to its end. Returns the end of what it wrote to standard error if it failed, else nothing."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return done.stderr.strip()[-200:] or f"code {done.returncode}" if done.returncode else ""


def read_with(command, path, step=1):
    """Runs a command that writes frames in Guise's size to `path`, with luma in every `step`-th byte.

    Returns the number of pictures, their size, the last one's luma, and what went wrong."""
    problem = run(command)
    data = open(path, "rb").read()[::step] if os.path.exists(path) else b""
    size = WIDTH * HEIGHT
    count = len(data) // size
    return count, (WIDTH, HEIGHT), data[max(0, count - 1) * size:count * size], problem


def v4l2_ctl(folder):
    path = f"{folder}/yuyv.raw"
    return read_with(["v4l2-ctl", "-d", DEVICE, f"--set-fmt-video=width={WIDTH},height={HEIGHT},pixelformat=YUYV",
                      "--stream-mmap=4", f"--stream-count={FRAMES}", f"--stream-to={path}"], path, 2)


def ffmpeg(folder):
    path = f"{folder}/gray.raw"
    return read_with(["ffmpeg", "-v", "error", "-f", "v4l2", "-video_size", f"{WIDTH}x{HEIGHT}", "-i", DEVICE,
                      "-frames:v", str(FRAMES), "-f", "rawvideo", "-pix_fmt", "gray", path], path)


def gstreamer(folder):
    path = f"{folder}/gray.raw"
    return read_with(["gst-launch-1.0", "-q", "v4l2src", f"device={DEVICE}", f"num-buffers={FRAMES}", "!",
                      f"video/x-raw,width={WIDTH},height={HEIGHT}", "!", "videoconvert", "!",
                      "video/x-raw,format=GRAY8", "!", "filesink", f"location={path}"], path)


def in_browser(browser):
    def read(folder):
        told = {"failed": b"", "picture": b"", "size": b"[0, 0]"}
        browsers.show(PAGE, lambda what, body: told.update({what: body}), folder, browser)
        count, size = FRAMES if told["picture"] else 0, tuple(json.loads(told["size"]))
        return count, size, told["picture"], told["failed"].decode()
    return read


# Name, the command that tells the version, and how it is tried.
PROGRAMS = [
    ("v4l2-ctl", ["v4l2-ctl", "--version"], v4l2_ctl),
    ("FFmpeg", ["ffmpeg", "-version"], ffmpeg),
    ("GStreamer", ["gst-launch-1.0", "--version"], gstreamer),
    ("Chromium", ["chromium", "--version"], in_browser(browsers.chromium)),
    ("Firefox", ["firefox-esr", "--version"], in_browser(browsers.firefox)),
]

reference = None
for name, version, read in PROGRAMS:
    if not shutil.which(version[0]):
        continue
    number = re.search(r"(?<![-\w.])\d+(\.\d+)+", subprocess.run(version, capture_output=True, text=True).stdout)
    with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as folder:
        count, (width, height), picture, problem = read(folder)
    seen = means(picture, width, height) if width * height and len(picture) == width * height else None
    if reference is None:
        # A picture that is not flat.
        reference = seen if seen and max(seen) - min(seen) > 30 else None
    is_same = bool(seen and reference) and correlation(seen, reference) >= LEAST
    state = "ok" if count >= FRAMES and is_same else problem.replace("\n", " ") or "another picture"
    row = [name, number.group() if number else "?", WAY, f"{count} pictures", f"{width}x{height}", state]
    print("row", *row, sep="\t", flush=True)
print("end")
