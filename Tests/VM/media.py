#!/usr/bin/env python3
"""Asserts in a browser what the W3C's specification of media capture demands of a camera, with the USB camera.

    media.py SERVICE FRAMES BROWSER GO PROFILE

SERVICE is the program guise-camera, which is started here, and once more in between. A program feeds it, and makes the
file GO when it does: only then is BROWSER started, chromium or firefox. Prints a line for each check: ok or FAILED, and
what was checked. FRAMES are read in the smallest size.

At the end the browser's folder is kept in the archive PROFILE. If that is there, nothing is checked but that the camera
is still the one that the browser knew, as after a reboot.
"""
import glob
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time

import browsers

SERVICE, FRAMES, BROWSER, GO, PROFILE = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]

PAGE = """<!doctype html><meta charset="utf-8"><title>media</title><video muted playsinline></video><script>
const say = async (what, body = '') => (await fetch('/' + what, {method: 'POST', body})).text()
const check = (name, found, wanted) => say('check', JSON.stringify({name, found, wanted}))
const media = navigator.mediaDevices, video = document.querySelector('video')
const frame = () => new Promise(done => video.requestVideoFrameCallback(done))
const find = async () => (await media.enumerateDevices()).filter(one => one.label.startsWith('Guise Camera'))
async function list() {
    // Names and ids are told to those only who may open a camera.
    (await media.getUserMedia({video: true})).getTracks().forEach(track => track.stop())
    let all
    while (!(all = await find()).some(one => one.deviceId)) await new Promise(done => setTimeout(done, 200))
    return all
}
async function run() {
    const all = await list()
    const listed = all.map(one => [one.kind, one.deviceId !== '', one.groupId !== ''])
    await check('enumerateDevices lists one camera', listed, [['videoinput', true, true]])
    const deviceId = {exact: all[0].deviceId}
    let stream = await media.getUserMedia({video: {deviceId, width: 640, height: 480, frameRate: 30}})
    let track = stream.getVideoTracks()[0]
    const state = [track.kind, track.readyState, track.enabled]
    await check('a new track is live and enabled', state, ['video', 'live', true])
    const is = ({width, height}) => [width, height]
    await check('getSettings is what was asked for', is(track.getSettings()), [640, 480])
    await check('getSettings names the device', track.getSettings().deviceId, all[0].deviceId)
    const {width, height, frameRate} = track.getCapabilities()
    await check('getCapabilities has the largest size', [width.max, height.max], [1920, 1080])
    await check('getCapabilities has the rate', Math.round(frameRate.max), 30)
    await check('getConstraints is what was asked for', track.getConstraints().width, 640)
    video.srcObject = stream
    await video.play(); await frame()
    await check('the video has the size', [video.videoWidth, video.videoHeight], [640, 480])
    await track.applyConstraints({width: 320, height: 240})
    for (let i = 0; i < 500 && video.videoWidth !== 320; i++) await frame()
    await check('applyConstraints changes the size', [video.videoWidth, video.videoHeight], [320, 240])
    await check('getSettings follows', is(track.getSettings()), [320, 240])
    const refused = await track.applyConstraints({width: {exact: 99999}}).then(() => 'accepted', error => error.name)
    await check('an impossible size is refused', refused, 'OverconstrainedError')
    await check('and changes nothing', [track.readyState, ...is(track.getSettings())], ['live', 320, 240])
    const twin = track.clone()
    await check('a clone has the settings', is(twin.getSettings()), [320, 240])
    track.stop()
    await check('a stopped track has ended, its clone has not', [track.readyState, twin.readyState], ['ended', 'live'])
    twin.stop()
    for (const size of [[1920, 1080], [1280, 720], [960, 540], [640, 360], [320, 240]]) {
        stream = await media.getUserMedia({video: {deviceId, width: {exact: size[0]}, height: {exact: size[1]}}})
        video.srcObject = stream
        await video.play(); await frame()
        await check(`opened at ${size.join(' x ')}`, [video.videoWidth, video.videoHeight], size)
        stream.getTracks().forEach(track => track.stop())
    }
    const small = {deviceId, width: {exact: 320}, height: {exact: 240}}
    for (const rate of [15, 30]) {
        let refusal = null
        stream = await media.getUserMedia({video: {...small, frameRate: {exact: rate}}}).catch(error => {
            refusal = error.name
        })
        // Firefox knows one rate for each size, and may refuse another one.
        if (refusal && 'BROWSER' === 'firefox' && rate !== 30) {
            await check(`${rate} fps are had or refused`, refusal, 'OverconstrainedError')
            continue
        }
        await check(`${rate} fps are accepted`, refusal, null)
        video.srcObject = stream
        await video.play(); await frame()
        const track = stream.getVideoTracks()[0]
        await check(`getSettings has ${rate} fps`, Math.round(track.getSettings().frameRate), rate)
        await check(`the camera sends ${rate} fps or more`, Number(await say('rate')) >= rate, true)
        const refused = await track.applyConstraints({frameRate: {exact: 99999}}).then(() => '', error => error.name)
        await check(`an impossible rate is refused at ${rate} fps`, refused, 'OverconstrainedError')
        await check('and changes nothing', Math.round(track.getSettings().frameRate), rate)
        track.stop()
    }
    stream = await media.getUserMedia({video: small})
    video.srcObject = stream
    await video.play()
    let count = 0
    while (count < FRAMES) { await frame(); count++ }
    await check('it took FRAMES frames', count, FRAMES)
    const impossible = media.getUserMedia({video: {deviceId, width: {exact: 99999}}})
    const refusal = await impossible.then(() => '', error => error.name)
    await check('getUserMedia refuses an impossible size', refusal, 'OverconstrainedError')
    await say('id', all[0].deviceId)
}
async function name() {
    await say('id', (await list()).map(one => one.deviceId).join())
}
WHAT().catch(error => say('failed', `${error.name}: ${error.message}`)).finally(() => say('end'))
</script>""".replace("FRAMES", str(FRAMES)).replace("BROWSER", BROWSER)

