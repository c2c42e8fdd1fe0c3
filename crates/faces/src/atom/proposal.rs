//! What a publication is made of: JSON, a form, an `app:workspace` or a feed. Only what it says is
//! read here; making it is in `publication`.

use super::publication::{self, marked_up};
use super::{Publication, clean, slug};
use crate::limits::{
    PUBLICATION_CATEGORIES_MAX, PUBLICATION_NAME_BYTES_MAX, PUBLICATION_TEXT_BYTES_MAX,
};
use crate::problem::{Kind, Problem};
use serde_json::Value;
use wire::atom::{Categories, Category, Class, ReadError, Text, TextKind, feed, service};

/// In which form it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Fields,
    Workspace,
    Feed,
}

/// Reads what is wanted. Its name is still empty.
pub(crate) fn read(form: Form, text: &str) -> Result<Publication, Problem> {
    let proposed = match form {
        Form::Json => {
            let json: Value = serde_json::from_str(text)
                .map_err(|error| Problem::new(Kind::InvalidJson, error.to_string()))?;
            of_json(&json)?
        }
        Form::Fields => of_fields(text)?,
        Form::Workspace => of_workspace(text)?,
        Form::Feed => of_feed(text)?,
    };
    check(proposed)
}

/// That no text of it is out of bounds, which would be on every page.
fn check(proposed: Publication) -> Result<Publication, Problem> {
    let Publication { title_html, subtitle, subtitle_html, author, .. } = &proposed;
    let texts = [title_html, subtitle, subtitle_html, author];
    let longest = texts.into_iter().flatten().chain([&proposed.title]).map(String::len).max();
    if proposed.title.trim().is_empty() {
        return Err(unfit("a publication needs a title, such as {\"title\": \"Notes\"}"));
    }
    if proposed.categories.list.len() > PUBLICATION_CATEGORIES_MAX
        || proposed.accepts.len() > PUBLICATION_CATEGORIES_MAX
    {
        let most = PUBLICATION_CATEGORIES_MAX;
        return Err(unfit(&format!(
            "a publication lists at most {most} categories or media ranges"
        )));
    }
    if longest.is_some_and(|bytes| bytes > PUBLICATION_TEXT_BYTES_MAX) {
        let detail =
            format!("title, subtitle and author have at most {PUBLICATION_TEXT_BYTES_MAX} bytes");
        return Err(unfit(&detail));
    }
    check_forms(&proposed)?;
    Ok(proposed)
}

/// That what others read as something is that: languages, media ranges, IRIs.
fn check_forms(proposed: &Publication) -> Result<(), Problem> {
    let shown = |text: &str| text.chars().take(60).collect::<String>();
    if let Some(lang) = proposed.lang.as_ref().filter(|lang| !wire::atom::is_language(lang)) {
        let lang = shown(lang);
        return Err(unfit(&format!("lang is the tag of a language, such as \"en\"; got {lang:?}")));
    }
    if let Some(range) = proposed.accepts.iter().find(|range| !publication::is_accept(range)) {
        let range = shown(range);
        return Err(unfit(&format!(
            "accepts lists media ranges such as \"image/*\"; entries of Atom have a collection of \
             their own; got {range:?}"
        )));
    }
    let listed = proposed.categories.list.iter().map(|one| &one.scheme);
    let mut schemes = listed.chain([&proposed.categories.scheme]).flatten();
    if let Some(scheme) = schemes.find(|scheme| !wire::uri::is_reference(scheme)) {
        let scheme = shown(scheme);
        return Err(unfit(&format!("a scheme is an IRI without white space; got {scheme:?}")));
    }
    Ok(())
}

/// The name that a title gives, in the form of a key: letters and digits, and `-` between them.
pub(crate) fn name_of(text: &str) -> Option<String> {
    Some(slug::of(text, PUBLICATION_NAME_BYTES_MAX)).filter(|name| !name.is_empty())
}

/// Whether there may be a publication of that name, of this version or an earlier one.
pub(crate) fn may_be_name(text: &str) -> bool {
    slug::is_one(text, PUBLICATION_NAME_BYTES_MAX) && text != OPML
}

/// Whether a publication may have that name.
pub(crate) fn is_name(text: &str) -> bool {
    name_of(text).is_some_and(|name| name == text) && text != OPML
}

