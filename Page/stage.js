// The picture: live view, comparison, tracking overlay, photos, recordings, panic, pause and freeze.

import { keep } from "./album.js";
import { isMirroredForOthers } from "./configuration.js";
import { ask, on, problems, state } from "./connection.js";
import { $, announce, attempt, debounce, formatDuration, formatSize, relay, setPressed } from "./elements.js";
import { pixels } from "./pixels.js";
import { clear, showStream } from "./stream.js";
import { t } from "./words.js";

/// What Guise said last of its state: {paused, frozen}.
let status = {};
let showsOverlay = false;
/// The addresses of the photo that is shown instead of the live picture.
let photo = null;

// MARK: the live picture

/// Width by height of the picture.
let aspect = 16 / 9;

/// The options of the stream. It has as many pixels as are shown; Guise sends large pictures less often.
const viewer = () => `width=${pixels($("screen"), aspect)}&rate=15`;

const streamPath = (picture) => `/stream?picture=${picture}&overlay=${showsOverlay ? 1 : 0}&mirrored=${isMirrored() ? 1 : 0}&${viewer()}`;
/// The current stream: its path, and the controller that ends it.
let live = null;

/// Starts the stream if it is visible. The previous stream ends first.
function restartStream() {
    live?.abort.abort();
    live = null;
    const isSeen = !document.hidden && state === "open" && !photo;
    if (!isSeen) return clear($("live"));
    const own = live = { path: streamPath("after"), abort: new AbortController() };
    showStream($("live"), own.path, own.abort.signal, fit).catch(() => {}).then(() => {
        // The stream is requested again as long as Guise is running.
        setTimeout(() => { if (live === own) restartStream(); }, 1000);
    });
}

/// Starts the stream again if its options have changed.
const renew = () => { if (live && live.path !== streamPath("after")) restartStream(); };

/// Gives the screen the picture's aspect ratio.
function fit() {
    const { width, height } = $("live");
    $("screen").classList.add("lit");
    if (aspect === width / height) return;
    aspect = width / height;
    document.documentElement.style.setProperty("--aspect", `${width} / ${height}`);
}
document.addEventListener("visibilitychange", restartStream);
new ResizeObserver(debounce(300, renew)).observe($("screen"));
// A window that is moved to another screen keeps its size, but may have other pixels, which no event reports in time.
setInterval(renew, 1000);
on("connection", restartStream);

$("overlay").onclick = () => {
    showsOverlay = !showsOverlay;
    setPressed($("overlay"), showsOverlay);
    restartStream();
};

// MARK: the mirror, which only this page shows

let mirrorsPreview = localStorage.mirror !== "off";

/// Whether the page mirrors the picture. People know themselves from mirrors; others see them as they are.
export const isMirrored = () => mirrorsPreview && !isMirroredForOthers();

export function showMirror() {
    $("screen").classList.toggle("is-mirrored", isMirrored());
    setPressed($("mirror"), mirrorsPreview);
    $("mirror-mine").checked = mirrorsPreview;
    if (showsOverlay) renew();
}

function setMirror(isOn) {
    mirrorsPreview = isOn;
    localStorage.mirror = isOn ? "on" : "off";
    showMirror();
    announce(isOn ? t("Your preview is mirrored, for you only") : t("Your preview is as others see you"));
}
$("mirror").onclick = () => setMirror(!mirrorsPreview);
$("mirror-mine").onchange = () => setMirror($("mirror-mine").checked);

// MARK: comparison

/// Ends the stream without masks.
let before = null;

/// Shows the picture without masks over the other while the button is held.
export function compare(isHeld) {
    if (isHeld === ($("hold").getAttribute("aria-pressed") === "true")) return;
    setPressed($("hold"), isHeld);
    $("screen").classList.toggle("is-before", isHeld);
    if (photo) $("photo").src = isHeld ? photo.before : photo.after;
    else if (isHeld) showStream($("before"), streamPath("before"), (before = new AbortController()).signal).catch(() => {});
    else {
        before?.abort();
        clear($("before"));
    }
    $("before").hidden = !isHeld || Boolean(photo);
    announce(isHeld ? t("Without masks") : t("With masks"));
}

$("hold").onpointerdown = (event) => {
    if (event.button !== 0) return;
    $("hold").setPointerCapture(event.pointerId);
    compare(true);
};
$("hold").onpointerup = $("hold").onpointercancel = $("hold").onlostpointercapture = () => compare(false);
$("hold").onkeydown = (event) => { if (event.key === " " || event.key === "Enter") { event.preventDefault(); compare(true); } };
$("hold").onkeyup = $("hold").onblur = () => compare(false);
$("hold").oncontextmenu = (event) => event.preventDefault();
addEventListener("blur", () => compare(false));

// MARK: photos, which photo.js handles

/// Shows a photo instead of the live picture; null shows the live picture again.
export function showPhoto(urls) {
    compare(false);
    photo = urls;
    $("photo").hidden = $("photo-bar").hidden = !photo;
    $("screen").classList.toggle("is-photo", Boolean(photo));
    if (photo) $("photo").src = photo.after; else $("photo").removeAttribute("src");
    if (Boolean(photo) === Boolean(live)) restartStream();
}

$("photo").onload = () => document.documentElement.style.setProperty("--photo-height", $("photo").naturalHeight / $("photo").naturalWidth);

/// Shows the photo without masks, which may hide what is to be corrected, or with them again.
export function showPhotoBefore(isShown) {
    const source = isShown ? photo?.before : photo?.after;
    if (source && $("photo").src !== source) $("photo").src = source;
}

// MARK: saving photos and recordings

