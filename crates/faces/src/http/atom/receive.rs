//! What is sent to be published: its media type is looked at before its content is asked for, and
//! content that is XML becomes text. What XML means is in `wire::atom`.

use crate::atom::proposal::Form;
use crate::atom::slug;
use crate::http::content;
use crate::limits::SLUG_BYTES_MAX;
use crate::problem::{Kind, Problem};
use hyper::header::{HeaderMap, HeaderName};
use std::borrow::Cow;
use wire::atom::media_type;
use wire::xml;

/// The charset that a request states, if it does.
pub(super) type Charset = Option<String>;

/// Checks that an entry is sent.
pub(super) fn entry(headers: &HeaderMap) -> Result<Charset, Problem> {
    let sent = content::stated(headers)?;
    if !is(sent, "application/atom+xml") {
        return Err(other(sent, wire::atom::ENTRY_TYPE));
    }
    if media_type::parameter(sent, "type").is_some_and(|kind| !kind.eq_ignore_ascii_case("entry")) {
        let detail = "a collection takes entries, one at a time; got a feed";
        return Err(Problem::new(Kind::BadRequest, detail));
    }
    Ok(charset(sent))
}

/// The media type of media.
pub(super) fn medium(headers: &HeaderMap) -> Result<String, Problem> {
    let sent = content::stated(headers)?;
    let bytes_max = repository::limits::MEDIA_TYPE_BYTES_MAX;
    if !media_type::is_one(sent) || sent.len() > bytes_max {
        let detail =
            format!("a media type is type/subtype, of at most {bytes_max} bytes; got {sent}");
        return Err(Problem::new(Kind::UnsupportedMediaType, detail));
    }
    Ok(sent.to_owned())
}

/// In which form a publication is sent.
pub(super) fn publication(headers: &HeaderMap) -> Result<(Form, Charset), Problem> {
    const TAKEN: &str = "application/json, application/x-www-form-urlencoded, \
                         application/atom+xml;type=feed, application/atomsvc+xml";
    let sent = content::stated(headers)?;
    let kind = media_type::parameter(sent, "type");
    let form = match () {
        () if is(sent, "application/json") => Form::Json,
        () if is(sent, "application/x-www-form-urlencoded") => Form::Fields,
        () if is(sent, "application/atom+xml")
            && kind.is_none_or(|kind| kind.eq_ignore_ascii_case("feed")) =>
        {
            Form::Feed
        }
        () if is(sent, wire::atom::SERVICE_TYPE) || is(sent, "application/xml") => Form::Workspace,
        () => return Err(other(sent, TAKEN)),
    };
    Ok((form, charset(sent)))
}

fn is(sent: &str, essence: &str) -> bool {
    media_type::essence(sent).eq_ignore_ascii_case(essence)
}

fn charset(sent: &str) -> Charset {
    media_type::parameter(sent, "charset").map(str::to_owned)
}

fn other(sent: &str, expected: &'static str) -> Problem {
    let detail = format!("expected {expected}; got {sent}");
    let mut problem = Problem::new(Kind::UnsupportedMediaType, detail);
    problem.more().accept = Some(expected.to_owned());
    problem
}

/// The text of XML, or of a form or JSON, which are UTF-8 anyway.
pub(super) fn text<'a>(bytes: &'a [u8], charset: Option<&str>) -> Result<Cow<'a, str>, Problem> {
    xml::decode(bytes, charset).map_err(|error| Problem::new(Kind::MalformedXml, error.to_string()))
}

const SLUG: HeaderName = HeaderName::from_static("slug");

/// What Slug says (RFC 5023 §9.7.1), as a title. What cannot be read is none.
pub(super) fn title(headers: &HeaderMap) -> Option<String> {
    let encoded = headers.get(SLUG)?.to_str().ok()?;
    let decoded = crate::http::path::decode(encoded).ok()?;
    let title: String = decoded.chars().filter(|c| !c.is_control()).collect();
    Some(slug::cut(title.trim(), SLUG_BYTES_MAX).trim_end().to_owned())
        .filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{CONTENT_TYPE, HeaderValue};

    fn of(sent: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(sent))])
    }

    #[test]
    fn rfc5023_9_6_and_12_1_entries_by_their_media_type() {
        let taken = |sent| entry(&of(sent)).map_err(|problem| problem.status());
        for sent in [
            "application/atom+xml",
            "application/atom+xml;type=entry",
            "Application/Atom+XML; Type=\"ENTRY\"",
        ] {
            assert_eq!(taken(sent), Ok(None), "{sent}");
        }
        assert_eq!(taken("application/atom+xml;charset=utf-16"), Ok(Some("utf-16".into())));
        assert_eq!(taken("application/atom+xml;type=feed"), Err(400));
        for sent in ["text/xml", "application/xml", "image/png", "x"] {
            assert_eq!(taken(sent), Err(415), "{sent}");
        }
        assert_eq!(entry(&HeaderMap::new()).map_err(|p| p.status()), Err(415));
    }

    #[test]
    fn rfc5023_9_7_a_slug_as_a_title() {
        let of = |text: &'static str| {
            title(&HeaderMap::from_iter([(SLUG, HeaderValue::from_static(text))]))
        };
        assert_eq!(of("The Beach at S%C3%A8te").as_deref(), Some("The Beach at Sète"));
        for nothing in ["", "%", "%FF", "%00", " "] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }
}