/// What `/atom/opml` is.
pub(crate) const OPML: &str = "opml";

fn unfit(detail: &str) -> Problem {
    Problem::new(Kind::InvalidEntry, detail.to_owned())
}

/// The problem of a document that is not taken.
pub(crate) fn refused(error: &ReadError) -> Problem {
    let kind = match error.class() {
        Class::Malformed | Class::WrongRoot => Kind::MalformedXml,
        Class::Invalid => Kind::InvalidEntry,
    };
    Problem::new(kind, error.to_string())
}

/// `{"title", "title_type", "subtitle", "subtitle_type", "author", "lang", "accepts": [...],
/// "strict", "private", "categories": {"fixed", "scheme", "list": [{"term", "scheme", "label"}]}}`.
fn of_json(json: &Value) -> Result<Publication, Problem> {
    const KNOWN: [&str; 10] = [
        "title",
        "title_type",
        "subtitle",
        "subtitle_type",
        "author",
        "lang",
        "accepts",
        "strict",
        "private",
        "categories",
    ];
    let members = json.as_object().ok_or_else(|| unfit("expected an object with a title"))?;
    if let Some(other) = members.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        return Err(unfit(&format!("expected {}; got {other:?}", KNOWN.join(", "))));
    }
    let marked = |name: &str, kind: &str| {
        let kept = text(json, name)?.unwrap_or_default();
        match text(json, kind)?.as_deref() {
            None | Some("text") => Ok((kept, None)),
            Some("html") => Ok(marked_up(clean::html(&kept, None), "html")),
            Some(_) => Err(unfit(&format!("{kind} is \"text\" or \"html\""))),
        }
    };
    let mut made = Publication::new("", "");
    (made.title, made.title_html) = marked("title", "title_type")?;
    let (subtitle, subtitle_html) = marked("subtitle", "subtitle_type")?;
    made.subtitle = Some(subtitle).filter(|_| !json["subtitle"].is_null());
    made.subtitle_html = subtitle_html;
    made.author = text(json, "author")?;
    made.lang = text(json, "lang")?;
    if !json["accepts"].is_null() {
        let accepts = listed(&json["accepts"], "accepts")?;
        let range = |one: &Value| match one.as_str() {
            Some(range) => Ok(range.trim().to_owned()),
            None => Err(unfit("accepts is a list of texts")),
        };
        made.accepts = accepts.iter().map(range).collect::<Result<_, _>>()?;
    }
    made.categories = categories_of(&json["categories"])?;
    made.is_strict = flag(json, "strict")?;
    made.is_private = flag(json, "private")?;
    Ok(made)
}

fn categories_of(json: &Value) -> Result<Categories, Problem> {
    if !json.is_null() && !json.is_object() {
        return Err(unfit("categories is an object with a list"));
    }
    let category = |one: &Value| {
        let term = text(one, "term")?.ok_or_else(|| unfit("a category has a term"))?;
        let (scheme, label) = (text(one, "scheme")?, text(one, "label")?);
        Ok::<_, Problem>(Category { term, scheme, label })
    };
    let list = listed(&json["list"], "the list of categories")?;
    Ok(Categories {
        href: None,
        is_fixed: flag(json, "fixed")?,
        scheme: text(json, "scheme")?,
        list: list.iter().map(category).collect::<Result<_, _>>()?,
    })
}

fn text(json: &Value, name: &str) -> Result<Option<String>, Problem> {
    match &json[name] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(unfit(&format!("{name} is text"))),
    }
}

fn flag(json: &Value, name: &str) -> Result<bool, Problem> {
    match &json[name] {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(*flag),
        _ => Err(unfit(&format!("{name} is true or false"))),
    }
}

fn listed<'a>(json: &'a Value, name: &str) -> Result<&'a [Value], Problem> {
    match json {
        Value::Null => Ok(&[]),
        Value::Array(list) => Ok(list),
        _ => Err(unfit(&format!("{name} is a list"))),
    }
}

/// `title=Notes&subtitle=...&author=...`.
fn of_fields(text: &str) -> Result<Publication, Problem> {
    let mut made = Publication::new("", "");
    for (name, value) in query::pairs(Some(text), &["title", "subtitle", "author", "lang"])? {
        match name {
            // A field that is left empty says nothing.
            _ if value.is_empty() => {}
            "title" => made.title = value,
            "subtitle" => made.subtitle = Some(value),
            "author" => made.author = Some(value),
            _ => made.lang = Some(value),
        }
    }
    Ok(made)
}

