#!/usr/bin/env python3
"""Makes clips of small faces and of people who appear, and counts faces that a hiding mask leaves bare.

    newcomers.py make DATA FOLDER     writes the clips and their labels, made of the labelled clips in DATA
    newcomers.py score GUISE FOLDER   for each clip: faces bare, and frames withheld, with `--mask pixelate`

Eight clips s0 to s7 show one person in front and three with 9 to 15 pixels between the eyes: one from the start, one
who appears at frame 50, one who walks in. Four clips m0 to m3 are crowds of 8 and 15 who appear one after another.
A face is bare if its detail correlates by more than 0.75 with the input's. A first pass that takes longer withholds
more frames, and so leaves fewer faces bare: compare both figures. Needs numpy, opencv-python-headless and ffmpeg.
"""
import json
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np

# Frames of a clip with small faces, and of a crowd.
SMALL_FRAMES, CROWD_FRAMES = 120, 100


def read_frames(path, count=10**9, color=cv2.IMREAD_COLOR):
    """Up to `count` frames of a clip: height x width x 3, or height x width in grey."""
    clip, frames = cv2.VideoCapture(str(path)), []
    while len(frames) < count:
        is_read, frame = clip.read()
        if not is_read:
            break
        frames.append(frame if color else cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY))
    return frames


def read_labels(folder, item):
    """The labelled pairs of eyes of each frame of a clip, 2 x 2 pixels each."""
    frames = json.loads((folder / item["annotations"]).read_text())["frames"]
    return [[np.array([face["right_eye"], face["left_eye"]]) for face in frame
             if face.get("right_eye") and face.get("left_eye")] for frame in frames]


class Clip:
    """A clip in the making: frames of one size, with the labels of what was pasted."""

    def __init__(self, backdrop, frames):
        self.frames = [backdrop.copy() for _ in range(frames)]
        self.labels = [[] for _ in range(frames)]

    def paste(self, time, frame, eyes, scale, left, top):
        """Pastes a frame, scaled, at a place in pixels, and labels the faces that are inside.

        Of a frame with a fourth channel, its opacity, colours are multiplied by it already.
        """
        target = self.frames[time]
        height, width = (int(side * scale) for side in frame.shape[:2])
        x0, y0 = max(0, left), max(0, top)
        x1, y1 = min(target.shape[1], left + width), min(target.shape[0], top + height)
        if x0 >= x1 or y0 >= y1:
            return
        small = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
        part, place = small[y0 - top:y1 - top, x0 - left:x1 - left], target[y0:y1, x0:x1]
        if part.shape[2] == 4:
            behind = cv2.merge([255 - part[:, :, 3]] * 3)
            part = cv2.add(cv2.multiply(place, behind, scale=1 / 255), part[:, :, :3])
        place[:] = part
        for pair in eyes:
            right, left_eye = pair * scale + (left, top)
            if all(10 < x < target.shape[1] - 10 and 0 < y < target.shape[0] for x, y in (right, left_eye)):
                self.labels[time].append({"right_eye": right.tolist(), "left_eye": left_eye.tolist()})

    def write(self, folder, name, rate, *encoding):
        """Writes the clip and its labels; returns its entry in the index."""
        height, width = self.frames[0].shape[:2]
        command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "bgr24", "-s", f"{width}x{height}",
                   "-r", str(rate), "-i", "-", "-pix_fmt", "yuv420p", "-crf", "14", *encoding,
                   str(folder / f"{name}.mp4")]
        subprocess.run(command, input=b"".join(frame.tobytes() for frame in self.frames), check=True)
        (folder / f"{name}.json").write_text(json.dumps({"frames": self.labels}))
        return {"name": f"{name}.mp4", "type": "video", "kind": "face", "fps": rate, "width": width, "height": height,
                "frames": len(self.frames), "annotations": f"{name}.json"}


