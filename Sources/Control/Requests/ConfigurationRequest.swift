import JSON

/// Requests for the configuration, and for the options of masks.
public enum ConfigurationRequest: RequestGroup {
    /// Set a value. With a mask: its opacity, or one of the named choices of its layers. Without one: a configuration
    /// key. Values of one key that follow each other quickly are undone together, but not those of different steps.
    case set(mask: String?, key: String, value: JSON, step: Int? = nil)
    /// Return the current configuration.
    case configuration
    /// Read the configuration file again.
    case reload
    /// Write the current configuration to the user's file.
    case save

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable { case set, configuration, reload, save }

    /// Reads the keys of the request with a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .set:
            let mask = fields.has("mask") ? try fields.string("mask") : nil
            let key = try fields.string("key")
            let step = fields.has("step") ? try fields.integer("step", in: 0...Int(Int32.max)) : nil
            self = .set(mask: mask, key: key, value: try fields.value(of: key), step: step)
        case .configuration: self = .configuration
        case .reload: self = .reload
        case .save: self = .save
        }
    }

    /// The keys of the request with a name, and what it does.
    public static func help(_ name: Name) -> RequestHelp {
        switch name {
        case .set:
            RequestHelp(
                keys: "`mask` (optional), `key`, `value`; `step` (optional)",
                """
                with a mask, sets an option of it: `opacity` (0 to 1, or `"50%"`), or one of its options: a colour \
                (`"#d02030"`, or a name such as `"navy"`), `palette`, `text`, `picture` (a name, or the absolute path \
                of a file). Without one, sets a configuration key, given by its path (`"camera.when"`), and saves it. \
                Values of an option that come within a second of each other, such as those of a slider, are undone \
                together, unless their `step` differs, a whole number from 0: each drag may have one
                """)
        case .configuration: RequestHelp("the current configuration: its `file` (or null) and all `values`")
        case .reload: RequestHelp("reads the configuration file again")
        case .save:
            RequestHelp(
                """
                writes the active masks, as those of the start, and the settings to the file they were read from, or \
                to `~/.config/guise/config.json` if that is the installed one
                """)
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .set(let mask, let key, let value, let step):
            (.set, ["mask": mask.map { JSON($0) }, "key": JSON(key), "value": value, "step": step.map { JSON($0) }])
        case .configuration: (.configuration, [:])
        case .reload: (.reload, [:])
        case .save: (.save, [:])
        }
    }
}
