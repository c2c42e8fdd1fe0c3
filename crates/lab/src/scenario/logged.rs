//! Steps that send what an access log has: the request of the arrival, by its method and its path.

use super::access_log::{AccessLog, Kind};
use super::http;
use super::mistakes::Book;
use super::operations::Around;
use super::replies;
use super::section::Section;
use crate::limits::REDIRECTS_MAX;
use crate::plan::{Check, DataFile, HttpStep, Order, Piece, Step, Template, Turn};
use std::ops::Range;
use std::sync::Arc;

/// The name of its data file, by which templates may name its columns.
const NAME: &str = "log";

/// The column of the path.
const PATH: usize = 1;

/// The log among the plan's data files.
pub(super) struct Logged {
    file: usize,
    kinds: Vec<Kind>,
}

impl Logged {
    /// Puts a log among the data files.
    pub(super) fn add(
        log: AccessLog,
        data: &mut Vec<DataFile>,
        (book, span): (&Book<'_>, &Range<usize>),
    ) -> Option<Self> {
        if data.iter().any(|file| file.name == NAME) {
            book.wrong(
                span,
                format!("`data.{NAME}` is the log that is replayed; name it otherwise"),
            );
            return None;
        }
        data.push(DataFile { name: NAME.to_owned(), rows: Arc::new(log.rows), order: Order::Next });
        Some(Self { file: data.len() - 1, kinds: log.kinds })
    }
}

pub(super) fn is_step(section: &Section<'_>) -> bool {
    !section.which(&["logged"]).is_empty()
}

/// `logged = true`, with what all requests of the log have in common.
pub(super) fn read(section: &Section<'_>, around: &Around<'_>) -> Option<Step> {
    let value = section.get("logged")?;
    let server = around.servers.of(section.get("server").as_ref());
    let headers = http::fields(section, around);
    let redirects = section.whole("redirects", 0..=u64::from(REDIRECTS_MAX)).unwrap_or(0);
    let checks = replies::checks(section, around);
    let extract = replies::extracts(section, around);
    if !value.truth()? {
        value.expected("true, or no such step");
    }
    let Some(logged) = around.logged else {
        if !around.has_load {
            return None;
        }
        value.wrong("there is no log; expected one like [load] replay = { log = \"access.log\" }");
        return None;
    };
    let (origin, prefix) = server?;
    let headers = headers?;
    let request = |kind: &Kind| {
        let path = Template { pieces: vec![Piece::Data { file: logged.file, column: PATH }] };
        let path = if prefix.is_empty() { path } else { path.after(&prefix) };
        let mut checks = checks.clone();
        let says_status = checks.iter().any(|check| matches!(check, Check::Status(_)));
        if kind.has_failed && !says_status {
            // What was refused then may be refused now.
            checks.push(Check::Status((200..500).collect()));
        }
        HttpStep {
            origin,
            headers: headers.clone(),
            redirects: redirects as u32,
            checks,
            extract: extract.clone(),
            ..HttpStep::new(&kind.method, path)
        }
    };
    let requests = logged.kinds.iter().map(request).collect();
    Some(Step::OneOf(requests, Turn::OfRow(logged.file)))
}
