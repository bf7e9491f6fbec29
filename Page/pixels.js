// The size of pictures to ask for.

/// The pixels across that an element shows of a picture of this aspect ratio (width by height), rounded up to a
/// multiple of 32, so that few sizes are encoded.
export function pixels(element, aspect) {
    const view = element.ownerDocument.defaultView ?? globalThis;
    const width = Math.min(element.clientWidth, element.clientHeight * aspect) * view.devicePixelRatio;
    return Math.min(4096, Math.max(64, Math.ceil(width / 32) * 32));
}
