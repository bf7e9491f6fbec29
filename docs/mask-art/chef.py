"""Makes the model of the chef's hat: a starched band, and a crown of gathered cotton whose folds are baked.

    blender -b --factory-startup --python docs/mask-art/chef.py -- Masks/chef/toque.glb

Blender's z is up and its -y is the front. One unit is an eye distance (see "place": "hat" in docs/masks.md).
"""

import math
import os
import random
import sys

import bpy

TARGET = os.path.abspath(sys.argv[sys.argv.index("--") + 1])
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import studio  # noqa: E402

# Radius and height from the inner side of the rim to the middle of the crown; the band ends at BAND.
PROFILE = [
    (1.16, 0.08), (1.24, -0.045), (1.275, -0.06), (1.3, -0.03), (1.315, 0.2), (1.32, 0.45), (1.315, 0.66), (1.3, 0.7),
    (1.26, 0.72), (1.33, 0.78), (1.5, 0.9), (1.66, 1.1), (1.74, 1.34), (1.73, 1.6), (1.61, 1.83), (1.38, 2.01),
    (1.06, 2.12), (0.7, 2.16), (0.35, 2.15), (0.0, 2.13),
]
BAND = 8
SAMPLES = int(os.environ.get("SAMPLES", 64))
random.seed(5)


def crease():
    return {
        "at": random.uniform(0, 2 * math.pi), "depth": random.uniform(0.1, 0.34), "end": random.uniform(0.4, 1.1),
        "drift": random.uniform(-0.35, 0.35), "width": random.uniform(0.025, 0.055),
    }


# Gathers at the band, of which the deeper ones run on as folds.
CREASES = [{**crease(), "at": (i + random.uniform(-0.35, 0.35)) / 34 * 2 * math.pi} for i in range(34)]
GATHERS = [
    {
        "at": random.uniform(0, 2 * math.pi), "depth": random.uniform(0.03, 0.1), "end": random.uniform(0.1, 0.35),
        "drift": random.uniform(-0.6, 0.6), "width": random.uniform(0.012, 0.025),
    } for _ in range(70)
]
LOBES = [(k, random.uniform(0, 2 * math.pi), random.uniform(0.006, 0.018)) for k in range(3, 9)]


def along(t):
    """Radius, height at t, which is the index in the profile; smooth above the band."""
    i = min(int(t), len(PROFILE) - 2)
    f = t - i
    points = [PROFILE[max(0, min(len(PROFILE) - 1, i + k))] for k in (-1, 0, 1, 2)]
    if i < BAND + 1:
        return tuple(a + (b - a) * f for a, b in zip(points[1], points[2]))
    return tuple(
        0.5 * (2 * b + (c - a) * f + (2 * a - 5 * b + 4 * c - d) * f**2 + (3 * b - a - 3 * c + d) * f**3)
        for a, b, c, d in zip(*points))


