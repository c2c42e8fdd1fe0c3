//! XML 1.0 with namespaces, as far as documents of a few megabytes that strangers send need it:
//! bytes to text, text to events, and writing. This is the one door to `quick-xml`. No document
//! types, no entities but the five of XML, no validation.

mod attributes;
mod characters;
mod decode;
mod reader;
mod refused;
mod scope;
mod write;

pub use attributes::Attribute;
pub use decode::decode;
pub use reader::{Element, Event, Reader};
pub use refused::{Place, Reason, Refused};
pub use scope::Name;
pub use write::{Writer, escape_attribute, escape_text};

/// The namespace of `xml:base` and `xml:lang`.
pub const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// The namespace of namespace declarations.
pub const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

pub(crate) use characters::is_character;
