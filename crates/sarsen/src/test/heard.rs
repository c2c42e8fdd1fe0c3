//! The log while tests run: kept, and shown for those that fail.

use crate::limits::{TEST_LOG_BYTES_MAX, TEST_LOG_RECORDS_MAX};
use crate::logger;
use log::{LevelFilter, Log, Metadata, Record};
use std::sync::{Mutex, PoisonError};

/// Hears every record from now on, instead of stderr.
pub fn listen() {
    // There is no logger before this in the process that runs tests.
    let _first = log::set_logger(&Hearing);
    log::set_max_level(LevelFilter::Info);
}

/// What was heard since this was last called.
pub fn take() -> Vec<String> {
    std::mem::take(&mut *HEARD.lock().unwrap_or_else(PoisonError::into_inner))
}

static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Hearing;

impl Log for Hearing {
    fn enabled(&self, metadata: &Metadata) -> bool {
        logger::is_logged(metadata, log::max_level())
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let mut heard = HEARD.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.len() == TEST_LOG_RECORDS_MAX {
            heard.push("the rest of the log is left out".to_owned());
        }
        if heard.len() > TEST_LOG_RECORDS_MAX {
            return;
        }
        let mut text = logger::escape(&record.args().to_string()).replace("\\n", "\n");
        text.truncate(text.floor_char_boundary(TEST_LOG_BYTES_MAX));
        heard.push(format!("{:<5} {text}", record.level()));
    }

    fn flush(&self) {}
}
