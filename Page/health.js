// The health of Guise: the doctor's checks with their fixes, and small graphs of the last minute.

import { ask, on } from "./connection.js";
import { $, attempt, capitalize, copyText, icon, make } from "./elements.js";

// MARK: checks

const ranks = { error: 0, warning: 1, ok: 2 };
const words = { error: "Error", warning: "Warning", ok: "OK" };
const icons = { error: "error", warning: "warning", ok: "check" };

export async function check() {
    $("doctor-says").textContent = "Checking …";
    const answer = await attempt(ask("doctor"));
    if (!answer) {
        $("doctor-says").textContent = "The checks could not be run.";
        return;
    }
    const checks = answer.checks.toSorted((a, b) => ranks[a.state] - ranks[b.state]);
    const count = (state) => checks.filter((check) => check.state === state).length;
    const [errors, warnings] = [count("error"), count("warning")];
    const many = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
    $("doctor-says").textContent = errors + warnings === 0
        ? "All is well: calls can see your masks."
        : [errors && many(errors, "error"), warnings && many(warnings, "warning"), `${count("ok")} OK`].filter(Boolean).join(", ") + ".";
    $("health-badge").hidden = errors + warnings === 0;
    $("health-badge").textContent = errors || warnings;
    $("health-badge").className = errors ? "badge error" : "badge";
    $("health-badge").setAttribute("aria-label", errors ? many(errors, "error") : many(warnings, "warning"));
    $("checks").replaceChildren(...checks.map(row));
}

function row(check) {
    const item = make(
        "li", { className: check.state }, icon(icons[check.state]),
        make("div", {}, make("strong", {}, capitalize(check.check), make("span", { className: "unseen" }, `: ${words[check.state]}`)), make("p", {}, `${capitalize(check.message)}.`)));
    if (check.fix && check.state !== "ok") item.lastChild.append(...fix(check));
    return item;
}

/// Splits a fix into an instruction and a command: "load it: sudo modprobe x".
const command = /^(?:(.*): )?((?:sudo|guise|make|systemctl|journalctl|kill|fuser|mokutil|flatpak|pw-dump|ls)\b.*)$/;

function fix(check) {
    const [, words = "", line] = command.exec(check.fix) ?? [, check.fix];
    const parts = words ? [make("p", { className: "do" }, `${capitalize(words)}${line ? ":" : "."}`)] : [];
    if (!line) return parts;
    const copy = make("button", { type: "button", className: "quiet", "aria-label": `Copy the fix for ${check.check}`, title: "Copy" }, icon("copy"));
    copy.onclick = () => attempt(copyText(line));
    return [...parts, make("div", { className: "fix" }, make("code", {}, line), copy)];
}

$("doctor-again").onclick = check;

// MARK: graphs

/// The time that a graph covers, in seconds.
const span = 60;
const curves = {
    rate: { values: [], least: 30, text: (value) => value.toFixed(0) },
    latency: { values: [], least: 20, text: (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms` },
    cpu: { values: [], least: 50, text: (value) => `${value.toFixed(0)} %` },
};

on("metrics", (figures) => {
    add("rate", figures.rate);
    add("latency", figures.latency.median, `95 % under ${figures.latency.p95.toFixed(0)} ms`);
    add("cpu", figures.cpu.process, `${figures.cpu.frame.median.toFixed(1)} ms per frame, ${figures.memory} MB`);
    $("brief").textContent = ["rate", "latency", "cpu"]
        .map((name) => curves[name].text(curves[name].values.at(-1)) + (name === "rate" ? " fps" : "")).join(" · ");
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
