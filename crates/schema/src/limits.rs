//! Every bound of schemas, with what happens when it is reached.

/// Largest schema, in bytes of its JSON text. Larger: `SchemaError`.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;

/// Deepest nesting of arrays and objects, in schemas and documents: what the repository takes, too.
/// Deeper: `SchemaError`, or a `Failure` about the whole document.
pub const DEPTH_MAX: usize = 128;

/// Longest regular expression, in bytes. Longer: `SchemaError`.
pub const PATTERN_BYTES_MAX: usize = 1024;

/// Most regular expressions of one schema. More: `SchemaError`.
pub const PATTERNS_MAX: usize = 100;

/// Largest program that a regular expression comes to, in bytes. Larger: `SchemaError`.
pub const PATTERN_PROGRAM_BYTES_MAX: usize = 128 << 10;

/// Most schemas that one after the other apply to the same place of a document. A schema that
/// goes on for longer, or in a circle: `SchemaError`.
pub const IN_PLACE_MAX: usize = 64;

/// Schemas under way at a time: they nest by the document and by what applies in place. More: a
/// `Failure` about the whole document.
pub const NESTED_MAX: usize = 400;

/// Steps that checking a document may take: so many, and so many more for each of its bytes, up to
/// the most. A step is a schema at a place, a member or element that is looked at, or 32 bytes that
/// are compared. More: a `Failure` about the whole document.
pub const STEPS_BASE: u64 = 100_000;
/// See [`STEPS_BASE`].
pub const STEPS_PER_BYTE: u64 = 100;
/// See [`STEPS_BASE`].
pub const STEPS_MAX: u64 = 4_000_000;

/// Failures that are told of one document. More are not looked for.
pub const FAILURES_MAX: usize = 16;
