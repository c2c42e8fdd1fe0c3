//! How requests travel: by which protocol, on how many connections, and whose certificates are
//! trusted. All of a plan's HTTP servers are spoken to in the same way.

use crate::limits;
use std::path::PathBuf;

/// How requests travel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// What is spoken.
    pub protocol: Protocol,
    /// Whether a connection carries one request after the other. If not, each request says
    /// `Connection: close` and goes on a connection of its own.
    pub keep_alive: bool,
    /// Whose certificates are accepted.
    pub trust: Trust,
    /// What each user's line lets through.
    pub bandwidth: Bandwidth,
}

/// Bounds of a user's line, in bytes a second, of all of its connections to HTTP servers together.
/// What TLS and the layers below add does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bandwidth {
    /// Of what it receives.
    pub receive: Option<u64>,
    /// Of what it sends.
    pub send: Option<u64>,
}

/// A protocol, and how users share its connections: with N at a time, those users share one whose
/// numbers divided by N are the same (on the same thread). Everything else is each user's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1 {
        /// Most requests under way on a connection, answered in their order. 1: no pipelining, and
        /// each user has a connection of its own.
        pipeline: usize,
    },
    /// HTTP/2: by ALPN over TLS, by prior knowledge without it.
    Http2 {
        /// Most streams of ours on a connection at the same time.
        streams: usize,
    },
}

/// Whose certificates are accepted over TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// A file of certificates in PEM that are trusted instead of the public authorities.
    pub ca: Option<PathBuf>,
    /// Whether any certificate will do.
    pub insecure: bool,
}

impl Default for Transport {
    fn default() -> Self {
        let protocol = Protocol::Http1 { pipeline: 1 };
        let (trust, bandwidth) = (Trust::default(), Bandwidth::default());
        Self { protocol, keep_alive: true, trust, bandwidth }
    }
}

impl Protocol {
    /// Most users on a connection.
    pub fn users_per_connection(self) -> usize {
        match self {
            Self::Http1 { pipeline: users } | Self::Http2 { streams: users } => users,
        }
    }
}

impl Bandwidth {
    fn rates(self) -> impl Iterator<Item = u64> {
        self.receive.into_iter().chain(self.send)
    }
}

impl Transport {
    /// In reports.
    pub fn name(&self) -> String {
        match self.protocol {
            Protocol::Http1 { pipeline: 1 } if self.keep_alive => "HTTP/1.1".to_owned(),
            Protocol::Http1 { pipeline: 1 } => "HTTP/1.1, a connection per request".to_owned(),
            Protocol::Http1 { pipeline } => format!("HTTP/1.1, {pipeline} pipelined"),
            Protocol::Http2 { streams } => format!("HTTP/2, {streams} streams per connection"),
        }
    }

    /// What is wrong with it.
    pub(super) fn fault(&self, is_closed: bool) -> Option<String> {
        let (users, max) = match self.protocol {
            Protocol::Http1 { pipeline } => (pipeline, limits::PIPELINE_MAX),
            Protocol::Http2 { streams } => (streams, limits::STREAMS_MAX),
        };
        let is_pipelined = matches!(self.protocol, Protocol::Http1 { pipeline } if pipeline > 1);
        let is_http2 = matches!(self.protocol, Protocol::Http2 { .. });
        match () {
            () if users == 0 || users > max => Some(format!(
                "a connection carries from 1 to {max} requests at the same time; got {users}"
            )),
            () if !self.keep_alive && (is_pipelined || is_http2) => Some(
                "a connection for each request cannot be had with pipelining or HTTP/2".to_owned(),
            ),
            () if self.bandwidth != Bandwidth::default() && (is_pipelined || is_http2) => Some(
                "a user's bandwidth needs connections of its own, by HTTP/1.1 and without \
                 pipelining"
                    .to_owned(),
            ),
            () if self.bandwidth.rates().any(|rate| !limits::BANDWIDTHS.contains(&rate)) => {
                let (least, most) = (limits::BANDWIDTHS.start(), limits::BANDWIDTHS.end());
                Some(format!("a bandwidth is from {least} to {most} bytes a second"))
            }
            () if is_pipelined && !is_closed => Some(
                "pipelining needs the closed model: an arrival would wait for those before it"
                    .to_owned(),
            ),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http1(pipeline: usize, keep_alive: bool) -> Transport {
        Transport { protocol: Protocol::Http1 { pipeline }, keep_alive, ..Transport::default() }
    }

    fn http2(streams: usize, keep_alive: bool) -> Transport {
        Transport { protocol: Protocol::Http2 { streams }, keep_alive, ..Transport::default() }
    }

    fn bound(transport: Transport, send: u64) -> Transport {
        let bandwidth = Bandwidth { receive: None, send: Some(send) };
        Transport { bandwidth, ..transport }
    }

    #[test]
    fn what_cannot_be_is_told() {
        for good in [http1(1, true), http1(1, false), http2(1, true), http2(1000, true)] {
            assert_eq!(good.fault(true), None, "{good:?}");
            assert_eq!(good.fault(false), None, "{good:?}");
        }
        assert_eq!(http1(limits::PIPELINE_MAX, true).fault(true), None);
        assert_eq!(bound(http1(1, true), *limits::BANDWIDTHS.start()).fault(true), None);
        let bad = [
            (http1(0, true), "from 1 to"),
            (http1(limits::PIPELINE_MAX + 1, true), "from 1 to"),
            (http2(limits::STREAMS_MAX + 1, true), "from 1 to"),
            (http1(2, false), "for each request"),
            (http2(1, false), "for each request"),
            (bound(http1(2, true), 125_000), "connections of its own"),
            (bound(http2(1, true), 125_000), "connections of its own"),
            (bound(http1(1, true), *limits::BANDWIDTHS.start() - 1), "a bandwidth is from"),
            (bound(http1(1, true), *limits::BANDWIDTHS.end() + 1), "a bandwidth is from"),
        ];
        for (transport, part) in bad {
            let fault = transport.fault(true).unwrap_or_default();
            assert!(fault.contains(part), "{transport:?}: {fault}");
        }
        let open = http1(2, true).fault(false).unwrap_or_default();
        assert!(open.contains("closed model"), "{open}");
    }
}
