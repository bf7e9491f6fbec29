"""Signs in to the page as described in docs/page.md, for the other scripts here."""
import hashlib, hmac, json, re, socket, struct


def sign_in(link):
    """Returns the page's host, the headers that authorize requests, and the web socket, which must stay open."""
    host, secret = re.match(r"http://([^/]+)/#([0-9a-f]{64})$", link).groups()
    name, port = host.split(":")
    stream = socket.create_connection((name, int(port)))
    lines = ["GET /socket HTTP/1.1", "Host: " + host, "Origin: http://" + host, "Upgrade: websocket",
             "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==", "", ""]
    stream.sendall("\r\n".join(lines).encode())
    reader = stream.makefile("rb")
    assert b" 101 " in reader.readline()
    while reader.readline().strip():
        pass

    def receive():
        size = reader.read(2)[1]
        return json.loads(reader.read(size if size < 126 else struct.unpack(">H", reader.read(2))[0]))

    def code(role, first, second):
        text = "guise page %s|%s|%s|%s" % (role, port, first, second)
        return hmac.new(bytes.fromhex(secret), text.encode(), hashlib.sha256).hexdigest()

    theirs, own = receive()["nonce"], "5c" * 32
    words = json.dumps({"nonce": own, "proof": code("client", theirs, own)}).encode()
    stream.sendall(struct.pack(">BBHI", 0x81, 0x80 | 126, len(words), 0) + words)
    answer = receive()
    assert answer["proof"] == code("server", own, theirs)
    return host, {"Authorization": "Guise " + answer["session"]}, stream
