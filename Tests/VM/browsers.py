"""A page in a headless browser that reports to this process. Needs no network: the page comes from here."""
import http.server
import pathlib
import subprocess
import threading

# The timeout, in seconds: otherwise a process ends that a slow machine has not connected to the others after 15, the
# network's too, and the page is never shown.
OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions --disable-dev-shm-usage "
    "--use-fake-ui-for-media-stream --autoplay-policy=no-user-gesture-required --disable-component-update "
    "--disable-background-networking --ipc-connection-timeout=3600 "
    "--disable-features=Translate,OptimizationHints,MediaRouter"
)

# Cameras without a question, videos without a click, nothing that asks the network, and few processes.
PREFERENCES = """
user_pref("media.navigator.permission.disabled", true);
user_pref("media.autoplay.default", 0);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("app.update.enabled", false);
user_pref("app.normandy.enabled", false);
user_pref("dom.ipc.processCount", 1);
user_pref("dom.ipc.processPrelaunch.enabled", false);
user_pref("fission.autostart", false);
user_pref("browser.newtab.preload", false);
"""


def chromium(profile, address):
    """The command that shows an address in Chromium with the folder `profile`.

    The window is small and has no bars: it takes half the CPU time to start, and a third for each frame.
    """
    return ["chromium", *OPTIONS.split(), f"--user-data-dir={profile}", "--window-size=100,100", f"--app={address}"]


def firefox(profile, address):
    """The command that shows an address in Firefox with the folder `profile`."""
    pathlib.Path(profile, "user.js").write_text(PREFERENCES)
    size = ["env", "MOZ_HEADLESS_WIDTH=100", "MOZ_HEADLESS_HEIGHT=100"]
    return [*size, "firefox-esr", "--headless", "--no-remote", "--profile", profile, address]


# Root's Chromium raises the priority of its busiest threads, which a user's can't do: that leaves Guise a few per cent
# of one slow processor.
ORDINARY = ["setpriv", "--bounding-set=-sys_nice"]

# A page's origin is part of what a browser remembers of cameras.
PORT = 8990


def show(page, answer, profile, browser=chromium):
    """Shows a page in a browser with the folder `profile` until it posts to /end.

    Each POST of the page is passed to `answer(what, body)`, `what` being the path without the slash; what that returns,
    bytes, is the reply.
    """
    ended = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def reply(self, body=b"", kind="text/plain"):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.reply(page.encode() if self.path == "/" else b"", "text/html")

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            reply = answer(self.path[1:], body)
            if self.path == "/end":
                ended.set()
            self.reply(reply or b"")

    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = [*ORDINARY, *browser(profile, f"http://127.0.0.1:{PORT}/")]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ended.wait()
    process.terminate()
    process.wait()
    server.shutdown()
    server.server_close()
