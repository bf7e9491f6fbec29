// The available and the active masks, shared by the gallery and the list of active masks.

import { ask, on } from "./connection.js";
import { attempt, toast, toastButton } from "./elements.js";
import { requestURL } from "./session.js";

/// All masks from the reply to `masks`, by name.
export const all = new Map();
/// The active masks, bottom first: {name, opacity, choices}.
export let worn = [];

const listeners = new Set();
/// Calls `listener` when the masks, or the active masks, change.
export function onChange(listener) { listeners.add(listener); }

function adopt(masks) {
    worn = masks;
    redraw();
}
export function redraw() { for (const listener of listeners) listener(); }

export const isWorn = (name) => worn.some((mask) => mask.name === name);
export const title = (name) => all.get(name)?.title || name;

/// The face on the thumbnails: the sample's or the user's own, and the version of the latter.
export const face = { own: false, version: 1 };

/// The number of thumbnails fetched at a time. Browsers open six connections to a server, and the picture needs two of
/// them.
const together = 3;
const waiting = new Map();
const fetching = new Set();

/// Queues the thumbnail of a mask for an image.
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
        // It is requested again at the next redraw.
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

/// Sends a request that changes the active masks, and shows the reply without waiting for the event.
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

/// Restores masks with their settings.
export async function wearAgain(masks) {
    if (!await order(masks.map((mask) => mask.name))) return;
    for (const { name, opacity, choices } of masks) {
        if (opacity !== 1) await change("set", { mask: name, key: "opacity", value: opacity });
        for (const [key, value] of Object.entries(choices ?? {})) await change("set", { mask: name, key, value });
    }
}

on("masks", (event) => adopt(event.masks));

/// Fetches the masks and the status again.
export async function refresh() {
    const [answer, status] = await Promise.all([ask("masks"), ask("status")]);
    all.clear();
    for (const mask of answer.masks) all.set(mask.name, mask);
    adopt(status.masks);
}
