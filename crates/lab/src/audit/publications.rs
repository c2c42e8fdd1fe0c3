//! Publications after a run: each collection that took entries is walked by `next` to its end, and
//! what is found is compared with what was acknowledged. It holds for any server of AtomPub that
//! keeps foreign markup (RFC 4287 §6) and lists members by `app:edited` (RFC 5023 §10).

use super::Verifier;
use super::ledger::ABSENT;
use super::members::{Collection, Counts, Members, number, worth};
use super::pages::Reader;
use crate::atompub::{Found, Page};
use crate::engine::resolve;
use crate::entries::{Mark, Which};
use crate::limits::{AUDIT_PAGES_MAX, AUDIT_SAMPLE_EVERY, AUDIT_WALKED_MAX};
use crate::plan::{HOOK_WORKERS, MadeKind, Plan};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::time::Instant;
use wire::atom::Date;

/// What is seen on the way through a collection.
struct Walk<'a> {
    plan: &'a Plan,
    members: &'a mut Members,
    collection: &'a Collection,
    /// Entries that the run has made.
    ours: u64,
    /// Entries that were compared with what was made.
    compared: u64,
    /// All entries.
    count: u64,
    /// Hashes of the ids and places that were there already.
    seen: HashSet<u64>,
    last: Option<Date>,
    faults: Vec<String>,
}

impl Verifier<'_> {
    /// Looks at every collection to which entries were posted.
    pub(super) fn publications(&mut self, members: &mut Members, end: Instant) {
        if members.one_of() > 1 {
            let note = format!("of the entries 1 of {} was looked for", members.one_of());
            self.found.notes.push(note);
        }
        let collections = members.collections();
        let (mut compared, mut walked) = (0, 0);
        for (place, (collection, counts)) in collections.iter().enumerate() {
            if Instant::now() >= end {
                let left = collections.len() - place;
                let note =
                    format!("{left} of {} collections were not walked in time", place + left);
                self.found.notes.push(note);
                break;
            }
            let path = String::from_utf8_lossy(&collection.path).into_owned();
            let mut walk = Walk::new(self.plan, members, collection);
            let outcome = walk.pages(self.began + crate::limits::AUDIT_PATIENCE, end);
            let Walk { ours, faults, .. } = walk;
            compared += walk.compared;
            walked += walk.count;
            self.found.checked += counts.posted;
            faults.into_iter().for_each(|fault| self.lose(|| format!("{path}: {fault}")));
            match outcome {
                Ok(true) => {}
                Ok(false) => {
                    self.found.notes.push(format!("{path} was not walked to its end in time"));
                    continue;
                }
                Err(why) => {
                    self.lose(|| format!("{path} could not be walked after the run: {why}"));
                    continue;
                }
            }
            self.counted(&path, ours, *counts, members.one_of() > 1);
            let missing = members.missing(place);
            self.found.lost += missing.saturating_sub(1);
            if missing > 0 {
                self.lose(|| format!("{path}: {missing} acknowledged entries are not in it"));
            }
        }
        if !collections.is_empty() {
            self.found.notes.push(format!(
                "{walked} entries of {} collections were walked, {compared} of them compared",
                collections.len()
            ));
        }
    }

    fn counted(&mut self, path: &str, ours: u64, counts: Counts, is_thinned: bool) {
        let Counts { posted, unknown, deleted, deleted_unknown } = counts;
        // Of members that are not kept it is not known how many were deleted.
        let least = if is_thinned { 0 } else { posted.saturating_sub(deleted + deleted_unknown) };
        let most = posted + unknown - deleted.min(posted);
        if ours < least || ours > most {
            let must = if least == most { most.to_string() } else { format!("{least} to {most}") };
            self.lose(|| {
                format!(
                    "{path} has {ours} entries of this run; it must have {must}. (Another run with \
                     the same seed in the same collection counts, too: give it another.)"
                )
            });
        }
    }
}

impl<'a> Walk<'a> {
    fn new(plan: &'a Plan, members: &'a mut Members, collection: &'a Collection) -> Self {
        Self {
            plan,
            members,
            collection,
            ours: 0,
            compared: 0,
            count: 0,
            seen: HashSet::new(),
            last: None,
            faults: Vec::new(),
        }
    }

