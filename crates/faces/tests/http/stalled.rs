//! Replies that nobody takes: each kind is counted from when it is admitted until it is gone, stays
//! within the bound, and ends with its connection.

use crate::feed::Stream;
use crate::frames::{
    DATA, END_HEADERS, END_STREAM, Frames, HEADERS, INITIAL_WINDOW_SIZE, WINDOW_UPDATE, block,
    frame, request,
};
use crate::patience::wait_for;
use crate::site::{Site, bare, get, put, until, with_type};
use faces::{ServerOptions, limits};
use gem::{App, Pool, PoolOptions};
use std::cell::Cell;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

const ROUTES: &str = r#"
import { App } from "sarsen";
const app = new App();
app.get("/text", () => "x".repeat(20000));
app.get("/stored", ({ db }) => db.photos.stored("blob"));
export default app;
"#;

/// Content that is kept in a document, and content that is a blob.
const INLINE: usize = 50_000;
const BLOB: usize = 1 << 20;
const FILE: usize = 30_000;

/// What a reply that sends a blob holds while its client takes nothing: from its first piece on.
const HELD_BY_BLOB: usize = limits::REPLY_ADMITTED_BYTES
    + BLOB / limits::REPLY_PIECE_BYTES_MAX * 4
    + limits::REPLY_PIECE_BYTES_MAX;

fn site(change: impl FnOnce(&mut ServerOptions)) -> Site {
    let change = |options: &mut ServerOptions| {
        options.reactors = 1;
        change(options);
    };
    let site = Site::with_pool(change, |repository| {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("public")).unwrap();
        fs::write(folder.path().join("public/file.bin"), vec![7; FILE]).unwrap();
        fs::write(folder.path().join("sarsen.toml"), "name = \"test\"\n").unwrap();
        fs::write(folder.path().join("app.js"), ROUTES).unwrap();
        let app = App::load(folder.path()).unwrap();
        let options = PoolOptions {
            workers: 1,
            queue: 1_024,
            cpu_limit: Duration::from_millis(500),
            heap_limit: 32 << 20,
            errors: None,
            cache: None,
        };
        Some(Arc::new(Pool::start(app, Arc::clone(repository), options).unwrap()))
    });
    site.put("/db/notes/a", &format!("\"{}\"", "x".repeat(INLINE - 2)));
    let bytes = |path: &str, bytes: usize| with_type("PUT", path, ("a/b", ""), &"x".repeat(bytes));
    assert_eq!(site.ask(&bytes("/db/photos/inline", INLINE)).status, 201);
    assert_eq!(site.ask(&bytes("/db/photos/blob", BLOB)).status, 201);
    let content = "x".repeat(INLINE);
    let entry = format!(
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>a</title>\
         <content>{content}</content></entry>"
    );
    let post = |path: &str, (kind, slug): (&str, &str), body: &str| {
        let slug = format!("Slug: {slug}\r\n");
        let made = site.ask(&with_type("POST", path, (kind, &slug), body));
        assert_eq!(made.status, 201, "{made:?}");
    };
    post("/atom/pub/entries", ("application/atom+xml;type=entry", "a"), &entry);
    post("/atom/pub/media", ("image/png", "m"), &"x".repeat(BLOB));
    site
}

/// What the replies of the server hold, as it says itself. `None`: so much that it cannot say it.
fn held(site: &Site) -> Option<usize> {
    const NAME: &str = "sarsen_memory_bytes{use=\"replies\"} ";
    let page = site.ask(&get("/metrics"));
    if page.status == 503 {
        return None;
    }
    let line = page.body.lines().find_map(|line| line.strip_prefix(NAME));
    Some(line.unwrap_or_else(|| panic!("no {NAME}: {page:?}")).parse().unwrap())
}

/// Waits until the replies hold so much.
fn until_held(site: &Site, what: &str, is_so: impl Fn(usize) -> bool) {
    let last = Cell::new(None);
    let told = || format!("they hold {:?}", last.get());
    wait_for(what, told, || {
        last.set(held(site));
        last.get().is_some_and(&is_so).then_some(())
    });
}

/// A connection without room for any content, that asks for `path` so many times.
fn stalled(site: &Site, path: &str, field: Option<(&str, &str)>, times: u32) -> Frames {
    let mut client = Frames::open_with(site.server.local_addr(), &[(INITIAL_WINDOW_SIZE, 0)]);
    let mut fields = request("GET", path);
    fields.extend(field);
    for n in 0..times {
        client.ask(2 * n + 1, &fields);
    }
    client
}

