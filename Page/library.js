// The available and the active masks, shared by the gallery and the list of active masks.

import { ask, on } from "./connection.js";
import { attempt, toast, toastButton } from "./elements.js";
import { requestURL } from "./session.js";
import { t } from "./words.js";

/// All masks from the reply to `masks`, by name.
export const all = new Map();
/// The active masks, bottom first: {name, opacity, choices}.
export let worn = [];

const listeners = new Set();
/// Calls `listener` when the masks, or the active masks, change.
/// @returns a function that ends this.
export function onChange(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

/// The masks that the last change put on.
let newlyWorn = null;
export const isNew = (name) => Boolean(newlyWorn?.has(name));

function adopt(masks) {
    const now = masks.map(({ name }) => name).filter((name) => !isWorn(name));
    // What is worn when the page opens is not new.
    if (now.length || !newlyWorn) newlyWorn = new Set(newlyWorn ? now : []);
    worn = masks;
    redraw();
}
export function redraw() { for (const listener of listeners) listener(); }

export const isWorn = (name) => worn.some((mask) => mask.name === name);
/// The title of a mask, translated if it is one of ours.
export const title = (name) => t(all.get(name)?.title || name);

/// The user's looks, {name, masks}, and the names of the favourite masks, in the user's order.
export let looks = [];
export let favourites = [];

/// The face on the thumbnails: the sample's or the user's own, and the version of the latter.
export const face = { own: false, version: 1 };

/// The number of thumbnails fetched at a time. Browsers open six connections to a server, and the picture needs two of
/// them.
const maxFetches = 3;
const waiting = new Map();
let fetches = 0;

/// A mask as a thumbnail's address has it: its name, if it looks as its author made it.
const thumbnailKey = ({ name, opacity = 1, choices = {} }) => opacity === 1 && Object.keys(choices).length === 0 ? name : { name, opacity, choices };

/// Queues the thumbnail of a mask for an image, or of several masks with their options.
export function showThumbnail(image, masks) {
    const list = [masks].flat().map((mask) => typeof mask === "string" ? mask : thumbnailKey(mask));
    const wanted = list.length === 1 && typeof list[0] === "string" ? `mask=${encodeURIComponent(list[0])}` : `masks=${encodeURIComponent(JSON.stringify(list))}`;
    const address = `/thumbnail?${wanted}&face=${face.own ? "mine" : "sample"}&v=${face.version}`;
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
        // Unless the image shows another thumbnail by now.
        if (image.dataset.wanted === address) {
            image.classList.add("missing");
            // It is requested again at the next redraw.
            delete image.dataset.wanted;
        }
    }
    fetches -= 1;
    fetchNext();
}

function fetchNext() {
    for (const [image, address] of waiting) {
        if (fetches >= maxFetches) return;
        waiting.delete(image);
        if (!image.isConnected) continue;
        fetches += 1;
        fetchThumbnail(image, address);
    }
}

/// Sends a request that changes the active masks, and shows the reply without waiting for the event.
export async function change(request, keys) {
    const answer = await attempt(ask(request, keys));
    if (answer?.masks) adopt(answer.masks);
    if (!answer) return answer;
    for (const listener of answerListeners) listener(answer);
    for (const name of answer.kept ?? []) sayStays(name);
    return answer;
}

/// Says that a mask which hides faces stays on, whatever was asked, and offers the one way to take it off.
export function sayStays(name) {
    const takeOff = toastButton(t("Take it off"), () => change("remove", { mask: name }));
    toast(t("{mask} hides faces and stays on.", { mask: title(name) }), { actions: [takeOff] });
}

const answerListeners = new Set();
/// Calls `listener` with Guise's answer to each change that this page makes.
export function onAnswer(listener) { answerListeners.add(listener); }

/// Puts a mask on in place of those of its kind, or on top of them, or takes it off.
export const wear = (name) => change("wear", { masks: [name] });
export const add = (name) => change("add", { masks: [name] });
export const toggle = (name) => isWorn(name) ? change("remove", { mask: name }) : wear(name);
export const order = (names) => change("order", { masks: names });

// MARK: looks and favourites

function adoptLooks(answer) {
    ({ looks, favourites } = answer);
    redraw();
}
on("looks", adoptLooks);

/// Sends a request that changes the looks or the favourites.
/// @returns whether it succeeded.
export async function changeLooks(request, keys) {
    const answer = await attempt(ask(request, keys));
    if (answer) adoptLooks(answer);
    return Boolean(answer);
}

export const wearLook = (name) => change("look", { name });
export const isFavourite = (name) => favourites.includes(name);
export const star = (name) => changeLooks("favourite", { mask: name, on: !isFavourite(name) });

on("masks", (event) => adopt(event.masks));

/// Fetches the masks, the looks and the status again.
/// @returns the status.
export async function refresh() {
    const [answer, status, saved] = await Promise.all([ask("masks"), ask("status"), ask("looks").catch(() => null)]);
    all.clear();
    for (const mask of answer.masks) all.set(mask.name, mask);
    if (saved) ({ looks, favourites } = saved);
    adopt(status.masks);
    return status;
}
