// Whether hot keys act: they can be off, or locked while a call is watching.

let isInCall = false;
/// Sets whether a call is watching.
export function setCall(isWatching) { isInCall = isWatching; }

export const areKeysOn = () => localStorage.keys !== "off";
export const areKeysLocked = () => isInCall && localStorage.keysInCall === "locked";
