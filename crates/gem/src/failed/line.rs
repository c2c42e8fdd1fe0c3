//! A report as a line of JSON, and back.

use super::{CodeFrame, Kept, Report};
use serde_json::{Map, Value, json};

/// One line, with its end.
pub(crate) fn write(report: &Report) -> String {
    let mut line = json!({
        "id": report.id,
        "time": rfc3339(report.time_ms),
        "method": report.method,
        "path": report.path,
        "handler": report.handler,
        "status": report.status,
        "problem": report.problem,
        "message": report.message,
        "place": report.place,
        "stack": report.stack,
        "causes": report.causes,
        "view": report.view.0,
        "conflicts": report.conflicts,
        "cpu_us": u64::try_from(report.cpu.as_micros()).unwrap_or(u64::MAX),
    });
    if let Some(code) = &report.code {
        line["code_frame"] = code_json(code);
    }
    format!("{line}\n")
}

/// As members of a problem have it, too.
fn code_json(code: &CodeFrame) -> Value {
    json!({
        "first_line": code.first_line,
        "line": code.line,
        "column": code.column,
        "lines": code.lines,
    })
}

impl CodeFrame {
    /// As JSON: the lines, the number of the first, and the place.
    pub fn to_json(&self) -> Value {
        code_json(self)
    }
}

/// What a line holds; `None` if it is none: the last one may be torn.
pub(crate) fn read(line: &[u8]) -> Option<Kept> {
    let Value::Object(members) = serde_json::from_slice(line).ok()? else { return None };
    let id = members.get("id")?.as_str()?.to_owned();
    Some(Kept { id, members })
}

/// The time as RFC 3339 has it, in UTC, with milliseconds.
fn rfc3339(time_ms: u64) -> String {
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    let days = time_ms / 86_400_000 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (ms, s) = (time_ms % 1_000, time_ms / 1_000 % 86_400);
    let (hour, minute, second) = (s / 3_600, s / 60 % 60, s % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

impl Kept {
    /// A member's text; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.members.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A member's number; 0 if there is none.
    pub fn number(&self, name: &str) -> u64 {
        self.members.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// A member's list of texts.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let list = self.members.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The application's text around the place.
    pub fn code(&self) -> Option<CodeFrame> {
        let code: &Map<String, Value> = self.members.get("code_frame")?.as_object()?;
        let number = |name: &str| usize::try_from(code.get(name)?.as_u64()?).ok();
        let lines = code.get("lines")?.as_array()?.iter();
        let lines: Vec<String> = lines.filter_map(Value::as_str).map(str::to_owned).collect();
        let (first_line, line, column) =
            (number("first_line")?, number("line")?, number("column")?);
        // The file is plain text: somebody may have changed it.
        let is_one = !lines.is_empty() && first_line >= 1 && (1..1 << 16).contains(&column);
        is_one.then_some(CodeFrame { first_line, lines, line, column })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repository::CommitNumber;

    #[test]
    fn times() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_827_696_789), "2000-02-29T12:34:56.789Z");
        assert_eq!(rfc3339(1_763_756_399_999), "2025-11-21T20:19:59.999Z");
        assert_eq!(rfc3339(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let code = CodeFrame::around("a\nb \"c\"\n", 2, 3);
        let report = Report {
            id: "x".to_owned(),
            message: "two\nlines \"quoted\"".to_owned(),
            stack: vec!["f (app.js:1:2)".to_owned()],
            code: code.clone(),
            view: CommitNumber(7),
            ..Report::default()
        };
        let line = write(&report);
        assert_eq!(line.matches('\n').count(), 1);
        let kept = read(line.as_bytes()).unwrap();
        assert_eq!((kept.id.as_str(), kept.text("message")), ("x", "two\nlines \"quoted\""));
        assert_eq!((kept.number("view"), kept.texts("stack")), (7, vec!["f (app.js:1:2)"]));
        assert_eq!(kept.code(), code);
        for torn in [&line.as_bytes()[..line.len() / 2], b"", b"{}", b"[1]", b"\xff"] {
            assert!(read(torn).is_none());
        }
    }
}
