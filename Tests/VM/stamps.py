#!/usr/bin/env python3
"""Measures delays by numbered frames, and opens a camera many times.

    stamps.py write DEVICE W H RATE SECONDS   writes numbered frames to a loopback; prints "number time" for each
    stamps.py read DEVICE W H SECONDS         reads a camera; prints "number time" for each frame
    stamps.py delays WRITTEN READ             prints median and 95th percentile of the delays, and how many there are
    stamps.py open DEVICE W H TIMES           opens, reads one frame, closes, so often

A number is that of frames.py, in the lower left corner; a placeholder has number -1. Times are milliseconds of the
monotonic clock. Frames are YUYV.
"""
import ctypes
import fcntl
import mmap
import os
import select
import sys
import time

from frames import BITS, SIDE, write_number

# <linux/videodev2.h>
CAPTURE, OUTPUT, MMAP = 1, 2, 1
YUYV = int.from_bytes(b"YUYV", "little")
BUFFERS = 4


class PixelFormat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in (
        "width height pixelformat field bytesperline sizeimage colorspace priv flags ycbcr quantization transfer"
    ).split()]


class Format(ctypes.Structure):
    class _Union(ctypes.Union):
        _fields_ = [("pix", PixelFormat), ("raw", ctypes.c_uint8 * 200), ("align", ctypes.c_void_p)]

    _fields_ = [("type", ctypes.c_uint32), ("fmt", _Union)]


class Request(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("count", "type", "memory", "capabilities", "flags")]


class Buffer(ctypes.Structure):
    _fields_ = [
        ("index", ctypes.c_uint32), ("type", ctypes.c_uint32), ("bytesused", ctypes.c_uint32),
        ("flags", ctypes.c_uint32), ("field", ctypes.c_uint32), ("seconds", ctypes.c_long),
        ("microseconds", ctypes.c_long), ("timecode", ctypes.c_uint32 * 4), ("sequence", ctypes.c_uint32),
        ("memory", ctypes.c_uint32), ("offset", ctypes.c_ulong), ("length", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32), ("request", ctypes.c_uint32),
    ]


def code(direction, number, structure):
    return direction << 30 | ctypes.sizeof(structure) << 16 | ord("V") << 8 | number


SET_FORMAT, REQUEST, QUERY = code(3, 5, Format), code(3, 8, Request), code(3, 9, Buffer)
QUEUE, DEQUEUE = code(3, 15, Buffer), code(3, 17, Buffer)
START, STOP = code(1, 18, ctypes.c_int), code(1, 19, ctypes.c_int)


def milliseconds():
    return time.monotonic_ns() / 1e6


def open_device(path, kind, width, height):
    device = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    form = Format(type=kind)
    form.fmt.pix = PixelFormat(width=width, height=height, pixelformat=YUYV, field=1)
    fcntl.ioctl(device, SET_FORMAT, form)
    pix = form.fmt.pix
    assert (pix.width, pix.height, pix.pixelformat) == (width, height, YUYV), (pix.width, pix.height)
    return device


def read(path, width, height, take):
    """Passes each frame to `take`, until that returns True."""
    device = open_device(path, CAPTURE, width, height)
    request = Request(count=BUFFERS, type=CAPTURE, memory=MMAP)
    fcntl.ioctl(device, REQUEST, request)
    maps = []
    for index in range(request.count):
        buffer = Buffer(index=index, type=CAPTURE, memory=MMAP)
        fcntl.ioctl(device, QUERY, buffer)
        maps.append(mmap.mmap(device, buffer.length, mmap.MAP_SHARED, mmap.PROT_READ, offset=buffer.offset))
        fcntl.ioctl(device, QUEUE, buffer)
    kind = ctypes.c_int(CAPTURE)
    fcntl.ioctl(device, START, kind)
    done = False
    while not done:
        select.select([device], [], [])
        buffer = Buffer(type=CAPTURE, memory=MMAP)
        fcntl.ioctl(device, DEQUEUE, buffer)
        done = take(maps[buffer.index], milliseconds())
        fcntl.ioctl(device, QUEUE, buffer)
    fcntl.ioctl(device, STOP, kind)
    for one in maps:
        one.close()
    os.close(device)


def number(frame, width, height):
    row = (height - SIDE // 2) * width * 2
    lumas = [frame[row + (bit * SIDE + SIDE // 2) * 2] for bit in range(BITS)]
    if any(30 <= luma <= 220 for luma in lumas):
        return -1
    return sum(1 << bit for bit, luma in enumerate(lumas) if luma > 128)


def main():
    command, *words = sys.argv[1:]
    if command == "delays":
        written, seen = ([line.split() for line in open(path)] for path in words)
        began = {}
        for name, at in written:
            began.setdefault(name, []).append(float(at))
        delays, last = [], None
        for name, at in seen:
            # The first frame of each number counts, from the last time that it was written.
            before = [one for one in began.get(name, []) if one <= float(at)]
            if name != last and before:
                delays.append(float(at) - before[-1])
            last = name
        delays = sorted(delays[len(delays) // 10:])
        print(f"{delays[len(delays) // 2]:.0f} {delays[len(delays) * 95 // 100]:.0f} {len(delays)}")
        return
    path, width, height = words[0], int(words[1]), int(words[2])
    if command == "write":
        rate, end = float(words[3]), milliseconds() + 1000 * float(words[4])
        frame, count = bytearray([90, 128] * width * height), 0
        device = open_device(path, OUTPUT, width, height)
        began = milliseconds()
        while milliseconds() < end:
            name = count % (1 << BITS)
            write_number(frame, name, width, height)
            print(name, f"{milliseconds():.2f}", flush=True)
            os.write(device, frame)
            count += 1
            time.sleep(max(0, (began + count * 1000 / rate - milliseconds()) / 1000))
    elif command == "read":
        end = milliseconds() + 1000 * float(words[3])

        def take(frame, at):
            print(number(frame, width, height), f"{at:.2f}", flush=True)
            return at > end

        read(path, width, height, take)
    elif command == "open":
        for _ in range(int(words[3])):
            read(path, width, height, lambda frame, at: True)


if __name__ == "__main__":
    main()
