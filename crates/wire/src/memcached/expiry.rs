//! When an item expires.

use crate::limits::RELATIVE_EXPTIME_MAX;

/// What the number in a command means ("Expiration times" in protocol.txt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// It does not.
    Never,
    /// It has already.
    Past,
    /// In so many seconds.
    After(u32),
    /// At this time, in seconds since 1970.
    At(i64),
}

impl Expiry {
    /// Of the number in a command.
    pub fn new(exptime: i64) -> Self {
        match exptime {
            0 => Self::Never,
            ..0 => Self::Past,
            1..=RELATIVE_EXPTIME_MAX => Self::After(exptime as u32),
            _ => Self::At(exptime),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_days_is_the_border() {
        assert_eq!(Expiry::new(0), Expiry::Never);
        assert_eq!(Expiry::new(-1), Expiry::Past);
        assert_eq!(Expiry::new(2_592_000), Expiry::After(2_592_000));
        assert_eq!(Expiry::new(2_592_001), Expiry::At(2_592_001));
    }
}
