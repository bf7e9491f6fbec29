// Correction by hand of the faces that were found in a photo: handles over the photo move eyes, nose, mouth and
// outline. Guise keeps the corrected faces for this photo and draws its masks there.

import { $, announce, attempt, debounce, latestOnly, setPressed } from "./elements.js";
import { faceAt, handles, path } from "./landmarks.js";
import { request } from "./session.js";
import { showPhotoBefore } from "./stage.js";
import { number, t } from "./words.js";

/// The open photo: {file, hash, count, redraw}. `count`: of the faces that wear masks.
let photo = null;
let isOn = false;
/// The faces with their landmarks: {box, landmarks, corrected}; `box` says where one was found. Never changed in place,
/// so that `past` can keep them.
let faces = [];
/// The landmarks of a mean face, from Guise.
let meanFace = [];
/// Counts faces that wear masks but can't be corrected, which are those of cats.
let others = 0;
/// The faces before each change that can be undone, and after each one that was undone.
let past = [], future = [];
/// A change that is not kept yet: the faces before it.
let before = null;
/// The corrected faces that Guise was last asked to keep.
let newest = null;
/// The handle that is dragged: {face, handle, from, pointer}.
let drag = null;

const overlay = $("correction");
let width = 1, height = 1;

// MARK: the faces

/// Offers to correct a photo, whenever it was drawn.
/// @param drawn {file, hash, count, redraw}: `redraw` draws it again.
export function offer(drawn) {
    if (photo?.file !== drawn.file) withdraw();
    photo = drawn;
    if (drag || before) showPhotoBefore(true);
    // Another mask may find more faces, and one that was corrected is found again when that is forgotten.
    if (isOn && !drag && !before && photo.count !== faces.length + others) load();
    showTools();
}

/// The photo is closed.
export function withdraw() {
    setOn(false);
    photo = null;
    [faces, past, future] = [[], [], []];
    showTools();
}

/// Gets the faces from Guise.
/// @returns whether it did.
async function load() {
    const own = photo;
    setBusy(true);
    const answer = await attempt(request("/photo/faces", { method: "POST", body: own.file }).then((answer) => answer.json()));
    setBusy(false);
    if (!answer || photo?.file !== own.file || drag || before) return false;
    ({ faces, width, height, meanFace } = answer);
    others = Math.max(0, photo.count - faces.length);
    overlay.setAttribute("viewBox", `0 0 ${width} ${height}`);
    build();
    showBusy(false);
    return true;
}

/// Keeps the corrected faces of a photo, and draws it with them if it is still open.
const keep = latestOnly(async (own, corrected) => {
    try {
        await request(`/corrections?photo=${own.hash}`, { method: "POST", body: JSON.stringify({ faces: corrected }) });
        if (photo?.file === own.file) await own.redraw();
    } finally {
        if (!drag && !before) showPhotoBefore(false);
        if (corrected === newest) showBusy(false);
    }
});

function save() {
    const within = (value, size) => Math.round(Math.min(Math.max(value, -size), 2 * size) * 10) / 10;
    const corrected = faces.filter((face) => face.corrected)
        .map(({ box, landmarks }) => ({ box, landmarks: landmarks.map(([x, y]) => [within(x, width), within(y, height)]) }));
    newest = corrected;
    keep(photo, corrected);
}

/// Tells whether the photo is drawn with all changes.
function showBusy(isBusy) { overlay.ariaBusy = String(isBusy || Boolean(drag || before)); }

/// Changes the faces, in a step that can be undone.
function change(next) {
    commit();
    past.push(faces);
    future = [];
    show(next);
    save();
}

/// Ends a change that was made bit by bit.
function commit() {
    if (!before) return;
    past.push(before);
    [future, before] = [[], null];
    showTools();
    save();
}
const commitSoon = debounce(500, commit);

/// Goes to the faces before the last change, or after the last one that was undone.
function travel(from, to, words) {
    commit();
    if (!from.length) return;
    to.push(faces);
    show(from.pop());
    announce(words);
    save();
}
const undo = () => travel(past, future, t("Correction undone"));
const redo = () => travel(future, past, t("Correction redone"));

function startAgain() {
    if (!faces.some((face) => face.corrected)) return;
    // Those that were found come back when the photo is drawn again.
    change(faces.filter((face) => !face.corrected));
    announce(t("All corrections of this photo are deleted"));
}