def make(data, folder):
    """Makes all clips; the same data gives the same clips."""
    folder.mkdir(parents=True, exist_ok=True)
    items = json.loads((data / "index.json").read_text())
    faces = [item for item in items if item.get("type") == "video" and item["kind"] == "face"
             and item["width"] <= 1300 and item["frames"] >= SMALL_FRAMES]
    rooms = [item["name"] for item in items if item["name"].startswith("nonface/")]
    random = np.random.default_rng(3)

    def read(item, frames):
        return read_frames(data / item["name"], frames), read_labels(data, item)[:frames]

    index = []
    for number in range(8):
        width, height = (1280, 720) if number < 6 else (1920, 1080)
        room = cv2.resize(cv2.imread(str(data / random.choice(rooms))), (width, height))
        clip = Clip(cv2.GaussianBlur(room, (0, 0), 1.5), SMALL_FRAMES)
        for role, item in enumerate(random.choice(faces, 4, replace=False)):
            frames, eyes = read(item, SMALL_FRAMES)
            distance = np.median([np.linalg.norm(pair[0] - pair[1]) for pairs in eyes for pair in pairs])
            scale = (random.uniform(55, 80) if role == 0 else random.uniform(9, 15)) / distance
            size = np.array(frames[0].shape[1::-1]) * scale
            center = np.array([(0.5, 0.5), (0.06, 0.3), (0.88, 0.35), (0.2, 0.7)][role]) * (width, height)
            start = [0, 0, 50, 60][role]
            for time in range(start, SMALL_FRAMES):
                left, top = (center - size / 2).astype(int)
                if role == 3:
                    left = int((time - start) * width * 0.012 - size[0])
                clip.paste(time, frames[time - start], eyes[time - start], scale, int(left), int(top))
        index.append(clip.write(folder, f"s{number}", 30))
    for number, (columns, rows) in enumerate([(4, 2), (4, 2), (5, 3), (5, 3)]):
        width, height = 1920 // columns, 1080 // rows
        clip = Clip(np.full((1080, 1920, 3), 60, np.uint8), CROWD_FRAMES)
        order = random.permutation(columns * rows)
        for cell, item in enumerate(random.choice(faces, columns * rows, replace=False)):
            start = 0 if order[cell] < 4 else 10 + int((order[cell] - 3) * 60 / (columns * rows))
            frames, eyes = read(item, CROWD_FRAMES)
            scale = min(width / frames[0].shape[1], height / frames[0].shape[0]) * random.uniform(0.6, 1)
            size = np.array(frames[0].shape[1::-1]) * scale
            corner = np.array([cell % columns, cell // columns]) * (width, height)
            left, top = corner + (np.array([width, height]) - size) / 2
            for time in range(start, CROWD_FRAMES):
                clip.paste(time, frames[time - start], eyes[time - start], scale, int(left), int(top))
        index.append(clip.write(folder, f"m{number}", 25))
    (folder / "index.json").write_text(json.dumps(index))


def detail(patch):
    """A patch without its low frequencies, 64 x 64."""
    patch = cv2.resize(patch, (64, 64), interpolation=cv2.INTER_AREA).astype(np.float32)
    return patch - cv2.GaussianBlur(patch, (0, 0), 4)


def is_bare(before, after, pair):
    """Whether the face with this pair of eyes is the same in two grey frames."""
    distance = np.linalg.norm(pair[0] - pair[1])
    x, y = pair.mean(axis=0) + (0, distance / 2)
    height, width = before.shape
    area = np.s_[int(max(0, y - distance)):int(min(height, y + distance)),
                 int(max(0, x - distance)):int(min(width, x + distance))]
    if min(before[area].shape) < 8:
        return False
    a, b = detail(before[area]), detail(after[area])
    norm = np.linalg.norm(a) * np.linalg.norm(b)
    return norm > 1 and float((a * b).sum()) / norm > 0.75


def score(guise, folder):
    """Prints for each clip the bare faces, and the frames withheld."""
    totals = np.zeros(4, int)
    for item in json.loads((folder / "index.json").read_text()):
        source, output = folder / item["name"], folder / "covered.mkv"
        output.unlink(missing_ok=True)
        subprocess.run([guise, "apply", source, "-o", output, "--mask", "pixelate"], check=True, capture_output=True)
        report = subprocess.run([guise, "bench", source, "--mask", "pixelate", "--json", "--frames",
                                 str(item["frames"])], check=True, capture_output=True)
        withheld = sum(share == 1 for share in json.loads(report.stdout)["covered"])
        bare = faces = 0
        pictures = zip(read_frames(source, color=0), read_frames(output, color=0))
        for (before, after), pairs in zip(pictures, read_labels(folder, item)):
            for pair in pairs:
                faces += 1
                bare += is_bare(before, after, pair)
        print(f"{item['name']}: {bare} of {faces} faces bare, {withheld} of {item['frames']} frames withheld",
              flush=True)
        totals += (bare, faces, withheld, item["frames"])
    print("all: {} of {} faces bare, {} of {} frames withheld".format(*totals))


def run(usage, make, score):
    """Makes clips or scores a build on them, as the command line says."""
    if len(sys.argv) != 4 or sys.argv[1] not in ("make", "score"):
        sys.exit(usage)
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        score(sys.argv[2], Path(sys.argv[3]))


if __name__ == "__main__":
    run(__doc__, make, score)
