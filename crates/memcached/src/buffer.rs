//! Bytes of a connection that wait: commands that are not whole yet, or answers that the client has
//! not taken. A few of them are on the heap. Many have a mapping of their own, which goes back to
//! the operating system at once when they are done with; an allocator would keep it.

use crate::limits::SMALL_BYTES_MAX;
use memmap2::MmapMut;
use std::io;

/// Memory is mapped in pages of this size.
const MAPPED_STEP: usize = 4 << 10;

/// Least memory on the heap.
const HEAP_BYTES_MIN: usize = 64;

/// Bytes that come at one end and go at the other. Empty, it has no memory.
#[derive(Default)]
pub(crate) struct Buffer {
    room: Room,
    /// The bytes are those of the room from here
    start: usize,
    /// to here.
    end: usize,
}

enum Room {
    Heap(Box<[u8]>),
    Mapped(MmapMut),
}

impl Default for Room {
    fn default() -> Self {
        Self::Heap(Box::default())
    }
}

impl Room {
    fn new(size: usize) -> io::Result<Self> {
        Ok(match size {
            ..=SMALL_BYTES_MAX => Self::Heap(vec![0; size].into_boxed_slice()),
            _ => Self::Mapped(MmapMut::map_anon(size)?),
        })
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl Buffer {
    /// Memory for so many bytes.
    pub fn size_for(bytes: usize) -> usize {
        match bytes {
            0 => 0,
            1..=SMALL_BYTES_MAX => bytes.next_power_of_two().max(HEAP_BYTES_MIN),
            _ => bytes.next_multiple_of(MAPPED_STEP),
        }
    }

    /// Memory that it has.
    pub fn size(&self) -> usize {
        self.room.bytes().len()
    }

    /// Memory that it will have with so many bytes more.
    pub fn size_with(&self, more: usize) -> usize {
        self.size().max(Self::size_for(self.len() + more))
    }

    pub fn len(&self) -> usize {
        self.end - self.start
    }

    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub fn bytes(&self) -> &[u8] {
        &self.room.bytes()[self.start..self.end]
    }

    /// Gets room for so many bytes more, as [`Buffer::size_with`] says.
    pub fn reserve(&mut self, more: usize) -> io::Result<()> {
        if self.end + more > self.size() {
            self.change_room(self.size_with(more))?;
        }
        Ok(())
    }

    /// Gets no more room than its bytes need.
    pub fn shrink(&mut self) -> io::Result<()> {
        match Self::size_for(self.len()) {
            size if size < self.size() => self.change_room(size),
            _ => Ok(()),
        }
    }

    fn change_room(&mut self, size: usize) -> io::Result<()> {
        let length = self.len();
        if size == self.size() {
            self.room.bytes_mut().copy_within(self.start..self.end, 0);
        } else {
            let mut room = Room::new(size)?;
            room.bytes_mut()[..length].copy_from_slice(self.bytes());
            self.room = room;
        }
        (self.start, self.end) = (0, length);
        Ok(())
    }

    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reserve(bytes.len())?;
        let end = self.end + bytes.len();
        self.room.bytes_mut()[self.end..end].copy_from_slice(bytes);
        self.end = end;
        Ok(())
    }

    /// Where bytes behind its own may be put: [`Buffer::extend`] then makes them its own.
    pub fn spare(&mut self) -> &mut [u8] {
        let end = self.end;
        &mut self.room.bytes_mut()[end..]
    }

    /// Takes over so many bytes of what was [`Buffer::spare`].
    pub fn extend(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.size());
    }

    /// Drops so many of its first bytes.
    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes.min(self.len());
        if self.is_empty() {
            *self = Self::default();
        }
    }

    /// Drops all but so many of its first bytes.
    pub fn truncate(&mut self, bytes: usize) {
        self.end = self.end.min(self.start + bytes);
        if self.is_empty() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_in_at_one_end_and_out_at_the_other() {
        let mut buffer = Buffer::default();
        let (mut next_in, mut next_out, mut seed) = (0_u8, 0_u8, 7_usize);
        for round in 0..2_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) >> 1;
            let count = seed % if round % 50 == 0 { 200_000 } else { 5_000 };
            let bytes: Vec<u8> = (0..count).map(|i| next_in.wrapping_add(i as u8)).collect();
            next_in = next_in.wrapping_add(count as u8);
            let expected = buffer.size_with(count);
            buffer.append(&bytes).unwrap();
            assert_eq!(buffer.size(), expected, "as it was said before");
            let gone = (seed >> 7) % (buffer.len() + 1);
            for byte in &buffer.bytes()[..gone] {
                assert_eq!(*byte, next_out);
                next_out = next_out.wrapping_add(1);
            }
            buffer.consume(gone);
            if seed.is_multiple_of(3) {
                buffer.shrink().unwrap();
                assert_eq!(buffer.size(), Buffer::size_for(buffer.len()));
            }
        }
        buffer.truncate(0);
        assert_eq!((buffer.size(), buffer.len()), (0, 0), "empty, it has no memory");
    }

    #[test]
    fn what_is_put_into_the_spare_room_is_its_own() {
        let mut buffer = Buffer::default();
        buffer.append(b"ab").unwrap();
        buffer.reserve(SMALL_BYTES_MAX).unwrap();
        buffer.spare()[..2].copy_from_slice(b"cd");
        buffer.extend(2);
        assert_eq!(buffer.bytes(), b"abcd");
        buffer.truncate(3);
        assert_eq!(buffer.bytes(), b"abc");
    }
}
