//! The content of one file: what a reader sees, what is on disk, and what is between the two.

use crate::random::Random;

/// The smallest unit that a disk writes whole.
const SECTOR_BYTES: usize = 512;

/// The unit in which the operating system writes back.
const PAGE_BYTES: usize = 4096;

/// A write since the last sync.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub at: u64,
    pub bytes: Vec<u8>,
    /// It was synchronous: it is on disk, whatever becomes of others.
    pub is_synced: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// What reading gives.
    pub live: Vec<u8>,
    durable: Vec<u8>,
    /// In the order in which they were made.
    ops: Vec<Op>,
}

fn write(content: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let end = at as usize + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at as usize..end].copy_from_slice(bytes);
}

impl Content {
    pub(super) fn put(&mut self, op: Op) {
        write(&mut self.live, op.at, &op.bytes);
        self.ops.push(op);
    }

    /// Puts just some parts of it.
    pub(super) fn put_in_part(&mut self, op: &Op, random: &mut Random) {
        for (at, bytes) in torn(op, random) {
            self.put(Op { at, bytes, is_synced: false });
        }
    }

    pub(super) fn sync(&mut self) {
        for op in std::mem::take(&mut self.ops) {
            write(&mut self.durable, op.at, &op.bytes);
        }
    }

    /// A sync that fails. Linux keeps the pages, and calls them clean whether they reached the disk
    /// or not: a later sync will not write them.
    pub(super) fn fail_to_sync(&mut self, random: &mut Random) {
        for op in std::mem::take(&mut self.ops) {
            if op.is_synced || random.percent(50) {
                write(&mut self.durable, op.at, &op.bytes);
            }
        }
    }

    /// Keeps what was synced, and of the rest about so much.
    pub(super) fn cut_power(&mut self, random: &mut Random, keep_percent: u64) {
        for op in std::mem::take(&mut self.ops) {
            let is_torn = (1..100).contains(&keep_percent) && random.percent(40);
            if op.is_synced || (!is_torn && random.percent(keep_percent)) {
                write(&mut self.durable, op.at, &op.bytes);
            } else if is_torn {
                for (at, bytes) in torn(&op, random) {
                    write(&mut self.durable, at, &bytes);
                }
            }
        }
        self.live.clone_from(&self.durable);
    }
}

/// Some parts of a write: the front of it, or any of its sectors or pages.
fn torn(op: &Op, random: &mut Random) -> Vec<(u64, Vec<u8>)> {
    let unit = *random.pick(&[SECTOR_BYTES, PAGE_BYTES]);
    let units = op.bytes.len().div_ceil(unit) as u64;
    let front = random.percent(50).then(|| random.below(units + 1));
    let mut parts = Vec::new();
    for (i, part) in op.bytes.chunks(unit).enumerate() {
        let is_kept = front.map_or_else(|| random.percent(50), |front| (i as u64) < front);
        if is_kept {
            parts.push((op.at + (i * unit) as u64, part.to_vec()));
        }
    }
    parts
}
