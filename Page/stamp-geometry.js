// Where stamps are. In a picture, x and y are in heights of the picture from its top left corner, sizes are in heights,
// and angles in degrees, clockwise. A stamp's own numbers are documented in docs/masks.md.

const radians = (degrees) => degrees * Math.PI / 180;
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const round = (value, parts) => Math.round(value * parts) / parts;

/// A vector that is rotated.
function rotated({ x, y }, degrees) {
    const [sin, cos] = [Math.sin(radians(degrees)), Math.cos(radians(degrees))];
    return { x: cos * x - sin * y, y: sin * x + cos * y };
}

/// The face as an origin with axes: {x, y, unit, angle}.
const axes = (face, aspect) => ({ x: face.eyes[0] * aspect, y: face.eyes[1], unit: face.eyeDistance, angle: face.roll });

/// Where a stamp is in the picture: {x, y, size, angle}; null for one on a face, if there is none.
/// @param face one of the answer to `faces`, or null.
/// @param aspect the picture's width by its height.
export function placeOf(stamp, face, aspect) {
    const [x, y] = stamp.at;
    if (stamp.on !== "face") return { x: x * aspect, y, size: stamp.size, angle: stamp.turn ?? 0 };
    if (!face) return null;
    const head = axes(face, aspect);
    const offset = rotated({ x: x * head.unit, y: y * head.unit }, head.angle);
    return { x: head.x + offset.x, y: head.y + offset.y, size: stamp.size * head.unit, angle: (stamp.turn ?? 0) + head.angle };
}

/// The stamp at another place in the picture, within what Guise allows.
/// @param face as for `placeOf`; for a stamp on a face there must be one.
export function placedAt(stamp, place, face, aspect) {
    const isOnFace = stamp.on === "face";
    const head = isOnFace ? axes(face, aspect) : { x: 0, y: 0, unit: 1, angle: 0 };
    const offset = rotated({ x: (place.x - head.x) / head.unit, y: (place.y - head.y) / head.unit }, -head.angle);
    const at = isOnFace ? [clamp(offset.x, -20, 20), clamp(offset.y, -20, 20)] : [clamp(offset.x / aspect, -0.5, 1.5), clamp(offset.y, -0.5, 1.5)];
    const size = isOnFace ? clamp(place.size / head.unit, 0.1, 20) : clamp(place.size, 0.02, 2);
    const turn = ((place.angle - head.angle) % 360 + 540) % 360 - 180;
    return { ...stamp, at: at.map((value) => round(value, 10000)), size: round(size, 10000), turn: round(turn, 10) };
}

/// The stamp on the picture or on each face. It stays where it is, unless that needs a face and none is there.
export function pinnedTo(stamp, on, face, aspect) {
    const place = placeOf(stamp, face, aspect);
    if (place && (on !== "face" || face)) return placedAt({ ...stamp, on }, place, face, aspect);
    return { ...stamp, on, ...(on === "face" ? { at: [0, 0.3], size: 6 } : { at: [0.5, 0.5], size: 0.3 }), turn: 0 };
}

/// The part of an element that its picture fills, with `object-fit: contain`, in CSS pixels of the element.
export function contentBox(element, aspect) {
    const { offsetWidth: width, offsetHeight: height } = element;
    const inner = Math.min(width / aspect, height);
    return { left: (width - inner * aspect) / 2, top: (height - inner) / 2, height: inner };
}
