//! The number of requests a run may send, shared by its threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// Requests that may still be sent.
pub(crate) struct Budget {
    left: AtomicU64,
}

impl Budget {
    pub(crate) fn new(requests: u64) -> Self {
        Self { left: AtomicU64::new(requests) }
    }

    /// Takes one; false if there is none left.
    pub(crate) fn take(&self) -> bool {
        let take = |left: u64| left.checked_sub(1);
        // Relaxed: the number alone is shared, no other memory hangs on it.
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_out_exactly_what_it_has() {
        let budget = Budget::new(1000);
        let taken = || (0..700).filter(|_| budget.take()).count();
        let total: usize = std::thread::scope(|scope| {
            let threads = [scope.spawn(taken), scope.spawn(taken)];
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(total, 1000);
        assert!(!budget.take());
    }
}
