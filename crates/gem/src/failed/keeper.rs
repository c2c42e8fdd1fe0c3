//! Completes a failure with what only the worker knows, and keeps it.

use super::{ErrorLog, Report};
use crate::errors::Failure;
use crate::sources::Sources;

/// What it needs.
pub(crate) struct Keeper<'a> {
    pub(crate) errors: Option<&'a ErrorLog>,
    /// Of the application that failed.
    pub(crate) sources: &'a Sources,
}

impl Keeper<'_> {
    /// Names a failure, and keeps what is known of it: `know` adds to that.
    pub(crate) fn keep(&self, mut failure: Failure, know: impl FnOnce(&mut Report)) -> Failure {
        let ((status, problem), view) = (failure.kind.problem(), failure.wait_for());
        let Some(report) = failure.report_mut() else { return failure };
        let code = report.place.as_deref().and_then(|place| self.sources.code(place));
        let known = std::mem::take(report);
        *report = Report { status, problem, view, code, ..known };
        know(report);
        report.name();
        if let Some(errors) = self.errors {
            errors.keep(report);
        }
        failure
    }
}
