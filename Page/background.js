// The user's own picture or clip as the background: dropped on the page, or chosen with a button.

import { attempt, toast } from "./elements.js";
import { request } from "./session.js";
import { t } from "./words.js";
import * as library from "./library.js";

/// The mask that is put on if no worn mask takes a picture.
const usual = "background-picture";

const takesPicture = (name) => library.all.get(name)?.choices.picture?.kind === "picture";

/// Adds a picture or clip to the user's own, and shows it behind the people. If it can't be read, nothing changes.
export async function useAsBackground(file, mask = library.worn.map(({ name }) => name).findLast(takesPicture) ?? usual) {
    const end = toast(t("Reading the picture…"), { symbol: "photo" });
    const added = await attempt(add(file));
    end();
    if (!added) return;
    // Before it is worn, so that the list of pictures has it.
    await attempt(library.refresh());
    if (!library.isWorn(mask) && !await library.change("wear", { masks: [mask] })) return;
    await library.change("set", { mask, key: "picture", value: added });
}

async function add(file) {
    const answer = await request(`/picture?name=${encodeURIComponent(file.name ?? "")}`, { method: "POST", body: file });
    return (await answer.json()).picture;
}
