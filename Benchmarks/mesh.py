"""MediaPipe's face mesh over the raw RGB frames on standard input; compare.py runs it in its own environment.

    mesh.py WIDTH HEIGHT FACES

Prints one JSON object a frame: the faces' four points as Guise names them, and `ms`, the CPU time of all threads of
this process while the frame was processed. Reading frames and picking points out of the result is not measured.
"""
import json
import sys
import time

import mediapipe
import numpy

# Points of the mesh whose mean is the named one: an eye is the centre of six points of its lids, as in 68-point labels.
POINTS = {
    "right_eye": (33, 160, 158, 133, 153, 144),
    "left_eye": (362, 385, 387, 263, 373, 380),
    "nose": (4,),
    "mouth": (61, 291),
}


def named(face, width, height):
    points = {}
    for name, indices in POINTS.items():
        x = sum(face.landmark[i].x for i in indices) / len(indices)
        y = sum(face.landmark[i].y for i in indices) / len(indices)
        points[name] = [round(x * width, 2), round(y * height, 2)]
    return points


def main():
    width, height, faces = map(int, sys.argv[1:])
    mesh = mediapipe.solutions.face_mesh.FaceMesh(max_num_faces=faces)
    # Starts its graph, as Guise has its files read before its first frame.
    mesh.process(numpy.zeros((height, width, 3), numpy.uint8))
    count = width * height * 3
    while len(data := sys.stdin.buffer.read(count)) == count:
        frame = numpy.frombuffer(data, numpy.uint8).reshape(height, width, 3)
        start = time.process_time()
        found = mesh.process(frame).multi_face_landmarks or []
        cost = time.process_time() - start
        print(json.dumps({"ms": cost * 1000, "faces": [{"points": named(f, width, height)} for f in found]}))


main()
