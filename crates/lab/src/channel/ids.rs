//! The last ids of event streams that are gone, by server and path, so that a stream that is opened
//! again can say where it was (WHATWG HTML §9.2.4).

use crate::limits::{EVENT_ID_BYTES_MAX, EVENT_IDS_MAX};
use std::collections::VecDeque;

/// See above; the oldest first.
#[derive(Default)]
pub(super) struct LastIds(VecDeque<Known>);

struct Known {
    server: usize,
    path: Vec<u8>,
    id: Vec<u8>,
}

impl LastIds {
    /// A stream has ended with this id. One that is empty, too long or cannot be sent is none.
    pub(super) fn note(&mut self, server: usize, path: &[u8], id: &[u8]) {
        self.0.retain(|known| (known.server, known.path.as_slice()) != (server, path));
        let is_sendable = id.iter().all(|byte| *byte >= b' ' && *byte != 0x7F);
        if id.is_empty() || id.len() > EVENT_ID_BYTES_MAX || !is_sendable {
            return;
        }
        if self.0.len() == EVENT_IDS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Known { server, path: path.to_vec(), id: id.to_vec() });
    }

    /// That of the stream that was there; empty if none is known.
    pub(super) fn of(&self, server: usize, path: &[u8]) -> &[u8] {
        let is_it = |known: &&Known| (known.server, known.path.as_slice()) == (server, path);
        self.0.iter().find(is_it).map_or(&[], |known| &known.id)
    }

    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_each_stream_is_known() {
        let mut ids = LastIds::default();
        ids.note(0, b"/a", b"1");
        ids.note(0, b"/b", b"2");
        ids.note(1, b"/a", b"3");
        ids.note(0, b"/a", b"4");
        assert_eq!([ids.of(0, b"/a"), ids.of(0, b"/b"), ids.of(1, b"/a")], [b"4", b"2", b"3"]);
        ids.note(0, b"/a", b"");
        assert_eq!(ids.of(0, b"/a"), b"");
        ids.forget();
        assert_eq!(ids.of(0, b"/b"), b"");
    }

    #[test]
    fn what_is_known_is_bounded_and_can_be_sent() {
        let mut ids = LastIds::default();
        (0..=EVENT_IDS_MAX).for_each(|server| ids.note(server, b"/", b"x"));
        assert_eq!((ids.of(0, b"/"), ids.of(1, b"/")), (&b""[..], &b"x"[..]));
        let long = vec![b'x'; EVENT_ID_BYTES_MAX + 1];
        ids.note(1, b"/", &long[1..]);
        assert_eq!(ids.of(1, b"/"), &long[1..]);
        for none in [&long[..], b"a\tb", b"\x7f"] {
            ids.note(1, b"/", none);
            assert_eq!(ids.of(1, b"/"), b"");
        }
    }
}
