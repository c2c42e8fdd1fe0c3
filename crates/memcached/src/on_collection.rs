//! Carries commands out on a collection of the repository: each is a transaction, and its answer is
//! held until all that it reveals is durable. The classic commands are here, the meta commands in
//! `on_collection/meta`, what a transaction does in `on_collection/change`.

mod change;
mod meta;

use crate::bell::Bell;
use crate::executor::Executor;
use crate::figures::{Shared, count};
use crate::out::Out;
use crate::reports;
use change::{Change, Kept, Put};
use repository::{CollectionName, Repository};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use wire::memcached::{
    Arithmetic, Delete, Expiry, Flush, Get, Key, Meta, Mode, Refusal, Report, Store, Touch, answer,
};

/// Says why nothing may be done now, if so.
pub type Closed = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// A collection to be served.
pub struct Collection {
    /// Where it is.
    pub repository: Arc<Repository>,
    /// Its name.
    pub name: CollectionName,
    /// Largest value that is taken, in bytes; at most what a document may have.
    pub value_bytes_max: usize,
    /// Asked before each command. Then the clients are told that instead.
    pub closed: Closed,
}

/// A thread that may wait for commits to become durable.
///
/// It sets `someone_waits` and then reads the durable number once more; the repository's writer
/// moves the number and then looks whether someone waits. With a fence between the two steps on
/// each side, one of them sees the other: no wake is lost.
pub(crate) struct Waiting {
    someone_waits: AtomicBool,
    bell: Arc<Bell>,
}

impl Waiting {
    /// For the repository's writer: the durable number has moved, or never will again.
    pub fn advanced(&self) {
        fence(Ordering::SeqCst);
        if self.someone_waits.swap(false, Ordering::SeqCst) {
            self.bell.ring();
        }
    }
}

/// The executor of one thread.
pub(crate) struct OnCollection {
    collection: Arc<Collection>,
    shared: Arc<Shared>,
    waiting: Arc<Waiting>,
    /// As it was told last.
    durable: Result<u64, String>,
}

impl OnCollection {
    /// For the thread with this bell.
    pub fn new(collection: Arc<Collection>, shared: Arc<Shared>, bell: Arc<Bell>) -> Self {
        let waiting = Arc::new(Waiting { someone_waits: AtomicBool::new(false), bell });
        Self { collection, shared, waiting, durable: Ok(0) }
    }

    /// What the repository's writer has to tell.
    pub fn waiting(&self) -> Arc<Waiting> {
        Arc::clone(&self.waiting)
    }

    fn read_durable(&self) -> Result<u64, String> {
        let durable = self.collection.repository.durable();
        durable.map(|number| number.0).map_err(|poisoned| change::line_of(&poisoned))
    }
}

/// Answers with what came of a command, or with why nothing did.
fn reply(out: &mut Out, came: Result<&[u8], String>, noreply: bool) {
    match came {
        Ok(line) => out.line(line, noreply),
        Err(why) => trouble(out, &why),
    }
}

/// A mistake of the server's side is told whatever the client wants to hear.
fn trouble(out: &mut Out, why: &str) {
    out.bytes.extend_from_slice(format!("SERVER_ERROR {why}\r\n").as_bytes());
}

impl Executor for OnCollection {
    fn durable(&mut self) -> Result<u64, String> {
        self.durable = self.read_durable();
        self.durable.clone()
    }

    fn wake_on_advance(&mut self) -> bool {
        self.waiting.someone_waits.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.read_durable() != self.durable
    }

    fn value_bytes_max(&self) -> usize {
        self.collection.value_bytes_max
    }

    fn get(&mut self, get: &Get<'_>, key: &[u8], out: &mut Out) -> bool {
        let found = match get.exptime {
            None => self.collection.read(key, out),
            Some(exptime) => {
                let touched = self.collection.change(key, out, |there, now| {
                    let kept = there.map(|there| Kept::of(there, now));
                    (touch(there, exptime, now), kept)
                });
                touched.map(|touched| {
                    let commit = touched.commit;
                    touched.value.map(|kept| Kept { cas: commit.unwrap_or(kept.cas), ..kept })
                })
            }
        };
        match found {
            Ok(Some(kept)) => {
                let cas = get.cas.then_some(kept.cas);
                answer::value(&mut out.bytes, key, kept.flags, cas, &kept.body);
            }
            Ok(None) => {}
            Err(why) => {
                trouble(out, &why);
                return false;
            }
        }
        true
    }

