//! Routes: patterns, methods, groups, mounted applications, and what nobody takes.

use crate::support::{self, Site, folder, header, load_error, request, site, start, text};

fn send(site: &Site, method: &str, target: &str) -> (u16, String) {
    let reply = site.send(request(method, target)).unwrap();
    (reply.status, text(&reply))
}

#[test]
fn every_method_has_its_routes() {
    let site = site(
        r#"for (const name of ["get", "post", "put", "patch", "delete", "options"]) {
             app[name]("/each", ({ request }) => `${name} ${request.method}`);
           }
           app.head("/head", (context) => context.header("x-head", "own"));
           app.get("/head", () => "got");
           app.all("/all", ({ request }) => request.method);
           app.on(["get", "DELETE"], ["/on", "/off"], ({ request }) => request.method);
           app.on("PUT", "/on", () => "put");"#,
    );
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let body = format!("{} {method}", method.to_lowercase());
        assert_eq!(send(&site, method, "/each"), (200, body));
        assert_eq!(send(&site, method, "/all"), (200, method.to_owned()));
    }
    assert_eq!(send(&site, "HEAD", "/each"), (200, "get HEAD".to_owned()));
    let head = site.send(request("HEAD", "/head")).unwrap();
    assert_eq!((head.status, header(&head, "x-head")), (204, Some("own")));
    assert_eq!(site.text("/head"), "got");
    assert_eq!(send(&site, "DELETE", "/off").1, "DELETE");
    assert_eq!(send(&site, "PUT", "/on").1, "put");
    let refused = site.send(request("PUT", "/off")).unwrap();
    let allow = header(&refused, "allow");
    assert_eq!((refused.status, allow), (405, Some("GET, HEAD, DELETE, OPTIONS")));
}

