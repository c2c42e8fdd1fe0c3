//! Floods by HTTP/2. Whatever one connection does, it ends or is slowed down, and others are
//! served.

use crate::frames::{
    CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR,
    Frames, HEADERS, PING, PROTOCOL_ERROR, RST_STREAM, SETTINGS, WINDOW_UPDATE, block, frame,
    request,
};
use crate::site::{Site, get};
use faces::limits;

/// Sends `flood` again and again until the server has had enough, or until it has taken `times`.
fn flood(client: &mut Frames, flood: &[u8], times: usize) {
    for _ in 0..times {
        if !client.try_raw(flood) {
            return;
        }
    }
}

fn assert_others_are_served(site: &Site) {
    assert_eq!(site.ask(&get("/healthz")).status, 200);
    Frames::open(site.server.local_addr()).assert_serves(1);
}

#[test]
fn cve_2023_44487_requests_taken_back_at_once() {
    let site = Site::start();
    let mut client = Frames::open(site.server.local_addr());
    let fields = block(&request("GET", "/healthz"));
    let mut bytes = Vec::new();
    for n in 0..2_000 {
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &fields));
        bytes.extend(frame(RST_STREAM, 0, 2 * n + 1, &CANCEL.to_be_bytes()));
    }
    client.try_raw(&bytes);
    assert_eq!(client.until_end(), Some(ENHANCE_YOUR_CALM));
    assert_others_are_served(&site);
}

#[test]
fn requests_taken_back_while_they_are_answered() {
    let site = Site::start();
    let mut client = Frames::open(site.server.local_addr());
    let fields = [request("PUT", "/db/notes/a"), vec![("content-type", "a/b")]].concat();
    let fields = block(&fields);
    let mut is_open = true;
    for n in 0..2 * limits::STREAMS_ABANDONED_MAX as u32 {
        let stream = 2 * n + 1;
        // The ping's answer shows that the request was seen before it is taken back.
        let seen = [frame(HEADERS, END_HEADERS, stream, &fields), frame(PING, 0, 0, &[0; 8])];
        is_open = client.try_raw(&seen.concat())
            && client.next_of(PING).is_some()
            && client.try_raw(&frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()));
        if !is_open {
            break;
        }
    }
    assert!(!is_open || client.until_end().is_none(), "it ends without being asked for");
    assert_others_are_served(&site);
}

#[test]
fn streams_that_break_the_protocol_again_and_again() {
    let site = Site::start();
    let mut client = Frames::open(site.server.local_addr());
    let malformed = block(&[request("GET", "/healthz"), vec![("connection", "close")]].concat());
    let mut bytes = Vec::new();
    for n in 0..4 * limits::STREAM_ERRORS_MAX as u32 {
        bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &malformed));
    }
    client.try_raw(&bytes);
    assert_eq!(client.until_end(), Some(ENHANCE_YOUR_CALM));
    assert_others_are_served(&site);
}

#[test]
fn cve_2024_27316_fields_that_never_end() {
    let site = Site::start();
    let mut client = Frames::open(site.server.local_addr());
    client.send(HEADERS, END_STREAM, 1, &block(&request("GET", "/healthz")));
    let more = block(&[("a", "b")]);
    flood(&mut client, &frame(CONTINUATION, 0, 1, &more).repeat(100), 1_000);
    let code = client.until_end();
    assert!(matches!(code, None | Some(ENHANCE_YOUR_CALM | PROTOCOL_ERROR)), "{code:?}");
    assert_others_are_served(&site);
}

#[test]
fn cve_2019_9512_and_9515_pings_and_settings_whose_answers_nobody_reads() {
    let site = Site::start();
    for (name, bytes) in
        [("pings", frame(PING, 0, 0, &[0; 8])), ("settings", frame(SETTINGS, 0, 0, &[]))]
    {
        let mut client = Frames::open(site.server.local_addr());
        // A server that went on reading would hold an answer for each.
        client.never_wait();
        flood(&mut client, &bytes.repeat(1_000), 2_000);
        drop(client);
        assert_others_are_served(&site);
        assert!(site.repository.stats().commits == 0, "{name}");
    }
}

#[test]
fn cve_2019_9518_empty_frames() {
    let site = Site::start();
    let mut client = Frames::open(site.server.local_addr());
    let fields = [request("PUT", "/db/notes/a"), vec![("content-type", "a/b")]].concat();
    client.send(HEADERS, END_HEADERS, 1, &block(&fields));
    flood(&mut client, &frame(DATA, 0, 1, &[]).repeat(100), 100);
    assert_others_are_served(&site);
}

#[test]
fn rfc9113_6_9_windows() {
    let site = Site::start();
    // More than the window of a stream: nobody reads the body of what is refused by its head.
    let mut client = Frames::open(site.server.local_addr());
    let fields = [request("PUT", "/db/notes/a"), vec![("content-type", "a/b")]].concat();
    client.send(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes());
    assert_eq!(client.until_end(), Some(FLOW_CONTROL_ERROR), "a window of more than 2^31-1");
    let mut client = Frames::open(site.server.local_addr());
    client.send(WINDOW_UPDATE, 0, 0, &0_u32.to_be_bytes());
    assert_eq!(client.until_end(), Some(PROTOCOL_ERROR), "by nothing");
    // More than there is room for, on a stream whose body nobody waits for.
    let mut client = Frames::open(site.server.local_addr());
    client.send(HEADERS, END_HEADERS, 1, &block(&fields));
    let piece = frame(DATA, 0, 1, &[0; 16_384]);
    for _ in 0..=limits::CONNECTION_WINDOW_BYTES as usize / 16_384 {
        // All in one go the server could not have made room in between.
        client.try_raw(&piece);
    }
    assert_others_are_served(&site);
}
