//! Handlers that read ranges and write elsewhere: whatever two of them have read together holds
//! when both have committed (write skew and phantoms; Berenson et al., 1995, P3 and A5B).

use crate::support::{self, PATIENCE, Setup, Site, request, site_with, text};
use std::sync::Arc;
use std::sync::mpsc;

/// How handlers may read many documents: all give how many there are of a room.
const COUNTS: &str = r#"
const counts = {
  range: (db, room) => [...db.bookings.range({ prefix: room })].length,
  reverse: (db, room) => db.bookings.range({ prefix: room, reverse: true }).first() ? 1 : 0,
  keys: (db, room) => [...db.bookings.keys({ prefix: room })].length,
  count: (db, room) => db.bookings.count({ prefix: room }),
  query: (db, room) => [...db.bookings.query`room = ${room}`].length,
  first: (db, room) => db.bookings.query`room = ${room}`.limit(1).first() ? 1 : 0,
  counted: (db, room) => db.bookings.query`room = ${room}`.count(),
};
app.post("/book/:room/:who", ({ db, params: { room, who }, query }) => {
  const taken = counts[query.by](db, room);
  if (query.wait) console.log("in between");
  if (taken >= Number(query.most ?? 1)) return "taken";
  db.bookings.put(`${room}-${who}`, { room });
  return "booked";
});
"#;

const BY_ROOM: &str = "[[collections.bookings.indexes]]\nname = \"by_room\"\n\
                       paths = [{ path = \"/room\", kind = \"text\" }]\n";

fn site(routes: &str, settings: &'static str) -> Site {
    site_with(routes, Setup { workers: 2, queue: 1_024, settings, ..Setup::default() })
}

/// POSTs to `first`, which writes to the log between its reads and its writes; there another
/// request, to `second`, is served from begin to end, once. Gives both replies.
fn interleave(site: &Site, first: &str, second: &str) -> [String; 2] {
    let (pool, target) = (Arc::clone(&site.pool), second.to_owned());
    let (tell, told) = mpsc::channel();
    let mut is_done = false;
    let hearing = support::on_log(Box::new(move |_, _| {
        if std::mem::replace(&mut is_done, true) {
            return;
        }
        let (sender, outcome) = mpsc::channel();
        let respond = Box::new(move |result| sender.send(result).unwrap());
        assert!(pool.submit(request("POST", &target), respond).is_ok());
        tell.send(outcome.recv_timeout(PATIENCE).unwrap()).unwrap();
    }));
    let first = text(&site.post(first));
    drop(hearing);
    [first, text(&told.recv_timeout(PATIENCE).unwrap().unwrap())]
}

const READS: [&str; 7] = ["range", "reverse", "keys", "count", "query", "first", "counted"];

#[test]
fn what_was_not_there_when_it_was_looked_for_is_not_there_at_the_commit() {
    for settings in ["", BY_ROOM] {
        let site = site(COUNTS, settings);
        if !settings.is_empty() {
            site.wait_built();
        }
        for by in READS {
            let before = site.repository.stats().conflicts;
            // In one case the second makes the collection.
            let first = format!("/book/{by}/a?by={by}&wait=1");
            let replies = interleave(&site, &first, &format!("/book/{by}/b?by={by}"));
            assert_eq!(replies, ["taken", "booked"], "{by}, {settings:?}");
            assert_eq!(site.stored("bookings", &format!("{by}-a")), None, "{by}");
            assert_eq!(site.repository.stats().conflicts, before + 1, "{by}, {settings:?}");
            // What was not read does not matter.
            let first = format!("/book/{by}-1/a?by={by}&wait=1");
            let replies = interleave(&site, &first, &format!("/book/{by}-2/a?by={by}"));
            let is_scanned = settings.is_empty() && ["query", "first", "counted"].contains(&by);
            let lost = u64::from(is_scanned);
            assert_eq!(replies, ["booked", "booked"], "{by}, {settings:?}");
            assert_eq!(site.repository.stats().conflicts, before + 1 + lost, "{by}, {settings:?}");
        }
    }
}

#[test]
fn what_holds_of_several_documents_holds_after_those_who_change_one_each() {
    let site = site(
        r#"app.post("/off/:who", ({ db, params, query }) => {
             const on = [...db.shifts.range()].filter(([, shift]) => shift.on).length;
             if (query.wait) console.log("in between");
             if (on < 2) return "alone";
             db.shifts.get(params.who).on = false;
             return "off";
           });"#,
        "",
    );
    for who in ["a", "b"] {
        site.store_json("shifts", who, r#"{"on":true}"#);
    }
    assert_eq!(interleave(&site, "/off/a?wait=1", "/off/b"), ["alone", "off"]);
    assert_eq!(site.stored("shifts", "a").as_deref(), Some(r#"{"on":true}"#));
    assert_eq!(site.stored("shifts", "b").as_deref(), Some(r#"{"on":false}"#));
    assert_eq!(site.repository.stats().conflicts, 1);
}

#[test]
fn a_bound_on_how_many_there_are_holds_whoever_comes_at_once() {
    const MOST: usize = 10;
    let site = site(COUNTS, BY_ROOM);
    site.wait_built();
    for by in ["range", "count", "query", "counted"] {
        let (sender, outcomes) = mpsc::channel();
        for who in 0..60 {
            let sender = sender.clone();
            let respond = Box::new(move |outcome| sender.send(outcome).unwrap());
            let target = format!("/book/{by}/{who}?by={by}&most={MOST}");
            assert!(site.pool.submit(request("POST", &target), respond).is_ok());
        }
        let replies = (0..60).map(|_| text(&outcomes.recv_timeout(PATIENCE).unwrap().unwrap()));
        assert_eq!(replies.filter(|reply| reply == "booked").count(), MOST, "{by}");
    }
    let mut transaction = site.repository.begin().unwrap();
    let bookings = repository::CollectionName::new("bookings").unwrap();
    let (all, up) = (repository::KeyRange::all(), repository::Direction::Ascending);
    assert_eq!(transaction.range(&bookings, &all, up, 1_000).unwrap().len(), 4 * MOST);
}
