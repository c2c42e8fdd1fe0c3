//! What every source has in common: columns of counters and gauges, and how readings become rows
//! and, over the measured interval, sums. It reads nothing itself.

use super::summary::{Figure, Summary};
use crate::measure::{Column, Row, SeriesHead};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How a column is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Only grows. Its row is how much a second; less than before means that it began anew.
    Counter,
    /// A state.
    Gauge,
}

/// A column and how it is read.
#[derive(Clone, Debug)]
pub(super) struct Gauged {
    pub(super) name: String,
    /// Of the row: of a counter, of its growth in a second.
    pub(super) unit: &'static str,
    /// Of the sum over the interval, of a counter.
    pub(super) total_unit: &'static str,
    pub(super) sort: Sort,
}

impl Gauged {
    pub(super) fn counter(
        name: impl Into<String>,
        unit: &'static str,
        total_unit: &'static str,
    ) -> Self {
        Self { name: name.into(), unit, total_unit, sort: Sort::Counter }
    }

    pub(super) fn gauge(name: impl Into<String>, unit: &'static str) -> Self {
        Self { name: name.into(), unit, total_unit: unit, sort: Sort::Gauge }
    }
}

/// The readings of one source over the run.
pub(super) struct Track {
    head: Arc<SeriesHead>,
    columns: Vec<Gauged>,
    /// The last value of each column, and when it was read.
    last: Vec<Option<(Instant, f64)>>,
    /// The last value that a row was made of.
    last_row: Vec<Option<(Instant, f64)>>,
    sums: Vec<Sum>,
    is_measured: bool,
    rows: u64,
    gaps: u64,
}

/// A column over the measured interval.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Growth of a counter, and the time in which it was seen.
    growth: f64,
    seen: Duration,
    /// The values of rows (of counters: rates).
    sum: f64,
    count: u64,
    min: Option<f64>,
    max: Option<f64>,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
    }
}

impl Track {
    pub(super) fn new(name: &str, columns: Vec<Gauged>) -> Self {
        let shown =
            columns.iter().map(|column| Column { name: column.name.clone(), unit: column.unit });
        let head = SeriesHead { name: name.to_owned(), columns: shown.collect() };
        let empty = vec![None; columns.len()];
        Self {
            head: Arc::new(head),
            last: empty.clone(),
            last_row: empty,
            sums: vec![Sum::default(); columns.len()],
            columns,
            is_measured: false,
            rows: 0,
            gaps: 0,
        }
    }

    pub(super) fn head(&self) -> &Arc<SeriesHead> {
        &self.head
    }

    /// The measured interval begins or ends now, with these values.
    pub(super) fn mark(&mut self, is_measured: bool, now: Instant, values: &[Option<f64>]) {
        self.take(now, values);
        // What was under way before it began is no part of it.
        self.is_measured = is_measured;
        if !is_measured && self.sums.iter().all(|sum| sum.count == 0) {
            // Too short for a whole second: its end stands for it.
            let states = self.columns.iter().zip(values);
            let state = |(column, value): (&Gauged, &Option<f64>)| {
                value.filter(|_| column.sort == Sort::Gauge)
            };
            let states: Vec<Option<f64>> = states.map(state).collect();
            self.add_to_sums(&states);
        }
    }

    /// A whole second of the run is over: its row.
    pub(super) fn row(&mut self, second: u64, now: Instant, values: &[Option<f64>]) -> Row {
        self.take(now, values);
        let shown: Vec<Option<f64>> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, column)| {
                let value = values.get(i).copied().flatten();
                let before = self.last_row[i];
                self.last_row[i] = value.map(|value| (now, value));
                match column.sort {
                    Sort::Gauge => value,
                    Sort::Counter => {
                        let (then, before) = before?;
                        let seconds = (now - then).as_secs_f64();
                        (seconds > 0.0).then_some(growth(before, value?) / seconds)
                    }
                }
            })
            .collect();
        if self.is_measured {
            self.add_to_sums(&shown);
            self.rows += 1;
            self.gaps += u64::from(values.iter().all(Option::is_none));
        }
        Row { second, values: shown }
    }

    fn add_to_sums(&mut self, values: &[Option<f64>]) {
        for (sum, value) in self.sums.iter_mut().zip(values) {
            value.iter().for_each(|value| sum.add(*value));
        }
    }

    fn take(&mut self, now: Instant, values: &[Option<f64>]) {
        for (i, column) in self.columns.iter().enumerate() {
            let Some(value) = values.get(i).copied().flatten() else { continue };
            if let Some((then, before)) = self.last[i].replace((now, value))
                && self.is_measured
                && column.sort == Sort::Counter
            {
                self.sums[i].growth += growth(before, value);
                self.sums[i].seen += now - then;
            }
        }
    }

    pub(super) fn summary(self, notes: Vec<String>) -> Summary {
        let figure = |(column, sum): (&Gauged, &Sum)| {
            let is_counter = column.sort == Sort::Counter;
            let seconds = sum.seen.as_secs_f64();
            let mean = match is_counter {
                true => (seconds > 0.0).then(|| sum.growth / seconds),
                false => (sum.count > 0).then(|| sum.sum / sum.count as f64),
            };
            Figure {
                name: column.name.clone(),
                unit: column.unit,
                total: (is_counter && seconds > 0.0).then_some(sum.growth),
                total_unit: column.total_unit,
                mean,
                min: sum.min,
                max: sum.max,
            }
        };
        Summary {
            name: self.head.name.clone(),
            seconds: self.rows,
            gaps: self.gaps,
            figures: self.columns.iter().zip(&self.sums).map(figure).collect(),
            notes,
        }
    }
}

