"""Makes the model of the party hat: a cone of printed card with its seam, and a ruffle of crepe paper at its rim.

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
# How far above the rim the ruffle begins.
START = 0.15
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


WAVES = [(k, random.uniform(0, 2 * math.pi)) for k in (13, 19)]


def ruffle(columns, rows, fine):
    """A skirt that hangs over the rim: from below, as cameras see it, only its outer side shows."""
    def point(column, row):
        # Backwards, so that its upper side is the front.
        turn, out = -2 * math.pi * column / columns, row / rows
        wave = sum(math.sin(k * turn + p) for k, p in WAVES) * 0.5
        pleat = math.sin(67 * turn + 2 * math.sin(7 * turn)) * 0.006 * out if fine else 0
        radius = RADIUS + 0.012 - START * RADIUS / HEIGHT + 0.13 * out + (0.034 * wave + pleat) * out
        height = START - 0.2 * out + 0.012 * wave * out + 0.03 * math.sin(math.pi * out)
        return (radius * math.sin(turn + math.pi), -radius * math.cos(turn + math.pi), height)

    return studio.grid("ruffle", columns, rows, point)


scene = studio.begin(samples=SAMPLES, sky=0.72)
studio.sun(1.3, (0.8, 0.0, -0.7))
card = studio.material("card", (1, 1, 1), roughness=0.5, specular=0.3)
node = card.node_tree.nodes.new("ShaderNodeTexImage")
node.image = print_card(512, 256)
card.node_tree.links.new(node.outputs[0], card.node_tree.nodes["Principled BSDF"].inputs["Base Color"])
studio.weave(card, scale=14, strength=0.1)
crepe = studio.material("crepe", linear("#e2c99a"), roughness=0.9)
studio.mottle(crepe, linear("#d8bd88"), linear("#ead6ac"), scale=16)
shapes = [
    ("cone", lambda fine: cone(256 if fine else 32, 24 if fine else 6, fine), card, (512, 256)),
    ("ruffle", lambda fine: ruffle(900 if fine else 104, 14 if fine else 3, fine), crepe, (512, 32)),
]
fines = []
for name, make, made, _ in shapes:
    fine = make(True)
    fine.name = "fine " + name
    fine.data.materials.append(made)
    fines.append(fine)
parts = []
for (name, make, _, size), fine in zip(shapes, fines):
    part = make(False)
    # Shapes don't shade each other: a dark line below the ruffle looks like a gap.
    for other in fines:
        other.hide_render = other != fine
    studio.bake(part, fine, size, os.path.join(bpy.app.tempdir, name + ".png"), reach=0.06)
    parts.append(part)
for part in parts[:1]:
    shader = part.data.materials[0].node_tree.nodes["Principled BSDF"]
    shader.inputs["Roughness"].default_value, shader.inputs["Metallic"].default_value = 0.45, 0.25
for part in parts[1:]:
    part.data.materials[0].use_backface_culling = False
studio.export(parts, TARGET)
