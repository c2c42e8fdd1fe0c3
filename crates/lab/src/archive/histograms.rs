//! Histograms in the standard formats of HdrHistogram, which other tools read: interval logs (one
//! compressed histogram for each second and tag) and percentile distributions. Values are
//! nanoseconds in logs and milliseconds in distributions.

use super::csv::Growing;
use super::error::ArchiveError;
use crate::measure::Latency;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// `Interval_Max` is in milliseconds, as HistogramLogProcessor expects of nanoseconds.
const NS_PER_MS: f64 = 1e6;

/// A log that grows by an interval a second.
pub(super) struct HistogramLog {
    file: Growing,
    serializer: V2DeflateSerializer,
}

impl HistogramLog {
    /// A new log; its timestamps are seconds since `start`.
    pub(super) fn create(path: &Path, start: SystemTime) -> Result<Self, ArchiveError> {
        let mut serializer = V2DeflateSerializer::new();
        let mut head = Vec::new();
        let begun = IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment("[Values are in nanoseconds]")
            .with_start_time(start)
            .with_base_time(start)
            .with_max_value_divisor(NS_PER_MS)
            .begin_log_with(&mut head, &mut serializer)
            .map(|_writer| ());
        begun.expect("a vector takes every byte");
        let legend = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
                      \"Interval_Compressed_Histogram\"\n";
        head.extend_from_slice(legend.as_bytes());
        Ok(Self { file: Growing::create(path, &head)?, serializer })
    }

    /// Adds the second's histograms, each under its tag; empty ones are left out.
    pub(super) fn append<'a>(
        &mut self,
        second: u64,
        tagged: impl Iterator<Item = (&'a str, &'a Latency)>,
    ) -> Result<(), ArchiveError> {
        let mut builder = IntervalLogWriterBuilder::new();
        builder.with_max_value_divisor(NS_PER_MS);
        let mut text = Vec::new();
        let begun = builder.begin_log_with(&mut text, &mut self.serializer);
        let mut writer = begun.expect("a vector takes every byte");
        for (tag, latency) in tagged.filter(|(_, latency)| latency.count() > 0) {
            let (at, length) = (Duration::from_secs(second), Duration::from_secs(1));
            // Counts are far from 2^63, which is all that can go wrong in a vector.
            writer
                .write_histogram(latency.histogram(), at, length, Tag::new(tag))
                .expect("a histogram of fewer than 2^63 values is written to a vector");
        }
        // The builder's own first line is in the file already.
        let first_line = text.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.file.append(&text[first_line..])
    }
}

/// Tags for these names: what a tag cannot hold becomes `_`, and no two are the same.
pub(super) fn tags<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut tag = |name: &str| {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./{}".contains(c);
        let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let mut candidates = std::iter::once(plain.clone()).chain(numbered);
        let free = candidates.find(|tag| taken.insert(tag.clone()));
        free.expect("there are more numbers than names")
    };
    names.map(&mut tag).collect()
}

/// The distribution by percentile, as HistogramLogProcessor writes it and plotters read it: five
/// steps to each halving of the distance to 100 %.
pub(super) fn distribution(latency: &Latency) -> String {
    let histogram = latency.histogram();
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut total = 0;
    for step in histogram.iter_quantiles(5) {
        total += step.count_since_last_iteration();
        let (value, quantile) = (step.value_iterated_to() as f64 / NS_PER_MS, step.quantile());
        let _written = write!(text, "{value:12.3} {quantile:2.12} {total:10}");
        if quantile < 1.0 {
            let _written = write!(text, " {:14.2}", 1.0 / (1.0 - quantile));
        }
        text.push('\n');
    }
    let (mean, deviation) = (histogram.mean() / NS_PER_MS, histogram.stdev() / NS_PER_MS);
    let max = histogram.max() as f64 / NS_PER_MS;
    let _written = write!(
        text,
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n\
         #[Max     = {max:12.3}, Total count    = {total:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {:12}]\n",
        histogram.buckets(),
        // As the histogram has it: twice as many as its digits tell apart, a power of two.
        (2 * 10_u32.pow(u32::from(histogram.sigfig()))).next_power_of_two()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use std::time::UNIX_EPOCH;

    fn latency(ms: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::new();
        ms.into_iter().for_each(|ms| latency.record(Duration::from_millis(ms)));
        latency
    }

    #[test]
    fn a_log_gives_back_what_was_put_in() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.hlog");
        let start = UNIX_EPOCH + Duration::from_millis(1_500);
        let mut log = HistogramLog::create(&path, start).unwrap();
        let (some, more, none) = (latency(1..=100), latency([3, 3_600_000]), latency([]));
        log.append(0, [("a:service", &some), ("b:service", &none)].into_iter()).unwrap();
        log.append(1, [("a:service", &more)].into_iter()).unwrap();

        let text = std::fs::read(&path).unwrap();
        let mut found = Vec::new();
        for entry in IntervalLogIterator::new(&text) {
            match entry.unwrap() {
                LogEntry::StartTime(at) | LogEntry::BaseTime(at) => {
                    assert_eq!(at, Duration::from_millis(1_500));
                }
                LogEntry::Interval(interval) => {
                    let bytes = base64(interval.encoded_histogram());
                    let histogram: Histogram<u64> =
                        Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                    assert_eq!(interval.duration(), Duration::from_secs(1));
                    let tag = interval.tag().unwrap().to_string();
                    found.push((interval.start_timestamp().as_secs(), tag, histogram));
                }
            }
        }
        let expected = [(0, &some), (1, &more)];
        assert_eq!(found.len(), expected.len());
        for ((second, latency), (at, tag, histogram)) in expected.into_iter().zip(found) {
            assert_eq!((second, "a:service"), (at, tag.as_str()));
            assert_eq!(latency.histogram(), &histogram);
        }
    }

    /// As RFC 4648 has it, without line breaks.
    fn base64(text: &str) -> Vec<u8> {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digits = text.trim_end_matches('=').bytes();
        let digit = |byte| alphabet.iter().position(|of| *of == byte).unwrap() as u32;
        let digits: Vec<u32> = digits.map(digit).collect();
        let group = |digits: &[u32]| {
            let bits = digits.iter().fold(0, |bits, digit| bits << 6 | digit);
            let bits = bits << (6 * (4 - digits.len()));
            bits.to_be_bytes()[1..digits.len()].to_vec()
        };
        digits.chunks(4).flat_map(group).collect()
    }

    #[test]
    fn a_tag_is_one_whatever_the_name() {
        let names = ["view", "add, then view", "add; then view", "ä{key}", ""];
        assert_eq!(
            tags(names.into_iter()),
            ["view", "add__then_view", "add__then_view_2", "ä{key}", ""]
        );
        assert!(tags(names.into_iter()).iter().all(|tag| Tag::new(tag).is_some()));
    }

    #[test]
    fn a_distribution_ends_with_the_largest() {
        let text = distribution(&latency(1..=1000));
        let rows: Vec<&str> =
            text.lines().skip(2).take_while(|line| !line.starts_with('#')).collect();
        let median = rows.iter().find(|row| row.contains(" 0.500")).unwrap();
        assert!(median.trim_start().starts_with("500."), "{text}");
        assert!(rows.last().unwrap().contains("1.000000000000       1000"), "{text}");
        assert!(text.contains("Total count    =         1000"), "{text}");
    }
}
