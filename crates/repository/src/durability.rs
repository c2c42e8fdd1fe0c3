//! How much a reply promises: the durability of a collection, and of a commit.

/// What has happened to a commit when its reply leaves. A commit that writes to several
/// collections has the strongest of theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Never logged: gone when the repository is opened again.
    Volatile,
    /// Handed to the operating system, and synced within a second: survives the death of the
    /// process, and but for the last second the loss of power.
    Written,
    /// On disk.
    #[default]
    Synced,
}
