//! What memcached does, as plainly as it can be said: a map, and the codecs around it. It knows no
//! memory bound.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use wire::limits::KEY_BYTES_MAX;
use wire::memcached::answer::{self, Item};
use wire::memcached::{
    Arithmetic, Block, Code, Expiry, Get, Key, Meta, Mode, Parsed, Parser, Refusal, Report,
    Request, Store, block, number,
};

/// Largest value, as memcached has it by default: a page less what it keeps of an item.
const VALUE_BYTES_MAX: usize = (1 << 20) - 512;

/// When the server began, in seconds since 1970, a minute early as memcached has it.
const BEGUN: i64 = 1_700_000_000 - 62;

#[derive(Default)]
pub struct Model {
    items: BTreeMap<Vec<u8>, Entry>,
    /// The last unique number.
    cas: u64,
    /// Seconds since 1970.
    pub now: i64,
    /// Whether `flush_all` takes one, too, as memcached's does.
    pub flush_is_numbered: bool,
    /// What was stored before this time is gone.
    flushed: Option<i64>,
}

/// A connection.
#[derive(Default)]
pub struct Link {
    parser: Parser,
    received: Vec<u8>,
    swallow: usize,
    pub answers: VecDeque<u8>,
    pub is_closed: bool,
}

#[derive(Clone, Default)]
struct Entry {
    data: Vec<u8>,
    flags: u32,
    /// The second from which on it is gone.
    expires: Option<i64>,
    cas: u64,
    stored: i64,
    used: i64,
    is_fetched: bool,
    is_binary: bool,
    is_stale: bool,
    is_taken: bool,
}

impl Model {
    pub fn shared() -> Rc<RefCell<Self>> {
        let (now, flush_is_numbered) = (1_700_000_000, true);
        Rc::new(RefCell::new(Self { now, flush_is_numbered, ..Self::default() }))
    }

    /// Takes what came on a connection and puts the answers there.
    pub fn receive(&mut self, link: &mut Link, bytes: &[u8]) {
        link.received.extend_from_slice(bytes);
        let mut received = std::mem::take(&mut link.received);
        let mut out = Vec::new();
        let mut at = 0;
        while !link.is_closed {
            let passed = link.swallow.min(received.len() - at);
            link.swallow -= passed;
            at += passed;
            let rest = &received[at..];
            at += match link.parser.parse(rest) {
                _ if link.swallow > 0 => break,
                Parsed::Incomplete => break,
                Parsed::Close => {
                    link.is_closed = true;
                    break;
                }
                Parsed::Refused(refused) => {
                    if !refused.is_silent {
                        out.extend_from_slice(refused.refusal.line());
                    }
                    link.swallow = refused.swallow;
                    refused.line
                }
                Parsed::Request(Request::Quit, line) => {
                    link.is_closed = true;
                    line
                }
                Parsed::Request(request, line) => {
                    match self.perform(&request, &rest[line..], &mut out) {
                        Some(Taken { bytes, swallow }) => {
                            link.swallow = swallow;
                            line + bytes
                        }
                        None => break,
                    }
                }
            };
        }
        received.drain(..at);
        link.received = received;
        link.answers.extend(out);
    }

