//! What is shown of a run of the lab while it goes on: a screen on a terminal, a line a second
//! elsewhere, or nothing. From here a run is ended before its time, by `q` or a signal, and then
//! closed as what it is; or made longer by `+`.
//!
//! `figures` keeps what was told, `page` makes text of it, `screen` has the terminal.

mod chart;
mod figures;
mod page;
mod screen;

use crate::signals;
use crate::terminal;
use figures::Figures;
use lab::engine::{self, All, Findings, RunError, Watch};
use lab::measure::Interval;
use lab::plan::Plan;
use lab::progress::Tick;
use screen::{Screen, Wishes};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Carries out a plan and shows it meanwhile, unless that is to be quiet. `beside` are told, too.
pub fn carry_out(
    plan: &Plan,
    quiet: bool,
    beside: Vec<&mut dyn Watch>,
) -> Result<Findings, RunError> {
    let mut view = View::open(plan, quiet);
    let mut all: Vec<&mut dyn Watch> = vec![&mut view];
    all.extend(beside.into_iter().map(|watch| watch as &mut dyn Watch));
    let findings = engine::run(plan, &mut All(all));
    view.close();
    findings
}

/// A run, as it is shown.
struct View {
    figures: Figures,
    show: Show,
    /// What those who watch it want.
    wishes: Arc<Wishes>,
}

/// Where it is shown.
enum Show {
    Nowhere,
    /// A line on stderr for each tick.
    Lines,
    /// One on a terminal, written over.
    Line,
    Screen(Screen),
}

impl View {
    fn open(plan: &Plan, quiet: bool) -> Self {
        let wishes = Arc::new(Wishes::default());
        Self { figures: Figures::new(plan), show: Show::choose(quiet, &wishes), wishes }
    }

    fn close(self) {
        match self.show {
            Show::Screen(screen) => screen.close(),
            Show::Line => write("\r\x1b[K"),
            Show::Lines | Show::Nowhere => {}
        }
    }
}

impl Show {
    fn choose(quiet: bool, wishes: &Arc<Wishes>) -> Self {
        // On a screen the terminal has the signals; one that cannot be taken is done without.
        if !quiet
            && terminal::is_one()
            && let Ok(screen) = Screen::open(Arc::clone(wishes))
        {
            return Self::Screen(screen);
        }
        if let Err(error) = signals::ask_for_end(&wishes.quit) {
            write(&format!("sarsen: signals cannot be caught: {error}\n"));
        }
        match (quiet, io::stderr().is_terminal()) {
            (true, _) => Self::Nowhere,
            (false, true) => Self::Line,
            (false, false) => Self::Lines,
        }
    }
}

/// A stderr that went away takes what is shown with it, not the run.
fn write(text: &str) {
    let _nobody_reads = io::stderr().write_all(text.as_bytes());
}

impl Watch for View {
    fn tick(&mut self, tick: &Tick) {
        self.figures.tick(tick);
        match &self.show {
            Show::Nowhere => {}
            Show::Lines => write(&format!("{}\n", page::line(&self.figures))),
            Show::Line => write(&format!("\r{}\x1b[K", page::line(&self.figures))),
            Show::Screen(screen) => screen.show(page::lines(&self.figures)),
        }
    }

    fn second(&mut self, interval: &Interval) {
        self.figures.second(interval);
    }

    fn stops(&mut self) -> bool {
        self.wishes.quit.load(Ordering::Relaxed)
    }

    fn extends(&mut self) -> Duration {
        self.wishes.take_longer()
    }
}
