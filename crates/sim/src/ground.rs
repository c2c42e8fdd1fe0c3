//! What both worlds stand on: the seed's randomness, the simulated disk with what happens to it,
//! and what the log has promised so far.

use crate::disk::SimDisk;
use crate::random::Random;
use crate::trace::{Finding, Trace, expect};
use repository::Retention;
use repository::limits::WRITTEN_SYNC_MS;
use repository::parts::SegmentSizes;
use std::io::ErrorKind;

pub(crate) const BLOCK_BYTES: u64 = 4096;

/// See the module.
pub struct Ground {
    pub(crate) random: Random,
    pub(crate) disk: SimDisk,
    pub(crate) sizes: SegmentSizes,
    pub(crate) retention: Retention,
    /// What was done last.
    pub trace: Trace,
    /// Whether the power went since the last opening.
    pub(crate) power_was_cut: bool,
    /// Whether a call may fail that has not yet.
    pub(crate) may_fail: bool,
    /// Whether the disk has a bound.
    pub(crate) is_bounded: bool,
    /// Acknowledged.
    pub(crate) durable: u64,
    pub(crate) synced: u64,
    /// Since when something is written and not synced.
    unsynced_since_ms: Option<u64>,
}

impl Ground {
    /// The ground of a seed; segments have at least and at most so many blocks.
    pub(crate) fn new(seed: u64, (least, most): (u64, u64)) -> Self {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(random.split());
        let sizes = SegmentSizes {
            first_bytes: BLOCK_BYTES * random.between(2, 8),
            bytes: BLOCK_BYTES * random.between(least, most),
        };
        let bytes = sizes.bytes * *random.pick(&[0, 0, 1, 4, 20]);
        Self {
            random,
            disk,
            sizes,
            retention: Retention { bytes, hold: None },
            trace: Trace::default(),
            power_was_cut: false,
            may_fail: false,
            is_bounded: false,
            durable: 0,
            synced: 0,
            unsynced_since_ms: None,
        }
    }

    /// Whether there is a reason for something to fail.
    pub(crate) fn has_cause(&self) -> bool {
        self.is_bounded || self.can_poison()
    }

    /// Whether there is a reason for the log to be poisoned, which a full disk is not.
    pub(crate) fn can_poison(&self) -> bool {
        self.may_fail || self.disk.has_crashed()
    }

    /// Lets the process die within the next calls.
    pub(crate) fn plan_crash(&mut self, calls_max: u64) {
        let calls = self.random.below(calls_max);
        self.disk.crash_after(calls);
        self.trace.note(format_args!("the crash comes after {calls} calls"));
    }

    /// Lets a call fail, or the disk fill up.
    pub(crate) fn plan_failure(&mut self) {
        if self.random.percent(30) {
            let bytes = self.random.below(4 * self.sizes.bytes);
            self.bound(bytes);
        } else {
            self.may_fail = true;
            let calls = self.random.below(8);
            let kind = *self.random.pick(&[ErrorKind::Other, ErrorKind::StorageFull]);
            self.disk.fail_after(calls, kind);
            self.trace.note(format_args!("a call fails after {calls}: {kind}"));
        }
    }

    /// Lets so many bytes fit on the disk from now on.
    pub(crate) fn bound(&mut self, bytes: u64) {
        self.is_bounded = true;
        self.disk.leave_room(bytes);
        self.trace.note(format_args!("the disk has room for {bytes} bytes"));
    }

    /// Lets anything fit on the disk again.
    pub(crate) fn make_room(&mut self) {
        self.is_bounded = false;
        self.disk.leave_room(u64::MAX);
    }

    pub(crate) fn heal(&mut self) {
        self.disk.heal();
        self.make_room();
        self.may_fail = false;
    }

    /// What may happen to the disk before an opening.
    pub(crate) fn before_opening(&mut self, calls_max: u64) {
        if self.random.percent(10) {
            self.plan_crash(calls_max);
        }
        if self.random.percent(70) {
            self.heal();
        }
    }

    /// The process has died, and the power with it or not: that is told.
    pub(crate) fn die(&mut self, why: &str) -> bool {
        let cut = self.random.percent(60);
        self.power_was_cut |= cut;
        self.trace.note(format_args!("{why}: the {} dies", if cut { "power" } else { "process" }));
        if cut {
            self.disk.cut_power();
        } else {
            self.disk.kill();
        }
        cut
    }

    /// Whether the log must be synced now.
    pub(crate) fn is_sync_due(&self, now_ms: u64) -> bool {
        self.unsynced_since_ms.is_some_and(|since| now_ms - since >= WRITTEN_SYNC_MS)
    }

    /// Takes note of what the log says of itself, which must not go back.
    pub(crate) fn observe(
        &mut self,
        durable: u64,
        synced: u64,
        now_ms: u64,
    ) -> Result<(), Finding> {
        expect(durable >= self.durable && synced >= self.synced && synced <= durable, || {
            format!("synced {synced}, durable {durable}, after {}, {}", self.synced, self.durable)
        })?;
        (self.durable, self.synced) = (durable, synced);
        expect(!self.is_sync_due(now_ms) || synced == durable, || {
            format!("synced {synced}, durable {durable}, and its second is over")
        })?;
        let waits = (synced < durable).then(|| self.unsynced_since_ms.unwrap_or(now_ms));
        self.unsynced_since_ms = waits;
        Ok(())
    }

    /// Begins anew after an opening that was found to be right.
    pub(crate) fn reopened(&mut self) {
        (self.durable, self.synced) = (0, 0);
        self.power_was_cut = false;
        self.unsynced_since_ms = None;
    }
}
