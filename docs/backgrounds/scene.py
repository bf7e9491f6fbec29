"""What the scenes of the backgrounds share: the arguments after --, OUT.png [WIDTH] [SAMPLES], colours, the camera and
the rendering. Cycles computes on the CPU, so that pictures do not depend on a graphics card."""

import math
import sys

import bpy


def start(default_samples):
    """Empties Blender, and returns the scene with its size and number of samples set by the arguments."""
    arguments = sys.argv[sys.argv.index("--") + 1:]
    width = int(arguments[1]) if len(arguments) > 1 else 1920
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.render.resolution_x, scene.render.resolution_y = width, width * 9 // 16
    scene.cycles.samples = int(arguments[2]) if len(arguments) > 2 else default_samples
    scene.cycles.use_denoising = False
    scene.render.image_settings.file_format = "PNG"
    scene.render.filepath = arguments[0]
    return scene


def linear(color):
    """The linear RGBA of #rrggbb."""
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p < 0.04 else ((p + 0.055) / 1.055) ** 2.4 for p in parts] + [1]


def light_world(scene, color, strength):
    """Lights the scene evenly from all sides."""
    world = bpy.data.worlds.new("world")
    world.use_nodes = True
    background = world.node_tree.nodes["Background"]
    background.inputs[0].default_value = (*color, 1)
    background.inputs[1].default_value = strength
    scene.world = world


def place_camera(scene, location, focal_length, focus, f_stop):
    """Places the camera, which looks along y. Focal length in millimetres of full format."""
    lens = bpy.data.cameras.new("camera")
    lens.lens, lens.sensor_width = focal_length, 36
    lens.dof.use_dof, lens.dof.focus_distance, lens.dof.aperture_fstop = True, focus, f_stop
    eye = bpy.data.objects.new("camera", lens)
    eye.location, eye.rotation_euler = location, (math.radians(90), 0, 0)
    scene.collection.objects.link(eye)
    scene.camera = eye
