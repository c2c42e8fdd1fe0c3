//! The Accept-Encoding field (RFC 9110 §12.5.3).

use gem::Coding;
use hyper::header::{ACCEPT_ENCODING, HeaderMap};

/// The codings that the asker takes, the best first. Without the field it might take any (§12.5.3),
/// but who says nothing is seldom able to read them: it gets none.
///
/// "No coding" can be refused as well (`identity;q=0`). Then the file comes as it is all the same,
/// as §12.5.3 allows: it is of more use than an error.
pub(in crate::http) fn accepted(headers: &HeaderMap) -> Vec<Coding> {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let listed: Vec<(&str, u16)> =
        lines.flat_map(|line| line.split(',')).filter_map(element).collect();
    let weight = |coding: Coding| {
        let named = |name: &str| {
            let is_it = |(listed, _): &&(&str, u16)| listed.eq_ignore_ascii_case(name);
            listed.iter().find(is_it).map(|(_, weight)| *weight)
        };
        let alias = (coding == Coding::Gzip).then(|| named("x-gzip")).flatten();
        named(coding.name()).or(alias).or_else(|| named("*")).unwrap_or(0)
    };
    let mut accepted: Vec<Coding> =
        Coding::ALL.into_iter().filter(|coding| weight(*coding) > 0).collect();
    // The sort keeps the order of equals, and the better one is first.
    accepted.sort_by_key(|coding| std::cmp::Reverse(weight(*coding)));
    accepted
}

/// A coding and its weight in thousandths. One that is not well formed counts for nothing.
fn element(text: &str) -> Option<(&str, u16)> {
    let (name, parameter) = text.split_once(';').unwrap_or((text, "q=1"));
    let (q, weight) = parameter.split_once('=')?;
    let is_weight = q.trim().eq_ignore_ascii_case("q");
    let weight = crate::http::accept::weight(weight.trim()).filter(|_| is_weight)?;
    Some((name.trim(), weight)).filter(|(name, _)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Coding::{Brotli, Gzip};
    use hyper::header::HeaderValue;

    #[test]
    fn rfc9110_12_5_3_codings() {
        for (field, expected) in [
            ("gzip, deflate, br, zstd", &[Brotli, Gzip][..]),
            ("gzip", &[Gzip]),
            ("X-GZIP", &[Gzip]),
            ("br;q=0.5, gzip", &[Gzip, Brotli]),
            ("br;q=0.5,gzip;q=0.5", &[Brotli, Gzip]),
            ("*", &[Brotli, Gzip]),
            ("*;q=0", &[]),
            ("*, br;q=0", &[Gzip]),
            ("gzip;q=0", &[]),
            ("identity, *;q=0", &[]),
            ("gzip;q=2, br;q=x, ;q=1", &[]),
            ("gzip ; q = 1", &[Gzip]),
            ("", &[]),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(field));
            assert_eq!(accepted(&headers), expected, "{field}");
        }
        assert!(accepted(&HeaderMap::new()).is_empty());
    }
}
