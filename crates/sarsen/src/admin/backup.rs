//! A backup, as a command asks a server for it; the same is done where no server runs.

use crate::backup::Pace;
use repository::{
    Added, BackupError, BackupKind, BackupOptions, BackupReport, Progress, Repository,
};
use serde_json::{Value, json};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// What is asked for.
#[derive(Debug)]
pub struct BackupRequest {
    /// The folder of backups, in full; `None`: a stream of tar.
    pub to: Option<PathBuf>,
    /// What kind, and what is kept.
    pub options: BackupOptions,
    /// Bytes a second at most.
    pub rate: Option<u64>,
}

impl BackupRequest {
    /// As the socket has it.
    pub fn to_json(&self) -> Value {
        let kind = match self.options.kind {
            BackupKind::Automatic => "automatic",
            BackupKind::Full => "full",
            BackupKind::Commits => "commits",
        };
        // A path that is no UTF-8 is refused by the server that it is not found by.
        let to = self.to.as_ref().map(|to| to.to_string_lossy());
        json!({ "to": to, "kind": kind, "keep": self.options.keep, "rate": self.rate })
    }

    /// Reads what `to_json` gave; `None`: it is none.
    pub fn from_json(arguments: &Value) -> Option<Self> {
        let kind = match arguments["kind"].as_str()? {
            "automatic" => BackupKind::Automatic,
            "full" => BackupKind::Full,
            "commits" => BackupKind::Commits,
            _ => return None,
        };
        let to = arguments["to"].as_str().map(PathBuf::from);
        let keep = arguments["keep"].as_u64().and_then(|keep| usize::try_from(keep).ok());
        let rate = arguments["rate"].as_u64();
        let is_absolute = to.as_ref().is_none_or(|to| to.is_absolute());
        is_absolute.then_some(Self { to, options: BackupOptions { kind, keep }, rate })
    }

    /// Makes the backup, into its folder or `stream`.
    pub fn perform(
        &self,
        repository: &Repository,
        stream: Option<&mut dyn Write>,
        tell: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Value, BackupError> {
        let pace = Pace::new(self.rate);
        let tell = &mut |progress: &Progress| {
            pace.wait(progress.bytes);
            tell(progress)
        };
        let report = match (&self.to, stream) {
            (Some(to), _) => repository.back_up(to, &self.options, tell)?,
            (None, Some(stream)) => repository.back_up_to_tar(stream, tell)?,
            (None, None) => repository.back_up_to_tar(&mut std::io::sink(), tell)?,
        };
        Ok(result(&report))
    }
}

fn result(report: &BackupReport) -> Value {
    let added = match report.added {
        Added::Nothing => "nothing",
        Added::Full => "full",
        Added::Commits => "commits",
    };
    json!({
        "added": added,
        "set": report.set,
        "commit": report.commit.0,
        "time": report.time.rfc3339(),
        "items": report.items,
        "bytes": report.bytes,
        "blobs": report.blobs,
        "blob_bytes": report.blob_bytes,
        "cleaned": report.cleaned,
        "removed": report.removed,
    })
}

/// How far it is, as the socket has it.
pub fn progress(progress: &Progress) -> Value {
    let Progress { items, bytes, bytes_expected } = *progress;
    json!({ "items": items, "bytes": bytes, "bytes_expected": bytes_expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_back() {
        let options = BackupOptions { kind: BackupKind::Commits, keep: Some(2) };
        let request = BackupRequest { to: Some("/b".into()), options, rate: Some(7) };
        let again = BackupRequest::from_json(&request.to_json()).expect("a request");
        assert_eq!(again.to_json(), request.to_json());
        for wrong in [json!({}), json!({ "kind": "half" }), json!({ "kind": "full", "to": "b" })] {
            assert!(BackupRequest::from_json(&wrong).is_none(), "{wrong}");
        }
    }
}
