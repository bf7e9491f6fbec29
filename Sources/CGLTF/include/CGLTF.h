#ifndef GUISE_CGLTF_H
#define GUISE_CGLTF_H
// glTF 2.0 by tinygltf behind a C interface, for guise-art. Files are untrusted: each number is checked before it is
// used, no file is opened, and no picture is decoded.
#include "CArt.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Reads a .glb, or a .gltf with all its data embedded. Returns the primitives one after another, from malloc; NULL on
/// failure, with the reason in the reply.
uint8_t *cgltf_read(const uint8_t *bytes, const struct cart_request *request, struct cart_reply *reply);

#ifdef __cplusplus
}
#endif
#endif
