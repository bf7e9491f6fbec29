"""Browsers without a window that a script controls over WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/):
Debian's Chromium, by its chromium-driver, and Firefox ESR, which speaks it itself."""
import base64, contextlib, json, os, pathlib, re, socket, struct, subprocess, sys, tempfile, urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "VM"))
import browsers


class Refused(RuntimeError):
    """A command that the browser did not perform."""


class Browser:
    """One page in a browser, over a web socket; made by `chromium` or `firefox`."""

    def __init__(self, address):
        host, port, path = re.match(r"ws://([^:/]+):(\d+)(/.*)", address).groups()
        self.stream = socket.create_connection((host, int(port)))
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==", "", ""]
        self.stream.sendall("\r\n".join(lines).encode())
        self.reader = self.stream.makefile("rb")
        assert b" 101 " in self.reader.readline()
        while self.reader.readline().strip():
            pass
        self.last = 0
        # What the page reported as an error or as a warning.
        self.errors = []

    def begin(self):
        """Chooses the page, once there is a session."""
        self.page = self.ask("browsingContext.getTree")["contexts"][0]["context"]
        self.ask("session.subscribe", events=["log.entryAdded"])

    def receive(self):
        text = b""
        while True:
            head, size = self.reader.read(2)
            if size > 125:
                size = struct.unpack(">H" if size == 126 else ">Q", self.reader.read(2 if size == 126 else 8))[0]
            part = self.reader.read(size)
            # A ping or pong may come between the parts of a message.
            if head & 15 < 8:
                text += part
                if head & 128:
                    return json.loads(text)

    def ask(self, method, **parameters):
        """Sends a command and returns its result; what the page logs meanwhile is kept."""
        self.last += 1
        words = json.dumps({"id": self.last, "method": method, "params": parameters}).encode()
        size = (struct.pack(">B", 0x80 | len(words)) if len(words) < 126 else
                struct.pack(">BH", 0x80 | 126, len(words)) if len(words) < 1 << 16 else
                struct.pack(">BQ", 0x80 | 127, len(words)))
        # Firefox refuses a mask of zeros.
        self.stream.sendall(b"\x81" + size + b"\1\1\1\1" + bytes(byte ^ 1 for byte in words))
        while True:
            answer = self.receive()
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] in ("error", "warn"):
                self.errors.append(answer["params"]["text"])
            if answer.get("id") == self.last:
                if answer["type"] == "error":
                    raise Refused(f"{method}: {answer['message']}")
                return answer["result"]

    def open(self, address):
        self.ask("browsingContext.navigate", context=self.page, url=address, wait="complete")

    def resize(self, width, height):
        """Gives the page a size in pixels."""
        self.ask("browsingContext.setViewport", context=self.page, viewport={"width": width, "height": height})

    def run(self, script):
        """Runs the body of an asynchronous function and returns its value, which must be one that JSON has."""
        function = f"async () => JSON.stringify(await (async () => {{{script}}})())"
        result = self.ask(
            "script.callFunction", functionDeclaration=function, target={"context": self.page}, awaitPromise=True)
        if result["type"] == "exception":
            raise RuntimeError(result["exceptionDetails"]["text"])
        return json.loads(result["result"].get("value", "null"))

    def wait(self, expression):
        """Waits until an expression is true, also if the page is loaded again meanwhile; nothing ends it earlier."""
        look = f"const isTrue = () => {{ try {{ return {expression}; }} catch {{}} }};"
        while True:
            with contextlib.suppress(Refused):
                return self.run(look + "while (!isTrue()) await new Promise((done) => setTimeout(done, 50));")

    def picture(self, path):
        """Saves what is seen of the page as a PNG."""
        shot = self.ask("browsingContext.captureScreenshot", context=self.page)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def chromium():
    with tempfile.TemporaryDirectory() as profile:
        driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        started = (re.search(r"successfully on port (\d+)", line) for line in driver.stdout)
        port = next(found.group(1) for found in started if found)
        options = [
            *browsers.OPTIONS.split(), "--hide-scrollbars", "--accept-lang=en-US,en", f"--user-data-dir={profile}"]
        body = {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "webSocketUrl": True, "goog:chromeOptions": {"args": options}}}}
        place = f"http://127.0.0.1:{port}/session"
        request = urllib.request.Request(place, json.dumps(body).encode(), {"Content-Type": "application/json"})
        session = json.load(urllib.request.urlopen(request))["value"]
        try:
            browser = Browser(session["capabilities"]["webSocketUrl"])
            browser.begin()
            yield browser
        finally:
            urllib.request.urlopen(urllib.request.Request(f"{place}/{session['sessionId']}", method="DELETE"))
            driver.terminate()
            driver.wait()


@contextlib.contextmanager
def firefox():
    with tempfile.TemporaryDirectory() as profile:
        command = [*browsers.firefox(profile, "about:blank"), "--remote-debugging-port=0"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={
            **os.environ, "LANG": "C.UTF-8"})
        try:
            started = (re.search(r"BiDi listening on (ws://\S+)", line) for line in process.stderr)
            browser = Browser(next(found.group(1) for found in started if found) + "/session")
            browser.ask("session.new", capabilities={})
            browser.begin()
            yield browser
        finally:
            process.terminate()
            process.wait()
