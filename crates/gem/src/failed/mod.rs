//! Requests that failed: what is known of each ([`Report`]), and the file that keeps it
//! ([`ErrorLog`]), which `sarsen errors` reads ([`read`]). Nothing here is on the way of a request
//! that does not fail.

mod code;
mod file;
mod keeper;
mod kept;
mod line;
mod read;
mod report;

pub use code::CodeFrame;
pub use file::{ErrorLog, ErrorLogFigures};
pub(crate) use keeper::Keeper;
pub use kept::Kept;
pub use read::{ErrorsRead, read};
pub use report::Report;
