//! A repository on the real engine whose steps the test takes itself: checkpoints, evictions and
//! the work of the reaper happen when it says so.

use super::Place;
use repository::parts::{Files, Parts, SegmentSizes, Stepped, open_engine};
use repository::{Repository, Retention};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const CACHE_BYTES: u64 = 1 << 20;
const SIZES: SegmentSizes = SegmentSizes { first_bytes: 1 << 20, bytes: 64 << 20 };

pub struct Bench {
    pub place: Place,
    stepped: Option<Stepped>,
    /// Bytes of the log that are kept for those who read it: mostly nobody does.
    retain: u64,
}

impl Bench {
    pub fn new() -> Self {
        Self::with_memory(64 << 20)
    }

    /// With so much memory: nothing leaves it by itself.
    pub fn with_memory(memory_bytes: u64) -> Self {
        let place = Place { memory_bytes, ..Place::new() };
        // The engine's folder has its place only in a repository.
        drop(place.open_only());
        let mut bench = Self { place, stepped: None, retain: 0 };
        bench.open();
        bench
    }

    /// As `new`, where somebody may read so much of the log.
    pub fn retaining(bytes: u64) -> Self {
        let mut bench = Self::new();
        bench.retain = bytes;
        bench.crash(true);
        bench
    }

    fn open(&mut self) {
        let at_rest = open_engine(&self.place.path().join("engine"), CACHE_BYTES).unwrap();
        let retention = Retention { bytes: self.retain, hold: None };
        let (disk, reserve_bytes) = (Arc::new(Files), repository::limits::RESERVE_BYTES);
        let parts = Parts { disk, at_rest, sizes: SIZES, retention, reserve_bytes };
        self.stepped = Some(Stepped::open(&self.place.options(), parts).unwrap().0);
    }

    /// The process dies, after the log was written if `is_written`, and comes again.
    pub fn crash(&mut self, is_written: bool) {
        if is_written {
            self.write_log();
        }
        self.stepped = None;
        self.open();
    }

    pub fn write_log(&self) {
        while self.write_frame(true).unwrap() {}
    }

    /// Leaves the folder to others.
    pub fn stop(mut self) -> Place {
        self.write_log();
        self.stepped = None;
        self.place
    }

    pub fn repository(&self) -> &Repository {
        self.deref().repository()
    }

    pub fn move_clock(&self, ms: u64) {
        self.place.now.fetch_add(ms, Ordering::Relaxed);
    }

    pub fn now(&self) -> u64 {
        self.place.now.load(Ordering::Relaxed)
    }
}

impl Deref for Bench {
    type Target = Stepped;

    fn deref(&self) -> &Stepped {
        self.stepped.as_ref().unwrap()
    }
}
