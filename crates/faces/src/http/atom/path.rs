//! Which thing of publishing a path names.
//!
//! | path | what |
//! | --- | --- |
//! | `/atom` | the service document of all publications; POST makes one |
//! | `/atom/opml` | all publications, for readers |
//! | `/atom/{pub}` | the page of a publication |
//! | `/atom/{pub}/settings`, `service`, `categories` | its settings and documents |
//! | `/atom/{pub}/entries`, `media` | its collections |
//! | `/atom/{pub}/entries/{m}`, `media/{m}` | members, and their media |
//! | `/atom/{pub}/pages/{m}` | the page of a member |
//! | `/atom/{pub}/feed`, `feed.rss`, `feed.json` | what is public |
//! | `/atom/{pub}/archive/{n}`, `changes` | the same from the first on, and what has changed |
//!
//! Names are one segment, percent-decoded after the path is split. Nothing else is below `/atom`.

use crate::atom::{Place, proposal};
use crate::http::path::decode;
use crate::problem::{Kind, Problem};

/// What there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// All publications.
    Publications,
    /// The same for readers.
    Opml,
    /// Something that a publication has one of.
    Of(String, Part),
    /// An entry.
    Entry(Place),
    /// Media.
    Medium(Place),
    /// The page of a member.
    Page(Place),
    /// A page of the archive, counted from 1.
    Archive(String, u64),
}

/// What each publication has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Home,
    Settings,
    Service,
    Categories,
    Entries,
    Media,
    Feed,
    Rss,
    Json,
    Changes,
}

impl Part {
    fn of(segment: &str) -> Option<Self> {
        Some(match segment {
            "settings" => Self::Settings,
            "service" => Self::Service,
            "categories" => Self::Categories,
            "entries" => Self::Entries,
            "media" => Self::Media,
            "feed" => Self::Feed,
            "feed.rss" => Self::Rss,
            "feed.json" => Self::Json,
            "changes" => Self::Changes,
            _ => return None,
        })
    }
}

/// Whether a path is one of publishing.
pub(crate) fn owns(path: &str) -> bool {
    path.strip_prefix("/atom").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a path names, still percent-encoded.
pub(crate) fn locate(path: &str) -> Result<Resource, Problem> {
    let below = path.strip_prefix("/atom").unwrap_or_default();
    if below.is_empty() {
        return Ok(Resource::Publications);
    }
    let mut segments = below.split('/').skip(1);
    let first = segments.next().unwrap_or_default();
    let rest: Vec<&str> = segments.take(3).collect();
    if first == proposal::OPML && rest.is_empty() {
        return Ok(Resource::Opml);
    }
    let publication = name(first)?;
    if !proposal::may_be_name(&publication) {
        return Err(crate::atom::publication::missing(&publication));
    }
    match rest[..] {
        [] => Ok(Resource::Of(publication, Part::Home)),
        [part] => match Part::of(part) {
            Some(part) => Ok(Resource::Of(publication, part)),
            None => Err(Problem::not_found()),
        },
        ["archive", number] => {
            let is_number = !number.starts_with('0') && number.bytes().all(|b| b.is_ascii_digit());
            let number = number.parse().ok().filter(|_| is_number);
            number
                .map(|number| Resource::Archive(publication, number))
                .ok_or_else(Problem::not_found)
        }
        [part, member] => {
            let place = Place { publication, member: name(member)? };
            match part {
                "entries" => Ok(Resource::Entry(place)),
                "media" => Ok(Resource::Medium(place)),
                "pages" => Ok(Resource::Page(place)),
                _ => Err(Problem::not_found()),
            }
        }
        _ => Err(Problem::not_found()),
    }
}

/// A name in a path. What clients and proxies would take out of it on the way is none.
fn name(segment: &str) -> Result<String, Problem> {
    let decoded = decode(segment)?;
    if decoded.is_empty() || decoded.len() > repository::limits::KEY_BYTES_MAX / 2 {
        return Err(Problem::not_found());
    }
    if matches!(&*decoded, "." | "..")
        || decoded.contains('/')
        || decoded.contains(char::is_control)
    {
        let detail = "a name in a path has no slash and no control characters, and is not a dot";
        return Err(Problem::new(Kind::InvalidName, detail));
    }
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_what_the_table_says() {
        let place = |member: &str| Place { publication: "a".into(), member: member.into() };
        let part = |part| Resource::Of("a".into(), part);
        for (path, expected) in [
            ("/atom", Resource::Publications),
            ("/atom/opml", Resource::Opml),
            ("/atom/a", part(Part::Home)),
            ("/atom/a/service", part(Part::Service)),
            ("/atom/a/entries", part(Part::Entries)),
            ("/atom/a/feed.json", part(Part::Json)),
            ("/atom/a/entries/x%20y", Resource::Entry(place("x y"))),
            ("/atom/a/media/x", Resource::Medium(place("x"))),
            ("/atom/a/pages/entries", Resource::Page(place("entries"))),
            ("/atom/a/archive/12", Resource::Archive("a".into(), 12)),
        ] {
            assert_eq!(locate(path), Ok(expected), "{path}");
        }
        assert!(owns("/atom") && owns("/atom/") && !owns("/atoms") && !owns("/"));
    }

    #[test]
    fn other_paths_name_nothing() {
        for (path, status) in [
            ("/atom/", 404),
            ("/atom/A", 404),
            ("/atom/a/", 404),
            ("/atom/a/other", 404),
            ("/atom/a/entries/", 404),
            ("/atom/a/entries/b/c", 404),
            ("/atom/a/archive/0", 404),
            ("/atom/a/archive/+1", 404),
            ("/atom/opml/entries", 404),
            ("/atom/a/entries/..", 400),
            ("/atom/a/entries/%2E%2e", 400),
            ("/atom/a/entries/b%2Fc", 400),
            ("/atom/a/entries/%00", 400),
            ("/atom/a/entries/%", 400),
            ("/atom/a/entries/%FF", 400),
        ] {
            assert_eq!(locate(path).map_err(|p| p.status()), Err(status), "{path}");
        }
        let long = format!("/atom/a/entries/{}", "x".repeat(300));
        assert_eq!(locate(&long).map_err(|p| p.status()), Err(404));
    }
}
