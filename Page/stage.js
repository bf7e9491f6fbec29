// The picture: live view, comparison, tracking overlay, photos, recordings, pause and freeze.

import { ask, on, state } from "./connection.js";
import { $, announce, attempt, calm, clock, copyPicture, icon, make, place, press, size, toast } from "./elements.js";
import { requestURL } from "./session.js";
import { showStream } from "./stream.js";

let showsOverlay = false;
/// The addresses of the photo that is shown instead of the live picture.
let photo = null;

// MARK: the live picture

/// The options of the stream. A large picture costs Guise three times the work, so it is requested only in full screen.
const viewer = () => `width=${document.fullscreenElement ? 1280 : 640}&rate=15`;

const streamPath = (picture) => `/stream?picture=${picture}&overlay=${showsOverlay ? 1 : 0}&${viewer()}`;
/// The current stream: its path, and the controller that ends it.
let live = null;

/// Starts the stream if it is visible. The previous stream ends first.
function look() {
    live?.abort.abort();
    live = null;
    const isSeen = !document.hidden && state === "open" && !photo;
    if (!isSeen) return $("live").removeAttribute("src");
    const own = live = { path: streamPath("after"), abort: new AbortController() };
    showStream($("live"), own.path, own.abort.signal).catch(() => {}).then(() => {
        // The stream is requested again as long as Guise is running.
        setTimeout(() => { if (live === own) look(); }, 1000);
    });
}

$("live").onload = () => {
    const { naturalWidth, naturalHeight } = $("live");
    $("screen").classList.add("lit");
    document.documentElement.style.setProperty("--shape", `${naturalWidth} / ${naturalHeight}`);
};
document.addEventListener("visibilitychange", look);
// Full screen needs a larger picture.
addEventListener("resize", calm(300, () => {
    if (live && !live.path.endsWith(viewer())) look();
}));
on("connection", look);

$("overlay").onclick = () => {
    showsOverlay = !showsOverlay;
    press($("overlay"), showsOverlay);
    look();
};

// MARK: comparison

/// Ends the stream without masks.
let before = null;

/// Shows the picture without masks over the other while the button is held.
export function hold(isHeld) {
    if (isHeld === ($("hold").getAttribute("aria-pressed") === "true")) return;
    press($("hold"), isHeld);
    $("screen").classList.toggle("is-before", isHeld);
    if (photo) $("photo").src = isHeld ? photo.before : photo.after;
    else if (isHeld) showStream($("before"), streamPath("before"), (before = new AbortController()).signal).catch(() => {});
    else {
        before?.abort();
        $("before").removeAttribute("src");
    }
    $("before").hidden = !isHeld || Boolean(photo);
    announce(isHeld ? "Without masks" : "With masks");
}

$("hold").onpointerdown = (event) => {
    if (event.button !== 0) return;
    $("hold").setPointerCapture(event.pointerId);
    hold(true);
};
$("hold").onpointerup = $("hold").onpointercancel = $("hold").onlostpointercapture = () => hold(false);
$("hold").onkeydown = (event) => { if (event.key === " " || event.key === "Enter") { event.preventDefault(); hold(true); } };
$("hold").onkeyup = $("hold").onblur = () => hold(false);
$("hold").oncontextmenu = (event) => event.preventDefault();
addEventListener("blur", () => hold(false));

// MARK: photos, which photo.js handles

/// Shows a photo instead of the live picture; null shows the live picture again.
export function showPhoto(urls) {
    hold(false);
    photo = urls;
    $("photo").hidden = $("photo-bar").hidden = !photo;
    $("screen").classList.toggle("is-photo", Boolean(photo));
    if (photo) $("photo").src = photo.after; else $("photo").removeAttribute("src");
    if (Boolean(photo) === Boolean(live)) look();
}

// MARK: saving photos and recordings

$("snapshot").onclick = async () => {
    if (photo) return $("photo-download").click();
    const flash = $("flash");
    flash.classList.remove("now");
    flash.getBoundingClientRect(); // restarts the animation
    flash.classList.add("now");
    const taken = await attempt(ask("snapshot", localStorage.note === "on" ? { note: true } : {}));
    if (taken) attempt(keep(taken, "picture"));
};

let recording = null;

$("record").onclick = async () => {
    // Not `disabled`, which would remove the focus.
    if ($("record").ariaBusy === "true") return;
    $("record").ariaBusy = "true";
    if (recording) {
        const taken = await attempt(ask("record", { action: "stop" }));
        showRecording(null);
        if (taken) attempt(keep(taken, "recording"));
        if (taken?.problem) toast(taken.problem, { error: true });
    } else {
        const begun = await attempt(ask("record", { action: "start" }));
        if (begun) showRecording(begun);
        if (begun) announce("Recording");
    }
    $("record").ariaBusy = "false";
};

