"""Makes the model of the party hat: a cone of printed card with its seam.

    blender -b --factory-startup --python docs/mask-art/party.py -- Masks/party/cone.glb

Blender's z is up and its -y is the front. One unit is an eye distance; the origin is the middle of the rim.
"""

import math
import os
import random
import sys

import bpy

TARGET = os.path.abspath(sys.argv[sys.argv.index("--") + 1])
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import studio  # noqa: E402

SAMPLES = int(os.environ.get("SAMPLES", 64))
RADIUS, HEIGHT = 0.88, 1.95
random.seed(4)


def linear(text):
    parts = [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return tuple(p / 12.92 if p < 0.04 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)


def print_card(width, height):
    """Spiral stripes with spots of gold, as a picture of the unrolled cone."""
    berry, rose, gold = linear("#b32a5b"), linear("#efd9d2"), linear("#dfb04e")
    spots = []
    for row in range(9):
        up = 0.06 + row * 0.105
        count = max(3, round(20 * (1 - up)))
        spots += [((k + 0.5 * (row % 2) + random.uniform(-0.1, 0.1)) / count, up) for k in range(count)]
    pixels = []
    for j in range(height):
        v = (j + 0.5) / height
        around = 2 * math.pi * RADIUS * (1 - v)
        near = [spot for spot in spots if abs(spot[1] - v) < 0.06]
        for i in range(width):
            u = (i + 0.5) / width
            wave = math.sin(2 * math.pi * (6 * u + 1.5 * v))
            mix = min(1, max(0, wave * 6 * (1 - v) + 0.5))
            color = [a + (b - a) * mix for a, b in zip(berry, rose)]
            edge = min(1, max(0, 1.6 - abs(wave) * 14 * (1 - v)))
            color = [a + (b - a) * edge * 0.9 for a, b in zip(color, gold)]
            for x, y in near:
                across = ((u - x + 0.5) % 1 - 0.5) * around
                away = math.hypot(across, (v - y) * HEIGHT)
                mark = min(1, max(0, (0.05 - away) * 60))
                color = [a + (b - a) * mark for a, b in zip(color, gold)]
            pixels += [*color, 1]
    image = bpy.data.images.new("print", width, height, float_buffer=True)
    image.colorspace_settings.name = "Linear"
    image.pixels[:] = pixels
    return image


def cone(columns, rows, fine):
    def point(column, row):
        turn, up = 2 * math.pi * column / columns, row / rows
        radius = RADIUS * (1 - up) + 0.012
        if fine:
            # The seam behind, and card that isn't quite round.
            radius += 0.012 * (turn / (2 * math.pi)) - 0.006
            radius += 0.004 * math.sin(5 * turn + 4 * up) * (1 - up)
        return (radius * math.sin(turn + math.pi), -radius * math.cos(turn + math.pi), HEIGHT * up)

    return studio.grid("cone", columns, rows, point)


scene = studio.begin(samples=SAMPLES, sky=0.72)
studio.sun(1.3, (0.8, 0.0, -0.7))
card = studio.material("card", (1, 1, 1), roughness=0.5, specular=0.3)
node = card.node_tree.nodes.new("ShaderNodeTexImage")
node.image = print_card(512, 256)
card.node_tree.links.new(node.outputs[0], card.node_tree.nodes["Principled BSDF"].inputs["Base Color"])
studio.weave(card, scale=14, strength=0.1)
fine = cone(256, 24, True)
fine.data.materials.append(card)
part = cone(32, 6, False)
studio.bake(part, fine, (512, 256), os.path.join(bpy.app.tempdir, "cone.png"), reach=0.06)
shader = part.data.materials[0].node_tree.nodes["Principled BSDF"]
shader.inputs["Roughness"].default_value, shader.inputs["Metallic"].default_value = 0.45, 0.25
studio.export([part], TARGET)
