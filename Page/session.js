// The authentication of this browser to Guise, and of Guise to the browser.
//
// `guise page` opens this page with a secret after the "#", which browsers do not send to servers. The secret is
// imported at once as a key that scripts cannot read back, stored in IndexedDB for this origin (including its port),
// and removed from the address. Over the web socket, each side proves that it knows the secret. The session token that
// follows authorizes requests for pictures until the web socket closes.

/// The fragment of the link that contains the secret.
const secretPattern = /^#([0-9a-f]{64})$/;
const hexPattern = /^[0-9a-f]{64}$/;

/// Removes the secret from the address.
/// @returns the imported key; null if there was no secret.
async function takeFragment() {
    const secret = secretPattern.exec(location.hash)?.[1];
    if (!secret) return null;
    history.replaceState(null, "", location.pathname);
    return crypto.subtle.importKey("raw", bytes(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

/// Calls `listener` when a link with a secret is opened in this tab.
export function onLink(listener) {
    addEventListener("hashchange", async () => {
        const key = await takeFragment();
        if (!key) return;
        offered = key;
        listener();
    });
}

// MARK: the keys: "page", which was accepted before, and "offered", which came with a link and is not accepted yet

/// The offered key, if the database could not store it.
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

/// Runs `work` with the object store of the keys. Returns undefined without a database, as in some private windows.
async function withKeys(work) {
    try { return await finished(work((await database).transaction("keys", "readwrite").objectStore("keys"))); } catch { return undefined; }
}

/// Takes the secret from the address. Browsers remember the address that a document was loaded from, where scripts can
/// read it, so the page is loaded again from the address without the secret. Resolves when there is no secret left to
/// read.
const ready = (async () => {
    const key = await takeFragment();
    if (!key) return;
    if (await withKeys((keys) => keys.put(key, "offered"))) {
        location.reload();
        await new Promise(() => {});
    }
    offered = key;
})();

/// Stores a key that was accepted. A link may have offered another one during the handshake, which is tried next.
async function keep(key) {
    if (!await withKeys((keys) => keys.put(key, "page"))) return;
    if (offered && offered !== key) return;
    await dropOffered();
}

// MARK: the handshake

/// The reason that there is no session: "missing" (no key), "refused" (the secret is no longer valid), "impostor" (the
/// server on this port does not know the secret).
export class NoSession extends Error {
    constructor(reason) {
        super(reason);
        this.reason = reason;
    }
}

/// The web socket's close code for a wrong proof.
export const refusedCode = 4401;

const text = (words) => new TextEncoder().encode(words);
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
function bytes(digits) { return Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16)); }

/// A message of the handshake. Guise sends only JSON.
function parse(message) {
    try { return JSON.parse(message); } catch { throw new NoSession("impostor"); }
}

/// The key to use for the next handshake.
/// @throws NoSession if there is none.
export async function currentKey() {
    await ready;
    const key = offered ?? await withKeys((keys) => keys.get("offered")) ?? await withKeys((keys) => keys.get("page"));
    if (!key) throw new NoSession("missing");
    return key;
}

/// Deletes the offered key, so that the stored one is tried next.
export async function dropOffered() {
    offered = null;
    await withKeys((keys) => keys.delete("offered"));
}

/// Authenticates both sides to each other. Nothing else is sent before the server's proof is verified.
/// @param receive returns the server's next message.
/// @returns the session's token.
export async function shakeHands(socket, receive, key) {
    const port = location.port || "80";
    const theirs = parse(await receive()).nonce;
    if (!hexPattern.test(theirs)) throw new NoSession("impostor");
    const own = hex(crypto.getRandomValues(new Uint8Array(32)));
    const proof = await crypto.subtle.sign("HMAC", key, text(`guise page client|${port}|${theirs}|${own}`));
    socket.send(JSON.stringify({ nonce: own, proof: hex(proof) }));
    const answer = parse(await receive());
    const isProven = hexPattern.test(answer.proof)
        && await crypto.subtle.verify("HMAC", key, bytes(answer.proof), text(`guise page server|${port}|${own}|${theirs}`));
    if (!isProven) throw new NoSession("impostor");
    await keep(key);
    token = answer.session;
    return token;
}

// MARK: requests

let token = null;

/// Forgets the token when the web socket closes.
export function endSession() { token = null; }

/// Fetches a resource of Guise with the session's token. Rejected with Guise's message if it fails.
export async function request(path, options = {}) {
    if (!token) throw new Error("Guise isn't running.");
    const answer = await fetch(path, { ...options, headers: { ...options.headers, Authorization: `Guise ${token}` } });
    if (answer.ok) return answer;
    const words = await answer.json().catch(() => null);
    throw new Error(words?.error.message ?? `Guise answered ${answer.status}.`);
}

/// Fetches a resource as the address of a blob, which the caller revokes.
export async function requestURL(path, options) { return URL.createObjectURL(await (await request(path, options)).blob()); }
