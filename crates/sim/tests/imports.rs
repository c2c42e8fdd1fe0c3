//! Imports on a disk that loses, tears and reorders what was not synced: however often the process
//! or the power goes, what is there is the lines up to where the import says that it is, and at
//! the end every line once.

use repository::exchange::{
    Event, ExistingDocuments, ImportError, ImportOptions, Imported, Plain, import,
};
use repository::parts::{Parts, SegmentSizes, Stepped};
use repository::{CollectionName, Direction, KeyRange, Options, Retention, Timestamp};
use sim::at_rest::Shelf;
use sim::disk::SimDisk;
use sim::random::Random;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

const LINES: u64 = 60;

/// Lines of JSON, of which some are none: a batch ends before each of these.
fn text(random: &mut Random) -> (String, u64) {
    let (mut text, mut bad) = (String::new(), 0);
    for line in 0..LINES {
        if random.percent(20) {
            text.push_str("bad\n");
            bad += 1;
        } else {
            text.push_str(&format!("{{\"id\":\"{line:04}\",\"n\":{line}}}\n"));
        }
    }
    (text, bad)
}

struct Run {
    random: Random,
    disk: SimDisk,
    shelf: Arc<Shelf>,
    text: String,
    options: ImportOptions,
}

impl Run {
    fn new(seed: u64) -> (Self, u64) {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(random.split());
        let shelf = Shelf::new(disk.clone());
        let (text, bad) = text(&mut random);
        let collection = CollectionName::new("notes").expect("a name");
        let options = ImportOptions {
            plain: Some(Plain { collection, key: "/id".to_owned() }),
            // What is there already would be a mistake.
            existing: ExistingDocuments::Fail,
            keep_going: true,
            ..ImportOptions::default()
        };
        (Self { random, disk, shelf, text, options }, bad)
    }

    fn open(&self) -> Option<Stepped> {
        let options = Options {
            folder: Path::new("/data").to_owned(),
            memory_bytes: 64 << 20,
            clock: Arc::new(|| Timestamp(1_000_000)),
        };
        let sizes = SegmentSizes { first_bytes: 4 * 4096, bytes: 8 * 4096 };
        let disk = Arc::new(self.disk.clone());
        let retention = Retention { bytes: 0, hold: None };
        let (at_rest, reserve_bytes) = (self.shelf.open(), repository::limits::RESERVE_BYTES);
        let parts = Parts { disk, at_rest, sizes, retention, reserve_bytes };
        Stepped::open(&options, parts).ok().map(|(stepped, _)| stepped)
    }

    /// Imports, and does meanwhile what threads do.
    fn import(&mut self, stepped: &Stepped) -> Result<Imported, ImportError> {
        let Self { random, text, options, .. } = self;
        let mut from = BufReader::with_capacity(64, text.as_bytes());
        import(stepped.repository(), &mut from, options, &mut |event| {
            if let Event::Progress(_) = event {
                match random.below(6) {
                    0 => drop(stepped.checkpoint()),
                    1 => drop(stepped.compact()),
                    2 => stepped.evict(),
                    3 => drop(stepped.prepare_segment()),
                    4 => drop(stepped.write_frame(true)),
                    _ => {}
                }
            }
            Ok(())
        })
    }
}

/// The lines whose documents are there.
fn found(stepped: &Stepped) -> Vec<u64> {
    let mut transaction = stepped.repository().begin().expect("it is open");
    let name = CollectionName::new("notes").expect("a name");
    let found = transaction.range(&name, &KeyRange::all(), Direction::Ascending, 1_000);
    let found = found.expect("documents");
    found.iter().map(|(key, _)| key.as_str().parse().expect("the number of a line")).collect()
}

/// Gives how often an import went on where another had ended.
fn run(seed: u64) -> u64 {
    let mut resumed = 0;
    let (mut run, bad) = Run::new(seed);
    let good: Vec<u64> = run
        .text
        .lines()
        .zip(0..)
        .filter(|(line, _)| *line != "bad")
        .map(|(_, line)| line)
        .collect();
    let mut was_done = false;
    for attempt in 0.. {
        let is_last = attempt >= 8;
        if is_last {
            run.disk.heal();
        } else {
            let calls = run.random.below(60);
            run.disk.crash_after(calls);
        }
        if let Some(stepped) = run.open() {
            let there = found(&stepped);
            assert_eq!(there, good[..there.len()], "seed {seed}: no line is left out");
            assert!(!was_done || there == good, "seed {seed}: it was durable");
            match run.import(&stepped) {
                Ok(imported) => {
                    was_done = true;
                    resumed += u64::from(imported.resumed_after.is_some());
                    assert_eq!(imported.documents, good.len() as u64, "seed {seed}");
                    assert_eq!((imported.bad, imported.lines), (bad, LINES), "seed {seed}");
                    assert_eq!(found(&stepped), good, "seed {seed}");
                }
                Err(error) => assert!(!is_last, "seed {seed}: {error}"),
            }
        } else {
            assert!(!is_last, "seed {seed}: it does not open");
        }
        if is_last {
            break;
        }
        match run.random.percent(60) {
            true => run.disk.cut_power(),
            false => run.disk.kill(),
        }
    }
    resumed
}

#[test]
fn every_line_is_imported_once_however_often_the_power_goes() {
    let resumed: u64 = (0..300).map(run).sum();
    assert!(resumed > 50, "imports were cut off and gone on with: {resumed}");
}
