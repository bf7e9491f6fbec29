#!/usr/bin/env python3
"""Counts faces that `pixelate` leaves bare after cuts and turns.

    scenes.py cuts GUISE DATA [PAIRS]    two people before one wall and in one room, one after the other
    scenes.py turns GUISE DATA           clips that are turned by 90, -90 and 180 degrees, from the start

DATA is the labelled data. People are cut out of its clips with the masks background-color and background-picture, which
need the model of the outline. A face is bare if more than half of the pixels in the middle of its box differ by less
than 5 grey levels from the input; boxes are what `guise track` finds in the clip by itself, upright. Needs numpy,
opencv-python-headless and ffmpeg.
"""
import itertools
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

# People who sit before a camera, one in each clip.
CLIPS = ("lp_d0 lp_d3 lp_d6 lp_d11 lp_d12 lp_d13 lp_d19 lp_s18 asl_help asl_brother clm_franck dlib_elon "
         "intelprev_head-pose-face-detection-male intelprev_head-pose-face-detection-female").split()
WIDTH, HEIGHT = 640, 360
# Frames of a clip: before and after a cut, and more than the two seconds in which an empty room isn't shown yet.
CUT_FRAMES, TURN_FRAMES = 40, 90
TURNS = {90: "transpose=1", -90: "transpose=2", 180: "vflip,hflip"}


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def convert(source, target, filters, count):
    run("ffmpeg", "-v", "error", "-y", "-i", source, "-vf", filters, "-frames:v", count, "-c:v", "libx264", "-crf", 10,
        target)


def read_frames(path):
    clip, frames = cv2.VideoCapture(str(path)), []
    while True:
        is_read, frame = clip.read()
        if not is_read:
            return frames
        frames.append(frame.astype(int))


def find_boxes(guise, clip):
    """The box of the first face in each frame; before one is found, the first one."""
    lines = subprocess.run([guise, "track", clip, "--json"], check=True, capture_output=True, text=True).stdout
    boxes = [json.loads(line)["faces"][:1] for line in lines.splitlines()]
    found = [box[0]["box"] for box in boxes if box]
    return [box[0]["box"] if box else found[0] for box in boxes] if found else []


def turn_box(box, degrees):
    x, y, width, height = box
    return {90: (HEIGHT - y - height, x, height, width), -90: (y, WIDTH - x - width, height, width),
            180: (WIDTH - x - width, HEIGHT - y - height, width, height)}[degrees]


def count_bare(guise, clip, boxes, first, folder):
    """Frames from `first` on in which the face is bare."""
    masked = folder / "masked.mkv"
    run(guise, "apply", clip, "-o", masked, "--overwrite", "--mask", "pixelate")
    frames, published = read_frames(clip), read_frames(masked)
    assert len(frames) == len(published)
    bare = 0
    for frame, shown, (x, y, width, height) in zip(frames[first:], published[first:], boxes):
        rows = slice(max(0, int(y + height * 0.2)), max(0, int(y + height * 0.8)))
        columns = slice(max(0, int(x + width * 0.2)), max(0, int(x + width * 0.8)))
        change = np.abs(frame[rows, columns] - shown[rows, columns]).mean(axis=2)
        bare += change.size > 0 and (change < 5).mean() > 0.5
    return bare


def measure_cuts(guise, sources, pairs, folder):
    for mask in ("background-color", "background-picture"):
        people = {}
        for name, source in sources.items():
            clip, person = folder / "clip.mkv", folder / f"{name}.mkv"
            convert(source, clip, f"fps=30,scale={WIDTH}:{HEIGHT}:force_original_aspect_ratio=increase,"
                    f"crop={WIDTH}:{HEIGHT},format=yuv420p", CUT_FRAMES)
            run(guise, "apply", clip, "-o", person, "--overwrite", "--mask", mask)
            people[name] = find_boxes(guise, person)
        chosen = [pair for pair in itertools.permutations(people, 2) if people[pair[1]]]
        random.Random(5).shuffle(chosen)
        bare = frames = 0
        for before, after in chosen[:pairs]:
            (folder / "list").write_text(f"file '{before}.mkv'\nfile '{after}.mkv'\n")
            pair = folder / "pair.mkv"
            run("ffmpeg", "-v", "error", "-y", "-f", "concat", "-safe", 0, "-i", folder / "list", "-c:v", "libx264",
                "-crf", 10, pair)
            first = len(read_frames(folder / f"{before}.mkv"))
            bare += count_bare(guise, pair, people[after], first, folder)
            frames += len(people[after])
        print(f"{mask}: {bare} of {frames} frames bare after {min(pairs, len(chosen))} cuts", flush=True)


def measure_turns(guise, sources, folder):
    for degrees, turn in TURNS.items():
        bare = frames = 0
        for source in sources.values():
            upright, turned = folder / "upright.mkv", folder / "turned.mkv"
            convert(source, upright, f"fps=30,scale={WIDTH}:{HEIGHT}:force_original_aspect_ratio=increase,"
                    f"crop={WIDTH}:{HEIGHT},format=yuv420p", TURN_FRAMES)
            convert(upright, turned, turn, TURN_FRAMES)
            boxes = [turn_box(box, degrees) for box in find_boxes(guise, upright)]
            bare += count_bare(guise, turned, boxes, 0, folder)
            frames += len(boxes)
        print(f"turned by {degrees} degrees: {bare} of {frames} frames bare", flush=True)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("cuts", "turns"):
        sys.exit(__doc__)
    what, guise, data = sys.argv[1], str(Path(sys.argv[2]).resolve()), Path(sys.argv[3])
    sources = {name: data / "video" / f"{name}.mp4" for name in CLIPS}
    with tempfile.TemporaryDirectory() as folder:
        if what == "cuts":
            measure_cuts(guise, sources, int(sys.argv[4]) if len(sys.argv) > 4 else 40, Path(folder))
        else:
            measure_turns(guise, sources, Path(folder))


main()
