#!/usr/bin/env python3
"""Trains and judges what tells faces from other things (Sources/Track/VerifierFeatures.swift).

    verifier.py DATA EVIDENCE...       e.g. verifier.py ../shared/data/faces open clips negatives

DATA is the folder of labelled faces. Each EVIDENCE is a file of verifier-evidence (make of that name) without its ending
.tsv, beside the patches in .bin; paths in it are relative to DATA, or to the folder of Benchmarks/negatives.py, where a
folder is a source and nothing has a face.

Judged by cross-validation: of a fold's sources (and so of its pictures and people) nothing was learned from. A picture
counts once, by its highest score, and so does a face in it. Intervals hold 95 % of 1000 bootstrap samples of sources,
and of pictures within them. The worst fold stands beside the mean: a figure that only some sources reach is no promise.
Needs numpy."""
import collections, json, os, re, subprocess, sys
import numpy as np

FOLDS = 6
COLUMNS = "roll votes distance residual alt lbp worse better x y rx ry lx ly".split()
SIDE = 64
# The share of face-free pictures that may have a false find: 2 in 31, what is wanted of pictures never seen.
WANTED = 2 / 31
# A detection is on a face within so many of the label's eye distances, as where the tracker is scored, and on something
# else beyond so many. In between it counts for nothing.
ON_FACE, OFF_FACE = 0.5, 1.5
POINTS = ("right_eye", "left_eye", "nose", "mouth")


def source_of(item):
    """The source of an item of index.json, without what is said of it in brackets."""
    return re.split(r"[ (]", item["source"])[0]


def labels(data):
    """Labelled faces of each picture and frame: (middle, eye distance, whether it counts); sources; completeness."""
    faces, source, complete, kinds = {}, {}, {}, {}

    def read(listed):
        found = []
        for face in listed:
            points = [face.get(n) for n in POINTS]
            if all(points):
                points = np.array(points, float)
                distance = np.linalg.norm(points[0] - points[1])
                found.append((points.mean(0), distance, distance >= 8))       # smaller ones are not scored
            elif face.get("box"):
                x, y, w, h = face["box"]
                found.append((np.array([x + w / 2, y + h / 2]), w / 2, False))
        return found

    photos = json.load(open(os.path.join(data, "annotations/photos.json")))
    for item in json.load(open(os.path.join(data, "index.json"))):
        name = item["name"]
        kinds[name] = item.get("kind") if item["type"] == "video" else item["type"]
        source[name] = source_of(item)
        complete[name] = item.get("complete", kinds[name] in ("face", "negative"))
        if name in photos:
            faces[name] = {0: read(photos[name]["faces"])}
            complete[name] = photos[name].get("complete", False)
        elif kinds[name] == "face":
            clip = json.load(open(os.path.join(data, item["annotations"])))
            skipped = clip.get("ignore_frames")
            skipped = {t for a, b in (skipped if isinstance(skipped, list) else []) for t in range(a, b + 1)}
            faces[name] = {t: read(f) for t, f in enumerate(clip["frames"]) if t not in skipped}
    return faces, source, complete, kinds


