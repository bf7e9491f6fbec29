#!/usr/bin/env python3
"""Measures Guise where the older systems that it follows left figures, and prints the tables of docs/seeds.md.

    older-systems.py GUISE DATA          40 of the labelled photos; up to five minutes
    older-systems.py GUISE DATA --all    all labelled photos for time, faces, eyes and mouth; two minutes more

GUISE is the built program, DATA the folder of the labelled data (index.json). Tilted, shrunk and turning pictures are
made here, in a folder that is removed afterwards. The same data gives the same pictures; CPU times differ from run to
run, and which of three pictures is drawn. The configuration and masks of the user are not used. Needs numpy,
opencv-python-headless and ffmpeg.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

# Photos as they are, unless all are asked for; upright photos that are tilted and shrunk; clips that are timed, tilted
# and shrunk.
PHOTOS, MADE_PHOTOS, CLIPS = 40, 16, 3
# Frames of a clip that is timed, and of one that is shrunk.
TIMED_FRAMES, SHRUNK_FRAMES = 200, 90
# A clip that is tilted: frames in which it is upright at first, then degrees for each frame, up to the last tilt.
UPRIGHT_FRAMES, DEGREES_PER_FRAME = 15, 1
LAST_TILT = 180
# Degrees by which photos are tilted, and width of the bands in which frames of clips are counted.
TILT_STEP = 10
# Longer side in pixels of photos and frames that are tilted.
TILTED_SIDE = 320
# Width and height of the pictures in which faces are shrunk: those in which SNAP! was measured.
SHRUNK_SIZE = (480, 320)
# Widths of shrunk faces in pixels: of the labelled box, from brows to chin and from jaw to jaw.
WIDTHS = (64, 50, 40, 32, 25, 20, 16, 12, 10, 8)
# A tilt, a width or a yaw is reached if at least this share is found.
REACHED = 0.9
# Eye distances within which the middle of a face counts as found, and within which an eye or a mouth is right.
FOUND, RIGHT = 0.5, 0.25
# Degrees: photos whose eyes lean by more, or whose labelled yaw is larger, are neither tilted nor shrunk.
UPRIGHT = 10
# Grey level round pictures that do not fill theirs.
GREY = 128

# Levels of 255 by which a blend may be off its formula in the mean: coding halves the resolution of colours.
BLEND_ERROR = 5
# Correlation from which two pictures of a face, or edges and what is added to them, count as alike.
ALIKE = 0.3
# Share of the full change from one pixel to the next, below which make-up has soft edges; flat paint has 0.4 here,
# since the change is blurred by one pixel.
SOFT = 0.25
# Times that the channels' means come closer by white balance, and that a tint makes its channel stronger.
BALANCED, TINTED = 3, 1.1
# Eye distances that a picture between the corners of the mouth covers at least, and levels by which it must differ.
DRAWN_SIZE, DRAWN_LEVELS = 0.2, 20
# Pixels: the side of each half of the picture in which two people exchange faces, and the distance of their eyes.
HALF_SIDE, HALF_EYES = 400, 90
# The inner face: half its width and height in eye distances.
INNER_FACE = (0.7, 0.9)

POINTS = ("right_eye", "left_eye", "nose", "mouth")


class Guise:
    """The program, with a configuration of its own, so that nobody's masks and settings count."""

    def __init__(self, program, home):
        self.program, self.home = program, home
        self.environment = dict(os.environ, XDG_CONFIG_HOME=str(home))
        self.masks = home / "guise" / "Masks"

    def run(self, *arguments):
        """What the program prints, and the CPU seconds that it took with its children."""
        def spent():
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            return usage.ru_utime + usage.ru_stime

        before = spent()
        command = [self.program, *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"guise {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout, spent() - before

    def track(self, path):
        """The faces of each frame, and the CPU seconds for all of them."""
        text, seconds = self.run("track", path, "--json")
        return [json.loads(line)["faces"] for line in text.splitlines()], seconds

    def track_picture(self, picture):
        """The faces in a picture in memory."""
        path = self.home / "picture.png"
        cv2.imwrite(str(path), picture)
        return self.track(path)[0][0]

    def bench(self, path, frames):
        """CPU milliseconds of each stage of each frame, with the Santa mask."""
        return json.loads(self.run("bench", path, "--json", "--mask", "santa", "--frames", frames)[0])["milliseconds"]

    def wear(self, picture, name, layers, art=()):
        """The picture with a mask of these layers on; `art` are its pictures by name."""
        folder = self.masks / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mask.json").write_text(json.dumps({"version": 1, "layers": layers}))
        for file, pixels in dict(art).items():
            cv2.imwrite(str(folder / file), pixels)
        source, output = self.home / "before.png", self.home / "after.png"
        cv2.imwrite(str(source), picture)
        self.run("masks", name)
        self.run("apply", source, "-o", output, "--mask", name, "--overwrite")
        return cv2.imread(str(output))


def points_of(face):
    """Right eye, left eye, nose and mouth in pixels, 4 x 2, or None if one of them is unknown."""
    face = face.get("points", face)
    return np.array([face[name] for name in POINTS], float) if all(face.get(name) for name in POINTS) else None


def eye_distance(points):
    """The distance between the eyes, in pixels."""
    return np.linalg.norm(points[1] - points[0])


def nose_offset(points):
    """How far the nose is beside the middle of the eyes, along the line of the eyes, in eye distances."""
    eyes = points[1] - points[0]
    return abs(float((points[2] - points[:2].mean(0)) @ eyes / (eyes @ eyes)))


def match(wanted, faces):
    """For each labelled face its nearest found one that is no one else's, or None; cats do not count."""
    free, matched = [face for face in faces if face["kind"] == "human"], []
    for points in wanted:
        middles = [np.linalg.norm(points_of(face).mean(0) - points.mean(0)) / eye_distance(points) for face in free]
        best = int(np.argmin(middles)) if middles else None
        matched.append(free.pop(best) if best is not None and middles[best] < FOUND else None)
    return matched


def judge(points, face):
    """Whether both eyes are right, and whether the mouth is."""
    if face is None:
        return False, False
    errors = np.linalg.norm(points_of(face) - points, axis=1) / eye_distance(points)
    return bool(errors[:2].max() < RIGHT), bool(errors[3] < RIGHT)


def read_frames(path, count):
    """Up to `count` frames of a clip."""
    clip, frames = cv2.VideoCapture(str(path)), []
    while len(frames) < count:
        is_read, frame = clip.read()
        if not is_read:
            break
        frames.append(frame)
    return frames


def write_frames(path, frames):
    """Writes a clip of 30 frames a second."""
    height, width = frames[0].shape[:2]
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "bgr24", "-s", f"{width}x{height}", "-r",
               "30", "-i", "-", "-pix_fmt", "yuv420p", "-crf", "14", str(path)]
    subprocess.run(command, input=b"".join(frame.tobytes() for frame in frames), check=True)


