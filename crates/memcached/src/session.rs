//! What a connection is in the middle of: finds the commands in what was received, and has them
//! carried out in their order. It knows no socket, so any bytes in any pieces can be tried on it.

use crate::auth::AuthFile;
use crate::executor::Executor;
use crate::limits::AUTH_BYTES_MAX;
use crate::out::Out;
use std::sync::Arc;
use wire::limits::{KEY_BYTES_MAX, LINE_BYTES_MAX};
use wire::memcached::{
    Administration, Block, Get, Meta, Mode, Parsed, Parser, Refusal, Request, Store, answer, block,
};

/// What `version` says: the version of memcached whose protocol is spoken. Clients take it apart
/// from either end, so there is no room for Sarsen's own.
pub(crate) const VERSION: &str = "1.6.18";

/// The state of a connection between two pieces of what is received.
#[derive(Default)]
pub(crate) struct Session {
    parser: Parser,
    /// Bytes that still come and mean nothing: the data of a command that was refused.
    swallow: usize,
    /// Keys of the `get` at the begin of the input that are answered already.
    keys_done: usize,
    /// Who may ask, as long as nobody has shown to be one of them.
    locked: Option<Arc<AuthFile>>,
    /// Whether a value that is not there yet must not be waited for: there is no memory for it.
    pub is_short: bool,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Bytes of the input that are done with. The rest must begin the next input.
    pub used: usize,
    /// What it goes on with.
    pub next: Next,
}

/// What a session goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Input: at least so many bytes besides those that are there.
    Input(usize),
    /// The same input, when answers have been sent.
    Room,
    /// Nothing: the connection is closed when the answers are sent.
    Close,
}

/// What a command came to.
enum Step {
    /// It is done, and was so many bytes.
    Done(usize),
    Next(Next),
}

impl Session {
    /// One for which nobody must show who it is, or must show it by `auth`.
    pub fn new(auth: Option<Arc<AuthFile>>) -> Self {
        Self { locked: auth, ..Self::default() }
    }

    /// Carries out the commands in `input` as far as they are whole and there is room for answers.
    pub fn run<E: Executor>(&mut self, input: &[u8], executor: &mut E, out: &mut Out) -> Ran {
        let mut used = 0;
        loop {
            let passed = self.swallow.min(input.len() - used);
            self.swallow -= passed;
            used += passed;
            let rest = &input[used..];
            if rest.is_empty() {
                return Ran { used, next: Next::Input(1) };
            }
            if out.is_full() {
                return Ran { used, next: Next::Room };
            }
            let step = match &self.locked {
                None => self.step(rest, executor, out),
                Some(auth) => {
                    let auth = Arc::clone(auth);
                    self.unlock(&auth, rest, out)
                }
            };
            match step {
                Step::Done(bytes) => used += bytes,
                Step::Next(next) => return Ran { used, next },
            }
        }
    }

    #[inline]
    fn step<E: Executor>(&mut self, rest: &[u8], executor: &mut E, out: &mut Out) -> Step {
        let (request, line) = match self.parser.parse(rest) {
            Parsed::Request(request, line) => (request, line),
            Parsed::Incomplete => return Step::Next(Next::Input(1)),
            Parsed::Close => return Step::Next(Next::Close),
            Parsed::Refused(refused) => {
                out.line(refused.refusal.line(), refused.is_silent);
                self.swallow = refused.swallow;
                return Step::Done(refused.line);
            }
        };
        match &request {
            Request::Get(get) => return self.get(get, line, executor, out),
            Request::Store(store) => {
                let put = Put::Classic(store);
                return self.put(&put, &rest[line..], executor, out).after(line);
            }
            Request::MetaSet(meta) => {
                let put = Put::Meta(meta);
                return self.put(&put, &rest[line..], executor, out).after(line);
            }
            Request::MetaGet(meta) => executor.meta_get(meta, out),
            Request::Delete(delete) => executor.delete(delete, out),
            Request::Arithmetic(sum) => executor.arithmetic(sum, out),
            Request::Touch(touch) => executor.touch(touch, out),
            Request::MetaDelete(meta) => executor.meta_delete(meta, out),
            Request::MetaArithmetic(meta) => executor.meta_arithmetic(meta, out),
            Request::MetaNoop => out.line(answer::MN, false),
            Request::MetaDebug(key) => executor.meta_debug(*key, out),
            Request::Flush(flush) => executor.flush(flush, out),
            Request::Version => answer::version(&mut out.bytes, VERSION),
            // There is one log, whose level is set when the server starts.
            Request::Verbosity { noreply, .. } => out.line(answer::OK, *noreply),
            Request::Stats(report) => executor.report(report, out),
            Request::Quit => return Step::Next(Next::Close),
            Request::Administration(command) => administer(command, out),
        }
        Step::Done(line)
    }

