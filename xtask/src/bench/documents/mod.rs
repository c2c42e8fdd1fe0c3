//! `cargo xtask bench-documents`: the document API beside nginx, Xenon and PocketBase, each
//! operation over each transport. Here is the order of things: rounds, in each round every side
//! alone, on a side every row. It asserts nothing about figures; what is no throughput is marked as
//! failed.

mod fill;
mod generator;
mod h2load;
mod report;
mod request;
mod row;
mod running;
mod side;

use super::measured::Measured;
use super::{BenchError, write_error};
use generator::Generator;
use request::{Operation, Target};
use row::{Row, Transport};
use running::Running;
pub use side::Side;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// Documents that reads and writes are spread over; a smoke run has fewer.
const KEYS: u64 = 10_000;
const SMOKE_KEYS: u64 = 400;

/// Documents that a query finds.
const FOUND: u64 = 20;

/// What is measured, and for how long.
pub struct Documents {
    /// How often everything is measured.
    pub rounds: usize,
    /// How long each row is measured on each side.
    pub seconds: u64,
    /// Shows that everything works: few documents, no warm-up, the results are kept nowhere.
    pub smoke: bool,
    /// Only rows whose name holds this.
    pub only: String,
    /// Who is measured.
    pub sides: Vec<Side>,
    /// The binary that is measured, and whose lab measures.
    pub sarsen: PathBuf,
    /// Where `peers/setup.sh` puts what it builds.
    pub peers: PathBuf,
    /// A folder for data; what is in it is deleted.
    pub folder: PathBuf,
    /// The file that keeps every sample of a whole run.
    pub samples: PathBuf,
}

/// Measures, prints the tables to stdout and says whether every run succeeded; progress goes to
/// stderr.
pub fn run(documents: &Documents) -> Result<bool, BenchError> {
    let rows: Vec<Row> = Row::all().filter(|row| row.name().contains(&documents.only)).collect();
    let mut samples = report::Samples::new(documents, rows.clone());
    for round in 0..documents.rounds {
        // Whoever comes first in one round does not in the next.
        let sides = &documents.sides;
        for turn in 0..sides.len() {
            let side = sides[(round + turn) % sides.len()];
            eprintln!("bench: round {} of {}: {}", round + 1, documents.rounds, side.name());
            documents.clear()?;
            documents.measure(side, &rows, &mut samples)?;
        }
    }
    documents.clear()?;
    let is_whole = documents.only.is_empty() && documents.sides == Side::ALL;
    if is_whole && !documents.smoke {
        let path = &documents.samples;
        fs::write(path, samples.csv()).map_err(|e| write_error(path, e))?;
    }
    let text = samples.render();
    io::stdout().write_all(text.as_bytes()).map_err(|e| write_error("stdout", e))?;
    Ok(samples.all_succeeded())
}

impl Documents {
    fn clear(&self) -> Result<(), BenchError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))?;
        }
        fs::create_dir_all(&self.folder).map_err(|e| write_error(&self.folder, e))
    }

    fn keys(&self) -> u64 {
        if self.smoke { SMOKE_KEYS } else { KEYS }
    }

    /// Every row on one side, which runs alone.
    fn measure(
        &self,
        side: Side,
        rows: &[Row],
        samples: &mut report::Samples,
    ) -> Result<(), BenchError> {
        let server = Running::start(side, self)?;
        let filled = fill::fill(&server, self.keys())?;
        let generator = Generator { documents: self, server: &server };
        let target = Target { side, etag: &filled.etag, keys: self.keys() };
        self.warm_up(&generator, &target, rows);
        for row in rows {
            let Some(request) = target.request(row.operation, row.transport) else { continue };
            let measured = match filled.look(&server, row.operation, &request) {
                Ok(()) => generator.measure(*row, &request),
                Err(why) => Measured::failed(why),
            };
            eprintln!("bench:   {}: {measured}", row.name());
            samples.add(*row, side, measured);
        }
        Ok(())
    }

    /// Every operation once over HTTP/1.1, and reads over TLS, so that no side is measured cold: a
    /// virtual machine compiles what it has seen often. What goes wrong will go wrong again, and is
    /// counted then.
    fn warm_up(&self, generator: &Generator, target: &Target, rows: &[Row]) {
        let plain = Operation::ALL.map(|operation| (operation, Transport::Http1));
        let wanted = |operation| rows.iter().any(|row| row.operation == operation);
        let plain = plain.into_iter().filter(|(operation, _)| !self.smoke && wanted(*operation));
        for (operation, transport) in plain.chain([(Operation::Get, Transport::Tls1)]) {
            if let Some(request) = target.request(operation, transport) {
                let _unused = generator.measure(Row { operation, transport }, &request);
            }
        }
    }
}

/// `path` for the document `key`.
fn keys_in(path: &str, key: u64) -> String {
    path.replace("{key}", &key.to_string())
}
