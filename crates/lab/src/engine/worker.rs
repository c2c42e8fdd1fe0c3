//! One thread of the generator: its users, its single-threaded runtime, and the CPU time that took.
//! It hands over what was measured once a second and knows nothing of the other threads.

use super::alarm::Alarm;
use super::desk::{Brief, Desk};
use super::numbered;
use super::open::{self, Gate};
use super::schedule::Schedule;
use super::user::User;
use crate::cpu;
use crate::measure::Interval;
use crate::plan::{Background, Load};
use crate::progress::Counters;
use std::io;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How often a thread looks whether it stood still.
const PAUSE_LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a thread is started with.
pub(crate) struct Worker {
    pub(crate) brief: Brief,
    /// Its number, and how many there are.
    pub(crate) place: (usize, usize),
    /// The numbers of its users.
    pub(crate) users: Range<usize>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) signals: SyncSender<Signal>,
}

/// What a thread tells the conductor.
pub(crate) enum Signal {
    /// What was measured in a second.
    Second(Box<Interval>),
    /// The measured interval is over for its users.
    Closed,
    /// It is done.
    Finished(io::Result<Box<Harvest>>),
}

/// What a thread has to say in the end.
pub(crate) struct Harvest {
    pub(crate) connections: u64,
    /// What each server calls its software, if it says so.
    pub(crate) software: Vec<Option<String>>,
    /// When the measured interval was over for its users.
    pub(crate) closed: Instant,
    pub(crate) cpu: io::Result<ThreadCpu>,
}

/// CPU time of the thread around the measured interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadCpu {
    pub(crate) used: Duration,
    /// Time between the two readings.
    pub(crate) elapsed: Duration,
}

impl Worker {
    /// Runs to the end of the drain.
    pub(crate) fn run(self) {
        let signals = self.signals.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(Default::default());
        let harvest = runtime.and_then(|runtime| runtime.block_on(self.conduct()));
        // The conductor leaves before its threads only when one of them could not be started, and
        // then nobody asks for what the others measured.
        let _nobody_asks = signals.send(Signal::Finished(harvest.map(Box::new)));
    }

    async fn conduct(self) -> io::Result<Harvest> {
        let timetable = self.brief.timetable;
        let desk = Rc::new(Desk::new(self.brief.clone(), Arc::clone(&self.counters)));
        let pages = tokio::task::spawn_local(turn_pages(Rc::clone(&desk), self.signals.clone()));
        let ends = tokio::task::spawn_local(end_early(Rc::clone(&desk)));
        let longer = tokio::task::spawn_local(extend(Rc::clone(&desk)));
        let mut users = self.start(&desk)?;
        desk.sleep_until(timetable.begin).await;
        let opened = Instant::now();
        let before = cpu::this_thread();
        let early = until_end(&desk, &mut users).await;
        let closed = Instant::now();
        let after = cpu::this_thread();
        self.tell(Signal::Closed);
        join(&mut users).await;
        pages.abort();
        ends.abort();
        longer.abort();
        let now = Instant::now();
        self.tell(Signal::Second(Box::new(desk.turn_page(now, 0))));
        Ok(Harvest {
            connections: desk.connections(),
            software: desk.software(),
            closed: if early { closed.min(desk.timetable().end) } else { desk.timetable().end },
            cpu: thread_cpu(before, after, closed - opened),
        })
    }

    fn tell(&self, signal: Signal) {
        // See `run`.
        let _nobody_asks = self.signals.send(signal);
    }

