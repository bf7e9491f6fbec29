#!/usr/bin/env python3
"""What masks cost: CPU milliseconds a frame for drawing, by `guise bench`.

    Benchmarks/masks.py top santa tiger+top            masks; with + some at once
    Benchmarks/masks.py --old OTHER/guise top santa    beside another build, in turns

Drawing ("compose") contains one copy of the frame's size; it is taken off here. Builds take turns and the best round
counts, so that what else the machine does hardly does.
"""

import argparse
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def cost(guise, clip, masks, frames):
    """Medians: of drawing, and of the copy."""
    command = [guise, "bench", clip, "--frames", str(frames), "--json"]
    for mask in masks.split("+"):
        command += ["--mask", mask]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["milliseconds"]
    return figures["compose"]["median"], figures["copy to output"]["median"]


def main():
    parser = argparse.ArgumentParser(description="CPU milliseconds a frame for drawing masks")
    parser.add_argument("masks", nargs="+", help="names; NAME+NAME: worn at once")
    parser.add_argument("--clip", default="sample", help="photo or clip (else the sample)")
    parser.add_argument("--guise", default=os.path.join(HERE, "../.build/release/guise"))
    parser.add_argument("--old", help="another build; it lies in a folder beside its own Masks and Cascades")
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    builds = [options.guise] + ([options.old] if options.old else [])
    heads = ["ms", "copies"] + (["old ms", "copies", "new / old"] if options.old else [])
    print("".ljust(24) + "".join(head.rjust(11) for head in heads))
    for masks in options.masks:
        best = {}
        for _ in range(options.rounds):
            for build in builds:
                drawn, copy = cost(build, options.clip, masks, options.frames)
                own = max(drawn - copy, 0)
                if build not in best or own < best[build][0]:
                    best[build] = (own, own / copy)
        row = [figure for build in builds for figure in best[build]]
        if options.old:
            row.append(best[options.guise][0] / best[options.old][0])
        print(masks[:23].ljust(24) + "".join(f"{figure:11.2f}" for figure in row), flush=True)


if __name__ == "__main__":
    main()
