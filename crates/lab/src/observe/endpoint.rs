//! A page of metrics that is asked for once a second: which of its samples are columns, and what
//! they are now. How the page is written is in `exposition`.

use super::exposition::Exposition;
use super::sarsen;
use super::source::Gauged;
use crate::fetch::{FetchError, Fetcher};
use crate::limits::{METRICS_BYTES_MAX, METRICS_COLUMNS_MAX, METRICS_TIMEOUT};
use crate::plan::{Endpoint, Trust};
use thiserror::Error;

/// Why a page could not be read.
#[derive(Debug, Error)]
pub(super) enum ScrapeError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("status {0}")]
    Status(u16),
    #[error("it is no UTF-8")]
    Text,
    #[error(transparent)]
    Page(#[from] super::ExpositionError),
    #[error("none of the metrics that are wanted is on it")]
    Nothing,
}

/// Where a column comes from.
enum Origin {
    /// The sum over the labels of a name.
    Sum(String),
    /// One sample.
    One(String, String),
}

/// What is sent: OpenMetrics if it can be had (its section "Protocol Negotiation").
const ACCEPT: &str =
    "application/openmetrics-text; version=1.0.0, text/plain; version=0.0.4; q=0.5, */*; q=0.1";

/// An endpoint that is watched.
pub(super) struct EndpointSource {
    fetcher: Fetcher,
    path: String,
    only: Vec<String>,
    columns: Vec<(Origin, Gauged)>,
    /// Samples for which there was no room.
    left_out: usize,
}

impl EndpointSource {
    pub(super) fn new(endpoint: &Endpoint, trust: &Trust) -> Self {
        let mut headers = vec![("Accept".to_owned(), ACCEPT.to_owned())];
        headers.extend(endpoint.headers.iter().cloned());
        let origin = endpoint.target.origin();
        Self {
            fetcher: Fetcher::new((origin, trust), headers, METRICS_TIMEOUT, METRICS_BYTES_MAX),
            path: endpoint.target.path().to_owned(),
            only: endpoint.only.clone(),
            columns: Vec::new(),
            left_out: 0,
        }
    }

    /// The columns of its first page; none before it.
    pub(super) fn columns(&self) -> Vec<Gauged> {
        self.columns.iter().map(|(_, column)| column.clone()).collect()
    }

    /// How many samples of its first page are no columns, because there was no room.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// The values of its columns now.
    ///
    /// # Errors
    /// See [`ScrapeError`].
    pub(super) fn read(&mut self) -> Result<Vec<Option<f64>>, ScrapeError> {
        let page = self.fetcher.get(&self.path)?;
        if page.status != 200 {
            return Err(ScrapeError::Status(page.status));
        }
        let text = std::str::from_utf8(&page.body).map_err(|_| ScrapeError::Text)?;
        let page = Exposition::parse(text)?;
        if self.columns.is_empty() {
            (self.columns, self.left_out) = choose(&page, &self.only);
            if self.columns.is_empty() {
                return Err(ScrapeError::Nothing);
            }
        }
        let value = |origin: &Origin| match origin {
            Origin::Sum(name) => page.sum(name),
            Origin::One(name, labels) => page.value(name, labels),
        };
        let is_number = |value: &f64| value.is_finite();
        Ok(self.columns.iter().map(|(origin, _)| value(origin).filter(is_number)).collect())
    }
}

/// The columns that a page gives, and how many samples there was no room for.
fn choose(page: &Exposition<'_>, only: &[String]) -> (Vec<(Origin, Gauged)>, usize) {
    if !only.is_empty() {
        return (only.iter().map(|wanted| wanted_column(page, wanted)).collect(), 0);
    }
    if sarsen::is_one(page) {
        let columns = sarsen::columns().into_iter();
        return (columns.map(|(name, column)| (Origin::Sum(name.to_owned()), column)).collect(), 0);
    }
    let is_whole = |name: &str, labels: &str| {
        let is_quantile = labels.contains("quantile=\"");
        !name.ends_with("_bucket") && !name.ends_with("_created") && !is_quantile
    };
    let samples = page.samples.iter().filter(|sample| is_whole(sample.name, sample.labels));
    let columns = samples.clone().take(METRICS_COLUMNS_MAX).map(|sample| {
        let (name, labels) = (sample.name.to_owned(), sample.labels.to_owned());
        let column = column(page, &name, &labels);
        (Origin::One(name, labels), column)
    });
    (columns.collect(), samples.count().saturating_sub(METRICS_COLUMNS_MAX))
}

fn wanted_column(page: &Exposition<'_>, wanted: &str) -> (Origin, Gauged) {
    match wanted.strip_suffix('}').and_then(|wanted| wanted.split_once('{')) {
        Some((name, labels)) => {
            (Origin::One(name.to_owned(), labels.to_owned()), column(page, name, labels))
        }
        None => (Origin::Sum(wanted.to_owned()), column(page, wanted, "")),
    }
}

fn column(page: &Exposition<'_>, name: &str, labels: &str) -> Gauged {
    let title = if labels.is_empty() { name.to_owned() } else { format!("{name}{{{labels}}}") };
    match page.is_counter(name) {
        true => Gauged::counter(title, "per_second", ""),
        false => Gauged::gauge(title, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str, only: &[&str]) -> (Vec<String>, usize) {
        let page = Exposition::parse(text).unwrap();
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        let (columns, left_out) = choose(&page, &only);
        (columns.into_iter().map(|(_, column)| column.name).collect(), left_out)
    }

    #[test]
    fn all_samples_are_columns_but_the_parts_of_distributions() {
        let page =
            "a_total{x=\"1\"} 1\nb 2\nc_bucket{le=\"1\"} 1\nc_count 1\nd{quantile=\"0.5\"} 1\n";
        let expected = ["a_total{x=\"1\"}", "b", "c_count"].map(str::to_owned);
        assert_eq!(chosen(page, &[]), (expected.to_vec(), 0));
        let wanted = ["a_total", "a_total{x=\"1\"}", "absent"];
        assert_eq!(chosen(page, &wanted).0, wanted.map(str::to_owned));
    }

    #[test]
    fn there_are_columns_up_to_a_bound_and_the_rest_is_counted() {
        let page: String =
            (0..METRICS_COLUMNS_MAX + 7).map(|i| format!("a{{i=\"{i}\"}} 1\n")).collect();
        let (columns, left_out) = chosen(&page, &[]);
        assert_eq!((columns.len(), left_out), (METRICS_COLUMNS_MAX, 7));
    }

    #[test]
    fn sarsens_page_is_known() {
        let page = "sarsen_build_info{version=\"0.1.0\"} 1\nsarsen_commits_total 5\nother 1\n";
        let (columns, _) = chosen(page, &[]);
        assert!(columns.contains(&"commits".to_owned()), "{columns:?}");
        assert!(!columns.contains(&"other".to_owned()));
    }
}
