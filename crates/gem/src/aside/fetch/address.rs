//! Which addresses of the Internet protocols are whose: those of other machines on the Internet,
//! and those that mean this machine, its network, or nobody.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Addresses that begin with the same bits, as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    base: IpAddr,
    bits: u8,
}

impl Network {
    /// Whether `address` is one of them.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let other = u32::from(base) ^ u32::from(address);
                other.checked_shr(32 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let other = u128::from(base) ^ u128::from(address);
                other.checked_shr(128 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (base, bits) = text.split_once('/').ok_or(())?;
        let base: IpAddr = base.parse().map_err(|_| ())?;
        let bits: u8 = bits.parse().map_err(|_| ())?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { base, bits }).ok_or(())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.bits)
    }
}

const fn v4(a: u8, b: u8, c: u8, bits: u8) -> Network {
    Network { base: IpAddr::V4(Ipv4Addr::new(a, b, c, 0)), bits }
}

const fn v6(a: u16, b: u16, bits: u8) -> Network {
    Network { base: IpAddr::V6(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)), bits }
}

/// The blocks of the IANA IPv4 Special-Purpose Address Registry (RFC 6890) that are not another
/// machine's on the Internet, and multicast.
const NOT_PUBLIC_V4: [Network; 16] = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    // Link-local; 169.254.169.254 tells virtual machines their secrets.
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 31, 196, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    v4(224, 0, 0, 4),
    v4(240, 0, 0, 4),
];

/// Of IPv6 only this is given out for machines on the Internet (RFC 4291 §2.4) ...
const GLOBAL_UNICAST: Network = v6(0x2000, 0, 3);

/// ... except for protocols and tunnels, which hold other addresses, and documentation.
const NOT_PUBLIC_V6: [Network; 4] =
    [v6(0x2001, 0, 23), v6(0x2001, 0xdb8, 32), v6(0x2002, 0, 16), v6(0x3fff, 0, 20)];

/// The IPv4 addresses behind a translator (RFC 6052).
const TRANSLATED: Network = v6(0x64, 0xff9b, 96);

/// Whether the address is that of another machine on the Internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        address @ IpAddr::V4(_) => !NOT_PUBLIC_V4.iter().any(|block| block.contains(address)),
        address @ IpAddr::V6(_) => {
            GLOBAL_UNICAST.contains(address)
                && !NOT_PUBLIC_V6.iter().any(|block| block.contains(address))
        }
    }
}

/// The IPv4 address that an IPv6 address stands for, if it does (RFC 4291 §2.5.5.2, RFC 6052).
pub(crate) fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return v4.into();
    }
    if TRANSLATED.contains(address) {
        return Ipv4Addr::from_bits((u128::from(v6) & u128::from(u32::MAX)) as u32).into();
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_internet_and_others() {
        for text in
            ["8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.128.0.1", "2606:4700::1"]
        {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.19.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.2.3",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn networks_are_read_and_contain_their_own() {
        let network: Network = "10.20.0.0/14".parse().unwrap();
        assert_eq!(network.to_string(), "10.20.0.0/14");
        for (text, expected) in [("10.20.0.1", true), ("10.23.255.255", true), ("10.24.0.0", false)]
        {
            assert_eq!(network.contains(text.parse().unwrap()), expected, "{text}");
        }
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("255.1.2.3".parse().unwrap()));
        assert!(!all.contains("::1".parse().unwrap()));
        let one: Network = "::1/128".parse().unwrap();
        assert!(one.contains("::1".parse().unwrap()) && !one.contains("::2".parse().unwrap()));
        for text in ["", "10.0.0.0", "10.0.0.0/33", "::/129", "a/8", "10.0.0.0/-1", "10/8"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
