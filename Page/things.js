// Teaching things, for masks that tell things apart: a field for the name, and the names that are taught.

import { ask } from "./connection.js";
import { attempt, icon, make, toast } from "./elements.js";
import { t } from "./words.js";

/// Makes the field. What is held up while its button is pressed gets the name.
export function makeThingsField() {
    const name = make("input", { type: "text", maxLength: 32, spellcheck: false, "aria-label": t("Name of a thing"), placeholder: t("Name of a thing") });
    const teach = make("button", { type: "submit" }, t("Teach"));
    const form = make("form", { className: "choice" }, name, teach);
    const pills = make("div", { className: "pills" });

    const show = ({ things }) => pills.replaceChildren(...things.map((thing) => {
        const forget = make("button", { type: "button", "aria-label": t("Forget {thing}", { thing: thing.name }), title: t("Forget {thing}", { thing: thing.name }) }, thing.name, icon("close"));
        forget.onclick = async () => {
            const left = await attempt(ask("forget", { name: thing.name }));
            if (!left) return;
            const hadFocus = document.activeElement === forget;
            show(left);
            if (hadFocus) name.focus({ preventScroll: true });
        };
        return forget;
    }));
    const refresh = async () => {
        const known = await attempt(ask("things"));
        if (known) show(known);
    };
    form.onsubmit = async (event) => {
        event.preventDefault();
        const wanted = name.value.trim();
        if (!wanted) return name.focus();
        teach.disabled = true;
        const end = toast(t("Hold it up before a plain background, and turn it a little."), { symbol: "photo" });
        const taught = await attempt(ask("teach", { name: wanted }));
        end();
        teach.disabled = false;
        if (!taught) return;
        name.value = "";
        toast(t("Guise has learned {thing}.", { thing: wanted }));
        await refresh();
    };
    refresh();
    return make("div", { className: "things" }, form, pills);
}
