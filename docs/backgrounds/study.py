"""A quiet study with window light, out of focus as behind somebody at a desk. Draws study.jpg of the mask
background-picture: blender -b -P study.py -- OUT.png [WIDTH] [SAMPLES]"""

import math
import os
import random
import sys

import bpy

# Blender does not look for modules beside the script.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scene import light_world, linear, place_camera, start

random.seed(11)

scene = start(256)


def material(name, color, rough=0.7, noise=None, glow=None, metal=0.0):
    """A plain material. noise: (scale, strength of colour, strength of relief, stretch)."""
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    nodes, links = made.node_tree.nodes, made.node_tree.links
    surface = nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = linear(color)
    surface.inputs["Roughness"].default_value = rough
    surface.inputs["Metallic"].default_value = metal
    if glow:
        surface.inputs["Emission"].default_value = linear(color)
        surface.inputs["Emission Strength"].default_value = glow
    if noise:
        scale, tone, relief, stretch = noise
        place = nodes.new("ShaderNodeTexCoord")
        mapping = nodes.new("ShaderNodeMapping")
        mapping.inputs["Scale"].default_value = stretch
        texture = nodes.new("ShaderNodeTexNoise")
        texture.inputs["Scale"].default_value = scale
        texture.inputs["Detail"].default_value = 6
        links.new(place.outputs["Object"], mapping.inputs["Vector"])
        links.new(mapping.outputs["Vector"], texture.inputs["Vector"])
        mix = nodes.new("ShaderNodeMixRGB")
        mix.blend_type = "MULTIPLY"
        mix.inputs["Color1"].default_value = linear(color)
        ramp = nodes.new("ShaderNodeValToRGB")
        ramp.color_ramp.elements[0].color = [1 - tone] * 3 + [1]
        ramp.color_ramp.elements[0].position = 0.3
        ramp.color_ramp.elements[1].position = 0.7
        links.new(texture.outputs["Fac"], ramp.inputs["Fac"])
        links.new(ramp.outputs["Color"], mix.inputs["Color2"])
        mix.inputs["Fac"].default_value = 1
        links.new(mix.outputs["Color"], surface.inputs["Base Color"])
        bump = nodes.new("ShaderNodeBump")
        bump.inputs["Strength"].default_value = relief
        links.new(texture.outputs["Fac"], bump.inputs["Height"])
        links.new(bump.outputs["Normal"], surface.inputs["Normal"])
    return made


def box(center, size, look, bevel=0.004, turn=(0, 0, 0)):
    bpy.ops.mesh.primitive_cube_add(size=1, location=center, rotation=turn)
    made = bpy.context.object
    made.scale = size
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    if bevel:
        edge = made.modifiers.new("bevel", "BEVEL")
        edge.width, edge.segments = bevel, 3
    made.data.materials.append(look)
    return made


def lathe(profile, at, look, steps=64):
    """A body of revolution of [radius, height]."""
    points, faces = [], []
    for radius, height in profile:
        for k in range(steps):
            angle = 2 * math.pi * k / steps
            points.append((radius * math.cos(angle), radius * math.sin(angle), height))
    for row in range(len(profile) - 1):
        for k in range(steps):
            a, b = row * steps + k, row * steps + (k + 1) % steps
            faces.append((a, b, b + steps, a + steps))
    mesh = bpy.data.meshes.new("lathe")
    mesh.from_pydata(points, [], faces)
    mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
    made = bpy.data.objects.new("lathe", mesh)
    made.location = at
    scene.collection.objects.link(made)
    made.modifiers.new("thick", "SOLIDIFY").thickness = 0.004
    mesh.materials.append(look)
    return made