/// A counter that is smaller than before began anew at 0.
fn growth(before: f64, now: f64) -> f64 {
    if now < before { now } else { now - before }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track() -> (Track, Instant) {
        let columns = vec![
            Gauged::counter("bytes", "bytes_per_second", "bytes"),
            Gauged::gauge("rss", "bytes"),
        ];
        (Track::new("server", columns), Instant::now())
    }

    #[test]
    fn counters_become_rates_and_sums_of_the_interval() {
        let (mut track, start) = track();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let row = |track: &mut Track, second: u64, bytes: f64, rss: f64| {
            track.row(second, at(second * 1000), &[Some(bytes), Some(rss)]).values
        };
        assert_eq!(row(&mut track, 0, 100.0, 7.0), [None, Some(7.0)]);
        assert_eq!(row(&mut track, 1, 150.0, 8.0), [Some(50.0), Some(8.0)]);
        track.mark(true, at(1500), &[Some(200.0), Some(8.0)]);
        assert_eq!(row(&mut track, 2, 350.0, 9.0), [Some(200.0), Some(9.0)]);
        assert_eq!(row(&mut track, 4, 350.0, 5.0), [Some(0.0), Some(5.0)]);
        track.mark(false, at(4500), &[Some(400.0), Some(99.0)]);
        assert_eq!(row(&mut track, 5, 1400.0, 3.0), [Some(1050.0), Some(3.0)]);

        let summary = track.summary(Vec::new());
        let bytes = summary.figure("bytes").unwrap();
        assert_eq!((bytes.total, bytes.mean), (Some(200.0), Some(200.0 / 3.0)));
        let rss = summary.figure("rss").unwrap();
        assert_eq!(
            (rss.total, rss.mean, rss.min, rss.max),
            (None, Some(7.0), Some(5.0), Some(9.0))
        );
        assert_eq!((summary.seconds, summary.gaps), (2, 0));
    }

    #[test]
    fn what_cannot_be_read_is_a_gap_and_what_begins_anew_counts_from_0() {
        let (mut track, start) = track();
        let at = |second: u64| start + Duration::from_secs(second);
        track.mark(true, at(0), &[Some(100.0), None]);
        assert_eq!(track.row(1, at(1), &[Some(110.0), None]).values, [None, None]);
        assert_eq!(track.row(2, at(2), &[None, None]).values, [None, None]);
        assert_eq!(track.row(3, at(3), &[Some(5.0), None]).values, [None, None]);
        assert_eq!(track.row(4, at(4), &[Some(6.0), None]).values, [Some(1.0), None]);
        track.mark(false, at(5), &[Some(6.0), None]);
        let summary = track.summary(Vec::new());
        assert_eq!((summary.seconds, summary.gaps), (4, 1));
        // 10 to the gap, 5 since it began anew, and 1.
        assert_eq!(summary.figure("bytes").unwrap().total, Some(16.0));
        let rss = summary.figure("rss").unwrap();
        assert_eq!((rss.mean, rss.max), (None, None));
    }

    #[test]
    fn an_interval_without_a_whole_second_has_its_end() {
        let (mut track, start) = track();
        track.mark(true, start, &[Some(0.0), Some(1.0)]);
        track.mark(false, start + Duration::from_millis(500), &[Some(10.0), Some(3.0)]);
        let summary = track.summary(Vec::new());
        assert_eq!(summary.figure("bytes").unwrap().mean, Some(20.0));
        assert_eq!(summary.figure("rss").unwrap().max, Some(3.0));
    }
}
