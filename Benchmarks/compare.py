#!/usr/bin/env python3
"""Compares Guise's tracker with MediaPipe's face mesh and GStreamer's faceoverlay: the same clips, the same run.

    compare.py [CLIP...]

A clip is a file, or the name of one in the labelled data. README.md beside this file says what the figures mean.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
# A webcam's picture; a man who moves to and fro; tilts; half profiles; hands before a small face.
CLIPS = ["lp_s18", "clm_cap12", "lp_d3", "vr_1", "asl_help"]
NAMES = ("right_eye", "left_eye", "nose", "mouth")
# MediaPipe and what its face mesh needs. Without --no-deps pip would add JAX, and an OpenCV that wants a display.
PACKAGES = """mediapipe==0.10.14 absl-py attrs flatbuffers protobuf>=4.25.3,<5 numpy<2
    opencv-contrib-python-headless<4.12 matplotlib contourpy cycler fonttools kiwisolver packaging pillow pyparsing
    python-dateutil six""".split()
# Faces that MediaPipe is asked for: with one it searches no more once it has it; 8 are as many as Guise follows.
FACES = (1, 8)
# Pythons that MediaPipe 0.10.14 was built for.
PYTHONS = [f"3.{minor}" for minor in (11, 12, 10, 9)]
# What a faceoverlay pipeline is made of, and the Debian packages that hold it.
ELEMENTS = {
    "rawvideoparse": "gstreamer1.0-plugins-base",
    "faceoverlay": "gstreamer1.0-plugins-bad",
    "rsvgoverlay": "gstreamer1.0-plugins-bad",
    "facedetect": "gstreamer1.0-opencv",
}
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><circle cx="5" cy="5" r="5"/></svg>'


class Missing(Exception):
    """A peer that cannot be run, and what to do about it."""


def run(command, **options):
    """Runs to the end and gives the standard output, or tells with which words the command failed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise Missing(f"{Path(command[0]).name} failed ({done.returncode}): {''.join(last)}")
    return done.stdout


def fed(clip, frames, command):
    """Runs a command on a clip's raw RGB frames; gives its output and its CPU seconds, decoding not among them."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        decoder = subprocess.Popen(decode(clip, frames, "-f", "rawvideo", "-pix_fmt", "rgb24"), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        child = subprocess.Popen(command, stdin=decoder.stdout, stdout=output, stderr=errors)
        decoder.stdout.close()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        # A decoder that could not get rid of its frames: gst-launch ends well even where an element has failed.
        if child.returncode or decoder.wait():
            errors.seek(0)
            last = errors.read().decode("utf-8", "replace").strip().splitlines()[-1:]
            raise Missing(f"{Path(command[0]).name} did not get through {clip.name}: {''.join(last)}")
        output.seek(0)
        return output.read().decode(), usage.ru_utime + usage.ru_stime


def decode(clip, frames, *form):
    # Each coded frame once, as Guise takes them.
    return ["ffmpeg", "-v", "error", "-nostdin", "-i", str(clip), "-map", "0:v:0", "-fps_mode", "passthrough",
            "-frames:v", str(frames), *form, "-"]


def size(clip):
    """Width and height of a clip's upright picture."""
    picture = run(decode(clip, 1, "-f", "image2pipe", "-c:v", "ppm"))
    return tuple(int(word) for word in picture.split(maxsplit=3)[1:3])


# Peers. Each measures CPU milliseconds by frame, or their mean alone, and gives the faces by frame, or None.


class Guise:
    name = "Guise"
    built = PROJECT / ".build/release/guise"

    def __init__(self, given):
        self.program = next(filter(None, map(shutil.which, [given] if given else [self.built, "guise"])), None)
        if not self.program:
            raise Missing("no guise: run `make build` first, or name one with --guise")

    def faces(self, clip):
        rows = run([self.program, "track", "--json", str(clip)]).splitlines()
        return [json.loads(row)["faces"] for row in rows]

    def measure(self, clip, frames, size):
        figures = json.loads(run([self.program, "bench", "--json", "--frames", str(frames), str(clip)]))
        return figures["milliseconds"]["tracking"]["each"], self.faces(clip)[:frames]


