//! The requests of an operation: one, several at the same time, or a page with its parts.

use super::checks::readable;
use super::extract::{self, Kind};
use super::lane::{Errand, Keeps, Lane, Versions};
use super::prepared::Request;
use super::reference::{Location, resolve};
use super::together;
use super::user::User;
use super::written;
use crate::limits::RESOURCES_MAX;
use crate::measure::{ErrorClass, Sample};
use crate::memcached;
use crate::plan::Resources;
use crate::transport::{self, Reply};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use tokio::time::Instant;

/// An operation under way.
#[derive(Default)]
pub(crate) struct Trip {
    /// When the first byte was sent; opening the connection is no part of that time.
    pub(crate) sent: Cell<Option<Instant>>,
    /// When something was last sent.
    pub(crate) last_sent: Cell<Option<Instant>>,
    /// Bytes received so far.
    pub(crate) received: Cell<u64>,
    /// Of the replies so far.
    pub(crate) statuses: RefCell<Vec<u16>>,
    /// Items that a cache had, and those that it had not.
    pub(crate) cached: Cell<(u64, u64)>,
}

impl Trip {
    /// Begins with another operation.
    pub(crate) fn begin(&mut self) {
        self.sent.set(None);
        self.last_sent.set(None);
        self.received.set(0);
        self.cached.set((0, 0));
        self.statuses.get_mut().clear();
    }

    /// Something is sent now.
    pub(crate) fn send(&self) {
        let now = Some(Instant::now());
        self.last_sent.set(now);
        if self.sent.get().is_none() {
            self.sent.set(now);
        }
    }

    pub(crate) fn receive(&self, bytes: u64) {
        self.received.set(self.received.get() + bytes);
    }
}

/// Why an operation failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There was no complete reply.
    Http(transport::Failure),
    /// The reply's status is an error, and no check allows it.
    Status(u16),
    /// The same of a part of a page.
    Part(u16, String),
    /// The reply is not what it must be, or the next request could not be made from it.
    Check(String),
    /// A command to a cache failed.
    Memcached(memcached::Failure),
}

impl Failure {
    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            Self::Http(failure) => failure.class(),
            Self::Status(status) | Self::Part(status, _) if *status < 500 => ErrorClass::Status4xx,
            Self::Status(_) | Self::Part(..) => ErrorClass::Status5xx,
            Self::Check(_) => ErrorClass::Check,
            Self::Memcached(failure) => failure.class(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(failure) => failure.fmt(f),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Part(status, path) => write!(f, "status {status} of the page's part {path}"),
            Self::Check(why) => f.write_str(why),
            Self::Memcached(failure) => failure.fmt(f),
        }
    }
}

impl User {
    /// A request, and the parts of what comes if they are to be fetched.
    pub(super) async fn request(&mut self, request: &Request) -> Result<(), Failure> {
        self.write(0, request)?;
        if request.promises.is_empty() {
            return self.fetch(request).await;
        }
        let (pledges, sent) = (self.pledges(request), Instant::now());
        let outcome = self.fetch(request).await;
        self.note_pledges(pledges, sent, outcome.as_ref().err());
        outcome
    }

    /// Sends what is written in the first lane, and sees to what comes.
    async fn fetch(&mut self, request: &Request) -> Result<(), Failure> {
        let desk = Rc::clone(&self.desk);
        let lane = &mut self.lanes[0];
        if request.is_cut {
            return lane.cut(&request.errand, &self.memory, &desk, &self.trip).await;
        }
        let reply = lane.run(&request.errand, &self.memory, &desk, &self.trip).await?;
        self.judge(0, request, &reply)?;
        match &request.resources {
            Some(resources) => self.fetch_parts(0, &reply, resources).await,
            None => Ok(()),
        }
    }

    /// Several requests at the same time. What each has to be is looked at when all are there.
    pub(super) async fn parallel(&mut self, requests: &[Request]) -> Result<(), Failure> {
        self.make_lanes(requests.len());
        for (place, request) in requests.iter().enumerate() {
            self.write(place, request)?;
        }
        let (desk, memory, trip) = (Rc::clone(&self.desk), &self.memory, &self.trip);
        let lanes = self.lanes.iter_mut().zip(requests);
        let runs = lanes.map(|(lane, request)| lane.run(&request.errand, memory, &desk, trip));
        let replies = together::all(runs).await;
        for (place, (request, reply)) in requests.iter().zip(replies).enumerate() {
            self.judge(place, request, &reply?)?;
        }
        Ok(())
    }

    /// The first lane is there from the beginning, the others when they are needed.
    fn make_lanes(&mut self, count: usize) {
        let servers = self.plan().origins.len();
        while self.lanes.len() < count {
            self.lanes.push(Lane::new(self.number, servers));
        }
    }

