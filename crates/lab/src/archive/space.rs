//! Whether the disk has room for a run.

use super::error::{ArchiveError, reading};
use crate::limits::{RUN_FREE_BYTES_MIN, RUN_SECOND_BYTES, RUN_SECOND_OPERATION_BYTES};
use crate::plan::Plan;
use std::path::Path;

/// Refuses a run that the disk of `folder` may have no room for.
pub(super) fn check(folder: &Path, plan: &Plan) -> Result<(), ArchiveError> {
    let disk = rustix::fs::statvfs(folder).map_err(|error| reading(folder)(error.into()))?;
    let free_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
    let needed_bytes = needed(plan);
    if free_bytes < needed_bytes {
        return Err(ArchiveError::Full { folder: folder.to_owned(), free_bytes, needed_bytes });
    }
    Ok(())
}

/// What a run may need, with room to spare.
fn needed(plan: &Plan) -> u64 {
    let seconds = plan.phases.total().as_secs() + plan.drain.as_secs();
    let second = RUN_SECOND_BYTES + RUN_SECOND_OPERATION_BYTES * plan.operations.len() as u64;
    RUN_FREE_BYTES_MIN + seconds * second
}
