#ifndef GUISE_CGLTF_H
#define GUISE_CGLTF_H
// glTF 2.0 by tinygltf behind a small C interface. Rules: plain C types; bytes are borrowed for the call; NULL is a
// failure and fills `error` (always terminated). Files are untrusted: each number is checked before it is used, no file
// is opened, and no picture is decoded. A scene belongs to one thread at a time.
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The largest numbers of nodes, levels, vertices and triangles of a whole scene.
struct cgltf_limits {
    size_t nodes, depth, vertices, triangles;
};

/// A vertex in glTF's coordinates (right-handed, y up), transformed to the scene.
struct cgltf_vertex {
    float position[3], normal[3], texture[2];
};

/// The triangles of one material.
struct cgltf_piece {
    const struct cgltf_vertex *vertices;
    size_t vertex_count;
    /// Three indices for each triangle, counter-clockwise from outside; each less than vertex_count.
    const uint32_t *indices;
    size_t index_count;
    /// The base colour: linear RGBA, 0...1.
    float color[4];
    float roughness, metal;
    /// Whether the material's alpha mode is BLEND. An alpha cutoff is not read.
    int32_t is_blended, is_two_sided, has_normals;
    /// The texture, PNG or JPEG as in the file; NULL if there is none.
    const uint8_t *picture;
    size_t picture_size;
};

struct cgltf_scene;

/// Reads a scene from a .glb, or from a .gltf with all its data embedded.
/// @param is_binary whether it is a .glb.
struct cgltf_scene *cgltf_read(const uint8_t *bytes, size_t size, int is_binary, struct cgltf_limits limits, char *error,
                               size_t error_size);
size_t cgltf_piece_count(const struct cgltf_scene *scene);
/// Gets a piece, whose memory is borrowed from the scene.
struct cgltf_piece cgltf_piece_at(const struct cgltf_scene *scene, size_t index);
void cgltf_close(struct cgltf_scene *scene);

#ifdef __cplusplus
}
#endif
#endif