def place(picture, points, about, scale, tilt, size):
    """The picture, scaled and tilted by degrees about a place, which is then in the middle of a grey picture of
    width x height; and the points there."""
    small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else picture
    scale = min(scale, 1)
    middle = about * scale
    matrix = cv2.getRotationMatrix2D(tuple(middle), tilt, 1)
    matrix[:, 2] += np.array(size) / 2 - middle
    placed = cv2.warpAffine(small, matrix, size, flags=cv2.INTER_LINEAR, borderValue=(GREY,) * 3)
    return placed, points * scale @ matrix[:, :2].T + matrix[:, 2]


def round_size(picture, about, scale):
    """The even side in pixels of a square that holds the whole scaled picture, however it is tilted about a place."""
    height, width = picture.shape[:2]
    corners = np.array([[0, 0], [width, 0], [0, height], [width, height]])
    return (2 * int(np.ceil(np.linalg.norm(corners - about, axis=1).max() * scale)),) * 2


def percent(share):
    """A share as text; a dash for none."""
    return "–" if np.isnan(share) else f"{100 * share:.0f} %"


def share(values):
    """The share that is true; not a number if there are none."""
    return float(np.mean(values)) if len(values) else float("nan")


def series(values):
    """Steps with the share found at each, as text."""
    return ", ".join(f"{step}: {percent(found)}" for step, found in values.items())


