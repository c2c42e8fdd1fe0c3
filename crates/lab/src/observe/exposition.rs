//! Reads a page of metrics as OpenMetrics 1.0 and Prometheus's text format 0.0.4 write it. It asks
//! nobody for it.

use std::collections::HashMap;
use thiserror::Error;

/// A page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposition<'a> {
    /// The kinds of families, by name.
    kinds: HashMap<&'a str, &'a str>,
    /// The samples in the order of the page.
    pub samples: Vec<Sample<'a>>,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// With its suffix, such as `_total`.
    pub name: &'a str,
    /// As they stand between the braces.
    pub labels: &'a str,
    /// May be infinite or no number.
    pub value: f64,
}

/// A page that is none.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line} is no metric: expected {expected}; got {got:?}")]
pub struct ExpositionError {
    /// From 1.
    pub line: usize,
    /// What should be there.
    pub expected: &'static str,
    /// The line, or the beginning of it.
    pub got: String,
}

/// What the samples of a family of one of these kinds are: counters, by their suffixes.
const COUNTERS: [(&str, &[&str]); 4] = [
    ("counter", &["_total", ""]),
    ("histogram", &["_count", "_sum", "_bucket"]),
    ("gaugehistogram", &[]),
    ("summary", &["_count", "_sum"]),
];

impl<'a> Exposition<'a> {
    /// Reads a page.
    ///
    /// # Errors
    /// The first line that is not as it should be: half of a page may say something else.
    pub fn parse(text: &'a str) -> Result<Self, ExpositionError> {
        let mut page = Self::default();
        for (i, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let refused = |expected| {
                let got = line.chars().take(80).collect();
                ExpositionError { line: i + 1, expected, got }
            };
            match line.strip_prefix('#') {
                Some(comment) => {
                    let mut words = comment.split_ascii_whitespace();
                    if words.next() == Some("TYPE") {
                        let family = words.next().ok_or_else(|| refused("a family's name"))?;
                        let kind = words.next().ok_or_else(|| refused("a family's kind"))?;
                        page.kinds.insert(family, kind);
                    }
                }
                None if line.trim().is_empty() => {}
                None => page.samples.push(parse_sample(line).map_err(refused)?),
            }
        }
        Ok(page)
    }

    /// Whether the samples of a name only grow.
    pub fn is_counter(&self, name: &str) -> bool {
        let suffixes = ["_total", "_count", "_sum", "_bucket", "_created", ""];
        for suffix in suffixes {
            let Some(family) = name.strip_suffix(suffix) else { continue };
            let Some(kind) = self.kinds.get(family) else { continue };
            let counters = COUNTERS.iter().find(|(counter, _)| counter == kind);
            return counters.is_some_and(|(_, suffixes)| suffixes.contains(&suffix));
        }
        // Nobody says what it is, but its name does.
        name.ends_with("_total")
    }

    /// The sum of a name's samples over their labels; nothing if there is none.
    pub fn sum(&self, name: &str) -> Option<f64> {
        let values = self.samples.iter().filter(|sample| sample.name == name);
        values.map(|sample| sample.value).reduce(|sum, value| sum + value)
    }

    /// The value of one sample.
    pub fn value(&self, name: &str, labels: &str) -> Option<f64> {
        let is_it = |sample: &&Sample<'_>| sample.name == name && sample.labels == labels;
        self.samples.iter().find(is_it).map(|sample| sample.value)
    }
}

