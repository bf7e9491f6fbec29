// Keyboard shortcuts of the page, and the list of them.

import { $, make } from "./elements.js";
import { areKeysLocked, areKeysOn } from "./key-lock.js";
import { shelf, use } from "./shelf.js";
import { compare, panic } from "./stage.js";
import { t } from "./words.js";

const click = (id) => () => $(id).click();

/// Key, its label, its description, and its action.
const keys = [
    [".", t(". or Ctrl+."), t("Panic: others see a placeholder at once"), panic],
    ["s", "S", t("Take a picture"), click("snapshot")],
    ["v", "V", t("Start or stop recording"), click("record")],
    ["b", "B", t("Hold to compare: the picture without masks"), () => compare(true)],
    ["n", "N", t("Next mask"), click("next")],
    ["N", t("Shift+N"), t("Previous mask"), click("previous")],
    ["r", "R", t("Random mask"), click("random")],
    ["u", "U", t("Surprise me: one for each person"), click("surprise")],
    ["0", "0", t("Take all masks off"), click("clear")],
    ["1-9", "1 – 9", t("Your looks and favourites, in their order"), null],
    ["z", t("Ctrl+Z"), t("Undo; with Shift: redo"), null],
    ["l", "L", t("Tracking overlay"), click("overlay")],
    ["m", "M", t("Mirror my preview"), click("mirror")],
    ["z", "Z", t("Zoom to the face"), click("zoom")],
    ["f", "F", t("Freeze"), click("freeze")],
    ["p", "P", t("Pause"), click("pause")],
    ["w", "W", t("Full screen"), click("wide")],
    ["o", "O", t("Put masks on a photo"), click("photo-open")],
    ["Escape", t("Esc"), t("Close the photo"), () => { if (!$("photo-bar").hidden) $("photo-close").click(); }],
    ["c", "C", t("Camera and settings"), click("camera")],
    ["/", "/", t("Search masks"), () => { $("tab-masks").click(); $("search").focus(); $("search").select(); }],
    ["?", "?", t("Show these keys"), () => $("help").showModal()],
];
const actions = new Map(keys.filter(([, , , action]) => action).map(([key, , , action]) => [key, action]));

/// Keys that change nothing that others see, or hide it.
const harmless = new Set([".", "/", "?", "b", "l", "m", "w", "c", "Escape"]);

/// Whether an element uses keys itself, for text.
const isTaken = (target) => Boolean(target.closest("input:not([type=checkbox], [type=radio], [type=range], [type=color]), textarea, select, [contenteditable]"));

addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (isTaken(event.target)) return;
    const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    // Not the letter's case, which Caps Lock changes too.
    const key = letter === "n" && event.shiftKey ? "N" : letter;
    // Panic always works.
    if (key !== "." && document.querySelector("dialog[open]")) return;
    if (!areKeysOn() && key !== "?" && key !== ".") return;
    if (areKeysLocked() && !harmless.has(key)) return;
    if (event.repeat && key !== "b") return;
    if (/^[1-9]$/.test(key)) {
        const entry = shelf()[Number(key) - 1];
        if (!entry) return;
        use(entry);
    } else if (actions.get(key)) actions.get(key)();
    else return;
    event.preventDefault();
});
// In text fields too.
addEventListener("keydown", (event) => {
    if (!event.ctrlKey || event.key !== "." || event.repeat) return;
    event.preventDefault();
    panic();
}, { capture: true });
addEventListener("keyup", (event) => { if (event.key.toLowerCase() === "b") compare(false); });

$("help-keys").append(...keys.map(([, written, does]) => make("div", {}, make("dt", {}, make("kbd", {}, written)), make("dd", {}, does))));
$("help-open").onclick = () => $("help").showModal();
$("help-close").onclick = () => $("help").close();
$("help").onclick = (event) => { if (event.target === $("help")) $("help").close(); };
$("keys-on").checked = areKeysOn();
$("keys-on").onchange = () => { localStorage.keys = $("keys-on").checked ? "on" : "off"; };
$("keys-lock").checked = localStorage.keysInCall === "locked";
$("keys-lock").onchange = () => { localStorage.keysInCall = $("keys-lock").checked ? "locked" : "free"; };
