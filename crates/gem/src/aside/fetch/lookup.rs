//! Looking up hosts: the addresses that a request may connect to, and no others. The system's own
//! look-up cannot be given up, so each has a thread of its own, and these are bounded.

use super::policy::Policy;
use crate::limits::FETCH_LOOKUPS_MAX;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// As many addresses as the client's list holds.
const ADDRESSES_MAX: usize = 16;

/// Looks up hosts by the rules of an application.
#[derive(Debug)]
pub(super) struct Lookup {
    policy: Policy,
    /// Look-ups under way, those included for which nobody waits any more.
    open: Arc<AtomicUsize>,
}

impl Lookup {
    pub(super) fn new(policy: Policy) -> Self {
        Self { policy, open: Arc::default() }
    }

    fn addresses(
        &self,
        place: String,
        timeout: NextTimeout,
    ) -> Result<Vec<SocketAddr>, ureq::Error> {
        let (sender, found) = sync_channel(1);
        let open = Opened::one(&self.open).ok_or_else(|| {
            io::Error::other("too many look-ups of hosts are under way; try again shortly")
        })?;
        let look_up = move || {
            let _open = open;
            let found = place.to_socket_addrs().map(Iterator::collect);
            // Nobody may wait for it any more.
            let _ = sender.send(found);
        };
        thread::Builder::new().name("look-up".to_owned()).spawn(look_up)?;
        match found.recv_timeout(*timeout.after) {
            Ok(found) => Ok(found?),
            Err(_late) => Err(ureq::Error::Timeout(timeout.reason)),
        }
    }
}

impl Resolver for Lookup {
    fn resolve(
        &self,
        uri: &Uri,
        _config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().ok_or(ureq::Error::HostNotFound)?;
        let scheme_port = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(scheme_port);
        let found = self.addresses(format!("{host}:{port}"), timeout)?;
        let first = found.first().copied().ok_or(ureq::Error::HostNotFound)?;
        let mut addresses = self.empty();
        let allowed = found.into_iter().filter(|found| self.policy.allows_address(found.ip()));
        allowed.take(ADDRESSES_MAX).for_each(|found| addresses.push(found));
        if addresses.is_empty() {
            let address = first.ip();
            let why = format!(
                "{host} has the address {address}, which is not one of the Internet; if that is \
                 meant, add its network to sarsen.toml: [fetch] private = [\"{address}/{}\"]",
                if address.is_ipv4() { 32 } else { 128 }
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why).into());
        }
        Ok(addresses)
    }
}

/// One look-up that is under way.
struct Opened(Arc<AtomicUsize>);

impl Opened {
    fn one(count: &Arc<AtomicUsize>) -> Option<Self> {
        let opened = Self(Arc::clone(count));
        (opened.0.fetch_add(1, Ordering::Relaxed) < FETCH_LOOKUPS_MAX).then_some(opened)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ups_are_bounded() {
        let count = Arc::default();
        let open: Vec<_> = (0..FETCH_LOOKUPS_MAX).map(|_| Opened::one(&count)).collect();
        assert!(open.iter().all(Option::is_some));
        assert!(Opened::one(&count).is_none());
        drop(open);
        assert!(Opened::one(&count).is_some());
    }
}