def reached(shares):
    """The last step before the first that fewer than `REACHED` reach, or None."""
    last = None
    for step, found in shares.items():
        if not found >= REACHED:
            break
        last = step
    return last


def say(text):
    """Tells how far the program is, on standard error."""
    print(text, file=sys.stderr, flush=True)


class Photo:
    """A labelled photo: its picture, the points of its faces, their widths and labelled yaws."""

    def __init__(self, data, name, label):
        self.path, self.is_complete = data / name, label["complete"]
        faces = [(points_of(face), face) for face in label["faces"]]
        self.points = [points for points, _ in faces if points is not None]
        self.widths = [face["box"][2] for points, face in faces if points is not None]
        self.yaws = [face.get("yaw_deg") for points, face in faces if points is not None]

    @property
    def picture(self):
        """The pixels, in colour."""
        return cv2.imread(str(self.path), cv2.IMREAD_COLOR)

    @property
    def is_upright(self):
        """Whether there is one face, which neither leans nor is known to be turned."""
        if len(self.points) != 1:
            return False
        x, y = self.points[0][1] - self.points[0][0]
        return abs(np.degrees(np.arctan2(y, x))) < UPRIGHT and abs(self.yaws[0] or 0) < UPRIGHT


def measure_photos(guise, photos):
    """Times, faces, eyes and mouths of photos as they are."""
    seconds, found, eyes, mouths, photo_eyes, photo_mouths, extra, cats, complete = [], [], [], [], [], [], 0, 0, 0
    for photo in photos:
        frames, cost = guise.track(photo.path)
        matched = match(photo.points, frames[0])
        seconds.append((len(photo.points), cost))
        found += [face is not None for face in matched]
        rights = [judge(points, face) for points, face in zip(photo.points, matched)]
        eyes += [eye for eye, _ in rights]
        mouths += [mouth for _, mouth in rights]
        photo_eyes.append(all(eye for eye, _ in rights))
        photo_mouths.append(all(mouth for _, mouth in rights))
        cats += sum(face["kind"] == "cat" for face in frames[0])
        if photo.is_complete:
            complete += 1
            extra += len(frames[0]) - sum(face is not None for face in matched)
    return {"seconds": seconds, "found": found, "eyes": eyes, "mouths": mouths, "photo_eyes": photo_eyes,
            "photo_mouths": photo_mouths, "extra": extra, "complete": complete, "cats": cats}


def tilt_photos(guise, photos):
    """The share of the faces found upright that are found at each tilt, and how many those are. Every second photo
    leans to the other side. Ends where few are left."""
    shares, upright = {}, []
    for tilt in range(0, LAST_TILT + TILT_STEP, TILT_STEP):
        found = []
        for index, photo in enumerate(photos if tilt == 0 else upright):
            picture = photo.picture
            scale = TILTED_SIDE / max(picture.shape[:2])
            about = photo.points[0].mean(0)
            size = round_size(picture, about, min(scale, 1))
            placed, points = place(picture, photo.points[0], about, scale, tilt * (-1) ** index, size)
            found.append(match([points], guise.track_picture(placed))[0] is not None)
        if tilt == 0:
            upright = [photo for photo, is_found in zip(photos, found) if is_found]
            continue
        shares[tilt] = share(found)
        if not shares[tilt] >= REACHED / 2:
            break
    return shares, len(upright)


def shrink_photos(guise, photos):
    """The share of the faces found at full size that are found at each width in pixels, and the number of faces."""
    shares = {}
    photos = [photo for photo in photos if match(photo.points, guise.track(photo.path)[0][0])[0] is not None]
    for width in WIDTHS:
        found = []
        for photo in photos:
            about, scale = photo.points[0].mean(0), width / photo.widths[0]
            placed, points = place(photo.picture, photo.points[0], about, scale, 0, SHRUNK_SIZE)
            found.append(match([points], guise.track_picture(placed))[0] is not None)
        shares[width] = share(found)
        if not shares[width] >= REACHED / 2:
            break
    return shares, len(photos)