function showRecording(now) {
    if (now?.problem && now.problem !== recording?.problem) toast(now.problem, { error: true });
    recording = now && { ...now, seen: performance.now() };
    press($("record"), recording);
    document.title = recording ? "● Guise" : "Guise";
    $("record").setAttribute("aria-label", recording ? "Stop recording" : "Record");
    $("chip-recording").hidden = !recording;
    tick();
}

/// Updates the duration between two reports.
function tick() {
    if (!recording) return;
    const seconds = recording.seconds + (recording.problem ? 0 : (performance.now() - recording.seen) / 1000);
    $("chip-recording").textContent = [recording.problem ? "Stopped" : "REC", clock(seconds), size(recording.bytes)].filter(Boolean).join("  ");
}
setInterval(tick, 500);

/// The size in bytes of the largest recording that is shown here. A larger one must be opened from its folder.
const largestShown = 256e6;

/// Lists a saved photo or recording with buttons for it.
async function keep(taken, kind) {
    const slash = taken.path.lastIndexOf("/");
    toast(`Saved in ${place(taken.path.slice(0, slash))}: ${taken.path.slice(slash + 1)}`);
    // It is played and downloaded from the browser's memory.
    if (taken.bytes > largestShown) return;
    const url = await requestURL(`/album/${encodeURIComponent(taken.album)}`);
    const isPicture = kind === "picture";
    const view = isPicture
        ? make("img", { src: url, alt: `Picture ${taken.album}`, decoding: "async" })
        : make("video", { src: `${url}#t=0.1`, controls: true, preload: "metadata", "aria-label": `Recording ${taken.album}` });
    const save = make("a", { className: "button quiet", href: url, download: taken.album, "aria-label": "Download", title: "Download" }, icon("download"));
    const copy = make("button", { type: "button", className: "quiet", "aria-label": "Copy to the clipboard", title: "Copy to the clipboard" }, icon("copy"));
    copy.onclick = () => attempt(copyPicture(url));
    const close = make("button", { type: "button", className: "quiet", "aria-label": "Remove from this list; the file stays", title: "Remove from this list; the file stays" }, icon("close"));
    const facts = isPicture ? "Picture" : [clock(taken.seconds ?? 0), size(taken.bytes)].filter(Boolean).join(" · ");
    const item = make(
        "li", {}, isPicture ? make("a", { href: url, target: "_blank", rel: "noopener", title: taken.path }, view) : view,
        make("div", {}, make("span", { title: taken.path }, facts), save, isPicture ? copy : null, close));
    close.onclick = () => {
        item.remove();
        URL.revokeObjectURL(url);
        $("snapshot").focus({ preventScroll: true });
    };
    $("taken").firstElementChild.prepend(item);
}

// MARK: pause, freeze, and labels over the picture

let status = {};

$("pause").onclick = () => attempt(ask(status.paused ? "resume" : "pause").then(showSettings));
$("freeze").onclick = () => attempt(ask(status.frozen ? "resume" : "freeze").then(showSettings));

function showSettings(now) {
    status = { ...status, ...now };
    press($("pause"), status.paused);
    press($("freeze"), status.frozen);
    $("pause").querySelector("use").setAttribute("href", status.paused ? "#i-play" : "#i-pause");
    $("pause").querySelector("span").textContent = status.paused ? "Resume" : "Pause";
    const words = status.paused ? "Paused" : status.frozen ? "Frozen" : "";
    $("chip-state").textContent = words;
    $("chip-state").hidden = !words;
}

/// Shows the values of `status` and of the metrics event.
export function showStatus(now) {
    showSettings(now);
    if ("recording" in now) showRecording(now.recording);
    if ("faces" in now) showFaces(now.faces);
}

function showFaces(count) {
    $("chip-faces").hidden = Boolean(status.paused);
    $("chip-faces").textContent = count === 1 ? "1 face" : count ? `${count} faces` : "No face";
}
on("faces", (event) => showFaces(event.faces));

$("wide").onclick = () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else attempt($("screen").requestFullscreen());
};

on("connection", ({ state, seconds }) => {
    const words = {
        connecting: ["Connecting …", ""],
        lost: ["Guise isn't running", `This page reconnects by itself; it tries every ${Math.max(1, Math.round(seconds))} s.`],
        missing: ["This browser has no key for Guise yet", "Run guise page in a terminal: it opens this page with the key."],
        refused: ["This page's key is not valid any more", "Run guise page in a terminal: it opens this page with a new key."],
        impostor: ["Another program answers in Guise's place", "Nothing was sent to it. Run guise page in a terminal to see where Guise is."],
    }[state];
    // A recording ends with Guise.
    if (words) showRecording(null);
    $("notice").hidden = !words;
    if (words) [$("notice-title").textContent, $("notice-text").textContent] = words;
    $("screen").classList.toggle("is-lost", Boolean(words));
});
