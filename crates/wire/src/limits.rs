//! Every bound of the codecs, with what happens when it is reached.

/// Longest key of a memcached item, in bytes as they stand on the wire. Longer: the command is
/// refused ("bad command line format"), as memcached does.
pub const KEY_BYTES_MAX: usize = 250;

/// Longest line of a command but those with many keys, its line feed not counted. Longer: the
/// connection is to be closed without a word, as memcached does if the end has not come.
pub const LINE_BYTES_MAX: usize = 2048;

/// Longest line of `get`, `gets`, `gat` and `gats`: some thousand of the longest keys. Longer: the
/// connection is to be closed (memcached has no bound for the first two).
pub const GET_LINE_BYTES_MAX: usize = 1 << 20;

/// Most flags of a meta command; `ms`, whose line has a length besides, takes one less. More: the
/// command is refused ("options flags too long"), as memcached does.
pub const META_FLAGS_MAX: usize = 17;

/// Longest opaque token of a meta command, its `O` included. Longer: the command is refused
/// ("opaque token too long"), as memcached does.
pub const OPAQUE_BYTES_MAX: usize = 32;

/// Largest data block of a command, in bytes. Larger: the command is refused ("bad command line
/// format"), as memcached does; what a cache takes is its own, smaller bound.
pub const DATA_BYTES_MAX: usize = i32::MAX as usize - 2;

/// Longest line of a reply, data blocks apart. Longer: the reply is malformed.
pub const REPLY_LINE_BYTES_MAX: usize = 8 << 10;

/// Largest time to live that is counted from now, in seconds: 30 days. Larger numbers are points in
/// time, in seconds since 1970.
pub const RELATIVE_EXPTIME_MAX: i64 = 60 * 60 * 24 * 30;

// A line that is no `get` holds the longest key and everything around it.
const _: () = assert!(LINE_BYTES_MAX > 2 * KEY_BYTES_MAX + 17 * (OPAQUE_BYTES_MAX + 1));

/// Largest message of a WebSocket, in bytes, all of its frames together. Larger: the connection is
/// to be closed with 1009.
pub const WEBSOCKET_MESSAGE_BYTES_MAX: usize = 4 << 20;

/// Largest server-sent event, in bytes: a line of it, or its data. Larger: the stream cannot be
/// read.
pub const EVENT_BYTES_MAX: usize = 4 << 20;

/// Most bytes in a frame of the admin socket, its head apart. More: the stream cannot be read.
pub const FRAME_BYTES_MAX: usize = 64 << 10;

/// Largest document of XML, in bytes. Larger: it is refused before it is looked at.
pub const XML_DOCUMENT_BYTES_MAX: usize = 8 << 20;

/// Most elements that are open at once. More: the document is refused.
pub const XML_DEPTH_MAX: usize = 100;

/// Most elements of a document, so that the values made of it stay in proportion. More: the
/// document is refused.
pub const XML_ELEMENTS_MAX: usize = 200_000;

/// Most attributes of an element, namespace declarations among them. More: the document is refused.
pub const XML_ATTRIBUTES_MAX: usize = 64;

/// Longest value of an attribute, in bytes; a picture within a page may be one. Longer: the
/// document is refused.
pub const XML_ATTRIBUTE_BYTES_MAX: usize = 1 << 20;

/// Longest base that `xml:base` states, in bytes, resolved by those around it: each reference that
/// is resolved repeats it. Longer: the document is refused.
pub const XML_BASE_BYTES_MAX: usize = 2 << 10;

/// Most namespace declarations that hold at a place of a document. More: the document is refused.
pub const XML_NAMESPACES_MAX: usize = 64;

/// Most elements directly in an entry or at the head of a feed. More: the document is refused.
pub const ATOM_CHILDREN_MAX: usize = 10_000;

/// Longest `xml:base` of another server that an entry states, in bytes, times the elements directly
/// in it that need it: it is stored with each. More: the document is refused.
pub const ATOM_BASES_BYTES_MAX: usize = 1 << 20;

// The longest attribute fits into a document.
const _: () = assert!(XML_ATTRIBUTE_BYTES_MAX < XML_DOCUMENT_BYTES_MAX);
