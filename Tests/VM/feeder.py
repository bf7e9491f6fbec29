#!/usr/bin/env python3
"""Measures how long the USB camera takes from the death of what feeds it to the placeholder.

    feeder.py service PROGRAM ROUNDS [COMMAND...]
    feeder.py device DEVICE WIDTH HEIGHT ROUNDS [COMMAND...]

The first needs no driver: this program plays the kernel. It hands over a plugged-in camera to PROGRAM, guise-camera, as
a service manager does after a restart, and keeps transfers waiting as uvcvideo does; in each size and at each rate. It
needs root, whose rights the service drops, and a /run of its own (unshare --mount). The second reads DEVICE.

What feeds the camera is COMMAND, or a small process of this program. It is killed ROUNDS times, at another time of the
frame each time. Prints for each size and rate a line `killed NAME` with these numbers, times in ms from the kill:
  the median and the longest time to the placeholder's first bytes,
  the median and the longest time until it was there as a whole,
  the median time until the killed process was gone,
  and how many whole pictures began in between, and how many pictures broke off.
"""
import array
import mmap
import os
import select
import signal
import socket
import statistics
import struct
import sys
import threading
import time

import v4l2

SOCKET = "/run/guise-camera/socket"
# As CameraMode.all: a mode's bytes in each packet.
MODES = [
    (1280, 720, 28800), (1920, 1080, 43200), (960, 540, 43200), (640, 480, 40960), (640, 360, 46080), (320, 240, 38400),
]
RATES = [30, 15]
HEADER, PAYLOAD_HEADER, PACKETS = 48, 2, 32
END_OF_FRAME = 2
# What a feeder writes: no placeholder.
PICTURE = bytes([120, 128])
RING, STREAM, RELEASED, FRAME = 1, 2, 3, 5
# As uvcvideo (UVC_URBS).
TRANSFERS = 5


class Kernel:
    """The other end of the service's USB socket, with a reader that streams."""

    def __init__(self, end, packet):
        self.end, self.packet, self.sequence = end, packet + PAYLOAD_HEADER, 0
        self.packets = {}
        self.first = None  # the first bytes of the picture that comes in
        for _ in range(TRANSFERS):
            self.submit()

    def submit(self):
        self.sequence += 1
        command = struct.pack(
            ">10I8s", 1, self.sequence, 0x10002, 1, 1, 0, self.packet * PACKETS, 0, PACKETS, 1, bytes(8))
        packets = b"".join(struct.pack(">4I", i * self.packet, self.packet, 0, 0) for i in range(PACKETS))
        self.end.sendall(command + packets)

    def read(self, count):
        data = bytearray()
        while len(data) < count:
            more = self.end.recv(count - len(data))
            if not more:
                raise SystemExit("the service has ended")
            data += more
        return data

    def transfers(self):
        """Each transfer's packets that are not empty, with the time when its first bytes were there."""
        while True:
            header = self.read(HEADER)
            arrived = time.monotonic()
            command, sequence, _, _, _, status, length = struct.unpack(">5IiI", header[:28])
            assert command == 3 and status == 0, header.hex()
            data = self.read(length)
            sizes = [struct.unpack_from(">4I", self.read(16))[2] for _ in range(PACKETS)]
            self.submit()
            offset = 0
            for size in filter(None, sizes):
                yield data[offset:offset + size], arrived
                offset += size

    def pictures(self):
        """Each picture's first four bytes, when they and the last ones came, and whether it is whole."""
        first, began, toggle = None, 0.0, 0
        for packet, arrived in self.transfers():
            if first is not None and packet[1] & 1 != toggle:
                yield first, began, arrived, False
                first = None
            if first is None:
                first, began, toggle = bytes(packet[PAYLOAD_HEADER:PAYLOAD_HEADER + 4]), arrived, packet[1] & 1
            if packet[1] & END_OF_FRAME:
                yield first, began, time.monotonic(), True
                first = None


def start(program, mode, rate):
    """Starts the service with a camera that streams; returns its process and the kernel's end of the USB socket."""
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, 33 if os.geteuid() == 0 else socket.SO_SNDBUF, 8 << 20)  # SO_SNDBUFFORCE
    alternate = sorted({packet for _, _, packet in MODES}).index(MODES[mode][2]) + 1
    # Port.swift's number, and CameraState.swift's fields.
    state = os.memfd_create("state")
    os.write(state, struct.pack("<13I", 0, 1, 1, alternate, 0, 0, 0, *(mode, RATES.index(rate)) * 2, 0, 0))
    process = os.fork()
    if process == 0:
        high = [os.dup(theirs.fileno()), os.dup(state)]
        for number, descriptor in enumerate(high, 3):
            os.dup2(descriptor, number)
        os.set_inheritable(3, True)
        environment = {"LISTEN_FDS": "2", "LISTEN_FDNAMES": "port:state", "LISTEN_PID": str(os.getpid())}
        os.execve(program, [program, "--user", "nobody", "--socket", SOCKET], environment)
    theirs.close()
    os.close(state)
    return process, ours


