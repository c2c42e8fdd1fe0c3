//! Ranges of keys and the direction in which they are read.

/// The order in which a range is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key on.
    #[default]
    Ascending,
    /// From the largest key on.
    Descending,
}
