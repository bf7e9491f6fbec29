#!/usr/bin/env python3
"""opens.py DEVICE COUNT MINUTES PID...: opens a camera again and again, then reads it for long.

Two programs open it in turns, COUNT times in all, and read a frame each time: prints `opens N`, and for each process
PID `grown NAME KIBIBYTES DESCRIPTORS`, what it has more of than after the first half, and `used`, what it has then.
Then one reads it for MINUTES, if that is not 0, after a minute that does not count: prints `streamed SECONDS FRAMES
PLACEHOLDERS`, and the same lines.
"""
import os
import sys
import time

import v4l2

device, count, minutes, processes = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
# What starts with the stream has happened after this time, in seconds.
START = 60


def read_frame():
    reader = v4l2.Reader(device)
    try:
        return reader.read()[0]
    finally:
        reader.close()


def use(process):
    with open(f"/proc/{process}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return fields["Name"].strip(), int(fields["VmRSS"].split()[0]), len(os.listdir(f"/proc/{process}/fd"))


# The other program is told by a byte when it is its turn, and answers whether it got a frame.
turns, ask = os.pipe()
answers, answer = os.pipe()
if os.fork() == 0:
    os.close(ask)
    while os.read(turns, 1):
        os.write(answer, b"1" if read_frame() else b"0")
    os._exit(0)
def use_all():
    return {process: use(process) for process in processes}


def print_growth(before, suffix=""):
    for process in processes:
        name, memory, descriptors = use(process)
        print(f"grown {name}{suffix} {memory - before[process][1]} {descriptors - before[process][2]}")
        print(f"used {name}{suffix} {memory} {descriptors}", flush=True)


before = {}
for number in range(count):
    if number % 2:
        os.write(ask, b"1")
        got = os.read(answers, 1) == b"1"
    else:
        got = read_frame() > 0
    if not got:
        sys.exit(f"no frame at the {number + 1}th open")
    if number == count // 2:
        before = use_all()
print(f"opens {count}")
print_growth(before)
if minutes:
    reader = v4l2.Reader(device)
    began = time.monotonic()
    while time.monotonic() < began + START:
        reader.read()
    before, began, frames, placeholders = use_all(), time.monotonic(), 0, 0
    while time.monotonic() < began + minutes * 60:
        used, first, _ = reader.read()
        frames += used > 0
        placeholders += first == v4l2.PLACEHOLDER
    print(f"streamed {time.monotonic() - began:.0f} {frames} {placeholders}")
    print_growth(before, "-in-minutes")
    # A machine that is too slow shows placeholders in between, but not for ever.
    while reader.read()[1] == v4l2.PLACEHOLDER:
        pass
    print("a picture at the end")
    reader.close()
