//! Scenario files: what a good one comes to, and what is said of a bad one.

#![allow(clippy::unwrap_used, reason = "tests")]

mod limits;
mod mistakes;
mod plans;
mod shipped;

use lab::scenario::{Mistakes, Overrides, Scenario, Source};

/// Reads a text as if it were the file `test.toml`.
fn read(text: &str) -> Result<Scenario, Mistakes> {
    read_with(text, &Overrides::default())
}

fn read_with(text: &str, overrides: &Overrides) -> Result<Scenario, Mistakes> {
    Scenario::read(Source { name: "test.toml", text, folder: None }, overrides)
}

/// A scenario with `rest` after its servers, its load and one operation.
fn with(rest: &str) -> String {
    format!(
        "[servers]\nweb = \"http://127.0.0.1:1\"\n[load]\nusers = 2\n[operation.home]\nget = \
         \"/\"\n{rest}"
    )
}
