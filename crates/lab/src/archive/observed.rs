//! The series of what is observed beside the load: a table for each process, endpoint and host.

use super::csv::{Growing, Rows};
use super::error::ArchiveError;
use super::histograms::tags;
use crate::measure::{Row, SeriesHead};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Series whose file is called as they are; before the names of others stands `server-`.
const OWN: [&str; 3] = ["generator", "host", "server"];

/// The tables of a run, each there from its first row on.
pub(super) struct Observed {
    folder: PathBuf,
    tables: BTreeMap<String, Growing>,
}

impl Observed {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), tables: BTreeMap::new() }
    }

    /// Adds a row.
    pub(super) fn append(&mut self, head: &SeriesHead, row: &Row) -> Result<(), ArchiveError> {
        let mut rows = Rows::default();
        rows.count(row.second);
        for value in &row.values {
            rows.number(*value);
        }
        rows.end();
        match self.tables.get_mut(&head.name) {
            Some(table) => table.append(&rows.into_bytes()),
            None => {
                let mut table = Growing::create(&self.free_path(&head.name), &head_of(head))?;
                table.append(&rows.into_bytes())?;
                self.tables.insert(head.name.clone(), table);
                Ok(())
            }
        }
    }

    /// The file of a series: no two have the same, whatever is in their names.
    fn free_path(&self, name: &str) -> PathBuf {
        let plain: String = tags([name].into_iter()).concat().replace('/', "_");
        let prefix = if OWN.contains(&name) { "" } else { "server-" };
        let numbered = (2..).map(|number| format!("{prefix}{plain}-{number}.csv"));
        let mut names = std::iter::once(format!("{prefix}{plain}.csv")).chain(numbered);
        let free =
            names.find_map(|name| Some(self.folder.join(name)).filter(|path| !path.exists()));
        free.expect("there are more numbers than files")
    }
}

/// The names of the columns.
fn head_of(head: &SeriesHead) -> Vec<u8> {
    let mut rows = Rows::default();
    rows.text("second");
    for column in &head.columns {
        rows.text(&column.title());
    }
    rows.end();
    rows.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Column;

    #[test]
    fn each_series_has_a_table_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut observed = Observed::new(folder.path());
        let column = |name: &str, unit| Column { name: name.to_owned(), unit };
        let head = |name: &str| SeriesHead {
            name: name.to_owned(),
            columns: vec![column("rss", "bytes"), column("a,b", "")],
        };
        let row = |second, value| Row { second, values: vec![Some(value), None] };
        for name in ["host", "a b", "a_b", "../x"] {
            observed.append(&head(name), &row(1, 0.5)).unwrap();
        }
        observed.append(&head("host"), &row(3, 7.0)).unwrap();
        let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(text("host.csv"), "second,rss_bytes,\"a,b\"\n1,0.5,\n3,7,\n");
        for name in ["server-a_b.csv", "server-a_b-2.csv", "server-.._x.csv"] {
            assert_eq!(text(name), "second,rss_bytes,\"a,b\"\n1,0.5,\n", "{name}");
        }
    }
}
