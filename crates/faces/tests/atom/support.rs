//! Requests for publishing, and how their replies are read.

use crate::site::{Reply, Site, bare, get, with_type};
use wire::atom::{Entry, Feed, entry, feed};

pub const ENTRY: &str = "application/atom+xml;type=entry";

/// Among the children of an entry: it is a draft (RFC 5023 §13.1.1).
pub const DRAFT: &str = "<app:control xmlns:app=\"http://www.w3.org/2007/app\">\
                         <app:draft>yes</app:draft></app:control>";

/// An entry with these children beside its title.
pub fn an_entry(title: &str, more: &str) -> String {
    format!(
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>{title}</title>\
         <content>It was open until nine.</content>{more}</entry>"
    )
}

/// A POST of an entry; `fields` are whole lines.
pub fn post(publication: &str, fields: &str, entry: &str) -> String {
    with_type("POST", &format!("/atom/{publication}/entries"), (ENTRY, fields), entry)
}

/// A PUT of an entry.
pub fn put(path: &str, fields: &str, entry: &str) -> String {
    with_type("PUT", path, (ENTRY, fields), entry)
}

/// The path in a Location.
pub fn path(reply: &Reply) -> String {
    let location = reply.field("location").unwrap_or_else(|| panic!("no Location: {reply:?}"));
    location.strip_prefix("http://localhost").unwrap_or_else(|| panic!("{location}")).to_owned()
}

pub fn etag(reply: &Reply) -> String {
    reply.field("etag").unwrap_or_else(|| panic!("no ETag: {reply:?}")).to_owned()
}

/// Publishes an entry and gives its path.
#[track_caller]
pub fn publish(site: &Site, publication: &str, title: &str) -> String {
    let reply = site.ask(&post(publication, "", &an_entry(title, "")));
    assert_eq!(reply.status, 201, "{reply:?}");
    path(&reply)
}

pub fn read_entry(text: &str) -> Entry<'_> {
    entry::read(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub fn read_feed(text: &str) -> Feed<'_> {
    feed::read(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The titles in a collection, as its first page has them.
pub fn titles(site: &Site, collection: &str) -> Vec<String> {
    let reply = site.ask(&get(collection));
    assert_eq!(reply.status, 200, "{reply:?}");
    of_feed(&reply.body)
}

pub fn of_feed(text: &str) -> Vec<String> {
    read_feed(text).entries.iter().map(|one| one.title.as_ref().unwrap().value.clone()).collect()
}

/// Makes a publication of JSON and gives its name.
#[track_caller]
pub fn make(site: &Site, json: &str) -> String {
    let reply = site.ask(&with_type("POST", "/atom", ("application/json", ""), json));
    assert_eq!(reply.status, 201, "{reply:?}");
    let service = path(&reply);
    service.strip_prefix("/atom/").unwrap().strip_suffix("/service").unwrap().to_owned()
}

/// A request without content that needs a length all the same.
pub fn delete(path: &str, fields: &str) -> String {
    bare("DELETE", path, fields)
}
