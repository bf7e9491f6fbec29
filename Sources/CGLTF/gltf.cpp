#include "CGLTF.h"

#include <tiny_gltf.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Matrix = std::array<double, 16>;  // column-major

constexpr size_t max_nodes = 1000, max_depth = 32;
/// The most bytes of the JSON: of a .gltf, or of a .glb's first chunk. Sixty thousand triangles take a few megabytes.
constexpr size_t max_json = 6 << 20;
/// The deepest nesting of the JSON. tinygltf parses it recursively.
constexpr int max_json_depth = 48;

struct Primitive {
    std::vector<cart_vertex> vertices;
    std::vector<uint32_t> indices;
    /// The bytes of the texture, in the model.
    const uint8_t *texture = nullptr;
    cart_primitive header{};
};

[[noreturn]] void fail(const std::string &why) { throw std::runtime_error(why); }

std::string label(const char *what, size_t index) { return std::string(what) + " " + std::to_string(index); }

template <typename T> const T &at(const std::vector<T> &list, int index, const char *what) {
    if (index < 0 || size_t(index) >= list.size())
        fail("it refers to " + std::string(what) + " " + std::to_string(index) + " of " + std::to_string(list.size()));
    return list[size_t(index)];
}

/// The bytes of a buffer view, checked to be inside its buffer.
struct Bytes {
    const unsigned char *data;
    size_t size;
};

Bytes bytes_of(const tinygltf::Model &model, int view_index) {
    const auto &view = at(model.bufferViews, view_index, "bufferView");
    const auto &buffer = at(model.buffers, view.buffer, "buffer").data;
    if (view.byteOffset > buffer.size() || view.byteLength > buffer.size() - view.byteOffset)
        fail(label("bufferView", size_t(view_index)) + " reaches beyond its buffer");
    return {buffer.data() + view.byteOffset, view.byteLength};
}

size_t size_of(int component) {
    switch (component) {
    case TINYGLTF_COMPONENT_TYPE_BYTE:
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_BYTE: return 1;
    case TINYGLTF_COMPONENT_TYPE_SHORT:
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_SHORT: return 2;
    case TINYGLTF_COMPONENT_TYPE_UNSIGNED_INT:
    case TINYGLTF_COMPONENT_TYPE_FLOAT: return 4;
    default: fail("an accessor has an unknown component type " + std::to_string(component));
    }
}

/// The elements of an accessor, checked to be inside its buffer view.
struct AccessorView {
    const unsigned char *data;
    size_t count, stride;
    int component;
    bool is_normalized;

    double value(size_t i, size_t k) const {
        const unsigned char *place = data + i * stride + k * size_of(component);
        switch (component) {
        case TINYGLTF_COMPONENT_TYPE_FLOAT: {
            float value;
            std::memcpy(&value, place, 4);
            if (!std::isfinite(value)) fail("a mesh has a number that is not finite");
            return value;
        }
        case TINYGLTF_COMPONENT_TYPE_UNSIGNED_BYTE: return *place / (is_normalized ? 255.0 : 1.0);
        case TINYGLTF_COMPONENT_TYPE_UNSIGNED_SHORT: {
            uint16_t value;
            std::memcpy(&value, place, 2);
            return value / (is_normalized ? 65535.0 : 1.0);
        }
        case TINYGLTF_COMPONENT_TYPE_BYTE: return int8_t(*place) / (is_normalized ? 127.0 : 1.0);
        case TINYGLTF_COMPONENT_TYPE_SHORT: {
            int16_t value;
            std::memcpy(&value, place, 2);
            return value / (is_normalized ? 32767.0 : 1.0);
        }
        default: {
            uint32_t value;
            std::memcpy(&value, place, 4);
            return value;
        }
        }
    }
};

