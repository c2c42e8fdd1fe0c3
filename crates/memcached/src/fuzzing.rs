//! A door for the fuzzer: a connection's state machine on a cache, without sockets.

use crate::face::Limits;
use crate::figures::Shared;
use crate::limits::BUFFER_BYTES_MAX;
use crate::on_cache::OnCache;
use crate::out::Out;
use crate::session::{Next, Ran, Session};
use cache::Cache;
use std::sync::Arc;

/// A connection.
pub struct Link {
    session: Session,
    executor: OnCache,
    received: Vec<u8>,
    /// Whether the server would have closed it.
    pub is_closed: bool,
}

impl Link {
    /// To a cache.
    pub fn new(cache: Arc<Cache>) -> Self {
        let limits = Limits {
            connections_max: 1,
            idle_timeout_s: None,
            buffer_bytes: BUFFER_BYTES_MAX,
            is_locked: false,
        };
        let shared = Arc::new(Shared::new(limits, Vec::new()));
        let executor = OnCache::new(cache, shared);
        Self { session: Session::new(None), executor, received: Vec::new(), is_closed: false }
    }

    /// What is answered to these bytes.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut answers = Vec::new();
        let mut out = Out::default();
        self.received.extend_from_slice(bytes);
        while !self.is_closed {
            let Ran { used, next } = self.session.run(&self.received, &mut self.executor, &mut out);
            assert!(used <= self.received.len());
            self.received.drain(..used);
            answers.append(&mut out.bytes);
            match next {
                Next::Room => {}
                Next::Input(missing) => {
                    assert!(missing > 0);
                    break;
                }
                Next::Close => self.is_closed = true,
            }
        }
        answers
    }
}
