import JSON

/// Requests for the things that masks recognise.
public enum ThingRequest: RequestGroup {
    /// List the taught things.
    case things
    /// Teach a thing, by its name, from photos (absolute paths); if there are none, from what is held up to the camera.
    case teach(String, photos: [String])
    /// Forget a thing.
    case forget(String)

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable { case things, teach, forget }

    /// Reads the keys of the request with a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .things: self = .things
        case .teach: self = .teach(try fields.string("name"), photos: try Self.photos(&fields))
        case .forget: self = .forget(try fields.string("name"))
        }
    }

    private static func photos(_ fields: inout Fields) throws -> [String] {
        let photos = try fields.strings("photos", default: [])
        // The paths must not depend on the daemon's working directory.
        for photo in photos where !photo.hasPrefix("/") {
            throw fields.wrong("photos", "a list with '\(brief(photo))'", allowed: "absolute paths: /home/...")
        }
        return photos
    }

    /// The keys of the request with a name, and what it does.
    public static func help(_ name: Name) -> RequestHelp {
        switch name {
        case .things: RequestHelp("the taught `things`, each with its `name` and the number of its `pictures`")
        case .teach:
            RequestHelp(
                keys: "`name`; `photos` (optional)",
                """
                teaches a thing from photos (absolute paths), or from three pictures of what is held up to the \
                camera, while a mask that recognises things is worn; the answer has the number of pictures that were \
                `added`, and of all `pictures` of the thing
                """)
        case .forget:
            RequestHelp(
                keys: "`name`",
                "moves the pictures of a taught thing to the trash, and lists the others")
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .things: (.things, [:])
        case .teach(let name, let photos):
            (.teach, ["name": JSON(name), "photos": photos.isEmpty ? nil : JSON(photos)])
        case .forget(let name): (.forget, ["name": JSON(name)])
        }
    }
}
