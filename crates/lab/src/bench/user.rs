//! One user: sends a request, waits for the reply, sends the next, until the run is over.

use super::generator::Shared;
use crate::http1::{Client, Draw};
use crate::limits::RECONNECT_PAUSE;
use crate::random::Random;
use std::rc::Rc;
use tokio::time::Instant;

/// A user of the server.
pub(crate) struct User {
    shared: Rc<Shared>,
    client: Client,
    random: Random,
    /// The request as it is sent; kept so that rendering the next needs no memory.
    request: Vec<u8>,
    start: Instant,
}

impl User {
    /// The user of this number, from 0 to the plan's number of users. Must be made inside a
    /// runtime.
    pub(crate) fn new(shared: Rc<Shared>, number: usize) -> Self {
        let plan = &shared.plan;
        Self {
            client: Client::new(shared.address),
            random: Random::of_user(plan.seed, number as u64),
            request: Vec::new(),
            start: shared.timetable.start_of(number, plan.users),
            shared,
        }
    }

    /// Sends requests from the user's start to the end of the run.
    pub(crate) async fn run(mut self) {
        tokio::time::sleep_until(self.start).await;
        while let Some(now) = self.shared.next_hit() {
            self.hit(now).await;
        }
        self.shared.leave(self.client.opened);
    }

    async fn hit(&mut self, now: Instant) {
        let Self { shared, client, random, request, .. } = self;
        if shared.plan.new_session {
            client.jar.forget();
        }
        let draw = draw(random, shared.plan.keys);
        shared.template.render(request, draw, client.jar.line());
        let deadline = shared.timetable.deadline(now, shared.plan.request_timeout);
        let stream = match client.connect(deadline).await {
            Ok(stream) => stream,
            Err(failure) => {
                shared.record(now, &Err(failure), 0);
                let pause_end = shared.timetable.end.min(Instant::now() + RECONNECT_PAUSE);
                return tokio::time::sleep_until(pause_end).await;
            }
        };
        // Service time starts here: opening the connection is no part of it. That may have taken
        // until the end of the interval, after which nothing is sent.
        let sent = Instant::now();
        if sent >= shared.timetable.end {
            return;
        }
        let received = client.received;
        let result = client.exchange(stream, request, shared.template.is_head).await;
        shared.record(sent, &result, client.received - received);
    }
}

/// `key` and `other` are two numbers below `keys`, every pair as likely as any; if there is one
/// number only, they are the same.
fn draw(random: &mut Random, keys: u64) -> Draw {
    let (key, nonce) = (random.below(keys), random.number());
    // From the nonce, so that a seed draws what it drew before there were others.
    let distance = if keys > 1 { 1 + nonce % (keys - 1) } else { 0 };
    Draw { key, other: (key + distance) % keys, nonce }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_key_is_never_the_same_one() {
        let mut random = Random::of_user(1, 2);
        let draws: Vec<Draw> = (0..10_000).map(|_| draw(&mut random, 3)).collect();
        for key in 0..3 {
            for other in (0..3).filter(|other| *other != key) {
                let found = draws.iter().filter(|d| d.key == key && d.other == other).count();
                assert!((1_400..1_950).contains(&found), "{key} and {other}: {found}");
            }
        }
        assert!(draws.iter().all(|d| d.key != d.other && d.other < 3));
        assert_eq!(draw(&mut random, 1).other, 0);
    }
}
