"""What the scripts for the art of masks share: meshes from formulas, materials, and baking with Cycles."""

import math
import os

import bpy


def begin(samples, sky=1.0, transparent=False):
    """An empty scene in even white light."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = samples
    # Debian's Cycles bakes nothing but the first rows with a denoiser or with tiles.
    scene.cycles.use_denoising = False
    scene.cycles.use_auto_tile = False
    scene.cycles.use_adaptive_sampling = False
    scene.view_settings.view_transform = "Standard"
    scene.render.film_transparent = transparent
    world = bpy.data.worlds.new("light")
    world.use_nodes = True
    scene.world = world
    world.node_tree.nodes["Background"].inputs[0].default_value = (sky, sky, sky, 1)
    return scene


def add(name, corners, faces):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], faces)
    mesh.update(calc_edges=True)
    for face in mesh.polygons:
        face.use_smooth = True
    thing = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(thing)
    return thing


def grid(name, columns, rows, point, height=None):
    """A sheet of columns and rows of `point(column, row)`, with texture coordinates across it."""
    width = columns + 1
    corners = [point(column, row) for row in range(rows + 1) for column in range(width)]
    faces = [
        (at, at + 1, at + width + 1, at + width)
        for row in range(rows) for at in range(row * width, row * width + columns)
    ]
    thing = add(name, corners, faces)
    layer = thing.data.uv_layers.new()
    for loop in thing.data.loops:
        row, column = divmod(loop.vertex_index, width)
        layer.data[loop.index].uv = (column / columns, height(row) if height else row / rows)
    return thing


def material(name, color, roughness=0.8, specular=0.1, sheen=0.0):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*color, 1)
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["Specular"].default_value = specular
    shader.inputs["Sheen"].default_value = sheen
    return made


def noise(made, scale, detail=4):
    node = made.node_tree.nodes.new("ShaderNodeTexNoise")
    node.inputs["Scale"].default_value = scale
    node.inputs["Detail"].default_value = detail
    place = made.node_tree.nodes.new("ShaderNodeTexCoord")
    made.node_tree.links.new(place.outputs["Object"], node.inputs["Vector"])
    return node


def mottle(made, dark, light, scale):
    """Gives a material an uneven colour."""
    tree = made.node_tree
    ramp = tree.nodes.new("ShaderNodeValToRGB")
    for stop, color, at in zip(ramp.color_ramp.elements, (dark, light), (0.35, 0.65)):
        stop.color, stop.position = (*color, 1), at
    tree.links.new(noise(made, scale).outputs["Fac"], ramp.inputs[0])
    tree.links.new(ramp.outputs[0], tree.nodes["Principled BSDF"].inputs["Base Color"])


def weave(made, scale, strength):
    """Gives a material fine bumps."""
    tree = made.node_tree
    bump = tree.nodes.new("ShaderNodeBump")
    bump.inputs["Strength"].default_value = strength
    bump.inputs["Distance"].default_value = 0.02
    tree.links.new(noise(made, scale).outputs["Fac"], bump.inputs["Height"])
    tree.links.new(bump.outputs[0], tree.nodes["Principled BSDF"].inputs["Normal"])


def sun(energy, rotation, size=0.6):
    light = bpy.data.lights.new("sun", "SUN")
    light.energy, light.angle = energy, size
    lamp = bpy.data.objects.new("sun", light)
    lamp.rotation_euler = rotation
    bpy.context.scene.collection.objects.link(lamp)


def save(image, path, gray):
    settings = bpy.context.scene.render.image_settings
    settings.file_format, settings.compression = "PNG", 100
    settings.color_mode = "BW" if gray else "RGB"
    image.save_render(path)


def bake(part, fine, size, path, gray=False, reach=0.2):
    """Bakes the lit colour of `fine` on `part`, whose material becomes the picture."""
    made = material(part.name, (1, 1, 1), roughness=1, specular=0)
    tree = made.node_tree
    part.data.materials.append(made)
    image = bpy.data.images.new(part.name, *size)
    node = tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    tree.nodes.active = node
    bpy.ops.object.select_all(action="DESELECT")
    fine.select_set(True)
    part.select_set(True)
    bpy.context.view_layer.objects.active = part
    bpy.ops.object.bake(type="COMBINED", use_selected_to_active=True, cage_extrusion=reach, margin=6)
    save(image, path, gray)
    part.hide_render = True
    node.image = bpy.data.images.load(path)
    tree.links.new(node.outputs[0], tree.nodes["Principled BSDF"].inputs["Base Color"])
    made.use_backface_culling = True


def export(parts, path):
    bpy.ops.object.select_all(action="DESELECT")
    for part in parts:
        part.select_set(True)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    bpy.ops.export_scene.gltf(filepath=path, use_selection=True, export_format="GLB", export_apply=True)
