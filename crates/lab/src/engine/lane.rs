//! One request of a user after the other: its connections, what is sent with a request because of
//! what came before, redirects. Several lanes of a user may be under way at the same time.

use super::desk::Desk;
use super::extract::field;
use super::reference::resolve;
use super::step::{Failure, Trip};
use super::validators::{Validator, Validators};
use super::variables::give_back;
use super::written::Written;
use crate::http1::Jar;
use crate::limits::{BODY_KEPT_BYTES_MAX, SAMPLE_BYTES_MAX};
use crate::plan::Bandwidth;
use crate::transport::{Client, Kept, Link, Reading, Reply};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::time::Instant;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Errand {
    pub(crate) server: usize,
    /// How many redirects are followed.
    pub(crate) redirects: u32,
    pub(crate) versions: Versions,
    pub(crate) keeps: Keeps,
}

/// What becomes of entity tags and dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versions {
    Ignored,
    /// They are remembered.
    Noted,
    /// They are remembered, and sent if they are known.
    Asked,
}

/// What of a reply somebody wants to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Nothing, but for a sample of what failed.
    Nothing,
    /// The fields.
    Fields,
    /// Fields and body.
    Body,
}

/// What a user's lanes share.
pub(crate) struct Memory {
    /// By server.
    pub(crate) jars: Vec<RefCell<Jar>>,
    pub(crate) validators: RefCell<Validators>,
    /// Its line, if that is bound.
    pub(crate) link: Option<Rc<Link>>,
}

impl Memory {
    pub(crate) fn new(servers: usize, bandwidth: Bandwidth) -> Self {
        let jars = (0..servers).map(|_| RefCell::default()).collect();
        let link = Link::new(bandwidth, Instant::now());
        Self { jars, validators: RefCell::default(), link }
    }

    fn note(&self, server: usize, path: &[u8], fields: &[u8]) {
        let validator = Validator::new(field(fields, "etag"), field(fields, "last-modified"));
        self.validators.borrow_mut().remember(server, path, validator);
    }
}

/// See above.
pub(crate) struct Lane {
    user: usize,
    /// By server; made when first needed.
    clients: Vec<Option<Client>>,
    pub(crate) written: Written,
    pub(crate) kept: Kept,
    /// That of the last reply.
    server: usize,
}

impl Lane {
    pub(crate) fn new(user: usize, servers: usize) -> Self {
        let clients = (0..servers).map(|_| None).collect();
        Self { user, clients, written: Written::default(), kept: Kept::default(), server: 0 }
    }

    /// The server that gave the last reply.
    pub(crate) fn server(&self) -> usize {
        self.server
    }

    /// Connections opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.clients.iter().flatten().map(|client| client.opened).sum()
    }

    /// Sends the request that has been begun, follows redirects, and gives the last reply.
    pub(crate) async fn run(
        &mut self,
        errand: &Errand,
        memory: &Memory,
        desk: &Desk,
        trip: &Trip,
    ) -> Result<Reply, Failure> {
        let origins = &desk.brief.plan.origins;
        let mut hops = 0;
        self.server = errand.server;
        loop {
            let reply = self.send(errand, memory, desk, trip).await?;
            if errand.redirects == 0 || !is_redirect(reply.status) {
                return Ok(reply);
            }
            let Some(reference) = field(&self.kept.fields, "location") else { return Ok(reply) };
            if hops == errand.redirects {
                let to = String::from_utf8_lossy(reference);
                let why = format!("more than {hops} redirects; the last led to \"{to}\"");
                return Err(Failure::Check(why));
            }
            let page = (self.server, self.written.path());
            let location = resolve(origins, page, reference).map_err(|elsewhere| {
                Failure::Check(format!(
                    "redirected to \"{}\", which is on none of the servers of the plan",
                    elsewhere.0
                ))
            })?;
            let (to, same) = (&origins[location.server], location.server == self.server);
            self.written.redirect(reply.status, to, &location.path, same);
            self.server = location.server;
            hops += 1;
        }
    }

    /// Sends the request that has been begun up to half of its body, and closes the connection.
    pub(crate) async fn cut(
        &mut self,
        errand: &Errand,
        memory: &Memory,
        desk: &Desk,
        trip: &Trip,
    ) -> Result<(), Failure> {
        self.server = errand.server;
        let server = self.server;
        let make = || Client::new(&desk.servers[server], self.user, memory.link.clone());
        let client = self.clients[server].get_or_insert_with(make);
        client.connect(desk.deadline()).await.map_err(Failure::Http)?;
        self.written.push_memory(memory.jars[server].borrow().line(), None);
        self.written.finish();
        trip.send();
        client.cut(self.written.half()).await.map_err(Failure::Http)
    }

    /// One request and its reply.
    async fn send(
        &mut self,
        errand: &Errand,
        memory: &Memory,
        desk: &Desk,
        trip: &Trip,
    ) -> Result<Reply, Failure> {
        let server = self.server;
        let make = || Client::new(&desk.servers[server], self.user, memory.link.clone());
        let client = self.clients[server].get_or_insert_with(make);
        client.connect(desk.deadline()).await.map_err(Failure::Http)?;
        {
            let mut validators = memory.validators.borrow_mut();
            let known = match errand.versions {
                Versions::Asked => validators.of(server, self.written.path()),
                Versions::Ignored | Versions::Noted => None,
            };
            self.written.push_memory(memory.jars[server].borrow().line(), known);
        }
        self.written.finish();
        trip.send();
        let before = client.received;
        let reading = Reading {
            is_head: self.written.is_head,
            jar: &memory.jars[server],
            kept: keep(&mut self.kept, errand.keeps, desk.wants_samples()),
        };
        let outcome = client.exchange(self.written.bytes(), reading).await;
        trip.receive(client.received - before);
        let reply = outcome.map_err(Failure::Http)?;
        trip.statuses.borrow_mut().push(reply.status);
        if errand.versions != Versions::Ignored && reply.status == 200 {
            memory.note(server, self.written.path(), &self.kept.fields);
        }
        Ok(reply)
    }

    /// Gives memory back that an unusual operation needed.
    pub(crate) fn give_back(&mut self) {
        self.written.give_back();
        give_back(&mut self.kept.body);
    }
}

/// Where a reply is kept, and how much of it; nowhere if nobody looks at it.
fn keep(kept: &mut Kept, keeps: Keeps, samples: bool) -> Option<&mut Kept> {
    let sample = if samples { SAMPLE_BYTES_MAX } else { 0 };
    (kept.max, kept.from_status) = match keeps {
        Keeps::Nothing if !samples => return None,
        // What is kept without being looked at is errors only, so that good replies cost no copy.
        Keeps::Nothing => (sample, 400),
        Keeps::Fields => (sample, 0),
        Keeps::Body => (BODY_KEPT_BYTES_MAX, 0),
    };
    Some(kept)
}

/// Statuses of RFC 9110 §15.4 that name the place to go to.
fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}
