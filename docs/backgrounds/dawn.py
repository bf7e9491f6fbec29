"""Soft sheets that overlap like hills at dawn. Draws dawn.jpg of the mask background-picture:
blender -b -P dawn.py -- OUT.png [WIDTH] [SAMPLES]"""

import math
import os
import sys

import bpy

# Blender does not look for modules beside the script.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scene import light_world, linear, place_camera, start

scene = start(128)


def sheet(y, base, waves, low, high):
    """An upright sheet of cloth that bulges towards the camera below its wavy upper edge, coloured from low to high.
    waves: (amplitude, length, phase) of the edge."""
    columns, rows, half = 240, 40, 2.6
    points, faces = [], []
    for row in range(rows + 1):
        t = row / rows
        for column in range(columns + 1):
            x = -half + 2 * half * column / columns
            edge = base + sum(a * math.sin(2 * math.pi * x / length + phase) for a, length, phase in waves)
            # The upper edge rolls away from the camera, as a thick cushion does.
            roll = 0.34 * (1 - math.sqrt(max(0, 1 - t ** 5)))
            points.append((x, y + roll - 0.05 * math.sin(3 * x + 5 * y), edge - (1 - t) * 1.5 - roll * 0.16))
    for row in range(rows):
        for column in range(columns):
            a = row * (columns + 1) + column
            faces.append((a, a + 1, a + columns + 2, a + columns + 1))
    mesh = bpy.data.meshes.new("sheet")
    mesh.from_pydata(points, [], faces)
    mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
    made = bpy.data.objects.new("sheet", mesh)
    scene.collection.objects.link(made)
    look = bpy.data.materials.new("sheet")
    look.use_nodes = True
    nodes, links = look.node_tree.nodes, look.node_tree.links
    surface = nodes["Principled BSDF"]
    surface.inputs["Roughness"].default_value = 0.62
    surface.inputs["Sheen"].default_value = 0.4
    place = nodes.new("ShaderNodeTexCoord")
    parts = nodes.new("ShaderNodeSeparateXYZ")
    ramp = nodes.new("ShaderNodeValToRGB")
    ramp.color_ramp.elements[0].color, ramp.color_ramp.elements[1].color = linear(low), linear(high)
    ramp.color_ramp.interpolation = "EASE"
    links.new(place.outputs["Generated"], parts.inputs["Vector"])
    mix = nodes.new("ShaderNodeMath")
    mix.operation = "MULTIPLY_ADD"
    mix.inputs[1].default_value = 0.25
    links.new(parts.outputs["X"], mix.inputs[0])
    scaled = nodes.new("ShaderNodeMath")
    scaled.operation = "MULTIPLY"
    scaled.inputs[1].default_value = 0.8
    links.new(parts.outputs["Z"], scaled.inputs[0])
    links.new(scaled.outputs["Value"], mix.inputs[2])
    links.new(mix.outputs["Value"], ramp.inputs["Fac"])
    links.new(ramp.outputs["Color"], surface.inputs["Base Color"])
    mesh.materials.append(look)


# From far to near: y away from the camera, z up.
sheet(4.6, 1.12, [(0.10, 3.6, 0.4), (0.03, 1.7, 2.0)], "#e9b48f", "#f8dcbd")
sheet(4.0, 0.78, [(0.13, 3.1, 2.3), (0.03, 1.5, 0.5)], "#d58c80", "#f3bfa0")
sheet(3.4, 0.46, [(0.12, 2.9, 4.4), (0.04, 1.3, 1.1)], "#a76a80", "#e09a92")
sheet(2.8, 0.16, [(0.11, 2.5, 0.9), (0.03, 1.2, 3.0)], "#6d5580", "#b9808f")
sheet(2.2, -0.10, [(0.09, 2.3, 3.1), (0.03, 1.0, 0.4)], "#3e4672", "#84698d")
sheet(1.7, -0.32, [(0.07, 1.9, 5.2), (0.02, 0.9, 1.4)], "#24335a", "#4f5683")

# The sky: a gradient that glows by itself.
bpy.ops.mesh.primitive_plane_add(size=1, location=(0, 5.6, 0.9), rotation=(math.pi / 2, 0, 0))
sky = bpy.context.object
sky.scale = (9, 5, 1)
look = bpy.data.materials.new("sky")
look.use_nodes = True
nodes, links = look.node_tree.nodes, look.node_tree.links
nodes.remove(nodes["Principled BSDF"])
glow = nodes.new("ShaderNodeEmission")
place = nodes.new("ShaderNodeTexCoord")
parts = nodes.new("ShaderNodeSeparateXYZ")
ramp = nodes.new("ShaderNodeValToRGB")
ramp.color_ramp.elements[0].position, ramp.color_ramp.elements[0].color = 0.5, linear("#fbe3c4")
ramp.color_ramp.elements[1].position, ramp.color_ramp.elements[1].color = 0.80, linear("#7fa6c4")
middle = ramp.color_ramp.elements.new(0.66)
middle.color = linear("#e9d6cc")
links.new(place.outputs["Generated"], parts.inputs["Vector"])
links.new(parts.outputs["Y"], ramp.inputs["Fac"])
links.new(ramp.outputs["Color"], glow.inputs["Color"])
glow.inputs["Strength"].default_value = 0.9
links.new(glow.outputs["Emission"], nodes["Material Output"].inputs["Surface"])
sky.data.materials.append(look)


def lamp(at, turn, size, energy, color):
    light = bpy.data.lights.new("lamp", "AREA")
    light.size, light.energy, light.color = size, energy, color
    held = bpy.data.objects.new("lamp", light)
    held.location, held.rotation_euler = at, turn
    scene.collection.objects.link(held)


lamp((-2.4, 2.2, 3.2), (math.radians(-12), math.radians(-38), 0), 1.6, 150, (1, 0.86, 0.7))
lamp((2.6, 0.4, 1.6), (math.radians(60), 0, math.radians(48)), 2.2, 45, (0.72, 0.82, 1))
light_world(scene, (0.8, 0.82, 0.95), 0.35)

place_camera(scene, (0, -0.4, 0.55), focal_length=42, focus=3.2, f_stop=0.7)

scene.cycles.max_bounces = 4
scene.cycles.sample_clamp_indirect = 1
scene.view_settings.view_transform = "Standard"
bpy.ops.render.render(write_still=True)
