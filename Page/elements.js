// Small helpers for the page's elements.

import { languageOf, number, t } from "./words.js";

export const $ = (id) => document.getElementById(id);

/// Creates an element with properties ("aria-…" and "data-…" as attributes) and content.
export function make(tag, properties = {}, ...content) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (name.includes("-") || name === "role") element.setAttribute(name, value);
        else element[name] = value;
    }
    element.append(...content.filter((part) => part != null));
    return element;
}

/// Creates an icon defined in index.html.
export function icon(name) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("aria-hidden", "true");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    use.setAttribute("href", `#i-${name}`);
    svg.append(use);
    return svg;
}

/// Creates a button for a toast, which closes the toast and then acts.
export function toastButton(text, act) {
    const button = make("button", { type: "button", className: "link" }, text);
    button.onclick = () => {
        button.closest(".toast").remove();
        act();
    };
    return button;
}

/// Removes hints that only help in a terminal from a message: commands, options and sockets.
const withoutTerminalHints = (text) => text.split("; ").filter((part, at) => at === 0 || !/`|--[a-z]|socket|journalctl/.test(part)).join("; ")
    .replace(/\s*\([^)]*(`|--[a-z])[^)]*\)/g, "");

/// Removes all error messages, because their cause is fixed.
export function clearErrorToasts() { for (const box of document.querySelectorAll(".toast.error")) box.remove(); }

/// The element that messages are in. In full screen and while a dialog is open, nothing outside of these is seen or can
/// be clicked.
function placeToasts() {
    const toasts = $("toasts") ?? make("div", { id: "toasts", className: "toasts" });
    const place = document.fullscreenElement ?? [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
    // Moving it would read the messages out again.
    if (toasts.parentElement !== place) place.append(toasts);
    return toasts;
}

/// Shows a message at the bottom edge, once: again, it stays longer. Errors stay longer, and are read out at once.
/// @param lang the message's language, if it isn't the page's.
/// @returns a function that removes it.
export function toast(text, { error = false, symbol = error ? "warning" : "check", actions = [], lang = "" } = {}) {
    const box = make("div", { className: error ? "toast error" : "toast", role: error ? "alert" : "status" });
    const close = make("button", { type: "button", className: "quiet", "aria-label": t("Close") }, icon("close"));
    const dismiss = () => box.remove();
    close.onclick = dismiss;
    const words = make("span", lang ? { lang, dir: "auto" } : {}, capitalize(text));
    box.append(icon(symbol), words, ...actions, close);
    const toasts = placeToasts();
    for (const other of [...toasts.children]) if (other.querySelector("span").textContent === words.textContent) other.remove();
    toasts.append(box);
    while (toasts.children.length > 3) toasts.firstChild.remove();
    let timer = setTimeout(dismiss, error ? 12000 : 5000);
    const pauseTimer = () => clearTimeout(timer);
    const restartTimer = () => {
        pauseTimer();
        timer = setTimeout(dismiss, 3000);
    };
    box.onpointerenter = pauseTimer;
    box.onpointerleave = restartTimer;
    box.addEventListener("focusin", pauseTimer);
    box.addEventListener("focusout", restartTimer);
    return dismiss;
}

document.addEventListener("fullscreenchange", placeToasts);
// Neither event bubbles.
for (const name of ["toggle", "close"]) document.addEventListener(name, placeToasts, { capture: true });

/// Shows an English message, from Guise or of an error, translated if it is one of the usual ones.
export function relay(message, { error = false } = {}) {
    const lang = languageOf(message);
    toast(lang === "en" && error ? withoutTerminalHints(message) : t(message), { error, lang });
}

/// Waits for a promise and shows an error as a toast. Returns undefined after an error.
export async function attempt(work) {
    try { return await work; } catch (error) { relay(error.message, { error: true }); }
}

/// Waits for a promise and shows an error as a toast.
/// @returns whether there was none.
export const succeeds = async (work) => await attempt(work.then(() => true)) === true;

/// Announces a text to screen readers.
export function announce(text) { if ($("announcer")) $("announcer").textContent = text; }

/// Wraps `work` so that one call runs at a time, with the newest values: a slider produces more values than can be
/// sent.
export function latestOnly(work) {
    let next, busy = false;
    return async (...values) => {
        next = values;
        if (busy) return;
        busy = true;
        while (next) {
            const now = next;
            next = null;
            await attempt(work(...now));
        }
        busy = false;
    };
}

/// Wraps `work` so that it runs when no further call has come for some milliseconds.
export function debounce(milliseconds, work) {
    let timer;
    return (...values) => {
        clearTimeout(timer);
        timer = setTimeout(() => work(...values), milliseconds);
    };
}

/// Milliseconds after a change by the user in which values that come back from Guise may be old ones.
const settling = 800;

/// Wraps `show`, which shows a value that came from Guise, so that it waits while the user changes it; then the newest
/// one is shown.
/// @param isBusy tells whether the user is about to change it.
/// @returns {show, touch}: to be called with each value, and at each change by the user.
export function settled(show, isBusy = () => false) {
    let touched = -settling, timer = 0;
    function showLater(value) {
        clearTimeout(timer);
        if (isBusy() || performance.now() - touched < settling) timer = setTimeout(() => showLater(value), settling);
        else show(value);
    }
    return { show: showLater, touch() { touched = performance.now(); } };
}

export function setPressed(button, isPressed) { button.setAttribute("aria-pressed", String(Boolean(isPressed))); }

/// Formats a size: "1.2 MB".
export function formatSize(bytes) {
    if (bytes == null) return "";
    const [value, unit, digits] = bytes < 1e6 ? [bytes / 1e3, "kilobyte", 0] : bytes < 1e9 ? [bytes / 1e6, "megabyte", 1] : [bytes / 1e9, "gigabyte", 2];
    return number(value, { style: "unit", unit, minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/// Capitalizes the first letter, but for names that have none.
export const capitalize = (words) =>
    /^(ffmpeg|v4l2)/.test(words) ? words : words.charAt(0).toUpperCase() + words.slice(1);

/// Shortens a path with "~" for the home folder: "~/Pictures/Guise".
export const abbreviateHome = (path) => path.replace(/^\/home\/[^/]+/, "~");

/// Formats a duration in seconds: "1:05".
export function formatDuration(seconds) {
    const whole = Math.floor(seconds);
    const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    return `${hours ? `${hours}:${String(minutes).padStart(2, "0")}` : minutes}:${String(rest).padStart(2, "0")}`;
}

export async function copyPicture(url) {
    // Browsers accept only PNG. A promise preserves the click's user activation while the picture is fetched.
    const png = (async () => {
        const blob = await (await fetch(url)).blob();
        if (blob.type === "image/png") return blob;
        const canvas = document.createElement("canvas");
        const bitmap = await createImageBitmap(blob);
        [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
        canvas.getContext("2d").drawImage(bitmap, 0, 0);
        return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    })();
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
    toast(t("Copied to the clipboard."));
}

export async function copyText(text) {
    await navigator.clipboard.writeText(text);
    toast(t("Copied to the clipboard."));
}