def feed(width, height, rate):
    """Feeds the camera at its rate until it is killed."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    while True:
        try:
            client.connect(SOCKET)
            break
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.01)
    data, control, _, _ = client.recvmsg(64, socket.CMSG_SPACE(4))
    kind, _, slots, slot_bytes = struct.unpack_from("<4I", data)
    if kind != RING:  # the one before is not quite gone
        os._exit(1)
    descriptors = array.array("i", control[0][2][:4])
    memory = mmap.mmap(descriptors[0], slots * slot_bytes)
    for slot in range(slots):
        memory[slot * slot_bytes:slot * slot_bytes + width * height * 2] = PICTURE * (width * height)
    free, due = list(range(slots)), time.monotonic()
    while True:
        wait = max(0.0, due - time.monotonic())
        if select.select([client], [], [], wait if free else None)[0]:
            data = client.recv(64)
            if not data:
                os._exit(1)
            kind, slot = struct.unpack_from("<2I", data)
            if kind == RELEASED:
                free.append(slot)
        if free and time.monotonic() >= due:
            client.send(struct.pack("<8I", FRAME, free.pop(0), width, height, 0, 0, 0, 0))
            due += 1 / rate


def kill(process, times):
    """Kills a child and waits for its end; appends the times of both."""
    times.append(time.monotonic())
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    times.append(time.monotonic())


def measure(name, pictures, rounds, rate, feeding):
    """Prints a line.

    - pictures: each picture's first bytes, when these and the last ones came, and whether it is whole.
    - feeding: starts what feeds the camera, and returns its number.
    """
    begins, ends, gone, between, broken = [], [], [], 0, 0
    for number in range(rounds):
        feeder, shown = 0, 0
        # Some pictures, so that the stream runs evenly.
        while shown < 3:
            if not feeder or os.waitpid(feeder, os.WNOHANG)[0]:
                feeder = feeding()
            first, _, _, is_whole = next(pictures)
            shown += is_whole and first != v4l2.PLACEHOLDER
        # The rounds spread the kill over a frame. Meanwhile the kernel goes on reading.
        killed = []
        killer = threading.Timer(number / rounds / rate, kill, [feeder, killed])
        killer.start()
        while True:
            first, began, ended, is_whole = next(pictures)
            if first == v4l2.PLACEHOLDER and is_whole and killed and began > killed[0]:
                break
            broken += not is_whole
            between += bool(is_whole and killed and began > killed[0])
        killer.join()
        begins.append((began - killed[0]) * 1000)
        ends.append((ended - killed[0]) * 1000)
        gone.append((killed[1] - killed[0]) * 1000)
    print(f"killed {name} {statistics.median(begins):.1f} {max(begins):.1f} {statistics.median(ends):.1f} "
          f"{max(ends):.1f} {statistics.median(gone):.1f} {between} {broken}", flush=True)


def forked(width, height, rate):
    process = os.fork()
    if process == 0:
        try:
            feed(width, height, rate)
        finally:
            os._exit(1)
    return process


def started(command):
    # Not by `subprocess`, which would itself wait for a child that has ended: one that was too early for the service.
    null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    return os.posix_spawnp(command[0], command, os.environ, file_actions=null)


def measure_service(program, rounds, command):
    os.makedirs(os.path.dirname(SOCKET), exist_ok=True)
    for mode, (width, height, packet) in enumerate(MODES):
        for rate in RATES:
            service, end = start(program, mode, rate)
            feeding = lambda: started(command) if command else forked(width, height, rate)
            measure(f"{width}x{height}-{rate}", Kernel(end, packet).pictures(), rounds, rate, feeding)
            # First, because the service may be sending.
            end.close()
            os.kill(service, signal.SIGTERM)
            os.waitpid(service, 0)


def measure_device(device, width, height, rounds, command):
    reader = v4l2.Reader(device, width, height)

    def pictures():
        while True:
            used, first, began = reader.read()
            yield first, began, time.monotonic(), used == width * height * 2

    rate = RATES[0]
    feeding = lambda: started(command) if command else forked(width, height, rate)
    measure(f"{width}x{height}-{rate}", pictures(), rounds, rate, feeding)
    reader.close()


if sys.argv[1] == "service":
    measure_service(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
else:
    measure_device(sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6:])
print("end")
