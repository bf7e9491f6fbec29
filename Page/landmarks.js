// The landmarks of a face for correction by hand: its lines, the handles that move it, and a mean face. Landmarks are
// the 68 points of the iBUG 300-W mark-up, [x, y] in pixels of the picture. No function changes them in place.

import { t } from "./words.js";

const add = ([x, y], [dx, dy], scale = 1) => [x + dx * scale, y + dy * scale];
const minus = ([x, y], [fromX, fromY]) => [x - fromX, y - fromY];
const mean = (points) => points.reduce((sum, point) => add(sum, point, 1 / points.length), [0, 0]);

// MARK: lines

/// The lines of a face by their first and last landmark. Those of eyes and lips are closed.
const lines = [[0, 16], [17, 21], [22, 26], [27, 30], [31, 35], [36, 41, "Z"], [42, 47, "Z"], [48, 59, "Z"], [60, 67, "Z"]];

/// The lines of a face as the data of an SVG path.
export const path = (landmarks) => lines.map(([first, last, end = ""]) => `M${landmarks.slice(first, last + 1).map(([x, y]) => `${x} ${y}`).join("L")}${end}`).join("");

// MARK: handles

/// A handle that moves some landmarks by the same distance, or by a share of it.
/// @param share of a landmark, by its number: 0 to 1.
const mover = (label, at, share) => ({ label, at, move: (landmarks, by) => landmarks.map((point, number) => add(point, by, share(number))) });

/// A handle in the middle of a part of the face.
function part(label, first, last, ...others) {
    const isIn = (number) => [[first, last], ...others].some(([low, high]) => number >= low && number <= high);
    return mover(label, (landmarks) => mean(landmarks.slice(first, last + 1)), (number) => Number(isIn(number)));
}

/// The landmarks of the jaw that have handles.
const jaw = [0, 3, 5, 8, 11, 13, 16];
/// The distance in landmarks at which one that is drawn along by its neighbour on the jaw stays where it is.
const reach = 4;

/// A handle of the jaw, which draws its neighbours along, the nearer the more: a raised cosine.
function jawPoint(number, index) {
    const share = (other) => other > 16 ? 0 : (1 + Math.cos(Math.PI * Math.min(Math.abs(other - number) / reach, 1))) / 2;
    return mover((face) => t("Outline of face {face}, point {point} of {points}", { face, point: index + 1, points: jaw.length }), (landmarks) => landmarks[number], share);
}

/// The vector from the nose up to the brows.
const up = (landmarks) => minus(mean([landmarks[21], landmarks[22]]), landmarks[33]);

/// A handle that scales and turns the face around the root of its nose.
const size = {
    label: (face) => t("Size and angle of face {face}", { face }),
    at: (landmarks) => add(landmarks[16], up(landmarks), 1.1),
    move(landmarks, by) {
        const from = minus(size.at(landmarks), landmarks[27]);
        const to = add(from, by);
        // The quotient of two complex numbers scales and turns the one to the other.
        const length = Math.max(from[0] ** 2 + from[1] ** 2, 1e-6);
        const [real, imaginary] = [(to[0] * from[0] + to[1] * from[1]) / length, (to[1] * from[0] - to[0] * from[1]) / length];
        return landmarks.map((point) => {
            const [x, y] = minus(point, landmarks[27]);
            return add(landmarks[27], [x * real - y * imaginary, x * imaginary + y * real]);
        });
    },
};

/// The handles of a face: `label` is its name, of face number 1, 2 …; `at` is its place; `move` returns the landmarks
/// after it was moved. Right and left are the subject's own; brows move with their eyes.
export const handles = [
    part((face) => t("Right eye of face {face}", { face }), 36, 41, [17, 21]),
    part((face) => t("Left eye of face {face}", { face }), 42, 47, [22, 26]),
    part((face) => t("Nose of face {face}", { face }), 27, 35),
    part((face) => t("Mouth of face {face}", { face }), 48, 67),
    ...jaw.map(jawPoint),
    mover((face) => t("All of face {face}", { face }), (landmarks) => add(mean([landmarks[21], landmarks[22]]), up(landmarks), 0.9), () => 1),
    size,
];

// MARK: a mean face

/// A face with its eyes around a point.
/// @param meanFace its landmarks, in eye distances from the point between the eyes.
/// @param distance of the eyes, pixels.
export const faceAt = (meanFace, middle, distance) => meanFace.map((point) => add(middle, point, distance));
