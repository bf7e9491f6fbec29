#!/usr/bin/env python3
"""What masks cost: CPU milliseconds a frame for drawing, by `guise bench`.

    Benchmarks/masks.py top santa tiger+top            masks; with + some at once
    Benchmarks/masks.py --old OTHER/guise top santa    beside another build, in turns, with the ratio of the means
    Benchmarks/masks.py --data DATA top santa          on all labelled clips with faces instead of one

Drawing ("compose") contains one copy of the frame's size; it is taken off here. Builds take turns, and for each frame
the best round counts, so that what else the machine does hardly does. The first frames, in which buffers grow, are left
out.
"""

import argparse
import json
import os
import statistics
import subprocess
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
# Frames that are left out.
FIRST = 5


def cost(guise, clip, masks, frames):
    """Milliseconds of drawing in each frame, and the median of the copy."""
    command = [guise, "bench", clip, "--frames", str(frames), "--json"]
    for mask in masks.split("+"):
        command += ["--mask", mask]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["milliseconds"]
    copy = figures["copy to output"]["median"]
    return [max(drawn - copy, 0) for drawn in figures["compose"]["each"][FIRST:]], copy


def best_rounds(builds, clip, masks, frames, rounds):
    """For each build the lowest cost of each frame, and of the copy."""
    best = {}
    for _ in range(rounds):
        for build in builds:
            drawn, copy = cost(build, clip, masks, frames)
            if build in best:
                drawn = [min(times) for times in zip(drawn, best[build][0])]
                copy = min(copy, best[build][1])
            best[build] = (drawn, copy)
    return [best[build] for build in builds]


def percentile(times, part):
    return sorted(times)[min(int(len(times) * part), len(times) - 1)]


def clips_with_faces(data):
    """The entries of labelled clips with faces."""
    for item in json.loads((data / "index.json").read_text()):
        if item.get("type") == "video" and item.get("kind") == "face":
            yield item


def main():
    parser = argparse.ArgumentParser(description="CPU milliseconds a frame for drawing masks")
    parser.add_argument("masks", nargs="+", help="names; NAME+NAME: worn at once")
    parser.add_argument("--clip", default="sample", help="photo or clip (else the sample)")
    parser.add_argument("--data", type=Path, help="the labelled data: all its clips with faces")
    parser.add_argument("--guise", default=os.path.join(HERE, "../.build/release/guise"))
    parser.add_argument("--old", help="another build; it lies in a folder beside its own Masks and Cascades")
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    builds = [options.guise] + ([options.old] if options.old else [])
    heads = ["ms", "95th", "mean", "copies"] * len(builds) + (["new/old"] if options.old else [])
    print("".ljust(44) + "".join(head.rjust(9) for head in heads))
    clips = [(options.clip, "", None)]
    if options.data:
        clips = [(str(options.data / item["name"]), Path(item["name"]).stem, item.get("frames"))
                 for item in clips_with_faces(options.data)]
    for masks in options.masks:
        for path, name, length in clips:
            frames = min(options.frames, length or options.frames)
            row = []
            for drawn, copy in best_rounds(builds, path, masks, frames, options.rounds):
                median = statistics.median(drawn)
                row += [median, percentile(drawn, 0.95), statistics.mean(drawn), median / copy]
            if options.old:
                row.append(row[2] / row[6])
            print(f"{masks} {name}"[:43].ljust(44) + "".join(f"{figure:9.2f}" for figure in row), flush=True)


if __name__ == "__main__":
    main()
