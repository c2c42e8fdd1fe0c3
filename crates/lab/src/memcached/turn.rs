//! A command under way, and what its answer must be.

use super::failure::Failure;
use super::values::Maker;
use std::task::{Context, Poll, Waker};
use wire::memcached::Reply;
use wire::memcached::reply::{Answer as MetaAnswer, Code, Value};

/// What came of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The item was there.
    Hit,
    /// It was not.
    Miss,
    /// It is stored.
    Stored,
}

/// What is asked, as far as the answer shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A value; whether it is compared.
    Value { verify: bool },
    /// That something is stored.
    #[default]
    Stored,
    /// That something is done to an item, if it is there.
    Done,
    /// A number.
    Number,
}

/// A command under way.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) wanted: Wanted,
    pub(super) key: Vec<u8>,
    /// An item has come, whose end has not.
    is_hit: bool,
    outcome: Option<Result<Answer, Failure>>,
    pub(super) received: u64,
    waker: Option<Waker>,
}

impl Turn {
    /// Begins anew.
    pub(super) fn begin(&mut self, wanted: Wanted, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        (self.wanted, self.is_hit, self.received) = (wanted, false, 0);
        (self.outcome, self.waker) = (None, None);
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answer, Failure>> {
        if let Some(outcome) = self.outcome.take() {
            return Poll::Ready(outcome);
        }
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    pub(super) fn end(&mut self, outcome: Result<Answer, Failure>) {
        self.outcome = Some(outcome);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Takes a reply; gives what came of the command if that was the last.
    pub(super) fn take(
        &mut self,
        reply: &Reply<'_>,
        maker: &Maker,
    ) -> Option<Result<Answer, Failure>> {
        Some(match (self.wanted, reply) {
            (Wanted::Value { verify }, Reply::Value(value)) if !self.is_hit => {
                self.is_hit = true;
                match self.compare(verify, value, maker) {
                    Ok(()) => return None,
                    Err(failure) => Err(failure),
                }
            }
            (Wanted::Value { .. }, Reply::End) => {
                Ok(if self.is_hit { Answer::Hit } else { Answer::Miss })
            }
            (Wanted::Value { verify }, Reply::Meta(MetaAnswer { code: Code::Value, data, .. })) => {
                let value =
                    Value { key: &self.key, flags: 0, cas: None, data: data.unwrap_or(&[]) };
                self.compare(verify, &value, maker).map(|()| Answer::Hit)
            }
            (
                Wanted::Number,
                Reply::Meta(MetaAnswer { code: Code::Value, .. }) | Reply::Number(_),
            )
            | (Wanted::Done, Reply::Deleted | Reply::Touched) => Ok(Answer::Hit),
            (Wanted::Stored, Reply::Stored) => Ok(Answer::Stored),
            (Wanted::Stored, Reply::Meta(MetaAnswer { code: Code::Hit, .. })) => Ok(Answer::Stored),
            (_, Reply::Meta(MetaAnswer { code: Code::Hit, .. })) => Ok(Answer::Hit),
            (_, Reply::NotFound)
            | (_, Reply::Meta(MetaAnswer { code: Code::Miss | Code::NotFound, .. })) => {
                Ok(Answer::Miss)
            }
            (_, Reply::Error) => Err(Failure::Refused("ERROR".to_owned())),
            (_, Reply::ClientError(text)) => {
                Err(Failure::Refused(format!("CLIENT_ERROR {}", text.escape_ascii())))
            }
            (_, Reply::ServerError(text)) => {
                Err(Failure::Refused(format!("SERVER_ERROR {}", text.escape_ascii())))
            }
            (_, other) => Err(Failure::Unexpected(shown(other))),
        })
    }

    /// Whether the connection is still of use after this: replies and commands are in step.
    pub(super) fn is_in_step(&self, outcome: &Result<Answer, Failure>) -> bool {
        match outcome {
            Ok(_) | Err(Failure::Refused(_)) => true,
            // The end of an item is still to come.
            _ => false,
        }
    }

    fn compare(&self, verify: bool, value: &Value<'_>, maker: &Maker) -> Result<(), Failure> {
        let is_right = value.key == self.key && (!verify || maker.is_right(&self.key, value.data));
        match is_right {
            true => Ok(()),
            false => Err(Failure::Wrong {
                key: self.key.escape_ascii().to_string(),
                bytes: value.data.len(),
                expected: maker.bytes(&self.key),
            }),
        }
    }
}

/// The begin of a reply, in words.
fn shown(reply: &Reply<'_>) -> String {
    let mut text = format!("{reply:?}");
    text.truncate(text.floor_char_boundary(100));
    text
}
