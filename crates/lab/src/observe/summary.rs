//! What was observed over the measured interval. It judges nothing.

/// A source over the measured interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// As its series.
    pub name: String,
    /// Whole seconds of the interval in which it was asked.
    pub seconds: u64,
    /// Those of them in which nothing could be read.
    pub gaps: u64,
    /// One for each column.
    pub figures: Vec<Figure>,
    /// What went wrong, one line each.
    pub notes: Vec<String>,
}

/// A column over the measured interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// As its column.
    pub name: String,
    /// Of mean, min and max; of a counter, of its growth in a second.
    pub unit: &'static str,
    /// How much a counter grew.
    pub total: Option<f64>,
    /// Its unit.
    pub total_unit: &'static str,
    /// Over the interval.
    pub mean: Option<f64>,
    /// Of the seconds.
    pub min: Option<f64>,
    /// Of the seconds.
    pub max: Option<f64>,
}

impl Summary {
    /// One of its figures.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// How much a counter grew.
    pub fn total(&self, name: &str) -> Option<f64> {
        self.figure(name)?.total
    }
}
