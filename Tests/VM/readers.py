#!/usr/bin/env python3
"""A browser reads the USB camera while other things happen to it.

    readers.py BROWSER DEVICE LOG COMMAND...

BROWSER is chromium or firefox; COMMAND starts Guise, its first word being the program, and its output is appended to
LOG. While a page shows its picture, another program opens DEVICE; then Guise is killed, and once the page shows the
placeholder, started again.
Prints a line for each check: ok or FAILED, and what was checked; and `delay MS`, from the kill to the page's report of
the placeholder, and `gap MS`, the longest time between two frames of the page.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import browsers
import v4l2

BROWSER, DEVICE, LOG, COMMAND = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
# Frames that the page takes to show that it goes on.
FRAMES = 30

PAGE = """<!doctype html><meta charset="utf-8"><title>readers</title><video muted playsinline></video><script>
const say = async (what, body = '') => (await fetch('/' + what, {method: 'POST', body})).text()
const media = navigator.mediaDevices, video = document.querySelector('video'), canvas = document.createElement('canvas')
const pen = canvas.getContext('2d', {willReadFrequently: true});
[canvas.width, canvas.height] = [32, 24]
let last = 0, gap = 0
async function frame() {
    await new Promise(done => video.requestVideoFrameCallback(done))
    const now = performance.now()
    if (last) gap = Math.max(gap, now - last)
    last = now
}
// The placeholder's background, in all corners: Y 48, U 138, V 124.
const background = [31, 37, 57]
function showsPlaceholder() {
    pen.drawImage(video, 0, 0, 32, 24)
    const {data} = pen.getImageData(0, 0, 32, 24)
    return [[1, 1], [30, 1], [1, 22], [30, 22]].every(([x, y]) =>
        background.every((level, i) => Math.abs(level - data[(y * 32 + x) * 4 + i]) < 14))
}
async function run() {
    // Names are told to those only who may open a camera.
    (await media.getUserMedia({video: true})).getTracks().forEach(track => track.stop())
    const ours = (await media.enumerateDevices()).find(one => one.label.startsWith('Guise Camera'))
    const wanted = {deviceId: {exact: ours.deviceId}, width: {exact: 320}, height: {exact: 240}, frameRate: 15}
    const stream = await media.getUserMedia({video: wanted}), track = stream.getVideoTracks()[0]
    video.srcObject = stream
    await video.play()
    for (let i = 0; i < 3; i++) await frame()
    gap = 0
    const heard = []
    for (const name of ['ended', 'mute']) track.addEventListener(name, () => heard.push('track ' + name))
    for (const name of ['ended', 'error', 'emptied', 'abort', 'pause', 'resize'])
        video.addEventListener(name, () => heard.push('video ' + name))
    const showing = () => showsPlaceholder() ? 'placeholder' : 'picture'
    let shown = '', answer = ''
    while (answer !== 'end') {
        const isCounting = answer === 'count'
        for (let i = 0; i < (isCounting ? FRAMES : 1); i++) await frame()
        if (showing() === shown && !isCounting) continue
        shown = showing()
        answer = await say(isCounting ? 'counted' : 'shows', shown)
    }
    for (let i = 0; i < FRAMES; i++) await frame()
    const {width, height} = track.getSettings()
    await say('gap', String(Math.round(gap)))
    await say('end-state', JSON.stringify([heard, track.readyState, track.muted, video.paused, width, height]))
}
run().catch(error => say('failed', `${error.name}: ${error.message}`)).finally(() => say('end'))
</script>""".replace("FRAMES", str(FRAMES))

process, killed, second = None, 0.0, False


def check(name, found, wanted):
    detail = "" if found == wanted else f": {found} instead of {wanted}"
    print("FAILED" if detail else "ok", BROWSER, name + detail, flush=True)


def freeze():
    """Freezes Guise's first picture: the search for faces would leave a slow machine no time for the browser."""
    while True:
        # Over the socket: each start of `guise` takes the machine longer than a picture.
        with socket.socket(socket.AF_UNIX) as guise:
            try:
                guise.connect(os.environ["XDG_RUNTIME_DIR"] + "/guise/control.sock")
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.2)
                continue
            replies = guise.makefile()
            # After the kill it stays paused, as it was before.
            guise.sendall(b'{"id": "resume", "request": "resume"}\n')
            while json.loads(replies.readline()).get("id") != "resume":
                pass
            guise.sendall(b'{"request": "subscribe", "events": ["metrics"]}\n')
            while not json.loads(replies.readline()).get("frames"):
                pass
            guise.sendall(b'{"id": "freeze", "request": "freeze"}\n')
            while json.loads(replies.readline()).get("id") != "freeze":
                pass
        return


def start():
    """Starts Guise, each time frozen: the one after the kill has to share the machine with the browser."""
    global process
    with open(LOG, "ab") as log:
        process = subprocess.Popen(COMMAND, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    freezing = threading.Thread(target=freeze, daemon=True)
    freezing.start()
    return freezing


def kill():
    global killed
    killed = time.monotonic()
    process.send_signal(signal.SIGKILL)
    process.wait()


def answer(what, body):
    global second
    body = body.decode()
    if what == "shows" and body == "picture":
        if not killed:
            check("keeps the camera: another program gets", v4l2.attempt(DEVICE), "EBUSY")
            return b"count"
        check("shows the next Guise's picture after the placeholder", second, True)
        return b"end"
    if what == "counted":
        # A slow machine's Guise may be late for once.
        if body != "picture":
            return b"count"
        check(f"goes on for {FRAMES} frames", body, "picture")
        kill()
    elif what == "shows" and killed and not second:
        print(f"delay {(time.monotonic() - killed) * 1000:.0f}", flush=True)
        check("shows the placeholder after a kill", body, "placeholder")
        second = True
        start()
    elif what == "gap":
        print("gap", body, flush=True)
    elif what == "end-state":
        check("notices nothing else", json.loads(body), [[], "live", False, False, 320, 240])
    elif what == "failed":
        check("runs the page", body, "")


freezing = start()
# Guise makes no picture that it could freeze while nobody reads the camera.
reader = v4l2.Reader(DEVICE, 320, 240)
while freezing.is_alive():
    reader.read()
reader.close()
with tempfile.TemporaryDirectory(dir="/dev/shm", ignore_cleanup_errors=True) as profile:
    browsers.show(PAGE, answer, profile, getattr(browsers, BROWSER))
process.terminate()
process.wait()
print("end")
