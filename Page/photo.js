// Puts the active masks on a photo that is dropped, pasted or chosen, and again whenever they change. A picture that is
// dropped on the other half of the page becomes the background.

import { $, attempt, copyPicture, debounce, succeeds, toast } from "./elements.js";
import { offer, withdraw } from "./correction.js";
import { request } from "./session.js";
import { showPhoto } from "./stage.js";
import { useAsBackground } from "./background.js";
import * as library from "./library.js";
import { t } from "./words.js";

let file = null;
let urls = null;
/// The answer that tells where the faces of the photo are, once it was asked for.
let places = null;
/// The number of faces of the photo as it was drawn last.
let count = 0;
/// What was said of the photo as it was drawn last.
let said = "";
/// Counts requests, so that only the answer to the newest one is shown.
let generation = 0;

async function putMasksOn() {
    const own = ++generation;
    $("photo-says").textContent = t("Putting masks on…");
    const answer = await request("/photo", { method: "POST", body: file });
    const after = await answer.blob();
    if (own !== generation || !file) return;
    if (urls) URL.revokeObjectURL(urls.after);
    urls = { before: urls?.before ?? URL.createObjectURL(file), after: URL.createObjectURL(after) };
    showPhoto(urls);
    const faces = Number(answer.headers.get("X-Guise-Faces"));
    // Another mask may find more faces.
    if (faces !== count) places = null;
    count = faces;
    const covered = Number(answer.headers.get("X-Guise-Covered"));
    const found = faces ? t("{count} face|{count} faces", { count: faces }) : t("No face was found");
    said = covered ? t("{found}; {count} possible face covered|{found}; {count} possible faces covered", { found, count: covered }) : found;
    $("photo-says").textContent = said;
    offer({ file, hash: answer.headers.get("X-Guise-Photo"), count: faces, redraw: updateCorrected });
    $("photo-download").href = urls.after;
    $("photo-download").download = t("{photo} in guise", { photo: file.name?.replace(/\.[^.]*$/, "") || t("photo") }) + ".jpg";
}

/// Puts the masks on the photo. After an error it is shown as before, or closed if it never was shown.
async function update() {
    const done = succeeds(putMasksOn());
    const own = generation;
    if (await done || own !== generation) return;
    if (urls) $("photo-says").textContent = said; else close();
}

/// Puts the masks on the photo after its faces were corrected.
function updateCorrected() {
    places = null;
    return update();
}

/// Where the faces of the open photo are, as the answer to `faces` has them of the live picture.
export async function facesOfPhoto() {
    if (!file || !urls) return [];
    const own = places ??= request("/photo/faces", { method: "POST", body: file }).then((answer) => answer.json());
    try { return (await own).places; } catch (error) {
        // Asked for again: Guise may be back by then.
        if (places === own) places = null;
        throw error;
    }
}

async function open(photo) {
    close();
    file = photo;
    const end = toast(t("Putting masks on the photo…"), { symbol: "photo" });
    await update();
    end();
}

export function close() {
    if (urls) for (const url of Object.values(urls)) URL.revokeObjectURL(url);
    file = urls = places = null;
    generation += 1;
    withdraw();
    showPhoto(null);
}

library.onChange(debounce(150, () => { if (file) update(); }));

$("photo-open").onclick = () => $("photo-file").click();
$("photo-file").onchange = () => {
    if ($("photo-file").files[0]) open($("photo-file").files[0]);
    $("photo-file").value = "";
};
$("photo-close").onclick = () => {
    close();
    $("photo-open").focus({ preventScroll: true });
};
$("photo-copy").onclick = () => attempt(copyPicture(urls.after));

// MARK: dropping and pasting

// The page's own pictures can be dragged to other programs; dropped back on the page, they are ignored.
const ours = "application/x-guise";
addEventListener("dragstart", (event) => event.dataTransfer.setData(ours, "1"));

const hasFile = ({ dataTransfer }) => dataTransfer?.types.includes("Files") && !dataTransfer.types.includes(ours);
let depth = 0;
const showDrop = (isShown) => { $("drop").hidden = !isShown; };
/// The half of the page that a picture is over: "photo" or "background".
const half = ({ target }) => target.closest?.("[data-drop]")?.dataset.drop ?? "photo";

addEventListener("dragenter", (event) => { if (hasFile(event)) { depth += 1; showDrop(true); } });
addEventListener("dragleave", (event) => { if (hasFile(event)) { depth = Math.max(0, depth - 1); showDrop(depth > 0); } });
addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    for (const zone of $("drop").children) zone.classList.toggle("over", zone.dataset.drop === half(event));
});
addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    depth = 0;
    showDrop(false);
    const [dropped] = event.dataTransfer.files;
    if (dropped) (half(event) === "background" ? useAsBackground : open)(dropped);
});
addEventListener("paste", (event) => {
    const pasted = [...event.clipboardData.files].find((file) => file.type.startsWith("image/"));
    if (pasted) open(pasted);
});