    /// One key after the other, so that a long list of large items waits for the client to take
    /// them.
    #[inline]
    fn get<E: Executor>(
        &mut self,
        get: &Get<'_>,
        line: usize,
        executor: &mut E,
        out: &mut Out,
    ) -> Step {
        for key in get.keys.skip(self.keys_done) {
            if out.is_full() {
                return Step::Next(Next::Room);
            }
            if !executor.get(get, key, out) {
                self.keys_done = 0;
                return Step::Done(line);
            }
            self.keys_done += 1;
        }
        self.keys_done = 0;
        out.line(answer::END, false);
        Step::Done(line)
    }

    /// A command with data, of which `after` is what is there.
    #[inline]
    fn put<E: Executor>(
        &mut self,
        put: &Put<'_>,
        after: &[u8],
        executor: &mut E,
        out: &mut Out,
    ) -> Step {
        let bytes = put.bytes();
        if bytes > executor.value_bytes_max() {
            return self.pass_over(put, Refusal::TooLarge, executor, out);
        }
        match block(after, bytes) {
            Block::Whole(data, used) => {
                match put {
                    Put::Classic(store) => executor.store(store, data, out),
                    Put::Meta(meta) => executor.meta_set(meta, data, out),
                }
                Step::Done(used)
            }
            Block::Bad(used) => {
                out.line(Refusal::Data.line(), put.noreply());
                Step::Done(used)
            }
            Block::Incomplete(_) if self.is_short => {
                self.pass_over(put, Refusal::OutOfMemory, executor, out)
            }
            Block::Incomplete(missing) => Step::Next(Next::Input(missing)),
        }
    }

    #[cold]
    fn pass_over<E: Executor>(
        &mut self,
        put: &Put<'_>,
        refusal: Refusal,
        executor: &mut E,
        out: &mut Out,
    ) -> Step {
        out.line(refusal.line(), put.noreply());
        let mut room = [0; KEY_BYTES_MAX];
        let (key, is_set) = match put {
            Put::Classic(store) => (store.key, store.mode == Mode::Set),
            Put::Meta(meta) => (meta.key.bytes(&mut room), true),
        };
        executor.refused(key, refusal, is_set);
        self.swallow = put.bytes() + 2;
        Step::Done(0)
    }

    /// memcached's form of showing who one is: `set` of anything, with name and password as data.
    #[cold]
    fn unlock(&mut self, auth: &AuthFile, rest: &[u8], out: &mut Out) -> Step {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return Step::Next(match rest.len() {
                0..=LINE_BYTES_MAX => Next::Input(1),
                _ => Next::Close,
            });
        };
        let line = end + 1;
        if end > LINE_BYTES_MAX {
            return Step::Next(Next::Close);
        }
        let words = rest[..end].split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let words: Vec<&[u8]> = words.take(6).collect();
        let bytes = match words[..] {
            [b"set", _, _, _, bytes, ..] => wire::memcached::number(bytes),
            _ => None,
        };
        let Some(bytes) = bytes else {
            out.line(b"CLIENT_ERROR unauthenticated\r\n", false);
            return Step::Done(line);
        };
        let Some(bytes) = usize::try_from(bytes).ok().filter(|bytes| *bytes <= AUTH_BYTES_MAX)
        else {
            out.line(b"CLIENT_ERROR bad authentication token format\r\n", false);
            return Step::Next(Next::Close);
        };
        let (data, used) = match block(&rest[line..], bytes) {
            Block::Incomplete(missing) => return Step::Next(Next::Input(missing)),
            Block::Bad(used) => {
                out.line(b"CLIENT_ERROR bad command line termination\r\n", false);
                return Step::Done(line + used);
            }
            Block::Whole(data, used) => (data, used),
        };
        let mut words = data.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let answer: &[u8] = match (words.next(), words.next()) {
            (Some(user), Some(password)) if auth.knows(user, password) => {
                self.locked = None;
                answer::STORED
            }
            (Some(_), Some(_)) => b"CLIENT_ERROR authentication failure\r\n",
            _ => b"CLIENT_ERROR bad authentication token format\r\n",
        };
        out.line(answer, false);
        Step::Done(line + used)
    }
}

impl Step {
    /// The same behind a line of so many bytes. What was not carried out is read again with it.
    fn after(self, line: usize) -> Self {
        match self {
            Self::Done(bytes) => Self::Done(line + bytes),
            next => next,
        }
    }
}

/// A command with data.
enum Put<'a> {
    Classic(&'a Store<'a>),
    Meta(&'a Meta<'a>),
}

impl Put<'_> {
    fn bytes(&self) -> usize {
        match self {
            Self::Classic(store) => store.bytes,
            Self::Meta(meta) => meta.bytes,
        }
    }

    /// Meta commands tell mistakes whatever is said.
    fn noreply(&self) -> bool {
        matches!(self, Self::Classic(store) if store.noreply)
    }
}

/// Commands about how memcached works inside, of which nothing is here.
#[cold]
fn administer(command: &Administration<'_>, out: &mut Out) {
    let line = match command.name {
        b"shutdown" => Refusal::Shutdown.line(),
        b"cache_memlimit" => {
            b"CLIENT_ERROR the memory is set when the server starts, by --cache-memory\r\n"
        }
        _ => Refusal::Error.line(),
    };
    out.line(line, command.noreply);
}
