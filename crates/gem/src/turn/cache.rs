//! The cache in a turn. What the answer of a call depends on is done at once, and once: another run
//! of the handler gets the same answers. What only writes is held back until the commit.

use super::{Turn, TurnError};
use crate::aside::Aside;
use crate::cached::{Cached, Done, Effect, Lease, Staged, Writes};
use crate::limits::{CACHE_BYTES_MAX, CACHE_CALLS_MAX, CACHE_KEY_BYTES_MAX};
use cache::Expires;
use std::sync::Arc;

/// What a request has done with the cache.
#[derive(Default)]
pub(crate) struct CacheCalls {
    cached: Option<Arc<Cached>>,
    /// What this run writes, in order.
    staged: Vec<(String, Staged)>,
    /// What the request has done at once, whichever run did it.
    performed: Vec<Performed>,
    /// What the request computes, whichever run began it.
    leases: Vec<Lease>,
    /// Bytes of values that it holds.
    bytes: usize,
}

struct Performed {
    effect: Effect,
    done: Done,
    /// This run has asked for it.
    is_asked: bool,
}

/// What `cache.fetch` finds.
pub(crate) enum Fetched {
    /// This value will do.
    Value(Vec<u8>),
    /// The handler is to compute it.
    Fill,
    /// The same, but another one still does and will store it.
    Compute,
    /// Another one does; the handler runs again when that has ended.
    Wait,
}

impl CacheCalls {
    pub(super) fn begin(&mut self) {
        self.staged.clear();
        self.bytes = self.performed.iter().map(|each| bytes_of(&each.effect)).sum();
        for each in &mut self.performed {
            each.is_asked = false;
        }
    }

    fn newest(&self, key: &str) -> Option<&Staged> {
        self.staged.iter().rev().find(|(name, _)| name == key).map(|(_, staged)| staged)
    }

    /// Makes room for a value.
    fn hold(&mut self, key: &str, bytes: usize) -> Result<(), TurnError> {
        let calls = self.staged.len() + self.performed.len();
        self.bytes += key.len() + bytes;
        if calls >= CACHE_CALLS_MAX || self.bytes > CACHE_BYTES_MAX {
            return Err(TurnError::TooMuchCached);
        }
        Ok(())
    }
}

fn bytes_of(effect: &Effect) -> usize {
    match effect {
        Effect::Add { key, value, .. } | Effect::Cas { key, value, .. } => key.len() + value.len(),
        Effect::Gets { key } | Effect::Increment { key, .. } | Effect::Touch { key, .. } => {
            key.len()
        }
    }
}

impl Turn {
    /// With this cache, if there is one.
    pub(crate) fn caching(mut self, cached: Option<&Arc<Cached>>) -> Self {
        self.cache.cached = cached.cloned();
        self
    }

    fn cached(&self, key: &str) -> Result<Arc<Cached>, TurnError> {
        let is_plain = |byte: u8| byte > b' ' && byte != 0x7F;
        if !(1..=CACHE_KEY_BYTES_MAX).contains(&key.len()) || !key.bytes().all(is_plain) {
            return Err(TurnError::CacheKey(key.chars().take(40).collect()));
        }
        let cached = self.cache.cached.as_ref().ok_or(TurnError::NoCache)?;
        cached.set_time(self.time()?.0);
        Ok(Arc::clone(cached))
    }

    /// The value of a key, as this run has left it.
    pub(crate) fn cache_get(&mut self, key: &str) -> Result<Option<Vec<u8>>, TurnError> {
        let cached = self.cached(key)?;
        Ok(match self.cache.newest(key) {
            Some(Staged::Set { value, .. }) => Some(value.to_vec()),
            Some(Staged::Delete) => None,
            None => cached.get(key).map(|seen| seen.value),
        })
    }