AccessorView accessor_view(const tinygltf::Model &model, int index, int type, size_t parts, const char *what) {
    const auto &accessor = at(model.accessors, index, "accessor");
    if (accessor.type != type) fail(std::string(what) + " have the wrong type");
    if (accessor.sparse.isSparse) fail(std::string(what) + " are sparse, which is not supported");
    const Bytes bytes = bytes_of(model, accessor.bufferView);
    const auto &view = model.bufferViews[size_t(accessor.bufferView)];
    const size_t element = size_of(accessor.componentType) * parts;
    const size_t stride = view.byteStride == 0 ? element : view.byteStride;
    if (stride < element || stride > 252 + element)
        fail(label("bufferView", size_t(accessor.bufferView)) + " has an invalid byteStride");
    if (accessor.count == 0 || accessor.byteOffset > bytes.size || bytes.size - accessor.byteOffset < element ||
        accessor.count - 1 > (bytes.size - accessor.byteOffset - element) / stride)
        fail(label("accessor", size_t(index)) + " reaches beyond its bufferView");
    return {bytes.data + accessor.byteOffset, accessor.count, stride, accessor.componentType, accessor.normalized};
}

Matrix multiplied(const Matrix &a, const Matrix &b) {
    Matrix c{};
    for (int column = 0; column < 4; column++)
        for (int row = 0; row < 4; row++)
            for (int k = 0; k < 4; k++) c[column * 4 + row] += a[k * 4 + row] * b[column * 4 + k];
    return c;
}

