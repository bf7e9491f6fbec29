"""latency.py GUISE ADDRESS: toggles a mask with the command line and watches the page's stream. Prints the milliseconds from
the command's start to the changed picture, median and 95th percentile, and the time to start the program."""
import http.client, subprocess, sys, threading, time

sys.dont_write_bytecode = True
from page_session import sign_in

guise, address = sys.argv[1:3]
host, headers, session = sign_in(address)
connection = http.client.HTTPConnection(host)
connection.request("GET", "/stream?width=320&rate=60", headers=headers)
answer = connection.getresponse()
pictures = []


def read():
    while line := answer.readline():
        if line.lower().startswith(b"content-length"):
            answer.readline()
            picture = answer.read(int(line.split(b":")[1]))
            pictures.append((time.monotonic(), hash(picture)))


threading.Thread(target=read, daemon=True).start()
time.sleep(1)
delays = []
for i in range(42):
    time.sleep(0.3 + 0.013 * (i % 7))
    before, known, began = pictures[-1][1], len(pictures), time.monotonic()
    subprocess.run([guise, "toggle", "polaroid"], stdout=subprocess.DEVNULL, check=True)
    while not any(other != before for _, other in pictures[known:]):
        time.sleep(0.001)
    delays.append(next(at for at, other in pictures[known:] if other != before) - began)
delays = sorted(delays[2:])  # the first two load the mask's art
starts = []
for i in range(21):
    began = time.monotonic()
    subprocess.run([guise, "--version"], stdout=subprocess.DEVNULL, check=True)
    starts.append(time.monotonic() - began)
print(*(int(t * 1000) for t in (
    delays[len(delays) // 2], delays[len(delays) * 95 // 100], sorted(starts)[len(starts) // 2])))
