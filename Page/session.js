// The proof that this browser may use Guise, and that what answers on this port is Guise.
//
// `guise page` opens this page with a secret after the "#", which browsers send to no server. It is imported at once as a
// key that no script can read back, kept in IndexedDB for this origin (its port included), and taken out of the address.
// Over the web socket each side proves that it knows the secret; the token that follows opens requests for pictures until
// the web socket closes.

/// A fragment of the link.
const secretPattern = /^#([0-9a-f]{64})$/;
const hexPattern = /^[0-9a-f]{64}$/;

/// Takes the secret out of the address.
/// @returns the key that it was imported as; null if there was none.
async function takeFragment() {
    const secret = secretPattern.exec(location.hash)?.[1];
    if (!secret) return null;
    history.replaceState(null, "", location.pathname);
    return crypto.subtle.importKey("raw", bytes(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

/// Calls `listener` when a link is opened in this tab.
export function onLink(listener) {
    addEventListener("hashchange", async () => {
        const key = await takeFragment();
        if (!key) return;
        offered = key;
        listener();
    });
}

// MARK: the keys: "page", which was accepted, and "offered", which came with a link and was not yet

/// What the database would not keep.
let offered = null;

const database = new Promise((resolve, reject) => {
    const opening = indexedDB.open("guise", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
});
database.catch(() => {});

const finished = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
});

/// Runs `work` with the keys' store; gives undefined without a database, as in some private windows.
async function withKeys(work) {
    try { return await finished(work((await database).transaction("keys", "readwrite").objectStore("keys"))); } catch { return undefined; }
}

/// Browsers remember the address that a document was loaded from, where scripts can read it: the page is loaded again from
/// the one without secret. Ends when no secret is left to read.
const ready = (async () => {
    const key = await takeFragment();
    if (!key) return;
    if (await withKeys((keys) => keys.put(key, "offered"))) {
        location.reload();
        await new Promise(() => {});
    }
    offered = key;
})();

/// Keeps a key that was accepted.
async function keep(key) {
    if (!await withKeys((keys) => keys.put(key, "page"))) return;
    await dropOffered();
}

// MARK: the handshake

/// Why there is no session: "missing" (no key), "refused" (the secret is not valid any more), "impostor" (what answers on this
/// port does not know the secret).
export class NoSession extends Error {
    constructor(reason) {
        super(reason);
        this.reason = reason;
    }
}

/// The close code of a web socket whose proof was wrong.
export const refusedCode = 4401;

const text = (words) => new TextEncoder().encode(words);
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
function bytes(digits) { return Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16)); }

/// The key to use now.
export async function currentKey() {
    await ready;
    const key = offered ?? await withKeys((keys) => keys.get("offered")) ?? await withKeys((keys) => keys.get("page"));
    if (!key) throw new NoSession("missing");
    return key;
}

/// Forgets the link's key, so that the stored one is tried next.
export async function dropOffered() {
    offered = null;
    await withKeys((keys) => keys.delete("offered"));
}

/// Proves both sides to each other. Nothing else is sent before the server's proof has been checked.
/// @param receive gives the server's next message.
/// @returns the session's token.
export async function shakeHands(socket, receive, key) {
    const port = location.port || "80";
    const theirs = JSON.parse(await receive()).nonce;
    if (!hexPattern.test(theirs)) throw new NoSession("impostor");
    const own = hex(crypto.getRandomValues(new Uint8Array(32)));
    const proof = await crypto.subtle.sign("HMAC", key, text(`guise page client|${port}|${theirs}|${own}`));
    socket.send(JSON.stringify({ nonce: own, proof: hex(proof) }));
    const answer = JSON.parse(await receive());
    const isProven = hexPattern.test(answer.proof)
        && await crypto.subtle.verify("HMAC", key, bytes(answer.proof), text(`guise page server|${port}|${own}|${theirs}`));
    if (!isProven) throw new NoSession("impostor");
    await keep(key);
    token = answer.session;
    return token;
}

// MARK: requests

let token = null;

/// Ends with the web socket.
export function endSession() { token = null; }

/// Fetches something of Guise's own with the session's token; rejected with Guise's words if it is refused.
export async function request(path, options = {}) {
    if (!token) throw new Error("Guise isn't running.");
    const answer = await fetch(path, { ...options, headers: { ...options.headers, Authorization: `Guise ${token}` } });
    if (answer.ok) return answer;
    const words = await answer.json().catch(() => null);
    throw new Error(words?.error.message ?? `Guise answered ${answer.status}.`);
}

/// The same as the address of a blob, which the caller revokes.
export async function requestURL(path, options) { return URL.createObjectURL(await (await request(path, options)).blob()); }
