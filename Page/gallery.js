// The gallery: thumbnails of all masks, by kind, with a search. A click puts a mask on in place of those of its kind,
// or takes it off; "+" or Shift adds it.

import { on } from "./connection.js";
import { $, announce, attempt, capitalize, icon, make, setPressed, toast, toastButton } from "./elements.js";
import { request } from "./session.js";
import * as library from "./library.js";
import { arrowStep, list, t } from "./words.js";

/// The kinds of masks, in the order of their tabs, with words that people may search for.
const kinds = new Map(Object.entries({
    hat: [t("Hats"), "hat cap head headwear"],
    glasses: [t("Glasses"), "glasses spectacles shades eyewear"],
    beard: [t("Beards"), "beard moustache mustache facial hair"],
    makeup: [t("Make-up"), "make-up makeup cosmetics"],
    face: [t("Faces"), "face paint mask"],
    animal: [t("Animals"), "animal pet"],
    costume: [t("Costumes"), "costume set outfit"],
    background: [t("Backgrounds"), "background room behind"],
    effect: [t("Effects"), "effect frame filter picture"],
    hiding: [t("Hide me"), "hide privacy anonymous censor"],
}));

/// Groups of English words that mean the same to somebody who searches.
const synonyms = [
    "moustache mustache", "christmas xmas santa noel", "colour color", "grey gray", "glasses spectacles shades", "hat cap",
    "animal pet", "kitty cat", "puppy dog", "bunny rabbit hare", "party birthday celebration", "spooky halloween",
    "viking norse", "king queen royal crown", "builder construction helmet hardhat", "graduation degree university school",
    "blur pixelate hide privacy anonymous", "make-up makeup", "sunglasses shades", "text name label", "snow winter",
    "wizard magician", "skull skeleton", "statue marble bust", "background room", "angel halo", "cook chef kitchen",
].map((group) => group.split(" "));

const tiles = new Map();
/// The kind that is shown, or "favourites", or "" for all.
let kind = "";

library.onChange(() => {
    // All that a tile shows of its mask's description.
    const shown = JSON.stringify([...library.all.values()].map(({ name, title, author, tags, kind }) => [name, title, author, tags, kind]));
    if ($("masks").dataset.shown !== shown) build(shown);
    show();
    if ($("kinds").dataset.starred !== String(library.favourites.length > 0)) buildKinds();
    if (kind === "favourites") find();
});

function build(shown) {
    seen.disconnect();
    tiles.clear();
    $("masks").dataset.shown = shown;
    $("masks").replaceChildren(...[...library.all.values()].map((mask) => {
        const picture = make("img", { className: "missing", alt: "", decoding: "async", width: 192, height: 192, draggable: false });
        const title = library.title(mask.name);
        const author = mask.author && mask.author !== "Guise" && t("by {author}", mask);
        const button = make(
            "button",
            {
                type: "button", className: "mask", tabIndex: -1, "data-mask": mask.name,
                title: [title, author, list(mask.tags.map((tag) => t(tag)))].filter(Boolean).join(" · ") + "\n" + t("Replaces masks of its kind; Shift+click adds it"),
                "aria-keyshortcuts": "plus *",
            },
            make("span", { className: "face" }, picture), make("span", { className: "name" }, title), make("span", { className: "tick" }, icon("check")));
        button.onclick = (event) => event.shiftKey && !library.isWorn(mask.name) ? library.add(mask.name) : library.toggle(mask.name);
        const plus = make("button", { type: "button", className: "plus", tabIndex: -1, "aria-label": t("Add {mask} to what you wear", { mask: title }), title: t("Add to what you wear (+)") }, icon("plus"));
        const star = make("button", { type: "button", className: "star", tabIndex: -1, "aria-pressed": "false", "aria-label": t("{mask} is a favourite", { mask: title }), title: t("Favourite (*)") }, icon("star"));
        plus.onclick = () => library.add(mask.name);
        star.onclick = () => library.star(mask.name);
        const tile = { mask, button, picture, star, isSeen: false, item: make("li", {}, button, plus, star), words: words(mask) };
        tiles.set(mask.name, tile);
        seen.observe(tile.item);
        return tile.item;
    }));
    buildKinds();
    find();
}

