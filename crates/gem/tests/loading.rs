//! Loading: what is wrong with an application is one line that names the place.

use crate::support::{self, Setup, folder, load, load_error, start};
use std::path::Path;

const HEAD: &str = "import { App } from \"sarsen\";\nconst app = new App();\n";

fn main_error(text: &str) -> String {
    load_error(&[("app.js", text)])
}

#[test]
fn files_that_hide_routes_are_told() {
    let routes = "app.get(\"/\", () => 1);\napp.get(\"/a.txt\", () => 1);\n\
        app.group(\"/docs\", (docs) => docs.get(\"/\", () => 1).post(\"/\", () => 1));\n\
        app.post(\"/b.txt\", () => 1);\napp.get(\"/c.txt\", () => 1);\napp.get(\"/*\", () => 1);\n";
    let main = format!("{HEAD}{routes}export default app;\n");
    let files = ["index.html", "a.txt", "b.txt", "docs/index.html"];
    let files = files.map(|file| (format!("public/{file}"), "x"));
    let mut all = vec![("app.js", main.as_str())];
    assert!(load(folder(&all).path()).unwrap().warnings().is_empty());
    all.extend(files.iter().map(|(path, text)| (path.as_str(), *text)));
    let app = load(folder(&all).path()).unwrap();
    let hidden = |file, path, route| {
        format!("public/{file} answers GET {path}, and so hides the route {route}")
    };
    let expected = [
        hidden("index.html", "/", "GET /"),
        hidden("a.txt", "/a.txt", "GET /a.txt"),
        hidden("docs/index.html", "/docs", "GET /docs"),
    ];
    assert_eq!(app.warnings(), expected);
}

#[test]
fn what_does_not_parse_is_named_by_line_and_column() {
    assert_eq!(
        main_error("const a = ;\n"),
        "app.js:1:11: SyntaxError: unexpected token in expression: ';'"
    );
    let message = main_error(&format!("{HEAD}app.get(\"/\", (() => 1;\nexport default app;\n"));
    assert!(message.starts_with("app.js:3:22: SyntaxError: "), "{message}");
    let message = main_error("\n\n  \"unterminated\n");
    assert!(message.starts_with("app.js:3:"), "{message}");
}

#[test]
fn what_throws_while_loading_is_named_by_line_and_column() {
    let message = main_error("\nconst x = 1;\n  nothing.here();\n");
    assert!(message.starts_with("app.js:3:3: ReferenceError: "), "{message}");
    let message = main_error(&format!("{HEAD}app.get(\"notes\", () => 1);\nexport default app;"));
    assert!(message.starts_with("app.js:3:"), "{message}");
    assert!(message.contains("a path starts with \"/\"; got \"notes\""), "{message}");
    let message = main_error(&format!("{HEAD}app.get(\"/\", \"text\");\nexport default app;"));
    assert!(message.starts_with("app.js:3:"), "{message}");
    assert!(message.contains("expected a function, got string"), "{message}");
    assert_eq!(main_error("throw null;"), "app.js: out of memory, or null was thrown");
    let message = main_error("await new Promise(() => {});");
    assert_eq!(message, "app.js: it awaits a promise that never settles");
    let message = main_error("await 0;\nthrow new Error(\"late\");");
    assert!(message.starts_with("app.js:2:"), "{message}");
}

#[test]
fn the_default_export_must_be_an_app() {
    for text in ["", "export default 3;", "export default {};", "export default class {}", HEAD] {
        let message = main_error(text);
        assert!(message.starts_with("app.js: the default export is not an App"), "{message}");
    }
}

