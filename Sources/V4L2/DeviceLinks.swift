import SystemKit

/// The path of a video node that stays the same: a link that udev made to it. The numbers of nodes change when cameras
/// are plugged in, and at each start.
/// - Parameters:
///   - node: the node: "/dev/video0".
///   - hasTwin: whether another camera of the same name is connected. Then the link by its port is used: many cameras
///     have no serial number, and udev's link by their names leads to only one of them.
///   - folder: where udev makes the links.
/// - Returns: nil if there is no such link, as without udev.
public func stablePath(of node: String, hasTwin: Bool, in folder: String = "/dev/v4l") -> String? {
    for kind in hasTwin ? ["by-path"] : ["by-id", "by-path"] {
        let links = entries(of: "\(folder)/\(kind)").map { "\(folder)/\(kind)/\($0)" }
        if let link = links.first(where: { realPath(of: $0) == node }) { return link }
    }
    return nil
}
