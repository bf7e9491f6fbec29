// The controls of the camera that is in use, such as brightness and exposure, as far as it has them.

import { ask, on } from "./connection.js";
import { $, attempt, latestOnly, make, settled, toast, toastButton } from "./elements.js";
import { languageOf, number, t } from "./words.js";

/// The controls that most people know, in the order in which they are shown. All others follow, folded away.
const common = {
    brightness: t("Brightness"), contrast: t("Contrast"), saturation: t("Saturation"), sharpness: t("Sharpness"),
    exposure: t("Exposure"), gain: t("Gain"), "white-balance": t("White balance"), focus: t("Focus"), zoom: t("Zoom"),
    "backlight-compensation": t("Backlight compensation"), "power-line-frequency": t("Anti-flicker"),
};
const rest = { gamma: t("Gamma"), hue: t("Hue"), pan: t("Pan"), tilt: t("Tilt"), iris: t("Iris"), "dynamic-rate": t("Fewer frames in low light") };
const automatic = {
    brightness: t("Automatic brightness"), exposure: t("Automatic exposure"), gain: t("Automatic gain"),
    "white-balance": t("Automatic white balance"), focus: t("Automatic focus"), hue: t("Automatic hue"),
};
const items = { Disabled: t("Off"), Auto: t("Automatic") };

/// Values in known units; all others are the driver's own. V4L2 has exposure times in units of 100 µs.
const units = { exposure: (value) => `${number(value / 10)} ms`, "white-balance": (value) => `${number(value)} K` };

const title = ({ name, title }) => common[name] ?? rest[name] ?? t(title);
/// The language of a driver's words.
const languageOfTitle = ({ name, title }) => common[name] || rest[name] ? {} : { lang: languageOf(title) };

let controls = [];
const current = (name) => controls.find((control) => control.name === name);
/// The rows' functions that show a control's value, by its name.
const shows = new Map();

async function set(control, value) {
    let answer;
    try { answer = await ask("camera", { action: "set", control, value }); } catch (error) {
        show();
        throw error;
    }
    controls = answer.controls;
    show();
}

function slider(control) {
    const input = make("input", { type: "range", min: control.min, max: control.max, step: control.step });
    const output = make("output");
    const send = latestOnly((value) => set(control.name, value));
    const showNumber = () => {
        const value = input.valueAsNumber;
        output.textContent = units[control.name]?.(value) ?? number(value);
        input.style.setProperty("--filled", `${(value - input.min) / (input.max - input.min || 1) * 100}%`);
    };
    const shown = settled((value) => {
        input.value = value;
        showNumber();
    });
    input.oninput = () => {
        shown.touch();
        showNumber();
        send(input.valueAsNumber);
    };
    shows.set(control.name, ({ value, inactive, automatic }) => {
        input.disabled = Boolean(inactive || automatic);
        shown.show(value);
    });
    return make("span", { className: "slide" }, input, output);
}

function toggle(name, isOn, act) {
    const input = make("input", { type: "checkbox", role: "switch" });
    input.onchange = () => attempt(act(input.checked));
    shows.set(name, (control) => {
        input.checked = isOn(control);
        input.disabled = Boolean(control.inactive);
    });
    return make("span", { className: "switch" }, input, make("i"));
}

function menu(control) {
    const select = make("select");
    select.append(...control.items.map(({ value, name }) => make("option", { value, lang: items[name] ? "" : languageOf(name) }, items[name] ?? t(name))));
    select.onchange = () => attempt(set(control.name, Number(select.value)));
    shows.set(control.name, ({ value, inactive }) => {
        select.value = value;
        select.disabled = inactive;
    });
    return select;
}

function rows(control) {
    const input = control.kind === "integer" ? slider(control) : control.kind === "menu" ? menu(control)
        : toggle(control.name, ({ value }) => value !== 0, (isOn) => set(control.name, isOn));
    const row = make("label", { className: "row" }, make("span", languageOfTitle(control), title(control)), input);
    if (control.automatic == null) return [row];
    // To its own value: then it stays as the camera has set it.
    const by = toggle(control.autoControl, () => current(control.name).automatic, (isOn) => set(control.name, isOn ? "auto" : current(control.name).value));
    row.classList.add("follows");
    return [make("label", { className: "row" }, make("span", {}, automatic[control.name]), by), row];
}

/// Creates the rows of a camera.
function build() {
    shows.clear();
    const autoControls = new Set(controls.map(({ autoControl }) => autoControl));
    const own = controls.filter(({ name }) => !autoControls.has(name));
    const known = Object.keys(common);
    const first = own.filter(({ name }) => name in common).sort((a, b) => known.indexOf(a.name) - known.indexOf(b.name));
    const others = own.filter(({ name }) => !(name in common));
    $("camera-rows").replaceChildren(...first.flatMap(rows));
    $("camera-more-rows").replaceChildren(...others.flatMap(rows));
    $("camera-more").hidden = others.length === 0;
}

function show() {
    for (const control of controls) shows.get(control.name)?.(control);
}

let built = "";

/// Shows the controls of the camera in use.
/// @param reply Guise's answer to `camera`.
export function showControls(reply) {
    controls = reply.controls;
    // Rows are made anew only for other controls, so that the one that has the focus stays.
    const fixedParts = JSON.stringify([reply.camera, ...controls.map(({ value, inactive, automatic, ...fixed }) => fixed)]);
    if (fixedParts !== built) build();
    built = fixedParts;
    $("camera-controls").hidden = controls.length === 0;
    show();
}

/// Fetches the controls, which other programs can change too.
export async function refresh() { showControls(await ask("camera")); }

$("camera-reset").onclick = async () => {
    const answer = await attempt(ask("camera", { action: "reset" }));
    if (!answer) return;
    showControls(answer);
    toast(t("Camera reset to its defaults."), { actions: [toastButton(t("Undo"), () => $("undo").click())] });
};

// Another camera has other controls. After its automatic ones have done their work, their values are others.
on("camera", ({ camera }) => { if (camera === "open") refresh().catch(() => {}); });
// Undo and redo, and other clients, change controls too.
on("history", ({ undo, redo }) => {
    if ([undo, redo].some((change) => change?.startsWith("camera "))) refresh().catch(() => {});
});