    /// From page to page; false if there was no time for all of them.
    fn pages(&mut self, patience: Instant, end: Instant) -> Result<bool, String> {
        let (plan, origin) = (self.plan, self.collection.origin);
        let mut reader = Reader::new(plan, origin, &plan.audit.headers, patience);
        let mut path = self.collection.path.clone();
        let mut visited = HashSet::new();
        for _ in 0..AUDIT_PAGES_MAX {
            if Instant::now() >= end {
                return Ok(false);
            }
            if !visited.insert(path.clone()) {
                return Err(format!("`next` leads in a circle to {}", lossy(&path)));
            }
            let page = reader.get(&lossy(&path)).map_err(|why| why.to_string())?;
            if page.status != 200 {
                return Err(format!("status {} at {}", page.status, lossy(&path)));
            }
            let page = Page::read(&page.body).map_err(|why| format!("{}: {why}", lossy(&path)))?;
            for entry in &page.entries {
                self.entry(entry, &path);
            }
            let Some(next) = page.next else { return Ok(true) };
            let next = resolve(&plan.origins, (origin, &path), next.as_bytes());
            path = next.map_err(|elsewhere| format!("`next` leads to {}", elsewhere.0))?.path;
        }
        Err(format!("it has more than {AUDIT_PAGES_MAX} pages"))
    }

    fn entry(&mut self, entry: &Found, page: &[u8]) {
        self.count += 1;
        match (self.last, entry.edited) {
            (_, None) => self.fault(|| format!("{} has no app:edited that is a date", entry.id)),
            (Some(last), Some(edited)) if edited > last => {
                self.fault(|| format!("{} comes after an entry that was edited earlier", entry.id));
            }
            _ => {}
        }
        self.last = entry.edited.or(self.last);
        let origin = self.collection.origin;
        let place = entry.edit.as_ref().and_then(|edit| {
            let place = resolve(&self.plan.origins, (origin, page), edit.as_bytes()).ok()?;
            Some(number(place.server, &place.path))
        });
        let mut hasher = DefaultHasher::new();
        hasher.write(entry.id.as_bytes());
        let is_new = self.see(hasher.finish()) & place.is_none_or(|place| self.see(!place));
        if !is_new {
            self.fault(|| format!("{} is there twice", entry.id));
        }
        let Some(place) = place else {
            return self.fault(|| format!("{} has no edit link on this server", entry.id));
        };
        let member = self.members.take(place);
        let which = entry.mark.and_then(|mark| self.which(mark));
        // What was changed only is not one of those that were posted.
        let is_posted = member.as_ref().is_none_or(|member| member.collection.is_some());
        match (member, which) {
            (Some(member), Some(which)) if !member.may_be(worth(which)) => {
                let is_gone = member.may_be(ABSENT);
                self.fault(|| match is_gone {
                    true => format!("{} is there, and its deletion was acknowledged", entry.id),
                    false => format!("{} is not as it was acknowledged last", entry.id),
                });
            }
            (Some(member), None) if self.plan.entries.is_marked && member.collection.is_some() => {
                self.fault(|| format!("{} has lost its foreign markup", entry.id));
            }
            _ => {}
        }
        let Some(which) = which else { return };
        if self.ours.is_multiple_of(AUDIT_SAMPLE_EVERY) {
            self.compare(entry, which);
        }
        self.ours += u64::from(is_posted);
    }

    /// Notes that something was there; false if it was already.
    fn see(&mut self, hash: u64) -> bool {
        self.seen.len() >= AUDIT_WALKED_MAX || self.seen.insert(hash)
    }

    /// Which entry it is, if this run has made it.
    fn which(&self, mark: Mark) -> Option<Which> {
        let Mark { run, worker, number } = mark;
        let is_ours = run == self.plan.seed && worker < HOOK_WORKERS;
        is_ours.then_some(Which { seed: run, worker, number })
    }

    /// Makes the entry again.
    fn compare(&mut self, entry: &Found, which: Which) {
        self.compared += 1;
        let mut made = Vec::new();
        self.plan.entries.make(MadeKind::Entry, which, &mut made);
        let Ok(made) = Found::of_document(&made) else { return };
        for (what, is, was) in [
            ("title", &entry.matter.title, &made.matter.title),
            ("content", &entry.matter.content, &made.matter.content),
        ] {
            if is != was {
                self.fault(|| format!("{} has another {what} than was posted", entry.id));
            }
        }
    }

    fn fault(&mut self, what: impl FnOnce() -> String) {
        // Each is counted; so many texts are enough for all that are told.
        let is_told = self.faults.len() < crate::limits::LOSSES_TOLD_MAX;
        self.faults.push(if is_told { what() } else { String::new() });
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
