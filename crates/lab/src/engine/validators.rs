//! What a user knows of the versions of what it has seen: entity tags and dates (RFC 9110 §8.8),
//! with which it asks whether something has changed.

use crate::limits::{VALIDATOR_BYTES_MAX, VALIDATORS_MAX};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// The validators that a user remembers, a bounded number.
#[derive(Debug, Default)]
pub(crate) struct Validators {
    /// By server and path.
    known: HashMap<Rc<[u8]>, Validator>,
    /// The oldest first.
    order: VecDeque<Rc<[u8]>>,
    /// The key that is looked for; kept so that looking needs no memory.
    key: Vec<u8>,
}

/// Of one resource. One of them at least is not empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Validator {
    /// `ETag`.
    pub(crate) tag: Box<[u8]>,
    /// `Last-Modified`.
    pub(crate) date: Box<[u8]>,
}

impl Validators {
    /// What is known of a path on a server.
    pub(crate) fn of(&mut self, server: usize, path: &[u8]) -> Option<&Validator> {
        if self.known.is_empty() {
            return None;
        }
        self.set_key(server, path);
        self.known.get(self.key.as_slice())
    }

    /// Remembers what a reply said of itself; a reply without validators replaces what was known.
    pub(crate) fn remember(&mut self, server: usize, path: &[u8], validator: Option<Validator>) {
        self.set_key(server, path);
        match (self.known.get_mut(self.key.as_slice()), validator) {
            (Some(known), Some(validator)) => *known = validator,
            (Some(_), None) => {
                self.known.remove(self.key.as_slice());
                self.order.retain(|key| **key != *self.key);
            }
            (None, Some(validator)) => {
                if self.order.len() == VALIDATORS_MAX
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.known.remove(&oldest);
                }
                let key: Rc<[u8]> = self.key.as_slice().into();
                self.order.push_back(Rc::clone(&key));
                self.known.insert(key, validator);
            }
            (None, None) => {}
        }
    }

    fn set_key(&mut self, server: usize, path: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(&server.to_le_bytes());
        self.key.extend_from_slice(path);
    }
}

impl Validator {
    /// Of these values of `ETag` and `Last-Modified`; nothing if there is neither of a bearable
    /// length.
    pub(crate) fn new(tag: Option<&[u8]>, date: Option<&[u8]>) -> Option<Self> {
        let bounded = |value: Option<&[u8]>| -> Box<[u8]> {
            value.filter(|value| value.len() <= VALIDATOR_BYTES_MAX).unwrap_or_default().into()
        };
        let validator = Self { tag: bounded(tag), date: bounded(date) };
        (validator != Self::default()).then_some(validator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(tag: &str) -> Option<Validator> {
        Validator::new(Some(tag.as_bytes()), None)
    }

    #[test]
    fn remembers_the_last_by_server_and_path() {
        let mut validators = Validators::default();
        validators.remember(0, b"/a", tagged("1"));
        validators.remember(1, b"/a", tagged("2"));
        validators.remember(0, b"/a", tagged("3"));
        assert_eq!(validators.of(0, b"/a"), tagged("3").as_ref());
        assert_eq!(validators.of(1, b"/a"), tagged("2").as_ref());
        assert_eq!(validators.of(0, b"/"), None);
        validators.remember(0, b"/a", None);
        assert_eq!(validators.of(0, b"/a"), None);
        assert_eq!(validators.order.len(), 1);
    }

    #[test]
    fn forgets_the_oldest_beyond_its_bound() {
        let mut validators = Validators::default();
        let path = |i: usize| format!("/{i}").into_bytes();
        for i in 0..=VALIDATORS_MAX {
            validators.remember(0, &path(i), tagged("x"));
        }
        assert_eq!(validators.of(0, &path(0)), None);
        assert!((1..=VALIDATORS_MAX).all(|i| validators.of(0, &path(i)).is_some()));
        assert_eq!((validators.known.len(), validators.order.len()), (128, 128));
    }

    #[test]
    fn what_is_too_long_is_not_remembered() {
        let long = "x".repeat(VALIDATOR_BYTES_MAX + 1);
        assert_eq!(tagged(&long), None);
        assert!(tagged(&long[1..]).is_some());
        assert_eq!(Validator::new(None, None), None);
    }
}
