//! What one request has asked for, and the answers that it has so far. They outlive the runs of
//! its handler: whatever the reason for another run, it finds the same answers.

use super::{Answer, Aside, answer_bytes};
use crate::limits::{ASIDE_ROUNDS_MAX, ASIDES_MAX, FETCH_TASK_BYTES_MAX};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// A request asks for more than it may.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum TooMany {
    #[error(
        "a request awaits at most {ASIDES_MAX} calls such as password.hash(); this is one more"
    )]
    Asides,
    #[error(
        "the request waited {ASIDE_ROUNDS_MAX} times and asks for something new again; await calls \
         together with Promise.all, and give them arguments that are the same in each run"
    )]
    Rounds,
    #[error(
        "the bodies of all requests and replies of a task's fetch have at most \
         {FETCH_TASK_BYTES_MAX} bytes together; this is more"
    )]
    Bytes,
}

/// The asides of one request.
#[derive(Default)]
pub(crate) struct Notes {
    /// In the order in which they were asked for. Those without an answer are of this run.
    entries: Vec<Entry>,
    rounds: u32,
    /// CPU time that the rounds before this one used.
    pub(crate) cpu_used: Duration,
}

struct Entry {
    aside: Arc<Aside>,
    answer: Option<Arc<Answer>>,
    /// This run has asked for it. A second call that is equal is another entry.
    is_asked: bool,
}

impl Notes {
    /// A run begins: it asks anew, and what the run before asked for in vain is forgotten.
    pub(crate) fn begin(&mut self) {
        self.entries.retain_mut(|entry| {
            entry.is_asked = false;
            entry.answer.is_some()
        });
    }

    /// The answer to `aside` if there is one; otherwise it is noted.
    pub(crate) fn ask(&mut self, aside: Aside) -> Result<Option<Arc<Answer>>, TooMany> {
        let known = self.entries.iter_mut().find(|e| !e.is_asked && *e.aside == aside);
        if let Some(entry) = known {
            entry.is_asked = true;
            return Ok(entry.answer.clone());
        }
        if self.entries.len() >= ASIDES_MAX {
            return Err(TooMany::Asides);
        }
        if aside.bytes() > self.room() {
            return Err(TooMany::Bytes);
        }
        self.entries.push(Entry { aside: Arc::new(aside), answer: None, is_asked: true });
        Ok(None)
    }

    /// The bytes that further calls and answers may hold.
    pub(crate) fn room(&self) -> usize {
        let answered = |entry: &Entry| entry.answer.as_deref().map_or(0, answer_bytes);
        let held = self.entries.iter().map(|entry| entry.aside.bytes() + answered(entry));
        FETCH_TASK_BYTES_MAX.saturating_sub(held.sum())
    }

    /// Whether something is noted that has no answer.
    pub(crate) fn is_waiting(&self) -> bool {
        self.entries.iter().any(|entry| entry.answer.is_none())
    }

    /// What is to be performed before the next run.
    pub(crate) fn start_round(&mut self) -> Result<Vec<Arc<Aside>>, TooMany> {
        if self.rounds >= ASIDE_ROUNDS_MAX {
            return Err(TooMany::Rounds);
        }
        self.rounds += 1;
        let open = self.entries.iter().filter(|entry| entry.answer.is_none());
        Ok(open.map(|entry| Arc::clone(&entry.aside)).collect())
    }

    /// Takes the answers, in the order in which `start_round` gave what they answer.
    pub(crate) fn end_round(&mut self, answers: impl IntoIterator<Item = Answer>) {
        let open = self.entries.iter_mut().filter(|entry| entry.answer.is_none());
        for (entry, answer) in open.zip(answers) {
            entry.answer = Some(Arc::new(answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aside::Value;
    use crate::aside::password::Hashing;

    fn a() -> Aside {
        Aside::Hash(Hashing::new("a".to_owned()))
    }

    fn text(text: &str) -> Answer {
        Ok(Value::Text(text.to_owned()))
    }

    fn asked(notes: &mut Notes) -> Option<Answer> {
        notes.ask(a()).unwrap().map(|answer| (*answer).clone())
    }

    #[test]
    fn equal_calls_of_one_run_are_answered_one_by_one_in_their_order() {
        let mut notes = Notes::default();
        assert_eq!((asked(&mut notes), asked(&mut notes)), (None, None));
        assert_eq!(notes.start_round().unwrap().len(), 2);
        notes.end_round([text("first"), text("second")]);
        for _ in 0..2 {
            notes.begin();
            assert_eq!(asked(&mut notes), Some(text("first")));
            assert_eq!(asked(&mut notes), Some(text("second")));
            assert!(!notes.is_waiting());
            assert_eq!(asked(&mut notes), None, "a third was not performed");
            assert!(notes.is_waiting());
        }
    }

    #[test]
    fn what_a_run_asked_for_in_vain_is_forgotten() {
        let mut notes = Notes::default();
        assert_eq!(asked(&mut notes), None);
        notes.begin();
        assert!(!notes.is_waiting());
    }

    #[test]
    fn asides_and_rounds_are_bounded() {
        let mut notes = Notes::default();
        for _ in 0..ASIDES_MAX {
            assert!(notes.ask(a()).is_ok());
        }
        assert!(matches!(notes.ask(a()), Err(TooMany::Asides)));
        for _ in 0..ASIDE_ROUNDS_MAX {
            assert!(notes.start_round().is_ok());
        }
        assert!(matches!(notes.start_round(), Err(TooMany::Rounds)));
    }
}
