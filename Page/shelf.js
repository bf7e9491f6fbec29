// The shelf: looks, which are saved sets of masks with their options, and favourite masks, with the keys 1 to 9.

import * as library from "./library.js";

/// The entries in the order of their keys: looks first, then favourites.
export function shelf() {
    const looks = library.looks.map(({ name, masks }) => ({ kind: "look", name, title: name, masks }));
    const stars = library.favourites.filter((name) => library.all.has(name))
        .map((name) => ({ kind: "mask", name, title: library.title(name), masks: [name] }));
    return [...looks, ...stars];
}

const sameMasks = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const bare = ({ name, opacity, choices }) => ({ name, opacity, choices });

/// Whether an entry is what is worn now.
export const isOn = (entry) => entry.kind === "mask" ? library.isWorn(entry.name)
    : sameMasks(entry.masks.map(bare), library.worn.map(bare));

/// Wears an entry. A favourite that is worn is taken off, unless it hides faces: that takes a click on its own button.
export function use(entry) {
    if (entry.kind === "look") return library.wearLook(entry.name);
    if (!library.isWorn(entry.name)) return library.wear(entry.name);
    if (library.all.get(entry.name)?.hides) return library.sayStays(entry.name);
    return library.change("remove", { mask: entry.name });
}
