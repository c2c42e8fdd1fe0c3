//! `cargo xtask`: the repository's own chores. This file only chooses the chore and turns its
//! outcome into an exit code.

mod bench;
mod exceptions;
mod finding;
mod limits;
mod tidy;

use bench::Bench;
use bench::BenchError;
use bench::atompub::{self, AtomPub};
use bench::backup::{self, Backup};
use bench::blobs::{self, Blobs};
use bench::documents::{self, Documents, Side};
use bench::exchange::{self, Exchange};
use bench::feed::{self, Feed};
use bench::glass::{self, Glass};
use bench::lab::{self, Lab};
use bench::memcached::{self, Memcached};
use bench::operation::{self, Operation};
use bench::pages::{self, Pages};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask tidy                     check the house rules; findings go to stdout
       cargo xtask bench ROUNDS SECONDS     measure the release binary; the table goes to stdout
       cargo xtask bench-lab ROUNDS SECONDS measure the lab beside wrk, oha and k6
       cargo xtask bench-documents ROUNDS SECONDS [--smoke] [--only TEXT] [--sides NAME,NAME]
                                            measure it beside nginx and the servers of peers/
       cargo xtask bench-atompub ROUNDS SECONDS [--posts N] [--largest N] [--sides NAME,NAME]
                                            post entries as to mod_atom, beside Abdera and httpd
       cargo xtask bench-glass ROUNDS SECONDS
                                            measure the counter as it was in October 2007
       cargo xtask bench-memcached ROUNDS SECONDS [--only TEXT] [--same]
                                            measure its cache beside memcached
       cargo xtask bench-blobs ROUNDS MEBIBYTES
                                            measure a large file to it and back beside nginx
       cargo xtask bench-feed ROUNDS SECONDS
                                            measure the feed with 0, 1, 10 and 100 readers
       cargo xtask bench-exchange ROUNDS DOCUMENTS
                                            import and export them beside PostgreSQL's COPY
       cargo xtask bench-backup ROUNDS DOCUMENTS SECONDS
                                            back them up and restore them, beside PostgreSQL and
                                            cp, and what that does to commits
       cargo xtask bench-operation SECONDS  commits beside backup, export and the like, all at once
       cargo xtask bench-pages ROUNDS SECONDS [--only TEXT]
                                            measure the pages of apps/pages beside peers/express";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => report_tidy(),
        ["bench", rounds, seconds] => match (rounds.parse(), seconds.parse()) {
            (Ok(rounds), Ok(seconds)) => measure(rounds, seconds),
            _ => usage(),
        },
        ["bench-lab", rounds, seconds] => match (rounds.parse(), seconds.parse()) {
            (Ok(rounds), Ok(seconds)) => measure_lab(rounds, seconds),
            _ => usage(),
        },
        ["bench-atompub", rounds, seconds, options @ ..] => {
            match (rounds.parse(), seconds.parse(), atompub::Options::parse(options)) {
                (Ok(rounds), Ok(seconds), Some(options)) => {
                    measure_atompub((rounds, seconds), options)
                }
                _ => usage(),
            }
        }
        ["bench-glass", rounds, seconds] => match (rounds.parse(), seconds.parse()) {
            (Ok(rounds), Ok(seconds)) => measure_counter(rounds, seconds),
            _ => usage(),
        },
        ["bench-documents", rounds, seconds, options @ ..] => {
            match (rounds.parse(), seconds.parse(), Options::parse(options)) {
                (Ok(rounds), Ok(seconds), Some(options)) => compare(rounds, seconds, options),
                _ => usage(),
            }
        }
        ["bench-memcached", rounds, seconds, options @ ..] => {
            match (rounds.parse(), seconds.parse(), of_memcached(options)) {
                (Ok(rounds), Ok(seconds), Some((only, is_same))) => {
                    measure_memcached((rounds, seconds), only, is_same)
                }
                _ => usage(),
            }
        }
        ["bench-pages", rounds, seconds, options @ ..] => {
            let only = match options {
                [] => Some(""),
                ["--only", only] => Some(*only),
                _ => None,
            };
            match (rounds.parse(), seconds.parse(), only) {
                (Ok(rounds), Ok(seconds), Some(only)) => measure_pages(rounds, seconds, only),
                _ => usage(),
            }
        }
        others => operate(others),
    }
}

