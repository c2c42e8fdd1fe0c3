//! A command to a cache, as a part of an operation.

use super::step::{Failure, Trip};
use super::user::User;
use crate::memcached::{self, Answer, Prepared};
use crate::plan::MemcachedCommand;
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::Instant;
use wire::memcached::check_key;

impl User {
    /// One command, and the one that fills in what was not there.
    pub(super) async fn command(&mut self, command: &Prepared) -> Result<(), Failure> {
        let desk = Rc::clone(&self.desk);
        let plan = &desk.brief.plan;
        let Some(caches) = &mut self.caches else { return Ok(()) };
        let mut key = std::mem::take(&mut caches.key);
        key.clear();
        let mut fill = self.mind.fill(plan);
        fill.render(&command.key, &mut key);
        if let Some(fault) = fill.fault {
            return Err(Failure::Check(fault.describe(&plan.variables)));
        }
        caches.maker().fill_up(&mut key);
        let expires_s = command.expires().draw(&mut self.mind.content);
        let timetable = desk.timetable();
        let deadline = timetable.deadline(Instant::now(), plan.request_timeout);
        let before = caches.received;
        let outcome = perform(caches, (command, expires_s), &key, deadline, &self.trip).await;
        self.trip.receive(caches.received - before);
        caches.key = key;
        outcome.map_err(Failure::Memcached)
    }
}

async fn perform(
    caches: &mut memcached::Places,
    (command, expires_s): (&Prepared, u32),
    key: &[u8],
    deadline: Instant,
    trip: &Trip,
) -> Result<(), memcached::Failure> {
    check_key(key).map_err(|fault| {
        let key = key.escape_ascii().to_string();
        memcached::Failure::Key { key, fault }
    })?;
    let server = command.server(key);
    caches.connect(server, deadline).await?;
    trip.send();
    let maker = Arc::clone(caches.maker());
    let write = |out: &mut Vec<u8>| command.write(key, expires_s, &maker, out);
    let (hits, misses) = trip.cached.get();
    match caches.exchange(server, command.wanted(), key, write).await? {
        Answer::Stored => {}
        Answer::Hit => trip.cached.set((hits + 1, misses)),
        Answer::Miss => {
            trip.cached.set((hits, misses + 1));
            if let MemcachedCommand::Get { fill: Some(_), .. } = command.command {
                let write = |out: &mut Vec<u8>| command.write_set(key, expires_s, &maker, out);
                caches.exchange(server, memcached::Wanted::Stored, key, write).await?;
            }
        }
    }
    Ok(())
}
