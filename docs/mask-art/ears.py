"""Renders ears with fur, strand by strand, as pictures for bent sheets.

    blender -b --factory-startup --python docs/mask-art/ears.py -- cat Masks/cat/ear.png

Blender's z is up and its -y is the front. One unit is an eye distance. These are the ears at the picture's right.
"""

import math
import os
import random
import sys

import bpy
import numpy as np

KIND, TARGET = sys.argv[sys.argv.index("--") + 1:][:2]
TARGET = os.path.abspath(TARGET)
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import studio  # noqa: E402

SAMPLES = int(os.environ.get("SAMPLES", 48))
random.seed(3)


def tube(name, path, radii, around=10, flat=1.0):
    """A tube along a path of points, flat in y."""
    corners, faces = [], []
    for i, (x, y, z) in enumerate(path):
        a, b = path[max(0, i - 1)], path[min(len(path) - 1, i + 1)]
        dx, dz = b[0] - a[0], b[2] - a[2]
        length = math.hypot(dx, dz) or 1
        across = (dz / length, -dx / length)
        for k in range(around):
            turn = 2 * math.pi * k / around
            c, s = math.cos(turn) * radii[i], math.sin(turn) * radii[i] * flat
            corners.append((x + across[0] * c, y + s, z + across[1] * c))
    for i in range(len(path) - 1):
        for k in range(around):
            a, b = i * around + k, i * around + (k + 1) % around
            faces.append((a, b, b + around, a + around))
    made = studio.add(name, corners, faces)
    bpy.context.view_layer.objects.active = made
    bpy.ops.object.select_all(action="DESELECT")
    made.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.normals_make_consistent(inside=False)
    bpy.ops.object.mode_set(mode="OBJECT")
    return made


def strands(name, root, tip, spread=0.35, dark_below=None):
    """A material for hair: from `root` to `tip` along each strand, each strand its own; darker below a height."""
    made = studio.material(name, tip, roughness=0.55, specular=0.25)
    tree = made.node_tree
    hair = tree.nodes.new("ShaderNodeHairInfo")
    ramp = tree.nodes.new("ShaderNodeValToRGB")
    ramp.color_ramp.elements[0].color = (*root, 1)
    ramp.color_ramp.elements[1].color = (*tip, 1)
    tree.links.new(hair.outputs["Intercept"], ramp.inputs[0])
    vary = tree.nodes.new("ShaderNodeHueSaturation")
    scale = tree.nodes.new("ShaderNodeMapRange")
    scale.inputs["To Min"].default_value, scale.inputs["To Max"].default_value = 1 - spread, 1 + spread
    tree.links.new(hair.outputs["Random"], scale.inputs["Value"])
    tree.links.new(scale.outputs[0], vary.inputs["Value"])
    tree.links.new(ramp.outputs[0], vary.inputs["Color"])
    color = vary.outputs[0]
    if dark_below:
        (low, high, factor) = dark_below
        place = tree.nodes.new("ShaderNodeNewGeometry")
        axis = tree.nodes.new("ShaderNodeSeparateXYZ")
        tree.links.new(place.outputs["Position"], axis.inputs[0])
        fade = tree.nodes.new("ShaderNodeMapRange")
        fade.inputs["From Min"].default_value, fade.inputs["From Max"].default_value = low, high
        fade.inputs["To Min"].default_value, fade.inputs["To Max"].default_value = factor, 1
        tree.links.new(axis.outputs["Z"], fade.inputs["Value"])
        shade = tree.nodes.new("ShaderNodeMixRGB")
        shade.blend_type, shade.inputs[0].default_value = "MULTIPLY", 1
        tree.links.new(color, shade.inputs[1])
        tree.links.new(fade.outputs[0], shade.inputs[2])
        color = shade.outputs[0]
    tree.links.new(color, tree.nodes["Principled BSDF"].inputs["Base Color"])
    return made


def fur(thing, made, count, length, align, normal=0.02, noise=0.01, children=30, width=0.006, clump=0.35, seed=1,
        rough=0.03, wave=0.0, shown=True):
    """Grows hair on a mesh, along its normals and `align`. `wave` is how far strands swing to and fro."""
    thing.data.materials.append(made)
    thing.show_instancer_for_render = shown
    modifier = thing.modifiers.new(thing.name, "PARTICLE_SYSTEM")
    system = modifier.particle_system
    system.seed = seed
    hair = system.settings
    hair.type = "HAIR"
    hair.count, hair.hair_length, hair.hair_step = count, length, 6
    hair.emit_from, hair.use_emit_random, hair.distribution = "FACE", True, "RAND"
    hair.use_advanced_hair = True
    hair.normal_factor, hair.factor_random = normal, noise
    hair.object_align_factor = align
    hair.material = len(thing.data.materials)
    hair.child_type, hair.rendered_child_count, hair.child_nbr = "INTERPOLATED", children, children
    hair.clump_factor, hair.clump_shape = clump, 0.2
    hair.roughness_1, hair.roughness_1_size = rough * 0.4, 0.3
    hair.roughness_endpoint, hair.roughness_2 = rough, rough * 0.6
    hair.child_length, hair.child_length_threshold = 1.0, 0.4
    hair.root_radius, hair.tip_radius, hair.radius_scale = width, 0.1 * width, 1.0
    hair.render_step = 4
    if wave:
        hair.kink, hair.kink_amplitude, hair.kink_frequency = "WAVE", wave, 1.5
    return system