    /// Has a value stored with the commit.
    pub(crate) fn cache_set(
        &mut self,
        key: &str,
        value: &[u8],
        expires: Expires,
    ) -> Result<(), TurnError> {
        let most = self.cached(key)?.value_bytes_max();
        if value.len() > most {
            return Err(TurnError::CacheValue(value.len(), most));
        }
        self.cache.hold(key, value.len())?;
        self.cache.staged.push((key.to_owned(), Staged::Set { value: value.into(), expires }));
        Ok(())
    }

    /// Has a value removed with the commit.
    pub(crate) fn cache_delete(&mut self, key: &str) -> Result<(), TurnError> {
        self.cached(key)?;
        self.cache.hold(key, 0)?;
        self.cache.staged.push((key.to_owned(), Staged::Delete));
        Ok(())
    }

    /// Does something at once, unless another run of this request has.
    pub(crate) fn cache_perform(&mut self, effect: Effect) -> Result<Done, TurnError> {
        let key = match &effect {
            Effect::Gets { key }
            | Effect::Add { key, .. }
            | Effect::Cas { key, .. }
            | Effect::Increment { key, .. }
            | Effect::Touch { key, .. } => key,
        };
        let cached = self.cached(key)?;
        if self.cache.newest(key).is_some() {
            return Err(TurnError::CacheOrder(key.clone()));
        }
        let known = self.cache.performed.iter_mut();
        if let Some(each) = known.into_iter().find(|each| !each.is_asked && each.effect == effect) {
            each.is_asked = true;
            return Ok(each.done.clone());
        }
        self.cache.hold("", bytes_of(&effect))?;
        let done = cached.perform(&effect);
        self.cache.performed.push(Performed { effect, done: done.clone(), is_asked: true });
        Ok(done)
    }

    /// Looks for a value that `cache.fetch` can give: one that lives longer than `stale` seconds,
    /// or any if another request computes a new one.
    pub(crate) fn cache_fetch(&mut self, key: &str, stale: u32) -> Result<Fetched, TurnError> {
        let cached = self.cached(key)?;
        match self.cache.newest(key) {
            Some(Staged::Set { value, .. }) => return Ok(Fetched::Value(value.to_vec())),
            Some(Staged::Delete) => return Ok(Fetched::Fill),
            None => {}
        }
        if self.cache.leases.iter().any(|lease| lease.key() == key) {
            return Ok(Fetched::Fill);
        }
        let seen = cached.get(key);
        if let Some(seen) = &seen
            && seen.ttl.is_none_or(|ttl| ttl > stale)
        {
            return Ok(Fetched::Value(seen.value.clone()));
        }
        if self.cache.leases.len() >= CACHE_CALLS_MAX {
            return Err(TurnError::TooMuchCached);
        }
        if let Some(lease) = cached.lease(key) {
            // Between the two looks somebody may have computed it.
            let again = cached.get(key).filter(|seen| seen.ttl.is_none_or(|ttl| ttl > stale));
            if let Some(seen) = again {
                return Ok(Fetched::Value(seen.value));
            }
            self.cache.leases.push(lease);
            return Ok(Fetched::Fill);
        }
        if let Some(seen) = seen {
            return Ok(Fetched::Value(seen.value));
        }
        // Who has waited once computes it itself if it is still not there.
        match self.ask(Aside::fill(cached, key))? {
            Some(_) => Ok(Fetched::Compute),
            None => Ok(Fetched::Wait),
        }
    }

    /// The handler has failed to compute a value: another request may.
    pub(crate) fn cache_abandon(&mut self, key: &str) {
        self.cache.leases.retain(|lease| lease.key() != key);
    }

    /// Hands what was written to the cache: the run has committed, and its reply waits for
    /// `number`.
    pub(crate) fn commit_cache(&mut self, number: repository::CommitNumber) {
        let staged = std::mem::take(&mut self.cache.staged);
        let leases = std::mem::take(&mut self.cache.leases);
        if let Some(cached) = &self.cache.cached {
            cached.commit(number, Writes { staged, leases });
        }
    }
}