class MediaPipe:
    def __init__(self, folder, faces):
        self.faces = faces
        self.name = f"MediaPipe x{faces}"
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(folder or Path(caches, "guise/benchmarks/mediapipe"))
        self.python = str(folder / "bin/python")
        if not self.works():
            self.install(folder)
            if not self.works():
                raise Missing(f"the face mesh of MediaPipe 0.10.14 does not start in {folder}: remove it and try again")

    def works(self):
        check = "import mediapipe; mediapipe.solutions.face_mesh; assert mediapipe.__version__ == '0.10.14'"
        return os.access(self.python, os.X_OK) and not subprocess.run(
            [self.python, "-c", check], stderr=subprocess.DEVNULL).returncode

    def install(self, folder):
        own = "{}.{}".format(*sys.version_info)
        known = [sys.executable] if own in PYTHONS else [shutil.which(f"python{version}") for version in PYTHONS]
        python = next(filter(None, known), None)
        if not python:
            raise Missing(f"MediaPipe 0.10.14 has no build for Python {own}: install one of {', '.join(PYTHONS)}")
        print(f"compare: installing MediaPipe 0.10.14 from PyPI into {folder}, once (420 MB)", file=sys.stderr)
        try:
            run([python, "-m", "venv", "--without-pip", str(folder)])
            run([self.python, "-m", "ensurepip"])
            run([self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", *PACKAGES])
        except Missing as problem:
            fix = "`apt install python3-venv` (Debian)" if "ensurepip" in str(problem) else "is the network there?"
            raise Missing(f"cannot install MediaPipe 0.10.14: {problem}; {fix}")

    def measure(self, clip, frames, size):
        output, _ = fed(clip, frames, [self.python, str(HERE / "mesh.py"), *map(str, size), str(self.faces)])
        rows = [json.loads(row) for row in output.splitlines() if row.startswith("{")]
        return [row["ms"] for row in rows], [row["faces"] for row in rows]


class FaceOverlay:
    name = "faceoverlay"

    def __init__(self):
        missing = set() if shutil.which("gst-launch-1.0") else {"gstreamer1.0-tools", *ELEMENTS.values()}
        for element, package in ELEMENTS.items() if not missing else ():
            if subprocess.run(["gst-inspect-1.0", "--exists", element], stderr=subprocess.DEVNULL).returncode:
                missing.add(package)
        if missing:
            raise Missing(f"no GStreamer faceoverlay: `apt install {' '.join(sorted(missing))}` (Debian)")

    def measure(self, clip, frames, size):
        with tempfile.NamedTemporaryFile("w", suffix=".svg") as drawing:
            print(DRAWING, file=drawing, flush=True)
            whole = self.seconds(clip, frames, size, "faceoverlay", f"location={drawing.name}")
        return 1000 * (whole - self.seconds(clip, frames, size, "identity")) / max(1, frames - 1), None

    def seconds(self, clip, frames, size, *element):
        """CPU seconds of all frames less those of the first, which is mostly the start."""
        width, height = size
        source = ["fdsrc", "fd=0", f"blocksize={width * height * 3}", "!", "rawvideoparse", "format=rgb"]
        command = ["gst-launch-1.0", "-q", *source, f"width={width}", f"height={height}", "!", *element,
                   "!", "fakesink", "sync=false"]
        return fed(clip, frames, command)[1] - (fed(clip, 1, command)[1] if frames > 1 else 0)


class Labels:
    """What is known of the clips in the labelled data (its README.md says how it is laid out)."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        index = self.folder / "index.json"
        items = json.loads(index.read_text()) if index.exists() else []
        self.items = {item["name"]: item for item in items if item["type"] == "video"}

    def find(self, clip):
        """The file that a command line's word means."""
        for path in Path(clip), self.folder / f"video/{clip}", self.folder / f"video/{clip}.mp4":
            if path.is_file():
                return path.resolve()
        sys.exit(f"compare: no clip {clip}, neither as a file nor in {self.folder}/video (--data, $GUISE_DATA)")

    def of(self, clip):
        """Faces by frame, None where they are not to be scored; or None for a clip without labels."""
        item = self.items.get(str(clip.relative_to(self.folder))) if clip.is_relative_to(self.folder) else None
        if not item:
            return None
        notes = json.loads((self.folder / item["annotations"]).read_text())
        frames = notes["frames"]
        for first, last in notes.get("ignore_frames") or []:
            frames[first:last + 1] = [None] * len(frames[first:last + 1])
        return frames


def points(face):
    """The four points of a found or labelled face; None where one is not known."""
    found = face.get("points", face)
    return [found[name] for name in NAMES] if all(found.get(name) for name in NAMES) else None


def middle(four):
    return [sum(p[axis] for p in four) / len(four) for axis in (0, 1)]


def score(labels, faces):
    """Mean distance of the four points / IOD for each labelled face; None for one that was not found. IOD: the label's
    distance between the eyes. Found: the middle of the four points lies within 0.5 IOD of the label's."""
    errors = []
    for wanted, found in zip(labels, faces):
        free = [p for p in map(points, found) if p]
        for label in filter(None, map(points, wanted or [])):
            iod = math.dist(label[0], label[1])
            if iod < 8:  # Pixels; too small to be labelled well.
                continue
            best = min(free, key=lambda p: math.dist(middle(p), middle(label)), default=None)
            if best is None or math.dist(middle(best), middle(label)) >= 0.5 * iod:
                errors.append(None)
                continue
            free.remove(best)
            errors.append(sum(map(math.dist, best, label)) / len(NAMES) / iod)
    return errors


def rank(values, part):
    """The nearest-rank percentile."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


def summary(costs):
    """Mean, median, 95th, 99th; of means alone (pairs of mean and frames) only the mean is known."""
    if isinstance(costs[0], tuple):
        return [sum(mean * n for mean, n in costs) / sum(n for _, n in costs), None, None, None]
    return [sum(costs) / len(costs)] + [rank(costs, part) for part in (0.5, 0.95, 0.99)]


def table(title, costs, errors):
    """`costs` and `errors` by peer, Guise first."""
    print(f"\n{title}")
    print(f"{'':13}{'CPU ms per frame':<33}{'times Guise':<29}recall     nme  nme 90th")
    print(f"{'':13}   mean  median    95th    99th    mean median   95th   99th")
    ours = None
    for name, values in costs.items():
        figures = summary(values)
        ours = ours or figures
        row = "".join(f"{x:8.2f}" if x is not None else f"{'-':>8}" for x in figures) + " "
        row += "".join(f"{x / y:7.2f}" if x is not None else f"{'-':>7}" for x, y in zip(figures, ours))
        marks = errors.get(name) or []
        found = [e for e in marks if e is not None]
        row += f"{len(found) / len(marks):9.4f}" if marks else f"{'-':>9}"
        row += "".join(f"{rank(found, part):8.4f}" if found else f"{'-':>8}" for part in (0.5, 0.9))
        print(f"{name:12}{row}", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("clips", nargs="*", metavar="CLIP", help=f"clips to compare on (else {' '.join(CLIPS)})")
    options.add_argument("--guise", help="the program (else the one built here, else the one on the PATH)")
    options.add_argument("--data", default=os.environ.get("GUISE_DATA", PROJECT / "../shared/data/faces"),
                         help="the labelled data (else $GUISE_DATA, else ../shared/data/faces)")
    options.add_argument("--venv", help="where MediaPipe is or goes (else guise/benchmarks/mediapipe in the caches)")
    options.add_argument("--frames", type=int, default=10**9, help="at most so many of each clip")
    options.add_argument("--rounds", type=int, default=1, help="measure each clip so many times, and take all together")
    given = options.parse_args()
    if min(given.frames, given.rounds) < 1:
        options.error("--frames and --rounds take 1 or more")
    labels = Labels(given.data)
    clips = [labels.find(clip) for clip in given.clips or CLIPS]
    if not shutil.which("ffmpeg"):
        sys.exit("compare: no ffmpeg: `apt install ffmpeg`")
    guise = Guise(given.guise)
    peers = [guise]
    for make in (lambda: [MediaPipe(given.venv, faces) for faces in FACES]), (lambda: [FaceOverlay()]):
        try:
            peers += make()
        except Missing as problem:
            print(f"compare: going on without a peer: {problem}", file=sys.stderr)

    all_costs, all_errors, all_frames = {p.name: [] for p in peers}, {p.name: [] for p in peers}, 0
    for clip in clips:
        frames = min(given.frames, len(guise.faces(clip)))
        width, height = size(clip)
        truth = labels.of(clip)
        costs, errors = {}, {}
        for _ in range(given.rounds):
            for peer in list(peers):
                try:
                    cost, faces = peer.measure(clip, frames, (width, height))
                    if isinstance(cost, list) and len(cost) != frames:
                        raise Missing(f"{peer.name} saw {len(cost)} of {frames} frames of {clip.name}")
                except Missing as problem:
                    if peer is guise:
                        raise
                    print(f"compare: going on without {peer.name}: {problem}", file=sys.stderr)
                    peers.remove(peer)
                    continue
                costs.setdefault(peer.name, []).extend(cost if isinstance(cost, list) else [(cost, frames)])
                if truth and faces:
                    errors[peer.name] = score(truth, faces)
        table(f"{clip.name}, {width}x{height}, {frames} frames", costs, errors)
        for name in costs:
            all_costs[name] += costs[name]
            all_errors[name] += errors.get(name, [])
        all_frames += frames
    if len(clips) > 1:
        whole = {peer.name: all_costs[peer.name] for peer in peers}
        table(f"all {len(clips)} clips, {all_frames} frames", whole, all_errors)


try:
    main()
except Missing as problem:
    sys.exit(f"compare: {problem}")
