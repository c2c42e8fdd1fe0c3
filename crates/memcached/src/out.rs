//! Answers of a turn, before they are sent.

use crate::limits::ANSWERS_BYTES_MAX;

/// What a connection's commands are answered with.
#[derive(Default)]
pub(crate) struct Out {
    /// The answers, one after the other.
    pub bytes: Vec<u8>,
    /// They may be sent when the commit with this number is durable.
    pub wait_for: u64,
}

impl Out {
    /// Whether what follows must wait until some of it is sent.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= ANSWERS_BYTES_MAX
    }

    /// Adds a line, unless no answer is wanted.
    pub fn line(&mut self, line: &[u8], noreply: bool) {
        if !noreply {
            self.bytes.extend_from_slice(line);
        }
    }

    /// The answers reveal this commit.
    pub fn reveals(&mut self, commit: u64) {
        self.wait_for = self.wait_for.max(commit);
    }

    /// Empties it. What a very large answer took is given back.
    pub fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > 2 * ANSWERS_BYTES_MAX {
            self.bytes = Vec::new();
        }
        self.wait_for = 0;
    }
}
