// What is left to do before the first call, as a list with buttons. It goes for good once everything is done, or when
// somebody closes it.

import { on } from "./connection.js";
import { $, icon, make } from "./elements.js";
import * as library from "./library.js";
import { t } from "./words.js";

/// What is known of each step: true, false, or undefined until Guise has answered.
const done = { camera: undefined, virtualCamera: undefined, mask: undefined, call: undefined };

const steps = [
    { name: "camera", done: t("Your camera works."), todo: t("There is no camera, so you see a sample portrait."), button: t("Choose a camera"), act: () => $("camera").click() },
    { name: "virtualCamera", done: t("Calls can see your masks."), todo: t("Calls can't see your masks: there is no virtual camera."), button: t("Show me how"), act: () => showTab($("tab-health")) },
    { name: "mask", done: t("You wear a mask."), todo: t("Put on a mask."), button: t("Choose a mask"), act: () => $("search").focus() },
    { name: "call", done: t("You have been in a call."), todo: t("In Zoom, Meet, Teams or OBS, choose “Guise Camera” as the camera.") },
];

function showTab(tab) {
    tab.click();
    tab.focus();
}

function finish() {
    localStorage.firstCall = "done";
    $("first-call").hidden = true;
}

function show() {
    if (localStorage.firstCall === "done") return;
    // Nothing is said before all is known, so that no step appears and goes at once.
    if (Object.values(done).includes(undefined)) return;
    if (Object.values(done).every(Boolean)) return finish();
    $("first-call").hidden = false;
    const focused = document.activeElement?.dataset.step;
    $("first-steps").replaceChildren(...steps.map((step) => {
        const item = make("li", { className: done[step.name] ? "done" : "" }, icon(done[step.name] ? "check" : "step"),
            make("span", {}, done[step.name] ? step.done : step.todo));
        if (done[step.name]) item.prepend(make("span", { className: "unseen" }, `${t("Done")}: `));
        if (done[step.name] || !step.button) return item;
        const button = make("button", { type: "button", className: "link", "data-step": step.name }, step.button);
        button.onclick = step.act;
        item.lastChild.append(" ", button);
        return item;
    }));
    if (focused) ($("first-steps").querySelector(`[data-step="${focused}"]`) ?? $("first-call-close")).focus();
}

function update(name, now) {
    if (done[name] === now) return;
    // Who was in a call once knows how.
    if (name === "call" && done.call) return;
    done[name] = now;
    show();
}

/// Takes over what the checks of the doctor say about the camera.
export function noteChecks(checks) {
    update("camera", checks.find(({ check }) => check === "camera")?.state === "ok");
}

/// Takes over what the status or an event says about who watches.
export function noteViewers({ cameraInUse }) {
    if (cameraInUse === undefined) return;
    update("virtualCamera", cameraInUse !== null);
    update("call", Boolean(cameraInUse));
}

library.onChange(() => update("mask", library.worn.length > 0));
on("viewers", noteViewers);
$("first-call-close").onclick = () => {
    finish();
    $("search").focus();
};
