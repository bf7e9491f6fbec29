#!/usr/bin/env python3
"""What of a mask is left out because a hand is in front of it, and whether a hand is there.

    hands.py clear GUISE DATA            per clip: the share of a face without a hand that is taken for one
    hands.py drawn GUISE DATA FOLDER     makes clips with drawn arms, and tells how much of them is seen, and what else
    hands.py mugs GUISE DATA FOLDER      the same with mugs that are held before the mouth

A mask that is one green plate over the head and all around it is put on; what is not green there was taken for a hand.
Drawn arms have the colour of the person's own cheeks, shaded as a cylinder is, and a fist with dark lines between the
fingers; each comes in from below or from a side, stays at chin, mouth, cheek or forehead, and leaves. Mugs are shaded
cylinders of six colours in a fist. Clips are in five folds by person; the worst is told beside the mean. Needs numpy,
opencv-python-headless and ffmpeg.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

# The plate in head space, eye distances: left, top, right, bottom. It is what Guise looks for hands in.
PLATE = (-2.7, -2.95, 2.7, 3.9)
# Clips with hands before faces, by name, and the frames in which they are; None: all.
HANDS = {"asl_bird": None, "asl_brother": None, "asl_help": None, "asl_learn": None, "clm_cap12": (1060, 1337)}
# Where an arm comes to rest, in eye distances from the point between the eyes, and where from.
RESTS = [((0, 1.9), (-1.6, 4.5)), ((0.1, 1.1), (1.8, 4.5)), ((-0.9, 0.7), (-3.5, 3.0)), ((0.5, -0.6), (3.5, 2.0))]
# Where a fist with a mug comes to rest, and where from; the mug's middle beside the fist, half its width and height;
# and its colours, as blue, green and red.
SIPS = [((0.75, 1.35), (1.8, 4.5)), ((-0.75, 1.35), (-1.6, 4.5))]
MUG, MUG_SIZE = (-0.75, -0.15), (0.55, 0.6)
MUG_COLORS = [(225, 228, 230), (120, 60, 30), (40, 35, 190), (40, 40, 42), (90, 140, 60), (130, 190, 235)]
# Frames until the arm comes, while it moves, and while it rests.
WAIT, MOVE, REST = 45, 12, 30


def write_plate(folder):
    """A mask in a folder for the user's configuration."""
    mask = folder / "guise/Masks/plate"
    mask.mkdir(parents=True)
    left, top, right, bottom = (int(100 * side) for side in PLATE)
    (mask / "plate.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left} {top} {right - left} {bottom - top}" '
        f'width="{right - left}" height="{bottom - top}"><rect x="{left}" y="{top}" width="{right - left}" '
        f'height="{bottom - top}" fill="#00ff00"/></svg>')
    pins = [{"art": [-50, 0], "face": "right_eye"}, {"art": [50, 0], "face": "left_eye"}]
    layer = {"kind": "sprite", "art": "plate.svg", "light": 0, "pins": pins}
    (mask / "mask.json").write_text(json.dumps({"version": 1, "title": "Plate", "layers": [layer]}))


def frames(path):
    clip = cv2.VideoCapture(str(path))
    while True:
        is_read, frame = clip.read()
        if not is_read:
            return
        yield frame


def dressed(guise, clip, folder):
    """A clip with the plate, as a path, and the faces of each frame."""
    output = folder / "dressed.mp4"
    environment = dict(os.environ, XDG_CONFIG_HOME=str(folder))
    subprocess.run([guise, "apply", str(clip), "-o", str(output), "--mask", "plate", "--overwrite"], check=True,
                   capture_output=True, env=environment)
    tracked = subprocess.run([guise, "track", str(clip), "--json", "--landmarks"], check=True, capture_output=True,
                             text=True).stdout
    return output, [json.loads(line)["faces"] for line in tracked.splitlines()]


def left_out(frame):
    """Where a frame with the plate is not green."""
    blue, green, red = (frame[:, :, i].astype(int) for i in range(3))
    return green - np.maximum(blue, red) < 60


def hull(face, shape):
    """The pixels of a face from jaw to brows."""
    area = np.zeros(shape[:2], np.uint8)
    points = np.array(face["landmarks"][:27], np.float32)
    cv2.fillConvexPoly(area, cv2.convexHull(points).astype(np.int32), 1)
    return cv2.erode(area, np.ones((3, 3), np.uint8)) > 0


