//! Publications: made, changed, and made on demand.

use crate::site::{Site, get, with_json, with_type};
use crate::support::*;
use wire::atom::service;

#[test]
fn policy_a_publication_is_made_of_json_a_form_a_workspace_or_a_feed() {
    let site = Site::start();
    let workspace = "<workspace xmlns=\"http://www.w3.org/2007/app\" \
                     xmlns:a=\"http://www.w3.org/2005/Atom\"><a:title>W</a:title></workspace>";
    let feed = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>F</title></feed>";
    for (media_type, body, name) in [
        ("application/json", r#"{"title":"J"}"#, "j"),
        ("application/x-www-form-urlencoded", "title=O+k", "o-k"),
        ("application/atomsvc+xml", workspace, "w"),
        ("application/atom+xml;type=feed", feed, "f"),
    ] {
        let reply = site.ask(&with_type("POST", "/atom", (media_type, ""), body));
        assert_eq!((reply.status, path(&reply)), (201, format!("/atom/{name}/service")));
        assert_eq!(reply.field("content-location"), reply.field("location"));
        assert_eq!(service::read(&reply.body).unwrap().len(), 1);
        let got = site.ask(&get(&path(&reply)));
        assert_eq!((&got.body, got.field("etag")), (&reply.body, reply.field("etag")));
    }
}

#[test]
fn policy_names_come_from_the_slug_or_the_title() {
    let site = Site::start();
    let make = |slug: &str| {
        let fields = if slug.is_empty() { String::new() } else { format!("Slug: {slug}\r\n") };
        site.ask(&with_json("POST", "/atom", &fields, r#"{"title":"Notes"}"#))
    };
    assert_eq!(path(&make("My own")), "/atom/my-own/service");
    let again = make("My own");
    assert_eq!((again.status, again.problem()), (409, "identity-conflict"));
    assert_eq!(path(&make("")), "/atom/notes/service");
    assert_eq!(path(&make("")), "/atom/notes-2/service");
    assert_eq!(make("opml").status, 400);
}

#[test]
fn policy_what_is_no_publication_is_refused() {
    let site = Site::start();
    for (media_type, body, status) in [
        ("application/json", "{", 400),
        ("application/json", "{}", 422),
        ("text/plain", "Notes", 415),
        ("application/atom+xml;type=entry", "x", 415),
        ("application/atom+xml;type=feed", "<feed", 400),
        ("application/x-www-form-urlencoded", "name=x", 400),
    ] {
        let reply = site.ask(&with_type("POST", "/atom", (media_type, ""), body));
        assert_eq!(reply.status, status, "{media_type} {body}: {reply:?}");
    }
}

#[test]
fn policy_the_first_entry_makes_the_publication() {
    let site = Site::start();
    publish(&site, "new-one", "A");
    assert_eq!(site.ask(&get("/atom/new-one/service")).status, 200);
    let site = Site::with(|options| options.atom_on_demand = Some(false));
    let reply = site.ask(&post("new-one", "", &an_entry("A", "")));
    assert_eq!((reply.status, reply.problem()), (404, "not-found"));
}

#[test]
fn policy_settings_can_be_changed() {
    let site = Site::start();
    make(&site, r#"{"title":"Notes"}"#);
    let at = "/atom/notes/settings";
    let settings = site.ask(&get(at));
    assert_eq!(settings.json()["title"], "Notes");
    let changed = settings.body.replace("\"strict\":false", "\"strict\":true");
    let stale = site.ask(&with_json("PUT", at, "If-Match: \"999\"\r\n", &changed));
    assert_eq!(stale.status, 412);
    let fields = format!("If-Match: {}\r\n", etag(&settings));
    assert_eq!(site.ask(&with_json("PUT", at, &fields, &changed)).status, 204);
    let member = publish(&site, "notes", "A");
    assert_eq!(site.ask(&put(&member, "", &an_entry("B", ""))).status, 428);
}

#[test]
fn policy_what_keeps_publications_is_not_shown() {
    let site = Site::start();
    publish(&site, "blog", "A");
    for at in ["/db/_atom-entries", "/db/_atom-publications/blog"] {
        assert_eq!(site.ask(&get(at)).status, 404, "{at}");
    }
    assert!(!site.ask(&get("/db")).body.contains("_atom"));
}

#[test]
fn policy_a_publication_can_be_deleted() {
    let site = Site::start();
    make(&site, r#"{"title":"Notes"}"#);
    publish(&site, "notes-2", "Stays");
    let mut client = site.connect();
    for number in 0..700 {
        let fields = format!("Slug: {number}\r\n");
        assert_eq!(client.ask(&post("notes", &fields, &an_entry("A", ""))).status, 201);
    }
    let media = with_type("POST", "/atom/notes/media", ("image/png", "Slug: m\r\n"), "x");
    assert_eq!(site.ask(&media).status, 201);
    site.ask(&delete("/atom/notes/entries/5", ""));
    assert_eq!(site.ask(&delete("/atom/notes", "If-Match: \"999999\"\r\n")).status, 412);
    assert_eq!(site.ask(&delete("/atom/notes", "")).status, 204);
    for of in ["", "/service", "/feed", "/entries", "/entries/1", "/pages/1", "/media/m"] {
        assert_eq!(site.ask(&get(&format!("/atom/notes{of}"))).status, 404, "{of}");
    }
    assert_eq!(site.ask(&delete("/atom/notes", "")).status, 404);
    assert!(!site.ask(&get("/atom")).body.contains("/atom/notes/"));
    assert_eq!(titles(&site, "/atom/notes-2/entries"), ["Stays"]);
    // One of the same name begins anew.
    let again = path(&site.ask(&post("notes", "Slug: 5\r\n", &an_entry("B", ""))));
    assert_eq!(again, "/atom/notes/entries/5");
    assert_eq!(titles(&site, "/atom/notes/entries"), ["B"]);
    assert_eq!(site.ask(&get("/atom/notes/changes")).body.matches("deleted-entry").count(), 0);
}

#[test]
fn policy_who_deletes_a_publication_deletes_no_other_of_its_name() {
    let site = Site::start();
    for round in 0..3 {
        make(&site, r#"{"title":"Notes"}"#);
        let mut client = site.connect();
        for number in 0..400 {
            assert_eq!(client.ask(&post("notes", "", &an_entry("A", ""))).status, 201, "{number}");
        }
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let delete = || site.ask(&delete("/atom/notes", "")).status;
            let both = [scope.spawn(delete), scope.spawn(delete)];
            both.map(|one| one.join().unwrap()).into()
        });
        assert!(statuses.contains(&204), "{round}: {statuses:?}");
        assert!(statuses.iter().all(|status| matches!(status, 204 | 404)), "{statuses:?}");
        assert_eq!(site.ask(&get("/atom/notes/entries")).status, 404);
    }
}
