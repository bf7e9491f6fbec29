"""use.py SOCKET ADDRESS SECONDS: uses a running Guise for a time: masks, whole configurations, viewers."""
import http.client, json, random, socket, sys, time

sys.dont_write_bytecode = True
from page_session import sign_in

path, address, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
host, headers, session = sign_in(address)
random.seed(1)


def ask(request):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(json.dumps(request).encode() + b"\n")
    answer = connection.makefile().readline()
    connection.close()
    return json.loads(answer)["ok"]


def look(pictures):
    connection = http.client.HTTPConnection(host)
    connection.request("GET", "/stream", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    while pictures:
        if answer.readline().startswith(b"--"):
            pictures -= 1
    connection.close()


# Each mask is put on once before measuring.
masks = ["santa", "crown", "tiger", "round-glasses", "makeup-evening", "snow", "name-tag", "bowler"]
for mask in masks:
    ask({"request": "only", "mask": mask})
    time.sleep(0.3)
# And all at once, because the first time would set the maximum.
for part in range(3):
    ask({"request": "wear", "masks": masks})
    time.sleep(1)
    look(4)
    for request in "reload", "pause", "resume", "clear":
        ask({"request": request})
        time.sleep(0.2)
end = time.monotonic() + seconds
while time.monotonic() < end:
    ask({"request": "toggle", "mask": random.choice(masks)})
    ask({"request": random.choice(["pause", "resume", "reload", "status", "masks", "devices"])})
    if random.random() < 0.3:
        ask({"request": "only", "mask": random.choice(masks)})
    ask({"request": "resume"})
    look(random.randrange(1, 8))
ask({"request": "clear"})
