// The page's entry point: connects its parts, and shows whether a call is watching.

import { ask, connect, on } from "./connection.js";
import { refresh as refreshAlbum } from "./album.js";
import { $, attempt, clearErrorToasts, relay, toast } from "./elements.js";
import { noteViewers } from "./first-call.js";
import "./gallery.js";
import { check } from "./health.js";
import { showHistory } from "./history.js";
import { setCall } from "./key-lock.js";
import "./keys.js";
import { refresh as refreshLibrary } from "./library.js";
import "./looks.js";
import "./photo.js";
import { refresh as refreshSettings } from "./settings.js";
import { openSmall } from "./small.js";
import { isMirrored, showStatus } from "./stage.js";
import { arrowStep, t } from "./words.js";
import "./worn.js";

// MARK: tabs

/// The setting that the page was loaded again for, until it has the focus again.
let comeBack = $(sessionStorage.comeBack ?? "");
sessionStorage.removeItem("comeBack");

const tabs = [...document.querySelectorAll("[role=tab]")];

function show(tab) {
    for (const other of tabs) {
        other.setAttribute("aria-selected", String(other === tab));
        other.tabIndex = other === tab ? 0 : -1;
        $(other.getAttribute("aria-controls")).hidden = other !== tab;
    }
}

function choose(tab) {
    show(tab);
    if (tab.id === "tab-settings") attempt(refreshSettings());
    if (tab.id === "tab-health") check();
}

for (const tab of tabs) {
    tab.onclick = () => choose(tab);
    tab.onkeydown = (event) => {
        const step = arrowStep(event.key);
        if (!step) return;
        const other = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
        choose(other);
        other.focus();
    };
}
$("camera").onclick = () => {
    choose($("tab-settings"));
    ($("cameras").querySelector("input:checked") ?? $("tab-settings")).focus();
};

document.querySelector(".skip").onclick = (event) => {
    event.preventDefault();
    choose($("tab-masks"));
    $("search").focus();
};

// The graphs are below the picture if there is room, or else with the checks.
const isRoomy = matchMedia("(min-width: 1100px)");
function place() { (isRoomy.matches ? $("figures-place") : $("panel-health")).append($("figures")); }
isRoomy.onchange = place;
place();

if (comeBack) show($("tab-settings"));

// MARK: whether a call is watching

let watch = {};

function showPresence(now) {
    watch = { ...watch, ...now };
    // `cameraInUse`: whether a program reads the virtual camera; null if there is none, and only this page can watch.
    const who = watch.cameraInUse ? t("A call is watching") : watch.cameraInUse === false ? t("No call is watching") : t("No virtual camera");
    const words = watch.camera === "closed" ? t("{who}: camera closed", { who }) : watch.camera === "opening" ? t("{who}: camera opening", { who })
        : watch.camera === "lost" ? t("{who}: camera lost", { who }) : who;
    setCall(Boolean(watch.cameraInUse));
    const [kind, text] = watch.paused ? ["rest", t("Paused: calls see a placeholder")]
        : [watch.camera === "lost" ? "trouble" : watch.cameraInUse ? "on" : "rest", words];
    $("presence").className = `presence ${kind}`;
    if ($("presence-text").textContent !== text) $("presence-text").textContent = text;
}

on("viewers", showPresence);
on("camera", (event) => {
    showPresence(event);
    // What was wrong with the camera is mended.
    if (event.camera === "open") clearErrorToasts();
});
on("error", (event) => relay(event.message.replace(/^guise: /, ""), { error: true }));
on("metrics", (event) => {
    showPresence(event);
    showStatus(event);
});

// MARK: connection

let wasLost = false;

on("connection", async ({ state }) => {
    if (state !== "open") {
        $("presence").className = "presence trouble";
        $("presence-text").textContent = state === "connecting" ? t("Connecting…") : state === "lost" ? t("Reconnecting…") : t("No access");
        $("brief").textContent = "";
        wasLost ||= state === "lost";
        return;
    }
    const status = await attempt(ask("status"));
    if (status) {
        showPresence(status);
        showStatus(status);
        noteViewers(status);
    }
    const [now] = await attempt(Promise.all([refreshLibrary(), refreshSettings()])) ?? [];
    if (now) showHistory(now.history);
    comeBack?.scrollIntoView({ block: "center" });
    comeBack?.focus({ preventScroll: true });
    comeBack = null;
    clearErrorToasts();
    refreshAlbum().catch(() => {});
    check();
    if (wasLost) toast(t("Guise is back."));
    wasLost = false;
});

$("small").onclick = () => attempt(openSmall(isMirrored));

// Masks may have been edited, and settings changed, while the page was hidden or another window had the focus.
document.addEventListener("visibilitychange", () => { if (!document.hidden) refreshLibrary().catch(() => {}); });
addEventListener("focus", () => {
    refreshLibrary().catch(() => {});
    refreshSettings().catch(() => {});
});

connect();
