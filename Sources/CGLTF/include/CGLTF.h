#ifndef GUISE_CGLTF_H
#define GUISE_CGLTF_H
// glTF 2.0 by tinygltf behind a small C interface. Rules: plain C types; bytes are borrowed for the call; NULL is a failure
// and fills `error` (always terminated). What a file says is taken for nothing: each number is checked before it is used,
// no file is opened, and no picture decoded. A scene belongs to one thread at a time.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a scene may have, all together.
struct cgltf_limits {
    size_t nodes, depth, vertices, triangles;
};

/// As glTF has it: right-handed, y up; places in the scene, not in the mesh.
struct cgltf_vertex {
    float position[3], normal[3], texture[2];
};

/// Triangles of one material.
struct cgltf_piece {
    const struct cgltf_vertex *vertices;
    size_t vertex_count;
    /// Three for each triangle, counter-clockwise from outside; each less than vertex_count.
    const uint32_t *indices;
    size_t index_count;
    /// Linear RGBA, 0...1.
    float color[4];
    float roughness, metal;
    /// What the texture's alpha is compared with is left to the drawing: only whether it counts at all.
    int32_t is_blended, is_two_sided, has_normals;
    /// PNG or JPEG, as it lies in the file; NULL: none.
    const uint8_t *picture;
    size_t picture_size;
};

struct cgltf_scene;

/// Reads a .glb, or a .gltf with all its data embedded.
/// @param is_binary a .glb.
struct cgltf_scene *cgltf_read(const uint8_t *bytes, size_t size, int is_binary, struct cgltf_limits limits, char *error,
                               size_t error_size);
size_t cgltf_piece_count(const struct cgltf_scene *scene);
/// Borrowed from the scene.
struct cgltf_piece cgltf_piece_at(const struct cgltf_scene *scene, size_t index);
void cgltf_close(struct cgltf_scene *scene);

#ifdef __cplusplus
}
#endif
#endif