    fn write(&mut self, place: usize, request: &Request) -> Result<(), Failure> {
        self.write_wire(place, &request.wire)
    }

    /// Begins a request in a lane.
    pub(super) fn write_wire(
        &mut self,
        place: usize,
        wire: &written::Prepared,
    ) -> Result<(), Failure> {
        let plan = &self.desk.brief.plan;
        let mut fill = self.mind.fill(plan);
        self.lanes[place].written.begin(wire, &mut fill);
        match fill.fault {
            None => Ok(()),
            Some(fault) => Err(Failure::Check(fault.describe(&plan.variables))),
        }
    }

    fn judge(&mut self, place: usize, request: &Request, reply: &Reply) -> Result<(), Failure> {
        let lane = &self.lanes[place];
        let (kept, base) = (&lane.kept, (lane.server(), lane.written.path()));
        let (plan, finder) = (&self.desk.brief.plan, &mut self.desk.finder.borrow_mut());
        let outcome = request.judge.judge((reply, kept, base), plan, &mut self.mind, finder);
        if let Err(failure) = &outcome {
            self.note_sample(place, reply, failure);
        }
        outcome
    }

    /// Keeps the reply with the reason why it was not what it must be.
    fn note_sample(&self, place: usize, reply: &Reply, failure: &Failure) {
        self.desk.note_sample(|| {
            let lane = &self.lanes[place];
            Sample::new(self.operation, failure.to_string(), reply, &lane.kept)
        });
    }

    /// The parts of the page that is in this lane, on connections beside it.
    async fn fetch_parts(
        &mut self,
        place: usize,
        reply: &Reply,
        resources: &Resources,
    ) -> Result<(), Failure> {
        if reply.status != 200 {
            return Ok(());
        }
        readable(reply, &self.lanes[place].kept)?;
        let parts = self.wanted_parts(place, resources)?;
        if parts.is_empty() {
            return Ok(());
        }
        self.make_lanes(1 + resources.connections.min(parts.len()));
        let (desk, memory, trip) = (Rc::clone(&self.desk), &self.memory, &self.trip);
        let queue = RefCell::new(parts.into_iter());
        let lanes = self.lanes.iter_mut().skip(1).take(resources.connections);
        let fetches = lanes.map(|lane| async {
            let mut outcome = Ok(());
            loop {
                let Some((part, versions)) = queue.borrow_mut().next() else { return outcome };
                let plan = &desk.brief.plan;
                lane.written.begin_get(&plan.origins[part.server], &part.path, &plan.transport);
                let errand = Errand {
                    server: part.server,
                    redirects: PART_REDIRECTS,
                    versions,
                    keeps: Keeps::Fields,
                };
                let fetched = lane.run(&errand, memory, &desk, trip).await;
                outcome = outcome.and(fetched.and_then(|reply| match reply.status {
                    ..400 => Ok(()),
                    status => Err(Failure::Part(status, lossy(&part.path))),
                }));
            }
        });
        together::all(fetches).await.into_iter().collect()
    }

    /// What of a page's parts its browser asks for, each once.
    fn wanted_parts(
        &mut self,
        place: usize,
        resources: &Resources,
    ) -> Result<Vec<(Location, Versions)>, Failure> {
        let desk = Rc::clone(&self.desk);
        let origins = &desk.brief.plan.origins;
        let lane = &self.lanes[place];
        let (named, base) = extract::parts(&lane.kept.body);
        let mut page = Location { server: lane.server(), path: lane.written.path().to_vec() };
        if let Some(base) = base
            && let Ok(base) = resolve(origins, (page.server, &page.path), base.as_bytes())
        {
            page = base;
        }
        let mut parts: Vec<(Location, Kind)> = Vec::new();
        for part in named {
            // Others' servers are not this test's to load.
            let location = resolve(origins, (page.server, &page.path), part.reference.as_bytes());
            if let Ok(location) = location
                && parts.iter().all(|(other, _)| *other != location)
            {
                parts.push((location, part.kind));
            }
        }
        if parts.len() > RESOURCES_MAX {
            let got = parts.len();
            let why = format!("the page has {got} parts; expected at most {RESOURCES_MAX}");
            return Err(Failure::Check(why));
        }
        let wanted = parts.into_iter().filter_map(|(location, kind)| {
            let versions = self.browser.wants(&location, kind, resources.cold)?;
            Some((location, versions))
        });
        Ok(wanted.collect())
    }
}

/// How many redirects of a part are followed.
const PART_REDIRECTS: u32 = 5;

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