#[test]
fn options_are_answered_for_every_path_that_has_routes() {
    let site = site(r#"app.post("/a", () => "a");"#);
    let reply = site.send(request("OPTIONS", "/a")).unwrap();
    assert_eq!((reply.status, header(&reply, "allow")), (204, Some("POST, OPTIONS")));
    assert_eq!(header(&reply, "content-type"), None);
    assert_eq!(site.send(request("OPTIONS", "/b")).unwrap().status, 404);
}

#[test]
fn patterns() {
    let site = site(
        r#"const show = ({ params }) => ({ ...params });
           app.get("/year/:year{[0-9]{4}}", show);
           app.get("/year/:word", () => "a word");
           app.get("/notes/:id?", show);
           app.get("/files/:path{.+}", show);
           app.get("/any/*/end", show);
           app.get("/rest/*", show);
           app.get("/:lang{en|de}/about", show);"#,
    );
    for (path, expected) in [
        ("/year/2026", r#"{"year":"2026"}"#),
        ("/year/20260", "a word"),
        ("/notes", "{}"),
        ("/notes/7", r#"{"id":"7"}"#),
        ("/files/a/b%20c", r#"{"path":"a/b c"}"#),
        ("/any/thing/end", "{}"),
        ("/rest", r#"{"*":""}"#),
        ("/rest/a/b", r#"{"*":"a/b"}"#),
        ("/de/about", r#"{"lang":"de"}"#),
    ] {
        assert_eq!(site.text(path), expected, "{path}");
    }
    for path in ["/fr/about", "/any/a/b/end", "/files"] {
        assert_eq!(site.get(path).status, 404, "{path}");
    }
}

#[test]
fn a_slash_at_the_end_leads_to_the_path_there_is() {
    let site =
        site(r#"app.get("/a", () => "a"); app.get("/b/", () => "b"); app.post("/c", () => "c");"#);
    let to = |method, path| {
        let reply = site.send(request(method, path)).unwrap();
        let is_page = header(&reply, "content-type").is_some();
        assert_eq!(is_page, !reply.body.is_empty(), "{path}: {reply:?}");
        (reply.status, header(&reply, "location").map(str::to_owned))
    };
    assert_eq!(to("GET", "/a/?x=1"), (308, Some("/a?x=1".to_owned())));
    assert_eq!(to("HEAD", "/b"), (308, Some("/b/".to_owned())));
    assert_eq!(to("POST", "/c/"), (404, None));
    assert_eq!(to("GET", "//a/"), (404, None));
}

#[test]
fn groups_and_mounted_applications() {
    let folder = folder(&[
        (
            "app.js",
            r#"import { App } from "sarsen";
               import { notes } from "./notes.js";
               const app = new App();
               app.get("/", () => "home");
               app.group("/admin", (group) => {
                 group.use(async ({ header }, next) => `[${await next()}]`);
                 group.get("/", () => "admin");
                 group.get("/users/:id", ({ params }) => `user ${params.id}`);
                 group.group("/deep", (deep) => deep.get("/er", () => "deeper"));
                 group.route("/notes", notes);
               });
               app.get("/admin/late", () => "late");
               app.get("/administrator", () => "other");
               export default app;"#,
        ),
        (
            "notes.js",
            r#"import { App } from "sarsen";
               const inner = new App();
               inner.get("/:id", ({ params }) => `note ${params.id}`);
               export const notes = new App();
               notes.use("/:id", async ({ params }, next) => `${params.id}:${await next()}`);
               notes.get("/", () => "notes");
               notes.route("/", inner);"#,
        ),
    ]);
    let site = start(folder, support::Setup::default());
    for (path, expected) in [
        ("/", "home"),
        ("/admin", "[admin]"),
        ("/admin/users/7", "[user 7]"),
        ("/admin/deep/er", "[deeper]"),
        ("/admin/notes", "[notes]"),
        ("/admin/notes/3", "[3:note 3]"),
        ("/admin/late", "[late]"),
        ("/administrator", "other"),
    ] {
        assert_eq!(site.text(path), expected, "{path}");
    }
}

#[test]
fn what_nobody_takes() {
    let site = site(
        r#"app.get("/a", () => "a");
           app.notFound(({ request }) => html`<p>no ${request.path}`);
           app.group("/api", (api) => {
             api.get("/a", () => "a");
             api.notFound(() => sarsen.json({ no: true }, { status: 410 }));
           });
           app.group("/late", (late) => late.notFound(async () => "late"));"#,
    );
    assert_eq!(send(&site, "GET", "/<"), (404, "<p>no /&lt;".to_owned()));
    assert_eq!(send(&site, "GET", "/api/b"), (410, r#"{"no":true}"#.to_owned()));
    assert_eq!(send(&site, "GET", "/api"), (410, r#"{"no":true}"#.to_owned()));
    assert_eq!(send(&site, "GET", "/late/x"), (404, "late".to_owned()));
    assert_eq!(send(&site, "POST", "/a").0, 405);
    assert_eq!(site.text("/a"), "a");
}

#[test]
fn what_cannot_be_registered_is_named_with_its_place() {
    let error = |text: &str| {
        let app = format!(
            "import {{ App }} from \"sarsen\";\nconst app = new App();\n{text}\nexport default app;"
        );
        let message = load_error(&[("app.js", &app)]);
        assert!(message.starts_with("app.js:3:"), "{message}");
        message
    };
    for (text, why) in [
        ("app.get('/a');", "app.get(\"/a\"): expected a function, got none"),
        ("app.get('/a', undefined);", "expected a function, got undefined"),
        ("app.post('/a', () => 1, 'x');", "app.post(\"/a\"): expected a function, got string"),
        ("app.get(3, () => 1);", "expected a path such as \"/notes/:id\", got number"),
        ("app.get('/:id{(a|b)+}', () => 1);", "a parameter's braces hold a class"),
        ("app.get('/:id?/x', () => 1);", "is the last segment"),
        ("app.on('BREW', '/a', () => 1);", "expected methods out of GET, HEAD"),
        ("app.on([], '/a', () => 1);", "got none"),
        ("app.use();", "expected a path"),
        ("app.use('/a');", "expected a function, got none"),
        ("app.use('/:id?', () => 1);", "is the last segment"),
        ("app.group('/a');", "expected a function, got undefined"),
        ("app.group('/a', async () => 1);", "a function that is not async"),
        ("app.group('/a', (g) => g.get('b', () => 1));", "a path starts with \"/\"; got \"b\""),
        ("app.route('/a', {});", "expected an App, got object"),
        ("app.route('/a', app);", "an App cannot be a part of itself"),
        ("app.notFound(3);", "expected a function, got number"),
        ("app.onError(() => 1).onError(() => 2);", "\"/*\" has a function for that already"),
        ("const b = new App(); app.route('/a', b); b.get('/', () => 1);", "part of another App"),
        ("app.group('/:a', (g) => g.get('/:a', () => 1));", "is named twice"),
    ] {
        let message = error(text);
        assert!(message.contains(why), "{text}: {message}");
    }
}

#[test]
fn many_routes() {
    let site = site(
        r#"for (let i = 0; i < 999; i++) app.get(`/part${i % 7}/page${i}/:id`, () => `${i}`);
           app.use("/part3", async (_, next) => `<${await next()}>`);
           app.get("*", () => "the rest");"#,
    );
    assert_eq!(site.text("/part3/page3/x"), "3", "registered before");
    assert_eq!(site.text("/part4/page998/x"), "998");
    assert_eq!(site.text("/part3/page4/x"), "<the rest>");
}