/// The words of a text in lower case and without accents, which many people leave out.
const plainWords = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").split(/\s+/).filter(Boolean);

/// The words that a mask is found by, in English and in the page's language.
function words(mask) {
    const own = [mask.name.replaceAll("-", " "), mask.name, mask.title, ...mask.tags, mask.author ?? "", ...kinds.get(mask.kind) ?? []];
    return [...new Set(own.flatMap((text) => plainWords(`${text} ${t(text)}`)))];
}

/// The number of letters to change, add, remove or swap to get from one word to another, or a large number if it is
/// more than 2.
function distance(one, other) {
    if (Math.abs(one.length - other.length) > 2) return 9;
    let [before, row] = [[], [...Array(other.length + 1).keys()]];
    for (let i = 1; i <= one.length; i += 1) {
        const next = [i];
        for (let k = 1; k <= other.length; k += 1) {
            next[k] = Math.min(row[k] + 1, next[k - 1] + 1, row[k - 1] + (one[i - 1] === other[k - 1] ? 0 : 1));
            const isSwapped = i > 1 && k > 1 && one[i - 1] === other[k - 2] && one[i - 2] === other[k - 1];
            if (isSwapped) next[k] = Math.min(next[k], before[k - 2] + 1);
        }
        [before, row] = [row, next];
    }
    return row[other.length];
}

/// Whether a mask has a word that begins with, contains or means the wanted one.
function matches(tile, wanted) {
    const meant = [wanted, ...synonyms.filter((group) => wanted.length > 2 && group.some((word) => word.startsWith(wanted))).flat()];
    return tile.words.some((word) => word.includes(wanted) || meant.includes(word));
}

/// Whether a mask has a word that the wanted one may be a typing error of.
function nearly(tile, wanted) {
    if (wanted.length < 4) return false;
    const most = wanted.length > 6 ? 2 : 1;
    return tile.words.some((word) => Math.min(distance(wanted, word), distance(wanted, word.slice(0, wanted.length))) <= most);
}

