#!/usr/bin/env python3
"""opens.py DEVICE COUNT PID...: two programs open a camera in turns, COUNT times in all, and read a frame each time.

Prints `opens N`, and for each process PID `grown NAME KIBIBYTES DESCRIPTORS`: what it has more of than after the first
half.
"""
import fcntl
import mmap
import os
import struct
import sys

device, count, processes = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
REQBUFS, QUERYBUF, QBUF, DQBUF, STREAMON, STREAMOFF = (
    0xC0145608, 0xC0585609, 0xC058560F, 0xC0585611, 0x40045612, 0x40045613,
)  # linux/videodev2.h, on 64-bit machines
CAPTURE, MMAP = 1, 1


def read_frame():
    camera = os.open(device, os.O_RDWR)
    try:
        fcntl.ioctl(camera, REQBUFS, bytearray(struct.pack("5I", 2, CAPTURE, MMAP, 0, 0)))
        maps = []
        for index in range(2):
            buffer = bytearray(88)
            struct.pack_into("2I", buffer, 0, index, CAPTURE)
            struct.pack_into("I", buffer, 60, MMAP)
            fcntl.ioctl(camera, QUERYBUF, buffer)
            (offset,), (length,) = struct.unpack_from("I", buffer, 64), struct.unpack_from("I", buffer, 72)
            maps.append(mmap.mmap(camera, length, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=offset))
            fcntl.ioctl(camera, QBUF, buffer)
        fcntl.ioctl(camera, STREAMON, struct.pack("i", CAPTURE))
        buffer = bytearray(88)
        struct.pack_into("2I", buffer, 0, 0, CAPTURE)
        struct.pack_into("I", buffer, 60, MMAP)
        fcntl.ioctl(camera, DQBUF, buffer)
        used = struct.unpack_from("I", buffer, 8)[0]
        fcntl.ioctl(camera, STREAMOFF, struct.pack("i", CAPTURE))
        for each in maps:
            each.close()
        return used
    finally:
        os.close(camera)


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
        before = {process: use(process) for process in processes}
print(f"opens {count}")
for process in processes:
    name, memory, descriptors = use(process)
    print(f"grown {name} {memory - before[process][1]} {descriptors - before[process][2]}")
