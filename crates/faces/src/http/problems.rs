//! The pages that problems name as their `type`: those of `docs/errors`, as HTML or as the Markdown
//! they are written in. `build.rs` makes the table.

use crate::http::accept;
use crate::problem::Problem;
use hyper::header::HeaderMap;

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

/// Whether Markdown, or plain text, suits the client better than HTML (RFC 9110 §12.5.1). Who takes
/// none of them gets HTML all the same: it is of more use than an error about an error.
fn wants_markdown(headers: &HeaderMap) -> bool {
    let best = accept::best(headers, &[HTML, MARKDOWN, "text/plain; charset=utf-8"]);
    best.is_some_and(|place| place > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Kind;
    use hyper::header::{ACCEPT, HeaderValue};
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
        for accept in [
            "text/markdown",
            "Text/Markdown;q=1, */*",
            "text/plain",
            "text/html;q=0.4, text/markdown;q=0.5",
            "text/*, text/html;q=0",
            "text/markdown; charset=utf-8",
        ] {
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
