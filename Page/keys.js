// Keyboard shortcuts of the page, and the list of them.

import { $, make } from "./elements.js";
import { visible } from "./gallery.js";
import { hold } from "./stage.js";

const click = (id) => () => $(id).click();

/// Key, its label, its description, and its action.
const keys = [
    ["s", "S", "Take a picture", click("snapshot")],
    ["v", "V", "Start or stop recording", click("record")],
    ["b", "B", "Hold to compare: the picture without masks", () => hold(true)],
    ["ArrowRight", "→", "Next mask", click("next")],
    ["ArrowLeft", "←", "Previous mask", click("previous")],
    ["r", "R", "Random mask", click("random")],
    ["u", "U", "Surprise me: one for each person", click("surprise")],
    ["0", "0", "Take all masks off", click("clear")],
    ["1-9", "1 – 9", "One of the gallery's first nine masks, on or off", null],
    ["l", "L", "Tracking overlay", click("overlay")],
    ["m", "M", "Mirror", click("mirror")],
    ["z", "Z", "Zoom to the face", click("zoom")],
    ["f", "F", "Freeze", click("freeze")],
    ["p", "P", "Pause", click("pause")],
    ["w", "W", "Full screen", click("wide")],
    ["o", "O", "Put masks on a photo", click("photo-open")],
    ["Escape", "Esc", "Close the photo", () => { if (!$("photo-bar").hidden) $("photo-close").click(); }],
    ["c", "C", "Camera and settings", click("camera")],
    ["/", "/", "Search masks", () => { $("tab-masks").click(); $("search").focus(); $("search").select(); }],
    ["?", "?", "Show these keys", () => $("help").showModal()],
];
const actions = new Map(keys.map(([key, , , action]) => [key, action]));

const isOn = () => localStorage.keys !== "off";

/// Whether an element uses the key itself: for text input, or arrow keys.
function isTaken(target, key) {
    if (target.closest("input:not([type=checkbox], [type=radio], [type=range], [type=color]), textarea, select, [contenteditable]")) return true;
    return key.startsWith("Arrow") && Boolean(target.closest("input, [role=tablist], .masks, .grip, video, pre"));
}

addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") || isTaken(event.target, event.key)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!isOn() && key !== "?") return;
    if (event.repeat && key !== "b" && !key.startsWith("Arrow")) return;
    if (/^[1-9]$/.test(key) && !$("panel-masks").hidden) visible()[Number(key) - 1]?.click();
    else if (actions.get(key)) actions.get(key)();
    else return;
    event.preventDefault();
});
addEventListener("keyup", (event) => { if (event.key.toLowerCase() === "b") hold(false); });

$("help-keys").append(...keys.map(([, written, does]) => make("div", {}, make("dt", {}, make("kbd", {}, written)), make("dd", {}, does))));
$("help-open").onclick = () => $("help").showModal();
$("help-close").onclick = () => $("help").close();
$("help").onclick = (event) => { if (event.target === $("help")) $("help").close(); };
$("keys-on").checked = isOn();
$("keys-on").onchange = () => { localStorage.keys = $("keys-on").checked ? "on" : "off"; };
