// A stream of JPEGs (multipart/x-mixed-replace) on a canvas. An <img> cannot send the token, and takes twice as long.

import { request } from "./session.js";

const decoder = new TextDecoder("latin1");

/// Shows pictures until the signal aborts or the stream ends. The next picture is read when the last one has been
/// decoded, so that none queue up.
/// - `onPicture` is called after each picture, when the canvas has the picture's width and height. While the picture is
///   a placeholder, which must not be mirrored because it has words on it, the canvas has the class "is-placeholder".
export async function showStream(canvas, path, signal, onPicture = () => {}) {
    const context = canvas.getContext("bitmaprenderer");
    const reader = (await request(path, { signal })).body.getReader();
    let buffer = new Uint8Array(0);
    /// Reads until `count` bytes are buffered; false at the end of the stream.
    const fill = async (count) => {
        while (buffer.length < count) {
            const { value, done } = await reader.read();
            if (done) return false;
            const joined = new Uint8Array(buffer.length + value.length);
            joined.set(buffer);
            joined.set(value, buffer.length);
            buffer = joined;
        }
        return true;
    };
    // The head of a part is never longer than this, and its body is always longer.
    const headSize = 128;
    while (await fill(headSize)) {
        const head = decoder.decode(buffer.subarray(0, headSize));
        const end = head.indexOf("\r\n\r\n");
        const count = Number(/Content-Length: (\d+)/.exec(head)?.[1]);
        const isPlaceholder = /^Guise-Placeholder: 1/m.test(head.slice(0, end));
        if (end < 0 || !(count > 0)) throw new Error("The stream is damaged.");
        const start = end + 4;
        if (!await fill(start + count)) return;
        const jpeg = new Blob([buffer.subarray(start, start + count)], { type: "image/jpeg" });
        buffer = buffer.slice(start + count);
        const picture = await createImageBitmap(jpeg).catch(() => null);
        if (signal.aborted) return;
        if (!picture) continue;
        if (canvas.width !== picture.width) canvas.width = picture.width;
        if (canvas.height !== picture.height) canvas.height = picture.height;
        context.transferFromImageBitmap(picture);
        canvas.classList.toggle("is-placeholder", isPlaceholder);
        onPicture();
    }
}

/// Removes the picture, which is then 0 pixels wide.
export function clear(canvas) { canvas.width = canvas.height = 0; }
