//! What a server is like beside its speed: the memory of a gem and of an application, and how long
//! an edit takes until it is served. Of Sarsen alone; nothing here is beside another side.

use super::Pages;
use super::server::Server;
use crate::bench::table::{cell, push_line, spread};
use crate::bench::{BenchError, write_error};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// What `--only` may name.
pub const NAME: &str = "memory and reload";

/// Gems of the smaller server and of the larger one; what lies between is so many gems' memory.
const GEMS: (usize, usize) = (1, 9);

/// Requests to each server before its memory is read, so that every gem has run.
const REQUESTS: usize = 200;

/// Longest wait for an edit to be served.
const RELOAD_MAX: Duration = Duration::from_secs(30);

/// What one round found.
#[derive(Clone, Copy, Debug)]
struct Footprint {
    bare_mib: f64,
    one_gem_mib: f64,
    per_gem_mib: f64,
    reload_ms: f64,
}

/// All rounds.
#[derive(Default)]
pub struct Footprints(Vec<Footprint>);

impl Footprints {
    /// One round: three servers for the memory, and one that is watched.
    pub fn measure(&mut self, pages: &Pages) -> Result<(), BenchError> {
        let memory = |application: Option<&Path>, gems: usize| {
            pages.clear()?;
            let server = Server::start_bare(pages, application, gems)?;
            for _ in 0..REQUESTS {
                // Where there is no application, a reply of 404 shows as much.
                let _status = server.ask("/hello", None);
            }
            Ok(server.memory_mib())
        };
        let application = Some(pages.application.as_path());
        let bare_mib = memory(None, GEMS.0)?;
        let one_gem_mib = memory(application, GEMS.0)?;
        let all_gems_mib = memory(application, GEMS.1)?;
        self.0.push(Footprint {
            bare_mib,
            one_gem_mib,
            per_gem_mib: (all_gems_mib - one_gem_mib) / (GEMS.1 - GEMS.0) as f64,
            reload_ms: reload(pages)?.as_secs_f64() * 1000.0,
        });
        Ok(())
    }

    /// A table, in Markdown; empty if there was no round.
    pub fn render(&self) -> String {
        let figures = |read: fn(&Footprint) -> f64| spread(self.0.iter().map(read).collect());
        let mut text = String::new();
        if self.0.is_empty() {
            return text;
        }
        let rows = [
            ("memory without an application, MiB", cell(figures(|f| f.bare_mib), 1)),
            ("memory with apps/pages on one gem, MiB", cell(figures(|f| f.one_gem_mib), 1)),
            ("memory of each further gem, MiB", cell(figures(|f| f.per_gem_mib), 1)),
            ("an edit until it is served, `--watch`, ms", cell(figures(|f| f.reload_ms), 0)),
        ];
        push_line(&mut text, "\n| Sarsen with apps/pages | |\n| --- | --- |");
        for (name, figures) in rows {
            push_line(&mut text, &format!("| {name} | {figures} |"));
        }
        push_line(&mut text, "");
        text
    }
}

/// From the end of writing a changed file to the first reply that shows it.
fn reload(pages: &Pages) -> Result<Duration, BenchError> {
    pages.clear()?;
    let copy = pages.folder.join("application");
    copy_folder(&pages.application, &copy)?;
    let server = Server::start_watched(pages, &copy)?;
    let source = copy.join("app.js");
    let before = fs::read_to_string(&source).map_err(|e| write_error(&source, e))?;
    fs::write(&source, before.replace("Hello, world", "Hello again"))
        .map_err(|e| write_error(&source, e))?;
    let began = Instant::now();
    while !server.ask("/hello", None)?.contains("Hello again") {
        if began.elapsed() > RELOAD_MAX {
            let why = "the edit was not served".to_owned();
            return Err(BenchError::Load { command: "serve --watch".to_owned(), why });
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(began.elapsed())
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), BenchError> {
    fs::create_dir_all(to).map_err(|e| write_error(to, e))?;
    for entry in fs::read_dir(from).map_err(|e| write_error(from, e))?.flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &to)?;
        } else {
            fs::copy(&path, &to).map_err(|e| write_error(&to, e))?;
        }
    }
    Ok(())
}
