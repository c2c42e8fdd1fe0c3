//! The meta commands on a cache ("Meta Commands" in protocol.txt).

use super::{OnCache, mode};
use cache::{Command, Count, Found, Refused};
use wire::limits::KEY_BYTES_MAX;
use wire::memcached::answer::{self, Item};
use wire::memcached::{Code, Key, Meta, Refusal};

impl OnCache {
    #[inline]
    pub(super) fn mg(&self, meta: &Meta<'_>, out: &mut Vec<u8>) {
        let mut room = [0; KEY_BYTES_MAX];
        let key = self.cache.key(meta.key.bytes(&mut room));
        let mut shard = self.cache.lock(&key);
        shard.count(Count::Meta);
        let command = if meta.has(b'T') { Command::GetAndTouch } else { Command::Get };
        let mut is_new = false;
        let mut found = match shard.find(&key, command) {
            Some(found) => found,
            None if meta.has(b'N') => {
                is_new = true;
                let put = cache::Store {
                    // memcached does not note there how the key was written.
                    new_cas: meta.has(b'E').then_some(meta.new_cas),
                    ..cache::Store::set(b"", 0, self.expires(meta.vivify))
                };
                let made = shard.store(&key, &put).ok();
                match made.and_then(|_| shard.find(&key, Command::Peek)) {
                    Some(found) => found,
                    // It is made already expired.
                    None => return vanished(meta, out),
                }
            }
            None => {
                if !meta.has(b'q') {
                    answer::meta_line(out, Code::Miss, None, meta, None);
                }
                return;
            }
        };
        let before = found.ttl().filter(|_| !is_new);
        let soon_before = is_soon(&found, meta);
        if meta.has(b'T') {
            found.set_expires(self.expires(meta.exptime));
        }
        let is_soon = if is_touched_first(meta) { is_soon(&found, meta) } else { soon_before };
        let is_taken = found.is_taken();
        let is_due = found.is_stale() || (meta.has(b'R') && is_soon && !is_new);
        let is_won = is_new || (!is_taken && is_due);
        let item = Item { is_won, is_taken, ttl_before: Some(before), ..item(&found) };
        if is_won {
            found.take();
        }
        if !meta.has(b'u') {
            found.mark_fetched();
        }
        if meta.has(b'v') {
            out.reserve(found.len() + 2 * KEY_BYTES_MAX);
            answer::meta_line(out, Code::Value, Some(found.len()), meta, Some(&item));
            found.value().append_to(out);
            out.extend_from_slice(answer::END_OF_DATA);
        } else {
            answer::meta_line(out, Code::Hit, None, meta, Some(&item));
        }
    }

    #[inline]
    pub(super) fn ms(&self, meta: &Meta<'_>, data: &[u8], out: &mut Vec<u8>) {
        let mut room = [0; KEY_BYTES_MAX];
        let key = self.cache.key(meta.key.bytes(&mut room));
        let put = cache::Store {
            mode: mode(meta.store_mode()),
            compare: (meta.cas != 0).then_some(meta.cas),
            new_cas: meta.has(b'E').then_some(meta.new_cas),
            may_be_stale: meta.has(b'I'),
            is_binary: meta.key.is_binary,
            vivify: meta.has(b'N').then(|| self.expires(meta.vivify)),
            ..cache::Store::set(data, meta.client_flags, self.expires(meta.exptime))
        };
        let mut shard = self.cache.lock(&key);
        shard.count(Count::Meta);
        let (code, cas) = match shard.store(&key, &put) {
            Ok(stored) => (Code::Hit, stored.cas),
            Err(Refused::NotStored) => (Code::NotStored, 0),
            Err(Refused::Exists) => (Code::Exists, 0),
            Err(Refused::NotFound) => (Code::NotFound, 0),
            // memcached says so of what would grow too large.
            Err(Refused::TooLarge) => (Code::NotStored, 0),
        };
        if code == Code::Hit && meta.has(b'q') {
            return;
        }
        let bytes = match meta.has(b's') {
            true => shard.find(&key, Command::Peek).map_or(data.len(), |found| found.len()),
            false => data.len(),
        };
        // Of the item it tells its number, size and key only.
        let item = Item { cas, bytes, is_binary: meta.key.is_binary, ..Item::default() };
        answer::meta_line(out, code, None, meta, Some(&item));
    }

    pub(super) fn md(&self, meta: &Meta<'_>, out: &mut Vec<u8>) {
        let mut room = [0; KEY_BYTES_MAX];
        let key = self.cache.key(meta.key.bytes(&mut room));
        let mut shard = self.cache.lock(&key);
        shard.count(Count::Meta);
        let code = match shard.find(&key, Command::Delete) {
            None => Code::NotFound,
            Some(found) if meta.has(b'C') && meta.cas != found.cas() => Code::Exists,
            Some(found) => {
                self.withdraw(found, meta);
                Code::Hit
            }
        };
        if !(meta.has(b'q') && code == Code::Hit) {
            answer::meta_line(out, code, None, meta, None);
        }
    }

