//! Where clients come: an address, or a socket in the file system.

use crate::limits::SOCKET_PATH_BYTES_MAX;
use std::fmt;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// A place to listen at: `127.0.0.1:11211` or `unix:/run/sarsen/cache`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An address; port 0 takes a free one.
    Address(SocketAddr),
    /// The path of a socket, which only this user can reach.
    Path(PathBuf),
}

/// A text that is no place.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "expected an address such as 127.0.0.1:11211, or unix:PATH with at most \
     {SOCKET_PATH_BYTES_MAX} bytes of path"
)]
pub struct PlaceError;

impl Place {
    /// Whether only this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Address(address) => address.ip().to_canonical().is_loopback(),
            Self::Path(_) => true,
        }
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        match text.strip_prefix("unix:") {
            Some(path) => {
                let path = PathBuf::from(path);
                let bytes = path.as_os_str().as_bytes().len();
                let fits = (1..=SOCKET_PATH_BYTES_MAX).contains(&bytes);
                fits.then_some(Self::Path(path)).ok_or(PlaceError)
            }
            None => text.parse().map(Self::Address).map_err(|_| PlaceError),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Path(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        for text in ["127.0.0.1:11211", "[::1]:0", "unix:/run/cache", "unix:cache"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        let long = format!("unix:{}", "x".repeat(SOCKET_PATH_BYTES_MAX + 1));
        for text in ["", "unix:", "11211", "localhost:1", "127.0.0.1", &long] {
            assert_eq!(text.parse::<Place>(), Err(PlaceError), "{text}");
        }
        let is_local = |text: &str| text.parse::<Place>().unwrap().is_local();
        assert!(is_local("127.9.9.9:1") && is_local("[::1]:1") && is_local("unix:x"));
        assert!(!is_local("0.0.0.0:1") && !is_local("[::]:1") && !is_local("192.0.2.1:1"));
    }
}
