#!/usr/bin/env python3
"""page.py [--clicks N] [--json]: the time from a click on a mask until the page shows it, in Chromium and Firefox ESR.

Each browser opens the page of the built program on the sample's portrait, which stands still, so that only masks change
the picture. At each width hats are clicked in turn, after pauses of unequal length; the time ends when the browser
begins to paint the first picture that differs from those before the click by more than the portrait's own noise. It
includes Guise's work (loading the mask, if it was not worn before, drawing, encoding), and the wait for the next of 15
pictures a second. Also printed: errors and warnings of the page, and widths at which it scrolls sideways. Needs
Debian's chromium, chromium-driver and firefox-esr; nothing else of weight should run meanwhile.
"""
import argparse
import json
import os
import statistics
import sys

sys.dont_write_bytecode = True
from running import package, running
import browsing

sizes = [(1440, 900), (1024, 768), (390, 844), (320, 568)]

# Looks at each picture that the page shows, as 64 x 36 pixels.
WATCH = """
    const pen = new OffscreenCanvas(64, 36).getContext("2d", { willReadFrequently: true });
    const look = () => {
        pen.drawImage(document.querySelector("#live"), 0, 0, 64, 36);
        return pen.getImageData(0, 0, 64, 36).data;
    };
    // The largest differences of a channel, of which one alone may be noise.
    window.difference = (one, other) => one.map((value, at) => Math.abs(value - other[at])).sort().at(-8);
    window.onPicture = () => {};
    const show = ImageBitmapRenderingContext.prototype.transferFromImageBitmap;
    ImageBitmapRenderingContext.prototype.transferFromImageBitmap = function (picture) {
        show.call(this, picture);
        if (this.canvas.id === "live") onPicture(look());
    };
    window.pictures = (isLast) => new Promise((done) => {
        onPicture = (now) => {
            if (!isLast(now)) return;
            onPicture = () => {};
            done(now);
        };
    });
"""

# Milliseconds from a click on a mask until it is seen. Before it, the last mask comes to rest for 6 pictures, and 4
# more tell the noise.
CLICK = """
    let [last, noise, count] = [null, 0, 0];
    last = await pictures((now) => {
        if ((count += 1) > 6) noise = Math.max(noise, difference(now, last));
        last = now;
        return count > 10;
    });
    await new Promise((done) => setTimeout(done, %d));
    const from = performance.now();
    document.querySelector(".mask[data-mask=%s]").click();
    await pictures((now) => difference(now, last) > Math.min(2 * noise + 8, 60) || performance.now() > from + 10000);
    await new Promise(requestAnimationFrame);
    return performance.now() - from;
"""

HATS = """return [...document.querySelectorAll(".masks li:not([hidden]) .mask")].map((mask) => mask.dataset.mask)"""

# The tabs at which the page is wider than the window.
SIDEWAYS = """
    const wide = [];
    for (const tab of document.querySelectorAll("[role=tab]")) {
        tab.click();
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        if (document.documentElement.scrollWidth > innerWidth) wide.push(tab.textContent);
    }
    document.querySelector("#tab-masks").click();
    return wide;
"""


def measure(browser, link, clicks):
    """What is seen at each width, in the order of `sizes`, one after the other."""
    browser.open(link)
    browser.wait("document.querySelector('#live').width && document.querySelector('#kinds [data-kind=hat]')")
    browser.run("document.querySelector('#kinds [data-kind=hat]').click();" + WATCH)
    hats = browser.run(HATS)
    for width, height in sizes:
        browser.resize(width, height)
        sideways = browser.run(SIDEWAYS)
        # The stream has its new size.
        browser.run("await new Promise((done) => setTimeout(done, 2000))")
        # Pauses that never fall into step with the pictures, which come every 67 ms.
        times = [browser.run(CLICK % (17 * (number % 11), hats[number % len(hats)])) for number in range(clicks)]
        yield {
            "width": width, "picture": browser.run("return document.querySelector('#live').width"),
            "median": statistics.median(times), "p95": statistics.quantiles(times, n=20, method="inclusive")[18],
            "worst": max(times), "sideways": sideways, "load": os.getloadavg()[0]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clicks", type=int, default=60, help="at each width (60)")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    say = (lambda *_, **__: None) if arguments.json else lambda *words, **more: print(*words, flush=True, **more)
    results = {}
    say(f"{'':12} {'width':>6} {'picture':>8} {'median, ms':>11} {'95 %, ms':>9} {'worst, ms':>10} {'load':>5}"
        "  sideways")
    for name, start in ("Chromium", browsing.chromium), ("Firefox ESR", browsing.firefox):
        portrait = ["--source", str(package / "samples/astronaut.png"), "--realtime", "--loop"]
        with running(*portrait, "--sink", "page") as guise, start() as browser:
            rows = []
            for row in measure(browser, guise.page(), arguments.clicks):
                rows.append(row)
                say(f"{name:12} {row['width']:6} {row['picture']:8} {row['median']:11.0f} {row['p95']:9.0f}"
                    f" {row['worst']:10.0f} {row['load']:5.1f}  {', '.join(row['sideways']) or 'no'}")
            say(f"{name}: {len(browser.errors)} errors and warnings", *browser.errors, sep="\n    ")
            results[name] = {"rows": rows, "errors": browser.errors}
    if arguments.json:
        print(json.dumps(results))
