//! A page of another site cannot have a browser change something; own pages and programs can.
//! Which request is of which kind is tested where it is decided.

use crate::support::{Setup, Site, request, site, site_with};
use gem::{Failure, FailureKind, Request};

const APP: &str = r#"
    app.post("/change", ({ db }) => { db.tally.add("n", 1); });
    app.get("/change", () => "a page");
    app.post("/hooks/:who", ({ db }) => { db.tally.add("n", 1); });"#;

fn from(method: &str, target: &str, fields: &[(&str, &str)]) -> Request {
    let mut request = request(method, target);
    let fields = [&[("host", "app.example")], fields].concat();
    request.headers.extend(fields.iter().map(|(n, v)| (n.to_string(), v.to_string())));
    request
}

const FOREIGN: [(&str, &str); 2] =
    [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")];

fn is_refused(site: &Site, request: Request) -> bool {
    let before = site.written();
    match site.send(request) {
        Err(Failure { kind: FailureKind::CrossSite, fault }) => {
            assert!(fault.message.contains("a page of https://evil.example"), "{fault}");
            assert_eq!(site.written(), before);
            true
        }
        Ok(_) => false,
        Err(failure) => panic!("{failure}"),
    }
}

#[test]
fn a_foreign_page_may_look_but_not_change() {
    let site = site(APP);
    assert!(is_refused(&site, from("POST", "/change", &FOREIGN)));
    assert!(is_refused(&site, from("POST", "/nowhere", &FOREIGN)));
    assert!(!is_refused(&site, from("GET", "/change", &FOREIGN)));
    assert!(!is_refused(&site, from("POST", "/change", &[("sec-fetch-site", "same-origin")])));
    assert!(!is_refused(&site, from("POST", "/change", &[("origin", "http://app.example")])));
    assert!(!is_refused(&site, from("POST", "/change", &[])));
}

#[test]
fn what_the_application_names_is_let_through() {
    let settings = "[csrf]\ntrusted_origins = [\"https://evil.example\"]\n";
    let site = site_with(APP, Setup { settings, ..Setup::default() });
    assert!(!is_refused(&site, from("POST", "/change", &FOREIGN)));
    let settings = "[csrf]\nexempt = [\"/hooks/*\"]\n";
    let site = site_with(APP, Setup { settings, ..Setup::default() });
    assert!(!is_refused(&site, from("POST", "/hooks/shop", &FOREIGN)));
    assert!(is_refused(&site, from("POST", "/change", &FOREIGN)));
    let settings = "[csrf]\ncheck = false\n";
    let site = site_with(APP, Setup { settings, ..Setup::default() });
    assert!(!is_refused(&site, from("POST", "/change", &FOREIGN)));
}
