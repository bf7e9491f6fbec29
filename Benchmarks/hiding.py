#!/usr/bin/env python3
"""What hiding faces costs: CPU milliseconds a frame of tracking beyond those with a mask that hides nobody.

    Benchmarks/hiding.py GUISE DATA                   all labelled clips with faces
    Benchmarks/hiding.py GUISE DATA lp_s18 facenet    those whose names contain one of these
    Benchmarks/hiding.py --old OTHER GUISE DATA       beside another build, in turns

A hiding mask searches the whole frame at once, several times, before it shows anything: the first second is counted by
itself. `pixelate` and `tiger` take turns, and the cheapest of the rounds counts for each frame, so that what else the
machine does hardly matters.
"""
import argparse
import json
import statistics
import subprocess
from pathlib import Path

from masks import clips_with_faces

# Frames after which the first searches are over, and frames measured at most of each clip.
FIRST, MAX_FRAMES = 30, 300


def tracking(guise, clip, mask, frames):
    """CPU milliseconds of tracking in each frame."""
    command = [guise, "bench", clip, "--mask", mask, "--frames", str(frames), "--json"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(run.stdout)["milliseconds"]["tracking"]["each"]


def extra(guise, clip, frames, rounds):
    """Milliseconds that hiding adds to each frame."""
    runs = [[tracking(guise, clip, mask, frames) for mask in ("pixelate", "tiger")] for _ in range(rounds)]
    hiding, other = [[min(times) for times in zip(*(run[i] for run in runs))] for i in (0, 1)]
    return [a - b for a, b in zip(hiding, other)]


def main():
    parser = argparse.ArgumentParser(description="CPU milliseconds a frame that hiding faces adds to tracking")
    parser.add_argument("guise")
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--old", help="another build; it lies in a folder beside its own Masks and Cascades")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    builds = [options.guise] + ([options.old] if options.old else [])
    columns = ["first second", "later", "all"] * len(builds)
    print("".ljust(58) + "faces" + "".join(column.rjust(14) for column in columns))
    total = [[] for _ in builds]
    for item in clips_with_faces(options.data):
        if options.names and not any(name in item["name"] for name in options.names):
            continue
        frames = min(item.get("frames") or MAX_FRAMES, MAX_FRAMES)
        row = []
        for build, sums in zip(builds, total):
            times = extra(build, str(options.data / item["name"]), frames, options.rounds)
            sums += times
            row += [times[:FIRST], times[FIRST:], times]
        cells = [f"{statistics.mean(part):14.2f}" if part else "–".rjust(14) for part in row]
        print(f"{item['name'][:57]:58}{item['faces']:5}" + "".join(cells), flush=True)
    for name, sums in zip(("mean of all frames", "the other build's"), total):
        if sums:
            print(f"{name}: {statistics.mean(sums):.2f}")


if __name__ == "__main__":
    main()
