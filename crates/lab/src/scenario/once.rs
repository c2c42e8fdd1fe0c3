//! Steps that are another operation, gone through once by each user.

use super::operations::Around;
use super::section::Value;
use super::template::Event;
use std::cell::{Cell, RefCell};

/// What operations do once, in the order of the file.
#[derive(Default)]
pub(super) struct Uses {
    /// The operation that is read.
    current: Cell<usize>,
    all: RefCell<Vec<Use>>,
}

#[derive(Clone, Copy)]
struct Use {
    /// In which operation.
    by: usize,
    /// After how much of what that does with variables.
    at: usize,
    operation: usize,
}

impl Uses {
    /// Another operation is read.
    pub(super) fn begin(&self, operation: usize) {
        self.current.set(operation);
    }

    /// The operations that are done once; they have no share in the mix.
    pub(super) fn operations(&self) -> impl Iterator<Item = usize> {
        let all: Vec<usize> = self.all.borrow().iter().map(|one| one.operation).collect();
        all.into_iter()
    }

    /// Adds what they extract to what the operations do that they are part of.
    pub(super) fn insert(&self, trails: &mut [Vec<Event>]) {
        let own = trails.to_vec();
        // From the last on, so that the places of those before stay right.
        for one in self.all.borrow().iter().rev() {
            let trail = &mut trails[one.by];
            let at = one.at.min(trail.len());
            let set = own[one.operation].iter().filter(|event| event.is_set).cloned();
            trail.splice(at..at, set);
        }
    }
}

/// The operation that `once` names.
pub(super) fn read(value: &Value<'_>, around: &Around<'_>) -> Option<usize> {
    let operation = around.names?.of(value)?;
    let (by, at) = (around.once.current.get(), around.scope.trail_len());
    around.once.all.borrow_mut().push(Use { by, at, operation });
    Some(operation)
}
