//! HTTP/2 as nginx speaks it.

use crate::certificates::Authority;
use crate::nginx::{BODY, Nginx};
use crate::server::{OK, serve_bytes};
use crate::{hit, refusal, report, streams, trusting};
use std::collections::HashSet;

/// The connections that requests came on.
fn connections(requests: &[String]) -> HashSet<&str> {
    requests.iter().map(|line| line.split(' ').next().unwrap()).collect()
}

#[test]
fn users_share_connections_by_their_numbers() {
    let nginx = Nginx::start("http2", None, "");
    let report = report(&streams(hit(&nginx.url("http", "localhost"), 8, 400), 4));
    assert_eq!((report.measured.successes(), report.errors_in_all()), (400, 0));
    assert_eq!(report.connections, 2);
    assert_eq!(report.to_json()["transport"], "HTTP/2, 4 streams per connection");
    assert!(report.measured.bytes_received() > 400 * BODY.len() as u64);
    let requests = nginx.requests();
    assert_eq!((requests.len(), connections(&requests).len()), (400, 2));
    assert!(requests.iter().all(|line| line.contains("GET / HTTP/2.0 200")), "{:?}", requests[0]);
}

#[test]
fn over_tls_it_is_agreed_on() {
    let authority = Authority::new();
    let identity = authority.sign("DNS:localhost", 2);
    let nginx = Nginx::start("ssl http2", Some(&identity), "ssl_protocols TLSv1.3;");
    let hit = trusting(hit(&nginx.url("https", "localhost"), 6, 60), &authority.certificate());
    let report = report(&streams(hit, 6));
    assert_eq!((report.measured.successes(), report.connections), (60, 1));
    assert!(nginx.requests().iter().all(|line| line.ends_with("HTTP/2.0 200 TLSv1.3")));
    assert!(report.servers[0].1.as_ref().unwrap().starts_with("nginx"), "{:?}", report.servers);
}

#[test]
fn bodies_and_methods_arrive() {
    let nginx = Nginx::start("http2", None, "");
    let mut hit = streams(hit(&nginx.url("http", "localhost"), 2, 20), 2);
    hit.request.method = "PUT".into();
    hit.request.headers = vec![("Content-Type".into(), "text/plain".into())];
    hit.request.body = vec![b'x'; 200_000];
    assert_eq!(report(&hit).measured.successes(), 20);
    assert!(nginx.requests().iter().all(|line| line.contains("PUT / HTTP/2.0 200")));
    hit.request.method = "HEAD".into();
    hit.request.body.clear();
    assert_eq!(report(&hit).measured.successes(), 20);
}

#[test]
fn a_server_that_ends_connections_in_good_order_costs_no_request() {
    // nginx sends GOAWAY with each fiftieth.
    let nginx = Nginx::start("http2", None, "keepalive_requests 50;");
    let report = report(&streams(hit(&nginx.url("http", "localhost"), 16, 1000), 16));
    assert_eq!(report.measured.successes(), 1000, "{}", report.to_text());
    assert!(report.connections >= 20, "{}", report.connections);
    assert_eq!(nginx.requests().len(), 1000);
}

#[test]
fn a_server_that_does_not_know_it_is_told() {
    let server = serve_bytes(OK);
    let why = refusal(&streams(hit(&server.url("/"), 1, 1), 1));
    assert!(why.contains("does not speak HTTP/2 without TLS"), "{why}");
    let nginx = Nginx::start("", None, "");
    let why = refusal(&streams(hit(&nginx.url("http", "localhost"), 1, 1), 1));
    assert!(why.contains("does not speak HTTP/2 without TLS"), "{why}");
}
