// The small view in a window of its own, for browsers without documentPictureInPicture.

import { connect, on } from "./connection.js";
import * as library from "./library.js";
import { mount } from "./small.js";

mount(window, localStorage.mirror !== "off");
on("connection", ({ state }) => { if (state === "open") library.refresh().catch(() => {}); });
connect();
