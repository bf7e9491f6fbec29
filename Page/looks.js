// The shelf of looks and favourites above the gallery, and how looks are saved.

import { $, icon, make, setPressed, toast } from "./elements.js";
import * as library from "./library.js";
import { isOn, shelf, use } from "./shelf.js";
import { t } from "./words.js";

const items = new Map();

library.onChange(() => {
    const entries = shelf();
    const shown = JSON.stringify(entries.map(({ kind, name, title }) => [kind, name, title]));
    if ($("shelf-list").dataset.shown !== shown) {
        $("shelf-list").dataset.shown = shown;
        const buttons = () => [...$("shelf-list").querySelectorAll("button")];
        const focused = buttons().indexOf(document.activeElement);
        items.clear();
        $("shelf-list").replaceChildren(...entries.map((entry, at) => makeItem(entry, at)));
        // The focus stays at its place, where the next entry is after one was removed.
        const place = Math.min(focused, buttons().length - 2 + focused % 2);
        if (focused >= 0) (buttons()[place] ?? $("search")).focus({ preventScroll: true });
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
    const words = entry.kind === "look" ? t("Delete the look {name}", { name: entry.title }) : t("Remove {mask} from the favourites", { mask: entry.title });
    const remove = make("button", { type: "button", className: "remove", "aria-label": words, title: words }, icon("close"));
    const item = { entry, button, picture };
    button.onclick = () => use(item.entry);
    remove.onclick = () => removeEntry(item.entry);
    items.set(`${entry.kind} ${entry.name}`, item);
    return make("li", {}, button, remove);
}

/// The name of the look that the user is asked about.
let doomed = null;

function removeEntry(entry) {
    if (entry.kind === "mask") return library.star(entry.name);
    doomed = entry.name;
    $("look-delete-title").textContent = t("Delete the look {name}?", entry);
    $("look-delete").returnValue = "";
    $("look-delete").showModal();
}
$("look-delete-cancel").onclick = () => $("look-delete").close("");
$("look-delete").onclose = async () => {
    const entry = { name: doomed };
    if ($("look-delete").returnValue !== "delete") return;
    if (!await library.changeLooks("look", { name: entry.name, action: "delete" })) return;
    toast(t("The look {name} was deleted. What you wear stays on.", entry));
};

// MARK: saving a look

$("look-save").onclick = () => {
    const [first, second, ...others] = library.worn.map(({ name }) => library.title(name));
    $("look-name").value = others.length ? t("{first} and more", { first }) : second ? t("{first} and {second}", { first, second }) : first;
    // Escape closes a dialog without a value of its own.
    $("look-dialog").returnValue = "";
    $("look-dialog").showModal();
    $("look-name").select();
};
$("look-dialog").onclose = async () => {
    const name = $("look-name").value.trim();
    if ($("look-dialog").returnValue !== "save" || !name) return;
    const isKnown = library.looks.some((look) => look.name === name);
    if (!await library.changeLooks("look", { name, action: "save" })) return;
    const key = library.looks.findIndex((look) => look.name === name) + 1;
    const values = { name, key };
    if (key <= 9) toast(isKnown ? t("Replaced the look {name}: key {key}.", values) : t("Saved the look {name}: key {key}.", values));
    else toast(isKnown ? t("Replaced the look {name}.", values) : t("Saved the look {name}.", values));
};
$("look-cancel").onclick = () => $("look-dialog").close("");
