//! The pages that problems name as their `type`: those of `docs/errors`, as HTML or as the Markdown
//! they are written in. `build.rs` makes the table.

use crate::problem::Problem;
use hyper::header::{ACCEPT, HeaderMap};

/// A page.
struct Page {
    /// The last part of its path; empty for the list of all.
    name: &'static str,
    html: &'static str,
    markdown: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/problem_pages.rs"));

const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// The page at `path`, below `/errors`, in the form that suits the client, with its media type.
pub(crate) fn page(
    path: &str,
    headers: &HeaderMap,
) -> Result<(&'static str, &'static str), Problem> {
    let name = path.strip_prefix("/errors").unwrap_or_default();
    let name = name.strip_prefix('/').unwrap_or(name);
    let page = PAGES.iter().find(|page| page.name == name).ok_or_else(Problem::not_found)?;
    Ok(if wants_markdown(headers) { (MARKDOWN, page.markdown) } else { (HTML, page.html) })
}

/// The names of all kinds of problems.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.name).filter(|name| !name.is_empty())
}

/// Whether Markdown, or text of any kind but HTML, is asked for by name (RFC 9110 §12.5.1). Weights
/// are not compared: browsers name HTML first, and who wants Markdown does not name HTML.
fn wants_markdown(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let mut ranges = lines
        .flat_map(|line| line.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim());
    let named = ranges.find(|range| {
        ["text/html", "text/markdown", "text/plain"]
            .iter()
            .any(|one| range.eq_ignore_ascii_case(one))
    });
    named.is_some_and(|range| !range.eq_ignore_ascii_case("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Kind;
    use hyper::header::HeaderValue;
    use std::collections::BTreeSet;

    fn media_type(accept: Option<&'static str>) -> &'static str {
        let fields = accept.map(|accept| (ACCEPT, HeaderValue::from_static(accept)));
        page("/errors/not-found", &fields.into_iter().collect()).unwrap().0
    }

    #[test]
    fn rfc9110_12_5_1_html_unless_other_text_is_asked_for() {
        for accept in [None, Some("*/*"), Some("text/html,text/markdown"), Some("application/json")]
        {
            assert_eq!(media_type(accept), HTML, "{accept:?}");
        }
        for accept in ["text/markdown", "Text/Markdown;q=1, */*", "text/plain"] {
            assert_eq!(media_type(Some(accept)), MARKDOWN, "{accept}");
        }
    }

    #[test]
    fn every_kind_of_problem_has_its_page_and_every_page_its_kind() {
        let kinds: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.row().name).collect();
        let pages: BTreeSet<&str> = PAGES.iter().map(|page| page.name).collect();
        let expected: BTreeSet<&str> = kinds.iter().copied().chain([""]).collect();
        assert_eq!(pages, expected, "docs/errors/ and the table in problem.rs differ");
    }

    #[test]
    fn a_page_begins_with_the_title_and_status_of_its_kind() {
        let all = PAGES.iter().find(|page| page.name.is_empty()).unwrap();
        for kind in Kind::ALL {
            let row = kind.row();
            let page = PAGES.iter().find(|page| page.name == row.name).unwrap();
            let start = format!("# {}\n\n`{}`, status {}\n", row.title, row.name, row.status);
            assert!(page.markdown.starts_with(&start), "{}: expected {start:?}", row.name);
            assert!(page.html.contains(&format!("<title>{}", row.title)), "{}", row.name);
            assert!(
                all.markdown.contains(&format!("]({}.md)", row.name)),
                "{} is listed",
                row.name
            );
        }
    }

    #[test]
    fn what_has_no_page_is_not_found() {
        for path in ["/errors/nothing", "/errors/not-found/", "/errors//", "/errors/README"] {
            assert!(page(path, &HeaderMap::new()).is_err(), "{path}");
        }
        for path in ["/errors", "/errors/"] {
            assert!(page(path, &HeaderMap::new()).is_ok(), "{path}");
        }
    }
}
