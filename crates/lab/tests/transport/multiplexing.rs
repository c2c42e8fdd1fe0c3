//! Servers of HTTP/2 that reset streams, end connections and get lengths wrong.

use crate::{assert_only, hit, report, streams};
use bytes::Bytes;
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream};
use http::{Request, Response};
use lab::measure::ErrorClass;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, TcpStream};

type Exchange = (Request<RecvStream>, SendResponse<Bytes>);

/// Starts a server that gives each request, with its number, to `answer`.
fn serve(
    answer: impl Fn(usize, Exchange, &mut Connection<TcpStream, Bytes>) + Send + Sync + 'static,
) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (answer, numbers) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
        runtime.block_on(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (answer, numbers) = (Arc::clone(&answer), Arc::clone(&numbers));
                tokio::spawn(async move {
                    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
                    while let Some(Ok(exchange)) = connection.accept().await {
                        let number = numbers.fetch_add(1, Ordering::Relaxed);
                        answer(number, exchange, &mut connection);
                    }
                });
            }
        });
    });
    address
}

fn ok((_, mut respond): Exchange) {
    let mut body = respond.send_response(Response::new(()), false).unwrap();
    body.send_data(Bytes::from_static(b"hello"), true).unwrap();
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}/")
}

#[test]
fn a_reset_stream_is_an_error_of_that_request_alone() {
    let address = serve(|number, (request, mut respond), _| match number % 2 {
        0 => ok((request, respond)),
        _ => respond.send_reset(Reason::INTERNAL_ERROR),
    });
    let report = report(&streams(hit(&url(address), 4, 40), 4));
    assert_eq!((report.measured.successes(), report.connections), (20, 1));
    let first = assert_only(report.measured.errors(), ErrorClass::Closed, 20);
    assert!(first.starts_with("the server reset the stream: "), "{first}");
}

#[test]
fn a_connection_that_is_ended_for_a_fault_is_an_error() {
    let address = serve(|number, exchange, connection| match number {
        0 => ok(exchange),
        _ => connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM),
    });
    let report = report(&streams(hit(&url(address), 1, 5), 1));
    assert_eq!(report.measured.successes(), 1);
    let first = assert_only(report.measured.errors(), ErrorClass::Closed, 4);
    assert!(first.starts_with("the server ended the connection (GOAWAY): "), "{first}");
    // The second request went out on the first connection.
    assert_eq!(report.connections, 4);
}

#[test]
fn a_body_of_another_length_is_malformed() {
    let address = serve(|number, (request, mut respond), _| {
        if number == 0 {
            return ok((request, respond));
        }
        let head = Response::builder().header("content-length", "10").body(()).unwrap();
        let mut body = respond.send_response(head, false).unwrap();
        body.send_data(Bytes::from_static(b"hello"), true).unwrap();
    });
    let report = report(&streams(hit(&url(address), 1, 5), 1));
    assert_eq!(report.measured.successes(), 1);
    let first = assert_only(report.measured.errors(), ErrorClass::Malformed, 4);
    assert!(first.starts_with("what the server sent is not HTTP/2: "), "{first}");
}

#[test]
fn a_stream_that_never_ends_is_a_timeout_and_the_connection_stays() {
    let address = serve(|number, (request, mut respond), _| {
        if number % 2 == 0 {
            return ok((request, respond));
        }
        let mut body = respond.send_response(Response::new(()), false).unwrap();
        body.send_data(Bytes::from_static(b"hell"), false).unwrap();
        // Dropping it would reset the stream.
        std::mem::forget(body);
    });
    let mut hit = streams(hit(&url(address), 1, 6), 1);
    hit.request_timeout = std::time::Duration::from_secs(1);
    let report = report(&hit);
    assert_eq!((report.measured.successes(), report.connections), (3, 1));
    assert_only(report.measured.errors(), ErrorClass::Timeout, 3);
}
