//! A shard under its lock: keys are looked up, values stored.

use crate::entry::{HEADER_BYTES, Header, Place};
use crate::expires::Expires;
use crate::found::Found;
use crate::key::{Hash, Key};
use crate::limits::{KEY_BYTES_MAX, PAGE_BYTES, WHOLE_BYTES_MAX};
use crate::state::{Own, State};
use crate::store::{Mode, Refused, Store, Stored};
use crate::value::Value;
use parking_lot::MutexGuard;

/// For which command a key is looked up: it is counted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `get`.
    Get,
    /// `gat`.
    GetAndTouch,
    /// `touch`.
    Touch,
    /// `delete`.
    Delete,
    /// `incr`.
    Increment,
    /// `decr`.
    Decrement,
    /// None: nothing is counted.
    Peek,
}

/// What is counted that a shard cannot see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// A value was too large to be read.
    TooLarge,
    /// A meta command.
    Meta,
}

/// A part of a cache, locked until this is dropped. Nothing that waits belongs in between.
pub struct Shard<'c> {
    state: MutexGuard<'c, State>,
    number: usize,
    mask: usize,
    now: u32,
    value_bytes_max: usize,
}

/// An item as [`crate::Cache::walk`] tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'s> {
    /// Its key.
    pub key: &'s [u8],
    /// The length of its value, in bytes.
    pub value_bytes: usize,
    /// All that it takes of memory, its part of the index apart, in bytes.
    pub bytes: usize,
    /// The client's own.
    pub flags: u32,
    /// Its unique number.
    pub cas: u64,
    /// When it is gone.
    pub expires: Expires,
    /// When it was used last, in seconds since 1970.
    pub used: u32,
    /// Whether it was fetched.
    pub is_fetched: bool,
    /// The queue it is in: 1 for what is new, 2 for what has proved itself.
    pub class: u8,
}

/// Fields of an item before it has a place.
pub(crate) struct Draft {
    pub header: Header,
    pub queue: usize,
}

impl<'c> Shard<'c> {
    pub(crate) fn new(
        state: MutexGuard<'c, State>,
        number: usize,
        mask: usize,
        now: u32,
        value_bytes_max: usize,
    ) -> Self {
        let mut shard = Self { state, number, mask, now, value_bytes_max };
        if shard.state.flush_at != 0 && shard.state.flush_at <= now {
            shard.state.clear();
        }
        shard
    }

    /// Whether a key is here: then the lock need not be taken anew for it.
    #[inline]
    pub fn covers(&self, key: &Key<'_>) -> bool {
        key.hash.shard(self.mask) == self.number
    }

    /// The time, in seconds since 1970, as it was when the lock was taken.
    pub fn time(&self) -> u32 {
        self.now
    }

    /// So many seconds from now.
    pub fn after(&self, seconds: u32) -> Expires {
        Expires::after(self.now, seconds)
    }

