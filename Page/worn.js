// The active masks, as a list that can be reordered, with the settings of each mask.

import { ask } from "./connection.js";
import { $, announce, capitalize, debounce, icon, latestOnly, make, settled } from "./elements.js";
import { useAsBackground } from "./background.js";
import * as library from "./library.js";
import { makeStampsField } from "./stamps.js";
import { makeThingsField } from "./things.js";
import { list, percent, t } from "./words.js";

/// The rows by the masks' names. The topmost mask is the first row, as in a drawing program.
const rows = new Map();
const names = () => [...$("worn").children].map((item) => item.dataset.mask);

library.onChange(() => {
    const wanted = library.worn.map((mask) => mask.name).reverse();
    // Other rows than those that make room for the dragged one, or even without it.
    if (drag && names().join() !== wanted.join()) return drag.cancel();
    for (const [name, row] of rows) {
        if (wanted.includes(name)) continue;
        const hadFocus = row.item.contains(document.activeElement);
        row.item.remove();
        rows.delete(name);
        if (hadFocus) ($("worn").querySelector(".grip") ?? document.querySelector(".mask[tabindex='0']"))?.focus({ preventScroll: true });
    }
    for (const mask of library.worn) if (!rows.has(mask.name)) rows.set(mask.name, makeRow(mask.name));
    if (names().join() !== wanted.join()) arrange(wanted);
    for (const mask of library.worn) rows.get(mask.name).update(mask);
    $("worn-empty").hidden = wanted.length > 0;
    $("clear").hidden = $("look-save").hidden = wanted.length === 0;
});

/// Sorts the rows. Moving an element removes its focus, so the focus is restored.
function arrange(wanted) {
    const focused = document.activeElement;
    $("worn").append(...wanted.map((name) => rows.get(name).item));
    if ($("worn").contains(focused)) focused.focus({ preventScroll: true });
}

function makeRow(name) {
    const grip = make("button", { type: "button", className: "grip" }, icon("grip"));
    const picture = make("img", { className: "missing", alt: "", width: 44, height: 44, draggable: false });
    const label = make("span", { className: "name" });
    const number = make("output", {});
    const slider = make("input", { type: "range", min: 0, max: 100, step: 1 });
    const more = make("button", { type: "button", className: "quiet", "aria-expanded": "false" }, icon("tune"));
    const off = make("button", { type: "button", className: "quiet" }, icon("close"));
    const choices = make("div", { className: "mask-choices", hidden: true });
    const item = make(
        "li", { "data-mask": name },
        make("div", { className: "worn-row" },
            grip, make("span", { className: "face" }, picture),
            make("div", { className: "worn-middle" }, label, make("span", { className: "slide" }, slider, number)),
            more, off),
        choices);
    const fields = new Map();

    const send = latestOnly((value) => ask("set", { mask: name, key: "opacity", value }));
    const fill = (value) => {
        slider.style.setProperty("--filled", `${value}%`);
        number.textContent = percent(value / 100);
    };
    const opacity = settled((share) => {
        slider.value = Math.round(share * 100);
        fill(slider.valueAsNumber);
    });
    slider.oninput = () => {
        opacity.touch();
        fill(slider.valueAsNumber);
        send(slider.valueAsNumber / 100);
    };
    more.onclick = () => {
        choices.hidden = !choices.hidden;
        more.setAttribute("aria-expanded", String(!choices.hidden));
    };
    off.onclick = () => library.change("remove", { mask: name });
    grip.onkeydown = (event) => {
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        move(name, names().indexOf(name) + step);
    };
    grip.onpointerdown = (event) => beginDrag(event, item, grip);

    return {
        item,
        update(mask) {
            const title = library.title(name);
            // A surprise assigns masks to persons, by the numbers that the tracking overlay shows.
            label.textContent = mask.person ? t("{mask}, person {person}", { mask: title, person: mask.person }) : title;
            // In its colours, but not in its opacity, which a slider changes often.
            library.showThumbnail(picture, { name, choices: mask.choices });
            grip.setAttribute("aria-label", t("Move {mask}", { mask: title }));
            grip.title = t("Drag, or press ↑ ↓");
            slider.setAttribute("aria-label", t("Opacity of {mask}", { mask: title }));
            off.setAttribute("aria-label", t("Take off {mask}", { mask: title }));
            off.title = t("Take off");
            more.setAttribute("aria-label", t("Options of {mask}", { mask: title }));
            more.title = t("Colours, texts and pictures");
            opacity.show(mask.opacity);
            const known = library.all.get(name)?.choices ?? {};
            const hasThings = library.all.get(name)?.things === true;
            more.hidden = Object.keys(known).length === 0 && !hasThings;
            if (hasThings && !choices.querySelector(".things")) {
                choices.append(makeThingsField());
                choices.hidden = false;
                more.setAttribute("aria-expanded", "true");
            }
            for (const [key, choice] of Object.entries(known)) {
                if (!fields.has(key)) {
                    const field = makeField(name, key, choice);
                    fields.set(key, field);
                    choices.append(field.element);
                    // The choices are shown at once, because few masks have any.
                    choices.hidden = false;
                    more.setAttribute("aria-expanded", "true");
                }
                fields.get(key).update(mask.choices[key] ?? choice.default ?? "", choice);
            }
        },
    };
}

