//! Every document of Atom that the server shows is valid (RFC 4287; RFC 5023, Appendix B; RFC
//! 6721), says jing (Debian's package; `make test` installs it).

use crate::site::{Site, get, with_type};
use crate::support::*;
use std::path::Path;
use std::process::Command;

#[test]
fn rfc4287_appendix_b_whatever_is_shown_is_valid() {
    let site = Site::start();
    let more =
        "<category term=\"a\"/><dc:x xmlns:dc=\"urn:dc\" y=\"z\">kept</dc:x><rights>r</rights>";
    make(&site, r#"{"title":"Blog & <b>","subtitle":"s","author":"Zoë","lang":"fr"}"#);
    for number in 0..130 {
        let entry = an_entry(&format!("{number} &amp; &lt;"), more);
        assert_eq!(site.ask(&post("blog-b", "", &entry)).status, 201);
    }
    let picture = with_type("POST", "/atom/blog-b/media", ("image/png", "Slug: a\r\n"), "x");
    assert_eq!(site.ask(&picture).status, 201);
    let member = publish(&site, "blog-b", "Gone");
    site.ask(&delete(&member, ""));
    make(&site, r#"{"title":"Empty"}"#);
    let folder = tempfile::tempdir().unwrap();
    let mut documents = 0;
    let mut keep = |at: &str| {
        let reply = site.ask(&get(at));
        assert_eq!(reply.status, 200, "{at}: {reply:?}");
        documents += 1;
        std::fs::write(folder.path().join(format!("{documents}.xml")), &reply.body).unwrap();
        reply.body
    };
    keep("/atom");
    for name in ["blog-b", "empty"] {
        for of in ["service", "categories", "entries", "media", "feed", "feed?limit=2", "changes"] {
            keep(&format!("/atom/{name}/{of}"));
        }
    }
    let mut at = Some("/atom/blog-b/feed".to_owned());
    while let Some(here) = at {
        at = read_feed(&keep(&here)).href("prev-archive").map(str::to_owned);
    }
    keep("/atom/blog-b/entries/a");
    let schema = "../wire/tests/atom/schemas/atom.rnc";
    let said = Command::new("jing")
        .arg("-c")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(schema))
        .args((1..=documents).map(|number| folder.path().join(format!("{number}.xml"))))
        .output()
        .expect("jing starts; scripts/setup.sh jing installs it");
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
}
