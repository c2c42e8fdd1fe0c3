//! The repository on a simulated disk and a simulated engine, with several clients: processes die,
//! the power goes, calls fail, and what an opening finds is compared with the model.

use crate::at_rest::Shelf;
use crate::backup::Keeper;
use crate::client::{Client, Step, Surroundings};
use crate::feed::Feed;
use crate::found::found;
use crate::ground::Ground;
use crate::model::{COLLECTIONS, HISTORIES, INDEX, Model};
use crate::random::Random;
use crate::trace::{Finding, expect};
use repository::limits::{BLOB_KEPT_MS, MEMORY_BYTES_MIN, VOLATILE_COMMITS_MAX};
use repository::parts::{Parts, Stepped};
use repository::{
    CollectionName, Durability, Ending, History, IndexDefinition, IndexKind, IndexPath, OpenError,
    Options, Retention, Settings, Timestamp,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of so many openings, one will not be ended by a crash.
const OPENINGS_AT_END: usize = 30;

/// Segments of the log for which there is to be room on the disk.
const RESERVE_SEGMENTS: u64 = 6;

/// How often what is done, in a run; each seed has its own.
#[derive(Debug)]
struct Habits {
    clients: u64,
    keys: u64,
    client_percent: u64,
    checkpoint_per_mille: u64,
    crash_per_mille: u64,
    failure_per_mille: u64,
    /// How often the disk gets a bound that only the repository comes near to.
    bound_per_mille: u64,
    step_ms_max: u64,
    /// How often somebody makes backups.
    backup_percent: u64,
    has_photos: bool,
    /// Which versions the first collection keeps.
    history: History,
}

impl Habits {
    fn new(random: &mut Random) -> Self {
        Self {
            clients: random.between(1, 6),
            keys: *random.pick(&[2, 8, 40]),
            client_percent: random.between(40, 85),
            checkpoint_per_mille: random.between(0, 60),
            crash_per_mille: random.between(1, 20),
            failure_per_mille: *random.pick(&[0, 0, 3, 10]),
            bound_per_mille: *random.pick(&[0, 0, 5, 30]),
            step_ms_max: *random.pick(&[1, 30, 300]),
            backup_percent: 0,
            has_photos: true,
            history: match random.below(3) {
                0 => History::None,
                1 => History::Versions(random.between(1, 4)),
                _ => History::AgeMs(random.between(1, 50_000)),
            },
        }
    }
}

/// The run of one seed.
pub struct World {
    /// What it stands on.
    pub ground: Ground,
    shelf: Arc<Shelf>,
    habits: Habits,
    now_ms: Arc<AtomicU64>,
    opened: Option<Arc<Stepped>>,
    /// Whether something else has taken the room that the repository had reserved.
    is_robbed: bool,
    clients: Vec<Client>,
    model: Model,
    feed: Feed,
    keeper: Option<Keeper>,
}

impl World {
    /// The world of a seed.
    pub fn new(seed: u64) -> Self {
        let mut ground = Ground::new(seed, (16, 64));
        let habits = Habits::new(&mut ground.random);
        Self::of(ground, habits, None)
    }

    /// The world of a seed in which somebody makes backups.
    pub fn backed_up(seed: u64) -> Self {
        let mut ground = Ground::new(seed, (16, 64));
        let mut habits = Habits::new(&mut ground.random);
        habits.backup_percent = ground.random.between(20, 60);
        let keeper = Keeper::new(&mut ground.random);
        Self::of(ground, habits, Some(keeper))
    }

    fn of(mut ground: Ground, habits: Habits, keeper: Option<Keeper>) -> Self {
        let baton = keeper.as_ref().map(Keeper::baton).unwrap_or_default();
        ground.trace.note(format_args!("{:?} {habits:?}", ground.sizes));
        Self {
            shelf: Shelf::pausing(ground.disk.clone(), baton),
            ground,
            clients: (0..habits.clients).map(|_| Client::default()).collect(),
            habits,
            now_ms: Arc::new(AtomicU64::new(1_000_000)),
            opened: None,
            is_robbed: false,
            model: Model::default(),
            feed: Feed::default(),
            keeper,
        }
    }

    /// Takes so many steps, and a last opening.
    pub fn run(&mut self, steps: u64) -> Result<(), Finding> {
        for _ in 0..steps {
            self.step()?;
        }
        self.end_process("the end");
        for _ in 0..OPENINGS_AT_END {
            self.ground.heal();
            self.open()?;
            if self.opened.is_some() && self.settle()? {
                self.check_backups()?;
                if !self.keeper.take().is_some_and(|keeper| keeper.holds_log()) {
                    return Ok(());
                }
                // Once more, now that nobody holds the log.
                self.end_process("the archive is given up");
            }
        }
        Err(Finding("it does not open at the end".to_owned()))
    }

    /// Does all work that is left, after which there are just the blobs that are named, unless the
    /// log is held for an archive, which needs others too. `false`: it crashed meanwhile.
    fn settle(&mut self) -> Result<bool, Finding> {
        let done = self.finish_work();
        if self.ground.disk.has_crashed() {
            self.end_process("the crash came at the end");
            return Ok(false);
        }
        let (named, there) = done.map_err(|why| Finding(format!("at the end: {why}")))?;
        let is_held = self.keeper.as_ref().is_some_and(Keeper::holds_log);
        let all_there = || named.iter().all(|blob| there.contains(blob));
        expect(named == there || (is_held && all_there()), || {
            format!("{named:?} are named, there are {there:?}")
        })?;
        Ok(true)
    }

    /// The blobs that are named, and those that are there.
    fn finish_work(&self) -> Result<(Vec<String>, Vec<String>), String> {
        let Some(opened) = &self.opened else { return Ok(Default::default()) };
        opened.mark();
        while opened.write_frame(true).map_err(|error| error.to_string())? {}
        opened.sweep_blobs().map_err(|error| error.to_string())?;
        // Those that only the log names have stayed, and go in time.
        self.now_ms.fetch_add(BLOB_KEPT_MS, Ordering::Relaxed);
        opened.sweep_blobs().map_err(|error| error.to_string())?;
        let named = opened.repository().named_blobs(None, usize::MAX);
        let named = named.map_err(|error| error.to_string())?;
        let named = named.iter().map(|blob| blob.hash.path().display().to_string());
        let there = self.ground.disk.files(Path::new("/data/blobs"));
        let there = there.iter().filter_map(|path| path.strip_prefix("/data").ok());
        Ok((named.collect(), there.map(|path| path.display().to_string()).collect()))
    }

    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn step(&mut self) -> Result<(), Finding> {
        if self.opened.is_none() {
            return self.open();
        }
        if self.ground.random.below(1000) < self.habits.crash_per_mille {
            self.ground.plan_crash(8);
        }
        if self.ground.random.below(1000) < self.habits.failure_per_mille {
            self.ground.plan_failure();
            self.is_robbed |= self.ground.is_bounded;
        }
        if self.ground.random.below(1000) < self.habits.bound_per_mille {
            self.change_room()?;
        }
        let trouble = if self.ground.random.percent(self.habits.backup_percent) {
            self.back_up()?
        } else if self.ground.random.percent(self.habits.client_percent) {
            self.client_step()?
        } else {
            self.own_step().err()
        };
        let ms = self.ground.random.below(self.habits.step_ms_max + 1);
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
        let is_due = self.ground.is_sync_due(self.now_ms());
        let due = if is_due { self.write(true) } else { Ok(()) };
        let trouble = trouble.or(due.err());
        if let Some(trouble) = trouble {
            let is_poisoned =
                self.opened.as_ref().is_some_and(|o| o.repository().durable().is_err());
            let has_cause = self.ground.can_poison();
            expect(has_cause || !is_poisoned, || format!("poisoned without a cause: {trouble}"))?;
            self.ground.trace.note(format_args!("refused: {trouble}"));
            if is_poisoned {
                self.end_process("poisoned");
                return Ok(());
            }
        }
        self.follow()?;
        self.observe()?;
        let has_crashed = self.keeper.as_ref().is_some_and(Keeper::has_crashed);
        if self.ground.disk.has_crashed()
            || has_crashed
            || self.ground.random.below(2000) < self.habits.crash_per_mille
        {
            self.end_process("crash");
        }
        Ok(())
    }

    /// Leaves the repository a little more than its reserve, or all the room there is.
    fn change_room(&mut self) -> Result<(), Finding> {
        let Some(opened) = &self.opened else { return Ok(()) };
        let more = self.ground.random.below(4);
        if !self.ground.is_bounded {
            self.ground.bound((RESERVE_SEGMENTS + more) * self.ground.sizes.bytes);
            opened.look_at_space();
            return Ok(());
        }
        self.ground.make_room();
        self.is_robbed = false;
        self.ground.trace.note("there is room again");
        opened.look_at_space();
        // What waited gets on, and whatever poisons it is looked at by the next step.
        while opened.write_frame(false).is_ok_and(|did| did) {}
        let stats = opened.repository().stats();
        expect(!stats.is_short_of_space || self.ground.can_poison(), || {
            format!("short of space with {} bytes free", stats.free_bytes)
        })
    }

    fn client_step(&mut self) -> Result<Option<String>, Finding> {
        let Some(opened) = &self.opened else { return Ok(None) };
        let who = self.ground.random.below(self.habits.clients) as usize;
        let mut around = Surroundings {
            repository: opened.repository(),
            model: &mut self.model,
            random: &mut self.ground.random,
            now_ms: self.now_ms.load(Ordering::Relaxed),
            keys: self.habits.keys,
            has_photos: self.habits.has_photos,
        };
        Ok(match self.clients[who].step(&mut around)? {
            Step::Did(did) => {
                self.ground.trace.note(format_args!("client {who}: {did}"));
                None
            }
            Step::Refused(why) => Some(why),
        })
    }

    /// Somebody who makes backups takes a step.
    fn back_up(&mut self) -> Result<Option<String>, Finding> {
        let (Some(keeper), Some(opened)) = (&mut self.keeper, &self.opened) else {
            return Ok(None);
        };
        let ground = &self.ground;
        let did = keeper.step(opened, &|| ground.has_cause())?;
        self.ground.trace.note(did);
        Ok(None)
    }

    fn check_backups(&mut self) -> Result<(), Finding> {
        let now_ms = self.now_ms();
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        let did = keeper.check(&self.model, now_ms)?;
        self.ground.trace.note(did);
        Ok(())
    }

    fn own_step(&mut self) -> Result<(), String> {
        let Some(opened) = &self.opened else { return Ok(()) };
        let checkpoint = self.ground.random.below(1000) < 10 * self.habits.checkpoint_per_mille;
        match self.ground.random.below(20) {
            0..2 if checkpoint => {
                self.ground.trace.note("checkpoint");
                opened.checkpoint().map_err(|error| error.to_string())
            }
            2 => {
                self.ground.trace.note("compact");
                opened.compact().map_err(|error| error.to_string())
            }
            3..5 => {
                self.ground.trace.note("evict");
                opened.evict();
                Ok(())
            }
            5..7 => {
                opened.reap();
                let after = opened.repository().stats().visible;
                // Its views had the time of now, and no later commit has an earlier one.
                self.model.pass(self.now_ms.load(Ordering::Relaxed));
                self.ground.trace.note(format_args!("reap, up to {after}"));
                Ok(())
            }
            12 => {
                opened.look_at_space();
                Ok(())
            }
            7 => {
                self.ground.trace.note("mark");
                opened.mark();
                Ok(())
            }
            8 if self.ground.random.percent(25) => {
                self.now_ms.fetch_add(400_000, Ordering::Relaxed);
                self.ground.trace.note("a long time later, old views are refused");
                opened.refuse_old_views();
                Ok(())
            }
            11 if self.ground.random.percent(10) => self.toggle_index(),
            13 if self.ground.random.percent(10) => self.end_collection(),
            14 if self.ground.random.percent(10) => {
                self.ground.trace.note("look at all blobs");
                opened.sweep_blobs().map_err(|error| error.to_string())
            }
            14..16 => {
                opened.tend_blobs();
                let stats = opened.repository().blob_stats();
                self.ground.trace.note(format_args!("tend blobs: {stats:?}"));
                Ok(())
            }
            9..11 => {
                let did = opened.prepare_segment();
                self.ground.trace.note(format_args!("prepare a segment, did: {did}"));
                Ok(())
            }
            _ => self.write(false),
        }
    }

    /// Gives the first collection an index, or takes it away.
    fn toggle_index(&mut self) -> Result<(), String> {
        let Some(opened) = &self.opened else { return Ok(()) };
        let name = CollectionName::new(COLLECTIONS[0].0).map_err(|error| error.to_string())?;
        let mut settings = opened.repository().settings(&name);
        if settings.indexes.pop().is_none() {
            let path = IndexPath { path: String::new(), kind: IndexKind::Number, each: false };
            let (name, paths) = (INDEX.to_owned(), vec![path]);
            settings.indexes.push(IndexDefinition { name, paths, unique: false });
        }
        let indexes = settings.indexes.len();
        let number = opened.repository().configure(&name, &settings);
        let number = number.map_err(|error| error.to_string())?;
        self.model.note(number.0);
        self.model.pass(self.now_ms());
        self.ground.trace.note(format_args!("configure {number}: {indexes} indexes"));
        Ok(())
    }

    /// Empties a collection, or drops the one that has no settings it cannot do without.
    fn end_collection(&mut self) -> Result<(), String> {
        let Some(opened) = &self.opened else { return Ok(()) };
        let at = self.ground.random.below(COLLECTIONS.len() as u64) as usize;
        let (name, durability) = COLLECTIONS[at];
        let is_dropped = durability == Durability::Synced && self.ground.random.percent(50);
        let ending = if is_dropped { Ending::Drop } else { Ending::Empty };
        let name = CollectionName::new(name).map_err(|error| error.to_string())?;
        let ended = opened.repository().end(&name, ending).map_err(|error| error.to_string())?;
        self.model.pass(self.now_ms());
        if let Some(number) = ended {
            self.model.end(number.0, at);
            if HISTORIES.contains(&at) {
                let history = if is_dropped { History::None } else { self.habits.history };
                self.model.keep(at, history, number.0);
            }
            self.ground.trace.note(format_args!("{ending:?} {name} at {number}"));
        }
        Ok(())
    }

    fn write(&mut self, sync_is_due: bool) -> Result<(), String> {
        let Some(opened) = &self.opened else { return Ok(()) };
        let wrote = opened.write_frame(sync_is_due).map_err(|error| error.to_string())?;
        self.ground.trace.note(format_args!("write, sync due: {sync_is_due}, did: {wrote}"));
        Ok(())
    }

    fn observe(&mut self) -> Result<(), Finding> {
        let Some(opened) = &self.opened else { return Ok(()) };
        let Ok(durable) = opened.repository().durable() else { return Ok(()) };
        let (durable, synced) = (durable.0, opened.synced().0);
        let now_ms = self.now_ms();
        // What nobody else took is room enough for what was accepted.
        let is_held = self.keeper.as_ref().is_some_and(Keeper::holds_log);
        expect(
            !opened.is_stalled() || is_held || self.is_robbed || self.ground.can_poison(),
            || format!("the log waits for room, with {:?}", opened.repository().stats()),
        )?;
        self.ground.observe(durable, synced, now_ms)
    }

    fn follow(&mut self) -> Result<(), Finding> {
        let Some(opened) = &self.opened else { return Ok(()) };
        if !self.ground.random.percent(8) {
            return Ok(());
        }
        let ground = &self.ground;
        let did = self.feed.read(opened.repository(), opened.synced(), || ground.has_cause())?;
        self.ground.trace.note(did);
        Ok(())
    }

    fn end_process(&mut self, why: &str) {
        self.feed.die();
        self.clients.iter_mut().for_each(Client::die);
        if let Some(keeper) = &mut self.keeper {
            keeper.die(&self.ground.disk);
        }
        self.opened = None;
        let power_was_cut = self.ground.die(why);
        if let Some(keeper) = &mut self.keeper {
            let left = keeper.after_death(power_was_cut);
            self.ground.trace.note(format_args!("the backups have {left}"));
        }
        self.ground.trace.note(format_args!("the disk has {}", self.ground.disk.listing()));
    }

    fn open(&mut self) -> Result<(), Finding> {
        self.ground.before_opening(30);
        let now_ms = Arc::clone(&self.now_ms);
        let options = Options {
            folder: PathBuf::from("/data"),
            memory_bytes: MEMORY_BYTES_MIN,
            clock: Arc::new(move || Timestamp(now_ms.load(Ordering::Relaxed))),
        };
        let (disk, at_rest) = (Arc::new(self.ground.disk.clone()), self.shelf.open());
        let opened = {
            let Ground { sizes, retention, .. } = self.ground;
            let hold = self.keeper.as_mut().and_then(Keeper::hold);
            let retention = Retention { hold, ..retention };
            let reserve_bytes = RESERVE_SEGMENTS * sizes.bytes;
            let parts = Parts { disk, at_rest, sizes, retention, reserve_bytes };
            Stepped::open(&options, parts)
        };
        let why = match opened {
            Ok((opened, recovery)) if !self.ground.disk.has_crashed() => {
                self.ground.trace.note(format_args!("open: {recovery:?}"));
                self.is_robbed = self.ground.is_bounded;
                self.opened = Some(Arc::new(opened));
                match self.compare()?.and_then(|()| self.configure()) {
                    Ok(()) if self.ground.random.percent(50) => {
                        self.check_backups()?;
                        return self.observe();
                    }
                    Ok(()) => return self.observe(),
                    Err(why) => why,
                }
            }
            Ok(_) => "the crash came at the end of opening".to_owned(),
            Err(error @ (OpenError::Damaged { .. } | OpenError::NotARepository { .. })) => {
                return Err(Finding(format!("it does not open: {error}")));
            }
            Err(error) => error.to_string(),
        };
        let has_cause = self.ground.has_cause();
        expect(has_cause, || format!("it does not open: {why}"))?;
        self.ground.heal();
        self.end_process(&why);
        Ok(())
    }

    /// Compares what was found with what was committed, and forgets what was lost.
    fn compare(&mut self) -> Result<Result<(), String>, Finding> {
        let Some(opened) = &self.opened else { return Ok(Ok(())) };
        let found = match found(opened.repository()) {
            Ok(found) => found,
            Err(why) if self.ground.has_cause() => return Ok(Err(why)),
            Err(why) => return Err(Finding(format!("it cannot be read: {why}"))),
        };
        let least = match self.ground.power_was_cut {
            true => self
                .model
                .last_synced(self.ground.durable)
                .max(self.model.last_logged(self.ground.synced)),
            false => self.model.last_logged(self.ground.durable),
        };
        let least = least.max(self.keeper.as_ref().map_or(0, Keeper::least));
        let now_ms = self.now_ms();
        // Numbers that were lost are given again, so what is known of them must go.
        let visible = opened.repository().stats().visible.0.max(least);
        // By the documents alone it may be any of several, where what one has changed has expired;
        // but opening skips numbers where there are volatile collections, and marks that.
        let most = visible.saturating_sub(VOLATILE_COMMITS_MAX + 1).max(least);
        let exact = self.model.find(&found, least..=most, now_ms);
        let last = exact.or_else(|| self.model.find(&found, least..=visible, now_ms));
        let Some(last) = last else {
            let difference = self.model.difference(&found, least, now_ms);
            let earlier = self.model.find(&found, 0..=u64::MAX, now_ms);
            return Err(Finding(match earlier {
                Some(number) => format!("found what was after {number}, {least} was acknowledged"),
                None => format!("found what never was; compared with {least}: {difference:?}"),
            }));
        };
        self.ground.trace.note(format_args!("found what was after {last}, at least {least}"));
        self.model.reopen(last);
        self.model.pass(self.now_ms());
        if let Some(opened) = &self.opened {
            let ground = &self.ground;
            self.feed.compare(opened.repository(), || ground.has_cause())?;
        }
        self.ground.reopened();
        Ok(Ok(()))
    }

    /// Gives the collections their durability, where an opening has not found them.
    fn configure(&mut self) -> Result<(), String> {
        let Some(opened) = &self.opened else { return Ok(()) };
        for (at, (name, durability)) in COLLECTIONS.into_iter().enumerate() {
            let name = CollectionName::new(name).map_err(|error| error.to_string())?;
            let settings = opened.repository().settings(&name);
            let has_history = HISTORIES.contains(&at);
            let history = if has_history { self.habits.history } else { History::None };
            if (settings.durability, settings.history) == (durability, history) {
                continue;
            }
            let settings = Settings { durability, history, ..settings };
            let number = opened.repository().configure(&name, &settings);
            let number = number.map_err(|error| error.to_string())?.0;
            self.model.note(number);
            self.model.pass(self.now_ms());
            if has_history {
                self.model.keep(at, history, number);
            }
        }
        Ok(())
    }
}
