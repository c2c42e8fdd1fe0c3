//! What an application tries and does not get: files, sockets, Sarsen's own modules, what is
//! outside its folder, the collections of the server, other requests, a clock of its own. And what
//! it may do to itself without harm to others: change every prototype there is.

use crate::support::{self, Site, folder, request, site, start, text};

/// The answers of a handler that tries `attempts`, each an expression: what it threw, or its value.
fn tried(attempts: &[&str]) -> Vec<String> {
    let each: Vec<_> = attempts.iter().map(|a| format!("async () => await ({a})")).collect();
    let site = site(&format!(
        "const kept = {{}};\n\
         app.get(\"/\", async (context) => {{\n\
         globalThis.context = context; const {{ db }} = context;\n\
         const said = [];\n\
         for (const attempt of [{}]) {{\n\
         try {{ said.push(String(await attempt())); }}\n\
         catch (error) {{ said.push(String(error)); }}\n\
         }}\n return said;\n}});",
        each.join(",\n")
    ));
    let reply = site.get("/");
    let body = text(&reply);
    let said: Vec<String> = body
        .trim_start_matches("[\"")
        .trim_end_matches("\"]")
        .split("\",\"")
        .map(str::to_owned)
        .collect();
    assert_eq!(said.len(), attempts.len(), "{body}");
    said
}

#[test]
fn there_are_no_files_sockets_or_processes() {
    let names = [
        "require",
        "process",
        "Deno",
        "Bun",
        "os",
        "std",
        "bjson",
        "Worker",
        "XMLHttpRequest",
        "WebSocket",
        "EventSource",
        "scriptArgs",
        "print",
        "loadScript",
        "performance",
        "setTimeout",
        "setInterval",
        "navigator",
        "gc",
    ];
    let attempts: Vec<_> = names.iter().map(|name| format!("typeof {name}")).collect();
    let attempts: Vec<_> = attempts.iter().map(String::as_str).collect();
    assert_eq!(tried(&attempts), vec!["undefined"; names.len()]);
}

#[test]
fn only_the_applications_own_modules_can_be_imported() {
    let said = tried(&[
        "import(\"sarsen:native\")",
        "import(\"sarsen:engine\")",
        "import(\"sarsen:db\")",
        "import(\"std\")",
        "import(\"os\")",
        "import(\"fs\")",
        "import(\"/etc/passwd\")",
        "import(\"file:///etc/passwd\")",
        "import(\"../../../../etc/passwd\")",
        "import(\"./sarsen.toml\")",
        "eval('import(\"sarsen:native\")')",
        "(0, eval)('import(\"sarsen:native\")')",
        "new Function('return import(\"sarsen:native\")')()",
    ]);
    for said in said {
        assert!(said.contains("Error") && !said.contains("root:"), "{said}");
    }
}

#[test]
fn what_is_evaluated_is_in_the_same_box() {
    let said = tried(&[
        "(0, eval)(\"typeof native\")",
        "new Function(\"return typeof native\")()",
        "new Function(\"return this\")() === globalThis",
        "(async () => {}).constructor(\"return typeof require\")()",
        "Object.getOwnPropertyNames(globalThis).filter((n) => /native|sarsen/i.test(n)).length",
    ]);
    assert_eq!(said, ["undefined", "undefined", "true", "undefined", "0"]);
}

#[test]
fn the_servers_collections_stay_closed_by_every_way() {
    let said = tried(&[
        "db._sessions.get(\"a\")",
        "db[\"_sessions\"].put(\"a\", {})",
        "new (db.notes.constructor)(\"_sessions\", 1).get(\"a\")",
        "Reflect.get(db, \"_tasks\")",
        "Object.getPrototypeOf(db)",
        "Object.keys(db).length",
        "(db.notes = 1)",
        "Object.defineProperty(db, \"notes\", { value: 1 })",
        "Object.getOwnPropertySymbols(context).length",
        "Object.keys(context).length",
        "delete db.notes",
    ]);
    for refused in &said[..2] {
        assert!(refused.contains("belong to Sarsen"), "{refused}");
    }
    assert!(said[2].contains("Error"), "{}", said[2]);
    assert!(said[3].contains("belong to Sarsen"), "{}", said[3]);
    assert_eq!((said[4].as_str(), said[5].as_str()), ("null", "0"));
    assert!(said[6].contains("cannot be assigned"), "{}", said[6]);
    assert!(said[7].contains("Error"), "{}", said[7]);
    assert_eq!((said[8].as_str(), said[9].as_str()), ("0", "0"));
}

#[test]
fn what_is_kept_of_a_request_is_worth_nothing_in_the_next() {
    let site = site(
        "let kept;\n\
         app.get(\"/keep\", (context) => { kept = { context, db: context.db,\
         notes: context.db.notes,\
         request: context.request }; return \"kept\"; });\n\
         app.get(\"/use/:what\", ({ params }) => ({\n\
           context: () => kept.context.session,\n  db: () => kept.notes.get(\"a\"),\n\
           put: () => kept.notes.put(\"a\", {}),\n  fresh: () => kept.db.notes.put(\"a\", {}),\n\
           request: () => kept.request.header(\"cookie\"),\n\
         })[params.what]());",
    );
    assert_eq!(site.text("/keep"), "kept");
    for what in ["context", "db", "put", "fresh", "request"] {
        assert!(site.failure(&format!("/use/{what}")).contains("the request is over"), "{what}");
    }
    assert_eq!(site.stored("notes", "a"), None);
}

