#!/usr/bin/env python3
"""Takes a picture of the page: `page.py GUISE OUTPUT.png`.

Starts guise on the sample with a page and no sink, opens the link in headless Chromium over WebDriver, waits for the
live picture and the thumbnails, and saves what is seen. The caller sets the XDG folders to empty ones."""
import base64, json, re, signal, subprocess, sys, time, urllib.request

MASKS = ["viking", "viking-beard"]
WIDTH, HEIGHT = 1280, 800


def call(address, body):
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["value"]


def frames(guise):
    return json.loads(subprocess.run([guise, "status", "--json"], capture_output=True, text=True).stdout)["frames"]


def main(guise, output):
    masks = [word for name in MASKS for word in ("--mask", name)]
    daemon = subprocess.Popen([guise, "run", "--source", "sample", "--sink", "null", "--sink", "page"] + masks,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
    session = None
    try:
        started = (re.search(r"successfully on port (\d+)", line) for line in driver.stdout)
        port = next(found.group(1) for found in started if found)
        place = "http://127.0.0.1:%s/session" % port
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        session = "%s/%s" % (place, call(place, {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"args": options}}}})["sessionId"])
        call(session + "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}})
        link = None
        while not link:
            answer = subprocess.run([guise, "page", "--no-open"], capture_output=True, text=True)
            link = next((word for word in answer.stdout.split() if word.startswith("http")), None)
            time.sleep(0.2)
        call(session + "/url", {"url": link})
        seen = """const seen = [...document.querySelectorAll('#masks img')].filter((image) => {
                const place = image.getBoundingClientRect();
                return place.top < innerHeight && place.bottom > 0;
            });
            return document.getElementById('live').width > 0 && seen.length > 0
                && seen.every((image) => image.naturalWidth > 0)"""
        end = time.monotonic() + 120
        while not call(session + "/execute/sync", {"script": seen, "args": []}):
            if time.monotonic() > end: sys.exit("page.py: the page shows no picture")
            time.sleep(0.2)
        # In these frames the sample's face is large, upright and near the middle.
        while not 380 <= frames(guise) % 4800 < 400:
            time.sleep(0.05)
        picture = urllib.request.urlopen(session + "/screenshot")
        with open(output, "wb") as file:
            file.write(base64.b64decode(json.load(picture)["value"]))
    finally:
        if session:
            urllib.request.urlopen(urllib.request.Request(session, method="DELETE"))
        for process in (driver, daemon):
            process.send_signal(signal.SIGTERM)
            process.wait()


main(*sys.argv[1:])
