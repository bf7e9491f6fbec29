"""A page in a headless browser that reports to this process. Needs no network: the page comes from here."""
import http.server
import pathlib
import subprocess
import threading

OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions --disable-dev-shm-usage "
    "--use-fake-ui-for-media-stream --autoplay-policy=no-user-gesture-required --disable-component-update "
    "--disable-background-networking --disable-features=Translate,OptimizationHints,MediaRouter"
)

# Cameras without a question, videos without a click, and nothing that asks the network.
PREFERENCES = """
user_pref("media.navigator.permission.disabled", true);
user_pref("media.autoplay.default", 0);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("app.update.enabled", false);
"""


def chromium(profile, address):
    """The command that shows an address in Chromium with the folder `profile`."""
    return ["chromium", *OPTIONS.split(), f"--user-data-dir={profile}", address]


def firefox(profile, address):
    """The command that shows an address in Firefox with the folder `profile`."""
    pathlib.Path(profile, "user.js").write_text(PREFERENCES)
    return ["firefox-esr", "--headless", "--no-remote", "--profile", profile, address]


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
    command = browser(profile, f"http://127.0.0.1:{PORT}/")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ended.wait()
    process.terminate()
    process.wait()
    server.shutdown()
    server.server_close()
