#!/usr/bin/env python3
"""Prepares the clip of the tests, and compares with it what was read from the loopback.

    frames.py number CLIP W H             writes each frame's number into its bottom left corner
    frames.py numbers CLIP W H            prints the numbers of the frames, -1 where there is none
    frames.py cards CLIP W H              prints 1 for each frame that is a card, else 0
    frames.py masks PLAIN MASKED SEEN W H compares where the mask is, frame by frame

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


def is_card(frame):
    """A card's corner has one colour: Y 48, U 138, V 124."""
    return all(abs(frame[i] - value) <= 3 for i, value in enumerate((48, 138, 48, 124)))


def luma_samples(frame, width, height):
    return [frame[(row * width + x) * 2] for row in range(0, height - SIDE, STEP) for x in range(0, width, STEP)]


def changed(frame, plain):
    return {i for i, (a, b) in enumerate(zip(frame, plain)) if abs(a - b) > NOISE}


def compare_masks(plain, masked, seen, width, height):
    """Returns the overlaps (intersection over union) of the masks in the frames that have a number."""
    overlaps = []
    for frame in seen:
        number = read_number(frame, width, height)
        if not 0 <= number < min(len(plain), len(masked)):
            continue
        background = luma_samples(plain[number], width, height)
        wanted = changed(luma_samples(masked[number], width, height), background)
        if not wanted:
            continue  # the host had not found the face yet
        found = changed(luma_samples(frame, width, height), background)
        overlaps.append(len(wanted & found) / len(wanted | found))
    return overlaps


def main(command, *arguments):
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
    elif command == "cards":
        print(*(int(is_card(frame)) for frame in clips[0]))
    elif command == "masks":
        overlaps = sorted(compare_masks(*clips, width, height))
        if len(overlaps) < len(clips[2]) / 2:
            sys.exit(f"only {len(overlaps)} of {len(clips[2])} frames have the clip's number and a mask on the host")
        median = overlaps[len(overlaps) // 2]
        print(f"{len(overlaps)} frames, masks overlap by {median:.2f} in the median, {overlaps[0]:.2f} at worst")
        if median < 0.7 or overlaps[len(overlaps) // 10] < 0.4:
            sys.exit("the mask is not where the host puts it")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
