#!/usr/bin/env python3
"""Counts faces that `pixelate` leaves bare after cuts and turns, where people come into an empty room, and where a
camera stutters; and the frames until other masks are on somebody who comes in.

    scenes.py cuts GUISE DATA [PAIRS]        two people before one wall and in one room, one after the other
    scenes.py turns GUISE DATA               clips that are turned by 90, -90 and 180 degrees, from the start
    scenes.py returns GUISE DATA [FOLDER]    somebody comes into an empty room, leaves, and comes again
    scenes.py arrivals GUISE DATA [FOLDER]   the same clips: frames from coming in until a mask is on the face
    scenes.py stutters GUISE DATA [FOLDER]   the picture stands still, then goes on with the person elsewhere

DATA is the labelled data. People are cut out of its clips with backgrounds, which need the model of the outline. What
is bare is as in newcomers.py. The eyes are where `guise track` finds them in the clip by itself, upright; of returns,
arrivals and stutters, where they are labelled. FOLDER keeps the clips of these, and one that has them is not made
again, so that several programs can be compared; `newcomers.py score` reads it too. Needs numpy, opencv-python-headless
and ffmpeg.
"""
import itertools
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

from newcomers import Clip, is_bare, read_frames, read_labels

# People who sit before a camera, one in each clip.
CLIPS = ("lp_d0 lp_d3 lp_d6 lp_d11 lp_d12 lp_d13 lp_d19 lp_s18 asl_help asl_brother clm_franck dlib_elon "
         "intelprev_head-pose-face-detection-male intelprev_head-pose-face-detection-female").split()
WIDTH, HEIGHT = 640, 360
# Frames of a clip: before and after a cut, and more than the two seconds in which an empty room isn't shown yet.
CUT_FRAMES, TURN_FRAMES = 40, 90
TURNS = {90: "transpose=1", -90: "transpose=2", 180: "vflip,hflip"}

# Who comes in, each in one clip; in five folds.
PEOPLE = ("lp_d0 lp_d3 lp_d6 lp_d11 lp_d12 lp_d19 lp_s18 lp_s20 asl_help asl_learn asl_bird clm_cap12 clm_franck "
          "dlib_elon sad_hill vr_1 vr_2 intelprev_head-pose-face-detection-male "
          "intelprev_head-pose-face-detection-female").split()
FOLDS = 5
# How far they are cut out to both sides of the face's middle, in eye distances.
ARMS = 4.5
# Sizes of the picture, and widths of faces in it, in pixels: twice the distance of the eyes. Smaller ones than the
# last are not labelled.
SIZES = {(WIDTH, HEIGHT): (30, 60, 100, 150), (1280, 720): (30, 60, 150)}
SMALLEST, LARGEST = 20, 150
# The smallest face that decorative masks search for, as a share of the picture's height (`faces.minSize`).
MIN_FACE = 0.05
# Still pictures of rooms, and the standard deviation of the camera's noise in grey levels.
ROOMS = "building.jpg home.jpg leuvenA.jpg stuff.jpg".split()
OWN_ROOMS = Path(__file__).resolve().parents[1] / "Masks" / "background-picture"
NOISE = 2
# Ways of coming in, and in how many frames. Frames of the empty room before, of staying, and until the person comes
# again. In the last second before anybody has come, no frame should be withheld; afterwards the two seconds are that a
# room without faces isn't shown.
WAYS, STEPS = ("left", "right", "below", "afar"), (12, 25)
EMPTY, STAY, AWAY, SECOND = 105, 20, 120, 30
# Frames before the first stutter, in which the picture stands still, and after it; how far the person is then, in
# widths of a head, which is 1.2 times as wide as its face.
CALM, STILL, AFTER, JUMPS, HEAD = 45, (9, 18, 30), 25, (0.5, 1, 1.5, 2), 1.2
# As webcams send frames. Those that stand still stay the same.
ENCODING = "-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", "yuvj420p"
# Clips with stutters of each size of the picture and the face.
STUTTERS = 5


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


def cover(guise, clip, folder):
    """A clip's frames before and after `pixelate`, in grey, and how many were withheld."""
    # Unencoded, which takes less time.
    masked = folder / "masked.yuv"
    report = subprocess.run([guise, "apply", clip, "-o", masked, "--overwrite", "--mask", "pixelate"], check=True,
                            capture_output=True, text=True).stderr
    frames = read_frames(clip, color=0)
    height, width = frames[0].shape
    # Luma comes first.
    luma = np.fromfile(masked, np.uint8).reshape(len(frames), -1)[:, :height * width]
    published = luma.reshape(-1, height, width)
    withheld = re.search(r"(\d+) of \d+ frames were covered completely", report)
    return frames, published, int(withheld[1]) if withheld else 0


