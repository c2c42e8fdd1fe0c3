//! The TLS handshakes of a reactor that are under way. One more than there may be ends the one that
//! has taken longest. If newcomers waited for a turn instead, clients that begin handshakes and
//! never end them could keep everybody else out.

use crate::limits;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::sync::Notify;

/// See the module.
#[derive(Default)]
pub(crate) struct Handshakes {
    /// In the order in which they began.
    under_way: RefCell<BTreeMap<u64, Rc<Notify>>>,
    next_id: Cell<u64>,
}

/// One of them, until it is dropped.
pub(crate) struct UnderWay<'a> {
    all: &'a Handshakes,
    id: u64,
    displaced: Rc<Notify>,
}

impl Handshakes {
    pub(crate) fn begin(&self) -> UnderWay<'_> {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        let displaced = Rc::new(Notify::new());
        let mut under_way = self.under_way.borrow_mut();
        if under_way.len() >= limits::HANDSHAKES_MAX
            && let Some((_, oldest)) = under_way.pop_first()
        {
            oldest.notify_one();
        }
        under_way.insert(id, Rc::clone(&displaced));
        UnderWay { all: self, id, displaced }
    }
}

impl UnderWay<'_> {
    /// Waits until it has to make room.
    pub(crate) async fn displaced(&self) {
        self.displaced.notified().await;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.all.under_way.borrow_mut().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    fn is_displaced(one: &UnderWay<'_>) -> bool {
        pin!(one.displaced()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn one_too_many_displaces_the_one_that_has_taken_longest() {
        let all = Handshakes::default();
        let mut begun: Vec<_> = (0..limits::HANDSHAKES_MAX).map(|_| all.begin()).collect();
        assert!(!begun.iter().any(is_displaced));
        // One that ends makes room.
        begun.pop();
        begun.push(all.begin());
        assert!(!begun.iter().any(is_displaced));
        begun.push(all.begin());
        assert!(is_displaced(&begun[0]) && !begun[1..].iter().any(is_displaced));
        assert_eq!(all.under_way.borrow().len(), limits::HANDSHAKES_MAX);
        begun.clear();
        assert!(all.under_way.borrow().is_empty());
    }
}
