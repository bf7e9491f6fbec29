// The current configuration, which other clients and undo can change too.

import { ask, on } from "./connection.js";

/// The values, by their keys in config.json.
export let values = {};

const listeners = new Set();
/// Calls `listener` when the values were fetched.
export function onValues(listener) { listeners.add(listener); }

/// Fetches the values.
/// @returns the reply, with the configuration's file.
export async function refresh() {
    const answer = await ask("configuration");
    ({ values } = answer);
    for (const listener of listeners) listener();
    return answer;
}

on("history", () => { refresh().catch(() => {}); });

/// Whether the picture that others see is mirrored already.
export const isMirroredForOthers = () => Boolean(values.view?.mirror);