Matrix matrix_of(const tinygltf::Node &node) {
    Matrix m{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    if (node.matrix.size() == 16) {
        for (int i = 0; i < 16; i++) m[i] = node.matrix[size_t(i)];
    } else {
        std::array<double, 3> s{1, 1, 1}, t{0, 0, 0};
        std::array<double, 4> q{0, 0, 0, 1};
        if (node.scale.size() == 3) s = {node.scale[0], node.scale[1], node.scale[2]};
        if (node.translation.size() == 3) t = {node.translation[0], node.translation[1], node.translation[2]};
        if (node.rotation.size() == 4) q = {node.rotation[0], node.rotation[1], node.rotation[2], node.rotation[3]};
        const double x = q[0], y = q[1], z = q[2], w = q[3];
        m = {s[0] * (1 - 2 * (y * y + z * z)), s[0] * 2 * (x * y + z * w), s[0] * 2 * (x * z - y * w), 0,
             s[1] * 2 * (x * y - z * w), s[1] * (1 - 2 * (x * x + z * z)), s[1] * 2 * (y * z + x * w), 0,
             s[2] * 2 * (x * z + y * w), s[2] * 2 * (y * z - x * w), s[2] * (1 - 2 * (x * x + y * y)), 0,
             t[0], t[1], t[2], 1};
    }
    for (double value : m)
        if (!std::isfinite(value) || std::fabs(value) > 1e6) fail("a node's position or scale is too large");
    return m;
}

/// Reads the primitives of a scene, within the limits.
class Reader {
  public:
    explicit Reader(const tinygltf::Model &model) : model_(model) {}

    std::vector<Primitive> read() {
        for (const auto &extension : model_.extensionsRequired)
            fail("it needs the extension " + extension.substr(0, 60) + ", which is not supported: export without it");
        const int first = model_.defaultScene >= 0 ? model_.defaultScene : 0;
        for (int node : at(model_.scenes, first, "scene").nodes)
            visit(node, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 1);
        if (primitives_.empty()) fail("its scene has no triangles");
        return std::move(primitives_);
    }

  private:
    const tinygltf::Model &model_;
    std::vector<Primitive> primitives_;
    size_t nodes_ = 0, vertices_ = 0, triangles_ = 0;

    void visit(int index, const Matrix &parent, size_t depth) {
        if (++nodes_ > max_nodes) fail("it has more than " + std::to_string(max_nodes) + " nodes");
        if (depth > max_depth)
            fail("its nodes are nested deeper than " + std::to_string(max_depth) + " levels, or form a cycle");
        const auto &node = at(model_.nodes, index, "node");
        const Matrix map = multiplied(parent, matrix_of(node));
        if (node.mesh >= 0)
            for (const auto &primitive : at(model_.meshes, node.mesh, "mesh").primitives) add(primitive, map);
        for (int child : node.children) visit(child, map, depth + 1);
    }

    void add(const tinygltf::Primitive &primitive, const Matrix &m) {
        // Points and lines have no surface and are skipped.
        if (primitive.mode != TINYGLTF_MODE_TRIANGLES && primitive.mode != -1) {
            if (primitive.mode == TINYGLTF_MODE_TRIANGLE_STRIP || primitive.mode == TINYGLTF_MODE_TRIANGLE_FAN)
                fail("a mesh has strips or fans of triangles, which are not supported: export plain triangles");
            return;
        }
        const auto attribute = [&](const char *name) {
            const auto found = primitive.attributes.find(name);
            return found == primitive.attributes.end() ? -1 : found->second;
        };
        if (attribute("POSITION") < 0) fail("a mesh has no positions");
        const AccessorView places = accessor_view(model_, attribute("POSITION"), TINYGLTF_TYPE_VEC3, 3, "positions");
        vertices_ += places.count;
        if (places.count > CART_MAX_VERTICES || vertices_ > CART_MAX_VERTICES)
            fail("it has more than " + std::to_string(CART_MAX_VERTICES) + " vertices");
        Primitive result;
        result.vertices.resize(places.count);
        for (size_t i = 0; i < places.count; i++) {
            const double p[3] = {places.value(i, 0), places.value(i, 1), places.value(i, 2)};
            for (int k = 0; k < 3; k++)
                result.vertices[i].position[k] = checked(m[k] * p[0] + m[4 + k] * p[1] + m[8 + k] * p[2] + m[12 + k]);
        }
        if (attribute("NORMAL") >= 0) {
            const AccessorView normals = accessor_view(model_, attribute("NORMAL"), TINYGLTF_TYPE_VEC3, 3, "normals");
            if (normals.count != places.count) fail("a mesh has more or fewer normals than positions");
            for (size_t i = 0; i < places.count; i++) transform_normal(normals, i, m, result.vertices[i].normal);
            result.header.has_normals = 1;
        }
        if (attribute("TEXCOORD_0") >= 0) {
            const AccessorView uvs =
                accessor_view(model_, attribute("TEXCOORD_0"), TINYGLTF_TYPE_VEC2, 2, "texture coordinates");
            if (uvs.count != places.count) fail("a mesh has more or fewer texture coordinates than positions");
            for (size_t i = 0; i < places.count; i++)
                for (size_t k = 0; k < 2; k++) result.vertices[i].uv[k] = checked(uvs.value(i, k));
        }
        index(primitive, places.count, result);
        // A mirroring transformation reverses the winding of triangles.
        if (determinant(m) < 0)
            for (size_t i = 0; i + 2 < result.indices.size(); i += 3)
                std::swap(result.indices[i + 1], result.indices[i + 2]);
        material(primitive.material, result);
        primitives_.push_back(std::move(result));
    }

    static float checked(double value) {
        if (!std::isfinite(value) || std::fabs(value) > 1e6) fail("a mesh is too large or too far away");
        return float(value);
    }

    static double determinant(const Matrix &m) {
        return m[0] * (m[5] * m[10] - m[9] * m[6]) - m[4] * (m[1] * m[10] - m[9] * m[2]) +
               m[8] * (m[1] * m[6] - m[5] * m[2]);
    }

    /// Transforms a normal by the cofactor matrix, which is also correct for non-uniform scaling.
    static void transform_normal(const AccessorView &normals, size_t i, const Matrix &m, float *out) {
        const double n[3] = {normals.value(i, 0), normals.value(i, 1), normals.value(i, 2)};
        const double sign = determinant(m) < 0 ? -1 : 1;
        double transformed[3];
        for (int row = 0; row < 3; row++) {
            const int r1 = (row + 1) % 3, r2 = (row + 2) % 3;
            transformed[row] = 0;
            for (int column = 0; column < 3; column++) {
                const int c1 = (column + 1) % 3, c2 = (column + 2) % 3;
                transformed[row] +=
                    sign * n[column] * (m[c1 * 4 + r1] * m[c2 * 4 + r2] - m[c2 * 4 + r1] * m[c1 * 4 + r2]);
            }
        }
        const double length = std::sqrt(
            transformed[0] * transformed[0] + transformed[1] * transformed[1] + transformed[2] * transformed[2]);
        for (int k = 0; k < 3; k++)
            out[k] = length > 1e-30 && std::isfinite(length) ? float(transformed[k] / length) : k == 1;
    }

    void index(const tinygltf::Primitive &primitive, size_t vertices, Primitive &result) {
        size_t count = vertices;
        if (primitive.indices >= 0) {
            const AccessorView numbers = accessor_view(model_, primitive.indices, TINYGLTF_TYPE_SCALAR, 1, "indices");
            if (numbers.component == TINYGLTF_COMPONENT_TYPE_FLOAT) fail("indices have the wrong type");
            count = numbers.count;
            limit(count / 3);
            result.indices.resize(count / 3 * 3);
            for (size_t i = 0; i < result.indices.size(); i++) {
                const double number = numbers.value(i, 0);
                if (number < 0 || number >= double(vertices)) fail("an index refers to a missing vertex");
                result.indices[i] = uint32_t(number);
            }
        } else {
            limit(count / 3);
            result.indices.resize(count / 3 * 3);
            for (size_t i = 0; i < result.indices.size(); i++) result.indices[i] = uint32_t(i);
        }
    }

    void limit(size_t more) {
        triangles_ += more;
        if (triangles_ > CART_MAX_TRIANGLES)
            fail("it has more than " + std::to_string(CART_MAX_TRIANGLES) + " triangles");
    }

    void material(int index, Primitive &result) {
        cart_primitive &header = result.header;
        for (float &channel : header.color) channel = 1;
        header.roughness = 1;
        if (index < 0) return;
        const auto &material = at(model_.materials, index, "material");
        const auto &pbr = material.pbrMetallicRoughness;
        const auto part = [](double value) {
            return float(std::isfinite(value) ? std::fmin(std::fmax(value, 0), 1) : 1);
        };
        if (pbr.baseColorFactor.size() == 4)
            for (size_t k = 0; k < 4; k++) header.color[k] = part(pbr.baseColorFactor[k]);
        header.roughness = part(pbr.roughnessFactor);
        header.metal = part(pbr.metallicFactor);
        header.is_blended = material.alphaMode == "BLEND";
        header.is_two_sided = material.doubleSided;
        if (pbr.baseColorTexture.index < 0) return;
        if (pbr.baseColorTexture.texCoord != 0)
            fail("a texture uses the second set of coordinates, which is not supported");
        const int picture = at(model_.textures, pbr.baseColorTexture.index, "texture").source;
        const auto &image = at(model_.images, picture, "image");
        if (image.bufferView >= 0) {
            const Bytes bytes = bytes_of(model_, image.bufferView);
            result.texture = bytes.data;
            header.texture_size = uint32_t(bytes.size);
        } else {
            if (image.image.empty()) fail("its picture is in another file: embed it (a .glb does)");
            result.texture = image.image.data();
            header.texture_size = uint32_t(image.image.size());
        }
    }
};

/// Keeps images that were embedded as data URIs. Images in a buffer view are read later, after its bounds were checked.
bool store_embedded_image(tinygltf::Image *image, const int, std::string *, std::string *, int, int,
                          const unsigned char *bytes, int size, void *) {
    if (image->bufferView < 0 && size > 0) image->image.assign(bytes, bytes + size);
    return true;
}

bool no_file(const std::string &, void *) { return false; }
std::string no_path(const std::string &, void *) { return ""; }
bool no_content(std::vector<unsigned char> *, std::string *error, const std::string &, void *) {
    if (error) *error += "its data is in another file: embed it (a .glb does)";
    return false;
}
bool no_writing(std::string *, const std::string &, const std::vector<unsigned char> &, void *) { return false; }

/// Appends values to bytes.
template <typename T> void append(std::vector<uint8_t> &bytes, const T *values, size_t count) {
    const auto *first = reinterpret_cast<const uint8_t *>(values);
    bytes.insert(bytes.end(), first, first + count * sizeof(T));
}

uint32_t number_at(const uint8_t *bytes) {
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | uint32_t(bytes[3]) << 24;
}

/// Checks the size and nesting of the JSON before it is parsed.
void check_json(const uint8_t *bytes, size_t size) {
    if (size > max_json) fail("a description of more than " + std::to_string(max_json >> 20) + " MiB is too large");
    int depth = 0;
    bool is_text = false;
    for (size_t i = 0; i < size; i++) {
        const uint8_t byte = bytes[i];
        if (byte == '"') is_text = !is_text;
        else if (is_text && byte == '\\') i++;  // what follows is escaped
        else if (!is_text && (byte == '{' || byte == '[')) depth++;
        else if (!is_text && (byte == '}' || byte == ']')) depth--;
        if (depth > max_json_depth) fail("it is nested deeper than " + std::to_string(max_json_depth) + " levels");
    }
}

/// Reads a file's primitives, one after another.
std::vector<uint8_t> read(const uint8_t *bytes, size_t size) {
    tinygltf::Model model;
    tinygltf::TinyGLTF reader;
    reader.SetImageLoader(store_embedded_image, nullptr);
    reader.SetFsCallbacks({no_file, no_path, no_content, no_writing, nullptr});
    const bool is_binary = size >= 4 && std::memcmp(bytes, "glTF", 4) == 0;
    if (is_binary) {
        // The magic number, version and length of the file; then the first chunk's length, type and data.
        if (size < 20 || number_at(bytes + 8) > size || number_at(bytes + 12) > size - 20)
            fail("the file is truncated");
        check_json(bytes + 20, number_at(bytes + 12));
    } else {
        check_json(bytes, size);
    }
    // Some of tinygltf's bounds checks allow reading eight bytes beyond the end.
    std::vector<unsigned char> padded(bytes, bytes + size);
    padded.resize(size + 16, 0);
    std::string error, warning;
    const bool is_read =
        is_binary ? reader.LoadBinaryFromMemory(&model, &error, &warning, padded.data(), unsigned(size), "")
                  : reader.LoadASCIIFromString(&model, &error, &warning, reinterpret_cast<const char *>(padded.data()),
                                               unsigned(size), "");
    if (!is_read) fail(error.empty() ? "it is not a glTF 2.0 file" : error);
    std::vector<uint8_t> out;
    for (Primitive &primitive : Reader(model).read()) {
        primitive.header.vertex_count = uint32_t(primitive.vertices.size());
        primitive.header.index_count = uint32_t(primitive.indices.size());
        append(out, &primitive.header, 1);
        append(out, primitive.vertices.data(), primitive.vertices.size());
        append(out, primitive.indices.data(), primitive.indices.size());
        append(out, primitive.texture, primitive.header.texture_size);
        if (out.size() > CART_MAX_BYTES) fail("its pictures are too large");
    }
    return out;
}

}  // namespace

uint8_t *cgltf_read(const uint8_t *bytes, const cart_request *request, cart_reply *reply) {
    try {
        const std::vector<uint8_t> primitives = read(bytes, request->size);
        auto *copy = static_cast<uint8_t *>(std::malloc(primitives.size()));
        if (!copy) fail("out of memory for a model of that size");
        std::memcpy(copy, primitives.data(), primitives.size());
        reply->size = primitives.size();
        return copy;
    } catch (const std::exception &problem) {
        cart_fail(reply, "%s", problem.what());
    } catch (...) {
        cart_fail(reply, "it cannot be read");
    }
    return nullptr;
}