/// The statuses of so many replies, in the order in which they come.
fn statuses(client: &mut Frames, replies: u32) -> Vec<u16> {
    (0..replies).map(|_| client.next_of(HEADERS).expect("a reply").status()).collect()
}

/// A kind of reply, what asks for it, and with which field.
type Kind = (&'static str, &'static str, Option<(&'static str, &'static str)>);

const KINDS: &[Kind] = &[
    ("a document of JSON", "/db/notes/a", None),
    ("another document", "/db/photos/inline", None),
    ("a part of it", "/db/photos/inline", Some(("range", "bytes=0-9999"))),
    ("a list", "/db/notes", None),
    ("a page of the feed", "/feed?after=0", Some(("accept", "application/json"))),
    ("an application's text", "/text", None),
    ("a file", "/file.bin", None),
    ("a part of a file", "/file.bin", Some(("range", "bytes=0-9999"))),
    ("an entry", "/atom/pub/entries/a", None),
    ("a collection of entries", "/atom/pub/entries", None),
    ("a feed", "/atom/pub/feed", None),
    ("a page", "/atom/pub", None),
    ("the server's own page", "/openapi.json", None),
    ("an error", "/db/none/none", None),
];

const BLOBS: &[Kind] = &[
    ("a blob", "/db/photos/blob", None),
    ("a part of a blob", "/db/photos/blob", Some(("range", "bytes=300000-"))),
    ("an application's blob", "/stored", None),
    ("media", "/atom/pub/media/m", None),
];

#[test]
fn each_kind_is_counted_until_it_is_gone() {
    const TIMES: u32 = 20;
    let site = site(|_| {});
    let whole = KINDS.iter().map(|(name, path, field)| {
        let fields = field.map(|(name, value)| format!("{name}: {value}\r\n"));
        let body = site.ask(&bare("GET", path, &fields.unwrap_or_default())).body.len();
        let counted = if body > limits::REPLY_UNCOUNTED_BYTES_MAX { body } else { 0 };
        (name, path, field, counted)
    });
    let blobs = BLOBS.iter().map(|(name, path, field)| (name, path, field, HELD_BY_BLOB));
    let mut large = 0;
    for (name, path, field, each) in whole.chain(blobs) {
        large += usize::from(each > 0);
        let mut client = stalled(&site, path, *field, TIMES);
        let statuses = statuses(&mut client, TIMES);
        assert!(
            statuses.iter().all(|status| matches!(status, 200 | 206) || *name == "an error"),
            "{name}: {statuses:?}"
        );
        let all = TIMES as usize * each;
        until_held(&site, &format!("{name} to be counted as {all}"), |held| held == all);
        drop(client);
        until_held(&site, &format!("{name} to be gone"), |held| held == 0);
    }
    assert!(large >= KINDS.len() + BLOBS.len() - 3, "{large} are large enough to be counted");
}

#[test]
fn blobs_that_nobody_takes_stay_within_the_bound() {
    const ROOM: usize = 16 << 20;
    let site = site(|options| options.reply_memory_bytes = ROOM);
    // Room for a tenth of them, if each had a whole piece.
    let mut clients: Vec<_> =
        (0..6).map(|_| stalled(&site, "/db/photos/blob", None, limits::STREAMS_MAX)).collect();
    let mut admitted = 0;
    for client in &mut clients {
        for _ in 0..limits::STREAMS_MAX {
            // A 200; no other status is written so (RFC 7541, appendix A).
            admitted += usize::from(client.next_of(HEADERS).unwrap().payload[0] == 0x88);
        }
    }
    // Those who stall have little each: so many that are admitted would fill the room many times.
    assert!(admitted * HELD_BY_BLOB > 4 * ROOM, "{admitted}");
    until(|| site.ask(&get("/db/photos/blob")).status == 503);
    assert_eq!(site.ask(&get("/healthz")).status, 200);
    clients.truncate(2);
    until_held(&site, "some to be gone", |held| held <= ROOM);
    drop(clients);
    until_held(&site, "them to be gone", |held| held == 0);
    assert_eq!(site.ask(&get("/db/photos/blob")).body.len(), BLOB);
}

