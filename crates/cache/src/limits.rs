//! Every bound of the cache, with what happens when it is reached.

/// Longest key, in bytes. Longer: nothing is found, and storing is refused ([`crate::Refused`]).
pub const KEY_BYTES_MAX: usize = 250;

/// Largest value if nothing else is said, in bytes: what memcached takes by default.
pub const VALUE_BYTES_DEFAULT: usize = (1 << 20) - 512;

/// Most that the largest value can be set to, in bytes. More: [`crate::SettingsError`].
pub const VALUE_BYTES_MAX: usize = 128 << 20;

/// Most memory of a cache, in bytes. More: [`crate::SettingsError`].
pub const MEMORY_BYTES_MAX: usize = 1 << 40;

/// Bytes of a page. All memory is taken in pages.
pub const PAGE_BYTES: usize = 32 << 10;

/// Most shards. More memory makes them larger.
pub const SHARDS_MAX: usize = 64;

/// Least memory of a shard if there is more than one. With less memory there are fewer shards.
pub const SHARD_BYTES_MIN: usize = 8 << 20;

/// Values of the largest size that a shard has room for, at least. With less memory there are fewer
/// shards; if it is too little for one, [`crate::SettingsError`].
pub const VALUES_PER_SHARD_MIN: usize = 4;

/// Pages that stay free: two for what is moved while a page is emptied, one for the index.
pub(crate) const PAGES_RESERVED: usize = 3;

/// Free pages below which each item that is stored pays with as many bytes that are thrown out or
/// were dead. So a page is free before one is needed, and nobody waits for the emptying of one.
pub(crate) const PAGES_AHEAD: usize = PAGES_RESERVED + 3;

/// Bytes that may be kept (written anew) for each byte that is stored. Beyond it items fall out
/// though they were used: what a store costs has a bound.
pub(crate) const KEPT_PER_BYTE: usize = 8;

/// Most bytes of that allowance that are saved up.
pub(crate) const KEPT_BYTES_MAX: usize = 256 << 10;

/// Share of a shard's memory, in percent, up to which what is alive is kept though nobody used it:
/// then the room that is needed is that of dead items.
pub(crate) const LIVE_PERCENT_MAX: usize = 85;

/// Most pages of which nearly all is alive that one store passes over to come to dead items.
pub(crate) const ROTATIONS_MAX: usize = 64;

/// Share of the pages, in percent, that new items have at first before they must have proved
/// themselves: what memcached leaves to items that are not `WARM`. So an item that is read late is
/// still there as long as nothing is known about what is missed.
pub(crate) const NEW_PERCENT_FIRST: usize = 68;
/// The least that it becomes, however much is missed of what had proved itself.
pub(crate) const NEW_PERCENT_MIN: usize = 10;
/// The most that it becomes, however much is missed of what was new.
pub(crate) const NEW_PERCENT_MAX: usize = 97;

/// Keys of a shard that are known as asked for and not found: as many as clients ask for before
/// they store the first. Of more, some count as not asked for when they are stored.
pub(crate) const ASKED_KEYS: usize = 256;

/// Times the mean size above which an item needs as many uses as count to stay, and does not count
/// as proven when it comes back: in its room several others could stay. Above the mean it needs
/// two.
pub(crate) const LARGE_TIMES: usize = 4;

/// Share of the items that were taken for proven after one use, in percent, that must be used
/// again: below it one use is not enough.
pub(crate) const TRIAL_PERCENT_MIN: u32 = 12;

/// How many of sixteen such items are taken nevertheless, to see whether that has changed.
pub(crate) const TRIALS_OF_SIXTEEN: u16 = 1;

/// Uses of an item that count; more are as many.
pub(crate) const USES_MAX: u8 = 3;

/// Items up to this size are not parted at the end of a page, in bytes; the rest of it stays empty.
pub(crate) const WHOLE_BYTES_MAX: usize = 1 << 10;

/// Items per bucket of the index above which it gets another bucket.
pub(crate) const ITEMS_PER_BUCKET: usize = 4;

/// Pages that one step of a sweep looks at in each shard, and of which at most one is read.
pub(crate) const PAGES_PER_SWEEP: usize = 256;

// What stays together of an item fits on a page.
const _: () = assert!(32 + KEY_BYTES_MAX + 4 * (VALUE_BYTES_MAX / PAGE_BYTES) <= PAGE_BYTES);

// What is moved fits: an item takes at most two pages besides those of its own.
const _: () = assert!(PAGES_RESERVED >= 3);