class Evidence:
    """All detections, as arrays; `face` numbers the labelled faces (-1: on something else)."""

    def __init__(self, data, files):
        faces, source, complete, kinds = labels(data)
        rows, self.names, self.sources, self.kinds = [], [], [], []
        number, self.faces = {}, []                 # (name, frame, i): number; by number: picture, frame, eye distance
        self.number = number
        picture, face, patches, frames = [], [], [], []
        index = {}
        for file in files:
            kept = []
            lines = [line.rstrip("\n").split("\t") for line in open(file + ".tsv")]
            at, stored = 0, np.memmap(file + ".bin", "u1", "r")
            stored = stored[:len(stored) // SIDE ** 2 * SIDE ** 2].reshape(-1, SIDE, SIDE)
            for line in lines:
                name = line[0]
                kind = kinds.get(name, "nonface")
                if kind == "cartoon" or line[-1] == "failed":
                    at += len(line) == 2 + len(COLUMNS)
                    continue
                if name not in index:
                    index[name] = len(self.names)
                    self.names.append(name)
                    self.sources.append(source.get(name, name.split("/")[0]))
                    self.kinds.append(kind)
                    for t, listed in faces.get(name, {}).items():
                        for i, (_, distance, counts) in enumerate(listed):
                            if counts:
                                number[name, t, i] = len(self.faces)
                                self.faces.append((index[name], t, distance))
                if len(line) < 2 + len(COLUMNS) or at == len(stored):
                    continue
                at += 1
                frame, values = int(line[1]), [float(v) for v in line[2:2 + len(COLUMNS)]]
                middle = np.array(values[8:10])
                on, off = None, complete.get(name, True) and (kind != "face" or frame in faces[name])
                for i, (place, distance, counts) in enumerate(faces.get(name, {}).get(frame, [])):
                    away = np.linalg.norm(place - middle) / distance
                    if away < ON_FACE and counts:
                        on = number[name, frame, i]
                    off = off and np.linalg.norm(place - middle) > OFF_FACE * max(distance, values[2])
                if on is None and not off:
                    continue
                rows.append(values)
                picture.append(index[name])
                frames.append(frame)
                face.append(-1 if on is None else on)
                kept.append(at - 1)
            patches.append(stored[kept])
        values = np.array(rows)
        for i, column in enumerate(COLUMNS):
            setattr(self, column, values[:, i])
        self.eyes = np.hypot(self.lx - self.rx, self.ly - self.ry)
        self.picture, self.face, self.frame = np.array(picture), np.array(face), np.array(frames)
        self.patches = np.concatenate(patches)
        self.sources, self.kinds = np.array(self.sources), np.array(self.kinds)


# --- The features, as Sources/Track/FacePattern.swift and VerifierFeatures.swift have them ---

def pattern(patches, cells=8, directions=8, floor=0.3, limit=1.2):
    """Histograms of gradient directions of each patch's left half, the mean with those of its mirror image."""
    small = patches.reshape(len(patches), SIDE // 2, 2, SIDE // 2, 2).sum((2, 4), dtype=np.float32)
    across, down = np.zeros_like(small), np.zeros_like(small)
    across[:, :, 1:-1] = small[:, :, 2:] - small[:, :, :-2]
    down[:, 1:-1] = small[:, 2:] - small[:, :-2]
    length = np.hypot(across, down)
    kind = np.round(np.mod(np.arctan2(down, across), np.pi) / np.pi * directions).astype(int) % directions
    cell = SIDE // 2 // cells
    parts = [(length * (kind == k)).reshape(-1, cells, cell, cells, cell).sum((2, 4)) for k in range(directions)]
    energy = sum(parts)
    padded = np.pad(energy, ((0, 0), (1, 1), (1, 1)), mode="edge")
    around = sum(padded[:, i:i + cells, j:j + cells] for i in range(3) for j in range(3)) / 9
    around += floor * energy.mean((1, 2), keepdims=True) + 1e-6
    whole = np.minimum(np.stack(parts, -1) / around[..., None], limit)
    mirrored = whole[:, :, ::-1][..., -np.arange(directions) % directions]
    return ((whole + mirrored) / 2)[:, :, :cells // 2].reshape(len(patches), -1)


def windows(e):
    """Residual, alt, lbp, worse eye, better eye, as the tracker has had them from the start."""
    return np.stack([-np.log(np.maximum(e.residual, 0.002)), e.alt, e.lbp, e.worse, e.better], 1)


def size(e):
    return np.log(np.clip(e.eyes, 1, 40))[:, None]


BEFORE = np.array([0.98, 0.95, 1.11, 0.23, 1.06]), -6.09, 0.3       # weights, constant, a tiny face's penalty


def regression(x, y, weight, ridge, rounds=12):
    """Logistic regression by Newton's method, with a ridge for each column. The last weight is the constant."""
    x = np.hstack([x, np.ones((len(x), 1))]).astype(np.float32)
    ridge, w = np.append(ridge, 1e-6), np.zeros(x.shape[1])
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(x @ w.astype(np.float32), -30, 30)))
        slope = x.T @ (weight * (p - y)).astype(np.float32) + ridge * w
        scaled = x * np.sqrt(weight * np.maximum(p * (1 - p), 1e-4))[:, None].astype(np.float32)
        step = np.linalg.solve((scaled.T @ scaled).astype(float) + np.diag(ridge), slope)
        w -= step * min(1, 8 / np.abs(x @ step.astype(np.float32)).max())       # no leap to where all is certain
        if np.abs(step).max() < 1e-2:
            break
    return w


def emphasis(e, usable):
    """How much each detection counts in training. A face counts once, a clip's as at most 8, a picture without faces
    as at most 6: most of their detections are of one thing. Of many on one thing, some are enough."""
    key = np.where(e.face >= 0, e.face + len(e.names), e.picture)
    order = np.lexsort((np.random.default_rng(0).random(len(key)), key))
    starts = np.r_[0, np.flatnonzero(np.diff(key[order])) + 1]
    rank, count = np.empty(len(key), int), np.empty(len(key), int)
    lengths = np.diff(np.r_[starts, len(key)])
    rank[order] = np.arange(len(key)) - np.repeat(starts, lengths)
    count[order] = np.repeat(lengths, lengths)
    most = np.where(e.face >= 0, 5, 14)
    count = np.minimum(count, most)
    weight = np.where(e.face >= 0, 1 / count, np.minimum(1, 6 / count))
    for p in np.flatnonzero(e.kinds == "face"):
        here = (e.picture == p) & (e.face >= 0)
        weight[here] *= min(1, 8 / max(1, len(set(e.face[here]))))
    return weight * usable * (rank < most)


def folds(e):
    """Each source belongs to one fold; the folds have about as many faces and pictures without."""
    names = sorted(set(e.sources))
    counts = {s: np.array([len({p for p, *_ in e.faces if e.sources[p] == s}) / sum(e.kinds != "nonface"),
                           (e.kinds[e.sources == s] == "nonface").mean() * (e.sources == s).sum()
                           / sum(e.kinds == "nonface")]) for s in names}
    fold, load = {}, np.zeros((FOLDS, 2))
    for s in sorted(names, key=lambda s: -counts[s].sum()):
        fold[s] = int(np.argmin(load.sum(1)))
        load[fold[s]] += counts[s]
    return fold


# --- Figures ---

class Judge:
    """Recall and false finds of scores that were given by models which knew nothing of a detection's source."""

    def __init__(self, e, fold, usable):
        self.e, self.usable = e, usable
        self.free = np.array([p for p in range(len(e.names)) if e.kinds[p] == "nonface"])
        clip_frames = {(p, t) for p, t in zip(e.picture.tolist(), e.frame.tolist())}
        self.photo = np.array([i for i, f in enumerate(e.faces) if e.kinds[f[0]] == "photo"])
        # Of clips only the frames that were searched: those in which anything was detected.
        self.clip = np.array([i for i, f in enumerate(e.faces) if e.kinds[f[0]] == "face" and f[:2] in clip_frames])
        self.of = lambda faces: np.array([e.faces[i][0] for i in faces])
        self.fold = np.array([fold[s] for s in e.sources])

    def best(self, score):
        e = self.e
        picture, face = np.full(len(e.names), -99.0), np.full(len(e.faces), -99.0)
        other = (e.face < 0) & self.usable
        np.maximum.at(picture, e.picture[other], score[other])
        np.maximum.at(face, e.face[e.face >= 0], score[e.face >= 0])
        looks = np.bincount(e.face[e.face >= 0], minlength=len(e.faces))
        return picture[self.free], face, looks

    def interval(self, units, hits):
        """95 %: of samples of sources, and of pictures of each. `units`: each hit's picture."""
        rng, e, means = np.random.default_rng(2), self.e, []
        by_source = collections.defaultdict(lambda: collections.defaultdict(list))
        for p, hit in zip(units, hits):
            by_source[e.sources[p]][p].append(hit)
        groups = [[(sum(v), len(v)) for v in pictures.values()] for pictures in by_source.values()]
        groups = [np.array(g, float) for g in groups]
        for _ in range(1000):
            total = np.zeros(2)
            for g in rng.integers(len(groups), size=len(groups)):
                total += groups[g][rng.integers(len(groups[g]), size=len(groups[g]))].sum(0)
            means.append(total[0] / total[1])
        return np.percentile(means, [2.5, 97.5])

    def worst(self, units, hits, fewest, sign):
        """The worst fold's mean. A fold with few of these says nothing."""
        f = self.fold[units]
        means = [hits[f == k].mean() for k in range(FOLDS) if (f == k).sum() >= fewest]
        return min(means, key=lambda m: sign * m)

    def show(self, name, score, limit):
        free, face, looks = self.best(score)
        e = self.e
        passed = np.bincount(e.face[e.face >= 0], score[e.face >= 0] > limit, minlength=len(e.faces))
        share = passed / np.maximum(looks, 1)
        print(f"{name}, at {limit:.2f}:")
        rows = [("false finds, pictures without faces", self.free, (free > limit).astype(float), 20, -1),
                ("recall, photos", self.of(self.photo), (face[self.photo] > limit).astype(float), 5, 1),
                ("  of single detections on them", self.of(self.photo), share[self.photo], 5, 1),
                ("recall, frames of clips", self.of(self.clip), (face[self.clip] > limit).astype(float), 20, 1),
                ("  of single detections on them", self.of(self.clip), share[self.clip], 20, 1)]
        for what, units, hits, fewest, sign in rows:
            low, high = self.interval(units, hits)
            print(f"  {what:38s}{hits.mean():.3f} ({low:.3f} to {high:.3f}), worst fold "
                  f"{self.worst(units, hits, fewest, sign):.3f}, of {len(hits)}", flush=True)

    def limit(self, score, share):
        """The score above which so large a share of the pictures without faces has a find."""
        return float(np.quantile(self.best(score)[0], 1 - share))

    def limit_of_worst(self, score, share):
        """The same in the worst fold."""
        free, fold = self.best(score)[0], self.fold[self.free]
        return max(float(np.quantile(free[fold == k], 1 - share)) for k in range(FOLDS) if (fold == k).sum() >= 20)

    def groups(self, name, score, limit, tone):
        """Recall by size and tone. Each clip counts as one face. The worst group is named if it has at least ten."""
        _, face, _ = self.best(score)
        all_faces = np.concatenate([self.photo, self.clip])
        pictures, hits = self.of(all_faces), face[all_faces] > limit
        share = np.where(e_kind(self.e, pictures) == "face", 1 / np.bincount(pictures)[pictures], 1.0)
        eyes = np.array([self.e.faces[i][2] for i in all_faces])
        angle = np.array([tone.get(i if self.e.kinds[p] == "photo" else -1 - p, np.nan)
                          for i, p in zip(all_faces, pictures)])
        found = []
        groups = [(f"eyes {low} to {high} apart", (eyes >= low) & (eyes < high))
                  for low, high in ((8, 20), (20, 40), (40, 80), (80, 999))]
        groups += [("light skin (ITA above 28)", angle > 28), ("medium skin (0 to 28)", (angle >= 0) & (angle <= 28)),
                   ("dark skin (below 0)", angle < 0)]
        for what, inside in groups:
            n = share[inside].sum()
            if n:
                found.append(((share * hits)[inside].sum() / n, what, n))
                print(f"  {name}: {what:28s}{found[-1][0]:.3f} of {n:.0f}")
        print("  worst group:", min(f for f in found if f[2] >= 10)[1])


def e_kind(e, pictures):
    return e.kinds[pictures]


def tones(data, e, numbers):
    """The individual typology angle of both cheeks (Chardon, 1991), degrees: a proxy of skin tone, which the picture's
    light changes too. By face of photos, by clip (-1 - its number) from its first labelled frame."""
    faces = labels(data)[0]
    found = {}
    photos = json.load(open(os.path.join(data, "annotations/photos.json")))
    items = {i["name"]: i for i in json.load(open(os.path.join(data, "index.json")))}
    wanted = collections.defaultdict(list)
    for (name, t, i), number in numbers.items():
        p = e.names.index(name) if not wanted.get(name) else wanted[name][0][3]
        wanted[name].append((t, i, number, p))
    for name, listed in wanted.items():
        item = items[name]
        clip = item["type"] == "video"
        listed = sorted(listed)[:1] if clip else listed
        frame = listed[0][0]
        marks = json.load(open(os.path.join(data, item["annotations"])))["frames"] if clip else None
        raw = subprocess.run(["ffmpeg", "-v", "error", "-i", os.path.join(data, name), "-vf", f"select=eq(n\\,{frame})",
                              "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True).stdout
        if len(raw) != item["width"] * item["height"] * 3:
            continue
        picture = np.frombuffer(raw, "u1").reshape(item["height"], item["width"], 3) / 255.0
        for t, i, number, p in listed:
            full = [f for f in (marks[t] if clip else photos[name]["faces"]) if all(f.get(n) for n in POINTS)
                    or f.get("box")][i]
            points = [np.array(full[n], float) for n in POINTS]
            down = (points[3] - (points[0] + points[1]) / 2) * 0.55
            cheeks = []
            for eye in points[:2]:
                x, y = (eye + down).astype(int)
                r = max(1, int(np.linalg.norm(points[0] - points[1]) * 0.08))
                part = picture[max(0, y - r):y + r + 1, max(0, x - r):x + r + 1].reshape(-1, 3)
                if len(part):
                    cheeks.append(np.median(part, 0))
            if not cheeks:
                continue
            rgb = np.mean(cheeks, 0)
            linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
            xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
            f = np.cbrt(np.maximum(xyz / [0.9505, 1, 1.089], 0.0089))
            lightness, yellow = 116 * f[1] - 16, 200 * (f[1] - f[2])
            found[-1 - p if clip else number] = float(np.degrees(np.arctan2(lightness - 50, max(yellow, 1e-3))))
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    e = Evidence(sys.argv[1], sys.argv[2:])
    y = (e.face >= 0).astype(float)
    # The crowd's labels are not complete: what is found beside them may be a face.
    crowd = np.array([n == "video/facenet_video.mp4" for n in e.names])
    usable = (e.face >= 0) | ~crowd[e.picture]
    fold = folds(e)
    where = np.array([fold[s] for s in e.sources])[e.picture]
    weight, judge = emphasis(e, usable), Judge(e, fold, usable)
    for k in range(FOLDS):
        print(f"fold {k + 1}: {', '.join(s for s in fold if fold[s] == k)}")
    before = windows(e) @ BEFORE[0] + BEFORE[1] - np.where(e.eyes < 20, BEFORE[2], 0)
    edges = pattern(e.patches)
    models = {"windows alone, learned again": (windows(e), [0.1] * 5),
              "and size": (np.hstack([windows(e), size(e)]), [0.1] * 6),
              "and pattern": (np.hstack([windows(e), size(e), edges]), [0.1] * 6 + [1.0] * edges.shape[1])}
    print(f"\nAt false finds in {WANTED:.1%} of the pictures without faces, and in 2 %:")
    judge.show("weights before", before, judge.limit(before, WANTED))
    judge.show("weights before", before, judge.limit(before, 0.02))
    for name, (x, ridge) in models.items():
        score = np.zeros(len(y))
        for k in range(FOLDS):
            here = (where != k) & (weight > 0)
            w = regression(x[here], y[here], weight[here], ridge)
            score[where == k] = x[where == k] @ w[:-1] + w[-1]
        judge.show(name, score, judge.limit(score, WANTED))
        judge.show(name, score, judge.limit(score, 0.02))
    # Thresholds of the tracker are log-odds as they were: the new ones are scaled and shifted so that single detections
    # on faces have the same median and the same lowest tenth.
    on = (e.face >= 0) & usable
    share = 1 / np.bincount(e.face[on], minlength=len(e.faces))[e.face[on]]
    marks = [quantile(v[on], share, q) for v in (before, score) for q in (0.1, 0.5)]
    scale = (marks[1] - marks[0]) / (marks[3] - marks[2])
    shift = marks[1] - scale * marks[3]
    score = scale * score + shift
    tone = tones(sys.argv[1], e, e.number)
    print(f"\nScaled by {scale:.3f} and shifted by {shift:.2f}:")
    limit = judge.limit_of_worst(score, WANTED)
    judge.show("with false finds wanted in the worst fold", score, limit)
    judge.show("photos' threshold before", score, -0.2)
    judge.show("weights and photos' threshold before", before, -0.2)
    judge.groups("before", before, -0.2, tone)
    judge.groups("now", score, limit, tone)
    here = weight > 0
    w = regression(x[here], y[here], weight[here], ridge) * scale
    w[-1] += shift
    write(w)


def quantile(values, weight, q):
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    return values[order][np.searchsorted(total, q * total[-1])]


def write(w):
    # The constant goes with the windows; the pattern's share is 0 for a patch between both classes.
    names = "residual alt lbp worseEye betterEye size".split()
    print("\nVerifierFeatures.logOdds:", ", ".join(f"{n} {v:.3f}" for n, v in zip(names, w)), f"constant {w[-1]:.3f}")
    table = w[6:-1] / 2                                                # for each of two mirrored cells
    unit = np.abs(table).max() / 127
    numbers = np.round(table / unit).astype(int)
    print(f"FacePattern.unit: {unit:.6f}\nFacePattern.numbers:")
    for row in numbers.reshape(-1, 16):
        print("        " + ", ".join(str(v) for v in row) + ",")


if __name__ == "__main__":
    main()