    /// Lets users begin, or arrivals come.
    fn start(&self, desk: &Rc<Desk>) -> io::Result<JoinSet<()>> {
        let plan = &self.brief.plan;
        let mut tasks = JoinSet::new();
        match &plan.load {
            Load::Closed { users } => {
                let all = plan.load.users_max();
                for number in self.users.clone() {
                    let start = self.brief.timetable.start_of(number, all);
                    let user = User::new(Rc::clone(desk), number);
                    let users = users.clone();
                    tasks.spawn_local(async move { user.live(&users, start).await });
                }
            }
            Load::Numbered { .. } => {
                for number in self.users.clone() {
                    let user = User::new(Rc::clone(desk), number);
                    let numbers = self.brief.numbers.clone();
                    tasks.spawn_local(async move {
                        if let Some(numbers) = numbers {
                            numbered::live(user, numbers).await;
                        }
                    });
                }
            }
            Load::Open { .. } | Load::Replay { .. } => {
                let (thread, of) = self.place;
                let schedule = Schedule::new(plan, thread, of).into_iter().flatten();
                let gate = Gate::new(Rc::clone(desk), self.users.clone());
                tasks.spawn_local(open::come(gate, Alarm::new()?, schedule));
            }
        }
        // Beside the mix: on the first thread, each by a user of its own.
        let background = plan.background.iter().enumerate().filter(|_| self.place.0 == 0);
        for (i, background) in background {
            let user = User::new(Rc::clone(desk), plan.load.users_max() + i);
            tasks.spawn_local(in_background(user, background.clone()));
        }
        Ok(tasks)
    }
}

/// Waits for the word that the run ends before its time, and sees to it.
async fn end_early(desk: Rc<Desk>) {
    let mut ended = desk.brief.ended.clone();
    // Without a conductor nobody asks for what is measured.
    let _conductor_is_gone = ended.wait_for(|ended| *ended).await.is_err();
    desk.finish();
}

/// Makes the measured interval longer each time that somebody wants it.
async fn extend(desk: Rc<Desk>) {
    let mut extended = desk.brief.extended.clone();
    while extended.changed().await.is_ok() {
        desk.extend(*extended.borrow_and_update());
    }
}

/// Waits for the end of the measured interval; true if the users were done before.
async fn until_end(desk: &Desk, users: &mut JoinSet<()>) -> bool {
    loop {
        let end = desk.timetable().end;
        if tokio::time::timeout_at(end, join(users)).await.is_ok() {
            return true;
        }
        if desk.timetable().end == end {
            return false;
        }
    }
}

/// Hands over what was measured, at each whole second of the run.
async fn turn_pages(desk: Rc<Desk>, signals: SyncSender<Signal>) {
    let start = desk.brief.timetable.start;
    for second in 1.. {
        look_for_pauses(&desk, start + Duration::from_secs(second)).await;
        let page = Signal::Second(Box::new(desk.turn_page(Instant::now(), second)));
        // Not if the conductor is behind: a second more in memory costs less than a stall here.
        if signals.send(page).is_err() {
            return;
        }
    }
}

/// Until `end`, looks often whether this thread gets to run when it should.
async fn look_for_pauses(desk: &Desk, end: Instant) {
    loop {
        let next = end.min(Instant::now() + PAUSE_LOOK_EVERY);
        tokio::time::sleep_until(next).await;
        desk.paused(next, Instant::now());
        if next == end {
            return;
        }
    }
}

async fn in_background(mut user: User, background: Background) {
    let gap = Duration::from_secs_f64(1.0 / background.rate);
    let mut at = user.timetable().start;
    while at < user.timetable().last && user.sleep_until(at).await {
        let finished = user.perform(background.operation, at, Instant::now()).await;
        at = (at + gap).max(finished);
    }
    user.leave();
}

pub(super) async fn join(tasks: &mut JoinSet<()>) {
    while let Some(task) = tasks.join_next().await {
        if let Err(error) = task {
            // Tasks are never cancelled, so this is a panic, and a bug.
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

fn thread_cpu(
    before: io::Result<Duration>,
    after: io::Result<Duration>,
    elapsed: Duration,
) -> io::Result<ThreadCpu> {
    let used = after?.saturating_sub(before?);
    Ok(ThreadCpu { used, elapsed })
}
