//! Atom documents (RFC 4287) and those of the publishing protocol (RFC 5023), read and written; RSS
//! 2.0, JSON Feed 1.1 and OPML 2.0, written. What is read keeps everything that was sent, and what
//! is stored of it can stand alone or in any feed (`docs/atompub.md`). No I/O, no clock, no state.
//!
//! `entry` and `feed` read, `stored` makes of an entry what is kept and served, `service` and
//! `categories` are the documents of the protocol, `feed_document`, `rss`, `json_feed` and `opml`
//! write for readers.

pub mod categories;
mod construct;
mod content;
mod date;
pub mod entry;
pub mod feed;
pub mod feed_document;
mod html;
pub mod json_feed;
pub mod media_type;
pub mod opml;
mod refused;
pub mod rss;
mod rules;
pub mod service;
mod source;
mod stored;
mod syndication;

pub use categories::{Categories, Category};
pub use construct::{InReplyTo, Link, Person, Text, TextKind};
pub use content::Content;
pub use date::Date;
pub use entry::{Entry, Foreign};
pub use feed::{Feed, Tombstone};
pub use refused::{Class, Invalid, ReadError};
pub use rules::is_language;
pub use stored::{Owned, OwnedContent};
pub use syndication::{Channel, Enclosure, Item};

/// The namespace of Atom (RFC 4287 §1.2).
pub const ATOM: &str = "http://www.w3.org/2005/Atom";

/// The namespace of the publishing protocol (RFC 5023 §3.2).
pub const APP: &str = "http://www.w3.org/2007/app";

/// The namespace of the publishing protocol in the drafts before RFC 5023, which clients of then
/// still write.
pub const APP_DRAFTS: &str = "http://purl.org/atom/app#";

/// The namespace of paged and archived feeds (RFC 5005 §1.2).
pub const HISTORY: &str = "http://purl.org/syndication/history/1.0";

/// The namespace of threads (RFC 4685 §2).
pub const THREAD: &str = "http://purl.org/syndication/thread/1.0";

/// The namespace of tombstones (RFC 6721 §2).
pub const TOMBSTONES: &str = "http://purl.org/atompub/tombstones/1.0";

/// The namespace of XHTML.
pub const XHTML: &str = "http://www.w3.org/1999/xhtml";

/// The media type of an entry (RFC 5023 §12.1).
pub const ENTRY_TYPE: &str = "application/atom+xml;type=entry";

/// The media type of a feed.
pub const FEED_TYPE: &str = "application/atom+xml;type=feed";

/// The media type of a service document (RFC 5023 §16.2).
pub const SERVICE_TYPE: &str = "application/atomsvc+xml";

/// The media type of a category document (RFC 5023 §16.1).
pub const CATEGORIES_TYPE: &str = "application/atomcat+xml";