#[test]
fn there_is_no_clock_but_the_requests() {
    let said = tried(&[
        "Date.now() === (() => { for (let i = 0; i < 3e5; i++); return Date.now(); })()",
        "new Date().getTime() === context.time && Date.now() === context.time",
        "new (Date.prototype.constructor)().getTime() === context.time",
        "new (new Date(0).constructor)().getTime() === context.time",
        "Reflect.construct(Date, []).getTime() === context.time",
        "new (class extends Date {})().getTime() === context.time",
        "typeof Atomics === \"undefined\" || (() => { try { Atomics.wait(new Int32Array(new \
         SharedArrayBuffer(8)), 0, 0, 60000); return false; } catch { return true; } })()",
    ]);
    assert_eq!(said, vec!["true"; 7]);
}

/// Every function of every prototype throws, lies, or is gone.
const POISON: &str = r#"
for (const name of ["Object", "Array", "Map", "Set", "Promise", "String", "Number", "RegExp"]) {
  const { prototype } = globalThis[name];
  for (const key of Reflect.ownKeys(prototype)) {
    if (key === "constructor" || key === "__proto__") continue;
    const get = () => { throw new Error("poison"); };
    try { Object.defineProperty(prototype, key, { get }); } catch {}
  }
}
Object.prototype.toJSON = () => "poison";
Object.prototype.status = 200;
"#;

fn poisoned(poison: &str) -> Site {
    let app = format!(
        "import {{ App }} from \"sarsen\";\nconst app = new App();\n\
         app.get(\"/poison\", () => {{ {poison} return \"poisoned\"; }});\n\
         app.get(\"/sessions\", ({{ db }}) => {{ db._sessions.put(\"a\", {{}}); }});\n\
         app.get(\"/write\", ({{ db }}) => {{ db.notes.put(\"a\", {{ n: 1 }}); throw 1; }});\n\
         app.get(\"/spin\", () => {{ for (;;); }});\n\
         app.get(\"/fine\", () => \"fine\");\nexport default app;\n"
    );
    let folder = folder(&[("app.js", &app)]);
    std::fs::write(folder.path().join("sarsen.toml"), "name = \"p\"\n[limits]\ncpu_ms = 100\n")
        .unwrap();
    start(folder, support::Setup::default())
}

#[test]
fn an_application_that_poisons_prototypes_harms_itself_only() {
    let site = poisoned(POISON);
    let (_, before) = site.written();
    // Whether each of these is answered is the application's affair; that it is, and how far it
    // reaches, is Sarsen's.
    for target in ["/poison", "/fine", "/sessions", "/write", "/fine"] {
        let _its_own_affair = site.send(request("GET", target));
    }
    assert_eq!(site.written().1, before, "nothing was committed");
    assert_eq!(site.stored("notes", "a"), None);
    // A limit that was exceeded throws the engine away, and the poison with it.
    assert!(site.send(request("GET", "/spin")).is_err());
    assert_eq!(site.text("/fine"), "fine");
}

#[test]
fn replaced_globals_do_not_mislead_sarsens_own_modules() {
    let site = site(
        "JSON.stringify = () => '\"forged\"'; JSON.parse = () => ({ forged: true });\n\
         Object.keys = () => []; Array.isArray = () => true; Object.freeze = (x) => x;\n\
         globalThis.Proxy = undefined; globalThis.Map = undefined;\n\
         globalThis.Promise = undefined;\n\
         Math.random = () => 4; globalThis.Error = undefined; globalThis.Date = undefined;\n\
         app.get(\"/put\", ({ db }) => { db.notes.put(\"a\", { n: 1 }); return \"put\"; });\n\
         app.get(\"/get\", ({ db }) => [db.notes.get(\"a\")]);\n\
         app.get(\"/change\", ({ db }) => { db.notes.get(\"a\").n = 2; return \"changed\"; });\n\
         app.get(\"/refused\", ({ db }) => db.notes.put(\"b\", { f() {} }));\n\
         app.get(\"/sessions\", ({ db }) => db._sessions.get(\"a\"));",
    );
    assert_eq!(site.text("/put"), "put");
    assert_eq!(site.stored("notes", "a").as_deref(), Some("{\"n\":1}"));
    assert_eq!(site.text("/get"), "[{\"n\":1}]");
    assert_eq!(site.text("/change"), "changed");
    assert_eq!(site.stored("notes", "a").as_deref(), Some("{\"n\":2}"));
    assert!(site.failure("/sessions").contains("belong to Sarsen"));
    assert!(site.send(request("GET", "/refused")).is_err());
    assert_eq!(site.stored("notes", "b"), None);
}
