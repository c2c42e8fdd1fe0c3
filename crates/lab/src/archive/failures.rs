//! The replies with which operations failed, the first ones of a run: a line of JSON for each.

use super::csv::Growing;
use super::error::ArchiveError;
use super::mask;
use crate::limits::SAMPLES_MAX;
use crate::measure::Sample;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A file of them, which is there from the first one on.
pub(super) struct Failures {
    path: PathBuf,
    names: Vec<String>,
    file: Option<Growing>,
    kept: usize,
}

impl Failures {
    pub(super) fn new(path: PathBuf, names: Vec<String>) -> Self {
        Self { path, names, file: None, kept: 0 }
    }

    /// Adds those of a second, as long as there is room.
    pub(super) fn append(&mut self, second: u64, samples: &[Sample]) -> Result<(), ArchiveError> {
        for sample in samples.iter().take(SAMPLES_MAX.saturating_sub(self.kept)) {
            self.kept += 1;
            let line = format!("{}\n", self.line(second, sample));
            match &mut self.file {
                Some(file) => file.append(line.as_bytes())?,
                none => *none = Some(Growing::create(&self.path, line.as_bytes())?),
            }
        }
        Ok(())
    }

    fn line(&self, second: u64, sample: &Sample) -> Value {
        let fields = String::from_utf8_lossy(&sample.fields);
        let mut value = json!({
            "second": second,
            "operation": self.names.get(sample.operation),
            "reason": sample.reason,
            "status": sample.status,
            "fields": fields.lines().collect::<Vec<_>>(),
            "body": String::from_utf8_lossy(&sample.body),
            "body_bytes": sample.body_bytes,
        });
        mask::json(&mut value);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_kept_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("failures.jsonl");
        let mut failures = Failures::new(path.clone(), vec!["view".into()]);
        failures.append(0, &[]).unwrap();
        assert!(!path.exists());
        let sample = Sample {
            operation: 0,
            reason: "status 500".into(),
            status: 500,
            fields: b"Set-Cookie: s=s3cr3t\r\nServer: x\r\n".to_vec(),
            body: b"oh \xff no".to_vec(),
            body_bytes: 7,
        };
        failures.append(3, &vec![sample; SAMPLES_MAX + 1]).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().count(), SAMPLES_MAX);
        let expected = json!({
            "second": 3,
            "operation": "view",
            "reason": "status 500",
            "status": 500,
            "fields": ["Set-Cookie: ***", "Server: x"],
            "body": "oh \u{fffd} no",
            "body_bytes": 7,
        });
        assert_eq!(text.lines().next(), Some(expected.to_string().as_str()));
    }
}
