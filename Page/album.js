// Pictures and recordings that this Guise saved: a strip below the picture, and a viewer with everything to do with
// them.

import { ask } from "./connection.js";
import { $, abbreviateHome, announce, attempt, copyPicture, formatDuration, formatSize, icon, make, toast } from "./elements.js";
import { requestURL } from "./session.js";
import { arrowStep, t } from "./words.js";

/// The size in bytes of the largest file that is shown here. A larger one must be opened from its folder.
const largestShown = 256e6;

/// The captures, newest first: {name, path, bytes, url, facts, item}. The picture is in the browser's memory.
let captures = [];
/// The one in the viewer.
let open = null;

const isVideo = ({ name }) => /\.(mp4|mov|mkv|webm|avi)$/i.test(name);
const kindOf = (capture) => isVideo(capture) ? t("Recording") : t("Picture");
const named = (capture) => isVideo(capture) ? t("Recording {name}", capture) : t("Picture {name}", capture);
const file = (path) => path.slice(path.lastIndexOf("/") + 1);

/// Lists a saved picture or recording.
/// @param taken Guise's answer: {path, album}.
/// @param saved whether it was saved just now, which is said.
export async function keep(taken, { saved = false } = {}) {
    const name = taken.album ?? taken.name;
    const slash = taken.path.lastIndexOf("/");
    if (saved) toast(t("Saved in {folder}: {name}", { folder: abbreviateHome(taken.path.slice(0, slash)), name: file(taken.path) }));
    if (taken.bytes > largestShown || captures.some((other) => other.name === name)) return;
    const capture = { name, path: taken.path, bytes: taken.bytes, url: await requestURL(`/album/${encodeURIComponent(name)}`) };
    capture.facts = [isVideo(capture) && taken.seconds ? formatDuration(taken.seconds) : kindOf(capture), formatSize(taken.bytes)].filter(Boolean).join(" · ");
    capture.item = makeItem(capture);
    if (saved) captures.unshift(capture); else captures.push(capture);
    $("taken").firstElementChild[saved ? "prepend" : "append"](capture.item);
}

/// A picture, or the first moment of a recording.
const view = (capture, properties) => isVideo(capture)
    ? make("video", { src: `${capture.url}#t=0.1`, preload: "metadata", ...properties })
    : make("img", { src: capture.url, decoding: "async", ...properties });

function makeItem(capture) {
    const words = named(capture);
    const title = t("{name}: click to enlarge, or drag it to another program", capture);
    const link = make("a", { href: capture.url, download: capture.name, title }, view(capture, { alt: words, "aria-label": words }));
    link.onclick = (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        show(capture);
    };
    link.ondragstart = (event) => share(event, capture);
    const label = make("span", { title: capture.path }, capture.facts);
    const more = make("button", { type: "button", className: "quiet", "aria-label": t("Open {name}", capture), title: t("Open") }, icon("wide"));
    more.onclick = () => show(capture);
    return make("li", {}, link, make("div", {}, label, more));
}

/// Lets a capture be dropped on other programs as a file.
function share(event, capture) {
    const type = isVideo(capture) ? "video/mp4" : "image/png";
    event.dataTransfer.setData("DownloadURL", `${type}:${capture.name}:${capture.url}`);
    event.dataTransfer.effectAllowed = "copy";
}

// MARK: the viewer

function show(capture) {
    open = capture;
    const shown = view(capture, { controls: isVideo(capture), autoplay: isVideo(capture), alt: capture.name, draggable: true });
    shown.ondragstart = (event) => share(event, capture);
    $("viewer-picture").replaceChildren(shown);
    $("viewer-name").value = capture.name.replace(/\.[^.]*$/, "");
    $("viewer-facts").textContent = [capture.facts, abbreviateHome(capture.path.slice(0, capture.path.lastIndexOf("/")))].join(" · ");
    $("viewer-download").href = capture.url;
    $("viewer-download").download = capture.name;
    $("viewer-copy").hidden = isVideo(capture);
    const at = captures.indexOf(capture);
    // Not `disabled`, which would remove the focus, and with it the keys.
    $("viewer-newer").ariaDisabled = String(at <= 0);
    $("viewer-older").ariaDisabled = String(at >= captures.length - 1);
    if (!$("viewer").open) $("viewer").showModal();
}

function move(steps) {
    const next = captures[captures.indexOf(open) + steps];
    if (!next) return;
    show(next);
    announce(named(next));
}

$("viewer-newer").onclick = () => move(-1);
$("viewer-older").onclick = () => move(1);
$("viewer").onkeydown = (event) => {
    if (event.target.closest("input, video")) return;
    if (arrowStep(event.key)) { event.preventDefault(); move(arrowStep(event.key)); }
    // Held down, it would go on to the next ones.
    if (event.key === "Delete" && !event.repeat) remove();
};
$("viewer-close").onclick = () => $("viewer").close();
$("viewer").onclick = (event) => { if (event.target === $("viewer")) $("viewer").close(); };
$("viewer").onclose = () => {
    $("viewer-picture").replaceChildren();
    (open?.item.isConnected ? open.item.querySelector("a") : $("snapshot")).focus({ preventScroll: true });
    open = null;
};
$("viewer-copy").onclick = () => attempt(copyPicture(open.url));

$("viewer-rename").onsubmit = async (event) => {
    event.preventDefault();
    const capture = open;
    const to = $("viewer-name").value.trim();
    if (!to || to === capture.name.replace(/\.[^.]*$/, "")) return;
    const answer = await attempt(ask("album", { action: "rename", name: capture.name, to }));
    if (!answer) return;
    Object.assign(capture, { name: answer.name, path: answer.path });
    const old = capture.item;
    capture.item = makeItem(capture);
    old.replaceWith(capture.item);
    if (open === capture) show(capture);
    toast(t("Renamed to {name}.", answer));
};

/// Removes a capture from the strip, and from the browser's memory.
function drop(capture) {
    captures = captures.filter((other) => other !== capture);
    capture.item.remove();
    URL.revokeObjectURL(capture.url);
}

async function remove() {
    const capture = open;
    if (!capture || !await attempt(ask("album", { action: "delete", name: capture.name }))) return;
    const at = captures.indexOf(capture);
    drop(capture);
    toast(t("{name} is in the trash.", capture));
    const next = captures[at] ?? captures[at - 1];
    if (open !== capture) return;
    if (next) show(next); else $("viewer").close();
}
$("viewer-delete").onclick = remove;

/// Lists what was saved before the page was opened, and nothing that Guise does not know, such as what was saved before
/// it was started again.
export async function refresh() {
    const answer = await ask("album");
    const known = new Set(answer.captures.map(({ name }) => name));
    for (const capture of captures.filter(({ name }) => !known.has(name))) {
        if (open === capture) $("viewer").close();
        drop(capture);
    }
    // Each is loaded into the browser's memory, so only the newest are, and no long recordings.
    for (const capture of answer.captures.filter(({ bytes }) => bytes < 50e6).slice(0, 8)) await keep(capture);
}