def count_bare(guise, clip, eyes, first, folder):
    """Frames from `first` on in which the face is bare."""
    frames, published, _ = cover(guise, clip, folder)
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


class Person:
    """Somebody who is cut out of a labelled clip, from arm to arm."""

    def __init__(self, data, item):
        self.source, self.name = data / item["name"], Path(item["name"]).stem
        self.eyes = np.array([pairs[0] for pairs in read_labels(data, item)[:2 * max(STEPS) + STAY]])
        # Eyes are no farther apart than in the largest face.
        distance = np.median(np.linalg.norm(self.eyes[:, 0] - self.eyes[:, 1], axis=1))
        self.widest, self.scale = 2 * 1.5 * distance, min(1, LARGEST / 2 / distance)
        self.distance = distance * self.scale
        self.eyes *= self.scale
        self.frames = []

    def cut_out(self, guise, folder):
        """Makes the frames, with opacity as the fourth channel."""
        clip, cut, pictures = folder / "clip.mkv", folder / "cut.mkv", []
        convert(self.source, clip, f"scale=trunc(iw*{self.scale}/2)*2:-2,format=yuv420p", len(self.eyes))
        # Two backgrounds tell the opacity, and before the black one colours are multiplied by it.
        mask = folder / "guise" / "Masks" / "plain"
        mask.mkdir(parents=True, exist_ok=True)
        for color in ("#000000", "#ffffff"):
            layer = {"kind": "background", "mode": "color", "color": color}
            (mask / "mask.json").write_text(json.dumps({"version": 1, "layers": [layer]}))
            run("env", f"XDG_CONFIG_HOME={folder}", guise, "apply", clip, "-o", cut, "--overwrite", "--mask", "plain")
            pictures.append(read_frames(cut))
        middle = np.median(self.eyes, axis=(0, 1))
        first = max(0, int(middle[0] - ARMS * self.distance))
        area = np.s_[:, first:int(middle[0] + ARMS * self.distance)]
        self.eyes -= (first, 0)
        self.middle = middle - (first, 0)
        for black, white in zip(*pictures):
            opacity = 255 - np.mean(cv2.subtract(white, black)[area], axis=2)
            self.frames.append(np.dstack([black[area], np.where(opacity < 10, 0, opacity).astype(np.uint8)]))

    def paste(self, clip, time, number, width, place, shift=(0, 0)):
        """Pastes one frame: the face's width and the place between the eyes, in pixels.

        `shift` is how far it has come since the last frame, in half of which the shutter is open.
        """
        # The person's clip runs forth and back.
        last = len(self.frames) - 1
        number = last - abs(last - number % (2 * last))
        scale = width / 2 / self.distance
        left, top = (place - self.middle * scale).astype(int)
        # The body goes on below the person's own frame.
        body = int((len(clip.frames[time]) - top) / scale) + 1 - len(self.frames[number])
        whole = cv2.copyMakeBorder(self.frames[number], 0, max(0, body), 0, 0, cv2.BORDER_REPLICATE)
        whole = cv2.blur(whole, [max(1, int(abs(step) / 2 / scale)) for step in shift])
        clip.paste(time, whole, [self.eyes[number]] if width >= SMALLEST else [], scale, left, top)


def empty_room(path, size, frames):
    """A clip of a still picture."""
    picture = cv2.imread(str(path))
    scale = max(new / old for new, old in zip(size, picture.shape[1::-1]))
    picture = cv2.resize(picture, [int(np.ceil(side * scale)) for side in picture.shape[1::-1]],
                         interpolation=cv2.INTER_AREA)
    return Clip(picture[:size[1], :size[0]], frames)


def add_noise(clip, chance):
    noise = [np.rint(cv2.merge([chance.normal(0, NOISE, clip.frames[0].shape[:2])] * 3)) for _ in range(16)]
    noise = [(np.maximum(0, field).astype(np.uint8), np.maximum(0, -field).astype(np.uint8)) for field in noise]
    for time, frame in enumerate(clip.frames):
        brighter, darker = noise[time % len(noise)]
        clip.frames[time] = cv2.subtract(cv2.add(frame, brighter), darker)


