//! The ids of runs: readable, ordered by time, and safe as the name of a folder.

use super::{mask, utc};
use crate::limits::RUN_ID_NAME_MAX;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::SystemTime;

/// The id of a run, as `20261122T101500Z-counter-7f3a`: when it came into being, in UTC; its name;
/// four hexadecimal digits that tell two of the same second apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(String);

impl RunId {
    /// A new one. That nobody else has drawn it is only sure when its folder could be made.
    pub fn new(at: SystemTime, name: &str) -> Self {
        let drawn = RandomState::new().build_hasher().finish() as u16;
        Self(format!("{}-{}-{drawn:04x}", utc::compact(at), slug(name)))
    }

    /// The id that `text` is, if it has the shape of one. Nothing else ever becomes a path.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, rest) = text.split_at_checked(16)?;
        let (name, drawn) = rest.strip_prefix('-')?.rsplit_once('-')?;
        let is_time = time.bytes().enumerate().all(|(place, byte)| match place {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
        let is_drawn = drawn.len() == 4 && drawn.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_name = name == slug(name);
        (is_time && is_drawn && is_name).then(|| Self(text.to_owned()))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name as part of an id: lower case letters and digits, anything else a single hyphen. What a
/// URL asks for, and who asks, is left out.
fn slug(name: &str) -> String {
    let name = mask::text(name);
    let name = name.split_once("://").map_or(name.as_str(), |(_scheme, rest)| rest);
    let name = name.split('?').next().unwrap_or_default();
    let mut slug = String::new();
    for character in name.chars().map(|c| c.to_ascii_lowercase()) {
        if slug.len() == RUN_ID_NAME_MAX {
            break;
        }
        match character {
            'a'..='z' | '0'..='9' => slug.push(character),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    match slug.trim_end_matches('-') {
        "" => "run".to_owned(),
        slug => slug.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    fn new(name: &str) -> RunId {
        RunId::new(UNIX_EPOCH + Duration::from_secs(1_795_342_500), name)
    }

    #[test]
    fn an_id_reads_as_what_it_is() {
        for (name, slug) in [
            ("counter", "counter"),
            ("http://u:p@127.0.0.1:8000/a/{key}?b=C", "127-0-0-1-8000-a-key"),
            ("Ä b", "b"),
            ("--", "run"),
            ("", "run"),
            (&"x".repeat(99), &"x".repeat(RUN_ID_NAME_MAX)),
        ] {
            let id = new(name);
            assert!(id.as_str().starts_with(&format!("20261122T101500Z-{slug}-")), "{id}");
            assert_eq!(RunId::parse(id.as_str()), Some(id));
        }
    }

    #[test]
    fn nothing_else_is_an_id() {
        for bad in [
            "",
            "..",
            "20261122T101500Z",
            "20261122T101500Z-a",
            "20261122T101500Z-a-123",
            "20261122T101500Z-a-12345",
            "20261122T101500Z-a/../b-1234",
            "20261122T101500Z-A-1234",
            "20261122T101500Z-a-1234.running",
            "2026112xT101500Z-a-1234",
            "20261122T101500ä-a-1234",
        ] {
            assert_eq!(RunId::parse(bad), None, "{bad}");
        }
    }
}
