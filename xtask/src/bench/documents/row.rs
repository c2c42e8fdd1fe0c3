//! The rows of the tables: an operation over a transport.

use super::request::Operation;

/// How requests travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 with prior knowledge, without TLS.
    Http2,
    /// HTTP/1.1 over TLS.
    Tls1,
    /// HTTP/2 over TLS, chosen by ALPN.
    Tls2,
}

impl Transport {
    /// Every one, in the order of the tables.
    pub const ALL: [Self; 4] = [Self::Http1, Self::Http2, Self::Tls1, Self::Tls2];

    /// Its name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Tls1 => "HTTP/1.1 over TLS",
            Self::Tls2 => "HTTP/2 over TLS",
        }
    }

    /// Whether it is encrypted.
    pub fn is_tls(self) -> bool {
        matches!(self, Self::Tls1 | Self::Tls2)
    }

    /// Whether it is HTTP/2.
    pub fn is_http2(self) -> bool {
        matches!(self, Self::Http2 | Self::Tls2)
    }
}

/// What is measured on every side that offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is asked for.
    pub operation: Operation,
    /// How.
    pub transport: Transport,
}

impl Row {
    /// Every row, in the order of the tables.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |transport| Operation::ALL.map(|operation| Self { operation, transport });
        Transport::ALL.into_iter().flat_map(of)
    }

    /// By which `--only` finds it.
    pub fn name(self) -> String {
        format!("{}, {}", self.operation.name(), self.transport.name())
    }
}
