#!/usr/bin/env python3
"""How much of the light's colour masks take: photos graded warm and cool, and a white ball that is worn on each face.

    Benchmarks/light.py GUISE DATA
    Benchmarks/light.py --old OTHER GUISE DATA     beside another build, which lies in a folder with its own Masks

A grade multiplies red and divides blue. `follows` is the change of the ball's ratio of red to blue relative to that of
the skin, in logarithms: the median of all, and of the worst of five folds of photos. `plain` is the part of the photos
as they are in which the ball's red is within 8 % of its blue. Needs numpy and opencv-python-headless.
"""
import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import cv2
import numpy as np

# Factors of red, and of blue the other way round, in the samples as they are.
GRADES = 1.2, 1.45, 1 / 1.2, 1 / 1.45
FOLDS = 5
# The least change of the skin's ratio that counts: clipped photos hardly change. What is near grey.
LEAST_SHIFT, NEAR = 0.05, 0.08
# The smallest face that is graded, the least change of a pixel that is the ball's, and the least number of such pixels.
MIN_WIDTH, CHANGE, LEAST = 60, 40, 60
BALL = {
    "version": 1, "title": "Ball", "kind": "hat", "author": "Guise", "licence": "MIT", "layers": [{
        "kind": "mesh", "shadow": 0, "materials": [{"name": "white", "color": "#ffffff"}],
        "parts": [{"shape": "ball", "material": "white", "radius": 0.5, "at": [0, 0.2, -1]}]}]}


def ratio(pixels):
    """The logarithm of red to blue of BGR pixels' mean."""
    blue, _, red = pixels.reshape(-1, 3).mean(axis=0)
    return np.log(max(red, 1) / max(blue, 1))


def graded(picture, factor):
    return np.clip(picture * np.array([1 / factor, 1, factor]), 0, 255).astype(np.uint8)


def largest_face(guise, photo):
    """The box of the largest face; None without any."""
    lines = subprocess.run([guise, "track", photo, "--json"], capture_output=True, text=True).stdout.splitlines()
    faces = json.loads(lines[0])["faces"] if lines else []
    return max((face["box"] for face in faces), key=lambda box: box[2], default=None)


def ball(guise, photo, box, folder, environment):
    """The ball's and the skin's ratios in a photo; None if the ball can't be told from the face."""
    source, worn = folder / "photo.png", folder / "worn.png"
    cv2.imwrite(str(source), photo)
    run = subprocess.run(
        [guise, "apply", source, "-o", worn, "--mask", "ball", "--overwrite"], env=environment, capture_output=True)
    if run.returncode:
        return None
    x, y, width, height = (int(value) for value in box)
    place = np.s_[max(0, y):y + height, max(0, x):x + width]
    before, after = photo[place].astype(int), cv2.imread(str(worn))[place].astype(int)
    changed = (np.abs(after - before).sum(axis=2) > CHANGE).astype(np.uint8)
    inside = cv2.erode(changed, np.ones((5, 5), np.uint8)) > 0
    rows, columns = changed.shape
    skin = before[rows // 2:rows * 3 // 4, columns // 4:columns * 3 // 4]
    return (ratio(after[inside]), ratio(skin)) if inside.sum() > LEAST else None


def measure(guise, photos):
    """Of each photo: the ball's ratio as it is, and how much of each grade it follows."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mask = folder / "guise" / "Masks" / "ball"
        mask.mkdir(parents=True)
        (mask / "mask.json").write_text(json.dumps(BALL))
        environment = os.environ | {"XDG_CONFIG_HOME": name}
        for photo, box in photos:
            plain = ball(guise, photo, box, folder, environment)
            if plain is None:
                continue
            parts = []
            for grade in GRADES:
                now = ball(guise, graded(photo, grade), box, folder, environment)
                if now is not None and abs(now[1] - plain[1]) > LEAST_SHIFT:
                    parts.append((now[0] - plain[0]) / (now[1] - plain[1]))
            rows.append((plain[0], parts))
    return rows


def main():
    parser = argparse.ArgumentParser(description="how much of the light's colour masks take")
    parser.add_argument("guise")
    parser.add_argument("data", type=Path)
    parser.add_argument("--old", help="another build")
    options = parser.parse_args()
    photos = []
    for item in json.loads((options.data / "index.json").read_text()):
        path = options.data / item["name"]
        if item.get("type") == "photo":
            box, photo = largest_face(options.guise, path), cv2.imread(str(path))
            if box and box[2] >= MIN_WIDTH and photo is not None:
                photos.append((photo, box))
    print("follows   worst fold   plain   photos")
    for guise in [options.guise] + ([options.old] if options.old else []):
        rows = measure(guise, photos)
        folds = [np.median([part for _, parts in rows[fold::FOLDS] for part in parts]) for fold in range(FOLDS)]
        everything = np.median([part for _, parts in rows for part in parts])
        near = np.mean([abs(np.exp(plain) - 1) < NEAR for plain, _ in rows])
        print(f"{everything:7.2f}{min(folds):13.2f}{near:8.2f}{len(rows):9}", guise, flush=True)


if __name__ == "__main__":
    main()
