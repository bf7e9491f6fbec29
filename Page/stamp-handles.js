// Handles on the picture to place, size and turn stamps. A handle's dashed circle has the stamp's size.

import { ask } from "./connection.js";
import { $, make } from "./elements.js";
import { facesOfPhoto } from "./photo.js";
import { contentBox, pinnedTo, placedAt, placeOf } from "./stamp-geometry.js";
import { t } from "./words.js";

/// Milliseconds between two looks at where the faces are, while a stamp on a face has handles.
const faceInterval = 150;

const isPhoto = () => $("screen").classList.contains("is-photo");
const shown = () => isPhoto() ? $("photo") : $("live");
const aspectOf = (element) => (element.naturalWidth ?? element.width) / (element.naturalHeight ?? element.height) || 16 / 9;
const isMirrored = () => !isPhoto() && $("screen").classList.contains("is-mirrored");

/// Makes the handles of a list of stamps.
/// @param list {stamps, nameOf, isUsed, begin, replace, remove}: functions that tell the stamps, a stamp's name, and
/// whether the list is still on the page; that begin a change to be undone alone; that replace a stamp; and that remove
/// one.
export function makeHandles({ stamps, nameOf, isUsed, begin, replace, remove }) {
    const element = make("div", { className: "stamp-handles", role: "group", "aria-label": t("Stamps on the picture") });
    /// The largest face in the live picture or in the photo; null if none is known.
    let face = null;
    let isFaceOfPhoto = false;
    /// The face that the handles are on.
    const seenFace = () => isFaceOfPhoto === isPhoto() ? face : null;
    let isDragging = false;

    /// The picture's box in the screen, in CSS pixels, and its aspect ratio.
    function view() {
        const aspect = aspectOf(shown());
        return { aspect, ...contentBox(shown(), aspect) };
    }
    /// From a place in the picture, in its heights, to CSS pixels in the screen.
    function toScreen({ x, y }, { left, top, height, aspect }) {
        return { x: left + (isMirrored() ? aspect - x : x) * height, y: top + y * height };
    }
    function toPicture(event, { left, top, height, aspect }) {
        const screen = $("screen").getBoundingClientRect();
        const x = (event.clientX - screen.left - left) / height;
        return { x: isMirrored() ? aspect - x : x, y: (event.clientY - screen.top - top) / height };
    }

    /// Makes a handle follow the pointer.
    /// @param moved tells what changes of a place, from the place, the offset of the pointer, and where the pointer is.
    function drag(handle, at, moved) {
        handle.onpointerdown = (event) => {
            if (event.button !== 0 || isDragging) return;
            event.preventDefault();
            handle.focus({ preventScroll: true });
            handle.setPointerCapture(event.pointerId);
            // A head that moves meanwhile would carry the stamp away from the pointer.
            const [box, own, begun] = [view(), seenFace(), stamps()[at]];
            const start = toPicture(event, box);
            const place = placeOf(begun, own, box.aspect);
            if (!place) return;
            isDragging = true;
            begin();
            handle.onpointermove = (event) => {
                const now = toPicture(event, box);
                replace(at, placedAt(begun, { ...place, ...moved(place, { x: now.x - start.x, y: now.y - start.y }, now) }, own, box.aspect));
            };
            handle.onpointerup = handle.onpointercancel = handle.onlostpointercapture = () => {
                handle.onpointermove = handle.onpointerup = handle.onpointercancel = handle.onlostpointercapture = null;
                isDragging = false;
                begin();
            };
        };
    }
    /// Makes a handle take the arrow keys, and Delete.
    /// @param step tells what changes of a place, from the place and the steps to the right and down.
    function nudge(handle, at, step) {
        handle.onkeydown = (event) => {
            if (event.key === "Delete" || event.key === "Backspace") {
                event.preventDefault();
                return remove(at);
            }
            const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
            if (!direction) return;
            event.preventDefault();
            event.stopPropagation();
            const [{ aspect }, own] = [view(), seenFace()];
            const place = placeOf(stamps()[at], own, aspect);
            if (!place) return;
            const size = event.shiftKey ? 5 : 1;
            replace(at, placedAt(stamps()[at], { ...place, ...step(place, direction[0] * size * (isMirrored() ? -1 : 1), direction[1] * size) }, own, aspect));
        };
    }

    /// Makes the handles of one stamp.
    function makeGroup(at) {
        const circle = make("span", { className: "stamp-circle" });
        const middle = make("button", { type: "button", className: "stamp-move", "aria-label": t("Move {stamp}", { stamp: nameOf(stamps()[at]) }), title: t("Drag, or press the arrow keys") });
        const edge = make("button", { type: "button", className: "stamp-turn", "aria-label": t("Size and turn {stamp}", { stamp: nameOf(stamps()[at]) }), title: t("Drag, or press ↑ ↓ for the size and ← → to turn") });
        drag(middle, at, (place, offset) => ({ x: place.x + offset.x, y: place.y + offset.y }));
        drag(edge, at, (place, offset, now) => {
            const [x, y] = [now.x - place.x, now.y - place.y];
            return { size: 2 * Math.hypot(x, y), angle: Math.atan2(y, x) * 180 / Math.PI };
        });
        nudge(middle, at, (place, x, y) => ({ x: place.x + x / 100, y: place.y + y / 100 }));
        nudge(edge, at, (place, x, y) => ({ size: place.size * (1 - y / 20), angle: place.angle + 5 * x }));
        return make("div", { "data-stamp": String(at) }, circle, middle, edge);
    }

    /// Puts the handles where the stamps are.
    function arrange() {
        if (!element.isConnected) return;
        const box = view();
        for (const [at, group] of [...element.children].entries()) {
            const place = placeOf(stamps()[at], seenFace(), box.aspect);
            group.hidden = !place;
            if (!place) continue;
            const [circle, middle, edge] = group.children;
            const angle = place.angle * Math.PI / 180;
            const center = toScreen(place, box);
            const rim = toScreen({ x: place.x + Math.cos(angle) * place.size / 2, y: place.y + Math.sin(angle) * place.size / 2 }, box);
            for (const [part, { x, y }] of [[circle, center], [middle, center], [edge, rim]]) part.style.translate = `${x}px ${y}px`;
            circle.style.width = circle.style.height = `${place.size * box.height}px`;
        }
    }

    async function lookForFaces() {
        if (isDragging || document.hidden || !stamps().some((stamp) => stamp.on === "face")) return;
        const ofPhoto = isPhoto();
        const faces = await (ofPhoto ? facesOfPhoto() : ask("faces").then((answer) => answer.faces)).catch(() => []);
        if (isDragging || ofPhoto !== isPhoto()) return;
        isFaceOfPhoto = ofPhoto;
        face = faces.reduce((best, other) => !best || other.eyeDistance > best.eyeDistance ? other : best, null);
        arrange();
    }
    let timer = 0;
    const resized = new ResizeObserver(arrange);
    function setShown(isShown) {
        clearInterval(timer);
        resized.disconnect();
        element.remove();
        $("screen").classList.toggle("is-placing", isShown);
        if (!isShown) return;
        $("screen").append(element);
        resized.observe($("screen"));
        timer = setInterval(() => isUsed() ? lookForFaces() : setShown(false), faceInterval);
        arrange();
    }

    return {
        arrange,
        setShown,
        /// Makes handles for stamps that are others than before.
        rebuild() {
            // The pointer leaves a handle that is dragged, without a word, once it is removed.
            isDragging = false;
            element.replaceChildren(...stamps().map((_, at) => makeGroup(at)));
            arrange();
        },
        /// The stamp on the picture or on each face. It stays where it is, unless that needs a face and none is there.
        pinnedTo: (stamp, on) => pinnedTo(stamp, on, seenFace(), view().aspect),
        get isDragging() { return isDragging; },
    };
}
