// The client of the control protocol (docs/control.md) over a web socket: requests as promises, events to listeners. It
// reconnects when Guise restarts.

import { NoSession, currentKey, dropOffered, endSession, onLink, refusedCode, shakeHands } from "./session.js";
import { t } from "./words.js";

const listeners = new Map();
const waiting = new Map();
let socket = null;
let lastID = 0;
let pause = 0;
let timer = 0;
/// The number of attempts to connect, begun or scheduled. Only the last one counts: a new link may come during
/// another's handshake.
let attempts = 0;

/// The state of the connection: "connecting", "open", "lost" (Guise isn't running), "missing", "refused" or "impostor"
/// (see session.js).
export let state = "connecting";

/// What to tell the user in the states that reconnecting does not end: a title, and what to do.
export const problems = {
    missing: [t("This browser has no key for Guise yet"), t("Run guise page in a terminal: it opens this page with the key.")],
    refused: [t("This page's key is not valid any more"), t("Run guise page in a terminal: it opens this page with a new key.")],
    impostor: [t("Another program answers in Guise's place"), t("Nothing was sent to it. Run guise page in a terminal to see where Guise is.")],
};

/// Calls `listener` for each event of this name: an event of the protocol, or "connection" when `state` changes.
/// @returns a function that ends this.
export function on(name, listener) {
    if (!listeners.has(name)) listeners.set(name, new Set());
    listeners.get(name).add(listener);
    return () => listeners.get(name).delete(listener);
}

function emit(name, event) {
    for (const listener of listeners.get(name) ?? []) listener(event);
}

function setState(now, seconds) {
    state = now;
    emit("connection", { state, seconds });
}

/// Sends a request.
/// @returns the reply; rejected with Guise's message if the request fails.
export function ask(request, keys = {}) {
    if (socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error("Guise isn't running."));
    const id = ++lastID;
    return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        socket.send(JSON.stringify({ id, request, ...keys }));
    });
}

function receive(line) {
    const message = JSON.parse(line);
    if (message.event) return emit(message.event, message);
    const asked = waiting.get(message.id);
    if (!asked) return;
    waiting.delete(message.id);
    if (message.error) asked.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
    else asked.resolve(message.ok);
}

/// Opens the web socket. The state becomes "open" when both sides are authenticated.
export async function connect() {
    clearTimeout(timer);
    const attempt = ++attempts;
    const isOld = () => attempt !== attempts;
    let key;
    try { key = await currentKey(); } catch { return isOld() || retry("missing"); }
    if (isOld()) return;
    const own = new WebSocket(`ws://${location.host}/socket`);
    const closed = new Promise((resolve) => { own.onclose = resolve; });
    // Returns the next message of the handshake.
    const next = () => Promise.race([
        new Promise((resolve) => { own.onmessage = (event) => resolve(event.data); }),
        closed.then(({ code }) => { throw new NoSession(code === refusedCode ? "refused" : "lost"); }),
    ]);
    try {
        await shakeHands(own, next, key);
        if (isOld()) return own.close();
        own.onmessage = (event) => receive(event.data);
        socket = own;
        // Guise may end before it answers.
        await Promise.race([ask("subscribe"), closed.then(() => { throw new NoSession("lost"); })]);
        pause = 0;
        setState("open");
    } catch (error) {
        own.close();
        if (!isOld()) end(error instanceof NoSession ? error.reason : "lost");
        return;
    }
    closed.then(() => { if (socket === own) end("lost"); });
}

function end(reason) {
    socket?.close();
    socket = null;
    endSession();
    for (const asked of waiting.values()) asked.reject(new Error("Guise ended before it answered."));
    waiting.clear();
    if (reason === "refused") dropOffered().then(() => retry(reason)); else retry(reason);
}

/// Tries again after half a second, then after longer pauses of up to eight seconds. A restarted Guise is found soon,
/// and a stopped one causes little work. An attempt that is under way is given up: it would leave a second connection,
/// or drop the key of a link that came meanwhile.
function retry(reason) {
    clearTimeout(timer);
    attempts += 1;
    pause = Math.min(pause * 1.6 || 0.5, 8);
    setState(reason, pause);
    timer = setTimeout(connect, pause * 1000);
}

onLink(() => {
    pause = 0;
    if (socket) end("lost"); else retry(state);
});
