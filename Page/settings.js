// Settings: controls for the configuration's keys, the camera, and the configuration's file.

import { refresh as refreshControls } from "./camera-controls.js";
import { onValues, refresh as refreshConfiguration, values } from "./configuration.js";
import { ask, on } from "./connection.js";
import { $, abbreviateHome, announce, attempt, latestOnly, make, relay, setPressed, settled, toast } from "./elements.js";
import * as library from "./library.js";
import { setMaxFaces, showMirror } from "./stage.js";
import { languages, list, number, percent, t } from "./words.js";

let cameras = [];
let source = "";

const read = (key) => key.split(".").reduce((value, part) => value?.[part], values);
function write(key, value) {
    const parts = key.split(".");
    const last = parts.pop();
    const section = parts.reduce((section, part) => (section[part] ??= {}), values);
    section[last] = value;
}

/// Sets a key of the current configuration, and shows Guise's notes about it.
async function set(key, value) {
    let answer;
    try { answer = await ask("set", { key, value }); } catch (error) {
        show();
        throw error;
    }
    write(key, value);
    show();
    // That the start masks matter at the next start goes without saying.
    if (answer.notes?.length && key !== "start") relay(answer.notes.join("; "));
}

const controls = [...document.querySelectorAll("[data-key]")];
/// What shows a slider's value, unless the user is moving it.
const sliders = new Map();

for (const control of controls) {
    const { key, on, off, part } = control.dataset;
    const send = latestOnly((value) => set(key, value));
    if (control.type === "checkbox") {
        control.onchange = () => attempt(set(key, control.checked ? on ?? true : off ?? false));
    } else if (control.type === "range") {
        const slider = settled((value) => {
            control.value = value;
            showNumber(control);
        });
        sliders.set(control, slider);
        control.oninput = () => {
            slider.touch();
            showNumber(control);
            const value = control.valueAsNumber;
            send(part == null ? value : read(key).map((old, at) => at === Number(part) ? value : old));
        };
    } else {
        control.onchange = () => send("number" in control.dataset ? Number(control.value) : control.value);
    }
}

function showNumber(slider) {
    const { unit = "" } = slider.dataset;
    const value = slider.valueAsNumber;
    slider.nextElementSibling.textContent = unit === "%" ? percent(value) : `${number(value)}${unit}`;
    slider.style.setProperty("--filled", `${(value - slider.min) / (slider.max - slider.min) * 100}%`);
}

/// Shows all values.
function show() {
    for (const control of controls) {
        const { key, on, part } = control.dataset;
        const value = part == null ? read(key) : read(key)?.[part];
        if (value == null) continue;
        if (control.type === "checkbox") control.checked = value === (on ?? true);
        else if (control.type === "range") sliders.get(control).show(value);
        else control.value = value;
    }
    showMirror();
    setMaxFaces(read("faces.max"));
    showStart();
    setPressed($("zoom"), read("view.zoom") === "face");
    $("config-text").textContent = JSON.stringify(values, null, 4);
    showModes();
}

// The most used setting is also below the picture.
$("zoom").onclick = () => attempt(set("view.zoom", read("view.zoom") === "face" ? "off" : "face"));

// MARK: the camera

/// Whether a camera is the current one. Two cameras may have the same name: if the source names a device node, only the
/// node counts.
function isCurrent(camera) {
    const node = source.match(/\/dev\/[^\s),]+/)?.[0];
    return node ? node === camera.path : Boolean(camera.name) && source.includes(camera.name);
}

/// Replaces a list's content if it has changed. Otherwise an element that has the focus, or is being clicked, stays.
function fill(list, items, makeOne) {
    const shown = JSON.stringify(items);
    if (list.dataset.shown === shown) return;
    list.dataset.shown = shown;
    list.replaceChildren(...items.map(makeOne));
}

function showCameras() {
    const known = [...cameras, { path: "sample", name: t("Sample portrait"), note: t("For trying masks without a camera") }];
    fill($("cameras"), known, (camera) => {
        const input = make("input", { type: "radio", name: "camera", value: camera.path });
        input.onchange = async () => {
            await attempt(ask("use", { device: camera.path }));
            setTimeout(() => attempt(refresh()), 700);
        };
        return make(
            "label", { className: camera.problem ? "problem" : "" }, input,
            make("span", {}, camera.name ?? camera.path, make("small", camera.problem ? { lang: "en" } : {}, camera.problem ?? camera.note ?? camera.path)));
    });
    for (const [at, camera] of known.entries()) {
        $("cameras").children[at].control.checked = camera.path === "sample" ? source.startsWith("sample") : isCurrent(camera);
    }
}