class LabelledClip:
    """A clip of one person: its entry in the index, and the points and widths of each frame, or None."""

    def __init__(self, data, item):
        label = json.loads((data / item["annotations"]).read_text())
        self.path, self.name, self.frames = data / item["name"], Path(item["name"]).stem, item["frames"]
        self.size, skipped = (item["width"], item["height"]), set()
        for first, last in label.get("ignore_frames") or []:
            skipped.update(range(first, last + 1))
        faces = [frame[0] if len(frame) == 1 and time not in skipped else None
                 for time, frame in enumerate(label["frames"])]
        self.points = [points_of(face) if face else None for face in faces]
        self.width = float(np.median([face["box"][2] for face in faces if face and face.get("box")] or [0]))

    def middle(self, count):
        """The middle of the face in the mean of the first frames, in pixels."""
        return np.mean([points.mean(0) for points in self.points[:count] if points is not None], axis=0)


def follow_clips(guise, clips):
    """For each labelled face: whether it is found, whether eyes and mouth are right, its yaw in degrees as Guise
    reports it (0 if not found), and the offset of its labelled nose."""
    rows = []
    for clip in clips:
        for points, faces in zip(clip.points, guise.track(clip.path)[0]):
            if points is not None:
                face = match([points], faces)[0]
                rows.append((face is not None, all(judge(points, face)), abs(face["pose"]["yaw"]) if face else 0,
                             nose_offset(points)))
    return rows


def tilt_clips(guise, clips):
    """The share of frames in which a face that leans more and more is found, for each band of tilts, by its end."""
    tilts, founds = [], []
    for clip in clips:
        frames = read_frames(clip.path, UPRIGHT_FRAMES + LAST_TILT // DEGREES_PER_FRAME)
        scale = min(1, TILTED_SIDE / max(clip.size))
        about = clip.middle(len(frames))
        size = round_size(frames[0], about, scale)
        placed, wanted = [], []
        for time, (frame, points) in enumerate(zip(frames, clip.points)):
            tilt = max(0, time - UPRIGHT_FRAMES + 1) * DEGREES_PER_FRAME
            picture, moved = place(frame, about if points is None else points, about, scale, tilt, size)
            placed.append(picture)
            wanted.append(None if points is None else (tilt, moved))
        path = guise.home / "tilted.mp4"
        write_frames(path, placed)
        for want, faces in zip(wanted, guise.track(path)[0]):
            if want:
                tilts.append(want[0])
                founds.append(match([want[1]], faces)[0] is not None)
    tilts, founds = np.array(tilts), np.array(founds)
    bands = range(TILT_STEP, LAST_TILT + TILT_STEP, TILT_STEP)
    return {end: share(founds[(tilts > end - TILT_STEP) & (tilts <= end)]) for end in bands}


def shrink_clips(guise, clips):
    """The share of frames in which shrunk faces are found, of those in which they are at full size, for each width."""
    shares, full = {}, {}
    for clip in clips:
        faces = guise.track(clip.path)[0][:SHRUNK_FRAMES]
        full[clip.name] = [points is not None and match([points], found)[0] is not None
                           for points, found in zip(clip.points, faces)]
    for width in WIDTHS:
        found = []
        for clip in clips:
            if width > clip.width:
                continue
            placed, wanted, about = [], [], clip.middle(SHRUNK_FRAMES)
            for frame, points in zip(read_frames(clip.path, SHRUNK_FRAMES), clip.points):
                picture, moved = place(frame, about if points is None else points, about, width / clip.width, 0,
                                       SHRUNK_SIZE)
                placed.append(picture)
                wanted.append(moved)
            path = guise.home / "shrunk.mp4"
            write_frames(path, placed)
            for points, faces, is_found in zip(wanted, guise.track(path)[0], full[clip.name]):
                if is_found:
                    found.append(match([points], faces)[0] is not None)
        shares[width] = share(found)
        if not shares[width] >= REACHED / 2:
            break
    return shares


def measure_cats(guise, data, items):
    """Of the labelled cats: found, found and called a person, and all."""
    found = called = total = 0
    labels = json.loads((data / "annotations/cats.json").read_text())
    for item in items:
        faces = guise.track(data / item["name"])[0][0]
        for label in labels[item["name"]]["faces"]:
            want = np.array([label[name] for name in POINTS[:3]], float)
            total += 1
            near = {face["kind"] for face in faces
                    if np.linalg.norm(points_of(face)[:3].mean(0) - want.mean(0)) < FOUND * eye_distance(want)}
            found += "cat" in near
            called += "human" in near
    return found, called, total


def inner_face(picture, points):
    """A mask of the inner face: an ellipse, 255 inside."""
    mask = np.zeros(picture.shape[:2], np.uint8)
    distance = eye_distance(points)
    middle, axes = (tuple(int(value) for value in pair) for pair in (points.mean(0), np.multiply(INNER_FACE, distance)))
    cv2.ellipse(mask, middle, axes, 0, 0, 360, 255, -1)
    return mask


def likeness(picture, other, points):
    """The correlation of grey levels in the inner face, -1 to 1."""
    inside = inner_face(picture, points) > 0
    a, b = (cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)[inside].astype(float) for image in (picture, other))
    return float(np.corrcoef(a, b)[0, 1])


