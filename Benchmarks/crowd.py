#!/usr/bin/env python3
"""How a crowd is followed: makes clips of 20 people at 720p, and counts faces, ids and CPU milliseconds a frame.

    crowd.py make DATA FOLDER     writes two clips and their labels, made of the labelled clips in DATA
    crowd.py score GUISE FOLDER   prints for each clip what was found, how often a person's id changed, and the cost

Each person has a place of 256 x 180 pixels in a clip of 150 frames, so that nobody covers anybody. The first second, in
which faces are found, is counted by itself. Needs numpy, opencv-python-headless and ffmpeg.
"""
import json
import statistics
import subprocess

import numpy as np

from hiding import tracking
from masks import clips_with_faces, percentile
from newcomers import Clip, read_frames, read_labels, run

COLUMNS, ROWS, WIDTH, HEIGHT = 5, 4, 256, 180
# The frames of a clip, and those that one must have to be used.
FRAMES, SHORTEST, RATE, FIRST = 150, 60, 30, 30
# Between the eyes, in pixels; and from a label to what is found there at most, in distances between the eyes.
DISTANCES, NEAR = (18, 36), 0.5


def part_around(eyes, item, distance):
    """The part of a clip's pictures (left, top, width, height), and their scale, that shows a person with this distance
    between the eyes in one place."""
    scale = distance / np.median([np.linalg.norm(pair[0] - pair[1]) for pairs in eyes for pair in pairs])
    whole = np.array([item["width"], item["height"]])
    size = np.minimum(np.array([WIDTH, HEIGHT]) / scale, whole)
    middle = np.median([pair.mean(axis=0) for pairs in eyes for pair in pairs], axis=0)
    corner = np.clip(middle - size / 2, 0, whole - size)
    return *corner.astype(int), *size.astype(int), scale


def make(data, folder):
    """Makes the clips; the same data gives the same clips."""
    folder.mkdir(parents=True, exist_ok=True)
    random, index, usable = np.random.default_rng(5), [], []
    for item in clips_with_faces(data):
        if item["frames"] >= SHORTEST:
            eyes = read_labels(data, item)[:FRAMES]
            if all(len(pairs) == 1 for pairs in eyes):
                usable.append((item, eyes))
    for number in range(2):
        clip = Clip(np.full((ROWS * HEIGHT, COLUMNS * WIDTH, 3), 60, np.uint8), FRAMES)
        # If there are fewer people than places, some are there twice, in another size and at another time.
        order = [choice for _ in range(COLUMNS * ROWS) for choice in random.permutation(len(usable))]
        for cell, choice in enumerate(order[:COLUMNS * ROWS]):
            item, eyes = usable[choice]
            left, top, width, height, scale = part_around(eyes, item, random.uniform(*DISTANCES))
            frames = read_frames(data / item["name"], len(eyes))
            x = cell % COLUMNS * WIDTH + int(WIDTH - width * scale) // 2
            y = cell // COLUMNS * HEIGHT + int(HEIGHT - height * scale) // 2
            first = int(random.integers(0, len(frames)))
            for time in range(FRAMES):
                # Forwards and back, so that nobody jumps.
                place = abs((first + time) % (2 * len(frames) - 2) - (len(frames) - 1))
                shown = frames[place][top:top + height, left:left + width]
                clip.paste(time, shown, [pair - (left, top) for pair in eyes[place]], scale, x, y)
        index.append(clip.write(folder, f"crowd{number}", RATE))
    (folder / "index.json").write_text(json.dumps(index))


def score(guise, folder):
    """Prints recall, changes of id and the cost of each clip."""
    for item in json.loads((folder / "index.json").read_text()):
        clip = str(folder / item["name"])
        output = subprocess.run([guise, "track", clip, "--json", "--landmarks"], check=True, capture_output=True,
                                text=True)
        frames = [json.loads(line)["faces"] for line in output.stdout.splitlines()]
        ids, labelled, found, changes, others = {}, 0, 0, 0, 0
        for time, (faces, pairs) in enumerate(zip(frames, read_labels(folder, item))):
            middles = [np.mean(np.array(face["landmarks"])[36:48], axis=0) for face in faces]
            matched = set()
            for pair in pairs:
                middle, distance = pair.mean(axis=0), np.linalg.norm(pair[0] - pair[1])
                near = [i for i, place in enumerate(middles) if np.linalg.norm(place - middle) < NEAR * distance]
                person = (int(middle[0] // WIDTH), int(middle[1] // HEIGHT))
                if near:
                    face = faces[near[0]]["id"]
                    changes += person in ids and ids[person] != face
                    ids[person] = face
                matched.update(near)
                if time >= FIRST:
                    labelled += 1
                    found += bool(near)
            others += len(faces) - len(matched) if time >= FIRST else 0
        times = tracking(guise, clip, "tiger", FRAMES)
        later = times[FIRST:]
        print(f"{item['name']}: {found} of {labelled} faces found, {others} others, {changes} changes of id; tracking "
              f"{statistics.median(later):.2f} ms in the median, {percentile(later, .95):.2f} at the 95th "
              f"percentile, {statistics.mean(times[:FIRST]):.2f} in the first second")


if __name__ == "__main__":
    run(__doc__, make, score)
