/// ffmpeg options before an input that restrict it to plain pictures and clips. Playlists and session descriptions name
/// other files and hosts, whatever their own extension.
public let plainMedia = [
    "-protocol_whitelist", "file", "-format_whitelist", plainFormats.joined(separator: ","),
]

/// Containers and streams that contain their own pictures and sound, as ffmpeg's demuxers name them.
private let plainFormats =
    [
        "mov", "matroska", "avi", "mpegts", "mpeg", "mpegvideo", "m4v", "h264", "hevc", "obu", "ivf", "dv", "flv",
        "asf",
        "ogg", "gif", "apng", "mjpeg", "nut", "yuv4mpegpipe", "mxf", "rm", "wtv",
    ]
    + [
        "bmp", "gif", "j2k", "jpeg", "jpegls", "jpegxl", "pam", "pbm", "pgm", "png", "ppm", "qoi", "tiff", "webp",
    ].map { "\($0)_pipe" }