def onto(picture, points, target, target_points):
    """A picture warped by an affine map of eyes and mouth onto the face of another."""
    matrix = cv2.getAffineTransform(points[[0, 1, 3]].astype(np.float32), target_points[[0, 1, 3]].astype(np.float32))
    return cv2.warpAffine(picture, matrix, target.shape[1::-1])


def check_features(guise, first, second):
    """What Guise does to pictures, tried on two photos of one face each: a text for each feature."""
    wearer, other = first.picture, second.picture
    points, theirs = first.points[0], second.points[0]
    result = {}

    def is_yes(condition, figures):
        return f"{'yes' if condition else 'no'} ({figures})"

    color = np.array([60, 120, 200], float)
    plain = np.full((32, 32, 3), color, np.uint8)
    a = wearer.astype(float)
    rules = {"average": (a + color) / 2, "multiply": a * color / 255, "screen": 255 - (255 - a) * (255 - color) / 255}
    errors = {}
    for mode, expected in rules.items():
        layer = {"kind": "effect", "mode": mode, "art": "plain.png"}
        errors[mode] = np.abs(guise.wear(wearer, mode, [layer], {"plain.png": plain}) - expected).mean()
    result["blends"] = is_yes(max(errors.values()) < BLEND_ERROR, "mean error against the formula: " + ", ".join(
        f"{mode} {error:.1f}" for mode, error in errors.items()) + " of 255 levels")

    after = guise.wear(wearer, "display", [{"kind": "effect", "mode": "hud", "color": "#b8ff3c"}]).astype(float)
    grey = cv2.cvtColor(wearer, cv2.COLOR_BGR2GRAY)
    edges = np.abs(cv2.Laplacian(cv2.GaussianBlur(grey, (0, 0), 1.5).astype(float), cv2.CV_64F))
    # What is green beyond the tinted picture, which is a straight line of the grey levels.
    line = np.polyfit(grey.ravel(), after[..., 1].ravel(), 1)
    added = after[..., 1] - np.polyval(line, grey)
    likeness_of_edges = np.corrcoef(*(cv2.GaussianBlur(image, (0, 0), 2).ravel() for image in (edges, added)))[0, 1]
    blue, green, red = (after - wearer).mean(axis=(0, 1))
    result["hud"] = is_yes(likeness_of_edges > ALIKE and green > max(red, blue),
                           f"what is added to the tinted picture correlates with its edges by {likeness_of_edges:.2f}")

    pins = [{"art": theirs[POINTS.index(name)].tolist(), "face": name} for name in ("right_eye", "left_eye", "mouth")]
    layer = {"kind": "faceblend", "mode": "multiply", "art": "other.png", "pins": pins}
    after = guise.wear(wearer, "merged", [layer], {"other.png": np.dstack([other, inner_face(other, theirs)])})
    warped = onto(other, theirs, wearer, points)
    own, foreign = likeness(after, wearer, points), likeness(after, warped, points)
    before = likeness(wearer, warped, points)
    result["merge"] = is_yes(own > ALIKE and foreign > before,
                             f"correlation with the wearer {own:.2f}, with the portrait {before:.2f} before and "
                             f"{foreign:.2f} after")

    halves, places = [], []
    for index, (picture, face) in enumerate(((wearer, points), (other, theirs))):
        scale = min(1, HALF_EYES / eye_distance(face))
        half, moved = place(picture, face, face.mean(0), scale, 0, (HALF_SIDE,) * 2)
        halves.append(half)
        places.append(moved + (index * HALF_SIDE, 0))
    pair = np.hstack(halves)
    after = guise.wear(pair, "swapped", [{"kind": "swap"}])
    pictures = [onto(pair, places[1 - index], pair, places[index]) for index in range(2)]
    old = [likeness(pair, picture, place) for picture, place in zip(pictures, places)]
    new = [likeness(after, picture, place) for picture, place in zip(pictures, places)]
    result["swap"] = is_yes(min(new) > max(ALIKE, *old),
                            f"correlation with the other's face {old[0]:.2f} and {old[1]:.2f} before, {new[0]:.2f} and "
                            f"{new[1]:.2f} after")

    palette = {"lips": "#c01030", "shadow": "#3040c0", "blush": "#e04060"}
    texts, softest = [], 0
    for kind in palette:
        layer = {"kind": "makeup", "palettes": {"one": palette}, "palette": "one", kind: {"strength": 1}}
        difference = (guise.wear(wearer, f"makeup-{kind}", [layer]).astype(np.float32) - wearer)
        change = cv2.GaussianBlur(np.abs(difference).max(axis=2), (0, 0), 1)
        steepest = np.hypot(*np.gradient(change)).max() / change.max()
        softest = max(softest, steepest)
        texts.append(f"{kind} {100 / (steepest * eye_distance(points)):.0f} %")
    result["make-up"] = is_yes(softest < SOFT, "the steepest edge takes, of an eye distance: " + ", ".join(texts))

    cast = np.clip(a * (1.3, 1, 0.7), 0, 255).astype(np.uint8)
    after = guise.wear(cast, "balance", [{"kind": "effect", "mode": "white balance"}])
    spreads = [np.ptp(picture.mean(axis=(0, 1))) for picture in (cast, after)]
    result["white balance"] = is_yes(spreads[1] < spreads[0] / BALANCED,
                                     "the channels' means of a photo with a blue cast are "
                                     f"{spreads[0]:.0f} levels apart before and {spreads[1]:.0f} after")

    after = guise.wear(wearer, "red", [{"kind": "effect", "mode": "tint", "color": "#ff0000"}])
    red = [float(picture.mean(axis=(0, 1))[2] / picture.mean()) for picture in (wearer, after)]
    result["tint"] = is_yes(red[1] > red[0] * TINTED,
                            f"red is {red[0]:.2f} of the mean level before, {red[1]:.2f} after")

    layers = [{"kind": "sprite", "art": f"{index}.png", "on": {"draw": index + 1, "of": 3},
               "pins": [{"art": [0, 16], "face": "mouth_right"}, {"art": [31, 16], "face": "mouth_left"}]}
              for index in range(3)]
    art = {f"{index}.png": np.full((32, 32, 3), shade, np.uint8) for index, shade in enumerate((0, 128, 255))}
    after = guise.wear(wearer, "drawn", layers, art).astype(float)
    x, y = points[3].astype(int)
    levels = after[y - 2:y + 3, x - 2:x + 3].mean()
    size = np.count_nonzero(np.abs(after - wearer).max(axis=2) > DRAWN_LEVELS) ** 0.5 / eye_distance(points)
    result["landmarks"] = is_yes(size > DRAWN_SIZE,
                                 "a picture between the corners of the mouth, one of three at random: "
                                 f"{size:.2f} eye distances wide, level {levels:.0f}")
    return result