def camera(width, height, center, pixels):
    view = bpy.data.cameras.new("view")
    view.type, view.ortho_scale = "ORTHO", max(width, height)
    eye = bpy.data.objects.new("view", view)
    eye.location, eye.rotation_euler = (center[0], -8, center[1]), (math.pi / 2, 0, 0)
    scene = bpy.context.scene
    scene.collection.objects.link(eye)
    scene.camera = eye
    scene.render.resolution_x, scene.render.resolution_y = round(pixels * width), round(pixels * height)


def lerp(points, t):
    at = t * (len(points) - 1)
    i = min(int(at), len(points) - 2)
    return tuple(a + (b - a) * (at - i) for a, b in zip(points[i], points[i + 1]))


def cat():
    """A cup that opens to the front: fur at its rim and behind, bare skin inside, down at its inner edges."""
    def half(v):
        return 0.47 * max(0, 1 - v**1.7)

    def middle(v):
        return 0.04 + 0.1 * v * v

    def cup(u, v, push=0.0):
        w = half(v)
        x = middle(v) + (w - push * 0.4) * u * (1 - 0.08 * u * u)
        return (x, 0.34 * w * (1 - u * u) * 1.6 - push - 0.12 * v * v, 1.06 * v)

    rim = [cup(-1, i / 30) for i in range(30)] + [cup(1, i / 30) for i in range(30, -1, -1)]
    edge = tube("edge", rim, [0.012 + 0.022 * (1 - z / 1.06) for _, _, z in rim], around=8)
    back = studio.grid("back", 24, 24, lambda c, r: cup(c / 12 - 1, r / 24, -0.03))
    skin = studio.grid("skin", 24, 24, lambda c, r: cup((c / 12 - 1) * 0.99, r / 24 * 0.99, 0.01))
    pink = studio.material("pink", (0.5, 0.23, 0.19), roughness=0.6, specular=0.2)
    studio.mottle(pink, (0.44, 0.18, 0.15), (0.62, 0.32, 0.27), scale=4)
    skin.data.materials.append(pink)
    coat = strands("coat", (0.05, 0.028, 0.014), (0.44, 0.26, 0.14), spread=0.45)
    for thing in (edge, back):
        fur(thing, coat, 1700, 0.07, (0, 0, 0.03), normal=0.012, noise=0.01, children=26, width=0.005)
    down = strands("down", (0.36, 0.25, 0.18), (0.88, 0.74, 0.6), spread=0.22)
    for sign in (-1, 1):
        strip = studio.grid(
            "strip", 4, 16, lambda c, r: cup(sign * (0.86 + 0.12 * c / 4), 0.05 + 0.62 * r / 16, 0.03))
        fur(strip, down, 75, 0.2 if sign < 0 else 0.24, (-sign * 0.04, -0.03, 0.085), normal=0.0, noise=0.016,
            children=10, width=0.0035, clump=0.75, rough=0.06, shown=False)
    # Down at the opening, and hair in which the ear stands, and which fades into the person's own.
    mouth = tube("mouth", [(-0.33 + 0.06 * a, -0.05, 0.03) for a in range(13)], [0.05] * 13, around=8)
    fur(mouth, down, 110, 0.22, (0.0, -0.02, 0.06), normal=0.015, noise=0.03, children=12, width=0.0035, clump=0.75,
        rough=0.06, shown=False)
    arc = [a / 8 - 1 for a in range(17)]
    path = [(0.04 + 0.42 * a, -0.08 + 0.1 * a * a, 0.07 - 0.07 * a * a) for a in arc]
    foot = tube("foot", path, [0.035] * 17, around=8)
    fur(foot, coat, 420, 0.2, (0, -0.03, -0.05), normal=0.02, noise=0.03, children=16, width=0.0045, clump=0.8,
        rough=0.08, shown=False)
    camera(1.2, 1.6, (0.08, 0.46), 270)

    def light(x, z):
        # Streaks, so that it is strands that end, and not a veil.
        streak = uneven(x + 0.3 * (x - 0.04) * (0.1 - z), 0.007)
        return 0.7 + 0.3 * smooth(-0.02, 0.4, z), smooth(-0.18, 0.06, z - 0.4 * (x - 0.04) ** 2 + 0.07 * streak)

    return light


