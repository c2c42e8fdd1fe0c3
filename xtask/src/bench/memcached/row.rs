//! The rows of the table: what is asked of the caches, on how many connections, and how deep.

/// What is in the caches and asked of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// The seed's: 60 % of 4 to 100 bytes, 30 % of 1 to 2 KB, 10 % of 5 to 20 KB; 90 % gets.
    Seed,
    /// Values of 100 bytes; 90 % gets.
    Small,
}

impl Mix {
    /// In the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seed => "seed's mix",
            Self::Small => "100 bytes",
        }
    }

    /// For the scenario.
    pub fn flags(self) -> Vec<String> {
        let items = match self {
            Self::Seed => "items=olio",
            Self::Small => "items=100",
        };
        vec!["--set".to_owned(), items.to_owned()]
    }
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is asked.
    pub mix: Mix,
    /// Threads of the server.
    pub threads: usize,
    /// To it.
    pub connections: usize,
    /// Commands under way on each.
    pub depth: usize,
    /// Whether the meta commands are used.
    pub is_meta: bool,
}

impl Row {
    /// The servers that are needed, one after the other.
    pub fn servers() -> impl Iterator<Item = (usize, Mix)> {
        [1, 2].into_iter().flat_map(|threads| [(threads, Mix::Seed), (threads, Mix::Small)])
    }

    /// Every row.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::servers().flat_map(|(threads, mix)| {
            (0..8).map(move |i| Self {
                mix,
                threads,
                connections: if i & 4 == 0 { 50 } else { 1_000 },
                depth: if i & 2 == 0 { 1 } else { 16 },
                is_meta: i & 1 == 1,
            })
        })
    }

    /// In the table.
    pub fn name(&self) -> String {
        let Self { mix, threads, connections, depth, .. } = self;
        let dialect = if self.is_meta { "meta" } else { "classic" };
        format!(
            "{}, threads {threads}, connections {connections}, depth {depth}, {dialect}",
            mix.name()
        )
    }

    /// For the scenario.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = self.mix.flags();
        let Self { connections, depth, is_meta, .. } = self;
        for set in [
            format!("connections={connections}"),
            format!("pipeline={depth}"),
            format!("meta={is_meta}"),
        ] {
            flags.extend(["--set".to_owned(), set]);
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_there_once() {
        let rows: Vec<Row> = Row::all().collect();
        assert_eq!(rows.len(), 32);
        for (i, row) in rows.iter().enumerate() {
            assert!(!rows[..i].contains(row), "{row:?}");
        }
        assert_eq!(rows[0].name(), "seed's mix, threads 1, connections 50, depth 1, classic");
        let last = ["items=100", "connections=1000", "pipeline=16", "meta=true"];
        let flags: Vec<String> = rows[31].flags().into_iter().filter(|f| f != "--set").collect();
        assert_eq!(flags, last);
    }
}