def surface(turn, t, sharp):
    """A point of the hat. `sharp` is how round the bottom of a fold is: a mesh with few corners needs more."""
    radius, height = along(t)
    if t <= BAND:
        # Starched cotton isn't quite round.
        radius += 0.006 * math.sin(5 * turn + 3 * height) + 0.004 * math.sin(11 * turn - 5 * height)
        if 3 <= t <= 7 and sharp < 0.02:
            for seam in (0.045, 0.63):
                radius -= 0.012 * math.exp(-(((height - seam) / 0.011) ** 2))
        # The rim rises from the brow to the nape, so that the band's sides don't hang over the temples.
        height += 0.1 * (1 - math.cos(turn)) * max(0, 1 - height / 0.7)
        return (radius * math.sin(turn), -radius * math.cos(turn), height)
    up = (t - BAND) / (len(PROFILE) - 1 - BAND)
    ends = min(1, up * 16) * min(1, radius / 0.7)
    sink = 0
    for fold in CREASES + (GATHERS if sharp < 0.02 and up < 0.5 else []):
        strength = 1 - min(1, max(0, up - 0.1) / fold["end"])
        if strength <= 0:
            continue
        off = (turn - fold["at"] - fold["drift"] * up + math.pi) % (2 * math.pi) - math.pi
        width = fold["width"] * (0.7 + 1.9 * up)
        sink += fold["depth"] * strength * math.exp(-(math.sqrt(off * off + sharp * sharp) - sharp) / width)
    if sharp > 0.02:
        sink *= 0.45
    bulge = sum(size * math.sin(k * turn + phase + 2.2 * up) for k, phase, size in LOBES)
    swell = math.sin(math.pi * min(1, up * 1.15))
    radius = max(0, radius + bulge * swell * 1.6 - 0.75 * sink * ends + 0.05 * swell)
    # It slumps to one side.
    lean = up * up
    x, y = radius * math.sin(turn) + 0.1 * lean, -radius * math.cos(turn) + 0.1 * lean
    height += lean * (0.05 * math.sin(2 * turn + 1) * radius - 0.06 * math.sin(turn) * radius) - 0.35 * sink * swell
    return (x, y, height)


def shell(name, start, end, columns, step, sharp):
    """The part of the hat between two angles, with texture coordinates across it."""
    rows = round((len(PROFILE) - 1) / step)
    lengths = [0.0]
    for i in range(rows):
        (a, b), (c, d) = along(i * step), along((i + 1) * step)
        lengths.append(lengths[-1] + math.hypot(c - a, d - b))

    def point(column, row):
        return surface(start + (end - start) * column / columns, row * step, sharp)

    return studio.grid(name, columns, rows, point, lambda row: lengths[row] / lengths[-1])


def soften(part):
    """Turns the normals of the crown upwards: thin white cotton glows by light from all sides, also from below."""
    normals = []
    for vertex in part.data.vertices:
        x, y, z = vertex.normal
        up = 0.12 - 0.95 * min(0, z) * min(1, max(0, (vertex.co.z - 0.68) / 0.12))
        length = math.sqrt(x * x + y * y + (z + up) ** 2)
        normals.append((x / length, y / length, (z + up) / length))
    part.data.use_auto_smooth = True
    part.data.normals_split_custom_set_from_vertices(normals)


def dye(part, color):
    """Multiplies the part's picture by a colour, in linear light."""
    tree = part.data.materials[0].node_tree
    mix = tree.nodes.new("ShaderNodeMix")
    mix.data_type, mix.blend_type = "RGBA", "MULTIPLY"
    factor, (picture, shade), result = mix.inputs[0], mix.inputs[6:8], mix.outputs[2]
    factor.default_value, shade.default_value = 1, (*color, 1)
    target = tree.nodes["Principled BSDF"].inputs["Base Color"]
    tree.links.new(target.links[0].from_socket, picture)
    tree.links.new(result, target)


scene = studio.begin(samples=SAMPLES, sky=0.72)
fine = shell("fine", 0, 2 * math.pi, 1100, 0.05, 0.008)
cotton = studio.material("cotton", (0.95, 0.95, 0.95), roughness=1)
studio.mottle(cotton, (0.91, 0.91, 0.91), (0.97, 0.97, 0.97), scale=9)
studio.weave(cotton, scale=150, strength=0.16)
fine.data.materials.append(cotton)
studio.sun(1.05, (0.85, 0.0, -0.6))
side = math.radians(104)
parts = []
for name, start, end, columns, size in (
    ("front", -side, side, 54, (512, 512)), ("back", side, 2 * math.pi - side, 32, (256, 256))):
    part = shell(name, start, end, columns, 1, 0.07)
    studio.bake(part, fine, size, os.path.join(bpy.app.tempdir, name + ".png"), gray=True)
    soften(part)
    dye(part, (1, 0.965, 0.895))
    parts.append(part)
studio.export(parts, TARGET)