def clear(guise, data):
    items = [item for item in json.loads((data / "index.json").read_text()) if item["type"] == "video"
             and item["kind"] == "face"]
    total, rows = np.zeros(2), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_plate(folder)
        for item in items:
            clip = data / item["name"]
            hands = HANDS.get(clip.stem, (0, 0))
            if hands is None:
                continue
            output, faces = dressed(guise, clip, folder)
            counts, worst = np.zeros(2), 0
            for number, (frame, found) in enumerate(zip(frames(output), faces)):
                if hands[0] <= number < hands[1]:
                    continue
                out = left_out(frame)
                for face in found:
                    if face["kind"] != "human" or face["state"] != "tracked":
                        continue
                    area = hull(face, frame.shape)
                    count = np.array([(area & out).sum(), area.sum()])
                    worst = max(worst, count[0] / max(count[1], 1))
                    counts += count / max(count[1], 1)
            total += counts
            rows.append(counts[0] / max(counts[1], 1))
            print(f"{clip.stem:52} {counts[1]:6.0f} faces  {100 * rows[-1]:6.2f} %  worst frame {100 * worst:5.1f} %",
                  flush=True)
    print(f"{total[1]:.0f} faces: {100 * total[0] / total[1]:.3f} % of a face, worst clip {100 * max(rows):.2f} %")


def head(face):
    """The point between the eyes, and the vectors of one eye distance across and down, as if the head faced us."""
    right, left = (np.array(face["points"][name]) for name in ("right_eye", "left_eye"))
    angle = np.arctan2(left[1] - right[1], left[0] - right[0])
    scale = np.hypot(*(left - right)) / max(0.5, np.cos(np.radians(face["pose"]["yaw"])))
    across = scale * np.array([np.cos(angle), np.sin(angle)])
    return (left + right) / 2, across, np.array([-across[1], across[0]])


def tip_of(rest, start, part):
    """Where an arm's tip is that has come a part of its way, 0 to 1."""
    return start * 1.6 + (rest - start * 1.6) * part


def paint(frame, inside, colors, noise):
    """Lays colours with a camera's noise over a frame, where `inside` is 1. Returns where that is."""
    colors = colors + noise.normal(0, 2, frame.shape)
    frame[:] = np.clip(frame * (1 - inside[..., None]) + colors * inside[..., None], 0, 255).astype(np.uint8)
    return inside > 0.5


def draw_arm(frame, face, rest, start, part, noise):
    """Draws an arm on a frame.

    - part: 0 to 1, how far it has come.
    Returns where it is.
    """
    origin, across, down = head(face)
    place = lambda p: origin + across * p[0] + down * p[1]
    size = np.hypot(*across)
    cheek = place((0.55, 0.7)).astype(int)
    patch = frame[max(0, cheek[1] - 2):cheek[1] + 3, max(0, cheek[0] - 2):cheek[0] + 3]
    color = np.median(patch.reshape(-1, 3), 0) if patch.size else np.array([110, 140, 190])
    start, rest = np.array(start, float), np.array(rest, float)
    tip = tip_of(rest, start, part)
    elbow = tip + (start - rest) * 1.2
    a, b = place(tip), place(elbow)
    along = (b - a) / max(np.hypot(*(b - a)), 1e-3)
    ys, xs = np.mgrid[0:frame.shape[0], 0:frame.shape[1]]
    d = np.stack([xs - a[0], ys - a[1]], -1)
    t, side = d @ along / size, d @ np.array([-along[1], along[0]]) / size
    fist = (t / 0.75) ** 2 + (side / 0.6) ** 2
    arm = np.where(t > 0, np.abs(side) / 0.42, 9)
    inside = np.clip((1 - np.minimum(fist, arm * arm)) * size * 0.3, 0, 1)
    shade = 1.0 - 0.35 * np.clip(np.where(fist < 1, fist, arm * arm), 0, 1)
    lines = (np.abs((side * 3.3) % 1 - 0.5) < 0.06) & (fist < 0.8) & (t < 0.1)
    shade = np.where(lines, shade * 0.7, shade) * 0.95
    return paint(frame, inside, color * shade[..., None], noise)


def draw_mug(frame, face, rest, start, part, color, noise):
    """Draws a mug beside the fist of an arm that `draw_arm` has drawn. Returns where it is."""
    origin, across, down = head(face)
    size = np.hypot(*across)
    start, rest = np.array(start, float), np.array(rest, float)
    tip = tip_of(rest, start, part)
    middle = tip + np.array(MUG) * (1 if rest[0] > 0 else -1, 1)
    center = origin + across * middle[0] + down * middle[1]
    ys, xs = np.mgrid[0:frame.shape[0], 0:frame.shape[1]]
    d = np.stack([xs - center[0], ys - center[1]], -1)
    x, y = d @ across / size**2 / MUG_SIZE[0], d @ down / size**2 / MUG_SIZE[1]
    inside = np.clip((1 - np.maximum(np.abs(x), np.abs(y))) * size * 0.5, 0, 1)
    shade = 1.02 - 0.4 * np.clip(x * x, 0, 1) + 0.08 * np.clip(-x, -1, 1)
    return paint(frame, inside, np.array(color) * shade[..., None], noise)