    /// Carries a command out; none if its data are not there yet.
    fn perform(&mut self, request: &Request<'_>, after: &[u8], out: &mut Vec<u8>) -> Option<Taken> {
        match request {
            Request::Get(get) => self.get(get, out),
            Request::Store(store) => return self.store(store, after, out),
            Request::MetaSet(meta) => return self.meta_set(meta, after, out),
            Request::Delete(delete) => {
                let found = self.find(delete.key).is_some();
                self.items.remove(delete.key);
                let line = if found { answer::DELETED } else { answer::NOT_FOUND };
                reply(out, line, delete.noreply);
            }
            Request::Arithmetic(sum) => self.arithmetic(sum, out),
            Request::Touch(touch) => {
                let expires = self.expires(touch.exptime);
                let line = match self.find(touch.key) {
                    Some(entry) => {
                        (entry.expires, entry.is_fetched) = (expires, true);
                        answer::TOUCHED
                    }
                    None => answer::NOT_FOUND,
                };
                reply(out, line, touch.noreply);
            }
            Request::MetaGet(meta) => self.meta_get(meta, out),
            Request::MetaDelete(meta) => self.meta_delete(meta, out),
            Request::MetaArithmetic(meta) => self.meta_arithmetic(meta, out),
            Request::MetaNoop => out.extend_from_slice(answer::MN),
            Request::MetaDebug(key) => self.meta_debug(*key, out),
            Request::Flush(flush) => {
                self.cas += u64::from(self.flush_is_numbered);
                self.flushed = match Expiry::new(flush.exptime) {
                    Expiry::Never | Expiry::Past => {
                        self.items.clear();
                        None
                    }
                    Expiry::After(seconds) => Some(self.now + i64::from(seconds)),
                    // Nothing was stored before the server began.
                    Expiry::At(time) if time <= BEGUN => None,
                    Expiry::At(time) => Some(time),
                };
                reply(out, answer::OK, flush.noreply);
            }
            Request::Version => answer::version(out, "1.6.18"),
            Request::Verbosity { noreply, .. } => reply(out, answer::OK, *noreply),
            Request::Stats(Report::Reset) => out.extend_from_slice(answer::RESET),
            Request::Stats(Report::Detail(b"on" | b"off")) => out.extend_from_slice(answer::OK),
            Request::Stats(Report::Other(_)) => out.extend_from_slice(Refusal::Error.line()),
            Request::Stats(_) => {
                answer::statistic(out, "pid", b"1");
                out.extend_from_slice(answer::END);
            }
            Request::Administration(command) => {
                let refusal = match command.name {
                    b"shutdown" => Refusal::Shutdown,
                    _ => Refusal::Error,
                };
                out.extend_from_slice(refusal.line());
            }
            Request::Quit => {}
        }
        Some(Taken::default())
    }

    /// The item of a key, if it is alive.
    fn find(&mut self, key: &[u8]) -> Option<&mut Entry> {
        let flushed = self.flushed.filter(|time| *time <= self.now);
        let entry = self.items.get(key)?;
        let is_gone = entry.expires.is_some_and(|time| time <= self.now)
            || flushed.is_some_and(|time| entry.stored < time);
        if is_gone {
            self.items.remove(key);
        }
        self.items.get_mut(key)
    }

    fn expires(&self, exptime: i64) -> Option<i64> {
        match Expiry::new(exptime) {
            Expiry::Never => None,
            Expiry::Past => Some(0),
            Expiry::After(seconds) => Some(self.now + i64::from(seconds)),
            Expiry::At(time) => Some(time),
        }
    }

    fn next_cas(&mut self) -> u64 {
        self.cas += 1;
        self.cas
    }

    /// Puts an item in, under a number of its own.
    fn put(&mut self, key: &[u8], mut entry: Entry) -> u64 {
        entry.cas = self.next_cas();
        (entry.stored, entry.used) = (self.now, self.now);
        let cas = entry.cas;
        self.items.insert(key.to_vec(), entry);
        cas
    }

    fn get(&mut self, get: &Get<'_>, out: &mut Vec<u8>) {
        let now = self.now;
        let expires = get.exptime.map(|exptime| self.expires(exptime));
        for key in get.keys {
            if let Some(entry) = self.find(key) {
                if let Some(expires) = expires {
                    entry.expires = expires;
                }
                (entry.is_fetched, entry.used) = (true, now);
                let cas = get.cas.then_some(entry.cas);
                answer::value(out, key, entry.flags, cas, &entry.data);
            }
        }
        out.extend_from_slice(answer::END);
    }

