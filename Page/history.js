// Undo and redo, for every change of masks and settings, whoever made it.

import { on } from "./connection.js";
import { $, announce, toast } from "./elements.js";
import * as library from "./library.js";

const labels = { undo: ["Undo", "Ctrl+Z"], redo: ["Redo", "Ctrl+Shift+Z"] };

/// Shows the changes that can be taken back and made again: {undo, redo}.
export function showHistory(names) {
    for (const [id, [verb, keys]] of Object.entries(labels)) {
        // Not `disabled`, which would remove the focus.
        $(id).ariaDisabled = String(!names[id]);
        $(id).title = `${names[id] ? `${verb}: ${names[id]}` : `Nothing to ${id}`} (${keys})`;
    }
}
on("history", showHistory);

for (const id of Object.keys(labels)) {
    $(id).onclick = async () => {
        if ($(id).ariaDisabled === "true") return;
        const answer = await library.change(id);
        if (!answer) return;
        announce(`${id === "undo" ? "Undone" : "Made again"}: ${answer.change}`);
        if (answer.notes.length) toast(answer.notes.join("; "));
    };
}

addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "z") return;
    // In a text, the browser takes back what was typed.
    if (document.querySelector("dialog[open]") || event.target.closest("input[type=text], input[type=search]")) return;
    event.preventDefault();
    $(event.shiftKey ? "redo" : "undo").click();
});
