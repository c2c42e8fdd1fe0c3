//! The audit: what was acknowledged in a run is looked for afterwards. `ledger` keeps what was
//! promised while the load goes on; here it is compared with what is there.

mod ledger;
mod members;
mod pages;
mod publications;

pub(crate) use ledger::{Ledger, Pledge, Reply, element, pledge};
pub(crate) use members::{Change, Collection};

use crate::limits::{
    AUDIT_CONNECTIONS, AUDIT_LISTED_MAX, AUDIT_PATIENCE, AUDIT_TIME_MAX, LOSSES_TOLD_MAX,
};
use crate::plan::{Audit, List, Number, Plan};
use ledger::{ABSENT, Entry, Stored, parts, worth};
use pages::{ReadError, Reader, id, number};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Promises that were looked at: places, elements of lists, and numbers.
    pub checked: u64,
    /// Those of them that were not kept.
    pub lost: u64,
    /// The first of those, in words, and what could not be looked at.
    pub faults: Vec<String>,
    /// What must be known beside.
    pub notes: Vec<String>,
}

/// What was there before the run.
pub(crate) struct Before {
    numbers: Vec<f64>,
    /// By list: how often each id was there; nothing if there were too many.
    lists: Vec<Option<HashMap<Vec<u8>, u32>>>,
}

impl Before {
    /// Looks at everything that is compared with what it was.
    ///
    /// # Errors
    /// In words: something cannot be read, or is not what it must be.
    pub(crate) fn read(plan: &Plan) -> Result<Self, String> {
        // It was reached a moment ago: a server that is not there now is not waited for.
        let patience = Instant::now();
        let Audit { numbers, lists, .. } = &plan.audit;
        let unread =
            |name: &str, why: ReadError| format!("{name} could not be read before the run: {why}");
        let read = |one: &Number| {
            let now = number(plan, one, patience).map_err(|why| unread(&one.name, why))?;
            match one.equals.filter(|must| *must != now) {
                Some(must) => {
                    Err(format!("{} is {now} before the run; it must be {must}", one.name))
                }
                None => Ok(now),
            }
        };
        let list =
            |list: &List| listed(plan, list, patience).map_err(|why| unread(&list.name, why));
        Ok(Self {
            numbers: numbers.iter().map(read).collect::<Result<_, _>>()?,
            lists: lists.iter().map(list).collect::<Result<_, _>>()?,
        })
    }
}

/// How often each id is in a list; nothing if there are too many of them.
fn listed(
    plan: &Plan,
    list: &List,
    patience: Instant,
) -> Result<Option<HashMap<Vec<u8>, u32>>, ReadError> {
    let mut counts: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut is_too_long = false;
    pages::each(plan, &list.pages, patience, |element| {
        is_too_long |= counts.len() >= AUDIT_LISTED_MAX;
        if !is_too_long {
            *counts.entry(id(element, &list.id)).or_default() += 1;
        }
        Ok(())
    })?;
    Ok((!is_too_long).then_some(counts))
}

/// Looks for everything that was promised.
pub(crate) fn verify(plan: &Plan, ledger: &Ledger, before: &Before) -> Found {
    let mut verifier = Verifier { plan, ledger, found: Found::default(), began: Instant::now() };
    if ledger.one_of() > 1 {
        let note = format!("the audit looked at 1 of {} names, for its memory", ledger.one_of());
        verifier.found.notes.push(note);
    }
    for (place, number) in plan.audit.numbers.iter().enumerate() {
        verifier.number(place, number, before.numbers[place]);
    }
    let entries = ledger.entries();
    for (place, list) in plan.audit.lists.iter().enumerate() {
        verifier.list((place, list), before.lists[place].as_ref(), &entries);
    }
    verifier.places(&entries);
    verifier.publications(&mut ledger.members(), verifier.began + AUDIT_TIME_MAX);
    verifier.found
}

struct Verifier<'a> {
    plan: &'a Plan,
    ledger: &'a Ledger,
    found: Found,
    began: Instant,
}

type Entries = [(Box<[u8]>, Entry)];

