//! The promises of an engine that are rejected and that nothing handles (so far). Only the first is
//! described and kept: however many an application makes, they cost no memory outside its heap.

use crate::thrown::Thrown;
use rquickjs::{Ctx, Persistent, Runtime, Value};
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Default)]
struct Unhandled {
    first: Option<(Persistent<Value<'static>>, Thrown)>,
    others: usize,
}

/// What the engine's tracker noted. It must be dropped before the runtime: the tracker shares what
/// it holds, and would outlive the values in it.
pub(crate) struct Rejections(Rc<RefCell<Unhandled>>);

impl Rejections {
    /// Starts to note rejections.
    pub(crate) fn track(runtime: &Runtime) -> Self {
        let unhandled = Rc::<RefCell<Unhandled>>::default();
        let noted = unhandled.clone();
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                if is_handled {
                    unnote(&noted, &Persistent::save(&ctx, promise));
                } else {
                    note(&noted, &ctx, promise, &reason);
                }
            },
        )));
        Self(unhandled)
    }

    /// What one of them was rejected with, if there are any; forgets them all.
    pub(crate) fn take(&self) -> Option<Thrown> {
        let Unhandled { first, others } = self.0.take();
        let unknown = || Thrown::text("what it was rejected with is not known any more");
        match first {
            Some((_, thrown)) => Some(thrown),
            None => (others > 0).then(unknown),
        }
    }
}

impl Drop for Rejections {
    fn drop(&mut self) {
        self.0.take();
    }
}

fn note<'js>(
    unhandled: &RefCell<Unhandled>,
    ctx: &Ctx<'js>,
    promise: Value<'js>,
    reason: &Value<'js>,
) {
    if unhandled.borrow().first.is_some() {
        unhandled.borrow_mut().others += 1;
        return;
    }
    // The reason may be asked for its text, and that may reject and handle promises itself.
    let first = (Persistent::save(ctx, promise), Thrown::of(ctx, reason));
    let mut unhandled = unhandled.borrow_mut();
    if unhandled.first.is_none() {
        unhandled.first = Some(first);
    } else {
        unhandled.others += 1;
    }
}

fn unnote(unhandled: &RefCell<Unhandled>, promise: &Persistent<Value<'static>>) {
    let mut unhandled = unhandled.borrow_mut();
    match &unhandled.first {
        Some((first, _)) if first == promise => unhandled.first = None,
        _ => unhandled.others = unhandled.others.saturating_sub(1),
    }
}
