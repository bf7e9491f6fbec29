#!/usr/bin/env python3
"""Prepares the clip of the tests, and compares it with frames read from the loopback.

    frames.py number CLIP W H             writes each frame's number into its bottom left corner
    frames.py numbers CLIP W H            prints the numbers of the frames, -1 where there is none
    frames.py placeholders CLIP W H              prints 1 for each frame that is a placeholder, else 0
    frames.py pictures CLIP W H           prints how many different frames there are that are no placeholders
    frames.py masks COUNT PLAIN MASKED SEEN W H
                                          asks for that many pictures of the clip in their order, and compares where
                                          their masks are

Clips are raw YUYV. A number is 8 squares of 16 x 16 pixels, the lowest bit first, white for 1.
"""
import sys

SIDE, BITS, BLACK, WHITE = 16, 8, 16, 235
# Luma differences up to this are noise: of encoders, and of scaling by a pixel's fraction.
NOISE = 20
# Every STEP-th pixel across and down is compared.
STEP = 2


def frames(path, width, height):
    with open(path, "rb") as file:
        data = file.read()
    size = width * height * 2
    missing = -len(data) % size
    if missing < 4096:  # not yet written by v4l2-ctl when it was ended: less than a page
        data += bytes(missing)
    return [bytearray(data[start : start + size]) for start in range(0, len(data) - size + 1, size)]


def write_number(frame, number, width, height):
    for row in range(height - SIDE, height):
        for bit in range(BITS):
            start = (row * width + bit * SIDE) * 2
            luma = WHITE if number >> bit & 1 else BLACK
            frame[start : start + SIDE * 2] = bytes([luma, 128]) * SIDE


def read_number(frame, width, height):
    number = 0
    for bit in range(BITS):
        luma = frame[((height - SIDE // 2) * width + bit * SIDE + SIDE // 2) * 2]
        if abs(luma - BLACK) > NOISE and abs(luma - WHITE) > NOISE:
            return -1
        number |= (luma > 128) << bit
    return number


def is_placeholder(frame):
    """A placeholder's corner has one colour: Y 48, U 138, V 124."""
    return all(abs(frame[i] - value) <= 3 for i, value in enumerate((48, 138, 48, 124)))


def luma_samples(frame, width, height):
    return [frame[(row * width + x) * 2] for row in range(0, height - SIDE, STEP) for x in range(0, width, STEP)]


def changed(frame, plain):
    return {i for i, (a, b) in enumerate(zip(frame, plain)) if abs(a - b) > NOISE}


def compare_masks(count, plain, masked, seen, width, height):
    """Returns for each picture the overlap (intersection over union) of the mask that was seen and the one wanted.

    Of what was seen of a picture the last frame counts: by then the mask has come to rest.
    """
    last, order = {}, []
    for frame in seen:
        number = read_number(frame, width, height)
        if not 0 <= number < len(plain):
            continue
        last[number] = frame
        order.append(number)
    if order != sorted(order):
        sys.exit(f"the frames are not in order: {order}")
    if len(last) < count:
        sys.exit(f"of the pictures only {sorted(last)} were seen, of {count}")
    overlaps = []
    for number, frame in last.items():
        background = luma_samples(plain[number], width, height)
        wanted = changed(luma_samples(masked[number], width, height), background)
        found = changed(luma_samples(frame, width, height), background)
        overlaps.append(len(wanted & found) / max(1, len(wanted | found)))
    return overlaps


def main(command, *arguments):
    count, arguments = (arguments[0], arguments[1:]) if command == "masks" else (0, arguments)
    *paths, width, height = arguments
    width, height = int(width), int(height)
    clips = [frames(path, width, height) for path in paths]
    if command == "number":
        for number, frame in enumerate(clips[0]):
            write_number(frame, number, width, height)
        with open(paths[0], "wb") as file:
            file.writelines(clips[0])
    elif command == "numbers":
        print(*(read_number(frame, width, height) for frame in clips[0]))
    elif command == "placeholders":
        print(*(int(is_placeholder(frame)) for frame in clips[0]))
    elif command == "pictures":
        print(len({bytes(frame) for frame in clips[0] if not is_placeholder(frame)}))
    elif command == "masks":
        overlaps = compare_masks(int(count), *clips, width, height)
        print("the masks overlap by", *(f"{overlap:.2f}" for overlap in overlaps))
        if min(overlaps) < 0.7:
            sys.exit("the mask is not where the host puts it")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