async function addFace() {
    if (!isOn) {
        setOn(true);
        if (!await load()) return setOn(false);
    }
    // Not over one that was added before.
    const shift = faces.length % 4 * Math.min(width, height) / 16;
    const landmarks = faceAt(meanFace, [width / 2 + shift, height * 0.42 + shift], Math.min(width, height) / 6);
    // Nothing was found in an empty box.
    change([...faces, { box: [0, 0, 0, 0], landmarks, corrected: true }]);
    // The handle that moves the whole face.
    element({ face: faces.length - 1, handle: handles.length - 2 }).focus({ preventScroll: true });
}

// MARK: moving

/// The faces after a handle was moved.
const moved = (all, face, handle, by) => all.map((other, index) => index === face ? { ...other, landmarks: handles[handle].move(other.landmarks, by), corrected: true } : other);

/// The place of an event in the photo.
function place({ clientX, clientY }) {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(overlay.getScreenCTM().inverse());
    return [x, y];
}

/// The distance in the page's pixels up to which a handle is grabbed.
const grip = 18;

/// The handle nearest to an event, as handles of small faces overlap; null if none is near.
function nearest(event) {
    const [x, y] = place(event);
    const scale = overlay.getScreenCTM().a;
    let [found, least] = [null, grip];
    for (const [face, { landmarks }] of faces.entries()) {
        for (const [handle, { at }] of handles.entries()) {
            const [left, top] = shown(at(landmarks));
            const away = Math.hypot(left - x, top - y) * scale;
            if (away <= least) [found, least] = [{ face, handle }, away];
        }
    }
    return found;
}

overlay.onpointerdown = (event) => {
    const found = event.isPrimary && event.button === 0 && !drag ? nearest(event) : null;
    if (!found) return;
    event.preventDefault();
    commit();
    drag = { ...found, from: place(event), pointer: event.pointerId, faces };
    overlay.setPointerCapture(event.pointerId);
    overlay.classList.add("is-dragging");
    element(found).focus({ preventScroll: true });
};
// A finger beside all handles scrolls the page. `touch-action` is not enough: it counts for no part of an SVG.
overlay.addEventListener("touchstart", (event) => { if (drag) event.preventDefault(); }, { passive: false });
overlay.onpointermove = (event) => {
    if (!drag || event.pointerId !== drag.pointer) return;
    const [x, y] = place(event);
    const by = [x - drag.from[0], y - drag.from[1]];
    if (!drag.hasMoved && by[0] === 0 && by[1] === 0) return;
    drag.hasMoved = true;
    // Masks may hide what the handle belongs on.
    showPhotoBefore(true);
    show(moved(drag.faces, drag.face, drag.handle, by));
};
/// @param isKept false: the face goes back.
function endDrag(isKept) {
    if (!drag) return;
    const ended = drag;
    drag = null;
    overlay.classList.remove("is-dragging");
    if (!ended.hasMoved) return;
    if (isKept) {
        before = ended.faces;
        return commit();
    }
    show(ended.faces);
    showBusy(false);
    showPhotoBefore(false);
}
overlay.onpointerup = (event) => { if (event.pointerId === drag?.pointer) endDrag(true); };
// A finger is captured by the handle first, which then loses it to the overlay.
overlay.onlostpointercapture = (event) => { if (event.target === overlay && event.pointerId === drag?.pointer) endDrag(false); };
overlay.onpointercancel = (event) => { if (event.pointerId === drag?.pointer) endDrag(false); };

const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/// Moves a handle by arrow keys: by a pixel of the photo, with Shift by ten.
function stroke(event, face, handle) {
    const arrow = arrows[event.key];
    if (!arrow || event.ctrlKey || event.altKey || event.metaKey || drag) return;
    event.preventDefault();
    before ??= faces;
    showPhotoBefore(true);
    show(moved(faces, face, handle, arrow.map((step) => step * (event.shiftKey ? 10 : 1))));
    commitSoon();
}

// Before other listeners, which would undo masks or close the photo.
addEventListener("keydown", (event) => {
    if (!isOn || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
        event.preventDefault();
        if (drag) endDrag(false); else $("photo-correct").click();
    } else if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "z") {
        if (event.target.closest("input[type=text], input[type=search]")) return;
        event.preventDefault();
        if (!drag) (event.shiftKey ? redo : undo)();
    }
}, { capture: true });

// MARK: the overlay

const svg = (name, properties, ...content) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
    element.append(...content);
    return element;
};
const line = (className) => svg("path", { class: className });
const dot = (className) => svg("circle", { class: className });

