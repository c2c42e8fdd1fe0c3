//! Replies by status, and the classes that statuses come in.

/// What kind of answer an operation got: the class of the status of its last reply (RFC 9110 §15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusClass {
    /// From 200 on.
    Success,
    /// From 300 on.
    Redirection,
    /// From 400 on.
    ClientError,
    /// From 500 on.
    ServerError,
    /// None: it failed before there was a reply.
    NoReply,
}

impl StatusClass {
    /// Every class, in the order reports have.
    pub const ALL: [Self; 5] =
        [Self::Success, Self::Redirection, Self::ClientError, Self::ServerError, Self::NoReply];

    /// Of an operation with these replies; nothing if it had none and did not fail, as commands to
    /// caches do not.
    pub(crate) fn of(statuses: &[u16], has_failed: bool) -> Option<Self> {
        match statuses.last() {
            Some(200..300) => Some(Self::Success),
            Some(300..400) => Some(Self::Redirection),
            Some(400..500) => Some(Self::ClientError),
            Some(500..) => Some(Self::ServerError),
            Some(_) | None => has_failed.then_some(Self::NoReply),
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "2xx",
            Self::Redirection => "3xx",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
            Self::NoReply => "no_reply",
        }
    }
}

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
