//! When an item is gone.

/// A second from which on an item is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expires(pub(crate) u32);

impl Expires {
    /// It stays until it is thrown out.
    pub const NEVER: Self = Self(0);
    /// It is gone at once.
    pub const PAST: Self = Self(1);

    /// At a time in seconds since 1970. What is too far away to be told stays.
    pub fn at(unix_seconds: i64) -> Self {
        match unix_seconds {
            ..=0 => Self::PAST,
            _ => u32::try_from(unix_seconds).map_or(Self::NEVER, Self),
        }
    }

    /// That many seconds after another time.
    pub fn after(now: u32, seconds: u32) -> Self {
        now.checked_add(seconds).map_or(Self::NEVER, |time| Self(time.max(1)))
    }

    /// The second, since 1970; none if never.
    pub fn second(self) -> Option<u32> {
        (self.0 != 0).then_some(self.0)
    }

    pub(crate) fn is_past(self, now: u32) -> bool {
        self.0 != 0 && self.0 <= now
    }
}
