"""A page in headless Chromium that reports to this process. Needs no network: the page comes from here."""
import http.server
import subprocess
import threading

OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions --disable-dev-shm-usage "
    "--use-fake-ui-for-media-stream --autoplay-policy=no-user-gesture-required --disable-component-update "
    "--disable-background-networking --disable-features=Translate,OptimizationHints,MediaRouter"
)


# A page's origin is part of what a browser remembers of cameras.
PORT = 8990


def show(page, answer, profile):
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
    command = ["chromium", *OPTIONS.split(), f"--user-data-dir={profile}", f"http://127.0.0.1:{PORT}/"]
    browser = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ended.wait()
    browser.terminate()
    browser.wait()
    server.shutdown()
    server.server_close()
