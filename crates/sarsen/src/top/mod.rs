//! `sarsen top`: watches a server that runs on this machine, by its admin socket. On a terminal it
//! shows a look after the other until `q`; elsewhere it prints one and ends.
//!
//! `look` makes rates of two answers, `screen` makes text of that.

mod look;
mod screen;

use crate::admin::{AskError, Running};
use crate::cli::TopArguments;
use crate::exit::Exit;
use crate::terminal::{self, Key, Terminal};
use look::Look;
use screen::{KEYS, Order};
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::thread;
use thiserror::Error;

/// Why there is nothing to see.
#[derive(Debug, Error)]
pub enum TopError {
    /// No server.
    #[error("no server runs on {}; `sarsen serve --data DIR` starts one", .0.display())]
    None(PathBuf),
    /// It could not be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The terminal cannot be used.
    #[error("cannot use the terminal: {0}; try --once")]
    Terminal(#[from] io::Error),
}

impl TopError {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::None(_) | Self::Ask(_) => Exit::Unreachable,
            Self::Terminal(_) => Exit::Failure,
        }
    }
}

/// Watches until it is told to stop; gives what goes to stdout if that is no terminal.
pub fn run(arguments: &TopArguments) -> Result<String, TopError> {
    let found = Running::find(&arguments.data)?;
    let mut running = found.ok_or_else(|| TopError::None(arguments.data.clone()))?;
    if !arguments.once && !arguments.json && terminal::is_one() {
        watch(&mut running, arguments)?;
        return Ok(String::new());
    }
    let before = ask(&mut running)?;
    thread::sleep(arguments.every);
    let look = Look::new(ask(&mut running)?, Some(before));
    if arguments.json {
        return Ok(format!("{}\n", look.to_json()));
    }
    Ok(screen::lines(&look, Order::Cpu, usize::MAX).join("\n") + "\n")
}

fn ask(running: &mut Running) -> Result<Value, AskError> {
    running.ask("top", &json!({}))
}

fn watch(running: &mut Running, arguments: &TopArguments) -> Result<(), TopError> {
    let terminal = Terminal::take()?;
    let mut order = Order::Cpu;
    let mut before = None;
    loop {
        let now = ask(running)?;
        let look = Look::new(now.clone(), before.replace(now));
        loop {
            terminal.show(&text(&look, order, &terminal))?;
            match terminal.key(arguments.every)? {
                None => break,
                Some(Key::Quit) => return Ok(()),
                Some(Key::Byte(key)) => order = Order::of_key(key).unwrap_or(order),
            }
        }
    }
}

/// A screen full of it.
fn text(look: &Look, order: Order, terminal: &Terminal) -> String {
    let (rows, _) = terminal.size();
    terminal.page(&screen::lines(look, order, rows), KEYS)
}
