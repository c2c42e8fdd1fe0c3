//! Series: what is read of processes, hosts and endpoints once a second of the run. Beside the
//! figures of the load itself, which are in `interval`.

/// A column of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What it is.
    pub name: String,
    /// What its numbers count; empty for a plain number.
    pub unit: &'static str,
}

impl Column {
    /// Name and unit as the head of a table has them: `rss_bytes`.
    pub fn title(&self) -> String {
        match self.unit {
            "" => self.name.clone(),
            unit => format!("{}_{unit}", self.name),
        }
    }
}

/// What a series is called and which columns it has: the same for each of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesHead {
    /// "host", "generator", "server", or what the plan calls it.
    pub name: String,
    /// In the order of the values.
    pub columns: Vec<Column>,
}

/// What was read in a second.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Of the run's clock: the state at the end of so many seconds. Ascending; one that is missing
    /// is a gap.
    pub second: u64,
    /// One for each column; nothing where it could not be read.
    pub values: Vec<Option<f64>>,
}

/// A whole series in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name and columns.
    pub head: SeriesHead,
    /// Its rows.
    pub rows: Vec<Row>,
}

impl Series {
    /// The values of a column with their seconds, gaps left out; nothing if there is none.
    pub fn column(&self, name: &str) -> Option<Vec<(u64, f64)>> {
        let place = self.head.columns.iter().position(|column| column.name == name)?;
        let value = |row: &Row| Some((row.second, row.values.get(place).copied().flatten()?));
        Some(self.rows.iter().filter_map(value).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_leaves_its_gaps_out() {
        let column = |name: &str, unit| Column { name: name.to_owned(), unit };
        let columns = vec![column("rss", "bytes"), column("threads", "")];
        assert_eq!(columns[0].title(), "rss_bytes");
        assert_eq!(columns[1].title(), "threads");
        let row = |second, rss, threads| Row { second, values: vec![rss, threads] };
        let series = Series {
            head: SeriesHead { name: "server".into(), columns },
            rows: vec![row(1, Some(5.0), None), row(3, None, Some(2.0))],
        };
        assert_eq!(series.column("rss"), Some(vec![(1, 5.0)]));
        assert_eq!(series.column("threads"), Some(vec![(3, 2.0)]));
        assert_eq!(series.column("none"), None);
    }
}
