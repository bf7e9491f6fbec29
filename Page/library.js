// The masks that there are, and those that are worn: one place that the gallery and the stack look at.

import { ask, on } from "./connection.js";
import { attempt, toast, toastButton } from "./elements.js";
import { requestURL } from "./session.js";

/// All masks, as `masks` answers, by name.
export const all = new Map();
/// What is worn, bottom first: {name, opacity, choices}.
export let worn = [];

const listeners = new Set();
/// Called where the masks, or what is worn, changed.
export function onChange(listener) { listeners.add(listener); }

function adopt(masks) {
    worn = masks;
    redraw();
}
export function redraw() { for (const listener of listeners) listener(); }

export const isWorn = (name) => worn.some((mask) => mask.name === name);
export const title = (name) => all.get(name)?.title || name;

/// Where thumbnails come from: the sample's face, or the user's own and which take of it.
export const face = { own: false, version: 1 };

/// How many are fetched at a time. Browsers open six connections to one server, and the picture needs two of them.
const together = 3;
const waiting = new Map();
const fetching = new Set();

/// Shows a mask on the face in an image, when its turn comes.
export function showThumbnail(image, name) {
    const address = `/thumbnail?mask=${encodeURIComponent(name)}&face=${face.own ? "mine" : "sample"}&v=${face.version}`;
    if (image.dataset.wanted === address) return;
    image.dataset.wanted = address;
    waiting.set(image, address);
    fetchNext();
}

async function fetchThumbnail(image, address) {
    try {
        const url = await requestURL(address);
        if (image.dataset.wanted === address) image.src = url;
        await image.decode().finally(() => URL.revokeObjectURL(url));
        image.classList.remove("missing");
    } catch {
        image.classList.add("missing");
        // Asked for again when it is next drawn.
        if (image.dataset.wanted === address) delete image.dataset.wanted;
    }
    fetching.delete(image);
    fetchNext();
}

function fetchNext() {
    for (const [image, address] of waiting) {
        if (fetching.size >= together) return;
        waiting.delete(image);
        if (!image.isConnected) continue;
        fetching.add(image);
        fetchThumbnail(image, address);
    }
}

/// Sends a request that changes what is worn, and shows the answer without waiting for the event.
export async function change(request, keys) {
    const answer = await attempt(ask(request, keys));
    if (answer?.masks) adopt(answer.masks);
    for (const name of answer?.kept ?? []) {
        const takeOff = toastButton("Take it off", () => change("hide", { mask: name }));
        toast(`${title(name)} hides faces and stays on.`, { actions: [takeOff] });
    }
    return answer;
}

export const toggle = (name) => change("toggle", { mask: name });
export const only = (name) => change("only", { mask: name });
export const order = (names) => change("wear", { masks: names });

/// Puts masks on again as they were worn.
export async function wearAgain(masks) {
    if (!await order(masks.map((mask) => mask.name))) return;
    for (const { name, opacity, choices } of masks) {
        if (opacity !== 1) await change("set", { mask: name, key: "opacity", value: opacity });
        for (const [key, value] of Object.entries(choices ?? {})) await change("set", { mask: name, key, value });
    }
}

on("masks", (event) => adopt(event.masks));

/// Asks for everything anew.
export async function refresh() {
    const [answer, status] = await Promise.all([ask("masks"), ask("status")]);
    all.clear();
    for (const mask of answer.masks) all.set(mask.name, mask);
    adopt(status.masks);
}
