// The small view in a window of its own, for browsers without documentPictureInPicture.

import { isMirroredForOthers, refresh as refreshConfiguration } from "./configuration.js";
import { connect, on } from "./connection.js";
import * as library from "./library.js";
import { mount } from "./small.js";

mount(window, () => localStorage.mirror !== "off" && !isMirroredForOthers());
on("connection", ({ state }) => {
    if (state !== "open") return;
    library.refresh().catch(() => {});
    refreshConfiguration().catch(() => {});
});
connect();