async function takePicture() {
    const flash = $("flash");
    flash.classList.remove("now");
    flash.getBoundingClientRect(); // restarts the animation
    flash.classList.add("now");
    const taken = await attempt(ask("snapshot", localStorage.note === "on" ? { note: true } : {}));
    if (taken) attempt(keep(taken, { saved: true }));
}

/// Ends the countdown; null if there is none.
let endCountdown = null;

/// Takes a picture after some seconds, which are counted down on the picture. A second press takes none.
function countDown(seconds) {
    let left = seconds;
    const show = () => {
        $("count").textContent = String(left);
        announce(String(left));
    };
    const timer = setInterval(() => {
        left -= 1;
        if (left > 0) return show();
        endCountdown();
        takePicture();
    }, 1000);
    endCountdown = () => {
        clearInterval(timer);
        endCountdown = null;
        $("count").hidden = true;
    };
    $("count").hidden = false;
    show();
}

$("snapshot").onclick = () => {
    if (photo) return $("photo-download").click();
    const seconds = Number(localStorage.countdown ?? 0);
    if (endCountdown) endCountdown(); else if (seconds > 0) countDown(seconds); else takePicture();
};

let recording = null;
/// Whether a recording has ended, and its file is being completed.
let isSaving = false;

$("record").onclick = async () => {
    // Not `disabled`, which would remove the focus.
    if ($("record").ariaBusy === "true") return;
    $("record").ariaBusy = "true";
    if (recording) {
        isSaving = true;
        tick();
        const taken = await attempt(ask("record", { action: "stop" }));
        isSaving = false;
        showRecording(null);
        if (taken) attempt(keep(taken, { saved: true }));
        if (taken?.problem) relay(taken.problem, { error: true });
    } else {
        const begun = await attempt(ask("record", { action: "start", ...(localStorage.sound === "on" ? { sound: true } : {}) }));
        if (begun) showRecording(begun);
        if (begun) announce(t("Recording"));
    }
    $("record").ariaBusy = "false";
};

function showRecording(now) {
    if (now?.problem && now.problem !== recording?.problem) relay(now.problem, { error: true });
    recording = now && { ...now, seen: performance.now() };
    setPressed($("record"), recording);
    document.title = recording ? "● Guise" : "Guise";
    $("record").setAttribute("aria-label", recording ? t("Stop recording") : t("Record"));
    $("chip-recording").hidden = !recording && !isSaving;
    tick();
}

/// Updates the duration between two reports.
function tick() {
    if (isSaving) return void ($("chip-recording").textContent = t("Saving…"));
    if (!recording) return;
    const seconds = recording.seconds + (recording.problem ? 0 : (performance.now() - recording.seen) / 1000);
    $("chip-recording").textContent = [recording.problem ? t("Stopped") : t("REC"), formatDuration(seconds), formatSize(recording.bytes)].filter(Boolean).join("  ");
}
setInterval(tick, 500);

// MARK: panic, pause, freeze, and labels over the picture

/// Shows the placeholder at once. Only the button that says "Resume" ends it, never the same key again.
export async function panic() {
    endCountdown?.();
    const now = await attempt(ask("panic"));
    if (!now) return;
    showSettings(now);
    announce(t("Others see a placeholder"));
}

$("panic").onclick = panic;
$("panic-end").onclick = () => attempt(ask("resume").then(showSettings));
$("pause").onclick = () => attempt(ask(status.paused ? "resume" : "pause").then(showSettings));
$("freeze").onclick = () => attempt(ask(status.frozen ? "resume" : "freeze").then(showSettings));

function showSettings(now) {
    status = { ...status, ...now };
    setPressed($("pause"), status.paused);
    setPressed($("freeze"), status.frozen);
    $("panic").hidden = Boolean(status.paused);
    $("panic-end").hidden = !status.paused;
    showMirror();
    $("pause").querySelector("use").setAttribute("href", status.paused ? "#i-play" : "#i-pause");
    $("pause").querySelector("span").textContent = status.paused ? t("Resume") : t("Pause");
    const words = status.paused ? t("Paused") : status.frozen ? t("Frozen") : "";
    $("chip-state").textContent = words;
    $("chip-state").hidden = !words;
}

/// Shows the values of `status` and of the metrics event.
export function showStatus(now) {
    showSettings(now);
    if ("recording" in now) showRecording(now.recording);
    if ("faces" in now) showFaces(now.faces);
}

/// The most faces that Guise follows at once, as it is set.
let maxFaces = 8;
export function setMaxFaces(count) { maxFaces = count; }

function showFaces(count) {
    $("chip-faces").hidden = Boolean(status.paused);
    const none = $("zoom").ariaPressed === "true" ? t("No face to zoom to") : t("No face");
    const isFull = count >= maxFaces && count > 0;
    const words = isFull ? t("{count} face: the most at once|{count} faces: the most at once", { count }) : t("{count} face|{count} faces", { count });
    $("chip-faces").textContent = count ? words : none;
    $("chip-faces").title = isFull ? t("The maximum is {count}: Settings, Faces and privacy", { count: maxFaces }) : "";
}
on("faces", (event) => showFaces(event.faces));

$("wide").onclick = () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else attempt($("screen").requestFullscreen());
};

on("connection", ({ state, seconds }) => {
    const words = {
        connecting: [t("Connecting…"), ""],
        lost: [t("Guise isn't running"), t("This page reconnects by itself; it tries every {seconds} s.", { seconds: Math.max(1, Math.round(seconds)) })],
        ...problems,
    }[state];
    // A recording ends with Guise.
    if (words) showRecording(null);
    $("notice").hidden = !words;
    if (words) [$("notice-title").textContent, $("notice-text").textContent] = words;
    $("screen").classList.toggle("is-lost", Boolean(words));
});
