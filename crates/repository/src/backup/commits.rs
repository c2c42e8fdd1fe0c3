//! Adding the commits since the last set, as the log still has them.

use super::blobs::{Shelf, named_by_record};
use super::errors::BackupError;
use super::file::{Header, Kind};
use super::make;
use super::manifest::{Manifest, SetKind};
use super::place::{Place, Sets};
use super::set::{IntoFolder, Report, SetWriter};
use super::{Added, BackupReport};
use crate::document::CommitNumber;
use crate::errors::LogError;
use crate::repository::Repository;
use crate::tranlog::Hold;
use std::time::Duration;

/// How long the log is waited for that is written, but not yet synced.
const LOG_WAIT: Duration = Duration::from_secs(1);

/// Adds the commits after the last set to `place`.
pub(super) fn add(
    repository: &Repository,
    (place, shelf): (&Place, &Shelf),
    sets: &Sets,
    report: Report<'_>,
) -> Result<BackupReport, BackupError> {
    let Some(last) = sets.whole.last() else {
        return Err(BackupError::NothingBefore(place.path.clone()));
    };
    // From here on no blob goes that the commits name, and so none that is named at the last.
    let hold = Hold { after: last.to, bytes_max: u64::MAX };
    let _held = repository.hold_log(hold);
    // What is visible now is what whoever asks expects to be in it.
    let to = repository.store.views.visible();
    match repository.store.tranlog.wait_synced(to) {
        Ok(true) => {}
        Ok(false) => return Err(BackupError::Log("there is no room for the log".to_owned())),
        Err(poisoned) => return Err(BackupError::Log(poisoned.to_string())),
    }
    make::check_ahead(sets, to)?;
    if last.to >= to {
        return Ok(BackupReport::of(last, Added::Nothing));
    }
    let manifest = Manifest {
        kind: SetKind::Log,
        repository: repository.store.id,
        after: last.to,
        to,
        time: last.time,
        made: (repository.store.clock)(),
        items: 0,
        files: Vec::new(),
        blobs: 0,
        blob_bytes: 0,
    };
    // Looked at before anything is written: where the log has a gap, nothing is left behind.
    let mut log = repository.log(last.to);
    let first = log.take().map_err(|error| log_error(error, last.to))?;
    let target = Box::new(IntoFolder::new((place, shelf), &manifest.folder())?);
    let header = Header {
        kind: Kind::Records,
        repository: manifest.repository,
        commit: last.to,
        time: last.time,
        place: 0,
    };
    let mut set = SetWriter::new(target, header, 0, report);
    let mut time = last.time;
    let mut records = first;
    loop {
        for record in records.iter().filter(|record| record.number <= to) {
            time = time.max(record.time().unwrap_or_default());
            set.record(record.number, &record.record)?;
            for named in named_by_record(&record.record) {
                let taken = set.named_blob(repository, shelf, named.blob);
                taken.map_err(|error| make::copy_error(named.document, error))?;
            }
        }
        if log.position() >= to {
            break;
        }
        records = log.next(LOG_WAIT).map_err(|error| log_error(error, last.to))?;
    }
    let manifest = set.finish(Manifest { time, ..manifest })?;
    Ok(BackupReport::of(&manifest, Added::Commits))
}

fn log_error(error: LogError, after: CommitNumber) -> BackupError {
    match error {
        LogError::Gone { after: oldest } => BackupError::LogGone { first: after.next(), oldest },
        other => BackupError::Log(other.to_string()),
    }
}
