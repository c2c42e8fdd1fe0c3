//! What a shard has, and the work that its parts do together: an item is written, leaves, is
//! moved; room is made. Which items go: S3-FIFO (Yang et al., SOSP 2023) over bytes in place of
//! items, with a share for new ones that adapts (`share`). New items that were used there move to
//! the other queue, and so do those that come back soon; there an item that was used since goes
//! round once more. An item that is larger than others must be used more.

use crate::asked::AskedKeys;
use crate::entry::{HEADER_BYTES, Header, Place};
use crate::figures::Figures;
use crate::ghosts::Ghosts;
use crate::index::Index;
use crate::key::{Hash, Hashing, Key};
use crate::limits::{
    KEPT_BYTES_MAX, KEPT_PER_BYTE, LARGE_TIMES, LIVE_PERCENT_MAX, PAGE_BYTES, PAGES_AHEAD,
    PAGES_PER_SWEEP, PAGES_RESERVED, ROTATIONS_MAX, USES_MAX,
};
use crate::pages::{PAGE_COST, Pages};
use crate::queue::{NEW, PROVEN, Queue};
use crate::share::Share;
use crate::trials::Trials;
use crate::value::page_numbers;

pub(crate) struct State {
    pub pages: Pages,
    pub index: Index,
    pub queues: [Queue; 2],
    pub counts: Figures,
    /// Everything that was stored before it is gone; 0: nothing is.
    pub flush_at: u32,
    asked: AskedKeys,
    ghosts: Ghosts,
    share: Share,
    trials: Trials,
    hashing: Hashing,
    /// The last unique number, and from one to the next: each shard has its own.
    cas: u64,
    cas_step: u64,
    /// Bytes that may still be moved to keep them.
    may_keep: usize,
    /// Bytes stored for which none have left yet.
    owed: usize,
    /// The page that was swept last.
    swept: u32,
    /// What the shard has besides pages, in bytes.
    fixed_bytes: usize,
}

/// What becomes of an item's own pages when its entry is none any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    Released,
    Moved,
}

/// How a shard is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making {
    pub memory: usize,
    pub hashing: Hashing,
    pub number: usize,
    pub shards: usize,
}

impl State {
    /// Pages that so much memory is enough for, the first of the index among them.
    pub fn pages_of(memory: usize) -> usize {
        memory.saturating_sub(size_of::<Self>() + 4096 + Ghosts::bytes(memory)) / PAGE_COST
    }

    pub fn new(making: &Making) -> Self {
        let Making { memory, hashing, number, shards } = *making;
        let mut pages = Pages::new(Self::pages_of(memory));
        let given = pages.give_up();
        debug_assert!(given, "a shard has pages");
        let share = Share::new(pages.count() * PAGE_BYTES);
        Self {
            pages,
            index: Index::new(),
            queues: [Queue::new(0), Queue::new(1)],
            counts: Figures::default(),
            flush_at: 0,
            asked: AskedKeys::new(),
            ghosts: Ghosts::new(memory),
            share,
            trials: Trials::new(),
            hashing,
            cas: number as u64,
            cas_step: shards as u64,
            may_keep: 0,
            owed: 0,
            swept: 0,
            fixed_bytes: size_of::<Self>() + Ghosts::bytes(memory),
        }
    }

    /// The next unique number, from 1 on.
    pub fn next_cas(&mut self) -> u64 {
        self.cas += self.cas_step;
        self.cas
    }

    /// Where the item of a key is, alive or expired.
    #[inline]
    pub fn locate(&self, key: &Key<'_>) -> Option<Place> {
        let wanted = key.bytes();
        self.index.find(key.hash.tag(), |place| {
            let page = self.pages.bytes(place.page());
            let at = place.offset();
            usize::from(page[at + 30]) == wanted.len()
                && page[at + HEADER_BYTES..at + HEADER_BYTES + wanted.len()] == *wanted
        })
    }

    /// The hash of the key of an entry.
    pub fn hash_at(&self, place: Place, header: &Header) -> Hash {
        let start = place.offset() + HEADER_BYTES;
        let page = self.pages.bytes(place.page());
        self.hashing.hash(&page[start..start + usize::from(header.key_bytes)])
    }

    /// Which queue an entry is in.
    pub fn queue_of(&self, place: Place) -> usize {
        self.pages.about[place.page() as usize].queue.map_or(NEW, usize::from)
    }

