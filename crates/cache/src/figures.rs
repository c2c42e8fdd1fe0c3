//! What a cache counts.

/// A queue of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFigures {
    /// Items in it.
    pub items: u64,
    /// What they take, headers and rounding included, in bytes.
    pub bytes: u64,
    /// Pages that it has.
    pub pages: u64,
    /// Items that were thrown out of it.
    pub evicted: u64,
    /// Of those, the ones that nobody had read.
    pub evicted_unfetched: u64,
    /// Expired items that were found while room was made.
    pub reclaimed: u64,
}

macro_rules! figures {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// What a cache counts, in memcached's words where it has some (`stats`).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Figures {
            $($(#[$doc])+ pub $name: u64,)+
            /// The queues: what is new, and what has proved itself.
            pub queues: [QueueFigures; 2],
        }

        impl Figures {
            /// Adds those of another shard.
            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)+
                for (queue, other) in self.queues.iter_mut().zip(&other.queues) {
                    queue.items += other.items;
                    queue.bytes += other.bytes;
                    queue.pages += other.pages;
                    queue.evicted += other.evicted;
                    queue.evicted_unfetched += other.evicted_unfetched;
                    queue.reclaimed += other.reclaimed;
                }
            }
        }
    };
}

figures! {
    /// Items there are.
    curr_items,
    /// Items that were stored since the start.
    total_items,
    /// What items take, headers and rounding included, in bytes.
    bytes,
    /// Bound of all memory, in bytes.
    limit_maxbytes,
    /// Memory in use, in bytes: pages, index and what is kept about them. It does not shrink.
    memory_bytes,
    /// Bytes of that which belong to the index.
    hash_bytes,
    /// Bytes of a page.
    page_bytes,
    /// Pages there can be, without those that the index has.
    pages,
    /// Pages that have been taken from the allocator.
    pages_allocated,
    /// Pages in use.
    pages_used,
    /// Parts with a lock of their own.
    shards,
    /// Items that were thrown out to make room.
    evictions,
    /// Of those, the ones that nobody had read.
    evicted_unfetched,
    /// Items that expired without having been read.
    expired_unfetched,
    /// Expired and flushed items whose room came back.
    reclaimed,
    /// Items that were written anew to keep them while room was made.
    moves,
    /// Keys that were looked up to be read.
    cmd_get,
    /// Commands that store.
    cmd_set,
    /// `flush_all`.
    cmd_flush,
    /// Commands that change a time to live.
    cmd_touch,
    /// Meta commands.
    cmd_meta,
    /// Keys that were found.
    get_hits,
    /// Keys that were not.
    get_misses,
    /// Of those, the ones whose item had expired.
    get_expired,
    /// Of those, the ones that were flushed: always 0, because flushing leaves nothing to find.
    get_flushed,
    /// `touch` and `gat` that found an item.
    touch_hits,
    /// Those that did not.
    touch_misses,
    /// `delete` that found an item.
    delete_hits,
    /// Those that did not.
    delete_misses,
    /// `incr` that found an item.
    incr_hits,
    /// Those that did not.
    incr_misses,
    /// `decr` that found an item.
    decr_hits,
    /// Those that did not.
    decr_misses,
    /// `cas` that stored.
    cas_hits,
    /// `cas` without an item.
    cas_misses,
    /// `cas` with another number.
    cas_badval,
    /// Values that were too large.
    store_too_large,
}