    fn store(&mut self, store: &Store<'_>, data: &[u8], out: &mut Out) {
        let put = Put {
            mode: store.mode,
            data,
            flags: store.flags,
            exptime: store.exptime,
            compare: (store.mode == Mode::Cas).then_some(store.cas),
            value_bytes_max: self.collection.value_bytes_max,
        };
        let came = self.collection.change(store.key, out, |there, now| put.decide(there, now));
        let line = came.map(|came| match came.value {
            Ok(()) => answer::STORED,
            Err(wire::memcached::Code::Exists) => answer::EXISTS,
            Err(wire::memcached::Code::NotFound) => answer::NOT_FOUND,
            Err(_) => answer::NOT_STORED,
        });
        reply(out, line, store.noreply);
    }

    /// What is durable is not given up for a value that was not taken.
    fn refused(&mut self, _: &[u8], why: Refusal, _: bool) {
        count(&self.shared.counts.values_refused, u64::from(why == Refusal::OutOfMemory));
    }

    fn delete(&mut self, delete: &Delete<'_>, out: &mut Out) {
        let came = self.collection.change(delete.key, out, |there, _| match there {
            Some(_) => (Change::Remove { is_blind: true }, answer::DELETED),
            None => (Change::Nothing, answer::NOT_FOUND),
        });
        reply(out, came.map(|came| came.value), delete.noreply);
    }

    fn arithmetic(&mut self, sum: &Arithmetic<'_>, out: &mut Out) {
        let came = self.collection.change(sum.key, out, |there, _| match there {
            None => (Change::Nothing, Err(answer::NOT_FOUND)),
            Some(there) => match change::add(there, sum.delta, sum.decrement) {
                Some((change, number)) => (change, Ok(number)),
                None => (Change::Nothing, Err(Refusal::NotNumeric.line())),
            },
        });
        match came.map(|came| came.value) {
            Ok(Ok(number)) if !sum.noreply => answer::number(&mut out.bytes, number),
            Ok(Ok(_)) => {}
            Ok(Err(line)) => out.line(line, sum.noreply),
            Err(why) => trouble(out, &why),
        }
    }

    fn touch(&mut self, command: &Touch<'_>, out: &mut Out) {
        let came = self.collection.change(command.key, out, |there, now| {
            let line = if there.is_some() { answer::TOUCHED } else { answer::NOT_FOUND };
            (touch(there, command.exptime, now), line)
        });
        reply(out, came.map(|came| came.value), command.noreply);
    }

    fn meta_get(&mut self, meta: &Meta<'_>, out: &mut Out) {
        self.collection.mg(meta, out).unwrap_or_else(|why| trouble(out, &why));
    }

    fn meta_set(&mut self, meta: &Meta<'_>, data: &[u8], out: &mut Out) {
        self.collection.ms(meta, data, out).unwrap_or_else(|why| trouble(out, &why));
    }

    fn meta_delete(&mut self, meta: &Meta<'_>, out: &mut Out) {
        self.collection.md(meta, out).unwrap_or_else(|why| trouble(out, &why));
    }

    fn meta_arithmetic(&mut self, meta: &Meta<'_>, out: &mut Out) {
        self.collection.ma(meta, out).unwrap_or_else(|why| trouble(out, &why));
    }

    fn meta_debug(&mut self, key: Key<'_>, out: &mut Out) {
        self.collection.me(key, out).unwrap_or_else(|why| trouble(out, &why));
    }

    fn flush(&mut self, flush: &Flush, out: &mut Out) {
        let came = match Expiry::new(flush.exptime) {
            Expiry::Never | Expiry::Past => self.collection.remove_all(out).map(|()| answer::OK),
            _ => Err("a durable collection is emptied at once or not at all: flush_all".to_owned()),
        };
        reply(out, came, flush.noreply);
    }

    fn report(&mut self, report: &Report<'_>, out: &mut Out) {
        reports::write(report, None, &self.shared, &mut out.bytes);
    }
}

/// Gives what is there another time to live.
fn touch(there: Option<&repository::Document>, exptime: i64, now: repository::Timestamp) -> Change {
    let Some(there) = there else { return Change::Nothing };
    change::with_expiry(there.media_type.clone(), there.body.clone(), exptime, now)
}