# x to the right, y away from the camera, z up; metres. The wall is at y = 3.3, the camera at 0.
WALL = 3.3
plaster = material("plaster", "#c9c3b4", 0.92, (9, 0.06, 0.06, (1, 1, 1)))
oak = material("oak", "#9a7350", 0.5, (5, 0.28, 0.05, (1, 1, 14)))
oak_flat = material("oak flat", "#9a7350", 0.5, (5, 0.28, 0.05, (14, 1, 1)))
dark = material("dark", "#3a2c22", 0.6)
linen = material("linen", "#e9ddc6", 0.9)
brass = material("brass", "#b98d4a", 0.28, metal=1.0)
clay = material("clay", "#b9785a", 0.75, (22, 0.12, 0.05, (1, 1, 1)))
glaze = material("glaze", "#5f7f7c", 0.35)
leaf = material("leaf", "#4c6a45", 0.55)
leaf_light = material("light leaf", "#7a9360", 0.55)
stem = material("stem", "#5b4a35", 0.8)
paper = material("paper", "#efe8da", 0.9)

box((0, WALL + 0.05, 1.3), (9, 0.1, 4.2), plaster, 0)
box((0, 0, -0.75), (9, 9, 0.02), material("floor", "#8a6a4c", 0.6, (3, 0.2, 0.02, (1, 12, 1))), 0)

# A shelf on the left: uprights and boards, with books, and things between them.
left, right, depth = -2.25, -0.98, 0.30
front = WALL - depth / 2
for x in (left, right):
    box((x, front, 0.9), (0.03, depth, 3.4), oak)
box((left / 2 + right / 2, WALL - 0.012, 0.9), (right - left, 0.012, 3.4), oak, 0)
cloths = ["#7d463c", "#3b4f59", "#b89a64", "#d3c8b3", "#636e59", "#6b524b", "#2c3a45", "#ab8568", "#9a998b", "#4d5c55"]
books = [material(f"book {c}", c, 0.75) for c in cloths]
levels = [-0.42, -0.02, 0.38, 0.78, 1.18, 1.58]
for row, z in enumerate(levels):
    box((left / 2 + right / 2, front, z), (right - left, depth, 0.026), oak_flat)
    x = left + 0.03 + random.uniform(0, 0.05)
    end = right - 0.04 - [0.05, 0.38, 0.1, 0.42, 0.16, 0.3][row]
    if row == 3:
        x += 0.36
        end = right - 0.06
    while x < end:
        thick, tall = random.uniform(0.018, 0.046), random.uniform(0.2, 0.295)
        deep = random.uniform(0.15, 0.2)
        tilt = 0
        if random.random() < 0.06:
            tilt = 0.16
            x += 0.03
        look = random.choice(books)
        box((x + thick / 2, WALL - 0.05 - deep / 2 - 0.04, z + 0.014 + tall / 2), (thick * 0.94, deep, tall), look,
            0.003, (0, tilt, 0))
        x += thick + (0.035 if tilt else 0.0012)
# Between the books: a bowl, lying books, a picture in a frame.
lathe([(0.03, 0), (0.07, 0.01), (0.11, 0.07), (0.115, 0.09)], (right - 0.2, front - 0.02, levels[1] + 0.013), glaze)
for k, (w, c) in enumerate([(0.26, 1), (0.235, 3), (0.2, 0)]):
    box((left + 0.2, front - 0.02, levels[3] + 0.028 + k * 0.03), (w, 0.18, 0.028), books[c], 0.003, (0, 0, 0.05 * k))
lathe([(0.0, 0), (0.045, 0), (0.06, 0.05), (0.045, 0.13), (0.022, 0.16), (0.026, 0.19)],
      (left + 0.19, front - 0.02, levels[3] + 0.103), clay)
lathe([(0.0, 0), (0.05, 0), (0.075, 0.07), (0.05, 0.15), (0.03, 0.17)], (right - 0.24, front, levels[5] + 0.013), linen)
lathe([(0.0, 0), (0.05, 0), (0.06, 0.1), (0.06, 0.13)], (right - 0.25, front, levels[3] - 0.4 + 0.013 + 0.8), clay)