def dog():
    """A lobe that rises from the head, folds over and hangs."""
    spine = [(-0.56, 0.1, 0.3), (-0.45, 0.02, 0.5), (-0.29, -0.06, 0.6), (-0.1, -0.1, 0.55), (0.05, -0.12, 0.36),
             (0.14, -0.1, 0.1), (0.2, -0.06, -0.2), (0.23, -0.02, -0.48), (0.24, 0.0, -0.7), (0.24, 0.0, -0.9),
             (0.24, 0, -1.02)]
    widths = [0.06, 0.11, 0.15, 0.18, 0.21, 0.25, 0.285, 0.3, 0.27, 0.17, 0.02]
    path = [lerp(spine, i / 40) for i in range(41)]
    radii = [lerp([(w,) for w in widths], i / 40)[0] for i in range(41)]
    for _ in range(3):
        path = [path[0]] + [tuple((a + 2 * b + c) / 4 for a, b, c in zip(path[i - 1], path[i], path[i + 1]))
                            for i in range(1, 40)] + [path[40]]
    lobe = tube("lobe", path, radii, around=20, flat=0.4)
    coat = strands("coat", (0.13, 0.052, 0.016), (0.8, 0.42, 0.15), spread=0.45)
    fur(lobe, coat, 4200, 0.17, (0.012, 0, -0.05), normal=0.026, noise=0.014, children=22, clump=0.8, rough=0.05,
        width=0.005, wave=0.016)
    # Longer hair along the edges and at the tip.
    fringe = tube("fringe", [(x + 0.6 * r, y, z) for (x, y, z), r in zip(path, radii)][14:], [0.04] * 27, around=8)
    fur(fringe, coat, 500, 0.28, (0.02, 0, -0.06), normal=0.012, noise=0.016, children=16, clump=0.85, rough=0.05,
        width=0.0045, wave=0.018, shown=False)
    # Hair of the head, that lies over the root.
    root = tube("root", [(-0.56 + 0.035 * a, -0.14, 0.34 + 0.022 * a) for a in range(9)], [0.07] * 9, around=8)
    fur(root, coat, 240, 0.24, (-0.04, -0.02, -0.03), normal=0.02, noise=0.03, children=16, clump=0.85, rough=0.06,
        width=0.0045, wave=0.012, shown=False)
    camera(1.5, 2.2, (-0.02, -0.29), 220)
    spots = np.array([(x, z, r, i / 40) for i, ((x, _, z), r) in enumerate(zip(path, radii))])

    def light(x, z):
        # By the nearest point of the spine: how far along, and how far to the side of it.
        near = np.full(x.shape, np.inf)
        along, beside = np.zeros(x.shape), np.zeros(x.shape)
        for k, (sx, sz, r, t) in enumerate(spots):
            far = (x - sx) ** 2 + (z - sz) ** 2
            ax, az = spots[min(k + 1, 40), :2] - spots[max(k - 1, 0), :2]
            side = ((z - sz) * ax - (x - sx) * az) / math.hypot(ax, az) / max(r, 0.12)
            closer = far < near
            near = np.where(closer, far, near)
            along, beside = np.where(closer, t, along), np.where(closer, side, beside)
        # Lightest on the fold, dark at the root and towards the tip; round across, and its inner side is in shade.
        fold = 0.5 + 0.65 * smooth(0.02, 0.3, along) - 0.52 * smooth(0.36, 0.95, along)
        across = 1.08 - 0.3 * np.clip(np.abs(beside - 0.25), 0, 1.3) ** 2 - 0.14 * smooth(0.1, -0.9, beside)
        way = x + 0.6 * (np.maximum(z, 0.1) - 0.4)
        return fold * across, smooth(-0.68, -0.42, way + 0.07 * uneven(z - 0.2 * x, 0.007))

    return light


def smooth(low, high, value):
    part = np.clip((value - low) / (high - low), 0, 1)
    return part * part * (3 - 2 * part)


def uneven(place, size):
    """Noise from -1 to 1, whose grains have this size."""
    grains = np.random.default_rng(5).uniform(-1, 1, 4096)
    at = place / size + 2048
    left = np.floor(at).astype(int)
    part = at - left
    return grains[left] * (1 - part) + grains[left + 1] * part


def finish(path, light):
    """Shades the picture by large shapes, and fades its root out: `light(x, z)` gives factors for light and alpha."""
    image = bpy.data.images.load(path)
    width, height = image.size
    pixels = np.array(image.pixels[:]).reshape(height, width, 4)
    eye = bpy.context.scene.camera
    unit = eye.data.ortho_scale / max(width, height)
    x = eye.location.x + (np.arange(width) + 0.5 - width / 2) * unit
    z = eye.location.z + (np.arange(height) + 0.5 - height / 2) * unit
    shade, alpha = light(*np.meshgrid(x, z))
    pixels[..., :3] = np.clip(pixels[..., :3] * shade[..., None], 0, 1)
    pixels[..., 3] *= alpha
    # Without the other pixels' colours the file is smaller.
    pixels[pixels[..., 3] < 1 / 255] = 0
    image.pixels[:] = pixels.ravel()
    image.filepath_raw, image.file_format = path, "PNG"
    image.save()


scene = studio.begin(samples=SAMPLES, sky=0.75, transparent=True)
studio.sun(2.2, (0.7, 0.25, 0.0))
light = {"cat": cat, "dog": dog}[KIND]()
settings = scene.render.image_settings
settings.file_format, settings.color_mode, settings.compression = "PNG", "RGBA", 100
scene.render.filepath = TARGET
bpy.ops.render.render(write_still=True)
finish(TARGET, light)