/// Marks the active masks, and requests thumbnails again if they failed or show another face.
function show() {
    for (const [name, tile] of tiles) {
        setPressed(tile.button, library.isWorn(name));
        setPressed(tile.star, library.isFavourite(name));
        // What is worn is shown in its chosen colours.
        const worn = library.worn.find((mask) => mask.name === name);
        if (tile.isSeen) library.showThumbnail(tile.picture, worn ? { name, choices: worn.choices } : name);
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

// MARK: search and kinds

function buildKinds() {
    const hadFocus = $("kinds").contains(document.activeElement);
    const isThere = (name) => [...library.all.values()].some((mask) => mask.kind === name);
    const names = [...kinds].filter(([name]) => isThere(name)).map(([name, [label]]) => [name, label]);
    if ([...library.all.values()].some((mask) => !kinds.has(mask.kind))) names.push(["other", t("Others")]);
    const starred = library.favourites.length > 0;
    $("kinds").dataset.starred = String(starred);
    const all = [["", t("All")], ...(starred ? [["favourites", t("Favourites")]] : []), ...names];
    if (!all.some(([name]) => name === kind)) kind = "";
    $("kinds").replaceChildren(...all.map(([name, label]) => {
        const button = make("button", { type: "button", "aria-pressed": String(name === kind), "data-kind": name }, label);
        button.onclick = () => {
            showKind(kind === name ? "" : name);
            find();
        };
        return button;
    }));
    if (hadFocus) $("kinds").querySelector("[aria-pressed=true]")?.focus({ preventScroll: true });
}

function showKind(name) {
    kind = name;
    for (const button of $("kinds").children) setPressed(button, button.dataset.kind === kind);
}

const isOfKind = (tile) => kind === "" || (kind === "favourites" ? library.isFavourite(tile.mask.name)
    : kind === "other" ? !kinds.has(tile.mask.kind) : tile.mask.kind === kind);

/// Shows the masks of the kind that match all words of the search, or nearly match them if none does.
function find() {
    const wanted = plainWords($("search").value);
    const focused = document.activeElement?.closest("#masks li");
    const place = visible().indexOf(focused?.firstChild);
    const shown = [...tiles.values()].filter(isOfKind);
    let found = shown.filter((tile) => wanted.every((word) => matches(tile, word)));
    if (!found.length) found = shown.filter((tile) => wanted.every((word) => matches(tile, word) || nearly(tile, word)));
    for (const tile of tiles.values()) tile.item.hidden = !found.includes(tile);
    $("gallery-empty").hidden = found.length > 0 || tiles.size === 0;
    if (wanted.length || kind) $("gallery-says").textContent = t("{found} of {count} mask|{found} of {count} masks", { found: found.length, count: tiles.size });
    makeReachable();
    // A favourite that is none any more hides itself.
    if (!focused?.hidden) return;
    const next = visible().at(Math.min(place, visible().length - 1)) ?? $("search");
    next.focus({ preventScroll: true });
}

$("search").oninput = () => {
    // In all kinds: who searches does not know where the mask is.
    if ($("search").value.trim()) showKind("");
    find();
    // What was found may be far above or below.
    if ($("search").value) document.querySelector(".find").scrollIntoView({ block: "start" });
};
$("search").onkeydown = (event) => {
    // The keys of an input method, which composes words, are its own.
    if (event.isComposing) return;
    if (event.key === "Escape" && $("search").value) { $("search").value = ""; find(); event.stopPropagation(); }
    if (event.key === "Enter" || event.key === "ArrowDown") {
        visible()[0]?.focus();
        event.preventDefault();
    }
};
$("search-clear").onclick = () => {
    $("search").value = "";
    kind = "";
    buildKinds();
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
    const act = { "+": library.add, "*": library.star }[event.key];
    if (act) {
        event.preventDefault();
        event.stopPropagation();
        return act(buttons[at].dataset.mask);
    }
    const columns = buttons.filter((button) => button.offsetTop === buttons[0].offsetTop).length;
    const steps = { ArrowLeft: arrowStep("ArrowLeft"), ArrowRight: arrowStep("ArrowRight"), ArrowUp: -columns, ArrowDown: columns };
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
    announce(isOwn ? t("Thumbnails show your face") : t("Thumbnails show the sample"));
}

$("mine").onchange = $("mine-again").onclick = showFace;
// The stored face ended with the previous daemon.
on("connection", ({ state }) => { if (state === "open" && $("mine").checked) showFace(); });

// MARK: next, previous, random

for (const name of ["previous", "next", "random", "surprise"]) {
    $(name).onclick = async () => {
        const before = library.worn;
        // Only masks that are fit for work, unless the user wants all.
        const keys = localStorage.random === "all" && (name === "random" || name === "surprise") ? { all: true } : {};
        const answer = await library.change(name, keys);
        if (answer?.masks) announce(list(answer.masks.map((mask) => library.title(mask.name))));
        if (answer && !answer.kept && isArranged(before)) toast(t("Your previous masks are off."), { actions: [undo()] });
    };
}

/// Whether masks are worth a word when they are gone: several, or one with changed settings.
const isArranged = (masks) => masks.length > 1 || masks.some(({ opacity, choices }) => opacity !== 1 || Object.keys(choices ?? {}).length > 0);

const undo = () => toastButton(t("Undo"), () => $("undo").click());

$("clear").onclick = async () => {
    const count = library.worn.length;
    const hadFocus = $("clear") === document.activeElement;
    const answer = await library.change("clear");
    if (!answer || answer.masks.length === count) return;
    toast(answer.kept ? t("All other masks are off.") : t("All masks are off."), { actions: [undo()] });
    // The button disappears together with the masks, so the focus moves to the gallery.
    if (hadFocus) visible().find((one) => one.tabIndex === 0)?.focus({ preventScroll: true });
};
