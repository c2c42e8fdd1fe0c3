//! Which server a request is for: a host and, if it is not the usual one, a port (RFC 3986 §3.2.2,
//! §3.2.3). This is the only place where Host, `:authority`, the authority of a target and what
//! proxies tell of them are read. Which of them counts is found out in `forwarded`.

use std::net::{Ipv4Addr, Ipv6Addr};

/// See the module. A user's name before the host is refused: RFC 9110 §4.2.4 allows no sender to
/// write one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Authority<'a> {
    /// Without a colon that no port follows (RFC 3986 §6.2.3).
    text: &'a str,
    host: Host<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host<'a> {
    Address(Ipv6Addr),
    /// A registered name, or an IPv4 address, which looks like one.
    Name(&'a str),
}

impl<'a> Authority<'a> {
    /// Reads an authority; `None`: it is none. A host that is empty is refused, as RFC 9110 §4.2.1
    /// asks, and so are addresses of a future version, which nobody could reach (RFC 3986 §3.2.2).
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, after) = rest.split_once(']')?;
                (Host::Address(address.parse().ok()?), after)
            }
            None => {
                let (name, after) = text.split_at(text.find(':').unwrap_or(text.len()));
                (is_name(name).then_some(Host::Name(name))?, after)
            }
        };
        let text = match port.strip_prefix(':') {
            None => port.is_empty().then_some(text)?,
            Some("") => &text[..text.len() - 1],
            Some(port) => is_port(port).then_some(text)?,
        };
        Some(Self { text, host })
    }

    pub(crate) fn as_str(&self) -> &'a str {
        self.text
    }

    /// Whether this machine, and no other, is meant.
    pub(crate) fn is_this_machine(&self) -> bool {
        match self.host {
            Host::Address(address) => address.is_loopback(),
            Host::Name(name) => {
                let is_loopback = name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback());
                is_loopback || name.eq_ignore_ascii_case("localhost")
            }
        }
    }
}

/// Whether it may be registered: `*( unreserved / pct-encoded / sub-delims )`, and not empty.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let is_right = match byte {
            b'%' => (0..2).all(|_| bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte),
        };
        if !is_right {
            return false;
        }
    }
    !text.is_empty()
}

/// TCP has no others.
fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3986_3_2_2_hosts_and_ports() {
        for (text, expected) in [
            ("localhost", "localhost"),
            ("localhost:8000", "localhost:8000"),
            ("LOCALHOST:0080", "LOCALHOST:0080"),
            ("localhost:", "localhost"),
            ("localhost:65535", "localhost:65535"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]", "[::1]"),
            ("[::1]:", "[::1]"),
            ("[2001:db8::1]:8443", "[2001:db8::1]:8443"),
            ("[::ffff:192.0.2.1]:1", "[::ffff:192.0.2.1]:1"),
            ("a_b-c.example.", "a_b-c.example."),
            ("caf%C3%A9.example", "caf%C3%A9.example"),
            ("a!$&'()*+,;=~b", "a!$&'()*+,;=~b"),
        ] {
            assert_eq!(Authority::parse(text).map(|it| it.text), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn what_is_none() {
        for text in [
            "",
            ":",
            ":80",
            "localhost:abc",
            "localhost:80:80",
            "localhost:+80",
            "localhost:-1",
            "localhost: 80",
            "localhost:65536",
            "localhost:99999999999999999999",
            "localhost:0x50",
            "a b",
            " a",
            "a\t",
            "u@h",
            "u:p@h:80",
            "@h",
            "h@",
            "h/path",
            "http://h",
            "h?q",
            "h#f",
            "h\\i",
            "h%",
            "h%4",
            "h%zz",
            "a\"b",
            "<a>",
            "caf\u{e9}.example",
            "::1",
            "2001:db8::1",
            "[::1",
            "::1]",
            "[::1]80",
            "[::1]x",
            "[::1]:80:80",
            "[]",
            "[localhost]",
            "[127.0.0.1]",
            "[fe80::1%25eth0]",
            "[v7.a]",
            "a[::1]",
            "h\0",
            "h\u{7f}",
        ] {
            assert_eq!(Authority::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn names_of_this_machine() {
        let is = |text| Authority::parse(text).is_some_and(|it| it.is_this_machine());
        for here in ["localhost", "LocalHost:1", "127.8.9.1", "127.0.0.1:80", "[::1]:80"] {
            assert!(is(here), "{here}");
        }
        for other in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::2]"] {
            assert!(!is(other), "{other}");
        }
    }
}
