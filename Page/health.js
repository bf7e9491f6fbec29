// The health of Guise: the doctor's checks with their fixes, and small graphs of the last minute.

import { ask, on } from "./connection.js";
import { noteChecks } from "./first-call.js";
import { $, attempt, capitalize, copyText, icon, make } from "./elements.js";
import { fixed, list, percent, t } from "./words.js";

// MARK: checks

const ranks = { error: 0, warning: 1, ok: 2 };
const words = { error: t("Error"), warning: t("Warning"), ok: t("OK") };
const icons = { error: "error", warning: "warning", ok: "check" };

/// Runs the checks and shows them.
export async function check() {
    $("doctor-says").textContent = t("Checking…");
    const answer = await attempt(ask("doctor"));
    if (!answer) return void ($("doctor-says").textContent = t("The checks could not be run."));
    const checks = answer.checks.toSorted((a, b) => ranks[a.state] - ranks[b.state]);
    const count = (state) => checks.filter((check) => check.state === state).length;
    const [errors, warnings] = [count("error"), count("warning")];
    const said = [
        errors && t("{count} error|{count} errors", { count: errors }), warnings && t("{count} warning|{count} warnings", { count: warnings }),
    ].filter(Boolean);
    $("doctor-says").textContent = said.length ? list(said) : t("All is well: calls can see your masks.");
    $("health-badge").hidden = errors + warnings === 0;
    $("health-badge").textContent = errors || warnings;
    $("health-badge").className = errors ? "badge error" : "badge";
    $("health-badge").setAttribute("aria-label", said[0] ?? "");
    // What is well is of interest to few.
    const [worse, well] = $("checks").querySelectorAll("ul");
    worse.replaceChildren(...checks.filter(({ state }) => state !== "ok").map(row));
    well.replaceChildren(...checks.filter(({ state }) => state === "ok").map(row));
    $("checks").querySelector("summary").textContent = t("{count} OK", { count: count("ok") });
    noteChecks(checks);
}

/// What the checks say is not translated, as it is the same on the command line.
const english = { lang: "en", dir: "ltr" };

function row(check) {
    const item = make(
        "li", { className: check.state }, icon(icons[check.state]),
        make("div", {}, make("strong", {}, make("span", english, capitalize(check.check)), make("span", { className: "unseen" }, `: ${words[check.state]}`)), make("p", english, `${capitalize(check.message)}.`)));
    if (check.fix && check.state !== "ok") item.lastChild.append(...fix(check));
    return item;
}

/// Splits a fix into an instruction and a command: "load it: sudo modprobe x".
const command = /^(?:(.*): )?((?:sudo|guise|make|export|systemctl|journalctl|kill|fuser|mokutil|flatpak|pw-dump|ls)\b.*)$/;

function fix(check) {
    const [, words = "", line] = command.exec(check.fix) ?? [, check.fix];
    const parts = words ? [make("p", { className: "do", ...english }, `${capitalize(words)}${line ? ":" : "."}`)] : [];
    if (!line) return parts;
    const copy = make("button", { type: "button", className: "quiet", "aria-label": t("Copy the fix for {check}", check), title: t("Copy") }, icon("copy"));
    copy.onclick = () => attempt(copyText(line));
    return [...parts, make("div", { className: "fix", dir: "ltr" }, make("code", {}, line), copy)];
}

$("doctor-again").onclick = check;

// MARK: graphs

/// The time that a graph covers, in seconds.
const span = 60;
const curves = {
    rate: { values: [], least: 30, text: (value) => fixed(value, 0) },
    latency: { values: [], least: 20, text: (value) => `${fixed(value, value < 10 ? 1 : 0)} ms` },
    cpu: { values: [], least: 50, text: (value) => percent(value / 100) },
};

on("metrics", (figures) => {
    add("rate", figures.rate);
    add("latency", figures.latency.median, t("nearly always under {time} ms", { time: fixed(figures.latency.p95, 0) }));
    add("cpu", figures.cpu.process, t("of one core, {memory} MB of memory", figures));
    $("brief").textContent = ["rate", "latency", "cpu"]
        .map((name) => ({ name, value: curves[name].text(curves[name].values.at(-1)) }))
        .map(({ name, value }) => name === "rate" ? t("{value} fps", { value }) : value).join(" · ");
});

function add(name, value, says) {
    const { values, least, text } = curves[name];
    values.push(value);
    if (values.length > span) values.shift();
    const figure = $(`figure-${name}`);
    figure.querySelector("b").textContent = text(value);
    if (says) figure.querySelector("small").textContent = says;
    const most = Math.max(least, ...values) * 1.15;
    const points = values.map((value, at) => `${span - values.length + at + 1} ${(24 - value / most * 23).toFixed(2)}`);
    figure.querySelector(".line").setAttribute("d", `M${points.join("L")}`);
    figure.querySelector(".area").setAttribute("d", `M${span - values.length + 1} 24L${points.join("L")}L${span} 24z`);
}

on("connection", ({ state }) => {
    if (state === "open") return;
    for (const curve of Object.values(curves)) curve.values.length = 0;
    for (const number of document.querySelectorAll(".figure b")) number.textContent = "–";
    for (const path of document.querySelectorAll(".figure path")) path.removeAttribute("d");
});
