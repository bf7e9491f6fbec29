/// A reader of FlatBuffers: tables of optional fields that refer to each other by offsets. Every read is checked
/// against the file's end, so that damaged files only throw.
///
/// All offsets are read forwards but one, from a table to its list of fields, and no table is read recursively.
struct FlatBuffer {
    /// The reason that a file cannot be read.
    struct Damage: Error, Equatable {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// A table: the position of its first byte, and its list of fields.
    struct Table {
        fileprivate let position: Int
        fileprivate let fields: Int
        fileprivate let fieldCount: Int
    }

    /// A list: the position of its first element and the number of elements.
    struct List {
        fileprivate let position: Int
        let count: Int
    }

    let bytes: [UInt8]

    /// The table that the file starts with.
    /// - Parameter identifier: the four letters after its offset.
    func root(_ identifier: String) throws(Damage) -> Table {
        guard bytes.count >= 8, bytes[4..<8].elementsEqual(identifier.utf8) else {
            throw Damage("it is not a \(identifier) file")
        }
        return try table(at: 0)
    }

    /// An integer in little-endian order.
    func integer<Value: FixedWidthInteger>(_ type: Value.Type, at position: Int) throws(Damage) -> Value {
        let size = MemoryLayout<Value>.size
        guard position >= 0, position <= bytes.count - size else { throw Damage("it ends too early") }
        var value: Value = 0
        for i in 0..<size { value |= Value(truncatingIfNeeded: bytes[position + i]) << (8 * i) }
        return value
    }

    /// The table that the offset at a position refers to.
    private func table(at position: Int) throws(Damage) -> Table {
        let start = position + Int(try integer(UInt32.self, at: position))
        let fields = start - Int(try integer(Int32.self, at: start))
        let size = Int(try integer(UInt16.self, at: fields))
        guard size >= 4, fields + size <= bytes.count else { throw Damage("a list of fields is damaged") }
        return Table(position: start, fields: fields, fieldCount: (size - 4) / 2)
    }

    /// The position of a field's value; nil if the table lacks it.
    private func position(_ field: Int, of table: Table) throws(Damage) -> Int? {
        guard field < table.fieldCount else { return nil }
        let offset = Int(try integer(UInt16.self, at: table.fields + 4 + 2 * field))
        return offset == 0 ? nil : table.position + offset
    }

    /// A field that is an integer.
    func integer<Value: FixedWidthInteger>(
        _ field: Int, of table: Table, default fallback: Value
    ) throws(Damage) -> Value {
        guard let position = try position(field, of: table) else { return fallback }
        return try integer(Value.self, at: position)
    }

    /// A field that is a table; nil if the table lacks it.
    func table(_ field: Int, of table: Table) throws(Damage) -> Table? {
        guard let position = try position(field, of: table) else { return nil }
        return try self.table(at: position)
    }

    /// A field that is a list; an empty one if the table lacks it.
    /// - Parameter size: bytes of an element.
    func list(_ field: Int, of table: Table, size: Int) throws(Damage) -> List {
        guard let position = try position(field, of: table) else { return List(position: 0, count: 0) }
        let start = position + Int(try integer(UInt32.self, at: position))
        let count = Int(try integer(UInt32.self, at: start))
        guard count <= (bytes.count - start - 4) / size else { throw Damage("a list is longer than the file") }
        return List(position: start + 4, count: count)
    }

    /// A field that is a list of tables.
    /// - Parameter limit: the most elements.
    func tables(_ field: Int, of table: Table, limit: Int) throws(Damage) -> [Table] {
        let list = try list(field, of: table, size: 4)
        guard list.count <= limit else { throw Damage("it has a list of \(list.count) tables, at most \(limit)") }
        var tables: [Table] = []
        for i in 0..<list.count { tables.append(try self.table(at: list.position + 4 * i)) }
        return tables
    }

    /// A field that is a list of 32-bit integers.
    /// - Parameter limit: the most elements.
    func integers(_ field: Int, of table: Table, limit: Int) throws(Damage) -> [Int] {
        let list = try list(field, of: table, size: 4)
        guard list.count <= limit else { throw Damage("it has a list of \(list.count) numbers, at most \(limit)") }
        var numbers: [Int] = []
        for i in 0..<list.count { numbers.append(Int(try integer(Int32.self, at: list.position + 4 * i))) }
        return numbers
    }

    /// A field that is a text or a list of bytes.
    func bytes(_ field: Int, of table: Table) throws(Damage) -> ArraySlice<UInt8> {
        let list = try list(field, of: table, size: 1)
        return bytes[list.position..<list.position + list.count]
    }
}
