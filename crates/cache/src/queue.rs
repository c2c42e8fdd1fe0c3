//! Pages in a row: items are written at the head and leave at the tail. A page without a living
//! item leaves wherever it is.

use crate::entry::Place;
use crate::limits::{PAGE_BYTES, WHOLE_BYTES_MAX};
use crate::pages::Pages;

/// The queue of what is new.
pub(crate) const NEW: usize = 0;
/// That of what has proved itself.
pub(crate) const PROVEN: usize = 1;

/// One of the two queues of a shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    number: u8,
    /// The page that is written to; 0: none.
    pub head: u32,
    /// The last page written, head or not; 0: the queue is empty.
    newest: u32,
    /// The oldest page.
    pub tail: u32,
    /// Where the next entry to leave begins on it.
    pub cursor: usize,
    /// Pages that it has, those included that items have for themselves.
    pub pages: usize,
    /// Items that are alive, and what they take.
    pub items: usize,
    pub bytes: usize,
}

impl Queue {
    pub fn new(number: u8) -> Self {
        Self { number, head: 0, newest: 0, tail: 0, cursor: 0, pages: 0, items: 0, bytes: 0 }
    }

    /// Bytes of its pages that no item has that is alive.
    pub fn dead_bytes(&self) -> usize {
        (self.pages * PAGE_BYTES).saturating_sub(self.bytes)
    }

    /// Whether an entry of that size can be written without another page.
    #[inline]
    pub fn has_room(&self, pages: &Pages, room: usize) -> bool {
        self.head != 0 && pages.about[self.head as usize].end as usize + room <= PAGE_BYTES
    }

    /// Where an entry of `room` bytes, a multiple of 8, is to be written, of which the first
    /// `front` stay together. Needs at most two free pages; none if there are not as many.
    pub fn extend(&mut self, pages: &mut Pages, front: usize, room: usize) -> Option<Place> {
        if !self.has_room(pages, room) {
            let end = match self.head {
                0 => PAGE_BYTES,
                head => pages.about[head as usize].end as usize,
            };
            let is_parted = room > WHOLE_BYTES_MAX && end + front <= PAGE_BYTES;
            if pages.spare() < if is_parted { 1 } else { 1 + usize::from(room > PAGE_BYTES) } {
                return None;
            }
            if !is_parted {
                self.add_page(pages)?;
            }
        }
        let page = self.head;
        let start = pages.about[page as usize].end as usize;
        let here = room.min(PAGE_BYTES - start);
        let about = &mut pages.about[page as usize];
        about.end = (start + here) as u32;
        about.live += here as u32;
        if here < room {
            about.is_parted = true;
            self.add_page(pages)?;
            let about = &mut pages.about[self.head as usize];
            about.first = (room - here) as u32;
            about.end = about.first;
            about.live = about.first;
        }
        self.items += 1;
        Some(Place::new(page, start))
    }

    fn add_page(&mut self, pages: &mut Pages) -> Option<()> {
        self.seal(pages);
        let page = pages.take()?;
        let about = &mut pages.about[page as usize];
        about.queue = Some(self.number);
        about.before = self.newest;
        match self.newest {
            0 => (self.tail, self.cursor) = (page, 0),
            newest => pages.about[newest as usize].after = page,
        }
        (self.head, self.newest) = (page, page);
        self.pages += 1;
        Some(())
    }

    /// Writes no more to the head.
    pub fn seal(&mut self, pages: &mut Pages) {
        let page = std::mem::take(&mut self.head);
        if page != 0 {
            self.leave_if_dead(pages, page);
        }
    }

    /// Has the oldest page go round whole, with what is on it: it is the newest then but for the
    /// head. Whether that can be; not if an item is on two pages of which one would move.
    pub fn rotate(&mut self, pages: &mut Pages) -> bool {
        let (page, head) = (self.tail, self.head);
        let about = pages.about[page as usize];
        let before = if head == 0 { self.newest } else { pages.about[head as usize].before };
        let is_apart = about.first == 0 && !about.is_parted && self.cursor == 0;
        if !is_apart || page == before || page == head || pages.about[before as usize].is_parted {
            return false;
        }
        self.tail = about.after;
        self.cursor = pages.about[about.after as usize].first as usize;
        pages.about[about.after as usize].before = 0;
        pages.about[before as usize].after = page;
        let moved = &mut pages.about[page as usize];
        (moved.before, moved.after) = (before, head);
        match head {
            0 => self.newest = page,
            head => pages.about[head as usize].before = page,
        }
        true
    }

    /// Lets a page go if nothing on it is alive and nothing will be written to it.
    pub fn leave_if_dead(&mut self, pages: &mut Pages, page: u32) {
        let about = pages.about[page as usize];
        if about.live > 0 || page == self.head {
            return;
        }
        match about.before {
            0 => {}
            before => pages.about[before as usize].after = about.after,
        }
        match about.after {
            0 => self.newest = about.before,
            after => pages.about[after as usize].before = about.before,
        }
        if page == self.tail {
            self.tail = about.after;
            self.cursor = match about.after {
                0 => 0,
                after => pages.about[after as usize].first as usize,
            };
        }
        pages.release(page);
        self.pages -= 1;
    }

    /// Notes that an entry is none any more.
    pub fn bury(&mut self, pages: &mut Pages, place: Place, room: usize) {
        let page = place.page();
        let here = room.min(PAGE_BYTES - place.offset());
        pages.about[page as usize].live -= here as u32;
        if here < room {
            let after = pages.about[page as usize].after;
            pages.about[after as usize].live -= (room - here) as u32;
            self.leave_if_dead(pages, after);
        }
        self.leave_if_dead(pages, page);
        self.items -= 1;
    }
}