/// The categories are those of the first collection that has some.
fn of_workspace(text: &str) -> Result<Publication, Problem> {
    let workspaces = service::read(text).map_err(|error| refused(&error))?;
    let workspace = workspaces.into_iter().next();
    let workspace = workspace.ok_or_else(|| unfit("expected a workspace with a title"))?;
    let mut made = Publication::new("", &workspace.title);
    let mut lists = workspace.collections.into_iter().flat_map(|collection| collection.categories);
    if let Some(categories) = lists.find(|categories| categories.href.is_none()) {
        made.categories = categories;
    }
    Ok(made)
}

/// The head of the feed; its entries are to be posted.
fn of_feed(text: &str) -> Result<Publication, Problem> {
    let feed = feed::read(text).map_err(|error| refused(&error))?;
    let marked = |text: Text| match text.kind {
        TextKind::Text => (text.value, None),
        TextKind::Html | TextKind::Xhtml => {
            marked_up(clean::html(&text.value, text.base.as_deref()), "html")
        }
    };
    let mut made = Publication::new("", "");
    (made.title, made.title_html) = feed.title.map(marked).unwrap_or_default();
    if let Some((subtitle, html)) = feed.subtitle.map(marked) {
        (made.subtitle, made.subtitle_html) = (Some(subtitle), html);
    }
    made.author = feed.authors.into_iter().next().map(|author| author.name);
    made.lang = feed.lang;
    made.categories.list = feed.categories;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_make_names() {
        for (title, name) in [
            ("Notes", Some("notes")),
            ("  The Beach at Sète! ", Some("the-beach-at-sète")),
            ("../..", None),
            ("", None),
        ] {
            assert_eq!(name_of(title).as_deref(), name, "{title}");
        }
        assert!(is_name("a-1") && !is_name("A") && !is_name("a/b") && !is_name("-a"));
        assert!(!is_name("opml") && !is_name("..") && !is_name(""));
        assert!(name_of(&"ä".repeat(200)).unwrap().len() <= PUBLICATION_NAME_BYTES_MAX);
    }

    #[test]
    fn what_json_says_is_checked() {
        let title = |text| read(Form::Json, text).map(|made| made.title).map_err(|p| p.status());
        assert_eq!(title(r#"{"title":"Notes"}"#), Ok("Notes".to_owned()));
        for (wrong, status) in [
            ("{", 400),
            ("[]", 422),
            ("{}", 422),
            (r#"{"title":" "}"#, 422),
            (r#"{"title":1}"#, 422),
            (r#"{"title":"a","strict":"yes"}"#, 422),
            (r#"{"title":"a","titel":"b"}"#, 422),
            (r#"{"title":"a","categories":{"list":[{}]}}"#, 422),
        ] {
            assert_eq!(title(wrong), Err(status), "{wrong}");
        }
        let long = format!(r#"{{"title":"{}"}}"#, "a".repeat(PUBLICATION_TEXT_BYTES_MAX + 1));
        assert_eq!(title(&long), Err(422));
        let many = vec![r#"{"term":"a"}"#; PUBLICATION_CATEGORIES_MAX + 1].join(",");
        let many = format!(r#"{{"title":"a","categories":{{"list":[{many}]}}}}"#);
        assert_eq!(title(&many), Err(422));
    }

    #[test]
    fn forms_workspaces_and_feeds_have_titles() {
        let made = read(Form::Fields, "title=A+b%21&author=Zo%C3%AB").unwrap();
        assert_eq!((made.title.as_str(), made.author.as_deref()), ("A b!", Some("Zoë")));
        let workspace = r#"<workspace xmlns="http://www.w3.org/2007/app"
            xmlns:a="http://www.w3.org/2005/Atom"><a:title>W</a:title></workspace>"#;
        assert_eq!(read(Form::Workspace, workspace).unwrap().title, "W");
        let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="fr"><title>F</title>
            <author><name>Z</name></author></feed>"#;
        let made = read(Form::Feed, feed).unwrap();
        assert_eq!((made.title.as_str(), made.lang.as_deref()), ("F", Some("fr")));
    }
}