def main(program, data, is_all):
    """Measures everything, and prints two tables and the series behind them."""
    random = np.random.default_rng(7)
    items = json.loads((data / "index.json").read_text())
    labels = json.loads((data / "annotations/photos.json").read_text())
    everything = [Photo(data, name, label) for name, label in sorted(labels.items())]
    order = [everything[index] for index in random.permutation(len(everything))]
    photos = order if is_all else order[:PHOTOS]
    made = [photo for photo in order if photo.is_upright and photo.widths[0] >= WIDTHS[0]][:MADE_PHOTOS]
    turned = sorted((photo for photo in everything if photo.yaws and photo.yaws[0] is not None),
                    key=lambda photo: abs(photo.yaws[0]))
    clips = [LabelledClip(data, item) for item in items
             if item["type"] == "video" and item["kind"] == "face" and item["faces"] == 1]
    long = [clip for clip in clips if clip.frames >= UPRIGHT_FRAMES + LAST_TILT / DEGREES_PER_FRAME
            and sum(points is not None for points in clip.points) > clip.frames * REACHED
            and not clip.name.startswith("derived")]
    chosen = [long[index] for index in random.choice(len(long), CLIPS, replace=False)]
    program = str(Path(program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        guise = Guise(program, Path(folder))
        say(f"{len(photos)} photos")
        still = measure_photos(guise, photos)
        say("cats")
        cats = measure_cats(guise, data, [item for item in items if item["type"] == "cat"])
        say("photos with a labelled yaw")
        yaw_labels = []
        for photo in turned:
            face = match(photo.points, guise.track(photo.path)[0][0])[0]
            state = "not found" if face is None else "right" if all(judge(photo.points[0], face)) else "not right"
            yaw_labels.append((abs(photo.yaws[0]), state))
        say("tilted photos")
        tilts, upright = tilt_photos(guise, made)
        say("shrunk photos")
        widths, shrunk = shrink_photos(guise, made)
        say(f"costs of {', '.join(clip.name for clip in chosen)}")
        costs = [guise.bench(clip.path, TIMED_FRAMES) for clip in chosen]
        say("tilted clips")
        clip_tilts = tilt_clips(guise, chosen)
        say("shrunk clips")
        clip_widths = shrink_clips(guise, chosen)
        say(f"{len(clips)} clips")
        followed = follow_clips(guise, clips)
        say("features")
        features = check_features(guise, *sorted(made, key=lambda photo: -eye_distance(photo.points[0]))[:2])
        worn = {line.split()[0] for line in guise.run("masks")[0].splitlines()}

    def named(*names):
        missing = [name for name in names if name not in worn]
        return "no: " + ", ".join(missing) if missing else "yes: " + ", ".join(f"`{name}`" for name in names)

    # The nose stands out by this many eye distances, by the photos with a labelled yaw; so its offset tells a turn.
    depth = np.median([nose_offset(photo.points[0]) / np.tan(np.radians(abs(photo.yaws[0]))) for photo in turned
                       if abs(photo.yaws[0]) > UPRIGHT])
    clip_found = [is_found for is_found, _, _, _ in followed]
    turns = [(np.degrees(np.arctan(offset / depth)), is_right) for _, is_right, _, offset in followed]
    bands = {end: [is_right for turn, is_right in turns if end - TILT_STEP <= turn < end]
             for end in range(TILT_STEP, 90 + TILT_STEP, TILT_STEP)}
    bands = {end: values for end, values in bands.items() if values}
    right_by_turn = {end: share(values) for end, values in bands.items()}
    largest = max(turn for turn, is_right in turns if is_right)
    reported = max(yaw for _, is_right, yaw, _ in followed if is_right)
    tracking, whole = (", ".join(f"{values[name]['median']:.2f}" for values in costs)
                       for name in ("tracking", "whole frame"))
    firsts = ", ".join(f"{values['tracking']['each'][0]:.0f}" for values in costs)
    one = [seconds for faces, seconds in still["seconds"] if faces == 1]
    many = [seconds for faces, seconds in still["seconds"] if faces >= 4]
    sizes = ", ".join("{}x{}".format(*clip.size) for clip in chosen)
    found, faces = sum(still["found"]), len(still["found"])

    rows = [
        ("Phone port", "milliseconds a frame, one face", "5000 to 15000 at first, then about 120 (256x256, a phone)",
         f"{tracking} to track, {whole} with a hat and a beard drawn ({sizes})"),
        ("Phone port", "first frame, before anything is known", "23 passes over the picture",
         f"{firsts} ms to track"),
        ("SNAP!", "seconds for a whole photo", "1.5 (one face) to 2.3 (four)",
         f"{np.median(one):.2f} CPU s (one face), {np.median(many) if many else float('nan'):.2f} (four or more, "
         f"photos: {len(many)})"),
        ("SNAP!", "tilt in the plane, photos", "24 to 25°", f"{reached(tilts)}° ({upright} faces)"),
        ("SNAP!", "tilt in the plane, clips that lean more and more", "–",
         f"{reached(clip_tilts)}° (tried up to {LAST_TILT}°)"),
        ("SNAP!", "turn of the head, clips", "50 to 60°",
         f"{largest:.0f}° at most with eyes and mouth right, 90 % right up to {reached(right_by_turn)}°; Guise "
         f"itself reports {reported:.0f}° at most"),
        ("SNAP!", "turn of the head, photos with a labelled yaw", "50 to 60°", "eyes and mouth right at " + ", ".join(
            f"{yaw:.0f}°" for yaw, state in yaw_labels if state == "right") + "; not at " + ", ".join(
                f"{yaw:.0f}°" for yaw, state in yaw_labels if state != "right")),
        ("SNAP!", "smallest face, photos", "50 pixels in 320x480",
         f"{reached(widths)} pixels in 480x320 ({shrunk} faces)"),
        ("SNAP!", "smallest face, clips", "–", f"{reached(clip_widths)} pixels in 480x320"),
        ("SNAP!", "faces found, photos", "56 of 56", f"{found} of {faces} ({percent(found / faces)}); "
         f"{still['extra']} other finds in {still['complete']} photos"),
        ("SNAP!", "faces found, frames of clips", "–",
         f"{sum(clip_found)} of {len(clip_found)} ({100 * share(clip_found):.1f} %)"),
        ("FaceLook", "both eyes right", "53 % of photos",
         f"{percent(share(still['photo_eyes']))} of photos, {percent(share(still['eyes']))} of faces"),
        ("FaceLook", "mouth right", "27 % of photos, and nothing else",
         f"{percent(share(still['photo_mouths']))} of photos, {percent(share(still['mouths']))} of faces"),
        ("ManyMasks", "cats", "found, no figure", f"{cats[0]} of {cats[2]} found, {cats[1]} called people; "
         f"cats seen in {len(photos)} photos of people: {still['cats']}"),
    ]
    print("| System | Figure | Theirs | Guise |\n| --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print("\n| Feature | Tried |\n| --- | --- |")
    tried = [
        ("hats: Christmas, English, witch, safety helmet", named("santa-hat", "bowler", "witch", "safety-helmet")),
        ("stamps, frames, text, colour filters", named("polaroid", "name-tag", "tint")),
        ("lipstick, eye shadow, blush, with soft edges", features["make-up"]),
        ("merges two faces by multiplication", features["merge"]),
        ("exchanges two faces", features["swap"]),
        ("average, multiply, screen", features["blends"]),
        ("HUD", features["hud"]),
        ("grey-world white balance", features["white balance"]),
        ("colour tint", features["tint"]),
        ("a picture on each landmark, drawn at random", features["landmarks"]),
        ("hat, beard, moustache", named("santa", "santa-hat", "santa-beard", "chevron")),
    ]
    for row in tried:
        print("| " + " | ".join(row) + " |")
    print(f"\nphotos found by tilt in degrees: {series(tilts)}")
    print(f"frames found by tilt up to degrees: {series(clip_tilts)}")
    print(f"photos found by width in pixels: {series(widths)}")
    print(f"frames found by width in pixels: {series(clip_widths)}")
    print("eyes and mouth right in clips by turn up to degrees: " + ", ".join(
        f"{end}: {percent(share(values))} of {len(values)}" for end, values in bands.items()))
    print(f"photos by labelled yaw in degrees: {', '.join(f'{yaw:.0f}: {state}' for yaw, state in yaw_labels)}")
    print(f"clips: {', '.join(clip.name for clip in chosen)}")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--all"]):
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]), bool(sys.argv[3:]))
