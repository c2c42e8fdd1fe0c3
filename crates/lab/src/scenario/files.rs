//! Files that a scenario names: bodies, stages, recorded arrivals. They are read once, before the
//! run, from the scenario's folder.

use super::access_log::AccessLog;
use super::section::Value;
use crate::limits::{
    DURATION_MAX, REQUEST_BODY_BYTES_MAX, SCENARIO_ARRIVALS_MAX, SCENARIO_FILE_BYTES_MAX,
};
use crate::plan::Stage;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files of one scenario.
pub(super) struct Files<'a> {
    /// Where relative names begin; none: the scenario is inside the program and has no files.
    folder: Option<&'a Path>,
    read: RefCell<Vec<PathBuf>>,
}

impl<'a> Files<'a> {
    pub(super) fn new(folder: Option<&'a Path>) -> Self {
        Self { folder, read: RefCell::default() }
    }

    /// Every file that was read.
    pub(super) fn into_read(self) -> Vec<PathBuf> {
        let mut read = self.read.into_inner();
        read.sort();
        read.dedup();
        read
    }

    /// The content of the file that `value` names.
    pub(super) fn bytes(&self, value: &Value<'_>, most: usize) -> Option<Vec<u8>> {
        let name = value.text()?;
        let Some(folder) = self.folder else {
            value.wrong("a scenario that ships has no files");
            return None;
        };
        let path = folder.join(name);
        match read(&path, most) {
            Ok(bytes) => {
                self.read.borrow_mut().push(path);
                Some(bytes)
            }
            Err(why) => {
                value.wrong(format_args!("cannot read {}: {why}", path.display()));
                None
            }
        }
    }

    /// The requests of an access log.
    pub(super) fn log(&self, value: &Value<'_>, methods: &[String]) -> Option<AccessLog> {
        let name = value.text()?;
        let Some(folder) = self.folder else {
            value.wrong("a scenario that ships has no files");
            return None;
        };
        let path = folder.join(name);
        let file = File::open(&path).map_err(|error| error.to_string());
        match file.and_then(|file| AccessLog::read(BufReader::new(file), methods)) {
            Ok(log) => {
                self.read.borrow_mut().push(path);
                Some(log)
            }
            Err(why) => {
                value.wrong(format_args!("cannot replay {}: {why}", path.display()));
                None
            }
        }
    }

    /// A file that others read.
    pub(super) fn path(&self, value: &Value<'_>) -> Option<PathBuf> {
        let name = value.text()?;
        let path = self.folder.unwrap_or(Path::new("")).join(name);
        if !path.is_file() {
            value.wrong(format_args!("there is no file {}", path.display()));
            return None;
        }
        self.read.borrow_mut().push(path.clone());
        Some(path)
    }

    /// A body as it is sent.
    pub(super) fn body(&self, value: &Value<'_>) -> Option<Vec<u8>> {
        self.bytes(value, REQUEST_BODY_BYTES_MAX)
    }

    /// Lines `SECONDS LEVEL` or `SECONDS FROM TO`.
    pub(super) fn stages(&self, value: &Value<'_>, most: f64) -> Option<Vec<Stage>> {
        self.lines(
            value,
            |numbers| {
                let is_level = |level: f64| (0.0..=most).contains(&level);
                let (seconds, from, to) = match *numbers {
                    [seconds, level] => (seconds, level, level),
                    [seconds, from, to] => (seconds, from, to),
                    _ => return None,
                };
                let duration = Duration::try_from_secs_f64(seconds).ok()?;
                let fits = !duration.is_zero() && duration <= DURATION_MAX;
                (fits && is_level(from) && is_level(to)).then_some(Stage { from, to, duration })
            },
            format!("SECONDS LEVEL or SECONDS FROM TO, levels from 0 to {most}"),
        )
    }

    /// The times of a recording, one at the begin of each line: seconds, or the time stamps of an
    /// access log. The first is time 0; `speed` 2 replays in half the time.
    pub(super) fn offsets(&self, value: &Value<'_>, speed: f64) -> Option<Vec<Duration>> {
        let bytes = self.bytes(value, SCENARIO_FILE_BYTES_MAX)?;
        let times = super::replay::times(&bytes).and_then(|times| match times.len() {
            0 => Err("it has no times".to_owned()),
            1..=SCENARIO_ARRIVALS_MAX => Ok(times),
            got => Err(format!("it has {got} times; at most {SCENARIO_ARRIVALS_MAX}")),
        });
        let offsets = times.and_then(|times| super::replay::offsets(&times, speed));
        match offsets {
            Ok(offsets) => Some(offsets),
            Err(why) => {
                value.wrong(why);
                None
            }
        }
    }

    /// What `parse` makes of the numbers of each line.
    fn lines<T>(
        &self,
        value: &Value<'_>,
        parse: impl Fn(&[f64]) -> Option<T>,
        expected: String,
    ) -> Option<Vec<T>> {
        let bytes = self.bytes(value, SCENARIO_FILE_BYTES_MAX)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut read = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let plain = line.split('#').next().unwrap_or_default();
            let words = plain.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty());
            let numbers: Result<Vec<f64>, _> = words.map(str::parse).collect();
            match numbers {
                Ok(numbers) if numbers.is_empty() => {}
                Ok(numbers) => match parse(&numbers) {
                    Some(item) => read.push(item),
                    None => return self.refuse(value, i, line, &expected),
                },
                // Names of columns.
                Err(_) if read.is_empty() && i == 0 => {}
                Err(_) => return self.refuse(value, i, line, &expected),
            }
        }
        Some(read)
    }

    fn refuse<T>(&self, value: &Value<'_>, i: usize, line: &str, expected: &str) -> Option<T> {
        let shown: String = line.chars().take(60).collect();
        value.wrong(format_args!("line {} of it: expected {expected}; got \"{shown}\"", i + 1));
        None
    }
}

fn read(path: &Path, most: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() > most {
        true => Err(format!("it has more than {most} bytes")),
        false => Ok(bytes),
    }
}
