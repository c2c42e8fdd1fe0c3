//! `cargo xtask bench`: the measurements of `docs/performance.md`. It starts servers, has the lab
//! of the release binary load them, round after round, and prints a table. It asserts nothing.

pub mod atompub;
pub mod backup;
pub mod blobs;
mod client;
mod cpu;
pub mod documents;
pub mod exchange;
pub mod feed;
mod fill;
pub mod glass;
pub mod lab;
mod load;
mod measured;
pub mod memcached;
pub mod operation;
pub mod pages;
mod server;
mod table;

use load::{Load, Sample};
use server::Running;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use table::Row;
use thiserror::Error;

/// Documents that GET and PUT are spread over.
const KEYS: u64 = 10_000;

/// Connections of the loads on documents and on nginx.
const CONNECTIONS: &str = "64";

/// Why there is no table.
#[derive(Debug, Error)]
pub enum BenchError {
    /// A program did not start.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A server ended before it said where it is.
    #[error("{} did not start to serve; it said: {said}", program.display())]
    Server {
        /// Which.
        program: PathBuf,
        /// What it said.
        said: String,
    },
    /// A load did not end with a report.
    #[error("`{command}` failed: {why}")]
    Load {
        /// The command line.
        command: String,
        /// What it said, or what is wrong with the report.
        why: String,
    },
    /// The documents that are read later could not be put.
    #[error("cannot put the documents to be read: {0}")]
    Fill(io::Error),
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// What is measured, and for how long.
pub struct Bench {
    /// How often each load is applied; they take turns.
    pub rounds: usize,
    /// How long each load is applied.
    pub seconds: u64,
    /// The binary that is measured.
    pub sarsen: PathBuf,
    /// The application of the session load.
    pub counter: PathBuf,
    /// A folder for data; what is in it is deleted.
    pub folder: PathBuf,
}

/// Measures and prints the table to stdout; progress goes to stderr.
pub fn run(bench: &Bench) -> Result<(), BenchError> {
    let mut rows: Vec<Row> = Vec::new();
    for round in 1..=bench.rounds {
        eprintln!("bench: round {round} of {}", bench.rounds);
        bench.clear()?;
        for (load, sample) in bench.round()? {
            eprintln!("bench:   {}: {:.0} requests/s", load.name, sample.requests_per_second);
            match rows.iter_mut().find(|row| row.name == load.name) {
                Some(row) => row.samples.push(sample),
                None => rows.push(Row::new(&load, sample)),
            }
        }
    }
    let text = table::render(&rows, bench.rounds);
    io::stdout().write_all(text.as_bytes()).map_err(|source| write_error("stdout", source))
}

fn write_error(path: impl AsRef<Path>, source: io::Error) -> BenchError {
    BenchError::Write { path: path.as_ref().to_owned(), source }
}

impl Bench {
    fn clear(&self) -> Result<(), BenchError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        }
        fs::create_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))
    }

    /// Every load once. Each server runs alone.
    fn round(&self) -> Result<Vec<(Load, Sample)>, BenchError> {
        let mut samples = self.counter()?;
        samples.extend(self.documents()?);
        samples.extend(self.nginx()?);
        Ok(samples)
    }

    fn counter(&self) -> Result<Vec<(Load, Sample)>, BenchError> {
        let server = Running::sarsen(&self.sarsen, Some(&self.counter), &self.folder.join("a"))?;
        let load = Load::new("counter, new session per hit, 10 users", "/").with(&[
            "-c",
            "10",
            "--new-session",
        ]);
        Ok(vec![self.measure(load, &server)?])
    }

    fn documents(&self) -> Result<Vec<(Load, Sample)>, BenchError> {
        let server = Running::sarsen(&self.sarsen, None, &self.folder.join("b"))?;
        let authority = server.origin.trim_start_matches("http://");
        fill::fill(authority, "documents", KEYS, &sent_document()).map_err(BenchError::Fill)?;
        let keys = KEYS.to_string();
        let body = self.folder.join("document.json");
        fs::write(&body, document()).map_err(|e| write_error(&body, e))?;
        let body = format!("@{}", body.display());
        let put = |name| {
            Load::new(name, "/db/documents/{key}").with(&[
                "-c",
                CONNECTIONS,
                "--keys",
                &keys,
                "--method",
                "PUT",
                "--header",
                "Content-Type: application/json",
                "--body",
                &body,
            ])
        };
        let get = Load::new("GET a 300-byte document, 64 connections", "/db/documents/{key}")
            .with(&["-c", CONNECTIONS, "--keys", &keys]);
        let put = self.measure(put("PUT a 300-byte document, synced, 64 connections"), &server)?;
        let get = self.measure(get, &server)?;
        let by_wrk = self.measure_by_wrk("the same GET, one document, by wrk", &server)?;
        Ok(vec![put, get, by_wrk])
    }

    fn nginx(&self) -> Result<Vec<(Load, Sample)>, BenchError> {
        let server = Running::nginx(&self.folder, &"x".repeat(sent_document().len()))?;
        let get = Load::new("nginx, GET a fixed body of the same size, 64 connections", "/")
            .with(&["-c", CONNECTIONS]);
        let get = self.measure(get, &server)?;
        let by_wrk = self.measure_by_wrk("nginx, the same GET, by wrk", &server)?;
        Ok(vec![get, by_wrk])
    }

    fn measure(&self, load: Load, server: &Running) -> Result<(Load, Sample), BenchError> {
        let sample = load.run(&self.sarsen, server, self.seconds)?;
        Ok((load, sample))
    }

    /// A second opinion on the lab's figures.
    fn measure_by_wrk(
        &self,
        name: &'static str,
        server: &Running,
    ) -> Result<(Load, Sample), BenchError> {
        let load = Load::new(name, server.wrk_path);
        let sample = load.run_wrk(server, CONNECTIONS, self.seconds)?;
        Ok((load, sample))
    }
}

/// A JSON document of 300 bytes that differs in each request.
fn document() -> String {
    let start = "{\"nonce\":\"{nonce}\",\"text\":\"";
    // `{nonce}` becomes 16 digits.
    let filler = 300 - (start.len() - "{nonce}".len() + 16) - "\"}".len();
    format!("{start}{}\"}}", "x".repeat(filler))
}

/// The document as the lab sends it.
fn sent_document() -> String {
    document().replace("{nonce}", "0123456789abcdef")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_document_has_300_bytes_when_it_is_sent() {
        let sent = super::sent_document();
        assert_eq!(sent.len(), 300);
        assert!(serde_json::from_str::<serde_json::Value>(&sent).is_ok());
    }
}