/// `name{labels} value timestamp # exemplar`, of which only name and value must be there.
fn parse_sample(line: &str) -> Result<Sample<'_>, &'static str> {
    let line = line.trim_start_matches([' ', '\t']);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    let end = line.bytes().position(|byte| !is_name(byte)).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if name.is_empty() || name.as_bytes()[0].is_ascii_digit() {
        return Err("a name");
    }
    let (labels, rest) = match rest.trim_start_matches([' ', '\t']).strip_prefix('{') {
        Some(inside) => {
            let end = labels_end(inside).ok_or("a } after the labels")?;
            (&inside[..end], &inside[end + 1..])
        }
        None if rest.starts_with([' ', '\t']) => ("", rest),
        None => return Err("a number"),
    };
    let mut words = rest.split_ascii_whitespace();
    let value = words.next().and_then(parse_value).ok_or("a number")?;
    match words.next() {
        None | Some("#") => {}
        Some(time) => {
            time.parse::<f64>().map_err(|_| "a time after the number, or nothing")?;
        }
    }
    Ok(Sample { name, labels, value })
}

/// Where the brace is that closes the labels: not one in quotes.
fn labels_end(text: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'}' if !is_quoted => return Some(place),
            _ => {}
        }
    }
    None
}

fn parse_value(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    match text {
        _ if is_number => text.parse().ok(),
        _ if text.eq_ignore_ascii_case("+inf") || text.eq_ignore_ascii_case("inf") => {
            Some(f64::INFINITY)
        }
        _ if text.eq_ignore_ascii_case("-inf") => Some(f64::NEG_INFINITY),
        _ if text.eq_ignore_ascii_case("nan") => Some(f64::NAN),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# HELP http_requests Requests.
# TYPE http_requests counter
http_requests_total{method=\"post\",path=\"/a}\\\"b\"} 1027 1395066363000
http_requests_total{method=\"get\"} 3
# TYPE took_seconds histogram
took_seconds_bucket{le=\"+Inf\"} 7 # {trace=\"x\"} 0.5
took_seconds_sum 0.25
took_seconds_count 7
# TYPE memory_bytes gauge
memory_bytes 1.5e6\r
odd_total 1
odd 2
nothing NaN
least -Inf

# EOF
";

    #[test]
    fn a_page_is_read() {
        let page = Exposition::parse(PAGE).unwrap();
        assert_eq!(page.samples.len(), 10);
        assert_eq!(page.samples[0].labels, "method=\"post\",path=\"/a}\\\"b\"");
        assert_eq!(page.sum("http_requests_total"), Some(1030.0));
        assert_eq!(page.value("http_requests_total", "method=\"get\""), Some(3.0));
        assert_eq!(page.value("memory_bytes", ""), Some(1.5e6));
        assert_eq!(page.sum("least"), Some(f64::NEG_INFINITY));
        assert!(page.sum("nothing").unwrap().is_nan());
        assert_eq!(page.sum("none"), None);
    }

    #[test]
    fn counters_are_told_from_states() {
        let page = Exposition::parse(PAGE).unwrap();
        for counter in
            ["http_requests_total", "took_seconds_sum", "took_seconds_count", "odd_total"]
        {
            assert!(page.is_counter(counter), "{counter}");
        }
        for state in ["memory_bytes", "odd", "nothing"] {
            assert!(!page.is_counter(state), "{state}");
        }
        // As Prometheus writes it: the family has the suffix.
        let page = Exposition::parse("# TYPE a_total counter\na_total 1\n").unwrap();
        assert!(page.is_counter("a_total"));
        let page = Exposition::parse("# TYPE a_total gauge\na_total 1\n").unwrap();
        assert!(!page.is_counter("a_total"));
    }

    #[test]
    fn what_is_no_page_is_refused_with_its_line() {
        for (text, line, expected) in [
            ("<html>", 1, "a name"),
            ("a 1\nb", 2, "a number"),
            ("a 1\n\nb x", 3, "a number"),
            ("a{b=\"}\" 1", 1, "a } after the labels"),
            ("1a 1", 1, "a name"),
            ("a 1 then", 1, "a time after the number, or nothing"),
            ("# TYPE a", 1, "a family's kind"),
            ("# TYPE", 1, "a family's name"),
        ] {
            let error = Exposition::parse(text).unwrap_err();
            assert_eq!((error.line, error.expected), (line, expected), "{text}");
        }
    }
}
