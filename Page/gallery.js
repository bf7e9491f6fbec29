// The gallery: thumbnails of all masks, with a search and tags. A click puts a mask on or takes it off.

import { on } from "./connection.js";
import { $, announce, attempt, capital, icon, make, press, toast, toastButton } from "./elements.js";
import { request } from "./session.js";
import * as library from "./library.js";

/// The number of tags shown at first; "More" shows the others.
const tagsAtFirst = 9;

const tiles = new Map();
let tag = "";
let showsAllTags = false;

library.onChange(() => {
    const names = [...library.all.keys()].join();
    if ($("masks").dataset.names !== names) build(names);
    show();
});

function build(names) {
    seen.disconnect();
    tiles.clear();
    $("masks").dataset.names = names;
    $("masks").replaceChildren(...[...library.all.values()].map((mask) => {
        const picture = make("img", { className: "missing", alt: "", decoding: "async", width: 192, height: 192, draggable: false });
        const button = make(
            "button",
            {
                type: "button", className: "mask", tabIndex: -1, "data-mask": mask.name,
                title: [mask.title, mask.author && `by ${mask.author}`, mask.tags.join(", ")].filter(Boolean).join(" · ")
                    + "\nShift+click: wear only this one",
            },
            make("span", { className: "face" }, picture), make("span", { className: "name" }, mask.title || mask.name), make("span", { className: "tick" }, icon("check")));
        button.onclick = (event) => event.shiftKey ? library.only(mask.name) : library.toggle(mask.name);
        const tile = { mask, button, picture, isSeen: false, item: make("li", {}, button), words: words(mask) };
        tiles.set(mask.name, tile);
        seen.observe(tile.item);
        return tile.item;
    }));
    buildTags();
    find();
}

const words = (mask) => `${mask.name} ${mask.title} ${mask.tags.join(" ")} ${mask.author ?? ""}`.toLowerCase();

/// Marks the active masks, and requests thumbnails again if they failed or show another face.
function show() {
    for (const [name, tile] of tiles) {
        press(tile.button, library.isWorn(name));
        if (tile.isSeen) library.showThumbnail(tile.picture, name);
    }
}

// MARK: thumbnails

/// Requests a thumbnail when it first comes into view.
const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        const tile = tiles.get(target.firstChild.dataset.mask);
        seen.unobserve(target);
        tile.isSeen = true;
        library.showThumbnail(tile.picture, tile.mask.name);
    }
}, { rootMargin: "200px" });

// MARK: search and tags

function buildTags() {
    const counts = new Map();
    for (const mask of library.all.values()) for (const name of mask.tags) counts.set(name, (counts.get(name) ?? 0) + 1);
    const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a.localeCompare(b));
    const shown = showsAllTags ? names : names.slice(0, tagsAtFirst);
    if (tag && !shown.includes(tag)) shown.push(tag);
    const chip = (name, label) => {
        const button = make("button", { type: "button", "aria-pressed": String(name === tag), "data-tag": name }, capital(label));
        button.onclick = () => {
            tag = tag === name ? "" : name;
            buildTags();
            find();
            [...$("tags").children].find((other) => other.dataset.tag === name)?.focus();
        };
        return button;
    };
    const more = make("button", { type: "button", className: "more", "aria-expanded": String(showsAllTags) }, showsAllTags ? "Fewer" : "More …");
    more.onclick = () => {
        showsAllTags = !showsAllTags;
        buildTags();
        $("tags").lastChild.focus();
    };
    $("tags").classList.toggle("all", showsAllTags);
    $("tags").replaceChildren(chip("", "All"), ...shown.map((name) => chip(name, name)));
    if (names.length > tagsAtFirst) $("tags").append(more);
}

/// Shows the masks that match all words of the search and the tag.
function find() {
    const wanted = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const tile of tiles.values()) {
        const fits = wanted.every((word) => tile.words.includes(word)) && (!tag || tile.mask.tags.includes(tag));
        tile.item.hidden = !fits;
        if (fits) count += 1;
    }
    $("gallery-empty").hidden = count > 0 || tiles.size === 0;
    if (wanted.length || tag) $("gallery-says").textContent = `${count} of ${tiles.size} masks`;
    makeReachable();
}