#[test]
fn replies_to_changes_have_as_much_room_again_and_then_nothing_is_changed() {
    const ROOM: usize = 8 * INLINE;
    const TIMES: u32 = 100;
    let site = site(|options| options.reply_memory_bytes = ROOM);
    let settings = [(INITIAL_WINDOW_SIZE, 0)];
    let mut client = Frames::open_with(site.server.local_addr(), &settings);
    let json = ("content-type", "application/json");
    // Lists may change something, whether these do or not.
    let list = b"[{\"op\":\"get\",\"collection\":\"notes\",\"key\":\"a\"}]";
    let fields = block(&[request("POST", "/tx"), vec![json]].concat());
    for n in 0..TIMES {
        client.send(HEADERS, END_HEADERS, 2 * n + 1, &fields);
        client.send(DATA, END_STREAM, 2 * n + 1, list);
    }
    let mut performed = 0;
    for _ in 0..TIMES {
        performed += usize::from(client.next_of(HEADERS).unwrap().payload[0] == 0x88);
    }
    let most = 2 * ROOM / INLINE + 1;
    assert!((most / 2..=most).contains(&performed), "{performed} of at most {most}");
    let commits = site.repository.stats().commits;
    let refused = site.ask(&put("/db/notes/b", "", "1"));
    assert_eq!((refused.status, refused.problem()), (503, "busy"));
    let entry = with_type("POST", "/atom/pub/media", ("image/png", ""), "x");
    assert_eq!(site.ask(&entry).status, 503);
    assert_eq!(site.repository.stats().commits, commits, "nothing was changed");
    assert_eq!(site.ask(&get("/healthz")).status, 200);
    drop(client);
    until(|| site.ask(&put("/db/notes/b", "", "1")).status == 201);
}

#[test]
fn a_blob_arrives_whole_through_a_crowd() {
    const ROOM: usize = 4 << 20;
    let site = site(|options| options.reply_memory_bytes = ROOM);
    let crowd = stalled(&site, "/db/photos/blob", None, 64);
    until_held(&site, "a crowd", |held| held > ROOM / 2);
    for _ in 0..3 {
        assert_eq!(site.ask(&get("/db/photos/blob")).body, "x".repeat(BLOB));
    }
    drop(crowd);
}

#[test]
fn a_stream_of_the_feed_is_counted_while_it_waits() {
    let site = site(|_| {});
    let start = site.repository.log_end().0;
    let mut client = stalled(&site, &format!("/feed?after={start}"), None, 1);
    assert_eq!(client.next_on(1).status(), 200);
    let body = "x".repeat(40_000);
    for n in 0..40 {
        site.put(&format!("/db/notes/{n}"), &format!("\"{body}\""));
    }
    until_held(&site, "pieces of the feed", |held| {
        (limits::FEED_PIECE_BYTES..8 * limits::FEED_PIECE_BYTES).contains(&held)
    });
    drop(client);
    until_held(&site, "them to be gone", |held| held == 0);
}

#[test]
fn a_stream_that_has_nothing_to_say_is_not_stalled() {
    let site = site(|options| options.timeouts.write_stall = Duration::from_millis(100));
    let mut idle = Frames::open(site.server.local_addr());
    idle.ask(1, &request("GET", "/feed"));
    assert_eq!(idle.next_on(1).status(), 200);
    // Others that take nothing are given up meanwhile, one after the other.
    for _ in 0..4 {
        let mut other = stalled(&site, "/db/photos/blob", None, 1);
        other.until_end();
    }
    site.put("/db/notes/told", "1");
    loop {
        let told = idle.next_on(1);
        if String::from_utf8_lossy(&told.payload).contains("told") {
            break;
        }
    }
    // And in HTTP/1.
    let mut idle = Stream::open(site.server.local_addr(), "/feed", "");
    stalled(&site, "/db/photos/blob", None, 1).until_end();
    site.put("/db/notes/told", "2");
    assert_eq!(idle.next().unwrap().0, "commit");
}

#[test]
fn who_takes_a_byte_at_a_time_is_given_up_and_holds_little() {
    let site = site(|options| options.timeouts.write_stall = Duration::from_millis(400));
    for path in ["/db/photos/blob", "/db/notes/a", "/text", "/atom/pub/feed"] {
        let mut client = stalled(&site, path, None, 8);
        let mut sent = true;
        until(|| {
            // Pauses between them, as `until` makes.
            for stream in (1..16).step_by(2) {
                let one = frame(WINDOW_UPDATE, 0, stream, &1_u32.to_be_bytes());
                sent = sent && client.try_raw(&one);
            }
            !sent
        });
        until_held(&site, &format!("{path} to be gone"), |held| held == 0);
    }
    assert_eq!(site.ask(&put("/db/notes/after", "", "1")).status, 201);
}
