#!/usr/bin/env python3
"""delay.py CAMERA W H COUNT GO DEVICE...: measures how long frames take from a camera to readers of virtual cameras.

Feeds the loopback CAMERA with numbered frames, twice a second, from its start until its end. Once the file GO exists, it
reads all DEVICEs at the same time until COUNT different numbers have come through each, and prints for each device the
median and the 95th percentile of the milliseconds from a number's write to the arrival of its first frame.
"""
import os
import statistics
import subprocess
import sys
import threading
import time

import frames

camera, width, height, count, go, *devices = sys.argv[1:]
width, height, count = int(width), int(height), int(count)
size = width * height * 2
# The number is complete in front of this byte. Behind it there is more than v4l2-ctl may hold back.
NUMBERED = (height - frames.SIDE // 2) * width * 2 + frames.BITS * frames.SIDE * 2
written = {}
ended = threading.Event()


def feed():
    command = ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "yuyv422", "-s", f"{width}x{height}", "-r", "2"]
    command += ["-i", "-", "-fps_mode", "passthrough", "-pix_fmt", "yuyv422", "-f", "v4l2", camera]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE)
    number = 0
    while not ended.wait(0.5):
        frame = bytearray(bytes([120, 128]) * (width * height))
        frames.write_number(frame, number, width, height)
        written[number] = time.monotonic()
        writer.stdin.write(frame)
        writer.stdin.flush()
        number = (number + 1) % (1 << frames.BITS)
    writer.kill()


def read(device, delays):
    command = ["v4l2-ctl", "-d", device, "--stream-mmap=4", "--stream-to=-"]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    seen, data = set(), bytearray()
    while len(delays) < count:
        more = os.read(reader.stdout.fileno(), 1 << 16)
        if not more:
            raise SystemExit(f"{device} ended")
        data += more
        if len(data) >= NUMBERED:
            number = frames.read_number(data + bytes(max(0, size - len(data))), width, height)
            if number not in seen:
                # The first one may have been there for long.
                if seen and number in written:
                    delays.append((time.monotonic() - written[number]) * 1000)
                seen.add(number)
            while len(data) < size:
                data += os.read(reader.stdout.fileno(), size - len(data))
            del data[:size]
    reader.kill()


threading.Thread(target=feed, daemon=True).start()
print("feeding", flush=True)
while not os.path.exists(go):
    time.sleep(0.2)
results = {device: [] for device in devices}
readers = [threading.Thread(target=read, args=item) for item in results.items()]
for reader in readers:
    reader.start()
for reader in readers:
    reader.join()
ended.set()
for device, delays in results.items():
    delays = sorted(delays[:count])
    print(f"delay {device} {statistics.median(delays):.0f} {delays[int(0.95 * (len(delays) - 1))]:.0f}")
