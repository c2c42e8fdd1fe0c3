//! Whom an application may ask: `[fetch]` of its `sarsen.toml`. Hosts by name before anything is
//! looked up, addresses once they are.

use super::address::{Network, is_public, plain};
use std::net::IpAddr;
use std::path::PathBuf;

/// The rules of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Hosts that may be asked; without any, nobody may.
    pub(crate) allow: Vec<Host>,
    /// Networks that may be asked although they are not the Internet.
    pub(crate) private: Vec<Network>,
    /// A file of certificates to trust instead of the built-in ones, in the application's folder.
    pub(crate) certificates: Option<PathBuf>,
}

/// A host, or all below one, and a port or the scheme's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    name: Name,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Any,
    This(String),
    Below(String),
}

impl Host {
    /// Reads `api.example.com`, `*.example.com`, `*`, each perhaps with `:port`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, port) = split_port(text)?;
        let name = name.to_ascii_lowercase();
        let name = match name.strip_prefix("*.") {
            _ if name == "*" => Name::Any,
            Some(parent) if is_name(parent) => Name::Below(parent.to_owned()),
            None if is_name(&name) || is_address(&name) => Name::This(name),
            _ => return None,
        };
        Some(Self { name, port })
    }

    fn is(&self, host: &str, port: u16, scheme_port: u16) -> bool {
        let is_name = match &self.name {
            Name::Any => true,
            Name::This(name) => name == host,
            Name::Below(parent) => {
                host.strip_suffix(parent.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
        };
        is_name && port == self.port.unwrap_or(scheme_port)
    }
}

impl Policy {
    /// Whether a host may be asked, by its name in lower case; an address of IPv6 has brackets.
    pub(crate) fn allows(&self, host: &str, port: u16, scheme_port: u16) -> bool {
        // A name may be written with the root's dot.
        let host = host.strip_suffix('.').unwrap_or(host);
        self.allow.iter().any(|allowed| allowed.is(host, port, scheme_port))
    }

    /// Whether an address may be connected to.
    pub(crate) fn allows_address(&self, address: IpAddr) -> bool {
        is_public(address) || self.private.iter().any(|network| network.contains(plain(address)))
    }
}

/// The name, or the address of IPv6 in brackets, and the port after it.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let end = if text.starts_with('[') { text.find(']')? + 1 } else { 0 };
    match text[end..].find(':') {
        None if end == 0 || end == text.len() => Some((text, None)),
        None => None,
        Some(at) if end == 0 || at == 0 => {
            let port = text[end + at + 1..].parse().ok().filter(|port| *port > 0)?;
            Some((&text[..end + at], Some(port)))
        }
        Some(_) => None,
    }
}

fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_address(text: &str) -> bool {
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|inside| inside.parse::<std::net::Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(list: &[&str], host: &str, port: u16) -> bool {
        let allow = list.iter().map(|text| Host::parse(text).unwrap()).collect();
        Policy { allow, ..Policy::default() }.allows(host, port, 443)
    }

    #[test]
    fn hosts_by_name_and_port() {
        assert!(!allows(&[], "example.com", 443));
        assert!(allows(&["api.example.com"], "api.example.com", 443));
        assert!(allows(&["API.example.com"], "api.example.com.", 443));
        assert!(!allows(&["api.example.com"], "api.example.com", 8443));
        assert!(!allows(&["api.example.com"], "example.com", 443));
        assert!(!allows(&["api.example.com"], "xapi.example.com", 443));
        assert!(allows(&["*.example.com:8443"], "a.b.example.com", 8443));
        assert!(!allows(&["*.example.com:8443"], "a.example.com", 443));
        assert!(!allows(&["*.example.com"], "example.com", 443));
        assert!(!allows(&["*.example.com"], "evilexample.com", 443));
        assert!(allows(&["*"], "example.com", 443) && !allows(&["*"], "example.com", 22));
        assert!(allows(&["[::1]:80"], "[::1]", 80));
        assert!(allows(&["127.0.0.1:8000"], "127.0.0.1", 8000));
    }

    #[test]
    fn what_names_no_host() {
        for text in [
            "",
            "*.",
            "*.*",
            "a*.example.com",
            "https://example.com",
            "example.com/",
            "example.com:",
            "example.com:0",
            "example.com:70000",
            "a b",
            "user@example.com",
            "[::1",
            "[::1]x",
            "::1",
            "a..b",
        ] {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_that_are_not_the_internets_are_asked_for() {
        let private = vec!["10.1.0.0/16".parse().unwrap(), "127.0.0.1/32".parse().unwrap()];
        let policy = Policy { private, ..Policy::default() };
        for (text, expected) in [
            ("8.8.8.8", true),
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("10.2.0.0", false),
            ("127.0.0.1", true),
            ("127.0.0.2", false),
            ("169.254.169.254", false),
        ] {
            assert_eq!(policy.allows_address(text.parse().unwrap()), expected, "{text}");
        }
    }
}
