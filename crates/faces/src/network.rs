//! Networks: a range of client addresses as CIDR writes it (RFC 4632 §3.1, RFC 4291 §2.3).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// An address with the number of its leading bits that count, such as `10.0.0.0/8`. An address
/// alone is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u8,
}

/// The text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an address or a network such as 10.0.0.0/8 or ::1; got \"{got}\"")]
pub struct NetworkError {
    /// What came.
    pub got: String,
}

impl Network {
    /// Whether `address` is in it. An IPv4 address that came by an IPv6 socket is an IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                self.agree(own.to_bits().into(), other.to_bits().into(), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => self.agree(own.to_bits(), other.to_bits(), 128),
            _ => false,
        }
    }

    fn agree(&self, own: u128, other: u128, bits: u8) -> bool {
        // A shift by all 128 bits leaves nothing to differ in.
        (own ^ other).checked_shr(u32::from(bits - self.prefix_bits)).unwrap_or(0) == 0
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        parse(text).ok_or_else(|| NetworkError { got: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Network> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let prefix_bits = match prefix {
        None => bits,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
    };
    (prefix_bits <= bits).then_some(Network { address, prefix_bits })
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

/// What counts as one client where clients are counted: an IPv4 address, or the /64 of an IPv6
/// address, because one machine has as many addresses in its /64 as it likes.
pub(crate) fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_in_and_outside() {
        for (net, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("192.0.2.128/25", "192.0.2.200", "192.0.2.127"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
            ("::1", "::1", "::2"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("::/0", "2001:db8::1", "203.0.113.9"),
            ("127.0.0.0/8", "::ffff:127.0.0.1", "::ffff:128.0.0.1"),
        ] {
            assert!(network(net).contains(inside.parse().unwrap()), "{net} {inside}");
            assert!(!network(net).contains(outside.parse().unwrap()), "{net} {outside}");
        }
    }

    #[test]
    fn what_is_no_network() {
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/", "10.0.0.0/+8", "host"] {
            let error = text.parse::<Network>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn one_machine_counts_once() {
        let same = |a: &str, b: &str| client(a.parse().unwrap()) == client(b.parse().unwrap());
        assert!(same("2001:db8::1", "2001:db8::ffff:1"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(same("::ffff:192.0.2.1", "192.0.2.1"));
        assert!(!same("192.0.2.1", "192.0.2.2"));
    }
}
