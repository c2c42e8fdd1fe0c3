//! Commands as they are written.

use super::turn::Wanted;
use super::values::{Maker, hash};
use crate::plan::{MemcachedCommand, MemcachedStep, Template, TimeToLive};
use wire::memcached::Mode;
use wire::memcached::ask::{self, Line, Put};

/// A step in the form in which it is carried out.
pub(crate) struct Prepared {
    origins: Vec<usize>,
    pub(crate) key: Template,
    pub(crate) command: MemcachedCommand,
    meta: bool,
}

impl Prepared {
    pub(crate) fn new(step: &MemcachedStep) -> Self {
        let MemcachedStep { origins, key, command, meta } = step.clone();
        Self { origins, key, command, meta }
    }

    /// The server that has a key.
    pub(crate) fn server(&self, key: &[u8]) -> usize {
        match self.origins.as_slice() {
            [only] => *only,
            several => several[(hash(key) % several.len() as u64) as usize],
        }
    }

    /// What its answer must be.
    pub(crate) fn wanted(&self) -> Wanted {
        match self.command {
            MemcachedCommand::Get { verify, .. } => Wanted::Value { verify },
            MemcachedCommand::Set { .. } => Wanted::Stored,
            MemcachedCommand::Delete | MemcachedCommand::Touch { .. } => Wanted::Done,
            MemcachedCommand::Increment { .. } => Wanted::Number,
        }
    }

    /// How long what it stores, or touches, lives.
    pub(crate) fn expires(&self) -> TimeToLive {
        match self.command {
            MemcachedCommand::Set { expires }
            | MemcachedCommand::Touch { expires }
            | MemcachedCommand::Get { fill: Some(expires), .. } => expires,
            _ => TimeToLive::FOREVER,
        }
    }

    /// Appends it; `expires_s` has been drawn of what it says.
    pub(crate) fn write(&self, key: &[u8], expires_s: u32, maker: &Maker, out: &mut Vec<u8>) {
        match self.command {
            MemcachedCommand::Get { .. } if self.meta => Line::get(out, key).flag(b'v').end(),
            MemcachedCommand::Get { .. } => ask::get(out, [key], false),
            MemcachedCommand::Set { .. } => self.write_set(key, expires_s, maker, out),
            MemcachedCommand::Delete if self.meta => Line::delete(out, key).end(),
            MemcachedCommand::Delete => ask::delete(out, key, false),
            MemcachedCommand::Increment { by } if self.meta => {
                Line::arithmetic(out, key).number(b'D', by).flag(b'v').end();
            }
            MemcachedCommand::Increment { by } => ask::increment(out, key, by, false),
            MemcachedCommand::Touch { .. } if self.meta => {
                Line::get(out, key).number(b'T', u64::from(expires_s)).end();
            }
            MemcachedCommand::Touch { .. } => {
                ask::touch(out, key, i64::from(expires_s), false);
            }
        }
    }

    /// Appends the command that stores the key's value.
    pub(crate) fn write_set(&self, key: &[u8], expires_s: u32, maker: &Maker, out: &mut Vec<u8>) {
        let bytes = maker.bytes(key);
        if self.meta {
            let line = Line::set(out, key, bytes);
            match expires_s {
                0 => line.end(),
                seconds => line.number(b'T', u64::from(seconds)).end(),
            }
        } else {
            let (mode, exptime) = (Mode::Set, i64::from(expires_s));
            let put = Put { mode, key, flags: 0, exptime, cas: 0, noreply: false };
            ask::store_line(out, &put, bytes);
        }
        maker.write(key, out);
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Class, Items, KeyLengths, Values};

    fn written(command: MemcachedCommand, meta: bool) -> String {
        let class = Class { weight: 1.0, from_bytes: 0, to_bytes: 0 };
        let values = Values::Classes(vec![class]);
        let maker = Maker::new(&Items { values, keys: KeyLengths::AsWritten });
        let key = Template::fixed("k");
        let step = MemcachedStep { origins: vec![0], key, command, meta };
        let mut out = Vec::new();
        let prepared = Prepared::new(&step);
        prepared.write(b"k", prepared.expires().from_s, &maker, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn both_dialects() {
        let get = MemcachedCommand::Get { verify: true, fill: None };
        assert_eq!(written(get, false), "get k\r\n");
        assert_eq!(written(get, true), "mg k v\r\n");
        let set = MemcachedCommand::Set { expires: TimeToLive::seconds(60) };
        assert_eq!(written(set, false), "set k 0 60 0\r\n\r\n");
        assert_eq!(written(set, true), "ms k 0 T60\r\n\r\n");
        let set = MemcachedCommand::Set { expires: TimeToLive::FOREVER };
        assert_eq!(written(set, true), "ms k 0\r\n\r\n");
        assert_eq!(written(MemcachedCommand::Delete, false), "delete k\r\n");
        assert_eq!(written(MemcachedCommand::Delete, true), "md k\r\n");
        let increment = MemcachedCommand::Increment { by: 2 };
        assert_eq!(written(increment, false), "incr k 2\r\n");
        assert_eq!(written(increment, true), "ma k D2 v\r\n");
        let touch = MemcachedCommand::Touch { expires: TimeToLive::seconds(5) };
        assert_eq!(written(touch, false), "touch k 5\r\n");
        assert_eq!(written(touch, true), "mg k T5\r\n");
    }

    #[test]
    fn keys_are_spread_over_servers_and_stay_there() {
        let step = MemcachedStep {
            origins: vec![3, 5],
            key: Template::fixed("k"),
            command: MemcachedCommand::Delete,
            meta: false,
        };
        let prepared = Prepared::new(&step);
        let server = |number: usize| prepared.server(format!("key-{number}").as_bytes());
        let first = (0..1_000).filter(|number| server(*number) == 3).count();
        assert!((400..600).contains(&first), "{first}");
        assert!((0..1_000).all(|number| [3, 5].contains(&server(number))));
        assert!((0..100).all(|number| server(number) == server(number)));
    }
}
