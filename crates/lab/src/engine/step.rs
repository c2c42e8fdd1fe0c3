//! A request of an operation: sends it, reads what comes, and looks whether that is right.

use super::user::User;
use crate::http1;
use crate::measure::ErrorClass;
use crate::transport::{self, Reading};
use std::fmt;
use tokio::time::Instant;

/// An operation under way.
pub(crate) struct Trip {
    pub(crate) operation: usize,
    /// When the first byte was sent; opening the connection is no part of that time.
    pub(crate) sent: Option<Instant>,
    /// Bytes received so far.
    pub(crate) received: u64,
}

/// Why an operation failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There was no complete reply.
    Http(transport::Failure),
    /// The reply's status is an error, and no check allows it.
    Status(u16),
}

impl Failure {
    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            Self::Http(failure) => failure.class(),
            Self::Status(status) if *status < 500 => ErrorClass::Status4xx,
            Self::Status(_) => ErrorClass::Status5xx,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(failure) => failure.fmt(f),
            Self::Status(status) => write!(f, "status {status}"),
        }
    }
}

impl User {
    /// One request to one of the plan's servers.
    pub(super) async fn request(
        &mut self,
        server: usize,
        request: &http1::Prepared,
        trip: &mut Trip,
    ) -> Result<(), Failure> {
        let timeout = self.plan().request_timeout;
        let deadline = self.desk.brief.timetable.deadline(Instant::now(), timeout);
        self.clients[server].connect(deadline).await.map_err(Failure::Http)?;
        let jar = std::mem::take(&mut self.jars[server]);
        let (mut fill, buffers) = self.fill();
        request.render(&mut fill, jar.borrow().line(), buffers);
        self.jars[server] = jar;
        trip.sent.get_or_insert_with(Instant::now);
        let client = &mut self.clients[server];
        let before = client.received;
        let jar = &self.jars[server];
        let reading = Reading { is_head: request.is_head, jar, kept: None };
        let reply = client.exchange(&self.buffers.0, reading).await;
        trip.received += client.received - before;
        let reply = reply.map_err(Failure::Http)?;
        self.statuses.push(reply.status);
        match reply.status {
            ..400 => Ok(()),
            status => Err(Failure::Status(status)),
        }
    }
}