// MARK: what was replaced

/// The masks that the last change took off for others of their kind.
let replaced = [];

library.onAnswer((answer) => {
    replaced = answer.replaced ?? [];
    $("worn-replaced").hidden = replaced.length === 0;
    $("worn-replaced").firstElementChild.textContent = t("In place of {masks}", { masks: list(replaced.map(library.title)) });
});
$("worn-both").onclick = () => library.change("add", { masks: replaced });

// MARK: the choices of a mask

/// The name of a choice or of one of its values; a name that a mask gave is in the catalogue if the mask is ours. Names
/// of choices are capitalized there, because "Frame" is of glasses and the tag "frame" of pictures.
const valueName = (value) => capitalize(t(value));

function makeField(mask, key, choice) {
    const name = t(capitalize(key));
    const send = latestOnly((value) => ask("set", { mask, key, value }));
    if (choice.kind === "palette") {
        const buttons = choice.allowed.map((value) => {
            const input = make("input", { type: "radio", name: `${mask} ${key}`, value });
            input.onchange = () => send(value);
            return make("label", {}, input, make("span", {}, valueName(value)));
        });
        return {
            element: make("div", { className: "choice" }, make("span", {}, name), make("div", { className: "pills", role: "radiogroup", "aria-label": name }, ...buttons)),
            update(value) { for (const label of buttons) label.firstChild.checked = label.firstChild.value === value; },
        };
    }
    if (choice.kind === "stamps") return makeStampsField(mask, key, choice);
    if (choice.kind === "picture") return makePictureField(mask, name, send);
    const isColor = choice.kind === "color";
    const input = make("input", isColor ? { type: "color" } : { type: "text", maxLength: 200, spellcheck: false });
    // A sign without a name is not shown, so the name is asked for.
    if (!isColor) input.placeholder = choice.default || t("Type your name or a text");
    const again = make("button", { type: "button", className: "quiet", "aria-label": t("Reset {choice} to the mask's default", { choice: name }), title: t("Reset to the mask's default") }, icon("again"));
    const later = isColor ? send : debounce(250, send);
    if (!isColor && !choice.default) setTimeout(() => { if (input.isConnected && !input.value && library.isNew(mask)) input.focus({ preventScroll: true }); });
    // A text that is being typed is not replaced. A colour keeps the focus long after it was chosen.
    const shown = settled((value) => { input.value = value; }, () => !isColor && document.activeElement === input);
    input.oninput = () => {
        shown.touch();
        later(input.value);
    };
    again.onclick = () => {
        shown.touch();
        input.value = choice.default;
        later(choice.default);
    };
    again.hidden = !choice.default;
    return {
        element: make("div", { className: "choice" }, make("label", {}, make("span", {}, name), input), again),
        update(value) {
            shown.show(isColor ? /^#[0-9a-f]{6}/i.exec(value)?.[0] ?? "#808080" : value);
        },
    };
}

/// A field for one of a mask's pictures, one of the user's own, or a new one. A picture or clip can also be dropped on
/// the page.
function makePictureField(mask, name, send) {
    const file = make("input", { type: "file", accept: "image/jpeg,image/png,image/webp,image/gif,video/*", hidden: true });
    const own = make("button", { type: "button" }, icon("photo"), t("Your own…"));
    own.onclick = () => file.click();
    file.onchange = () => {
        if (file.files[0]) useAsBackground(file.files[0], mask);
        file.value = "";
    };
    const pills = make("div", { className: "pills", role: "radiogroup", "aria-label": name });
    return {
        element: make("div", { className: "choice pictures" }, make("span", {}, name), pills, own, file),
        update(value, { allowed }) {
            if (pills.dataset.allowed !== JSON.stringify(allowed)) {
                pills.dataset.allowed = JSON.stringify(allowed);
                pills.replaceChildren(...allowed.map((value) => {
                    const input = make("input", { type: "radio", name: `${mask} ${name}`, value });
                    input.onchange = () => send(value);
                    return make("label", {}, input, make("span", {}, valueName(value.replace(/\.m?jpe?g$/, ""))));
                }));
            }
            for (const label of pills.children) label.firstChild.checked = label.firstChild.value === value;
        },
    };
}

// MARK: the order

function reorder(order) {
    arrange(order);
    return library.order([...order].reverse());
}

async function move(name, to) {
    const order = names();
    if (to < 0 || to >= order.length) return;
    order.splice(order.indexOf(name), 1);
    order.splice(to, 0, name);
    await reorder(order);
    announce(t("{mask}: {place} of {count}, from the top", { mask: library.title(name), place: to + 1, count: order.length }));
}

let drag = null;

/// Starts to drag a row. The row follows the pointer, and the others make room; the order is sent at the end.
function beginDrag(event, item, grip) {
    if (event.button !== 0 || $("worn").children.length < 2) return;
    event.preventDefault();
    grip.focus({ preventScroll: true });
    grip.setPointerCapture(event.pointerId);
    const items = [...$("worn").children];
    const from = items.indexOf(item);
    const middles = items.map((other) => other.offsetTop + other.offsetHeight / 2);
    const room = item.offsetHeight + (items[1].offsetTop - items[0].offsetTop - items[0].offsetHeight);
    drag = { to: from, cancel: () => end(false) };
    item.classList.add("dragged");
    const middle = middles[from];
    const start = event.clientY;
    grip.onpointermove = (event) => {
        const offset = event.clientY - start;
        item.style.transform = `translateY(${offset}px)`;
        drag.to = items.filter((other, at) => other !== item && (at < from ? middles[at] < middle + offset : middles[at] <= middle + offset)).length;
        items.forEach((other, at) => {
            if (other === item) return;
            const shift = at > from && at <= drag.to ? -room : at < from && at >= drag.to ? room : 0;
            other.style.transform = shift ? `translateY(${shift}px)` : "";
        });
    };
    const end = (isWanted) => {
        const to = drag?.to ?? from;
        drag = null;
        grip.onpointermove = grip.onpointerup = grip.onpointercancel = grip.onlostpointercapture = null;
        item.classList.remove("dragged");
        for (const other of items) other.style.transform = "";
        if (isWanted && to !== from) move(item.dataset.mask, to);
        else library.redraw();
    };
    grip.onpointerup = () => end(true);
    grip.onpointercancel = grip.onlostpointercapture = () => end(false);
}
