//! A storage engine that was not made yet: the power went before the first opening had come to it.
//! It holds nothing, and opening the folder would make it, which checking it must not.

use crate::at_rest::{AtRest, EngineError, EngineState, Ingest, KeyBounds, StateRow};
use crate::at_rest::{VisitKey, VisitRow};
use crate::document::{CommitNumber, Document};
use crate::errors::ReadError;
use crate::range::Direction;
use std::sync::Arc;

/// See the module.
pub(super) struct Unmade;

impl AtRest for Unmade {
    fn state(&self, commit: CommitNumber) -> EngineState {
        EngineState { commit, sequence: 0 }
    }

    fn state_row(&self) -> Result<StateRow, ReadError> {
        Ok(StateRow::default())
    }

    fn get(&self, _: EngineState, _: u32, _: &str) -> Result<Option<Arc<Document>>, ReadError> {
        Ok(None)
    }

    fn scan(&self, _: EngineState, _: VisitRow<'_>) -> Result<(), ReadError> {
        Ok(())
    }

    fn range(
        &self,
        _: EngineState,
        _: u32,
        _: KeyBounds<'_>,
        _: Direction,
        _: VisitKey<'_>,
    ) -> Result<(), ReadError> {
        Ok(())
    }

    fn ingest(&self, _: StateRow) -> Result<Box<dyn Ingest + '_>, EngineError> {
        Err(EngineError("it is only looked at".to_owned()))
    }

    fn compact(&self, _: EngineState, _: bool) -> Result<bool, EngineError> {
        Ok(false)
    }

    fn release(&self, _: EngineState) -> Result<(), EngineError> {
        Ok(())
    }

    fn disk_bytes(&self) -> u64 {
        0
    }

    fn rows(&self) -> u64 {
        0
    }

    fn check_files(&self) -> Vec<String> {
        Vec::new()
    }
}
