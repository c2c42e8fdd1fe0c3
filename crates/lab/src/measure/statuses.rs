//! Replies by status.

/// Replies by exact status.
#[derive(Clone, Debug)]
pub struct Statuses {
    /// From status [`Statuses::LOWEST`] on.
    counts: Box<[u64; 400]>,
}

impl Statuses {
    const LOWEST: u16 = 200;

    pub(crate) fn new() -> Self {
        Self { counts: Box::new([0; 400]) }
    }

    /// How many replies had a status.
    pub fn count(&self, status: u16) -> u64 {
        let place = usize::from(status).checked_sub(usize::from(Self::LOWEST));
        place.and_then(|place| self.counts.get(place)).copied().unwrap_or(0)
    }

    /// The statuses that occurred and how often, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        let counted = (Self::LOWEST..).zip(self.counts.iter().copied());
        counted.filter(|(_, count)| *count > 0)
    }

    pub(crate) fn add(&mut self, status: u16) {
        let place = usize::from(status).checked_sub(usize::from(Self::LOWEST));
        if let Some(count) = place.and_then(|place| self.counts.get_mut(place)) {
            *count += 1;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
    }
}
