#!/usr/bin/env python3
"""Counts faces that `pixelate` leaves bare after cuts and turns.

    scenes.py cuts GUISE DATA [PAIRS]    two people before one wall and in one room, one after the other
    scenes.py turns GUISE DATA           clips that are turned by 90, -90 and 180 degrees, from the start

DATA is the labelled data. People are cut out of its clips with the masks background-color and background-picture, which
need the model of the outline. What is bare is as in newcomers.py; the eyes are where `guise track` finds them in the
clip by itself, upright. Needs numpy, opencv-python-headless and ffmpeg.
"""
import itertools
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from newcomers import is_bare, read_frames

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


def find_eyes(guise, clip):
    """The eyes of the first face in each frame, 2 x 2 pixels; before one is found, the first ones."""
    lines = subprocess.run([guise, "track", clip, "--json"], check=True, capture_output=True, text=True).stdout
    faces = [json.loads(line)["faces"][:1] for line in lines.splitlines()]
    points = [face[0]["points"] if face else None for face in faces]
    eyes = [face and np.array([face["right_eye"], face["left_eye"]]) for face in points]
    found = [pair for pair in eyes if pair is not None]
    return [found[0] if pair is None else pair for pair in eyes] if found else []


def turn_point(point, degrees):
    x, y = point
    return {90: (HEIGHT - 1 - y, x), -90: (y, WIDTH - 1 - x), 180: (WIDTH - 1 - x, HEIGHT - 1 - y)}[degrees]


def count_bare(guise, clip, eyes, first, folder):
    """Frames from `first` on in which the face is bare."""
    masked = folder / "masked.mkv"
    run(guise, "apply", clip, "-o", masked, "--overwrite", "--mask", "pixelate")
    frames, published = read_frames(clip, color=0), read_frames(masked, color=0)
    assert len(frames) == len(published)
    return sum(is_bare(frame, shown, pair) for frame, shown, pair in zip(frames[first:], published[first:], eyes))


def measure_cuts(guise, sources, pairs, folder):
    for mask in ("background-color", "background-picture"):
        people = {}
        for name, source in sources.items():
            clip, person = folder / "clip.mkv", folder / f"{name}.mkv"
            convert(source, clip, f"fps=30,scale={WIDTH}:{HEIGHT}:force_original_aspect_ratio=increase,"
                    f"crop={WIDTH}:{HEIGHT},format=yuv420p", CUT_FRAMES)
            run(guise, "apply", clip, "-o", person, "--overwrite", "--mask", mask)
            people[name] = find_eyes(guise, person)
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
            eyes = [np.array([turn_point(eye, degrees) for eye in pair]) for pair in find_eyes(guise, upright)]
            bare += count_bare(guise, turned, eyes, 0, folder)
            frames += len(eyes)
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
