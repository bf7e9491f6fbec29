// The control protocol (docs/control.md) over a WebSocket: requests as promises, events to listeners.
// When guise ends or starts anew, this connects again by itself.

const listeners = new Map();
const waiting = new Map();
let socket = null;
let lastID = 0;
let pause = 0;

/// "connecting", "open", "lost" (guise does not run), "refused" (the token is not valid any more).
export let state = "connecting";

/// Calls `listener` with each event of this name: those of the protocol, and "connection" where `state` changed.
export function on(name, listener) {
    if (!listeners.has(name)) listeners.set(name, new Set());
    listeners.get(name).add(listener);
}

function tell(name, event) {
    for (const listener of listeners.get(name) ?? []) listener(event);
}

function become(now, seconds) {
    state = now;
    tell("connection", { state, seconds });
}

/// What guise answers; rejected with its own words where it refuses.
export function ask(request, keys = {}) {
    if (socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error("Guise does not run just now."));
    const id = ++lastID;
    return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        socket.send(JSON.stringify({ id, request, ...keys }));
    });
}

function hear(line) {
    const message = JSON.parse(line);
    if (message.event) return tell(message.event, message);
    const asked = waiting.get(message.id);
    if (!asked) return;
    waiting.delete(message.id);
    if (message.error) asked.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
    else asked.resolve(message.ok);
}

export function connect() {
    const own = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
    socket = own;
    own.onopen = async () => {
        try {
            await ask("subscribe");
            pause = 0;
            become("open");
        } catch { own.close(); }
    };
    own.onmessage = (event) => { for (const line of event.data.split("\n")) if (line) hear(line); };
    own.onclose = async () => {
        for (const asked of waiting.values()) asked.reject(new Error("Guise ended before it answered."));
        waiting.clear();
        // Half a second, then ever longer, to eight: a guise that starts anew is found soon, one that does not is left alone.
        pause = Math.min(pause * 1.6 || 0.5, 8);
        become(await isRefused() ? "refused" : "lost", pause);
        setTimeout(connect, pause * 1000);
    };
}

/// A failed WebSocket does not say why; a plain request does.
async function isRefused() {
    try { return (await fetch("/icon.svg", { cache: "no-store" })).status === 403; } catch { return false; }
}

// A page that comes back from sleep need not wait.
addEventListener("online", () => { if (socket?.readyState === WebSocket.CLOSED) pause = 0; });