def make_return(person, room, size, face, way, steps, chance):
    """Somebody comes in, stays, leaves, and comes again. Also the parts of the clip, by name."""
    visit = 2 * steps + STAY
    clip = empty_room(room, size, EMPTY + visit + AWAY + steps + STAY)
    parts = [(["room before the first visit"], EMPTY - SECOND, EMPTY),
             (["room before the second visit"], EMPTY + visit, EMPTY + visit + AWAY)]
    for name, start in (("first", EMPTY), ("second", EMPTY + visit + AWAY)):
        inside = chance.uniform((0.35, 0.35), (0.65, 0.5)) * size
        outside = {"right": (size[0] + ARMS / 2 * face, inside[1]), "below": (inside[0], size[1] + face)}.get(
            way, (-ARMS / 2 * face, inside[1]))
        # Nobody moves by more than half the width of the face in the mean frame, and everybody slows down.
        inside = outside + np.clip(inside - outside, -steps * face / 2, steps * face / 2)
        rest = (1 - np.arange(1, steps + 1) / steps) ** 2
        walk = [(face, inside + (outside - inside) * part) for part in rest]
        # Who comes from afar leaves at the left.
        entry = [(face * (1 - 0.85 * part), inside) for part in rest] if way == "afar" else walk
        places = (entry + walk[-1:] * STAY + walk[::-1])[:len(clip.frames) - start]
        last = places[0][1]
        for number, (width, place) in enumerate(places):
            person.paste(clip, start + number, number, width, place, place - last)
            last = place
        names = f"{way}, {steps} frames", f"{face} pixels", f"{size[0]}x{size[1]}", f"{name} visit", "all"
        parts.append((names, start, start + len(places)))
    add_noise(clip, chance)
    return clip, parts


def make_stutter(person, room, size, face, chance):
    """Somebody moves while the picture stands still. Also the parts of the clip after that, by name."""
    jumps = chance.permutation(JUMPS)
    still = [int(frames) for frames in chance.choice(STILL, len(jumps))]
    clip, parts = empty_room(room, size, CALM + sum(still) + AFTER * len(jumps)), []
    place, time = chance.uniform((0.3, 0.4), (0.7, 0.5)) * size, CALM
    repeated = []
    # The room alone is withheld, which score needs.
    for number in range(1, CALM):
        person.paste(clip, number, number, face, place)
    for jump, frames in zip(jumps, still):
        repeated += range(time, time + frames)
        time += frames
        # To the side with more room, and a little up or down.
        side = 1 if place[0] < size[0] / 2 else -1
        place = place + (side * jump * HEAD * face, chance.uniform(-0.3, 0.3) * face)
        for number in range(time, time + AFTER):
            person.paste(clip, number, number, face, place)
        names = f"by {jump:g} head widths", f"{frames} frames still", f"{face} pixels", f"{size[0]}x{size[1]}", "all"
        parts.append((names, time, time + AFTER))
        time += AFTER
    add_noise(clip, chance)
    for number in repeated:
        clip.frames[number], clip.labels[number] = clip.frames[number - 1], clip.labels[number - 1]
    return clip, parts


