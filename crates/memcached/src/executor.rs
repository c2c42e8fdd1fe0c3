//! What a session has its commands carried out by: a cache (`on_cache`) or a collection of the
//! repository (`on_collection`). Both answer in memcached's words.

use crate::out::Out;
use wire::memcached::{Arithmetic, Delete, Flush, Get, Key, Meta, Refusal, Report, Store, Touch};

/// Carries out the commands of one thread's connections, one after the other.
pub(crate) trait Executor {
    /// The newest commit that is durable; why there will be none any more.
    fn durable(&mut self) -> Result<u64, String>;

    /// Has the thread's bell rung when something becomes durable. Says whether something has since
    /// [`Executor::durable`] was asked.
    fn wake_on_advance(&mut self) -> bool;

    /// Largest value that is taken, in bytes.
    fn value_bytes_max(&self) -> usize;

    /// One key of `get`, `gets`, `gat` and `gats`: appends the item, if there is one. False: it
    /// appended why it cannot, which ends the answer.
    fn get(&mut self, get: &Get<'_>, key: &[u8], out: &mut Out) -> bool;

    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`, with their data.
    fn store(&mut self, store: &Store<'_>, data: &[u8], out: &mut Out);

    /// A value was not taken, because it is too large or there is no memory: what was stored under
    /// the key is gone if `is_set`, as it would be had the value been taken.
    fn refused(&mut self, key: &[u8], why: Refusal, is_set: bool);

    /// `delete`.
    fn delete(&mut self, delete: &Delete<'_>, out: &mut Out);

    /// `incr`, `decr`.
    fn arithmetic(&mut self, sum: &Arithmetic<'_>, out: &mut Out);

    /// `touch`.
    fn touch(&mut self, touch: &Touch<'_>, out: &mut Out);

    /// `mg`.
    fn meta_get(&mut self, meta: &Meta<'_>, out: &mut Out);

    /// `ms`, with its data.
    fn meta_set(&mut self, meta: &Meta<'_>, data: &[u8], out: &mut Out);

    /// `md`.
    fn meta_delete(&mut self, meta: &Meta<'_>, out: &mut Out);

    /// `ma`.
    fn meta_arithmetic(&mut self, meta: &Meta<'_>, out: &mut Out);

    /// `me`.
    fn meta_debug(&mut self, key: Key<'_>, out: &mut Out);

    /// `flush_all`.
    fn flush(&mut self, flush: &Flush, out: &mut Out);

    /// `stats`, all of the answer.
    fn report(&mut self, report: &Report<'_>, out: &mut Out);
}