def drawn(guise, data, folder, with_mugs=False):
    folder.mkdir(exist_ok=True)
    names = [item["name"] for item in json.loads((data / "index.json").read_text())
             if item["type"] == "video" and item["kind"] == "face" and item["faces"] == 1
             and Path(item["name"]).stem not in HANDS and not Path(item["name"]).stem.startswith("derived")]
    folds = [[] for _ in range(5)]
    with tempfile.TemporaryDirectory() as temporary:
        settings = Path(temporary)
        write_plate(settings)
        for number, name in enumerate(names):
            source = data / name
            tracked = subprocess.run([guise, "track", str(source), "--json"], check=True, capture_output=True,
                                     text=True).stdout
            faces = [json.loads(line)["faces"] for line in tracked.splitlines()]
            rests = SIPS if with_mugs else RESTS
            rest, start = rests[number % len(rests)]
            noise, arms, clip = np.random.default_rng(number), [], folder / (source.stem + ".mp4")
            mugs = {}
            writer = None
            for time, frame in enumerate(frames(source)):
                if time >= WAIT + 2 * MOVE + REST + 15 or time >= len(faces) or not faces[time]:
                    break
                face = faces[time][0]
                part = min(1, max(0, min((time - WAIT) / MOVE, (WAIT + 2 * MOVE + REST - time) / MOVE)))
                arms.append(draw_arm(frame, face, rest, start, part, noise) if part > 0 else None)
                if part > 0 and with_mugs:
                    color = MUG_COLORS[number % len(MUG_COLORS)]
                    mugs[time] = draw_mug(frame, face, rest, start, part, color, noise)
                    arms[-1] |= mugs[time]
                if writer is None:
                    size = f"{frame.shape[1]}x{frame.shape[0]}"
                    writer = subprocess.Popen(
                        ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "bgr24", "-s", size, "-r", "30",
                         "-i", "-", "-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-c:v", "libx264", "-crf", "16",
                         "-pix_fmt", "yuv420p", str(clip)], stdin=subprocess.PIPE)
                writer.stdin.write(frame.tobytes())
            if writer is None or len(arms) < WAIT + MOVE + REST:
                continue
            writer.communicate()
            output, found = dressed(guise, clip, settings)
            counts = np.zeros(6)
            for time, (frame, people) in enumerate(zip(frames(output), found)):
                if time >= len(arms) or not people or people[0]["state"] != "tracked":
                    continue
                origin, across, down = head(people[0])
                corners = [(PLATE[0], PLATE[1]), (PLATE[2], PLATE[1]), (PLATE[2], PLATE[3]), (PLATE[0], PLATE[3])]
                plate = np.zeros(frame.shape[:2], np.uint8)
                cv2.fillConvexPoly(plate, np.array([origin + across * x * 0.9 + down * y * 0.9 for x, y in corners],
                                                   np.int32), 1)
                plate, out = plate > 0, left_out(frame)
                arm = arms[time]
                arm = np.zeros_like(plate) if arm is None else arm[:frame.shape[0], :frame.shape[1]]
                counts[:4] += [(arm & plate & out).sum(), (arm & plate).sum(), (plate & ~arm & out).sum(),
                               (plate & ~arm).sum()]
                if time in mugs:
                    mug = mugs[time][:frame.shape[0], :frame.shape[1]] & hull(people[0], frame.shape)
                    counts[4:] += [(mug & out).sum(), mug.sum()]
            if counts[1] == 0:
                continue
            seen, wrong = counts[0] / counts[1], counts[2] / counts[3]
            mug = counts[4] / max(counts[5], 1)
            folds[number % 5].append((seen, wrong, mug))
            print(f"{source.stem:52} arm seen {100 * seen:5.1f} %, other left out {100 * wrong:5.2f} %"
                  + (f", mug before the face {100 * mug:5.1f} %" if with_mugs else ""), flush=True)
    means = [np.mean(fold, 0) for fold in folds if fold]
    mean = np.mean([row for fold in folds for row in fold], 0)
    print(f"mean: {100 * mean[0]:.1f} % of the arm seen, {100 * mean[1]:.2f} % of the rest left out; worst fold "
          f"{100 * min(fold[0] for fold in means):.1f} %, {100 * max(fold[1] for fold in means):.2f} %")
    if with_mugs:
        print(f"mugs before the face: {100 * mean[2]:.1f} %, worst fold {100 * min(fold[2] for fold in means):.1f} %")


if __name__ == "__main__":
    if sys.argv[1:2] == ["clear"] and len(sys.argv) == 4:
        clear(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:2] == ["drawn"] and len(sys.argv) == 5:
        drawn(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    elif sys.argv[1:2] == ["mugs"] and len(sys.argv) == 5:
        drawn(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), with_mugs=True)
    else:
        sys.exit(__doc__)