def make(what, guise, data, folder, temporary):
    """Writes the clips with their labels, unless they are there."""
    if (folder / "index.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(7)
    items = {item["name"]: item for item in json.loads((data / "index.json").read_text())}
    people = [Person(data, items[f"video/{name}.mp4"]) for name in PEOPLE]
    rooms = [data / "nonface" / name for name in ROOMS] + sorted(OWN_ROOMS.glob("*.jpg"))
    ways = itertools.product(WAYS, STEPS) if what == "returns" else [(number,) for number in range(STUTTERS)]
    plan = [(size, face, *way) for way in ways for size, faces in SIZES.items() for face in faces]
    used, index = {person: 0 for person in people}, [None] * len(plan)
    for number in chance.permutation(len(plan)):
        size, face, *rest = plan[number]
        # Who has the fewest clips, and isn't blurred at that size.
        person = min((person for person in people if face <= person.widest), key=used.get)
        used[person] += 1
        if not person.frames:
            person.cut_out(guise, temporary)
        room = rooms[chance.integers(len(rooms))]
        if what == "returns":
            clip, parts = make_return(person, room, size, face, *rest, chance)
        else:
            clip, parts = make_stutter(person, room, size, face, chance)
        name = "-".join(str(word) for word in (what[0], size[1], face, *rest, person.name))
        index[number] = {**clip.write(folder, name, 30, *ENCODING), "parts": parts,
                         "fold": people.index(person) % FOLDS}
    (folder / "index.json").write_text(json.dumps(index))


def score(guise, folder, temporary):
    """Prints bare faces and frames withheld of each clip, then of all its parts by their names."""
    table = {}
    for item in json.loads((folder / "index.json").read_text()):
        frames, published, count = cover(guise, folder / item["name"], temporary)
        # The first frame shows a room without people, so it is withheld: this is the placeholder.
        withheld = [cv2.absdiff(shown, published[0]).mean() < 1 for shown in published]
        assert sum(withheld) == count
        faces = read_labels(folder, item)
        bare = [sum(is_bare(frame, shown, pair) for pair in pairs)
                for frame, shown, pairs in zip(frames, published, faces)]
        print(f"{item['name']}: {sum(bare)} of {sum(map(len, faces))} faces bare, {count} of {len(frames)} frames "
              "withheld", flush=True)
        for names, first, last in item["parts"]:
            counts = sum(bare[first:last]), sum(map(len, faces[first:last])), sum(withheld[first:last]), last - first
            for column, name in enumerate(names):
                table.setdefault((column, name), np.zeros((FOLDS, 4), int))[item["fold"]] += counts
    print(f"{'':28}{'bare':>6}{'faces':>7}{'%':>7}{'worst fold, %':>15}{'withheld':>10}{'frames':>8}")
    for (_, name), folds in sorted(table.items(), key=lambda row: row[0][0]):
        bare, faces, withheld, frames = folds.sum(axis=0)
        worst = max(100 * fold[0] / max(1, fold[1]) for fold in folds)
        print(f"{name:28}{bare:6}{faces:7}{100 * bare / max(1, faces):7.2f}{worst:15.2f}{withheld:10}{frames:8}")


def measure_arrivals(guise, folder):
    """Prints for each kind of visit how many frames with a labelled face are over before `guise track` has found it."""
    table = {}
    for item in json.loads((folder / "index.json").read_text()):
        # Smaller ones than this are searched for only to be hidden.
        if int(item["name"].split("-")[2]) < MIN_FACE * item["height"]:
            continue
        lines = subprocess.run([guise, "track", folder / item["name"], "--json"], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        labels = read_labels(folder, item)
        found = [any(in_box(pair.mean(axis=0), face["box"]) for pair in pairs for face in json.loads(line)["faces"])
                 for pairs, line in zip(labels, lines)]
        for names, first, last in item["parts"]:
            if len(names) == 1:
                continue
            late = next((time for time in range(first, last) if found[time]), last)
            for column, name in enumerate(names):
                table.setdefault((column, name), []).append((sum(map(bool, labels[first:late])), item["fold"]))
    print(f"{'':28}{'visits':>7}{'mean':>7}{'worst fold':>12}{'90th percentile':>17}{'above 3 frames':>16}")
    for (_, name), visits in sorted(table.items(), key=lambda row: row[0][0]):
        frames = [late for late, _ in visits]
        folds = [[late for late, fold in visits if fold == number] for number in range(FOLDS)]
        worst = max(np.mean(fold) for fold in folds if fold)
        print(f"{name:28}{len(frames):7}{np.mean(frames):7.1f}{worst:12.1f}{np.percentile(frames, 90):17.0f}"
              f"{sum(late > 3 for late in frames):16}")


def in_box(point, box):
    """Whether a point is in a box of `guise track`, or as far beside it as eyes may lie."""
    left, top, width, height = box
    return -0.2 < (point[0] - left) / width < 1.2 and -0.3 < (point[1] - top) / height < 1


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("cuts", "turns", "returns", "arrivals", "stutters"):
        sys.exit(__doc__)
    what, guise, data = sys.argv[1], str(Path(sys.argv[2]).resolve()), Path(sys.argv[3])
    sources = {name: data / "video" / f"{name}.mp4" for name in CLIPS}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if what == "cuts":
            measure_cuts(guise, sources, int(sys.argv[4]) if len(sys.argv) > 4 else 40, folder)
        elif what == "turns":
            measure_turns(guise, sources, folder)
        else:
            clips = Path(sys.argv[4]) if len(sys.argv) > 4 else folder / "clips"
            make("stutters" if what == "stutters" else "returns", guise, data, clips, folder)
            if what == "arrivals":
                measure_arrivals(guise, clips)
            else:
                score(guise, clips, folder)


main()