/// The chores that measure what an operator and large content need.
fn operate(words: &[&str]) -> ExitCode {
    match words {
        ["bench-blobs", rounds, mebibytes] => match (rounds.parse(), mebibytes.parse()) {
            (Ok(rounds), Ok(mebibytes)) => measure_blobs(rounds, mebibytes),
            _ => usage(),
        },
        ["bench-feed", rounds, seconds] => match (rounds.parse(), seconds.parse()) {
            (Ok(rounds), Ok(seconds)) => measure_feed(rounds, seconds),
            _ => usage(),
        },
        ["bench-exchange", rounds, documents] => match (rounds.parse(), documents.parse()) {
            (Ok(rounds), Ok(documents)) => measure_exchange(rounds, documents),
            _ => usage(),
        },
        ["bench-backup", rounds, documents, seconds] => {
            match (rounds.parse(), documents.parse(), seconds.parse()) {
                (Ok(rounds), Ok(documents), Ok(seconds)) => {
                    measure_backup(rounds, documents, seconds)
                }
                _ => usage(),
            }
        }
        ["bench-operation", seconds] => match seconds.parse() {
            Ok(seconds) => measure_operation(seconds),
            _ => usage(),
        },
        _ => usage(),
    }
}

/// Options of `bench-documents`.
#[derive(Default)]
struct Options {
    smoke: bool,
    only: String,
    sides: Option<Vec<Side>>,
}

impl Options {
    fn parse(mut words: &[&str]) -> Option<Self> {
        let mut options = Self::default();
        loop {
            words = match words {
                [] => return Some(options),
                ["--smoke", rest @ ..] => {
                    options.smoke = true;
                    rest
                }
                ["--only", only, rest @ ..] => {
                    (*only).clone_into(&mut options.only);
                    rest
                }
                ["--sides", names, rest @ ..] => {
                    options.sides = Some(names.split(',').map(Side::named).collect::<Option<_>>()?);
                    rest
                }
                _ => return None,
            }
        }
    }
}