$("search").oninput = find;
$("search").onkeydown = (event) => {
    if (event.key === "Escape" && $("search").value) { $("search").value = ""; find(); event.stopPropagation(); }
    if (event.key === "Enter" || event.key === "ArrowDown") {
        visible()[0]?.focus();
        event.preventDefault();
    }
};
$("search-clear").onclick = () => {
    $("search").value = "";
    tag = "";
    buildTags();
    find();
    $("search").focus();
};

// MARK: the keyboard

/// The buttons of the masks that match the search, in the order shown.
export const visible = () => [...tiles.values()].filter((tile) => !tile.item.hidden).map((tile) => tile.button);

/// Makes one mask reachable with Tab. Arrow keys lead from it to the others.
function makeReachable(wanted) {
    const buttons = visible();
    const one = wanted ?? buttons.find((button) => button.tabIndex === 0) ?? buttons[0];
    for (const tile of tiles.values()) tile.button.tabIndex = tile.button === one ? 0 : -1;
}

$("masks").addEventListener("focusin", (event) => { if (event.target.dataset.mask) makeReachable(event.target); });
$("masks").addEventListener("keydown", (event) => {
    const buttons = visible();
    const at = buttons.indexOf(document.activeElement);
    if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const columns = buttons.filter((button) => button.offsetTop === buttons[0].offsetTop).length;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
    const ends = { Home: 0, End: buttons.length - 1 };
    const to = event.key in ends ? ends[event.key] : event.key in steps ? at + steps[event.key] : null;
    if (to == null) return;
    event.preventDefault();
    event.stopPropagation();
    if (buttons[to]) buttons[to].focus();
    else if (to < 0 && event.key === "ArrowUp") $("search").focus();
});

// MARK: the user's own face

async function takeFace() {
    await request("/face", { method: "POST" });
    library.face.version = Date.now();
}

/// Stores the face again if the switch is on. If there is no face, the switch goes off.
async function showFace() {
    if ($("mine").checked && await attempt(takeFace().then(() => true)) !== true) $("mine").checked = false;
    const isOwn = $("mine").checked;
    library.face.own = isOwn;
    $("mine-again").hidden = !isOwn;
    library.redraw();
    announce(isOwn ? "Thumbnails show your face" : "Thumbnails show the sample");
}

$("mine").onchange = $("mine-again").onclick = showFace;
// The stored face ended with the previous daemon.
on("connection", ({ state }) => { if (state === "open" && $("mine").checked) showFace(); });

// MARK: next, previous, random

for (const name of ["previous", "next", "random", "surprise"]) {
    $(name).onclick = async () => {
        const before = library.worn;
        const answer = await library.change(name);
        if (answer?.masks) announce(answer.masks.map((mask) => library.title(mask.name)).join(", "));
        if (answer && !answer.kept && isArranged(before)) toast("Your previous masks are off.", { actions: [undo(before)] });
    };
}

/// Whether a surprise is active. It cannot be restored: by their names, everybody would wear all of its masks.
const isSurprise = (masks) => masks.some((mask) => mask.person);
/// Whether masks are worth restoring: several, or one with changed settings. A single mask with its defaults is easily
/// found again.
const isArranged = (masks) => !isSurprise(masks)
    && (masks.length > 1 || masks.some(({ opacity, choices }) => opacity !== 1 || Object.keys(choices ?? {}).length > 0));

const undo = (before) => toastButton("Undo", () => library.wearAgain(before));

$("clear").onclick = async () => {
    const before = library.worn;
    const answer = await library.change("clear");
    if (!answer || answer.masks.length === before.length) return;
    toast(answer.kept ? "All other masks are off." : "All masks are off.", { actions: isSurprise(before) ? [] : [undo(before)] });
    // The button disappears together with the masks, so the focus moves to the gallery.
    if ($("clear") === document.activeElement || document.activeElement === document.body) visible().find((one) => one.tabIndex === 0)?.focus({ preventScroll: true });
};
