//! Tokens that were refused, counted by the address they came from. Guessing a token of 256 bits is
//! hopeless; what is held back here is the noise: a client that goes on with a revoked token, or
//! somebody who tries. A token that is valid is never held back, so no neighbour behind the same
//! proxy can lock another out.

use crate::limits;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Refusals that an address still has, as they were at `at`.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    const fn full(at: Instant) -> Self {
        Self { left: limits::REFUSALS_MAX as f64, at }
    }

    fn refill(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.at);
        let gained = since.as_secs_f64() / limits::REFUSAL_REFILL.as_secs_f64();
        self.left = (self.left + gained).min(f64::from(limits::REFUSALS_MAX));
        self.at = now;
    }

    /// Takes one, or gives the time until there is one.
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        self.refill(now);
        if self.left >= 1.0 {
            self.left -= 1.0;
            return Ok(());
        }
        Err(limits::REFUSAL_REFILL.mul_f64(1.0 - self.left))
    }

    fn is_full(mut self, now: Instant) -> bool {
        self.refill(now);
        self.left >= f64::from(limits::REFUSALS_MAX)
    }
}

/// The addresses that sent a refused token lately.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    of: HashMap<IpAddr, Allowance>,
    /// What all addresses share for which there is no room.
    rest: Option<Allowance>,
    /// When room was last looked for among those whose refusals are long ago.
    swept: Option<Instant>,
}

impl Failures {
    /// Notes that a token from `address` was refused. `Err` gives the time until the next may be:
    /// there were too many.
    pub(crate) fn note(&mut self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let address = site(address);
        if let Some(known) = self.of.get_mut(&address) {
            return known.take(now);
        }
        if self.of.len() >= limits::REFUSED_ADDRESSES_MAX {
            self.sweep(now);
        }
        if self.of.len() >= limits::REFUSED_ADDRESSES_MAX {
            return self.rest.get_or_insert(Allowance::full(now)).take(now);
        }
        self.of.entry(address).or_insert(Allowance::full(now)).take(now)
    }

    /// Looks at the whole table, and so not at every refusal: all reactors wait for it.
    fn sweep(&mut self, now: Instant) {
        let is_due = |swept| now.saturating_duration_since(swept) >= limits::REFUSAL_REFILL;
        if self.swept.is_none_or(is_due) {
            self.swept = Some(now);
            self.of.retain(|_, allowance| !allowance.is_full(now));
        }
    }
}

/// A client has a whole network of IPv6 addresses, of 64 bits at least (RFC 6177 §2).
fn site(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn v4(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    fn exhaust(failures: &mut Failures, address: IpAddr, now: Instant) -> usize {
        (0..1000).take_while(|_| failures.note(address, now).is_ok()).count()
    }

    #[test]
    fn an_address_has_its_refusals_and_gets_new_ones_with_time() {
        let (mut failures, start) = (Failures::default(), Instant::now());
        assert_eq!(exhaust(&mut failures, v4(1), start), limits::REFUSALS_MAX as usize);
        assert_eq!(failures.note(v4(1), start), Err(limits::REFUSAL_REFILL));
        assert!(failures.note(v4(2), start).is_ok(), "another address has its own");
        let later = start + limits::REFUSAL_REFILL;
        assert!(failures.note(v4(1), later).is_ok());
        assert!(failures.note(v4(1), later).is_err());
        let much_later = start + limits::REFUSAL_REFILL * 1000;
        assert_eq!(exhaust(&mut failures, v4(1), much_later), limits::REFUSALS_MAX as usize);
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        exhaust(&mut failures, "2001:db8:0:1::1".parse().unwrap(), now);
        assert!(failures.note("2001:db8:0:1:ffff::2".parse().unwrap(), now).is_err());
        assert!(failures.note("2001:db8:0:2::1".parse().unwrap(), now).is_ok());
        exhaust(&mut failures, "::ffff:192.0.2.1".parse().unwrap(), now);
        assert!(failures.note("192.0.2.1".parse().unwrap(), now).is_err(), "mapped");
    }

    #[test]
    fn the_table_is_bounded_and_those_without_room_share_an_allowance() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let max = u32::try_from(limits::REFUSED_ADDRESSES_MAX).unwrap();
        for number in 0..max {
            failures.note(v4(number), now).unwrap();
        }
        let shared = (max..2 * max).take_while(|n| failures.note(v4(*n), now).is_ok()).count();
        assert_eq!(shared, limits::REFUSALS_MAX as usize);
        assert_eq!(failures.of.len(), limits::REFUSED_ADDRESSES_MAX);
        // Once the others have their full allowance back, there is room again.
        let later = now + limits::REFUSAL_REFILL * (limits::REFUSALS_MAX + 1);
        failures.note(v4(2 * max), later).unwrap();
        assert_eq!(failures.of.len(), 1);
    }
}