const label = ({ width, height, rate }) => t("{width} × {height}, {rate} fps", { width: String(width), height: String(height), rate });

/// Shows the sizes and rates of the current camera, each once, the largest first.
function showModes() {
    const { width, height, rate } = values.camera ?? {};
    const asked = { width, height, rate };
    const modes = new Map();
    for (const mode of cameras.find(isCurrent)?.modes ?? []) {
        for (const rate of mode.rates) {
            const one = { width: mode.width, height: mode.height, rate };
            if (!modes.has(label(one))) modes.set(label(one), one);
        }
    }
    modes.set(label(asked), asked);
    const sorted = [...modes.values()].sort((a, b) => b.width - a.width || b.height - a.height || b.rate - a.rate);
    fill($("mode"), sorted, (mode) => make("option", { value: JSON.stringify(mode) }, label(mode)));
    $("mode").value = JSON.stringify(asked);
    $("mode").disabled = sorted.length < 2;
}

// One request for all values, so that the camera is reopened once.
$("mode").onchange = () => attempt(set("camera", { ...values.camera, ...JSON.parse($("mode").value) }));

on("camera", (event) => {
    // Cameras may have come or gone.
    if (!$("panel-settings").hidden) refresh().catch(() => {});
    if (event.source == null) return;
    source = event.source;
    if (cameras.length) { showCameras(); showModes(); }
});

// MARK: what is worn at the start

function showStart() {
    const masks = list((values.masks ?? []).map((mask) => library.title(mask.name ?? mask)));
    const looks = library.looks.map(({ name }) => [`look:${name}`, t("The look {name}", { name })]);
    const saved = masks ? t("As saved: {masks}", { masks }) : t("As saved: nothing");
    const options = [["last", t("What I wore last")], ["none", t("Nothing")], ...looks, ["masks", saved]];
    // A look that was deleted is still shown as what is set.
    if (values.start && !options.some(([value]) => value === values.start)) {
        options.push([values.start, t("The look {name}, which is missing", { name: values.start.replace("look:", "") })]);
    }
    fill($("start"), options, ([value, words]) => make("option", { value }, words));
    $("start").value = values.start ?? "masks";
}
library.onChange(showStart);
$("start").onchange = () => attempt(set("start", $("start").value).then(() => toast(t("Saved for the next start."))));

// MARK: the file

$("config-reload").onclick = async () => {
    const answer = await attempt(ask("reload"));
    if (!answer) return;
    await attempt(refresh());
    if (answer.notes?.length) relay(answer.notes.join("; ")); else toast(t("Reloaded."));
};

/// Options of this browser, which Guise doesn't know.
for (const [id, key, on, off] of [["note", "note", "on", "off"], ["sound", "sound", "on", "off"], ["random-work", "random", "work", "all"]]) {
    $(id).checked = (localStorage[key] ?? (id === "random-work" ? on : off)) === on;
    $(id).onchange = () => { localStorage[key] = $(id).checked ? on : off; };
}

// The countdown is chosen here, and beside the shutter.
function showCountdown() {
    const seconds = localStorage.countdown ?? "0";
    $("countdown").value = seconds;
    $("timer").lastChild.textContent = seconds === "0" ? "" : seconds;
    $("timer").title = t("Countdown before a picture: {time}", { time: $("countdown").selectedOptions[0]?.textContent ?? seconds });
    $("timer").setAttribute("aria-label", $("timer").title);
}
function setCountdown(seconds) {
    localStorage.countdown = seconds;
    showCountdown();
}
$("countdown").onchange = () => setCountdown($("countdown").value);
$("timer").onclick = () => {
    const times = [...$("countdown").options].map(({ value }) => value);
    setCountdown(times[(times.indexOf($("countdown").value) + 1) % times.length]);
    announce($("timer").title);
};
showCountdown();

for (const [tag, name] of Object.entries(languages)) $("language").append(make("option", { value: tag, lang: tag }, name));
$("language").value = localStorage.language ?? "";
$("language").onchange = () => {
    if ($("language").value) localStorage.language = $("language").value; else localStorage.removeItem("language");
    // Every text of the page changes; the user comes back to this one.
    sessionStorage.comeBack = "language";
    location.reload();
};

onValues(show);

/// Fetches the current settings, which other programs can change too.
export async function refresh() {
    const [configuration, devices, status] = await Promise.all([refreshConfiguration(), ask("devices"), ask("status")]);
    $("config-file").textContent = configuration.file ? abbreviateHome(configuration.file) : t("No file yet: defaults apply");
    cameras = devices.devices.filter((device) => device.camera && !device.loopback);
    source = status.source ?? "";
    showCameras();
    show();
    // A camera that can't be asked now has a note in the list.
    refreshControls().catch(() => {});
}
