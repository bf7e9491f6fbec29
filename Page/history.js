// Undo and redo, for every change of masks and settings, whoever made it.

import { on } from "./connection.js";
import { $, announce, relay } from "./elements.js";
import * as library from "./library.js";
import { t } from "./words.js";

/// What the buttons say, by what they would do; changes have the command line's words.
const labels = {
    undo: (change) => change ? t("Undo: {change} (Ctrl+Z)", { change }) : t("Nothing to undo (Ctrl+Z)"),
    redo: (change) => change ? t("Redo: {change} (Ctrl+Shift+Z)", { change }) : t("Nothing to redo (Ctrl+Shift+Z)"),
};

/// Shows the changes that can be taken back and made again: {undo, redo}.
export function showHistory(names) {
    for (const [id, label] of Object.entries(labels)) {
        // Not `disabled`, which would remove the focus.
        $(id).ariaDisabled = String(!names[id]);
        $(id).title = label(names[id]);
    }
}
on("history", showHistory);

for (const id of Object.keys(labels)) {
    $(id).onclick = async () => {
        if ($(id).ariaDisabled === "true") return;
        const answer = await library.change(id);
        if (!answer) return;
        // A mask that hides faces stays on, and a message says so: it was not undone.
        if (!answer.kept) announce(id === "undo" ? t("Undone: {change}", answer) : t("Made again: {change}", answer));
        if (answer.notes.length) relay(answer.notes.join("; "));
    };
}

addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "z") return;
    // In a text, the browser takes back what was typed; in a photo, its correction is taken back.
    if (event.defaultPrevented || document.querySelector("dialog[open]") || event.target.closest("input[type=text], input[type=search]")) return;
    event.preventDefault();
    $(event.shiftKey ? "redo" : "undo").click();
});
