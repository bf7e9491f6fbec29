"""A reader of a camera that knows when each frame came, and why it got none. For 64-bit machines.

    v4l2.py DEVICE

As a program it reads one frame and prints `a frame`, or the name of the error, such as EBUSY.
"""
import errno
import fcntl
import mmap
import os
import struct
import sys

# linux/videodev2.h
G_FMT, S_FMT, REQBUFS, QUERYBUF, QBUF, DQBUF, STREAMON, STREAMOFF = (
    0xC0D05604, 0xC0D05605, 0xC0145608, 0xC0585609, 0xC058560F, 0xC0585611, 0x40045612, 0x40045613,
)
CAPTURE, MMAP = 1, 1
YUYV = int.from_bytes(b"YUYV", "little")
# The first bytes of the USB camera's placeholder.
PLACEHOLDER = bytes([48, 138, 48, 124])


class Reader:
    """Streams from a device, in its present size or another, until it is closed.

    Everything throws the OSError of the call that failed.
    """

    def __init__(self, device, width=0, height=0, buffers=2):
        self.maps, self.camera = [], os.open(device, os.O_RDWR)
        try:
            if width:
                # Behind the type are four bytes of padding.
                request = bytearray(struct.pack("2I4I", CAPTURE, 0, width, height, YUYV, 1).ljust(208, b"\0"))
                fcntl.ioctl(self.camera, S_FMT, request)
            fcntl.ioctl(self.camera, REQBUFS, bytearray(struct.pack("5I", buffers, CAPTURE, MMAP, 0, 0)))
            for index in range(buffers):
                buffer = self._buffer(index)
                fcntl.ioctl(self.camera, QUERYBUF, buffer)
                (offset,), (length,) = struct.unpack_from("I", buffer, 64), struct.unpack_from("I", buffer, 72)
                access = mmap.PROT_READ | mmap.PROT_WRITE
                self.maps.append(mmap.mmap(self.camera, length, mmap.MAP_SHARED, access, offset=offset))
                fcntl.ioctl(self.camera, QBUF, buffer)
            fcntl.ioctl(self.camera, STREAMON, struct.pack("i", CAPTURE))
        except OSError:
            self._free()
            raise

    @staticmethod
    def _buffer(index):
        buffer = bytearray(88)
        struct.pack_into("2I", buffer, 0, index, CAPTURE)
        struct.pack_into("I", buffer, 60, MMAP)
        return buffer

    def read(self, count=4):
        """Waits for the next frame: the bytes in it, the first `count` of them, and the kernel's time of its start in
        seconds of the monotonic clock."""
        buffer = self._buffer(0)
        fcntl.ioctl(self.camera, DQBUF, buffer)
        index, used = struct.unpack_from("I", buffer, 0)[0], struct.unpack_from("I", buffer, 8)[0]
        seconds, microseconds = struct.unpack_from("2q", buffer, 24)
        first = self.maps[index][:count]
        fcntl.ioctl(self.camera, QBUF, self._buffer(index))
        return used, first, seconds + microseconds / 1e6

    def _free(self):
        for each in self.maps:
            each.close()
        os.close(self.camera)

    def close(self):
        try:
            fcntl.ioctl(self.camera, STREAMOFF, struct.pack("i", CAPTURE))
        finally:
            self._free()


def attempt(device):
    """What a program gets that reads a frame of a camera: `a frame`, or the name of the error."""
    try:
        reader = Reader(device)
        used = reader.read()[0]
        reader.close()
        return "a frame" if used else "an empty frame"
    except OSError as error:
        return errno.errorcode[error.errno]


if __name__ == "__main__":
    print(attempt(sys.argv[1]))
