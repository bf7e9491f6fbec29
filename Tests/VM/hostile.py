#!/usr/bin/env python3
"""A client of the camera service that does what it can to harm others.

    hostile.py busy     while another program feeds the camera
    hostile.py free     while nobody does

Prints "hostile: done" if each attempt ended at most its own connection.
"""
import array
import concurrent.futures
import mmap
import os
import socket
import struct
import sys
import threading
import time

PATH = "/run/guise-camera/socket"
SIZE, RING, STREAM, RELEASED, REFUSED, FRAME, LIFELINE = 32, 1, 2, 3, 4, 5, 6


def connect():
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(60)
    while True:
        try:
            client.connect(PATH)
            return client
        except BlockingIOError:  # the service's queue is full
            time.sleep(0.01)


def receive(client):
    """The numbers of the next message, and the descriptor that came with it; nothing at the end."""
    data, control, _, _ = client.recvmsg(64, socket.CMSG_SPACE(4))
    descriptors = array.array("i")
    for _, _, value in control:
        descriptors.frombytes(value[:4])
    if not data:
        return None, None
    assert len(data) == SIZE, len(data)
    return struct.unpack("<8I", data), descriptors[0] if descriptors else None


def message(*numbers):
    return struct.pack("<8I", *numbers, *[0] * (8 - len(numbers)))


def ring():
    """A connection to a camera that nobody feeds. The service may just be noticing the end of the one before."""
    while True:
        client = connect()
        numbers, descriptor = receive(client)
        if numbers[0] == RING:
            return client, numbers, descriptor
        assert numbers[0] == REFUSED
        client.close()
        time.sleep(0.05)


def ends(client):
    """Waits until the service has closed the connection."""
    try:
        while receive(client)[0]:
            pass
    except ConnectionError:
        pass
    client.close()


def connect_at_once(count):
    """Makes connections at the same time, of which none is closed before all are answered.

    Returns each socket with the numbers and the descriptor of its first message.
    """
    start = threading.Barrier(count)

    def answer(_):
        start.wait()
        client = connect()
        return client, *receive(client)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(answer, range(count)))


def attack_busy():
    clients = connect_at_once(100)
    for _, numbers, descriptor in clients:
        assert numbers[0] == REFUSED and numbers[1] == 1 and descriptor is None, numbers
    for client, _, _ in clients:
        ends(client)
    for _ in range(100):
        client = connect()
        try:
            client.send(os.urandom(SIZE))
        except ConnectionError:
            pass
        client.close()


def attack_free():
    # One of many feeds the camera.
    ring()[0].close()
    clients = connect_at_once(100)
    kinds = sorted(numbers[0] for _, numbers, _ in clients)
    assert kinds == [RING] + [REFUSED] * 99, kinds
    for client, numbers, descriptor in clients:
        if numbers[0] == RING:
            os.close(descriptor)
            client.close()
        else:
            ends(client)
    for garbage in [
        b"x", os.urandom(SIZE - 1), os.urandom(SIZE + 1), bytes(SIZE), b"\xff" * SIZE, os.urandom(60000),
        message(FRAME, 3, 1280, 720), message(FRAME, 0xFFFFFFFF, 1280, 720), message(RING, 1, 3, 64),
        message(STREAM, 1, 64, 64), message(RELEASED, 0), message(REFUSED, 1, 1), message(LIFELINE),
    ]:
        client, _, descriptor = ring()
        os.close(descriptor)
        client.send(garbage)
        ends(client)
    # Descriptors that nobody asked for, and more than one.
    ours, theirs = socket.socketpair()
    reading, writing = os.pipe()
    with open("/dev/null") as null, open(__file__) as file:
        for kind, passed in [
            (FRAME, [null.fileno()]), (FRAME, [reading]), (LIFELINE, [null.fileno()]), (LIFELINE, [file.fileno()]),
            (LIFELINE, [theirs.fileno()]), (LIFELINE, [reading, reading]), (LIFELINE, [reading] * 200),
        ]:
            client, _, descriptor = ring()
            os.close(descriptor)
            socket.send_fds(client, [message(kind, 0, 320, 240)], passed)
            ends(client)
    # A second lifeline, and one that hangs up while the socket is open.
    for second in (True, False):
        client, _, descriptor = ring()
        os.close(descriptor)
        socket.send_fds(client, [message(LIFELINE)], [reading])
        if second:
            socket.send_fds(client, [message(LIFELINE)], [reading])
        else:
            os.close(writing)
        ends(client)
    # The ring: its size is fixed, and what is written into it is only a picture.
    client, numbers, descriptor = ring()
    for size in (0, 1 << 30):
        try:
            os.ftruncate(descriptor, size)
            sys.exit("hostile: the ring could be resized")
        except PermissionError:
            pass
    memory = mmap.mmap(descriptor, numbers[2] * numbers[3])
    client.send(message(FRAME, 0, 320, 240))
    for _ in range(20):
        for place in range(0, len(memory), 65536):
            memory[place : place + 8] = os.urandom(8)
    # Sizes that nobody reads come back.
    for size in [(0, 0), (1, 1), (0xFFFFFFFF, 0xFFFFFFFF), (4096, 4096)]:
        client.send(message(FRAME, 1, *size))
        while receive(client)[0][:2] != (RELEASED, 1):
            pass
    # A slot that the service still has.
    client.send(message(FRAME, 2, 320, 240))
    client.send(message(FRAME, 2, 320, 240))
    ends(client)
    # One that never reads its messages.
    client, _, _ = ring()
    try:
        while True:
            client.send(message(FRAME, 1, 1, 1))
    except OSError:
        client.close()
    ring()[0].close()


{"busy": attack_busy, "free": attack_free}[sys.argv[1]]()
print("hostile: done", flush=True)