/// Options of `bench-memcached`: which rows, and whether both sides are memcached.
fn of_memcached(mut words: &[&str]) -> Option<(String, bool)> {
    let mut options = (String::new(), false);
    loop {
        words = match words {
            [] => return Some(options),
            ["--only", only, rest @ ..] => {
                options.0 = (*only).to_owned();
                rest
            }
            ["--same", rest @ ..] => {
                options.1 = true;
                rest
            }
            _ => return None,
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Where cargo builds.
fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(target)
}

fn measure_counter(rounds: usize, seconds: u64) -> ExitCode {
    let target = target();
    let outcome = glass::run(&Glass {
        rounds,
        seconds,
        sarsen: target.join("release/sarsen"),
        application: root().join("apps/counter"),
        folder: target.join("bench-glass"),
    });
    ended(outcome)
}

fn measure(rounds: usize, seconds: u64) -> ExitCode {
    let target = target();
    let outcome = bench::run(&Bench {
        rounds,
        seconds,
        sarsen: target.join("release/sarsen"),
        counter: root().join("apps/counter"),
        folder: target.join("bench"),
    });
    ended(outcome)
}

fn ended(outcome: Result<(), BenchError>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_blobs(rounds: usize, mebibytes: u64) -> ExitCode {
    let target = target();
    report(blobs::run(&Blobs {
        rounds,
        mebibytes,
        sarsen: target.join("release/sarsen"),
        folder: target.join("bench-blobs"),
    }))
}

fn measure_feed(rounds: usize, seconds: u64) -> ExitCode {
    let target = target();
    report(feed::run(&Feed {
        rounds,
        seconds,
        sarsen: target.join("release/sarsen"),
        folder: target.join("bench-feed"),
    }))
}

fn measure_exchange(rounds: usize, documents: u64) -> ExitCode {
    let target = target();
    report(exchange::run(&Exchange {
        rounds,
        documents,
        sarsen: target.join("release/sarsen"),
        folder: target.join("bench-exchange"),
    }))
}

fn measure_backup(rounds: usize, documents: u64, seconds: u64) -> ExitCode {
    let target = target();
    report(backup::run(&Backup {
        rounds,
        documents,
        seconds,
        sarsen: target.join("release/sarsen"),
        folder: target.join("bench-backup"),
    }))
}

fn measure_operation(seconds: u64) -> ExitCode {
    let target = target();
    report(operation::run(&Operation {
        seconds,
        sarsen: target.join("release/sarsen"),
        folder: target.join("bench-operation"),
    }))
}

fn measure_lab(rounds: usize, seconds: u64) -> ExitCode {
    let target = target();
    report(lab::run(&Lab {
        rounds,
        seconds,
        sarsen: target.join("release/sarsen"),
        tools: target.join("load-tools"),
        folder: target.join("bench-lab"),
    }))
}

fn measure_memcached((rounds, seconds): (usize, u64), only: String, is_same: bool) -> ExitCode {
    let target = target();
    report(memcached::run(&Memcached {
        rounds,
        seconds,
        only,
        is_same,
        sarsen: target.join("release/sarsen"),
        folder: target.join("bench-memcached"),
    }))
}

fn measure_atompub((rounds, seconds): (usize, u64), options: atompub::Options) -> ExitCode {
    let target = target();
    report(atompub::run(&AtomPub {
        rounds,
        seconds,
        options,
        sarsen: target.join("release/sarsen"),
        peers: target.join("peers"),
        folder: target.join("bench-atompub"),
        plots: root().join("docs/plots"),
    }))
}

fn compare(rounds: usize, seconds: u64, options: Options) -> ExitCode {
    let target = target();
    let outcome = documents::run(&Documents {
        rounds,
        seconds,
        smoke: options.smoke,
        only: options.only,
        sides: options.sides.unwrap_or_else(|| Side::ALL.into()),
        sarsen: target.join("release/sarsen"),
        peers: target.join("peers"),
        folder: target.join("bench-documents"),
        samples: root().join("docs/plots/documents.csv"),
    });
    report(outcome)
}

fn measure_pages(rounds: usize, seconds: u64, only: &str) -> ExitCode {
    let target = target();
    report(pages::run(&Pages {
        rounds,
        seconds,
        only: only.to_owned(),
        sarsen: target.join("release/sarsen"),
        application: root().join("apps/pages"),
        express: target.join("peers/express"),
        folder: target.join("bench-pages"),
    }))
}

/// Whether there were failed runs is the outcome of what compares.
fn report(outcome: Result<bool, BenchError>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("bench: there were failed runs");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report_tidy() -> ExitCode {
    let report = match tidy::check(root()) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("tidy: {error}");
            return ExitCode::FAILURE;
        }
    };
    let lines: String = report.findings.iter().map(|finding| format!("{finding}\n")).collect();
    if let Err(error) = std::io::stdout().write_all(lines.as_bytes()) {
        eprintln!("tidy: cannot write the findings: {error}");
        return ExitCode::FAILURE;
    }
    eprintln!("tidy: {} files, {} findings", report.files, report.findings.len());
    if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The root of the repository: the folder above this crate's.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the repository")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        let report = super::tidy::check(super::root()).expect("tidy runs");
        let lines: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "run `cargo xtask tidy`:\n{}", lines.join("\n"));
        assert!(report.files > 50, "tidy saw only {} files", report.files);
    }
}
