//! Entity tags of files (RFC 9110 §8.8.3). They are strong: the hash of the content, with the
//! coding it is in, for in another coding it is other bytes.

use gem::Coding;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, IF_MATCH};

/// The tag of one representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    pub hash: &'a str,
    /// `None`: as it is.
    pub coding: Option<Coding>,
}

impl Tag<'_> {
    pub(super) fn value(self) -> HeaderValue {
        let text = match self.coding {
            Some(coding) => format!("\"{}-{}\"", self.hash, coding.name()),
            None => format!("\"{}\"", self.hash),
        };
        HeaderValue::try_from(text).expect("a hash is digits and letters")
    }

    /// Whether the field `name` lists it, or is `*`. If-Match compares strongly, If-None-Match
    /// weakly (§13.1.1, §13.1.2). What is not an entity tag is none of these.
    pub(super) fn is_listed(self, headers: &HeaderMap, name: HeaderName) -> bool {
        let own = self.value();
        let own = own.as_bytes();
        let is_strong = name == IF_MATCH;
        // Neither a hash nor the name of a coding has a comma in it.
        let lines = headers.get_all(name).iter();
        lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).any(|element| {
            let element = element.trim_ascii();
            let opaque = element.strip_prefix(b"W/").filter(|_| !is_strong).unwrap_or(element);
            element == b"*" || opaque == own
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::IF_NONE_MATCH;

    #[test]
    fn rfc9110_8_8_3_2_comparison() {
        let tag = Tag { hash: "ab", coding: None };
        let listed = |name: HeaderName, field: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(&name, HeaderValue::from_static(field));
            tag.is_listed(&headers, name)
        };
        for field in ["\"ab\"", "\"x\", \"ab\"", "*", "\"x,y\",\"ab\""] {
            assert!(listed(IF_NONE_MATCH, field) && listed(IF_MATCH, field), "{field}");
        }
        assert!(listed(IF_NONE_MATCH, "W/\"ab\"") && !listed(IF_MATCH, "W/\"ab\""));
        for field in ["", "ab", "\"ab", "\"ab-gzip\"", "\"AB\"", "w/\"ab\""] {
            assert!(!listed(IF_NONE_MATCH, field) && !listed(IF_MATCH, field), "{field}");
        }
        assert_eq!(Tag { hash: "ab", coding: Some(Coding::Brotli) }.value(), "\"ab-br\"");
    }
}