# A low sideboard on the right, with a lamp, books and a jug of olive branches.
top = 0.10
box((1.35, WALL - 0.24, top - 0.28), (1.9, 0.44, 0.54), oak_flat, 0.008)
for x in (0.88, 1.36, 1.84):
    box((x, WALL - 0.47, top - 0.28), (0.006, 0.02, 0.48), dark, 0)
box((1.35, WALL - 0.24, top + 0.012), (1.96, 0.48, 0.028), oak_flat, 0.006)
for k, (w, c) in enumerate([(0.32, 6), (0.29, 3), (0.25, 2)]):
    box((1.02, WALL - 0.24, top + 0.042 + k * 0.034), (w, 0.22, 0.032), books[c], 0.003, (0, 0, 0.09 * k - 0.05))
lathe([(0, 0), (0.05, 0), (0.052, 0.035), (0.05, 0.035)], (1.02, WALL - 0.24, top + 0.128), linen)

lamp = (0.62, WALL - 0.24, top + 0.026)
lathe([(0, 0), (0.085, 0), (0.085, 0.014), (0.012, 0.022), (0.008, 0.2), (0.008, 0.33)], lamp, brass)
shade = material("shade", "#f3d9ae", 0.9, glow=1.6)
lathe([(0.155, 0.27), (0.105, 0.47)], lamp, shade)
bulb = bpy.data.lights.new("bulb", "POINT")
bulb.energy, bulb.color, bulb.shadow_soft_size = 7, (1, 0.72, 0.42), 0.05
held = bpy.data.objects.new("bulb", bulb)
held.location = (lamp[0], lamp[1], lamp[2] + 0.36)
scene.collection.objects.link(held)

jug = (1.62, WALL - 0.25, top + 0.026)
lathe([(0, 0), (0.075, 0), (0.115, 0.09), (0.1, 0.19), (0.055, 0.26), (0.062, 0.3)], jug, glaze)


def branch(start, lean, length):
    """A twig with pairs of narrow leaves."""
    curve = bpy.data.curves.new("twig", "CURVE")
    curve.dimensions, curve.bevel_depth = "3D", 0.0035
    spline = curve.splines.new("NURBS")
    count = 14
    spline.points.add(count - 1)
    spline.use_endpoint_u = True
    points = []
    for k in range(count):
        t = k / (count - 1)
        sag = t * t * 0.16 * length
        points.append((start[0] + lean[0] * t * length + 0.012 * math.sin(9 * t + lean[0] * 7),
                       start[1] + lean[1] * t * length, start[2] + t * length - sag * abs(lean[0])))
        spline.points[k].co = (*points[k], 1)
    made = bpy.data.objects.new("twig", curve)
    scene.collection.objects.link(made)
    curve.materials.append(stem)
    for k in range(3, count):
        for side in (-1, 1):
            bpy.ops.mesh.primitive_uv_sphere_add(segments=12, ring_count=8, radius=1, location=points[k])
            blade = bpy.context.object
            size = random.uniform(0.038, 0.056)
            blade.scale = (size, 0.0025, size * 0.24)
            blade.rotation_euler = (random.uniform(-0.7, 0.7), random.uniform(-0.5, 0.2) + side * 0.5 - 0.6,
                                    random.uniform(-0.6, 0.6) + (math.pi if side < 0 else 0))
            blade.location = (points[k][0] + side * size * 0.8, points[k][1] + random.uniform(-0.03, 0.03),
                              points[k][2] + size * 0.5)
            for polygon in blade.data.polygons:
                polygon.use_smooth = True
            blade.data.materials.append(leaf if random.random() < 0.6 else leaf_light)


for lean, length in [((-0.45, -0.1), 0.62), ((-0.18, 0.05), 0.8), ((0.08, -0.15), 0.86), ((0.34, 0.02), 0.72),
                     ((0.62, -0.12), 0.58), ((-0.05, -0.3), 0.6), ((0.2, 0.1), 0.64)]:
    branch((jug[0] + lean[0] * 0.03, jug[1], jug[2] + 0.26), lean, length)

