//! Outstanding transactions: a client with room for so many sends another only when the reply to
//! one has come, and a reply leaves only when what it says is durable.

use repository::{CommitNumber, Repository};
use std::collections::VecDeque;

/// Replies that wait for the disk. A client's numbers never fall, so the oldest is free first.
pub struct Window<'a> {
    repository: &'a Repository,
    waiting: VecDeque<CommitNumber>,
    size: usize,
}

impl<'a> Window<'a> {
    pub fn new(repository: &'a Repository, size: usize) -> Self {
        Self { repository, waiting: VecDeque::with_capacity(size), size }
    }

    /// Takes in a reply that may leave when `number` is durable, and comes back once there is room
    /// for another transaction.
    pub fn admit(&mut self, number: CommitNumber) {
        self.waiting.push_back(number);
        self.release();
        if self.waiting.len() == self.size {
            self.repository.wait_durable(self.waiting[0]).unwrap();
            self.release();
        }
    }

    /// Waits for all.
    pub fn drain(&mut self) {
        if let Some(last) = self.waiting.pop_back() {
            self.repository.wait_durable(last).unwrap();
        }
        self.waiting.clear();
    }

    fn release(&mut self) {
        let durable = self.repository.durable().unwrap();
        while self.waiting.front().is_some_and(|number| *number <= durable) {
            self.waiting.pop_front();
        }
    }
}