impl Verifier<'_> {
    fn patience(&self) -> Instant {
        self.began + AUDIT_PATIENCE
    }

    fn lose(&mut self, what: impl FnOnce() -> String) {
        self.found.lost += 1;
        if self.found.faults.len() < LOSSES_TOLD_MAX {
            self.found.faults.push(what());
        }
    }

    fn number(&mut self, place: usize, one: &Number, before: f64) {
        let name = &one.name;
        self.found.checked += 1;
        let now = match number(self.plan, one, self.patience()) {
            Ok(now) => now,
            Err(why) => {
                return self.lose(|| format!("{name} could not be read after the run: {why}"));
            }
        };
        let (least, most) = match one.equals {
            Some(must) => (must, must),
            None => {
                let (least, most) = self.ledger.growth(place);
                (before + least as f64, before + most as f64)
            }
        };
        if now < least || now > most {
            let must =
                if least == most { format!("{least}") } else { format!("{least} to {most}") };
            self.lose(|| {
                format!("{name} is {now} after the run; it must be {must}, after {before}")
            });
        }
    }

    fn list(
        &mut self,
        (place, list): (usize, &List),
        before: Option<&HashMap<Vec<u8>, u32>>,
        entries: &Entries,
    ) {
        let name = &list.name;
        let mut counts: HashMap<&[u8], u32> = HashMap::new();
        let promised = entries.iter().filter_map(|(entry_name, entry)| match entry {
            Entry::Listed { acknowledged, unknown, last } => {
                let (_, number, id) = parts(entry_name)?;
                (number == place).then_some((id, (*acknowledged, *unknown, *last)))
            }
            Entry::Stored(_) => None,
        });
        let promised: HashMap<&[u8], (u32, u32, Duration)> = promised.collect();
        let read = pages::each(self.plan, &list.pages, self.patience(), |element| {
            if let Some((id, _)) = promised.get_key_value(id(element, &list.id).as_slice()) {
                *counts.entry(id).or_default() += 1;
            }
            Ok(())
        });
        self.found.checked += promised.len() as u64;
        if let Err(why) = read {
            return self.lose(|| format!("{name} could not be read after the run: {why}"));
        }
        if before.is_none() {
            let note =
                format!("{name} was too long before the run to tell what is there too often");
            self.found.notes.push(note);
        }
        let mut promised: Vec<_> = promised.into_iter().collect();
        promised.sort_by_key(|(_, (_, _, last))| *last);
        for (id, (acknowledged, unknown, last)) in promised {
            let had = before.map(|before| before.get(id).copied().unwrap_or(0));
            let count = counts.get(id).copied().unwrap_or(0);
            let least = acknowledged + had.unwrap_or(0);
            let most = had.map(|_| least + unknown);
            if count < least || most.is_some_and(|most| count > most) {
                let id = String::from_utf8_lossy(id).into_owned();
                let last = last.as_secs_f64();
                self.lose(|| {
                    format!(
                        "{name}: \"{id}\" is there {count} times; it was acknowledged \
                         {acknowledged} times, last {last:.3} s after the start"
                    )
                });
            }
        }
    }

    /// Asks for every place at which something was acknowledged.
    fn places(&mut self, entries: &Entries) {
        let stored = |(name, entry): &'_ (Box<[u8]>, Entry)| match entry {
            Entry::Stored(stored) if stored.last.is_some() => {
                let (_, origin, path) = parts(name)?;
                Some((origin, String::from_utf8_lossy(path).into_owned(), stored.clone()))
            }
            _ => None,
        };
        let mut places: Vec<(usize, String, Stored)> = entries.iter().filter_map(stored).collect();
        places.sort_by_key(|(_, _, stored)| stored.last);
        let overrun = places.iter().filter(|(_, _, stored)| stored.is_overrun).count();
        places.retain(|(_, _, stored)| !stored.is_overrun);
        if overrun > 0 {
            self.found.notes.push(format!(
                "{overrun} places were written by so many at once, or so often without a reply, \
                 that nothing can be said of them"
            ));
        }
        let (next, losses) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let (plan, patience, end) = (self.plan, self.patience(), self.began + AUDIT_TIME_MAX);
        let ask = || {
            let mut readers: HashMap<usize, Reader> = HashMap::new();
            while let Some((origin, path, stored)) =
                places.get(next.fetch_add(1, Ordering::Relaxed))
            {
                if Instant::now() >= end {
                    // It was not looked at.
                    next.fetch_sub(1, Ordering::Relaxed);
                    return;
                }
                let reader = readers
                    .entry(*origin)
                    .or_insert_with(|| Reader::new(plan, *origin, &[], patience));
                if let Some(loss) = look(reader, path, stored)
                    && let Ok(mut losses) = losses.lock()
                {
                    losses.push((stored.last, loss));
                }
            }
        };
        std::thread::scope(|scope| {
            (0..AUDIT_CONNECTIONS).for_each(|_| {
                scope.spawn(ask);
            });
        });
        let looked = next.into_inner().min(places.len());
        self.found.checked += looked as u64;
        if looked < places.len() {
            let left = places.len() - looked;
            let note = format!("{left} of {} places were not looked at in time", places.len());
            self.found.notes.push(note);
        }
        let mut losses = losses.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        losses.sort();
        losses.into_iter().for_each(|(_, loss)| self.lose(|| loss));
    }
}

/// What is wrong with a place.
fn look(reader: &mut Reader, path: &str, stored: &Stored) -> Option<String> {
    let acknowledged = stored.last.unwrap_or_default().as_secs_f64();
    let when = format!("acknowledged {acknowledged:.3} s after the start");
    let (worth, found) = match reader.get(path) {
        Ok(page) if page.status == 200 => {
            let found = format!("another body of {} bytes is there", page.body.len());
            (worth(&page.body), found)
        }
        Ok(page) if matches!(page.status, 204 | 404 | 410) => {
            (ABSENT, format!("nothing is there (status {})", page.status))
        }
        Ok(page) => return Some(format!("{path}: {when}, but status {} now", page.status)),
        Err(why) => return Some(format!("{path}: {when}, and could not be read: {why}")),
    };
    let is_there = stored.writes.iter().any(|write| write.worth == worth);
    (!is_there).then(|| format!("{path}: {when}, but {found}"))
}
