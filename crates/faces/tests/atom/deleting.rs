//! DELETE of members.

use crate::site::{Site, get};
use crate::support::*;

#[test]
fn rfc5023_5_4_3_a_deleted_entry_is_gone() {
    let site = Site::start();
    let member = publish(&site, "blog", "A");
    publish(&site, "blog", "B");
    let reply = site.ask(&delete(&member, ""));
    assert_eq!((reply.status, reply.field("sarsen-durability")), (204, Some("synced")));
    let reply = site.ask(&get(&member));
    assert_eq!((reply.status, reply.problem()), (410, "gone"));
    assert_eq!(titles(&site, "/atom/blog/entries"), ["B"]);
    assert_eq!(site.ask(&delete(&member, "")).status, 410);
    assert_eq!(site.ask(&put(&member, "", &an_entry("C", ""))).status, 410);
    assert_eq!(site.ask(&delete("/atom/blog/entries/never", "")).status, 404);
}

#[test]
fn policy_a_slug_of_what_was_deleted_is_not_given_away() {
    let site = Site::start();
    let slug = "Slug: A\r\n";
    let member = path(&site.ask(&post("blog", slug, &an_entry("A", ""))));
    site.ask(&delete(&member, ""));
    let again = path(&site.ask(&post("blog", slug, &an_entry("A", ""))));
    assert_eq!(again, "/atom/blog/entries/a-2");
}
