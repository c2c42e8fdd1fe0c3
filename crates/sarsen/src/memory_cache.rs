//! The cache in memory and the thread that keeps its time: what `cache` serves to memcached clients
//! and to the application.

use crate::cli::ServeArguments;
use crate::limits::CACHE_TICK;
use cache::{Cache, Settings, SettingsError};
use faces::{Figure, OtherFigures};
use memcached::{Face, FaceReader};
use repository::Clock;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// A cache with its thread, which ends when this is dropped.
pub struct MemoryCache {
    /// What it keeps.
    pub cache: Arc<Cache>,
    /// Dropped, it ends the thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why there is no cache.
#[derive(Debug, thiserror::Error)]
pub enum MemoryCacheError {
    /// What was asked for cannot be.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No thread.
    #[error("cannot start the cache's thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl MemoryCache {
    /// An empty one, as the command line asks for it.
    pub fn start(arguments: &ServeArguments, clock: Clock) -> Result<Self, MemoryCacheError> {
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let memory_bytes = bytes(arguments.cache_memory);
        // The standard library's hash tables take the same from the operating system.
        let mut settings = Settings::new(memory_bytes, RandomState::new().hash_one(0));
        if let Some(max) = arguments.cache_item_max {
            settings.value_bytes_max = bytes(max);
        }
        if !arguments.memcached.is_empty() {
            let largest = settings.value_bytes_max;
            settings.set_aside_bytes = memcached::buffer_bytes(memory_bytes, largest);
        }
        let cache = Arc::new(Cache::new(&settings)?);
        tick(&cache, &clock);
        let (running, ended) = channel();
        let kept = Arc::clone(&cache);
        let thread = std::thread::Builder::new().name("cache".into()).spawn(move || {
            while ended.recv_timeout(CACHE_TICK) == Err(RecvTimeoutError::Timeout) {
                tick(&kept, &clock);
            }
        })?;
        Ok(Self { cache, running: Some(running), thread: Some(thread) })
    }
}

fn tick(cache: &Cache, clock: &Clock) {
    cache.set_time(u32::try_from(clock().0 / 1_000).unwrap_or(u32::MAX));
    cache.sweep();
}

impl Drop for MemoryCache {
    fn drop(&mut self) {
        self.running = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("the cache's thread had ended by a panic");
        }
    }
}

/// What is told of the cache, and of its face if there is one, among the metrics.
pub fn figures(cache: &Arc<Cache>, face: Option<&Face>) -> OtherFigures {
    let (cache, face) = (Arc::clone(cache), face.map(Face::reader));
    OtherFigures(Arc::new(move || {
        let mut figures = of_cache(&cache.figures());
        figures.extend(face.iter().flat_map(of_face));
        figures
    }))
}

fn counter(name: &'static str, help: &'static str, value: u64) -> Figure {
    let unit = if name.ends_with("_bytes") { "bytes" } else { "" };
    Figure { name, unit, help, is_counter: true, value }
}

fn gauge(name: &'static str, help: &'static str, value: u64) -> Figure {
    Figure { is_counter: false, ..counter(name, help, value) }
}

fn of_cache(figures: &cache::Figures) -> Vec<Figure> {
    vec![
        gauge("sarsen_cache_items", "Items in the cache.", figures.curr_items),
        gauge("sarsen_cache_items_bytes", "What they take.", figures.bytes),
        gauge("sarsen_cache_max_bytes", "Memory of the cache, at most.", figures.limit_maxbytes),
        counter("sarsen_cache_hits", "Keys that were looked up and found.", figures.get_hits),
        counter("sarsen_cache_misses", "Keys that were not found.", figures.get_misses),
        counter("sarsen_cache_stores", "Commands that store.", figures.cmd_set),
        counter("sarsen_cache_evictions", "Items dropped to make room.", figures.evictions),
        counter("sarsen_cache_reclaimed", "Expired items whose room was used.", figures.reclaimed),
    ]
}

fn of_face(face: &FaceReader) -> Vec<Figure> {
    let figures = face.read();
    vec![
        gauge("sarsen_memcached_connections_open", "Open connections.", figures.connections),
        counter("sarsen_memcached_connections_accepted", "Accepted.", figures.accepted),
        counter(
            "sarsen_memcached_connections_turned_away",
            "Told that as many are open as may be.",
            figures.rejected,
        ),
        counter("sarsen_memcached_received_bytes", "Received.", figures.bytes_received),
        counter("sarsen_memcached_sent_bytes", "Sent.", figures.bytes_sent),
        gauge(
            "sarsen_memcached_kept_bytes",
            "Memory for what is not carried out or not sent yet.",
            figures.kept_bytes,
        ),
        counter(
            "sarsen_memcached_connections_dropped",
            "Closed because all together kept too much in memory.",
            figures.memory_closed,
        ),
    ]
}