    /// Which queue an item of that size goes to whose key is not there: that of proven ones if it
    /// went before it could prove itself and was asked for since. One that had proved itself starts
    /// anew: if it came back at once, a loop longer than the memory would find nothing.
    pub fn queue_for(&mut self, hash: Hash, bytes: usize) -> usize {
        if !self.asked.take(hash) {
            self.share.stored_unasked(bytes, self.mean_bytes(), self.pages.count() * PAGE_BYTES);
        }
        let is_proven = self.ghosts.take(hash) == Some(NEW) && self.price(bytes) < USES_MAX;
        if is_proven { PROVEN } else { NEW }
    }

    /// Writes header, key and numbers of pages of an entry to a queue; the value's end is to be
    /// written by who called. None if there are too few pages.
    pub fn write_front(
        &mut self,
        queue: usize,
        header: &mut Header,
        key: &[u8],
        own: &[u32],
    ) -> Option<Place> {
        let room = (header.front_bytes() + header.inline_bytes()).next_multiple_of(8);
        header.room = room as u32;
        let place = self.queues[queue].extend(&mut self.pages, header.front_bytes(), room)?;
        self.note_expiry(place, header);
        header.write(self.pages.bytes_mut(place.page()), place.offset());
        let mut at = place.offset() + HEADER_BYTES;
        let page = self.pages.bytes_mut(place.page());
        page[at..at + key.len()].copy_from_slice(key);
        at += key.len();
        for number in own {
            page[at..at + 4].copy_from_slice(&number.to_le_bytes());
            at += 4;
        }
        self.queues[queue].pages += own.len();
        self.queues[queue].bytes += header.total_bytes();
        Some(place)
    }

    /// Lets the sweep know when an item of a page expires.
    pub fn note_expiry(&mut self, place: Place, header: &Header) {
        if let Some(second) = header.expires.second() {
            let about = &mut self.pages.about[place.page() as usize];
            about.expires = about.expires.min(second);
        }
    }

    /// Makes an entry none, without a word to the index.
    pub fn bury(&mut self, place: Place, header: &Header, own: Own) {
        let queue = self.queue_of(place);
        self.queues[queue].bytes -= header.total_bytes();
        self.queues[queue].pages -= usize::from(header.pages);
        if own == Own::Released && header.pages > 0 {
            let front = place.offset() + header.front_bytes();
            let start = front - 4 * usize::from(header.pages);
            let numbers: Vec<u32> =
                page_numbers(&self.pages.bytes(place.page())[start..front]).collect();
            for page in numbers {
                self.pages.release(page);
            }
        }
        let mut dead = *header;
        dead.set_dead();
        self.pages.set_header(place, &dead);
        self.queues[queue].bury(&mut self.pages, place, header.room as usize);
    }

    /// Removes an item.
    pub fn remove(&mut self, place: Place, header: &Header) {
        let tag = self.hash_at(place, header).tag();
        self.index.remove(tag, place);
        self.bury(place, header, Own::Released);
    }

    /// Removes an item that has expired.
    pub fn remove_expired(&mut self, place: Place, header: &Header) {
        self.counts.expired_unfetched += u64::from(!header.is_fetched());
        self.counts.reclaimed += 1;
        self.remove(place, header);
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.counts.reclaimed += self.index.items() as u64;
        // All but the one that it begins with.
        let returned = self.index.pages() - 1;
        self.index = Index::new();
        self.pages.clear(returned);
        self.queues = [Queue::new(0), Queue::new(1)];
        self.ghosts.clear();
        (self.flush_at, self.owed, self.swept) = (0, 0, 0);
    }

    /// Bytes of items that are alive.
    pub fn live_bytes(&self) -> usize {
        self.queues[NEW].bytes + self.queues[PROVEN].bytes
    }

    /// What an item takes in the mean.
    fn mean_bytes(&self) -> usize {
        self.live_bytes() / self.index.items().max(1)
    }

