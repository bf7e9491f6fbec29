// Stamps, frames round faces, and texts: a list in the mask's row, and handles on the picture to place, size and turn
// them. A handle's dashed circle has the stamp's size.

import { ask } from "./connection.js";
import { $, announce, capitalize, debounce, icon, latestOnly, make, setPressed } from "./elements.js";
import * as library from "./library.js";
import { contentBox, pinnedTo, placedAt, placeOf } from "./stamp-geometry.js";
import { t } from "./words.js";

/// The most stamps, as Guise allows.
const most = 32;
/// Milliseconds between two looks at where the faces are, while a stamp on a face has handles.
const faceInterval = 150;

const nameOf = (stamp) => stamp.text ?? capitalize(t(stamp.art));
const parse = (value) => { try { return JSON.parse(value) ?? []; } catch { return []; } };

// MARK: the picture that the handles are on

const isPhoto = () => $("screen").classList.contains("is-photo");
const shown = () => isPhoto() ? $("photo") : $("live");
const shapeOf = (element) => (element.naturalWidth ?? element.width) / (element.naturalHeight ?? element.height) || 16 / 9;
const isMirrored = () => !isPhoto() && $("screen").classList.contains("is-mirrored");

/// Makes the field of a mask's stamps.
export function makeStampsField(mask, key, { allowed }) {
    let stamps = [];
    /// The largest face in the live picture; null if none is known.
    let face = null;
    /// The face that the handles are on.
    const seenFace = () => isPhoto() ? null : face;
    let isDragging = false;
    /// When the user changed something last: soon after that, the values that come back are old ones.
    let changed = 0;
    /// Whether the mask was put on by hand just now: then its stamps are placed next.
    let isNew = library.isNew(mask);
    const send = latestOnly((value) => ask("set", { mask, key, value: JSON.stringify(value) }));
    const sendLater = debounce(250, () => send(stamps));

    const rows = make("ul", { className: "stamp-rows" });
    const handles = make("div", { className: "stamp-handles", role: "group", "aria-label": t("Stamps on the picture") });
    const move = make("button", { type: "button", "aria-pressed": "false" }, icon("move"), t("Place by hand"));
    const target = make("select", { "aria-label": t("Add to") }, make("option", { value: "picture" }, t("The picture")), make("option", { value: "face" }, t("Each face")));

    function change(next, { now = true } = {}) {
        stamps = next;
        changed = performance.now();
        show();
        if (now) send(stamps); else sendLater();
    }
    const replace = (at, stamp, options) => change(stamps.map((other, index) => index === at ? stamp : other), options);
    function remove(at) {
        announce(t("{stamp} removed", { stamp: nameOf(stamps[at]) }));
        change(stamps.filter((_, index) => index !== at));
        (rows.children[at] ?? rows.lastElementChild)?.querySelector("button")?.focus({ preventScroll: true });
    }

    // MARK: the list

    function add(content) {
        // Those of one place would hide each other.
        const shift = stamps.length % 5 * 0.06;
        const place = target.value === "face"
            ? { on: "face", at: content.text ? [0, -2.6] : [0, 0.3], size: content.text ? 4 : 6 }
            : { at: [0.4 + shift, 0.4 + shift], size: content.text ? 0.5 : 0.3 };
        change([...stamps, { ...content, ...place }]);
        setHandles(true);
        announce(t("{stamp} added", { stamp: nameOf(content) }));
    }
    const menu = make("div", { className: "stamp-menu" },
        ...allowed.map((art) => {
            const button = make("button", { type: "button" }, capitalize(t(art)));
            button.onclick = () => add({ art });
            return button;
        }));
    const text = make("button", { type: "button" }, t("A text"));
    text.onclick = () => add({ text: t("Hello"), color: "#ffffff" });
    menu.prepend(text);

    function makeStampRow(at) {
        const stamp = () => stamps[at];
        const isText = "text" in stamp();
        const words = make("input", { type: "text", maxLength: 200, value: stamp().text ?? "", "aria-label": t("Text") });
        words.oninput = () => { if (words.value.trim()) replace(at, { ...stamp(), text: words.value }, { now: false }); };
        const color = make("input", { type: "color", value: stamp().color ?? "#ffffff", "aria-label": t("Colour") });
        color.oninput = () => replace(at, { ...stamp(), color: color.value }, { now: false });
        const on = make("select", { "aria-label": t("Where {stamp} is", { stamp: nameOf(stamp()) }) },
            make("option", { value: "picture" }, t("The picture")), make("option", { value: "face" }, t("Each face")));
        on.onchange = () => replace(at, pinnedTo(stamp(), on.value, seenFace(), shapeOf(shown())));
        const off = make("button", { type: "button", className: "quiet", "aria-label": t("Remove {stamp}", { stamp: nameOf(stamp()) }), title: t("Remove") }, icon("close"));
        off.onclick = () => remove(at);
        const label = isText ? [words, color] : [make("span", { className: "name" }, nameOf(stamp()))];
        return make("li", {}, ...label, on, off);
    }
    /// What a row depends on, besides the text that is typed in it.
    const rowKey = (stamp) => stamp.art ?? "text";

    // MARK: the handles

    /// The picture's box in the screen, in CSS pixels, and its shape.
    function view() {
        const shape = shapeOf(shown());
        return { shape, ...contentBox(shown(), shape) };
    }
    /// From a place in the picture, in its heights, to CSS pixels in the screen.
    function toScreen({ x, y }, { left, top, height, shape }) {
        return { x: left + (isMirrored() ? shape - x : x) * height, y: top + y * height };
    }
    function toPicture(event, { left, top, height, shape }) {
        const screen = $("screen").getBoundingClientRect();
        const x = (event.clientX - screen.left - left) / height;
        return { x: isMirrored() ? shape - x : x, y: (event.clientY - screen.top - top) / height };
    }

    /// Makes an element follow the pointer.
    function drag(element, at, moved) {
        element.onpointerdown = (event) => {
            if (event.button !== 0 || isDragging) return;
            event.preventDefault();
            element.focus({ preventScroll: true });
            element.setPointerCapture(event.pointerId);
            // A head that moves meanwhile would carry the stamp away from the pointer.
            const [box, own, begun] = [view(), seenFace(), stamps[at]];
            const start = toPicture(event, box);
            const place = placeOf(begun, own, box.shape);
            if (!place) return;
            isDragging = true;
            element.onpointermove = (event) => {
                const now = toPicture(event, box);
                replace(at, placedAt(begun, { ...place, ...moved(place, { x: now.x - start.x, y: now.y - start.y }, now) }, own, box.shape));
            };
            element.onpointerup = element.onpointercancel = element.onlostpointercapture = () => {
                element.onpointermove = element.onpointerup = element.onpointercancel = element.onlostpointercapture = null;
                isDragging = false;
            };
        };
    }
    function nudge(element, at, step) {
        element.onkeydown = (event) => {
            if (event.key === "Delete" || event.key === "Backspace") {
                event.preventDefault();
                return remove(at);
            }
            const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
            if (!way) return;
            event.preventDefault();
            event.stopPropagation();
            const [{ shape }, own] = [view(), seenFace()];
            const place = placeOf(stamps[at], own, shape);
            if (!place) return;
            const size = event.shiftKey ? 5 : 1;
            replace(at, placedAt(stamps[at], { ...place, ...step(place, way[0] * size * (isMirrored() ? -1 : 1), way[1] * size) }, own, shape));
        };
    }

    function makeHandles(at) {
        const circle = make("span", { className: "stamp-circle" });
        const middle = make("button", { type: "button", className: "stamp-move", "aria-label": t("Move {stamp}", { stamp: nameOf(stamps[at]) }), title: t("Drag, or press the arrow keys") });
        const edge = make("button", { type: "button", className: "stamp-turn", "aria-label": t("Size and turn {stamp}", { stamp: nameOf(stamps[at]) }), title: t("Drag, or press ↑ ↓ for the size and ← → to turn") });
        drag(middle, at, (place, way) => ({ x: place.x + way.x, y: place.y + way.y }));
        drag(edge, at, (place, way, now) => {
            const [x, y] = [now.x - place.x, now.y - place.y];
            return { size: 2 * Math.hypot(x, y), angle: Math.atan2(y, x) * 180 / Math.PI };
        });
        nudge(middle, at, (place, x, y) => ({ x: place.x + x / 100, y: place.y + y / 100 }));
        nudge(edge, at, (place, x, y) => ({ size: place.size * (1 - y / 20), angle: place.angle + 5 * x }));
        return make("div", { "data-stamp": String(at) }, circle, middle, edge);
    }

    /// Puts the handles where the stamps are.
    function arrange() {
        if (!isPlacing()) return;
        const box = view();
        for (const [at, group] of [...handles.children].entries()) {
            const place = placeOf(stamps[at], seenFace(), box.shape);
            group.hidden = !place;
            if (!place) continue;
            const [circle, middle, edge] = group.children;
            const angle = place.angle * Math.PI / 180;
            const center = toScreen(place, box);
            const rim = toScreen({ x: place.x + Math.cos(angle) * place.size / 2, y: place.y + Math.sin(angle) * place.size / 2 }, box);
            for (const [element, { x, y }] of [[circle, center], [middle, center], [edge, rim]]) element.style.translate = `${x}px ${y}px`;
            circle.style.width = circle.style.height = `${place.size * box.height}px`;
        }
    }
    const isPlacing = () => move.getAttribute("aria-pressed") === "true" && rows.isConnected;

    async function lookForFaces() {
        if (isDragging || isPhoto() || document.hidden || !stamps.some((stamp) => stamp.on === "face")) return;
        const { faces } = await ask("faces").catch(() => ({ faces: [] }));
        if (isDragging) return;
        face = faces.reduce((best, other) => !best || other.eyeDistance > best.eyeDistance ? other : best, null);
        arrange();
    }
    let timer = 0;
    const resized = new ResizeObserver(arrange);
    function setHandles(isOn) {
        setPressed(move, isOn);
        clearInterval(timer);
        resized.disconnect();
        handles.remove();
        if (!isOn) return;
        $("screen").append(handles);
        resized.observe($("screen"));
        timer = setInterval(() => rows.isConnected ? lookForFaces() : setHandles(false), faceInterval);
        show();
    }
    move.onclick = () => setHandles(!isPlacing());

    function show() {
        const keys = stamps.map(rowKey).join();
        if (rows.dataset.keys !== keys) {
            rows.dataset.keys = keys;
            rows.replaceChildren(...stamps.map((_, at) => makeStampRow(at)));
            handles.replaceChildren(...stamps.map((_, at) => makeHandles(at)));
        }
        for (const [at, row] of [...rows.children].entries()) {
            row.querySelector("select").value = stamps[at].on ?? "picture";
            const input = row.querySelector("input[type=text]");
            if (input && document.activeElement !== input) input.value = stamps[at].text;
        }
        for (const button of menu.children) button.disabled = stamps.length >= most;
        move.hidden = stamps.length === 0;
        arrange();
    }

    return {
        element: make("div", { className: "stamps" },
            make("div", { className: "choice" }, make("label", {}, make("span", {}, t("Add to")), target), move), menu, rows),
        update(value) {
            if (isDragging || performance.now() - changed < 800) return;
            stamps = parse(value);
            show();
            if (isNew) setHandles(true);
            isNew = false;
        },
    };
}
