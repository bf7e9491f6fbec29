#!/usr/bin/env python3
"""Compares the outline of people with MediaPipe's selfie segmentation: the same clips, frame by frame.

    outline.py [CLIP...]            clips of people; else some of the labelled data

Run `make build outline-mattes` first, and use a Python that has MediaPipe 0.10.14, NumPy and OpenCV: compare.py puts
one into ~/.cache/guise/benchmarks/mediapipe/bin/python. Prints for each clip:

- reduced: IoU of both masks of the same 256 x 144 picture, so of the network alone.
- run, between: IoU of the matte at 1280 x 720 with MediaPipe's own mask of that frame, in frames in which Guise's
  network ran, and in the others. Mean and worst frame.
- flicker: how much the matte of a still picture changes from frame to frame, as a share of what MediaPipe's mask does.
  The picture is a frame of the clip with new noise each time, as a camera's sensor adds it. In brackets what MediaPipe's
  mask does, in thousandths of full scale, in the mean of all pixels.

A pixel belongs to a person from one half on."""
import argparse, os, subprocess, sys
from pathlib import Path
import cv2, numpy as np
import mediapipe

PROJECT = Path(__file__).resolve().parent.parent
MATTES = PROJECT / ".build-benchmarks/release/outline-mattes"
MODEL = PROJECT / "samples/outline/selfie_segmentation_landscape.tflite"
# A moved camera, hands before a face, heads that nod, turn and tilt, plain walls and rooms, small and noisy pictures.
CLIPS = "lp_s18 asl_help lp_d3 clm_cap12 lp_d11 lp_d6 lp_d12 lp_d13 sad_hill vr_1 clm_franck".split()
REDUCED, FULL = (256, 144), (1280, 720)
RATE = 30
# The standard deviation of a webcam's noise in luma in a lit room, grey levels, and how often a picture is repeated.
NOISE, REPEATS = 2, 40


def frames(clip, size, count):
    """Frames of a clip as YUYV, cropped to the size's aspect ratio."""
    width, height = size
    form = f"fps={RATE},scale={width}:{height}:force_original_aspect_ratio=increase,crop={width}:{height}"
    command = ["ffmpeg", "-v", "error", "-nostdin", "-i", str(clip), "-vf", form, "-frames:v", str(count), "-f",
               "rawvideo", "-pix_fmt", "yuyv422", "-"]
    raw = np.frombuffer(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout, np.uint8)
    return raw.reshape(-1, height, width, 2)


def ours(pictures, seconds):
    """Whether the network ran, the masks and the mattes of frames so many seconds apart."""
    height, width = pictures.shape[1:3]
    command = [MATTES, MODEL, str(width), str(height), str(seconds)]
    output = subprocess.run(command, input=pictures.tobytes(), stdout=subprocess.PIPE, check=True).stdout
    cells = REDUCED[0] * REDUCED[1]
    rows = np.frombuffer(output, np.uint8).reshape(len(pictures), 1 + 4 * cells + width * height)
    masks = rows[:, 1:1 + 4 * cells].copy().view(np.float32).reshape(-1, REDUCED[1], REDUCED[0])
    return rows[:, 0] == 1, masks, rows[:, 1 + 4 * cells:].reshape(-1, height, width) / np.float32(255)


def theirs(pictures):
    """MediaPipe's masks."""
    with mediapipe.solutions.selfie_segmentation.SelfieSegmentation(model_selection=1) as network:
        return [network.process(cv2.cvtColor(p, cv2.COLOR_YUV2RGB_YUYV)).segmentation_mask for p in pictures]


def iou(a, b):
    a, b = a >= 0.5, b >= 0.5
    union = (a | b).sum()
    return (a & b).sum() / union if union else 1.0


def flicker(mattes):
    """The mean change from one frame to the next, after a second in which things settle."""
    mattes = mattes[RATE // 3:]
    return float(np.mean([np.abs(b - a).mean() for a, b in zip(mattes, mattes[1:])]))


def noisy(picture, seed):
    """A picture again and again, each time with other noise in luma."""
    random = np.random.default_rng(seed)
    pictures = np.repeat(picture[None], REPEATS, 0).copy()
    noise = random.normal(0, NOISE, pictures.shape[:3])
    pictures[..., 0] = np.clip(pictures[..., 0] + noise.round(), 16, 235)
    return pictures


def judge(clip, count):
    reduced = frames(clip, REDUCED, count)[::6]
    _, masks, _ = ours(reduced, 1)  # So long apart that each is the first frame of a scene.
    same = [iou(a, b) for a, b in zip(masks, theirs(reduced))]
    whole = frames(clip, FULL, count)
    ran, _, mattes = ours(whole, 1 / RATE)
    full = np.array([iou(a, b) for a, b in zip(mattes, theirs(whole))])
    still = noisy(whole[len(whole) // 2], 1)
    own, other = flicker(ours(still, 1 / RATE)[2]), flicker(theirs(still))
    spans = [f"{x.mean():.3f} {x.min():.3f}" if len(x) else "-" for x in (np.array(same), full[ran], full[~ran])]
    print(f"{clip.stem:20}" + "".join(f"{x:>14}" for x in spans) + f"{own / other:9.2f} ({1000 * other:.2f})", flush=True)
    return np.mean(same), full[ran].mean(), full[~ran].mean(), own / other


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("clips", nargs="*", metavar="CLIP")
    options.add_argument("--data", type=Path, default=os.environ.get("GUISE_DATA", PROJECT / "../shared/data/faces"))
    options.add_argument("--frames", type=int, default=60, help="of each clip (60)")
    given = options.parse_args()
    for path, fix in (MATTES, "make outline-mattes"), (MODEL, "./setup outline"):
        if not path.exists():
            sys.exit(f"outline: no {path}: run `{fix}`")
    print(f"{'':20}{'reduced':>14}{'run':>14}{'between':>14}{'flicker':>9}")
    clips = [Path(c) if Path(c).exists() else given.data / f"video/{c}.mp4" for c in given.clips or CLIPS]
    rows = np.array([judge(clip, given.frames) for clip in clips])
    print(f"{'mean':20}" + "".join(f"{x:>14.3f}" for x in rows[:, :3].mean(0)) + f"{rows[:, 3].mean():9.2f}")


main()
