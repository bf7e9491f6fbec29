#!/usr/bin/env python3
"""Tests the virtual camera in headless Chromium: opens it, draws it, closes it, and repeats that.

    browser.py GUISE SEEN W H PICTURES

Writes what Chromium drew to SEEN, raw YUYV, PICTURES a round, and prints what was seen of the camera meanwhile. Needs no
network: the page comes from this program.
"""
import json
import subprocess
import sys
import tempfile
import time

import browsers

GUISE, SEEN, WIDTH, HEIGHT, PICTURES = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
NAME = "Guise Camera"
ROUNDS = 2

PAGE = """<!doctype html><meta charset="utf-8"><title>camera</title><video muted playsinline></video><script>
const say = (what, body) => fetch('/' + what, {method: 'POST', body})
const video = document.querySelector('video'), canvas = document.createElement('canvas')
const frame = () => new Promise(done => video.requestVideoFrameCallback(done))
async function round() {
    // Names are told to those only who may open a camera.
    const first = await navigator.mediaDevices.getUserMedia({video: true})
    first.getTracks().forEach(track => track.stop())
    const all = await navigator.mediaDevices.enumerateDevices()
    await say('listed', all.filter(one => one.kind === 'videoinput').map(one => one.label).join('; '))
    const ours = all.find(one => one.label.startsWith('NAME'))
    const stream = await navigator.mediaDevices.getUserMedia({video: {deviceId: {exact: ours.deviceId}}})
    video.srcObject = stream
    await video.play()
    const pen = canvas.getContext('2d', {willReadFrequently: true})
    for (let i = 0; i < PICTURES;) {
        await frame();
        [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight]
        pen.drawImage(video, 0, 0)
        const answer = await say('picture', pen.getImageData(0, 0, canvas.width, canvas.height).data)
        i += Number(await answer.text())
    }
    stream.getTracks().forEach(track => track.stop())
    video.srcObject = null
    await say('closed')
}
(async () => {
    try { for (let i = 0; i < ROUNDS; i++) await round() } catch (error) { await say('failed', `${error.name}: ${error.message}`) }
    await say('end')
})()
</script>""".replace("NAME", NAME).replace("PICTURES", str(PICTURES)).replace("ROUNDS", str(ROUNDS))

seen = open(SEEN, "wb")
began = time.monotonic()


def say(*words):
    print(f"[{time.monotonic() - began:.0f} s]", *words, flush=True)


def camera():
    """The state of Guise's camera: open, closed, ..."""
    return json.loads(subprocess.run([GUISE, "status", "--json"], stdout=subprocess.PIPE, check=True).stdout)["camera"]


def wait_for(state):
    """Waits without a time limit: vmrun ends what takes too long."""
    while camera() != state:
        time.sleep(0.5)
    say("the camera is", state)


def yuyv(rgba):
    """Luma in limited range, BT.601, without colour."""
    red, green, blue = rgba[0::4], rgba[1::4], rgba[2::4]
    result = bytearray(b"\x80") * (2 * len(red))
    result[0::2] = bytes(16 + (66 * r + 129 * g + 25 * b + 128 >> 8) for r, g, b in zip(red, green, blue))
    return result


def answer(what, body):
    counts = b"1"
    if what == "picture":
        # The first pictures may still be the placeholder shown while the camera is opened.
        if camera() != "open":
            counts = b"0"
        elif len(body) != WIDTH * HEIGHT * 4:
            say("a picture of another size:", len(body) // 4, "pixels")
        else:
            seen.write(yuyv(body))
            say("picture")
    else:
        say(what, body.decode())
    if what == "closed":
        wait_for("closed")
    return counts


wait_for("closed")
with tempfile.TemporaryDirectory(dir="/dev/shm") as profile:
    browsers.show(PAGE, answer, profile)
seen.close()
