//! Whom the lab trusts, and what it says if it does not.

use crate::certificates::{Authority, Identity};
use crate::nginx::{BODY, Nginx};
use crate::{assert_only, hit, refusal, report, streams, trusting};
use lab::measure::ErrorClass;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

#[test]
fn nginx_is_spoken_to_over_tls() {
    let authority = Authority::new();
    let identity = authority.sign("DNS:localhost", 2);
    let nginx = Nginx::start("ssl", Some(&identity), "ssl_protocols TLSv1.3;");
    let report =
        report(&trusting(hit(&nginx.url("https", "localhost"), 3, 60), &authority.certificate()));
    assert_eq!((report.measured.successes(), report.errors_in_all()), (60, 0));
    assert_eq!(report.connections, 3);
    let [(origin, Some(software))] = report.servers.as_slice() else { panic!("{report:?}") };
    assert!(
        origin.starts_with("https://localhost:") && software.starts_with("nginx"),
        "{software}"
    );
    assert!(report.measured.bytes_received() > 60 * BODY.len() as u64);
    let requests = nginx.requests();
    assert_eq!(requests.len(), 60);
    let expected = "GET / HTTP/1.1 200 TLSv1.3";
    assert!(requests.iter().all(|line| line.ends_with(expected)), "{:?}", requests[0]);
}

#[test]
fn tls_1_2_and_a_connection_per_request_will_do() {
    let authority = Authority::new();
    let identity = authority.sign("IP:127.0.0.1", 2);
    let nginx = Nginx::start("ssl", Some(&identity), "ssl_protocols TLSv1.2;");
    let url = nginx.url("https", "127.0.0.1");
    let mut hit = trusting(hit(&url, 2, 10), &authority.certificate());
    hit.transport.keep_alive = false;
    let report = report(&hit);
    assert_eq!((report.measured.successes(), report.connections), (10, 10));
    assert!(nginx.requests().iter().all(|line| line.ends_with("200 TLSv1.2")));
}

#[test]
fn what_is_not_trusted_is_one_clear_line_and_no_load() {
    let authority = Authority::new();
    let good = authority.sign("DNS:localhost", 2);
    let expired = authority.sign("DNS:localhost", -1);
    let other = authority.sign("DNS:elsewhere.example", 2);
    let ca = authority.certificate();
    let refused = |identity: &Identity, is_trusted: bool| {
        let nginx = Nginx::start("ssl", Some(identity), "");
        let hit = hit(&nginx.url("https", "localhost"), 1, 1);
        let why = refusal(&if is_trusted { trusting(hit.clone(), &ca) } else { hit.clone() });
        assert_eq!(nginx.requests(), Vec::<String>::new());
        // Whoever wants to, may.
        let mut hit = hit;
        hit.transport.trust.insecure = true;
        assert_eq!(report(&hit).measured.successes(), 1);
        why
    };
    for (why, parts) in [
        (refused(&good, false), ["signed by nobody who is trusted", "--ca FILE"]),
        (refused(&expired, true), ["has expired", "--insecure"]),
        (refused(&other, true), ["elsewhere.example", "--insecure"]),
    ] {
        assert!(why.starts_with("cannot speak to localhost:"), "{why}");
        assert!(parts.iter().all(|part| why.contains(part)), "{why}");
        assert!(!why.contains('\n'), "{why}");
    }
}

#[test]
fn a_server_without_tls_and_one_without_http2_are_told() {
    let nginx = Nginx::start("", None, "");
    let why = refusal(&hit(&nginx.url("https", "localhost"), 1, 1));
    assert!(why.contains("does the server speak TLS there"), "{why}");
    let authority = Authority::new();
    let nginx = Nginx::start("ssl", Some(&authority.sign("DNS:localhost", 2)), "");
    let hit = trusting(hit(&nginx.url("https", "localhost"), 1, 1), &authority.certificate());
    let why = refusal(&streams(hit, 1));
    assert!(why.contains("does not speak"), "{why}");
}

#[test]
fn tls_that_fails_during_the_run_is_a_class_of_its_own() {
    let authority = Authority::new();
    let identity = authority.sign("DNS:localhost", 2);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let config = Arc::new(server_config(&identity));
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            // The first looks whether TLS is spoken, the second has a reply, all others garbage.
            if number > 1 {
                let _gone = stream.write_all(b"220 mail.example ESMTP\r\n");
                continue;
            }
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut tls = StreamOwned::new(connection, stream);
            let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _gone = tls.write_all(reply).and_then(|()| tls.flush());
            let _read = std::io::copy(&mut tls, &mut std::io::sink());
        }
    });
    let report = report(&trusting(hit(&url, 1, 4), &authority.certificate()));
    assert_eq!(report.measured.successes(), 1);
    let first = assert_only(report.measured.errors(), ErrorClass::Tls, 3);
    assert!(first.starts_with("TLS failed: "), "{first}");
}

fn server_config(identity: &Identity) -> ServerConfig {
    let certificates = CertificateDer::pem_file_iter(&identity.certificate).unwrap();
    let certificates = certificates.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(&identity.key).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap()
}
