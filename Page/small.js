// The small view, for during a call: the picture, six masks or looks, and Panic. It is in a window that stays on top
// where browsers have one (documentPictureInPicture), else in a small window (small.html).

import { ask, on, problems, state } from "./connection.js";
import { announce, attempt, make, setPressed } from "./elements.js";
import { areKeysLocked, areKeysOn, setCall } from "./key-lock.js";
import * as library from "./library.js";
import { pixels } from "./pixels.js";
import { isOn, shelf, use } from "./shelf.js";
import { clear, showStream } from "./stream.js";
import { t } from "./words.js";

/// The kinds of masks that fill the small view.
const suggestedKinds = new Set(["hat", "glasses", "beard", "animal"]);
/// The number of masks and looks in the small view.
const count = 6;

/// Fills the body of a window with the small view, which lives as long as the window.
/// @param isMirrored a function that says whether to mirror the picture.
export function mount(view, isMirrored) {
    const picture = make("canvas", { className: "small-picture", role: "img", "aria-label": t("What the call sees, live"), width: 0, height: 0 });
    const words = make("p", { className: "small-words", role: "status" });
    const list = make("div", { className: "small-list", role: "group", "aria-label": t("Favourites") });
    const panic = make("button", { type: "button", className: "panic", "aria-keyshortcuts": ".", title: t("Show others a placeholder at once (. or Ctrl+.)") }, t("Panic"));
    const resume = make("button", { type: "button", className: "main", hidden: true }, t("Resume"));
    const body = view.document.body;
    body.className = "small";
    body.replaceChildren(make(
        "main", {},
        make("h1", { className: "unseen" }, t("Small view for calls")),
        make("div", { className: "small-screen" }, picture, words),
        make("div", { className: "small-bar" }, list, make("div", { className: "small-panic" }, panic, resume))));

    const mirror = () => picture.classList.toggle("mirrored", isMirrored());
    const showState = (now) => {
        if ("cameraInUse" in now) setCall(Boolean(now.cameraInUse));
        if (!("paused" in now)) return;
        panic.hidden = Boolean(now.paused);
        resume.hidden = !now.paused;
        mirror();
        words.textContent = now.paused ? t("Others see a placeholder") : now.frozen ? t("Frozen") : "";
    };
    const showNow = () => ask("status").then(showState, () => {});
    const stop = () => attempt(ask("panic").then(showState));
    panic.onclick = stop;
    resume.onclick = () => attempt(ask("resume").then(showState));

    /// What is shown: the shelf, filled up with the first masks of the gallery that faces wear.
    const entries = () => {
        const own = shelf();
        const known = new Set(own.map(({ name }) => name));
        const more = [...library.all.values()].filter(({ name, kind }) => suggestedKinds.has(kind) && !known.has(name))
            .map(({ name }) => ({ kind: "mask", name, title: library.title(name), masks: [name] }));
        return [...own, ...more].slice(0, count);
    };
    const redraw = () => {
        const shown = entries();
        const labels = JSON.stringify(shown.map(({ kind, name, title }) => [kind, name, title]));
        if (list.dataset.shown !== labels) {
            list.dataset.shown = labels;
            list.replaceChildren(...shown.map((entry, at) => make(
                "button", { type: "button", title: `${entry.title} (${at + 1})`, "aria-label": entry.title },
                make("span", { className: "face" }, make("img", { className: "missing", alt: "", width: 56, height: 56, draggable: false })))));
        }
        for (const [at, entry] of shown.entries()) {
            const button = list.children[at];
            button.onclick = () => use(entry);
            setPressed(button, isOn(entry));
            library.showThumbnail(button.querySelector("img"), entry.masks);
        }
    };

    const streamPath = () => `/stream?picture=after&rate=15&width=${pixels(picture, 16 / 9)}`;
    /// The current stream: its path, and the controller that ends it.
    let stream = null;
    const restartStream = () => {
        stream?.abort.abort();
        stream = null;
        // A window of its own that is hidden watches nothing; one that stays on top is never hidden.
        const isSeen = view !== window || !document.hidden;
        if (!isSeen || state !== "open" || view.closed) return clear(picture);
        const own = stream = { path: streamPath(), abort: new AbortController() };
        const again = () => { if (stream === own) restartStream(); };
        showStream(picture, own.path, own.abort.signal).catch(() => {}).then(() => setTimeout(again, 1000));
    };
    // A window that is resized says so many times.
    view.addEventListener("resize", () => { if (stream && stream.path !== streamPath()) restartStream(); });
    if (view === window) document.addEventListener("visibilitychange", restartStream);
    view.addEventListener("keydown", (event) => {
        if (event.altKey || event.metaKey || event.repeat) return;
        // With Ctrl too, as on the page.
        if (event.key === ".") stop();
        else if (event.ctrlKey || !/^[1-9]$/.test(event.key) || !areKeysOn() || areKeysLocked()) return;
        else list.children[Number(event.key) - 1]?.click();
        event.preventDefault();
    });
    const ends = [
        library.onChange(redraw),
        on("metrics", showState),
        on("connection", ({ state }) => {
            words.textContent = state === "open" ? "" : problems[state]?.[0] ?? t("Reconnecting…");
            restartStream();
            if (state === "open") showNow();
        }),
    ];
    view.addEventListener("pagehide", () => {
        stream?.abort.abort();
        stream = null;
        // The page that opened the view stays.
        if (view !== window) for (const end of ends) end();
    });
    mirror();
    redraw();
    restartStream();
    if (state === "open") showNow();
}

/// The width and height of the small view at first, in pixels: those of a picture of 16:9 and of what is below it.
const size = { width: 320, height: 286 };

/// The window of the small view, in browsers without documentPictureInPicture.
let popup = null;

/// Opens the small view, or closes it if it is open.
export async function openSmall(isMirrored) {
    if (globalThis.documentPictureInPicture) {
        if (documentPictureInPicture.window) return documentPictureInPicture.window.close();
        const view = await documentPictureInPicture.requestWindow(size);
        view.document.title = "Guise";
        view.document.documentElement.lang = document.documentElement.lang;
        view.document.documentElement.dir = document.documentElement.dir;
        // The picture has its size once the styles are there, and is asked for in that size.
        const styles = make("link", { rel: "stylesheet", href: "/style.css" });
        const loaded = new Promise((done) => { styles.onload = styles.onerror = done; });
        view.document.head.append(styles);
        await loaded;
        if (view.closed) return;
        mount(view, isMirrored);
    } else {
        if (popup && !popup.closed) return popup.close();
        popup = open("/small.html", "guise-small", `popup,width=${size.width},height=${size.height}`);
        if (!popup) throw new Error("The browser did not allow a new window; allow pop-up windows for this page.");
    }
    announce(t("The small view is open"));
}
