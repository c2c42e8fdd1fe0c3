//! What a trusted proxy says about its clients, and that nobody else is believed.

use crate::site::{Reply, Site, bare};
use faces::{ListenError, ProxyFields, Server, ServerOptions, limits};
use gem::{App, Pool, PoolOptions};
use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// It answers with what it is told of the client, and gives out a session.
const ROUTES: &str = r#"
import { App } from "sarsen";
const app = new App();
app.get("/who", ({ request }) => ["x-forwarded-for", "x-forwarded-proto", "host", "forwarded"]
  .map((name) => request.header(name) ?? "-").join(" "));
app.get("/session", ({ session }) => { session.n = 1; return "ok"; });
export default app;
"#;

fn site(change: impl FnOnce(&mut ServerOptions)) -> Site {
    Site::with_pool(change, |repository| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("sarsen.toml"), "name = \"test\"\n").unwrap();
        fs::write(folder.path().join("app.js"), ROUTES).unwrap();
        let app = App::load(folder.path()).unwrap();
        let options = PoolOptions {
            workers: 1,
            queue: 64,
            cpu_limit: Duration::from_millis(500),
            heap_limit: 32 << 20,
            errors: None,
            cache: None,
        };
        Some(Arc::new(Pool::start(app, Arc::clone(repository), options).unwrap()))
    })
}

fn trusting(fields: ProxyFields) -> Site {
    site(|options| {
        options.trusted_proxies =
            ["127.0.0.0/8", "10.0.0.0/8"].map(|network| network.parse().unwrap()).into();
        options.proxy_fields = fields;
    })
}

const X: &str = "X-Forwarded-For: 198.51.100.9, 192.0.2.1, 10.0.0.2\r\n\
                 X-Forwarded-Proto: https\r\nX-Forwarded-Host: www.example.org\r\n";
const RFC7239: &str =
    "Forwarded: for=198.51.100.9, for=\"192.0.2.1:80\";proto=https;host=www.example.org\r\n";

fn ask(site: &Site, path: &str, fields: &str) -> Reply {
    site.ask(&bare("GET", path, fields))
}

#[test]
fn a_trusted_proxy_is_believed() {
    let by_x = trusting(ProxyFields::XForwarded);
    assert_eq!(ask(&by_x, "/who", X).body, "192.0.2.1 https www.example.org -");
    let by_rfc7239 = trusting(ProxyFields::Forwarded);
    assert_eq!(ask(&by_rfc7239, "/who", RFC7239).body, "192.0.2.1 https www.example.org -");
    // What the proxy does not write may be the client's.
    assert_eq!(ask(&by_x, "/who", RFC7239).body, "127.0.0.1 http localhost -");
    assert_eq!(ask(&by_rfc7239, "/who", X).body, "127.0.0.1 http localhost -");
}

#[test]
fn nobody_else_is() {
    for trusted in [vec![], vec!["10.0.0.0/8".parse().unwrap()]] {
        let site = site(|options| options.trusted_proxies = trusted);
        for fields in [X, RFC7239] {
            assert_eq!(ask(&site, "/who", fields).body, "127.0.0.1 http localhost -");
        }
        let cookie = ask(&site, "/session", X).field("set-cookie").unwrap().to_owned();
        assert!(!cookie.contains("Secure"), "{cookie}");
    }
}

#[test]
fn cookies_are_secure_where_the_client_speaks_https() {
    let site = trusting(ProxyFields::XForwarded);
    let cookie = |fields| ask(&site, "/session", fields).field("set-cookie").unwrap().to_owned();
    assert!(cookie(X).contains("; Secure"));
    assert!(!cookie("").contains("Secure"));
}

#[test]
fn hosts_are_the_proxys_affair_and_pages_of_others_are_not() {
    let site = trusting(ProxyFields::XForwarded);
    let here = "X-Forwarded-For: 127.0.0.9\r\nX-Forwarded-Proto: https\r\n\
                X-Forwarded-Host: www.example.org\r\n";
    assert_eq!(ask(&site, "/db/notes/a", here).status, 404, "the proxy answers to that name");
    let evil = "GET /db/notes/a HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    assert_eq!(site.ask(evil).status, 421, "a client that comes by itself does not");
    let put = |origin: &str| {
        let fields =
            format!("{here}Origin: {origin}\r\nContent-Type: a/b\r\nContent-Length: 0\r\n");
        site.ask(&bare("PUT", "/db/notes/a", &fields)).status
    };
    assert_eq!(put("https://www.example.org"), 201, "a page of the site as its readers know it");
    assert_eq!(put("https://evil.example"), 403);
}

#[test]
fn without_tokens_only_this_machine_is_let_in_by_a_proxy_too() {
    let site = trusting(ProxyFields::XForwarded);
    assert_eq!(ask(&site, "/db/notes/a", X).status, 401, "192.0.2.1 is another machine");
    assert_eq!(ask(&site, "/db/notes/a", "").status, 404);
}

#[test]
fn trusted_proxies_are_bounded() {
    let running = Site::start();
    let networks = vec!["10.0.0.0/8".parse().unwrap(); limits::TRUSTED_PROXIES_MAX + 1];
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = ServerOptions { trusted_proxies: networks, ..ServerOptions::new(free) };
    let error = Server::start(options, Arc::clone(&running.repository), None).err().unwrap();
    assert!(matches!(error, ListenError::Proxies { .. }), "{error}");
}
