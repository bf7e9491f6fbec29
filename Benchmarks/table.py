#!/usr/bin/env python3
"""The table by which changes of the tracker are judged: table.py RESULTS DATA [RESULTS DATA]...

RESULTS is a folder of what `guise track --json` printed for each item of DATA (`evaluate.py --save`: <name>.jsonl with
slashes replaced), DATA a folder with an index.json of labelled pictures, or of clips and pictures without faces, where
NAME_PICTURE is of source NAME. Each figure is by folds of sources: all, 95 % of 1000 bootstrap samples of sources, and
the worst fold. The worst fold is the judge: figures over all may owe much to a few sources. Needs numpy."""
import collections, json, os, sys, zlib
import numpy as np
from verifier import FOLDS, POINTS, source_of

# As in evaluate.py: farther from the label than this, in its eye distances, a face is not found; eyes closer together
# than this, pixels, are not scored.
FAR, LEAST = 0.5, 8


def points(face):
    face = face.get("points", face)
    return np.array([face[n] for n in POINTS], float) if all(face.get(n) for n in POINTS) else None


def tracked(path):
    return {row["frame"]: row["faces"] for row in map(json.loads, (l for l in open(path) if l.startswith("{")))}


def score(labels, found, skipped):
    """Faces found and all, errors, changes of identity."""
    hit = total = switches = 0
    errors, ids = [], {}
    for t, wanted in enumerate(labels):
        if t in skipped:
            continue
        have = [(f["id"], points(f)) for f in found.get(t, []) if f.get("kind", "human") == "human"]
        for k, face in enumerate(wanted):
            want = points(face)
            distance = np.linalg.norm(want[0] - want[1]) if want is not None else 0
            if distance < LEAST:
                continue
            total += 1
            away = [np.linalg.norm(p.mean(0) - want.mean(0)) / distance for _, p in have]
            if not away or min(away) >= FAR:
                continue
            identity, p = have.pop(int(np.argmin(away)))
            hit += 1
            errors.append(np.linalg.norm(p - want, axis=1).mean() / distance)
            if len(wanted) == 1:
                switches += ids.get(k, (t, identity)) == (t - 1, ids.get(k, (0, 0))[1]) and ids[k][1] != identity
                ids[k] = (t, identity)
    return hit, total, switches, errors


def items(results, data):
    """Source, kind, and what was scored, of every item."""
    index = os.path.join(data, "index.json")
    if not os.path.exists(index):
        for name in sorted(os.listdir(results)):
            if name.endswith(".jsonl"):
                found = tracked(os.path.join(results, name))
                kind = "negative" if len(found) > 1 else "nonface"
                yield name.split("_")[0], kind, len(found), sum(map(len, found.values()))
        return
    photos = json.load(open(os.path.join(data, "annotations/photos.json")))
    for item in json.load(open(index)):
        name = item["name"]
        path = os.path.join(results, name.replace("/", "_") + ".jsonl")
        if not os.path.exists(path):
            continue
        found, source = tracked(path), source_of(item)
        kind = item.get("kind") if item["type"] == "video" else item["type"]
        if kind in ("negative", "nonface"):
            people = [f for faces in found.values() for f in faces]
            yield source, kind, item.get("frames", 1), len(people)
        elif kind == "photo" and name in photos:
            yield (source, kind) + score([photos[name]["faces"]], found, ())
        elif kind == "face":
            clip = json.load(open(os.path.join(data, item["annotations"])))
            spans = clip.get("ignore_frames") or []
            skipped = {t for a, b in spans for t in range(a, b + 1)}
            yield (source, kind) + score(clip["frames"], found, skipped)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows = [r for a, b in zip(sys.argv[1::2], sys.argv[2::2]) for r in items(a, b)]
    sources = sorted({r[0] for r in rows}, key=lambda s: zlib.crc32(s.encode()))
    fold = {s: i % FOLDS for i, s in enumerate(sources)}
    ratio = lambda rows: sum(r[2] for r in rows) / max(1, sum(r[3] for r in rows))
    errors = lambda rows, part: float(np.percentile(np.concatenate([r[5] for r in rows] or [[np.nan]]), part))
    finds = lambda rows: sum(r[3] > 0 for r in rows) / max(1, len(rows))
    thousand = lambda rows: 1000 * sum(r[3] for r in rows) / max(1, sum(r[2] for r in rows))
    free = ("negative", "nonface")
    # What, of which kinds, how, whether more is better, and the least that a fold must have to be judged.
    table = [("recall, clips", ("face",), ratio, True, 1), ("recall, photos", ("photo",), ratio, True, 4),
             ("nme, clips", ("face",), lambda r: errors(r, 50), False, 1),
             ("nme, clips, 90th percentile", ("face",), lambda r: errors(r, 90), False, 1),
             ("nme, photos", ("photo",), lambda r: errors(r, 50), False, 4),
             ("nme, photos, 90th percentile", ("photo",), lambda r: errors(r, 90), False, 4),
             ("identity switches", ("face",), lambda r: sum(x[4] for x in r), False, 1),
             ("pictures without faces with a find", ("nonface",), finds, False, 4),
             ("false finds in 1000 such frames", free, thousand, False, 4)]
    rng = np.random.default_rng(1)
    print(f"{'':38s}{'all':>9s}   {'95 % interval':>20s}   {'worst fold':>10s}   items, sources")
    for what, kinds, figure, more, fewest in table:
        here = [r for r in rows if r[1] in kinds]
        groups = collections.defaultdict(list)
        for r in here:
            groups[r[0]].append(r)
        groups = list(groups.values())
        if not groups:
            continue
        drawn = [figure(sum((groups[g] for g in rng.integers(len(groups), size=len(groups))), [])) for _ in range(1000)]
        low, high = np.percentile(drawn, [2.5, 97.5])
        parts = [[r for r in here if fold[r[0]] == k] for k in range(FOLDS)]
        parts = [figure(p) for p in parts if len(p) >= fewest]
        worst = (min if more else max)(parts) if parts else float("nan")
        print(f"{what:38s}{figure(here):9.4f}   {low:9.4f} to {high:.4f}   {worst:10.4f}   {len(here)}, {len(groups)}")


main()
