//! `[collections.NAME]` in `sarsen.toml`: settings that are there when the application is served.

use crate::support::{self, Setup, load, load_error, site_with};
use repository::{CollectionName, Durability, Settings};

const SETTINGS: &str = r#"
[collections.notes]
durability = "written"
expiry = 60000

[[collections.notes.indexes]]
name = "by_state"
paths = [{ path = "/state", kind = "text" }, { path = "/n" }]
unique = true

[collections.plain]
"#;

fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

#[test]
fn they_are_set_at_the_start_and_only_where_they_differ() {
    let site = site_with("", Setup { settings: SETTINGS, ..Setup::default() });
    let settings = site.repository.settings(&notes());
    assert_eq!((settings.durability, settings.expiry_ms), (Durability::Written, Some(60_000)));
    let index = &settings.indexes[0];
    assert_eq!((index.name.as_str(), index.paths.len(), index.unique), ("by_state", 2, true));
    let again = || {
        let toml = format!("name = \"test\"\n{SETTINGS}");
        let folder = support::folder(&[("app.js", APP), ("sarsen.toml", &toml)]);
        site.pool.reload(load(folder.path()).unwrap())
    };
    site.wait_built();
    let before = site.written();
    again().unwrap();
    assert_eq!(site.written(), before, "nothing differs, so nothing is written");
    // What the file names is as the file says; what it does not name stays.
    let by_http = r#"{"durability":"synced","overwrite":"conditional"}"#;
    site.repository.configure(&notes(), &Settings::from_json(by_http).unwrap()).unwrap();
    again().unwrap();
    let settings = site.repository.settings(&notes());
    assert_eq!(settings.durability, Durability::Written);
    assert_eq!(settings.indexes.len(), 1);
    assert!(settings.to_json().contains(r#""overwrite":"conditional""#));
}

const APP: &str = "import { App } from \"sarsen\"; export default new App();";

#[test]
fn mistakes_have_a_place() {
    for (text, expected) in [
        ("[collections.notes]\ndurability = \"quick\"", "3:14: settings: durability is \"synced\""),
        ("[collections.notes]\nexpirey = 5", "3:1: settings: the whole has no \"expirey\""),
        ("[collections.notes]\nexpiry = 0", "3:10: settings: expiry is a whole number"),
        ("[collections.notes]\nexpiry = 1.5", "3:10: settings: expiry is a whole number"),
        ("[[collections.notes.indexes]]\nname = \"a\"", "2:1: settings: indexes/0 needs \"paths\""),
        (
            "[[collections.notes.indexes]]\nname = \"a\"\npaths = [{ path = \"/x\", kind = 5 }]",
            "4:32: settings: indexes/0/paths/0/kind is \"text\"",
        ),
        (
            "[collections.notes.schema]\ntype = \"objekt\"",
            "2:14: settings: the schema at \"/type\": a type is one of",
        ),
        ("[collections.notes]\nexpiry = 2026-01-01", "3:10: expected a text, a number"),
        ("[collections.Notes]", "2:14: a collection name is"),
        ("[collections._tasks]", "2:14: _tasks: collections whose names start with _"),
        ("[collections]\nnotes = 5", "3:9: expected a section [collections.notes]"),
    ] {
        let toml = format!("name = \"x\"\n{text}\n");
        let message = load_error(&[("sarsen.toml", &toml), ("app.js", APP)]);
        assert!(message.starts_with(&format!("sarsen.toml:{expected}")), "{text}: {message}");
    }
}

#[test]
fn what_a_collection_cannot_become_is_refused_and_nothing_is_set() {
    let site = site_with("", Setup::default());
    site.store_json("notes", "a", "1");
    let toml = "name = \"test\"\n[collections.alpha]\nexpiry = 5\n\
                [collections.notes]\ndurability = \"volatile\"\n";
    let folder = support::folder(&[("app.js", APP), ("sarsen.toml", toml)]);
    let refused = site.pool.reload(load(folder.path()).unwrap()).unwrap_err().to_string();
    assert!(refused.contains("notes") && refused.contains("volatile"), "{refused}");
    let alpha = site.repository.settings(&CollectionName::new("alpha").unwrap());
    assert_eq!(alpha, Settings::default(), "all or nothing");
}

const SCHEMA: &str = r#"
[collections.notes.schema]
type = "object"
required = ["title"]
properties.stars = { type = "number", maximum = 5, multipleOf = 0.5 }
"#;

/// Whatever a handler changes has to fit; what does not is an exception there, and nothing is
/// stored of a request that lets it pass.
#[test]
fn a_schema_holds_for_what_handlers_write() {
    let app = r#"
      app.get("/star", ({ db }) => { db.notes.get("a").stars += 1; });
      app.get("/put", ({ db }) => { db.notes.put("b", { stars: 1 }); });
      app.get("/try", ({ db }) => {
        try { db.notes.put("b", {}); } catch (error) { return error.message; }
      });"#;
    let site = site_with(app, Setup { settings: SCHEMA, ..Setup::default() });
    site.store_json("notes", "a", r#"{"title":"x","stars":5}"#);
    for path in ["/star", "/put"] {
        let failure = site.failure(path);
        assert!(failure.contains("does not fit the schema of notes"), "{path}: {failure}");
    }
    let caught = site.text("/try");
    assert!(caught.contains("expected a member \"title\""), "{caught}");
    assert_eq!(site.stored("notes", "a").as_deref(), Some(r#"{"title":"x","stars":5}"#));
    assert_eq!(site.stored("notes", "b"), None);
}
