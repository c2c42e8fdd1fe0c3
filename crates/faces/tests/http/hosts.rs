//! Which server a request is for (RFC 9110 §7.2, RFC 3986 §3.2): what is no authority is refused on
//! every way in, and comes out nowhere.

use crate::frames::{Frames, HEADERS, PROTOCOL_ERROR, RST_STREAM, request};
use crate::site::{Reply, Site};
use faces::ProxyFields;

/// None of them is `host [ ":" port ]`.
const WRONG: [&str; 18] = [
    "localhost:abc",
    "localhost:80:80",
    "localhost:-80",
    "localhost:65536",
    "a b",
    "u@h",
    "u:p@localhost",
    ":80",
    "h/path",
    "http://h",
    "h?q",
    "h\\i",
    "h%4",
    "a\"b",
    "::1",
    "[::1]80",
    "[localhost]",
    "[::1%25lo]",
];

/// As they are asked for, and as they come out.
const RIGHT: [(&str, &str); 7] = [
    ("localhost", "localhost"),
    ("localhost:8000", "localhost:8000"),
    ("localhost:", "localhost"),
    ("LOCALHOST:080", "LOCALHOST:080"),
    ("127.0.0.1:1", "127.0.0.1:1"),
    ("[::1]", "[::1]"),
    ("[::1]:8000", "[::1]:8000"),
];

const ENTRY: &str = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>a</title><id>urn:a</id>\
                     <updated>2020-01-01T00:00:00Z</updated><content>x</content></entry>";

fn site() -> Site {
    let site = Site::with(|options| {
        options.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        options.proxy_fields = ProxyFields::XForwarded;
    });
    // The first entry makes the publication.
    let made = site.ask(&post("/atom/a/entries", "Host: localhost\r\n"));
    assert_eq!(made.status, 201, "{made:?}");
    site
}

fn head(start: &str, fields: &str, (kind, body): (&str, &str)) -> String {
    let length = body.len();
    format!(
        "{start} HTTP/1.1\r\n{fields}Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// A request whose reply has a Location with the host.
fn post(target: &str, fields: &str) -> String {
    let kind = "application/atom+xml;type=entry";
    head(&format!("POST {target}"), fields, (kind, ENTRY))
}

/// The same request, with the host in each place of HTTP/1.1 where it may stand.
fn ways(host: &str) -> [String; 6] {
    let path = "/atom/a/entries";
    let one = format!("Host: {host}\r\n");
    let proxied = "Host: localhost\r\nX-Forwarded-For: 127.0.0.9\r\n";
    [
        post(path, &one),
        post(&format!("http://{host}{path}"), "Host: localhost\r\n"),
        post(&format!("http://localhost{path}"), &one),
        post(path, &format!("{one}Connection: Upgrade\r\nUpgrade: websocket\r\n")),
        post(path, &format!("{proxied}X-Forwarded-Host: {host}\r\n")),
        post(path, &one).replace("HTTP/1.1", "HTTP/1.0"),
    ]
}

fn ask(site: &Site, request: &str) -> Reply {
    let mut client = site.connect();
    client.send(request);
    client.end_sending();
    client.reply(false)
}

#[test]
fn rfc9112_3_2_what_names_no_host_is_refused() {
    let site = site();
    let mut taken = Vec::new();
    for host in WRONG {
        for request in ways(host) {
            if host.contains(['/', '?']) && request.contains(&format!("http://{host}/")) {
                // There it ends the authority.
                continue;
            }
            let reply = ask(&site, &request);
            if reply.status != 400 || reply.field("location").is_some() {
                taken.push(format!("{host:?}: {} in {request:?}", reply.status));
            }
        }
    }
    for empty in ["Host:\r\n", "Host: \r\n"] {
        let reply = ask(&site, &post("/atom/a/entries", empty));
        if reply.status != 400 {
            taken.push(format!("{empty:?}: {}", reply.status));
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
}

#[test]
fn what_names_one_is_in_the_location() {
    let site = site();
    for (host, expected) in RIGHT {
        let [plain, target, _, upgrade, proxied, old] = ways(host);
        for request in [plain, target, upgrade, proxied, old] {
            let reply = ask(&site, &request);
            let location =
                reply.field("location").unwrap_or_else(|| panic!("{request}: {reply:?}"));
            let expected = format!("http://{expected}/atom/a/entries/");
            assert!(location.starts_with(&expected), "{location} for {request:?}");
        }
    }
}

#[test]
fn rfc9113_8_3_1_what_is_no_authority_is_refused() {
    let site = site();
    for host in WRONG {
        // Told by one, by the other, and by both.
        for (authority, field) in [(Some(host), None), (None, Some(host)), (Some(host), Some(host))]
        {
            let mut fields = request("GET", "/healthz");
            fields.pop();
            fields.extend(authority.map(|host| (":authority", host)));
            fields.extend(field.map(|host| ("host", host)));
            let mut client = Frames::open(site.server.local_addr());
            client.ask(1, &fields);
            let got = client.next_on(1);
            // What no URI could have is malformed to HTTP/2 itself (§8.1.1).
            let is_refused = match got.kind {
                RST_STREAM => got.code() == PROTOCOL_ERROR,
                kind => kind == HEADERS && got.status() == 400,
            };
            assert!(is_refused, "{fields:?}: {got:?}");
        }
    }
}
