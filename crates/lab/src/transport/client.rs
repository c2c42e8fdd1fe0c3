//! One user's way to one server.

use super::failure::Failure;
use super::kept::{Reading, Reply};
use super::pace::Link;
use super::route::{Server, Shared};
use crate::http1::{Deadline, Own, Place};
use crate::http2::Sender;
use crate::limits::UNPROCESSED_TRIES_MAX;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use tokio::time::Instant;

/// A user's side of its connection, or of the one that it shares with others.
pub(crate) struct Client {
    server: Rc<Server>,
    way: Way,
    /// The user's line, if it is bound.
    link: Option<Rc<Link>>,
    deadline: Deadline,
    /// Bytes received so far. HTTP/1.1: all of them; HTTP/2: bodies and fields as they are read.
    pub(crate) received: u64,
    /// Connections opened so far.
    pub(crate) opened: u64,
}

enum Way {
    Own(Own),
    Pipelined(Place),
    Multiplexed(Sender),
}

impl Client {
    /// A client without a connection. Must be made inside a runtime.
    pub(crate) fn new(server: &Rc<Server>, user: usize, link: Option<Rc<Link>>) -> Self {
        let way = match server.shared(user) {
            None => Way::Own(Own::default()),
            Some(Shared::Pipeline(pipeline)) => Way::Pipelined(Place::new(pipeline)),
            Some(Shared::Channel(channel)) => Way::Multiplexed(Sender::new(channel)),
        };
        let deadline = Deadline::new(Instant::now());
        Self { server: Rc::clone(server), way, link, deadline, received: 0, opened: 0 }
    }

    /// Sees to it that there is a connection. Whatever happens next must be over at `deadline`.
    ///
    /// # Errors
    /// [`Failure::Connect`] or [`Failure::Tls`], or [`Failure::Timeout`] at the deadline.
    pub(crate) async fn connect(&mut self, deadline: Instant) -> Result<(), Failure> {
        self.deadline.move_to(deadline);
        if let Way::Own(own) = &mut self.way
            && own.is_ready()
        {
            return Ok(());
        }
        self.open().await
    }

    async fn open(&mut self) -> Result<(), Failure> {
        let Self { server, way, link, deadline, opened, .. } = self;
        let opening = async {
            match way {
                Way::Own(own) => own.open(server, link.as_ref()).await.map(|()| true),
                Way::Pipelined(place) => place.open(server).await,
                Way::Multiplexed(sender) => sender.open(server).await,
            }
        };
        let is_new = within(deadline, opening).await?;
        *opened += u64::from(is_new);
        Ok(())
    }

    /// Sends a request, written as in HTTP/1.1 whatever is spoken, and reads the reply to its last
    /// byte. [`Client::connect`] must have been called before. After anything that went wrong the
    /// connection is not used again.
    ///
    /// # Errors
    /// Anything but [`Failure::Connect`] on the first try.
    pub(crate) async fn exchange(
        &mut self,
        request: &[u8],
        mut reading: Reading<'_>,
    ) -> Result<Reply, Failure> {
        let mut tries = 1;
        loop {
            if let Some(kept) = &mut reading.kept {
                kept.clear();
            }
            match self.try_exchange(request, &mut reading).await {
                // The server has said that it did not look at it, so it may be sent again (RFC 9112
                // §9.6, RFC 9113 §6.8). Its latency goes on.
                Err(Failure::Unprocessed(_)) if tries < UNPROCESSED_TRIES_MAX => {
                    tries += 1;
                    self.open().await?;
                }
                Err(Failure::Unprocessed(_)) => return Err(Failure::Unprocessed(tries)),
                outcome => return outcome,
            }
        }
    }

    /// Sends the begin of a request, and closes the connection. [`Client::connect`] must have been
    /// called before.
    ///
    /// # Errors
    /// [`Failure::Closed`] and the like. A connection that others share cannot be cut off.
    pub(crate) async fn cut(&mut self, begin: &[u8]) -> Result<(), Failure> {
        let Self { way, deadline, .. } = self;
        match way {
            Way::Own(own) => within(deadline, own.cut(begin)).await,
            Way::Pipelined(_) | Way::Multiplexed(_) => {
                Err(Failure::Closed("it is shared with others"))
            }
        }
    }

    async fn try_exchange(
        &mut self,
        request: &[u8],
        reading: &mut Reading<'_>,
    ) -> Result<Reply, Failure> {
        let Self { server, way, deadline, received, .. } = self;
        match way {
            Way::Own(own) => own.exchange(server, request, reading, (deadline, received)).await,
            Way::Pipelined(place) => {
                let outcome = within(deadline, place.exchange(request, reading)).await;
                let (bytes, cookies) = place.settle(reading);
                *received += bytes;
                cookies?;
                outcome
            }
            Way::Multiplexed(sender) => {
                within(deadline, sender.exchange(server, request, reading, received)).await
            }
        }
    }
}

/// Does something until the deadline.
async fn within<T>(
    deadline: &mut Deadline,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut work = pin!(work);
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(outcome),
        Poll::Pending => deadline.poll_past(cx).map(|()| Err(Failure::Timeout)),
    })
    .await
}
