// The small view in a window of its own, for browsers without documentPictureInPicture.

import { ask, connect, on } from "./connection.js";
import * as library from "./library.js";
import { mount } from "./small.js";

/// Whether the picture that others see is mirrored already.
let mirrorsForOthers = false;
const readMirror = () => ask("configuration").then(({ values }) => { mirrorsForOthers = Boolean(values.view?.mirror); }, () => {});

mount(window, () => localStorage.mirror !== "off" && !mirrorsForOthers);
on("history", readMirror);
on("connection", ({ state }) => {
    if (state !== "open") return;
    library.refresh().catch(() => {});
    readMirror();
});
connect();
