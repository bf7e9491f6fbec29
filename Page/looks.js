// The shelf of looks and favourites above the gallery, and how looks are saved.

import { $, icon, make, setPressed, toast } from "./elements.js";
import * as library from "./library.js";
import { isOn, shelf, use } from "./shelf.js";

const items = new Map();

library.onChange(() => {
    const entries = shelf();
    const shown = entries.map(({ kind, name }) => `${kind} ${name}`).join("\n");
    if ($("shelf-list").dataset.shown !== shown) {
        $("shelf-list").dataset.shown = shown;
        items.clear();
        $("shelf-list").replaceChildren(...entries.map((entry, at) => makeItem(entry, at)));
    }
    for (const entry of entries) {
        const item = items.get(`${entry.kind} ${entry.name}`);
        item.entry = entry;
        setPressed(item.button, isOn(entry));
        library.showThumbnail(item.picture, entry.masks);
    }
    $("shelf").hidden = entries.length === 0;
});

function makeItem(entry, at) {
    const picture = make("img", { className: "missing", alt: "", width: 64, height: 64, draggable: false });
    const key = at < 9 ? make("kbd", { "aria-hidden": "true" }, String(at + 1)) : null;
    const button = make(
        "button", { type: "button", className: "shelved", title: `${entry.title}${at < 9 ? ` (${at + 1})` : ""}` },
        make("span", { className: "face" }, picture), make("span", { className: "name" }, entry.title), key);
    if (at < 9) button.setAttribute("aria-keyshortcuts", String(at + 1));
    const words = entry.kind === "look" ? `Delete the look ${entry.title}` : `${entry.title} is no favourite any more`;
    const remove = make("button", { type: "button", className: "remove", "aria-label": words, title: words }, icon("close"));
    const item = { entry, button, picture };
    button.onclick = () => use(item.entry);
    remove.onclick = () => removeEntry(item.entry);
    items.set(`${entry.kind} ${entry.name}`, item);
    return make("li", {}, button, remove);
}

async function removeEntry(entry) {
    if (entry.kind === "mask") return library.star(entry.name);
    if (!await library.changeLooks("look", { name: entry.name, action: "delete" })) return;
    toast(`The look ${entry.title} was deleted. What you wear stays on.`);
    $("look-save").focus({ preventScroll: true });
}

// MARK: saving a look

$("look-save").onclick = () => {
    const names = library.worn.map(({ name }) => library.title(name));
    $("look-name").value = names.length > 2 ? `${names[0]} and more` : names.join(" and ");
    $("look-dialog").showModal();
    $("look-name").select();
};
$("look-dialog").onclose = async () => {
    const name = $("look-name").value.trim();
    if ($("look-dialog").returnValue !== "save" || !name) return;
    const isKnown = library.looks.some((look) => look.name === name);
    if (!await library.changeLooks("look", { name, action: "save" })) return;
    const key = library.looks.findIndex((look) => look.name === name) + 1;
    toast(`${isKnown ? "Replaced" : "Saved"} the look ${name}${key <= 9 ? `: key ${key}` : ""}.`);
};
$("look-cancel").onclick = () => $("look-dialog").close("");