#[test]
fn missing_files_are_named() {
    let error = load(Path::new("/nonexistent/app")).err().unwrap().to_string();
    assert!(error.starts_with("cannot read /nonexistent/app: No such file"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let error = load(empty.path()).err().unwrap().to_string();
    assert!(error.contains("sarsen.toml: No such file"), "{error}");
    let file = empty.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(load(&file).err().unwrap().to_string().contains("not a directory"));
    assert!(load_error(&[]).starts_with("app.js: "));
}

#[test]
fn settings_are_checked() {
    let message = load_error(&[("app.js", ""), ("sarsen.toml", "name = 'x'\nlimit = 3\n")]);
    assert_eq!(message, "sarsen.toml:2:1: unknown key limit; did you mean limits?");
}

#[test]
fn an_application_may_have_many_modules() {
    let folder = folder(&[
        (
            "app.js",
            "import { App } from 'sarsen';\nimport { text } from './lib/a.js';\n\
                    const app = new App();\napp.get('/', () => text);\n\
                    app.get('/later', async () => (await import('./lib/b.js')).text);\n\
                    app.get('/unread', async () => (await import('./lib/unread.js')).text);\n\
                    export default app;\n",
        ),
        ("lib/a.js", "export * from './b.js';"),
        ("lib/b.js", "import '../lib/a.js';\nexport const text = 'from b';"),
        ("lib/unread.js", "export const text = 'unread';"),
    ]);
    let site = start(folder, Setup::default());
    assert_eq!(site.text("/"), "from b");
    assert_eq!(site.text("/later"), "from b");
    let message = site.failure("/unread");
    assert!(message.contains("was not imported when the application was loaded"), "{message}");
}

#[test]
fn imports_that_cannot_be_followed_are_named_where_they_stand() {
    let import = |specifier: &str| main_error(&format!("{HEAD}import x from \"{specifier}\";\n"));
    for (specifier, why) in [
        ("./none.js", "No such file"),
        ("../outside.js", "it leaves the application's folder"),
        ("./a/../../x.js", "it leaves the application's folder"),
        ("lodash", "expected \"sarsen\", or a path that starts with ./ or ../"),
        ("/etc/passwd", "expected \"sarsen\", or a path"),
        ("sarsen:native", "expected \"sarsen\", or a path"),
        (".", "expected \"sarsen\", or a path"),
        ("./", "it is not a file"),
    ] {
        let message = import(specifier);
        let start = format!("app.js:3:15: cannot import \"{specifier}\": ");
        assert!(message.starts_with(&start) && message.contains(why), "{message}");
    }
    let nested =
        load_error(&[("app.js", "import './lib/a.js';"), ("lib/a.js", "\nimport './b.js';")]);
    assert!(nested.starts_with("lib/a.js:2:8: cannot import \"./b.js\""), "{nested}");
    let broken = load_error(&[("app.js", "import './a.js';"), ("a.js", "\n\n var 1;")]);
    assert!(broken.starts_with("a.js:3:"), "{broken}");
    let missing = main_error("import { Ap } from \"sarsen\";");
    assert!(missing.starts_with("app.js"), "{missing}");
}

#[test]
fn links_out_of_the_folder_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.js"), "export default 1;").unwrap();
    let folder = folder(&[("app.js", "import x from \"./link.js\";"), ("in.js", "")]);
    let link = folder.path().join("link.js");
    std::os::unix::fs::symlink(outside.path().join("secret.js"), &link).unwrap();
    let error = load(folder.path()).err().unwrap().to_string();
    assert!(
        error.contains("app.js:1:15: cannot import \"./link.js\": it is a link out"),
        "{error}"
    );
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(folder.path().join("in.js"), &link).unwrap();
    let error = load(folder.path()).err().unwrap().to_string();
    assert!(!error.contains("cannot import \"./link.js\": it is a link"), "{error}");
}

#[test]
fn routes_cannot_be_added_later() {
    let app =
        format!("{HEAD}app.get(\"/\", () => app.get(\"/more\", () => 1));\nexport default app;\n");
    let site = start(folder(&[("app.js", &app)]), Setup::default());
    assert!(site.failure("/").contains("routes are registered while the application loads"));
}

#[test]
fn the_example_counts_for_each_visitor_and_for_all() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/counter");
    let read = |file| std::fs::read_to_string(example.join(file)).unwrap();
    let (app, settings) = (read("app.js"), read("sarsen.toml"));
    let folder = folder(&[("app.js", &app), ("sarsen.toml", &settings)]);
    let site = start(folder, Setup::default());
    let first = site.get("/");
    let cookie =
        support::header(&first, "set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let send = |method, path| {
        let mut request = support::request(method, path);
        request.headers.push(("cookie".to_owned(), cookie.clone()));
        site.send(request).unwrap()
    };
    for (path, count) in [("/increment", 1), ("/increment", 2), ("/decrement", 1)] {
        let reply = send("POST", path);
        assert_eq!((reply.status, support::header(&reply, "location")), (303, Some("/")));
        let page = support::text(&send("GET", "/"));
        assert!(page.contains(&format!(">{count}</output>")), "{page}");
    }
    assert_eq!(site.stored("tally", "hits").as_deref(), Some("7"));
    assert!(support::text(&site.get("/")).contains(">0</output>"), "another visitor");
    assert_eq!(site.repository.stats().commits, 8);
}

#[test]
fn what_loading_leaves_to_do_is_done_before_the_first_request() {
    let app = |text: &str| {
        format!("{HEAD}let n = 0;\n{text}\napp.get(\"/\", () => [n]);\nexport default app;\n")
    };
    let left = app("(async () => { for (let i = 0; i < 9; i++) { await 0; n++; } })();");
    let site = start(folder(&[("app.js", &left)]), Setup::default());
    assert_eq!(site.text("/"), "[9]");
    let unhandled = "Error: late";
    for text in [
        "(async () => { await 0; throw new Error(\"late\"); })();",
        "Promise.reject(new Error(\"late\"));",
    ] {
        let message = main_error(&app(text));
        assert!(message.starts_with("app.js:4:"), "{message}");
        assert!(
            message.contains("nothing handled it") && message.ends_with(unhandled),
            "{message}"
        );
    }
    let message = main_error(&app("Promise.reject(3);"));
    assert_eq!(message, "app.js: a promise was rejected and nothing handled it: 3 was thrown");
    let endless = app("const again = () => { Promise.resolve().then(again); };\nagain();");
    assert_eq!(main_error(&endless), "app.js: it did not load within 5000 ms of CPU time");
    let handled = app("const p = Promise.reject(1);\np.catch(() => { n = 1; });");
    assert_eq!(start(folder(&[("app.js", &handled)]), Setup::default()).text("/"), "[1]");
}
