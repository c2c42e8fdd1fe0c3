//! Pages of other origins, as browsers ask for them (the Fetch standard).

use crate::site::{Reply, Site, bare, put};

const APP: &str = "https://app.example";

fn site() -> Site {
    Site::with(|options| {
        options.cors_origins = vec![APP.to_owned(), "http://localhost:3000".into()]
    })
}

fn preflight(site: &Site, path: &str, origin: &str) -> Reply {
    let fields = format!("Origin: {origin}\r\nAccess-Control-Request-Method: PUT\r\n");
    site.ask(&bare("OPTIONS", path, &fields))
}

#[test]
fn a_preflight_is_answered() {
    let site = site();
    let reply = preflight(&site, "/db/notes/a", APP);
    assert_eq!((reply.status, reply.field("access-control-allow-origin")), (204, Some(APP)));
    let methods = reply.field("access-control-allow-methods").unwrap();
    assert!(methods.contains("PUT") && methods.contains("PATCH"), "{methods}");
    assert!(
        !preflight(&site, "/tx", APP)
            .field("access-control-allow-methods")
            .unwrap()
            .contains("PUT")
    );
    let fields = reply.field("access-control-allow-headers").unwrap().to_lowercase();
    for field in ["content-type", "if-match", "idempotency-key", "prefer", "authorization"] {
        assert!(fields.contains(field), "{field}");
    }
    assert_eq!(reply.field("access-control-max-age"), Some("600"));
    assert!(reply.field("vary").unwrap().starts_with("Origin"));
    assert_eq!(reply.field("access-control-allow-credentials"), None);
}

#[test]
fn a_named_origin_reads_and_writes() {
    let site = site();
    let from = format!("Origin: {APP}\r\nSec-Fetch-Site: cross-site\r\n");
    let written = site.ask(&put("/db/notes/a", &from, "1"));
    assert_eq!((written.status, written.field("access-control-allow-origin")), (201, Some(APP)));
    let shown = written.field("access-control-expose-headers").unwrap();
    for field in ["ETag", "Location", "Sarsen-Commit", "Sarsen-Durability"] {
        assert!(shown.contains(field), "{field}");
    }
    // Problems can be read too.
    let absent = site.ask(&bare("GET", "/db/notes/b", &from));
    assert_eq!((absent.status, absent.field("access-control-allow-origin")), (404, Some(APP)));
}

#[test]
fn other_origins_get_no_permission_and_change_nothing() {
    let site = site();
    for origin in ["https://evil.example", "http://app.example", "null"] {
        let reply = preflight(&site, "/db/notes/a", origin);
        assert_eq!(reply.field("access-control-allow-origin"), None, "{origin}");
        assert_eq!(reply.field("vary"), Some("Origin"));
        let write = site.ask(&put("/db/notes/a", &format!("Origin: {origin}\r\n"), "1"));
        assert_eq!(write.problem(), "cross-site", "{origin}");
        assert_eq!(write.field("access-control-allow-origin"), None);
    }
    assert_eq!(site.ask(&bare("GET", "/db/notes/a", "")).field("vary"), Some("Origin"));
}

#[test]
fn without_the_setting_there_is_no_word_of_it() {
    let site = Site::start();
    let reply = preflight(&site, "/db/notes/a", APP);
    assert_eq!((reply.status, reply.field("vary")), (204, None));
    assert!(!reply.fields.iter().any(|(name, _)| name.starts_with("access-control")));
}

#[test]
fn the_servers_own_pages_can_be_read_too() {
    let site = site();
    let reply = site.ask(&bare("GET", "/healthz", &format!("Origin: {APP}\r\n")));
    assert_eq!(reply.field("access-control-allow-origin"), Some(APP));
}

#[test]
fn any_origin_may_be_named() {
    let site = Site::with(|options| options.cors_origins = vec!["*".to_owned()]);
    let written = site.ask(&put("/db/notes/a", "Origin: https://x.example\r\n", "1"));
    assert_eq!(written.field("access-control-allow-origin"), Some("*"));
    assert_eq!(written.status, 201);
}