service = None
ids = []


def camera():
    """The camera's device; None if it is not there."""
    for name in glob.glob("/sys/class/video4linux/video*/name"):
        node = "/dev/" + name.split("/")[4]
        try:
            with open(name) as file:
                if file.read().startswith("Guise Camera") and os.path.exists(node):
                    return node
        except OSError:  # it has just gone
            pass
    return None


def plug():
    global service
    service = subprocess.Popen([SERVICE, "--user", "nobody"])
    while not (node := camera()):
        time.sleep(0.2)
    os.chmod(node, 0o666)


def rate():
    """The frames per second that the device was set to."""
    text = subprocess.run(["v4l2-ctl", "-d", camera(), "--get-parm"], stdout=subprocess.PIPE, text=True).stdout
    return next((line.split(":")[1].split()[0] for line in text.splitlines() if "Frames per second" in line), "0")


def answer(what, body):
    if what == "check":
        check = json.loads(body)
        is_right = check["found"] == check["wanted"]
        detail = "" if is_right else f": {check['found']} instead of {check['wanted']}"
        print("ok" if is_right else "FAILED", check["name"] + detail, flush=True)
    elif what == "failed":
        print("FAILED", body.decode(), flush=True)
    elif what == "id":
        ids.append(body)
    elif what == "rate":
        return rate().encode()


def unplug():
    service.terminate()
    service.wait()
    # The kernel removes the device later. Until then it would be taken for the next one.
    while camera():
        time.sleep(0.2)


def show(what):
    browsers.show(PAGE.replace("WHAT", what), answer, profile, getattr(browsers, BROWSER))


def is_kept(member):
    """The archive's member, if it belongs to what a browser remembers: no cache, and no sign of a running process."""
    name = os.path.basename(member.name)
    return None if "cache" in name.lower() or name.startswith("Singleton") or name.endswith("lock") else member


def check_id(what):
    is_same = len(ids) == 2 and ids[0] == ids[1] != b""
    print("ok" if is_same else f"FAILED: {ids}", f"the deviceId is the same after {what}", flush=True)


plug()
print("plugged in", flush=True)
while not os.path.exists(GO):
    time.sleep(0.2)
with tempfile.TemporaryDirectory(dir="/dev/shm") as profile:
    known = os.path.join(profile, "guise-device-id")
    if os.path.exists(PROFILE):
        with tarfile.open(PROFILE) as archive:
            archive.extractall(profile)
        with open(known, "rb") as file:
            ids.append(file.read())
        show("name")
        check_id("a reboot")
    else:
        show("run")
        unplug()
        plug()
        # Another browser process.
        show("name")
        check_id("the camera and the browser came back")
        with open(known, "wb") as file:
            file.write(ids[-1] if ids else b"")
        with tarfile.open(PROFILE, "w") as archive:
            archive.add(profile, arcname=".", filter=is_kept)
unplug()
print("end")
