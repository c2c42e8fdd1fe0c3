//! An item that was looked up, under its shard's lock: whatever is asked of it or done with it
//! needs no second look.

use crate::entry::{HEADER_BYTES, Header, Place};
use crate::expires::Expires;
use crate::key::Key;
use crate::limits::KEY_BYTES_MAX;
use crate::state::State;
use crate::value::Value;

/// An item that is alive.
pub struct Found<'s> {
    state: &'s mut State,
    place: Place,
    header: Header,
    now: u32,
}

/// The value is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value is not a decimal number of 64 bits")]
pub struct NotNumeric;

impl<'s> Found<'s> {
    #[inline]
    pub(crate) fn new(state: &'s mut State, place: Place, header: Header, now: u32) -> Self {
        Self { state, place, header, now }
    }

    pub(crate) fn place_and_header(&self) -> (Place, Header) {
        (self.place, self.header)
    }

    /// The length of its value, in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a length in bytes, not a collection")]
    pub fn len(&self) -> usize {
        self.header.value_bytes as usize
    }

    /// Its value.
    #[inline]
    pub fn value(&self) -> Value<'_> {
        Value::new(&self.state.pages, self.place, &self.header)
    }

    /// The client's own.
    pub fn flags(&self) -> u32 {
        self.header.flags
    }

    /// Its unique number.
    pub fn cas(&self) -> u64 {
        self.header.cas
    }

    /// When it is gone.
    pub fn expires(&self) -> Expires {
        self.header.expires
    }

    /// Seconds until it is gone; none if it stays.
    pub fn ttl(&self) -> Option<u32> {
        self.header.expires.second().map(|second| second.saturating_sub(self.now))
    }

    /// Seconds since it was used or stored.
    pub fn idle(&self) -> u32 {
        self.now.saturating_sub(self.header.used)
    }

    /// Whether it was fetched before.
    pub fn is_fetched(&self) -> bool {
        self.header.is_fetched()
    }

    /// Whether it was stored under a key that was told in binary.
    pub fn is_binary(&self) -> bool {
        self.header.is_binary()
    }

    /// Whether it is stale.
    pub fn is_stale(&self) -> bool {
        self.header.is_stale()
    }

    /// Whether somebody is making it anew.
    pub fn is_taken(&self) -> bool {
        self.header.is_taken()
    }

    /// All that it takes of memory, its part of the index apart, in bytes.
    pub fn bytes(&self) -> usize {
        self.header.total_bytes()
    }

    /// The queue it is in: 1 for what is new, 2 for what has proved itself.
    pub fn class(&self) -> u8 {
        self.state.queue_of(self.place) as u8 + 1
    }

    #[inline]
    fn write(&mut self) {
        self.state.pages.set_header(self.place, &self.header);
    }

    /// Changes when it is gone. [`Expires::PAST`] leaves it in this hand only.
    pub fn set_expires(&mut self, expires: Expires) {
        self.header.expires = expires;
        self.write();
        self.state.note_expiry(self.place, &self.header);
    }

    /// Notes that it was used: it counts when room is made, and for [`Found::idle`].
    #[inline]
    pub fn mark_fetched(&mut self) {
        self.state.note_use(self.place);
        self.header.set_fetched(true);
        self.header.set_uses(self.header.uses() + 1);
        self.header.used = self.now;
        self.write();
    }

    /// Makes whoever calls the one to make it anew; whether nobody was yet.
    pub fn take(&mut self) -> bool {
        let is_first = !self.header.is_taken();
        if is_first {
            self.header.set_taken(true);
            self.write();
        }
        is_first
    }

    /// Makes it stale, for the next who takes it to make it anew. It gets this unique number or the
    /// next one, which is the answer.
    pub fn invalidate(&mut self, new_cas: Option<u64>) -> u64 {
        self.header.set_stale(true);
        self.header.set_taken(false);
        self.set_cas(new_cas)
    }

    /// Gives it this unique number or the next one, which is the answer.
    pub fn set_cas(&mut self, cas: Option<u64>) -> u64 {
        self.header.cas = cas.unwrap_or_else(|| self.state.next_cas());
        self.write();
        self.header.cas
    }

    /// Removes its value and flags; the item stays.
    pub fn clear(&mut self) {
        self.header.flags = 0;
        let header = self.header;
        self.put(header, b"");
    }

    /// Removes it.
    pub fn remove(self) {
        self.state.remove(self.place, &self.header);
    }

    /// Adds to the number that it is or subtracts from it, and gives the result: sums wrap around
    /// at 2^64, differences stop at 0. A result with fewer digits is filled up with spaces; one
    /// with more makes the item a new one, not fetched and not stale. It gets this unique number or
    /// the next one.
    ///
    /// # Errors
    /// If it is no number; it stays as it is.
    pub fn add(
        &mut self,
        delta: u64,
        is_decrement: bool,
        new_cas: Option<u64>,
    ) -> Result<u64, NotNumeric> {
        let value = self.value().to_vec();
        let number = number(&value).ok_or(NotNumeric)?;
        let number = match is_decrement {
            true => number.saturating_sub(delta),
            false => number.wrapping_add(delta),
        };
        let mut digits = number.to_string().into_bytes();
        let cas = new_cas.unwrap_or_else(|| self.state.next_cas());
        if digits.len() <= value.len() && self.header.pages == 0 {
            digits.resize(value.len(), b' ');
            self.header.cas = cas;
            self.write();
            self.state.pages.write_across(self.place, self.header.front_bytes(), &digits);
            return Ok(number);
        }
        let mut header = Header {
            expires: self.header.expires,
            flags: self.header.flags,
            used: self.now,
            cas,
            ..Header::default()
        };
        header.set_uses(self.header.uses());
        self.put(header, &digits);
        Ok(number)
    }

    /// Writes another header and value under the key.
    fn put(&mut self, header: Header, value: &[u8]) {
        let mut room = [0; KEY_BYTES_MAX];
        let length = usize::from(self.header.key_bytes);
        let start = self.place.offset() + HEADER_BYTES;
        let page = self.state.pages.bytes(self.place.page());
        room[..length].copy_from_slice(&page[start..start + length]);
        let hash = self.state.hash_at(self.place, &self.header);
        let key = Key::new(&room[..length], hash);
        if let Some(place) = self.state.put(&key, header, value, self.now, Some(self.place)) {
            self.place = place;
        }
        self.header = self.state.pages.header(self.place);
    }
}

/// A number as memcached reads it, with `strtoull`: spaces before it and a plus are passed over,
/// and anything behind a space or a zero byte.
fn number(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii_start();
    let is_negative = value.first() == Some(&b'-');
    let value = value.strip_prefix(b"+").or(value.strip_prefix(b"-")).unwrap_or(value);
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ends = value.get(digits).is_none_or(|byte| *byte == 0 || byte.is_ascii_whitespace());
    if digits == 0 || !ends {
        return None;
    }
    let number = value[..digits].iter().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })?;
    (!is_negative || number == 0).then_some(number)
}