    /// Looks a key up and counts that; none if there is no item or it has expired. Whether the
    /// item counts as used is for [`Found::mark_fetched`] to say.
    #[inline]
    pub fn find(&mut self, key: &Key<'_>, command: Command) -> Option<Found<'_>> {
        debug_assert!(self.covers(key), "the shard is the key's");
        let found = self.state.locate(key).map(|place| (place, self.state.pages.header(place)));
        let is_expired = found.is_some_and(|(_, header)| header.expires.is_past(self.now));
        if let (Some((place, header)), true) = (found, is_expired) {
            self.state.remove_expired(place, &header);
        }
        let found = found.filter(|_| !is_expired);
        self.count_look_up(command, found.is_some(), is_expired);
        if found.is_none() && command != Command::Peek && command != Command::Delete {
            self.state.miss(key.hash);
        }
        let (place, header) = found?;
        Some(Found::new(&mut self.state, place, header, self.now))
    }

    fn count_look_up(&mut self, command: Command, is_hit: bool, is_expired: bool) {
        let counts = &mut self.state.counts;
        let (hit, miss) = (u64::from(is_hit), u64::from(!is_hit));
        match command {
            Command::Get | Command::GetAndTouch => {
                counts.cmd_get += 1;
                counts.get_hits += hit;
                counts.get_misses += miss;
                counts.get_expired += u64::from(is_expired);
                if command == Command::GetAndTouch {
                    counts.cmd_touch += 1;
                    counts.touch_hits += hit;
                    counts.touch_misses += miss;
                }
            }
            Command::Touch => {
                counts.cmd_touch += 1;
                counts.touch_hits += hit;
                counts.touch_misses += miss;
            }
            Command::Delete => {
                counts.delete_hits += hit;
                counts.delete_misses += miss;
            }
            Command::Increment => {
                counts.incr_hits += hit;
                counts.incr_misses += miss;
            }
            Command::Decrement => {
                counts.decr_hits += hit;
                counts.decr_misses += miss;
            }
            Command::Peek => {}
        }
    }

    /// Counts what a shard cannot see.
    pub fn count(&mut self, what: Count) {
        match what {
            Count::TooLarge => self.state.counts.store_too_large += 1,
            Count::Meta => self.state.counts.cmd_meta += 1,
        }
    }

    /// Tells what is on a page.
    pub(crate) fn visit_page(
        &self,
        page: u32,
        visit: &mut impl FnMut(&Listed<'_>) -> bool,
    ) -> bool {
        let state = &*self.state;
        state.visit_page(page, self.now, |place, header| {
            let start = place.offset() + HEADER_BYTES;
            let key = &state.pages.bytes(page)[start..start + usize::from(header.key_bytes)];
            visit(&Listed {
                key,
                value_bytes: header.value_bytes as usize,
                bytes: header.total_bytes(),
                flags: header.flags,
                cas: header.cas,
                expires: header.expires,
                used: header.used,
                is_fetched: header.is_fetched(),
                class: state.queue_of(place) as u8 + 1,
            })
        })
    }

    /// Removes some of what has expired.
    pub(crate) fn sweep(&mut self) {
        let now = self.now;
        self.state.sweep(now);
    }

    /// Removes the item of a key, if there is one. Nothing is counted.
    pub fn discard(&mut self, key: &Key<'_>) {
        if let Some(found) = self.find(key, Command::Peek) {
            found.remove();
        }
    }

    /// Stores.
    ///
    /// # Errors
    /// See [`Refused`]. Nothing changes then.
    pub fn store(&mut self, key: &Key<'_>, store: &Store<'_>) -> Result<Stored, Refused> {
        self.state.counts.cmd_set += 1;
        if store.value.len() > self.value_bytes_max
            || key.bytes().is_empty()
            || key.bytes().len() > KEY_BYTES_MAX
        {
            self.state.counts.store_too_large += 1;
            return Err(Refused::TooLarge);
        }
        let old = self.find(key, Command::Peek).map(|found| found.place_and_header());
        let stored = self.store_over(key, store, old);
        if store.mode == Mode::Cas {
            let counts = &mut self.state.counts;
            match stored {
                Ok(_) => counts.cas_hits += 1,
                Err(Refused::NotFound) => counts.cas_misses += 1,
                Err(_) => counts.cas_badval += 1,
            }
        }
        stored
    }

    fn store_over(
        &mut self,
        key: &Key<'_>,
        store: &Store<'_>,
        old: Option<(Place, Header)>,
    ) -> Result<Stored, Refused> {
        let mut header = Header {
            expires: store.expires,
            flags: store.flags,
            used: self.now,
            ..Header::default()
        };
        header.set_binary(store.is_binary);
        let joined;
        let mut value = store.value;
        match (store.mode, old) {
            (Mode::Set, _) | (Mode::Add, None) | (Mode::Replace, Some(_)) => {}
            (Mode::Cas, None) => return Err(Refused::NotFound),
            (Mode::Cas, Some((_, old))) => match store.compare {
                Some(cas) if cas == old.cas => {}
                Some(cas) if store.may_be_stale && cas < old.cas => {
                    header.expires = old.expires;
                    header.set_stale(true);
                    header.set_taken(old.is_taken());
                }
                _ => return Err(Refused::Exists),
            },
            (Mode::Append | Mode::Prepend, None) => match store.vivify {
                Some(expires) => header.expires = expires,
                None => return Err(Refused::NotStored),
            },
            (Mode::Append | Mode::Prepend, Some((place, old))) => {
                if store.compare.is_some_and(|cas| cas != old.cas) {
                    return Err(Refused::Exists);
                }
                let length = old.value_bytes as usize + store.value.len();
                if length > self.value_bytes_max {
                    self.state.counts.store_too_large += 1;
                    return Err(Refused::TooLarge);
                }
                let there = Value::new(&self.state.pages, place, &old).to_vec();
                joined = match store.mode {
                    Mode::Append => [&there[..], store.value].concat(),
                    _ => [store.value, &there[..]].concat(),
                };
                value = &joined;
                (header.flags, header.expires) = (old.flags, old.expires);
                header.set_binary(false);
            }
            (Mode::Add, Some(_)) | (Mode::Replace, None) => return Err(Refused::NotStored),
        }
        header.cas = store.new_cas.unwrap_or_else(|| self.state.next_cas());
        let cas = header.cas;
        self.state.counts.total_items += 1;
        let there = old.map(|(place, _)| place);
        self.state.put(key, header, value, self.now, there).ok_or(Refused::TooLarge)?;
        Ok(Stored { cas })
    }
}

impl State {
    /// Writes an item in place of the one that may be `there`. None if it does not fit, which a
    /// cache that was made cannot say.
    pub(crate) fn put(
        &mut self,
        key: &Key<'_>,
        mut header: Header,
        value: &[u8],
        now: u32,
        there: Option<Place>,
    ) -> Option<Place> {
        header.key_bytes = key.bytes().len() as u8;
        header.value_bytes = value.len() as u32;
        header.pages = (value.len() / PAGE_BYTES) as u16;
        if let Some(place) = there
            && let Some(place) = self.put_in_place(place, &mut header, value)
        {
            return Some(place);
        }
        let bytes = header.front_bytes() + value.len();
        let inline = (header.front_bytes() + header.inline_bytes()).next_multiple_of(8);
        let has_room = self.queues.iter().all(|queue| queue.has_room(&self.pages, inline));
        let needed = if has_room { 0 } else { 1 + usize::from(inline > WHOLE_BYTES_MAX) };
        self.make_room(now, bytes, usize::from(header.pages) + needed);
        // Making room may have moved or thrown out what was there.
        let old = self.locate(key).map(|place| (place, self.pages.header(place)));
        let queue = match &old {
            Some((place, old)) => {
                header.set_uses(old.uses() + 1);
                self.note_use(*place);
                self.queue_of(*place)
            }
            None => self.queue_for(key.hash, bytes),
        };
        let place = self.write(&mut Draft { header, queue }, key, value)?;
        match old {
            Some((from, old)) => {
                self.index.replace(key.hash.tag(), from, place);
                self.bury(from, &old, Own::Released);
            }
            None => self.note(key.hash, place),
        }
        Some(place)
    }

    /// Writes over an item if the new one fits there and leaves little empty.
    fn put_in_place(&mut self, place: Place, header: &mut Header, value: &[u8]) -> Option<Place> {
        let old = self.pages.header(place);
        let size = (header.front_bytes() + header.inline_bytes()).next_multiple_of(8);
        let room = old.room as usize;
        if old.pages > 0 || header.pages > 0 || size > room || room - size > room / 4 {
            return None;
        }
        header.room = old.room;
        header.set_uses(old.uses() + 1);
        self.note_use(place);
        self.pages.set_header(place, header);
        self.pages.write_across(place, header.front_bytes(), value);
        self.note_expiry(place, header);
        Some(place)
    }

    fn write(&mut self, draft: &mut Draft, key: &Key<'_>, value: &[u8]) -> Option<Place> {
        let mut own = Vec::new();
        let (whole, rest) = value.split_at(usize::from(draft.header.pages) * PAGE_BYTES);
        for piece in whole.chunks_exact(PAGE_BYTES) {
            let page = self.pages.take()?;
            self.pages.bytes_mut(page).copy_from_slice(piece);
            own.push(page);
        }
        let header = &mut draft.header;
        let place = self.write_front(draft.queue, header, key.bytes(), &own)?;
        self.pages.write_across(place, header.front_bytes(), rest);
        Some(place)
    }

    fn note(&mut self, hash: Hash, place: Place) {
        if self.index.insert(hash.tag(), place).is_err() {
            let given = self.pages.give_up();
            debug_assert!(given, "a page is kept for the index");
            self.index.grow_spill();
            let noted = self.index.insert(hash.tag(), place);
            debug_assert!(noted.is_ok(), "a new page has room");
        }
    }
}
