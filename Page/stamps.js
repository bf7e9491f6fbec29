// Stamps, frames round faces, and texts: a list in the mask's row, from which they are added, removed and placed.

import { ask } from "./connection.js";
import { announce, capitalize, debounce, icon, latestOnly, make, setPressed, settled } from "./elements.js";
import * as library from "./library.js";
import { makeHandles } from "./stamp-handles.js";
import { t } from "./words.js";

/// The most stamps, as Guise allows.
const most = 32;

const nameOf = (stamp) => stamp.text ?? capitalize(t(stamp.art));
const parse = (value) => { try { return JSON.parse(value) ?? []; } catch { return []; } };

/// Makes the choice of what a stamp keeps its place on.
const makePinField = (label) => make("select", { "aria-label": label },
    make("option", { value: "picture" }, t("The picture")), make("option", { value: "face" }, t("Each face")));

/// Makes the field of a mask's stamps.
export function makeStampsField(mask, key, { allowed }) {
    let stamps = [];
    /// Whether the mask was put on by hand just now: then its stamps are placed next.
    let isNew = library.isNew(mask);
    /// The number of the change that is being made. Quick changes with different numbers are undone one by one.
    let step = Math.floor(Math.random() * 1e9);
    const begin = () => { step += 1; };
    const send = latestOnly((value, step) => ask("set", { mask, key, value: JSON.stringify(value), step }));
    const sendLater = debounce(250, () => send(stamps, step));

    const rows = make("ul", { className: "stamp-rows" });
    const isUsed = () => rows.isConnected;
    const handles = makeHandles({ stamps: () => stamps, nameOf, isUsed, begin, replace, remove });
    const move = make("button", { type: "button", "aria-pressed": "false" }, icon("move"), t("Place by hand"));
    const target = makePinField(t("Add to"));

    function change(next, { now = true } = {}) {
        stamps = next;
        items.touch();
        show();
        if (now) send(stamps, step); else sendLater();
    }
    /// Makes a change that is undone alone.
    function changeAtOnce(next) {
        begin();
        change(next);
        begin();
    }
    function replace(at, stamp, options) { change(stamps.map((other, index) => index === at ? stamp : other), options); }
    function remove(at) {
        announce(t("{stamp} removed", { stamp: nameOf(stamps[at]) }));
        changeAtOnce(stamps.filter((_, index) => index !== at));
        (rows.children[at] ?? rows.lastElementChild)?.querySelector("button")?.focus({ preventScroll: true });
    }

    // MARK: the list

    function add(content) {
        // Those of one place would hide each other.
        const shift = stamps.length % 5 * 0.06;
        const place = target.value === "face"
            ? { on: "face", at: content.text ? [0, -2.6] : [0, 0.3], size: content.text ? 4 : 6 }
            : { at: [0.4 + shift, 0.4 + shift], size: content.text ? 0.5 : 0.3 };
        changeAtOnce([...stamps, { ...content, ...place }]);
        setHandles(true);
        announce(t("{stamp} added", { stamp: nameOf(content) }));
    }
    const menu = make("div", { className: "stamp-menu" },
        ...allowed.map((art) => {
            const button = make("button", { type: "button" }, capitalize(t(art)));
            button.onclick = () => add({ art });
            return button;
        }));
    const text = make("button", { type: "button" }, t("A text"));
    text.onclick = () => add({ text: t("Hello"), color: "#ffffff" });
    menu.prepend(text);

    function makeStampRow(at) {
        const stamp = () => stamps[at];
        const isText = "text" in stamp();
        const words = make("input", { type: "text", maxLength: 200, value: stamp().text ?? "", "aria-label": t("Text") });
        words.oninput = () => { if (words.value.trim()) replace(at, { ...stamp(), text: words.value }, { now: false }); };
        const color = make("input", { type: "color", value: stamp().color ?? "#ffffff", "aria-label": t("Colour") });
        color.oninput = () => replace(at, { ...stamp(), color: color.value }, { now: false });
        const on = makePinField(t("Where {stamp} is", { stamp: nameOf(stamp()) }));
        on.onchange = () => {
            begin();
            replace(at, handles.pinnedTo(stamp(), on.value));
            begin();
        };
        const off = make("button", { type: "button", className: "quiet", "aria-label": t("Remove {stamp}", { stamp: nameOf(stamp()) }), title: t("Remove") }, icon("close"));
        off.onclick = () => remove(at);
        const label = isText ? [words, color] : [make("span", { className: "name" }, nameOf(stamp()))];
        return make("li", {}, ...label, on, off);
    }
    /// What a row depends on, besides the text that is typed in it.
    const rowKey = (stamp) => stamp.art ?? "text";

    function show() {
        const keys = stamps.map(rowKey).join();
        if (rows.dataset.keys !== keys) {
            rows.dataset.keys = keys;
            rows.replaceChildren(...stamps.map((_, at) => makeStampRow(at)));
            handles.rebuild();
        }
        for (const [at, row] of [...rows.children].entries()) {
            row.querySelector("select").value = stamps[at].on ?? "picture";
            const input = row.querySelector("input[type=text]");
            if (input && document.activeElement !== input) input.value = stamps[at].text;
        }
        for (const button of menu.children) button.disabled = stamps.length >= most;
        move.hidden = stamps.length === 0;
        handles.arrange();
    }

    function setHandles(isOn) {
        setPressed(move, isOn);
        handles.setShown(isOn);
    }
    move.onclick = () => setHandles(move.getAttribute("aria-pressed") !== "true");

    const items = settled((text) => {
        stamps = parse(text);
        show();
        if (isNew) setHandles(true);
        isNew = false;
    }, () => handles.isDragging);

    return {
        element: make("div", { className: "stamps" },
            make("div", { className: "choice" }, make("label", {}, make("span", {}, t("Add to")), target), move), menu, rows),
        update: items.show,
    };
}