    fn store(&mut self, store: &Store<'_>, after: &[u8], out: &mut Vec<u8>) -> Option<Taken> {
        if store.bytes > VALUE_BYTES_MAX {
            reply(out, Refusal::TooLarge.line(), store.noreply);
            if store.mode == Mode::Set {
                self.items.remove(store.key);
            }
            return Some(Taken { bytes: 0, swallow: store.bytes + 2 });
        }
        let (data, bytes) = match block(after, store.bytes) {
            Block::Incomplete(_) => return None,
            Block::Bad(bytes) => {
                reply(out, Refusal::Data.line(), store.noreply);
                return Some(Taken { bytes, swallow: 0 });
            }
            Block::Whole(data, bytes) => (data, bytes),
        };
        let expires = self.expires(store.exptime);
        let entry = Entry { data: data.to_vec(), flags: store.flags, expires, ..Entry::default() };
        let cas = (store.cas != 0).then_some(store.cas);
        let line = match self.keep(store.mode, store.key, entry, cas, false) {
            Ok(_) => answer::STORED,
            Err(Code::Exists) => answer::EXISTS,
            Err(Code::NotFound) => answer::NOT_FOUND,
            Err(_) => answer::NOT_STORED,
        };
        reply(out, line, store.noreply);
        Some(Taken { bytes, swallow: 0 })
    }

    /// Stores on a mode's condition; gives the new number.
    fn keep(
        &mut self,
        mode: Mode,
        key: &[u8],
        mut entry: Entry,
        cas: Option<u64>,
        may_be_stale: bool,
    ) -> Result<u64, Code> {
        let old = self.find(key).cloned();
        match (mode, old) {
            (Mode::Set, _) | (Mode::Add, None) | (Mode::Replace, Some(_)) => {}
            (Mode::Cas, None) => return Err(Code::NotFound),
            (Mode::Cas, Some(old)) => match cas {
                Some(cas) if cas == old.cas => {}
                Some(cas) if may_be_stale && cas < old.cas => {
                    entry.expires = old.expires;
                    (entry.is_stale, entry.is_taken) = (true, old.is_taken);
                }
                _ => return Err(Code::Exists),
            },
            (Mode::Append | Mode::Prepend, Some(old)) => {
                if cas.is_some_and(|cas| cas != old.cas) {
                    return Err(Code::Exists);
                }
                let both = match mode {
                    Mode::Append => [&old.data[..], &entry.data].concat(),
                    _ => [&entry.data[..], &old.data].concat(),
                };
                if both.len() > VALUE_BYTES_MAX {
                    return Err(Code::NotStored);
                }
                (entry.flags, entry.expires) = (old.flags, old.expires);
                (entry.data, entry.is_binary) = (both, false);
            }
            _ => return Err(Code::NotStored),
        }
        Ok(self.put(key, entry))
    }

    fn arithmetic(&mut self, sum: &Arithmetic<'_>, out: &mut Vec<u8>) {
        match self.add(sum.key, sum.delta, sum.decrement, None) {
            Ok(number) if !sum.noreply => answer::number(out, number),
            Ok(_) => {}
            Err(None) => reply(out, Refusal::NotNumeric.line(), sum.noreply),
            Err(Some(_)) => reply(out, answer::NOT_FOUND, sum.noreply),
        }
    }

    /// Adds or subtracts; the error is none if there is no number.
    fn add(
        &mut self,
        key: &[u8],
        delta: u64,
        decrement: bool,
        cas: Option<u64>,
    ) -> Result<u64, Option<Code>> {
        let next = self.cas + 1;
        let entry = self.find(key).ok_or(Some(Code::NotFound))?;
        if entry.data.is_empty() {
            return Err(None);
        }
        if cas.is_some_and(|cas| cas != entry.cas) {
            return Err(Some(Code::Exists));
        }
        let number = number(&entry.data).ok_or(None)?;
        let number = match decrement {
            true => number.saturating_sub(delta),
            false => number.wrapping_add(delta),
        };
        // A shorter number is filled up with spaces; a longer one is a new item.
        let digits = number.to_string();
        if digits.len() > entry.data.len() {
            let flags = entry.flags;
            *entry = Entry { flags, expires: entry.expires, ..Entry::default() };
        }
        let length = entry.data.len().max(digits.len());
        entry.data = format!("{digits:length$}").into_bytes();
        entry.cas = next;
        self.cas = next;
        Ok(number)
    }
}

/// How far a command went into what came after its line.
#[derive(Default)]
struct Taken {
    bytes: usize,
    swallow: usize,
}

fn reply(out: &mut Vec<u8>, line: &[u8], noreply: bool) {
    if !noreply {
        out.extend_from_slice(line);
    }
}

// Said in full, because other crates have this file by its path.
#[path = "model/meta.rs"]
mod meta;