    /// Marks an item as stale, empties it, or removes it.
    fn withdraw(&self, mut found: Found<'_>, meta: &Meta<'_>) {
        let new_cas = meta.has(b'E').then_some(meta.new_cas);
        if meta.has(b'x') {
            found.clear();
        }
        if meta.has(b'I') {
            if meta.has(b'T') {
                found.set_expires(self.expires(meta.exptime));
            }
            found.invalidate(new_cas);
        } else if meta.has(b'x') {
            found.set_cas(new_cas);
        } else {
            found.remove();
        }
    }

    pub(super) fn ma(&self, meta: &Meta<'_>, out: &mut Vec<u8>) {
        let mut room = [0; KEY_BYTES_MAX];
        let key = self.cache.key(meta.key.bytes(&mut room));
        let mut shard = self.cache.lock(&key);
        shard.count(Count::Meta);
        let new_cas = meta.has(b'E').then_some(meta.new_cas);
        let command = if meta.is_decrement() { Command::Decrement } else { Command::Increment };
        let mut is_new = false;
        let (mut found, number) = match shard.find(&key, command) {
            Some(mut found) => {
                if meta.cas != 0 && meta.cas != found.cas() && found.len() > 0 {
                    return answer::meta_line(out, Code::Exists, None, meta, None);
                }
                match found.add(meta.delta, meta.is_decrement(), new_cas) {
                    Ok(number) => (found, number),
                    Err(_) => return out.extend_from_slice(Refusal::NotNumeric.line()),
                }
            }
            None if meta.has(b'N') => {
                is_new = true;
                let digits = meta.initial.to_string();
                let expires = self.expires(meta.vivify);
                let put =
                    cache::Store { new_cas, ..cache::Store::set(digits.as_bytes(), 0, expires) };
                let made = shard.store(&key, &put).ok();
                match made.and_then(|_| shard.find(&key, Command::Peek)) {
                    Some(found) => (found, meta.initial),
                    None => return vanished(meta, out),
                }
            }
            None => return answer::meta_line(out, Code::NotFound, None, meta, None),
        };
        let before = found.ttl();
        if meta.has(b'T') {
            found.set_expires(self.expires(meta.exptime));
        }
        // memcached answers what is new whatever `q` says.
        if meta.has(b'q') && !is_new {
            return;
        }
        let is_binary = meta.key.is_binary;
        let item = Item { is_binary, ttl_before: Some(before), ..item(&found) };
        match meta.has(b'v') {
            true => {
                let digits = number.to_string();
                answer::meta_line(out, Code::Value, Some(digits.len()), meta, Some(&item));
                out.extend_from_slice(digits.as_bytes());
                out.extend_from_slice(answer::END_OF_DATA);
            }
            false => answer::meta_line(out, Code::Hit, None, meta, Some(&item)),
        }
    }

    pub(super) fn me(&self, key: Key<'_>, out: &mut Vec<u8>) {
        let mut room = [0; KEY_BYTES_MAX];
        let sought = self.cache.key(key.bytes(&mut room));
        let mut shard = self.cache.lock(&sought);
        let Some(found) = shard.find(&sought, Command::Peek) else {
            return out.extend_from_slice(answer::EN);
        };
        // memcached tells the time that is left below zero, and never as -1.
        let exp = found.ttl().map_or("-1".to_owned(), |ttl| format!("-{ttl}"));
        let (idle, cas) = (found.idle().to_string(), found.cas().to_string());
        let (class, bytes) = (found.class().to_string(), found.bytes().to_string());
        let fields = [
            ("exp", exp.as_str()),
            ("la", &idle),
            ("cas", &cas),
            ("fetch", if found.is_fetched() { "yes" } else { "no" }),
            ("cls", &class),
            ("size", &bytes),
        ];
        answer::meta_debug(out, key, found.is_binary(), &fields);
    }
}

/// What is told of an item.
#[inline]
fn item(found: &Found<'_>) -> Item {
    Item {
        cas: found.cas(),
        client_flags: found.flags(),
        bytes: found.len(),
        ttl: found.ttl(),
        ttl_before: None,
        idle: found.idle(),
        is_fetched: found.is_fetched(),
        is_binary: found.is_binary(),
        is_taken: false,
        is_stale: found.is_stale(),
        is_won: false,
    }
}

/// Whether less time is left than the client wants to have.
#[inline]
fn is_soon(found: &Found<'_>, meta: &Meta<'_>) -> bool {
    found.ttl().is_some_and(|ttl| i64::from(ttl) < meta.recache)
}

/// Whether `T` stands before `R`, which then looks at the new time to live.
#[inline]
fn is_touched_first(meta: &Meta<'_>) -> bool {
    let both = meta.has(b'T') && meta.has(b'R');
    both && meta.words().find(|word| b"RT".contains(&word[0])).is_some_and(|word| word[0] == b'T')
}

/// What was made on a miss has expired at once: it was a hit all the same.
#[cold]
fn vanished(meta: &Meta<'_>, out: &mut Vec<u8>) {
    let item = Item { ttl: Some(0), ttl_before: Some(None), is_won: true, ..Item::default() };
    let bytes = meta.has(b'v').then_some(0);
    let code = if bytes.is_some() { Code::Value } else { Code::Hit };
    answer::meta_line(out, code, bytes, meta, Some(&item));
    if bytes.is_some() {
        out.extend_from_slice(answer::END_OF_DATA);
    }
}
