//! A deadline that moves with every hit and costs next to nothing to move.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::task::coop::unconstrained;
use tokio::time::{Instant, Sleep};

/// A point in time a task can be woken at.
pub(crate) struct Deadline {
    at: Instant,
    /// Set at or before `at`. Registering a timer costs more than a hit can spare, so a deadline
    /// that moves away leaves the timer where it is, and it is set anew only when it fires.
    timer: Pin<Box<Sleep>>,
}

impl Deadline {
    /// A deadline at `at`. Must be made inside a runtime.
    pub(crate) fn new(at: Instant) -> Self {
        Self { at, timer: Box::pin(tokio::time::sleep_until(at)) }
    }

    /// Moves it.
    pub(crate) fn move_to(&mut self, at: Instant) {
        self.at = at;
        if at < self.timer.deadline() {
            self.timer.as_mut().reset(at);
        }
    }

    /// Ready when it is past; the task is woken for that. Without regard to how long the task's
    /// turn has lasted: when that is over, because a server never stops sending, tokio would say
    /// that a timer is pending although it has fired.
    pub(crate) fn poll_past(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(Pin::new(&mut unconstrained(self.timer.as_mut())).poll(cx));
            if self.is_past() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(self.at);
        }
    }

    fn is_past(&self) -> bool {
        Instant::now() >= self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::time::Duration;

    async fn passes(deadline: &mut Deadline) {
        poll_fn(|cx| deadline.poll_past(cx)).await;
        assert!(deadline.is_past());
    }

    #[tokio::test]
    async fn holds_wherever_it_is_moved() {
        let start = Instant::now();
        let mut deadline = Deadline::new(start + Duration::from_millis(5));
        deadline.move_to(start + Duration::from_millis(20));
        passes(&mut deadline).await;
        deadline.move_to(Instant::now() + Duration::from_secs(3600));
        let far = poll_fn(|cx| Poll::Ready(deadline.poll_past(cx))).await;
        assert!(far.is_pending());
        deadline.move_to(Instant::now() + Duration::from_millis(5));
        passes(&mut deadline).await;
    }
}