/// The element of a handle.
const element = ({ face, handle }) => overlay.children[face].querySelectorAll(".handle")[handle];

/// Makes the elements of all faces. The focus stays on its handle, if that is still there.
function build() {
    const focused = document.activeElement;
    const index = [...overlay.querySelectorAll(".handle")].indexOf(focused);
    overlay.replaceChildren(...faces.map((_, face) => svg("g", {}, line("shadow"), line("line"), ...handles.map(({ label }, handle) => {
        // A slider is what leaves the arrow keys to the page in a screen reader.
        const element = svg("g", { class: "handle", role: "slider", tabindex: 0, "aria-label": label(face + 1) }, dot("hit"), dot("ring"), dot("dot"));
        element.onkeydown = (event) => stroke(event, face, handle);
        return element;
    }))));
    update();
    fit();
    if (index >= 0) (overlay.querySelectorAll(".handle")[index] ?? $("photo-correct")).focus({ preventScroll: true });
}

/// Where a handle is shown: within the photo, although a face may be cut off by its edge.
const shown = ([x, y]) => [Math.min(Math.max(x, 0), width), Math.min(Math.max(y, 0), height)];

/// Places the elements of all faces.
function update() {
    for (const [index, { landmarks, corrected }] of faces.entries()) {
        const group = overlay.children[index];
        group.setAttribute("class", corrected ? "is-corrected" : "");
        const [shadow, lines, ...own] = group.children;
        for (const each of [shadow, lines]) each.setAttribute("d", path(landmarks));
        for (const [handle, { at }] of handles.entries()) {
            const [x, y] = shown(at(landmarks)).map((value) => Math.round(value * 10) / 10);
            for (const part of own[handle].children) {
                part.setAttribute("cx", x);
                part.setAttribute("cy", y);
            }
            own[handle].setAttribute("aria-valuenow", Math.round(x));
            own[handle].setAttribute("aria-valuemax", width);
            own[handle].setAttribute("aria-valuetext", `${number(Math.round(x))}, ${number(Math.round(y))}`);
        }
    }
    showTools();
}

// Handles have the same size at any size of the photo.
function fit() {
    const scale = overlay.getScreenCTM()?.a;
    if (!(scale > 0)) return;
    overlay.style.setProperty("--unit", 1 / scale);
    for (const [index, { landmarks }] of faces.entries()) {
        // On small faces they show less, and are hit as easily.
        const breadth = Math.hypot(landmarks[16][0] - landmarks[0][0], landmarks[16][1] - landmarks[0][1]) * scale;
        overlay.children[index]?.style.setProperty("--size", Math.min(Math.max(breadth / 90, 0.4), 1));
    }
}
new ResizeObserver(fit).observe(overlay);

function show(next) {
    const isSame = next.length === faces.length;
    faces = next;
    showBusy(true);
    if (isSame) update(); else build();
}

// MARK: buttons

function setBusy(isBusy) { $("photo-correct").ariaBusy = $("correct-add").ariaBusy = String(isBusy); }

function showTools() {
    const hasFaces = Boolean(photo?.count);
    $("photo-correct").hidden = !photo || !hasFaces && !isOn;
    $("correct-tools").hidden = !photo || hasFaces && !isOn;
    for (const [id, isPossible] of [["undo", past.length || before], ["redo", future.length], ["again", faces.some((face) => face.corrected)]]) {
        $(`correct-${id}`).hidden = !isOn;
        // Not `disabled`, which would remove the focus.
        $(`correct-${id}`).ariaDisabled = String(!isPossible);
    }
}

function setOn(isWanted) {
    commit();
    endDrag(false);
    isOn = isWanted;
    setPressed($("photo-correct"), isOn);
    overlay.toggleAttribute("hidden", !isOn);
    $("screen").classList.toggle("is-correcting", isOn);
    if (!isOn) overlay.replaceChildren();
    showTools();
}

$("photo-correct").onclick = async () => {
    if ($("photo-correct").ariaBusy === "true") return;
    if (isOn) return setOn(false);
    setOn(true);
    if (!await load()) return setOn(false);
    announce(t("Drag the points, or move them with the arrow keys"));
};
$("correct-undo").onclick = undo;
$("correct-redo").onclick = redo;
$("correct-again").onclick = startAgain;
$("correct-add").onclick = () => { if ($("correct-add").ariaBusy !== "true") addFace(); };
