//! `--data DIR`, as the commands have it that work on a repository.

use super::flag::{Flag, Takes};
use super::value;
use std::path::PathBuf;

/// Arguments with a data folder.
pub trait InFolder {
    /// That folder.
    fn data(&mut self) -> &mut PathBuf;
}

/// The flag, with its line for the help.
pub const fn flag<A: InFolder>(about: &'static str) -> Flag<A> {
    let takes = Takes::Value("DIR", |arguments: &mut A, folder| {
        *arguments.data() = value::folder(folder)?;
        Ok(())
    });
    Flag { long: "data", short: None, takes, about }
}
