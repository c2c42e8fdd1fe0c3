//! Carries commands out on a cache: the classic ones here, the others in `on_cache/meta`.

mod meta;

use crate::executor::Executor;
use crate::figures::{Shared, count};
use crate::out::Out;
use crate::reports;
use cache::{Cache, Command, Count, Expires, Refused};
use std::sync::Arc;
use wire::memcached::{
    Arithmetic, Delete, Expiry, Flush, Get, Key, Meta, Mode, Refusal, Report, Store, Touch, answer,
};

/// The executor of one thread.
#[derive(Clone)]
pub(crate) struct OnCache {
    cache: Arc<Cache>,
    shared: Arc<Shared>,
}

impl OnCache {
    pub(crate) fn new(cache: Arc<Cache>, shared: Arc<Shared>) -> Self {
        Self { cache, shared }
    }

    fn expires(&self, exptime: i64) -> Expires {
        match Expiry::new(exptime) {
            Expiry::Never => Expires::NEVER,
            Expiry::Past => Expires::PAST,
            Expiry::After(seconds) => self.cache.after(seconds),
            Expiry::At(time) => Expires::at(time),
        }
    }
}

impl Executor for OnCache {
    // A cache promises nothing.
    fn durable(&mut self) -> Result<u64, String> {
        Ok(u64::MAX)
    }

    fn wake_on_advance(&mut self) -> bool {
        false
    }

    fn value_bytes_max(&self) -> usize {
        self.cache.value_bytes_max()
    }

    #[inline]
    fn get(&mut self, get: &Get<'_>, key: &[u8], out: &mut Out) -> bool {
        let key = self.cache.key(key);
        let command = if get.exptime.is_some() { Command::GetAndTouch } else { Command::Get };
        let mut shard = self.cache.lock(&key);
        let Some(mut found) = shard.find(&key, command) else { return true };
        if let Some(exptime) = get.exptime {
            found.set_expires(self.expires(exptime));
        }
        found.mark_fetched();
        let cas = get.cas.then(|| found.cas());
        out.bytes.reserve(key.bytes().len() + found.len() + 64);
        answer::value_line(&mut out.bytes, key.bytes(), found.flags(), cas, found.len());
        found.value().append_to(&mut out.bytes);
        out.bytes.extend_from_slice(answer::END_OF_DATA);
        true
    }

    #[inline]
    fn store(&mut self, store: &Store<'_>, data: &[u8], out: &mut Out) {
        let put = cache::Store {
            mode: mode(store.mode),
            compare: (store.mode == Mode::Cas).then_some(store.cas),
            ..cache::Store::set(data, store.flags, self.expires(store.exptime))
        };
        let key = self.cache.key(store.key);
        let stored = self.cache.lock(&key).store(&key, &put);
        let line = match stored {
            Ok(_) => answer::STORED,
            // memcached says so of what would grow too large, too.
            Err(Refused::NotStored | Refused::TooLarge) => answer::NOT_STORED,
            Err(Refused::Exists) => answer::EXISTS,
            Err(Refused::NotFound) => answer::NOT_FOUND,
        };
        out.line(line, store.noreply);
    }

    fn refused(&mut self, key: &[u8], why: Refusal, is_set: bool) {
        let key = self.cache.key(key);
        let mut shard = self.cache.lock(&key);
        match why {
            Refusal::OutOfMemory => count(&self.shared.counts.values_refused, 1),
            _ => shard.count(Count::TooLarge),
        }
        if is_set {
            shard.discard(&key);
        }
    }

    fn delete(&mut self, delete: &Delete<'_>, out: &mut Out) {
        let key = self.cache.key(delete.key);
        let mut shard = self.cache.lock(&key);
        let line = match shard.find(&key, Command::Delete) {
            Some(found) => {
                found.remove();
                answer::DELETED
            }
            None => answer::NOT_FOUND,
        };
        out.line(line, delete.noreply);
    }

    fn arithmetic(&mut self, sum: &Arithmetic<'_>, out: &mut Out) {
        let key = self.cache.key(sum.key);
        let mut shard = self.cache.lock(&key);
        let command = if sum.decrement { Command::Decrement } else { Command::Increment };
        match shard.find(&key, command) {
            None => out.line(answer::NOT_FOUND, sum.noreply),
            Some(mut found) => match found.add(sum.delta, sum.decrement, None) {
                Ok(number) if !sum.noreply => answer::number(&mut out.bytes, number),
                Ok(_) => {}
                Err(_) => out.line(Refusal::NotNumeric.line(), sum.noreply),
            },
        }
    }

    fn touch(&mut self, touch: &Touch<'_>, out: &mut Out) {
        let key = self.cache.key(touch.key);
        let expires = self.expires(touch.exptime);
        let mut shard = self.cache.lock(&key);
        let line = match shard.find(&key, Command::Touch) {
            Some(mut found) => {
                found.set_expires(expires);
                found.mark_fetched();
                answer::TOUCHED
            }
            None => answer::NOT_FOUND,
        };
        out.line(line, touch.noreply);
    }

    #[inline]
    fn meta_get(&mut self, meta: &Meta<'_>, out: &mut Out) {
        self.mg(meta, &mut out.bytes);
    }

    #[inline]
    fn meta_set(&mut self, meta: &Meta<'_>, data: &[u8], out: &mut Out) {
        self.ms(meta, data, &mut out.bytes);
    }

    fn meta_delete(&mut self, meta: &Meta<'_>, out: &mut Out) {
        self.md(meta, &mut out.bytes);
    }

    fn meta_arithmetic(&mut self, meta: &Meta<'_>, out: &mut Out) {
        self.ma(meta, &mut out.bytes);
    }

    fn meta_debug(&mut self, key: Key<'_>, out: &mut Out) {
        self.me(key, &mut out.bytes);
    }

    fn flush(&mut self, flush: &Flush, out: &mut Out) {
        match Expiry::new(flush.exptime) {
            Expiry::Never | Expiry::Past => self.cache.flush(None),
            Expiry::After(seconds) => {
                self.cache.flush(Some(self.cache.time().saturating_add(seconds)));
            }
            // Nothing was stored before the server began.
            Expiry::At(time) if time <= self.shared.begun_at => self.cache.cancel_flush(),
            Expiry::At(time) => self.cache.flush(Some(u32::try_from(time).unwrap_or(u32::MAX))),
        }
        out.line(answer::OK, flush.noreply);
    }

    fn report(&mut self, report: &Report<'_>, out: &mut Out) {
        reports::write(report, Some(&self.cache), &self.shared, &mut out.bytes);
    }
}

fn mode(mode: Mode) -> cache::Mode {
    match mode {
        Mode::Set => cache::Mode::Set,
        Mode::Add => cache::Mode::Add,
        Mode::Replace => cache::Mode::Replace,
        Mode::Append => cache::Mode::Append,
        Mode::Prepend => cache::Mode::Prepend,
        Mode::Cas => cache::Mode::Cas,
    }
}