    /// All memory that it has, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.fixed_bytes + (self.pages.allocated() + self.index.pages()) * PAGE_COST
    }

    /// Sees to it that `bytes` can be stored, for which `pages` pages will be needed.
    #[inline]
    pub fn make_room(&mut self, now: u32, bytes: usize, pages: usize) {
        let spare = self.pages.spare();
        self.may_keep = (self.may_keep + KEPT_PER_BYTE * bytes).min(KEPT_BYTES_MAX);
        if spare < PAGES_AHEAD || spare < PAGES_RESERVED + pages {
            self.throw_out(now, bytes, PAGES_RESERVED + pages);
        }
        if self.index.is_crowded() {
            self.grow_index();
        }
    }

    fn throw_out(&mut self, now: u32, bytes: usize, needed: usize) {
        self.owed += bytes;
        let mut rotations = ROTATIONS_MAX;
        loop {
            let spare = self.pages.spare();
            if spare >= needed && (spare >= PAGES_AHEAD || self.owed == 0) {
                break;
            }
            let Some(queue) = self.giving() else { break };
            if rotations > 0 && self.is_dense(queue) && self.queues[queue].rotate(&mut self.pages) {
                rotations -= 1;
                continue;
            }
            match self.pass(queue, now, spare < needed) {
                Some(bytes) => self.owed = self.owed.saturating_sub(bytes),
                None => break,
            }
        }
        if self.pages.spare() >= PAGES_AHEAD {
            self.owed = 0;
        }
    }

    fn grow_index(&mut self) {
        if self.index.is_at_chunk_end() {
            if self.pages.spare() <= PAGES_RESERVED || !self.pages.give_up() {
                return;
            }
            self.owed += PAGE_BYTES;
        }
        self.index.split();
    }

    /// The queue that gives room: the one that has more than its share, or most that is dead while
    /// nothing has to go that is alive.
    fn giving(&self) -> Option<usize> {
        let [new, proven] = &self.queues;
        let is_new = if self.has_dead() {
            new.dead_bytes() > proven.dead_bytes()
        } else {
            new.pages * PAGE_BYTES > self.share.new_bytes
        };
        match (new.tail, proven.tail) {
            (0, 0) => None,
            (_, 0) => Some(NEW),
            (0, _) => Some(PROVEN),
            _ => Some(if is_new { NEW } else { PROVEN }),
        }
    }

    /// Has the oldest entry of a queue leave it or go round. Gives the bytes that came free; none
    /// if it should stay, may not be moved yet, and is not `forced` to go.
    fn pass(&mut self, number: usize, now: u32, forced: bool) -> Option<usize> {
        let queue = &mut self.queues[number];
        let page = queue.tail;
        if page == queue.head {
            queue.seal(&mut self.pages);
            return Some(0);
        }
        let end = self.pages.about[page as usize].end as usize;
        if queue.cursor >= end {
            debug_assert_eq!(self.pages.about[page as usize].live, 0, "all of it has left");
            queue.leave_if_dead(&mut self.pages, page);
            return Some(0);
        }
        let place = Place::new(page, queue.cursor);
        let header = self.pages.header(place);
        let room = header.room as usize;
        let is_kept =
            !header.is_dead() && !header.expires.is_past(now) && self.is_kept(place, &header);
        if is_kept && !forced && self.may_keep < room {
            return None;
        }
        self.queues[number].cursor += room;
        if number == NEW {
            self.ghosts.pass(header.total_bytes());
        }
        if header.is_dead() {
            return Some(room);
        }
        if header.expires.is_past(now) {
            self.counts.queues[number].reclaimed += 1;
            self.remove_expired(place, &header);
            return Some(header.total_bytes());
        }
        if is_kept && self.may_keep >= room && self.keep(number, place, &header) {
            return Some(0);
        }
        self.evict(number, place, &header);
        Some(header.total_bytes())
    }

    /// Whether the oldest page of a queue would give little room, and others more.
    fn is_dense(&self, queue: usize) -> bool {
        let about = self.pages.about[self.queues[queue].tail as usize];
        self.has_dead() && about.live as usize * 100 > about.end as usize * LIVE_PERCENT_MAX
    }

    /// Whether so much is dead that nothing has to go that is not.
    fn has_dead(&self) -> bool {
        self.live_bytes() < self.pages.count() * PAGE_BYTES / 100 * LIVE_PERCENT_MAX
    }

    /// Whether an item that is alive should stay.
    fn is_kept(&self, place: Place, header: &Header) -> bool {
        if self.has_dead() {
            return true;
        }
        let may_begin = || self.trials.may_begin(self.hash_at(place, header));
        let is_trial = self.queue_of(place) == NEW && self.has_just_proved(header);
        self.has_proved(header) && (!is_trial || may_begin())
    }

    fn has_proved(&self, header: &Header) -> bool {
        header.uses() >= self.price(header.total_bytes())
    }

    fn has_just_proved(&self, header: &Header) -> bool {
        header.uses() == self.price(header.total_bytes())
    }

    /// Uses that an item of that size must have had to stay.
    fn price(&self, bytes: usize) -> u8 {
        let (bytes, all) = (bytes * self.index.items(), self.live_bytes());
        1 + u8::from(bytes > all) + u8::from(bytes > all * LARGE_TIMES)
    }

    /// Moves an item behind the others that have proved themselves; behind those that are new if it
    /// has not, and stays for there is room.
    fn keep(&mut self, number: usize, from: Place, header: &Header) -> bool {
        let mut moved = *header;
        let has_proved = self.has_proved(header);
        let into = if has_proved { PROVEN } else { number };
        if has_proved && number == NEW {
            moved.set_on_trial(self.has_just_proved(header));
            moved.set_uses(0);
        } else if has_proved {
            if header.is_on_trial() {
                self.trials.note(true);
            }
            moved.set_on_trial(false);
            moved.set_uses(header.uses() - self.price(header.total_bytes()));
        }
        let room = header.room as usize;
        let queue = &mut self.queues[into];
        let Some(to) = queue.extend(&mut self.pages, header.front_bytes(), room) else {
            return false;
        };
        queue.bytes += header.total_bytes();
        queue.pages += usize::from(header.pages);
        self.pages.copy(from, to, header.front_bytes() + header.inline_bytes());
        self.pages.set_header(to, &moved);
        self.note_expiry(to, &moved);
        let tag = self.hash_at(from, header).tag();
        self.index.replace(tag, from, to);
        self.bury(from, header, Own::Moved);
        self.may_keep -= room;
        self.counts.moves += 1;
        true
    }

    /// Notes that an item was read or written again.
    #[inline]
    pub fn note_use(&mut self, place: Place) {
        if self.queue_of(place) == PROVEN {
            self.share.used_proven();
        }
    }

    /// Notes that a key was asked for that is not there.
    #[inline]
    pub fn miss(&mut self, hash: Hash) {
        self.asked.note(hash);
        if let Some(missed) = self.ghosts.missed(hash) {
            let (each, whole) = (self.mean_bytes(), self.pages.count() * PAGE_BYTES);
            self.share.adapt(missed, &self.ghosts, each, whole);
        }
    }

    fn evict(&mut self, number: usize, place: Place, header: &Header) {
        let hash = self.hash_at(place, header);
        self.ghosts.note(hash, number);
        if number == PROVEN && header.is_on_trial() {
            self.trials.note(false);
        }
        self.index.remove(hash.tag(), place);
        self.bury(place, header, Own::Released);
        let unfetched = u64::from(!header.is_fetched());
        self.counts.evictions += 1;
        self.counts.evicted_unfetched += unfetched;
        self.counts.queues[number].evicted += 1;
        self.counts.queues[number].evicted_unfetched += unfetched;
    }

    /// Calls `visit` with the place and header of each item of a page that is alive, until that is
    /// false; gives the last answer.
    pub fn visit_page(
        &self,
        page: u32,
        now: u32,
        mut visit: impl FnMut(Place, &Header) -> bool,
    ) -> bool {
        let about = self.pages.about[page as usize];
        let mut at = about.first as usize;
        while about.queue.is_some() && at < about.end as usize {
            let place = Place::new(page, at);
            let header = self.pages.header(place);
            at += header.room as usize;
            let is_alive = !header.is_dead() && !header.expires.is_past(now);
            if is_alive && !visit(place, &header) {
                return false;
            }
        }
        true
    }

    /// Removes expired items of at most one page, which it looks for among some.
    pub fn sweep(&mut self, now: u32) {
        let last = self.pages.about.len() as u32 - 1;
        for _ in 0..PAGES_PER_SWEEP.min(last as usize) {
            self.swept = self.swept % last + 1;
            let about = self.pages.about[self.swept as usize];
            if about.queue.is_some() && about.expires <= now {
                self.sweep_page(self.swept, now);
                break;
            }
        }
    }

    fn sweep_page(&mut self, page: u32, now: u32) {
        let mut at = self.pages.about[page as usize].first as usize;
        let mut soonest = u32::MAX;
        // The page is given back with its last item, and nothing is on it then.
        while at < self.pages.about[page as usize].end as usize {
            let place = Place::new(page, at);
            let header = self.pages.header(place);
            at += header.room as usize;
            if header.is_dead() {
                continue;
            }
            if header.expires.is_past(now) {
                self.remove_expired(place, &header);
            } else if let Some(second) = header.expires.second() {
                soonest = soonest.min(second);
            }
        }
        self.pages.about[page as usize].expires = soonest;
    }
}
