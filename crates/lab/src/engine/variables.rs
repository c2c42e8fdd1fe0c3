//! What a user has taken of replies.

use crate::limits::BUFFER_IDLE_BYTES_MAX;

/// The values of a plan's variables, of one user.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    values: Vec<Value>,
}

#[derive(Debug)]
struct Value {
    is_set: bool,
    bytes: Vec<u8>,
}

impl Variables {
    /// So many, none of which has a value.
    pub(crate) fn new(count: usize) -> Self {
        let values = (0..count).map(|_| Value { is_set: false, bytes: Vec::new() });
        Self { values: values.collect() }
    }

    pub(crate) fn get(&self, number: usize) -> Option<&[u8]> {
        let value = &self.values[number];
        value.is_set.then_some(value.bytes.as_slice())
    }

    pub(crate) fn set(&mut self, number: usize, bytes: &[u8]) {
        let value = &mut self.values[number];
        value.is_set = true;
        value.bytes.clear();
        value.bytes.extend_from_slice(bytes);
    }
}

/// Gives memory back that an unusual operation needed.
pub(crate) fn give_back(buffer: &mut Vec<u8>) {
    if buffer.capacity() > BUFFER_IDLE_BYTES_MAX {
        *buffer = Vec::new();
    }
}