# Two prints on the wall over the sideboard.
for (x, z, w, h, tone) in [(0.83, 1.05, 0.46, 0.6, "#4f6b6a"), (1.38, 1.1, 0.34, 0.44, "#b5654a")]:
    box((x, WALL - 0.012, z), (w, 0.024, h), oak, 0.003)
    box((x, WALL - 0.026, z), (w - 0.036, 0.004, h - 0.036), paper, 0)
    shape = material(f"print {tone}", tone, 0.95)
    bpy.ops.mesh.primitive_cylinder_add(vertices=64, radius=w * 0.2, depth=0.004,
                                        location=(x - w * 0.04, WALL - 0.029, z + h * 0.1), rotation=(math.pi / 2, 0, 0))
    bpy.context.object.data.materials.append(shape)
    box((x, WALL - 0.0295, z - h * 0.2), (w * 0.56, 0.003, h * 0.16), shape, 0)

# The sun through a window at the left, outside of the picture: its bars draw a pattern on the wall.
sun = bpy.data.lights.new("sun", "SUN")
sun.energy, sun.angle, sun.color = 4.6, math.radians(1.6), (1, 0.83, 0.62)
held = bpy.data.objects.new("sun", sun)
held.rotation_euler = (math.radians(63), 0, math.radians(-47))
scene.collection.objects.link(held)
blocker = material("blocker", "#000000")
direction = held.rotation_euler.to_matrix() @ __import__("mathutils").Vector((0, 0, -1))


SLANT = math.radians(-9)


def gobo(x, z, w, h, turn=0.0):
    """A blocker whose shadow on the wall is centred at (x, z)."""
    from mathutils import Vector
    way = 3.4
    at = Vector((x, WALL, z)) - direction * way
    made = box(tuple(at), (w, 0.01, h), blocker, 0, (0, turn, 0))
    made.visible_camera = False
    made.visible_diffuse = False
    made.visible_glossy = False


# The opening on the wall: from x = -0.85 to 0.55, z = 0.2 to 1.75; everything else is in the shade.
x0, x1, z0, z1 = -0.72, 0.52, 0.16, 1.9
gobo(x0 - 3, 1, 6, 9)
gobo(x1 + 3, 1, 6, 9)
gobo((x0 + x1) / 2, z0 - 3, 4, 6, SLANT)
gobo((x0 + x1) / 2, z1 + 3, 4, 6, SLANT)
gobo((x0 + x1) / 2, 1, 0.07, 3)
for z in (0.72, 1.3):
    gobo((x0 + x1) / 2, z, x1 - x0, 0.055, SLANT)

window = bpy.data.lights.new("window", "AREA")
window.shape, window.size, window.size_y, window.energy, window.color = "RECTANGLE", 2.2, 2.4, 95, (0.80, 0.89, 1)
held = bpy.data.objects.new("window", window)
held.location = (-3.6, 1.0, 1.5)
held.rotation_euler = (0, math.radians(-78), math.radians(18))
scene.collection.objects.link(held)
light_world(scene, (0.75, 0.78, 0.85), 0.16)

place_camera(scene, (0, 0, 0.62), focal_length=31, focus=1.15, f_stop=1.1)

scene.cycles.use_adaptive_sampling = True
scene.cycles.adaptive_threshold = 0.01
scene.cycles.max_bounces = 6
scene.cycles.sample_clamp_indirect = 0.8
scene.cycles.caustics_reflective = scene.cycles.caustics_refractive = False
scene.cycles.blur_glossy = 1
scene.view_settings.view_transform = "Filmic"
scene.view_settings.look = "Medium High Contrast"
scene.view_settings.exposure = 0.55
bpy.ops.render.render(write_still=True)
