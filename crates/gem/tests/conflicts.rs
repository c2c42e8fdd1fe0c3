//! A conflict runs the handler again: nothing is lost, nothing is done twice.

use crate::support::{self, Setup, Site, request, site_with, text};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;

const WORKERS: usize = 4;

fn busy_site(routes: &str) -> Site {
    site_with(routes, Setup { workers: WORKERS, queue: 1024, ..Setup::default() })
}

/// Sends `count` requests at once, and returns the bodies of the replies.
fn hammer(site: &Site, target: &str, count: usize) -> Vec<String> {
    let (sender, outcomes) = mpsc::channel();
    for _ in 0..count {
        let sender = sender.clone();
        let respond = Box::new(move |outcome| sender.send(outcome).unwrap());
        site.pool.submit(request("POST", target), respond).map_err(|_| "full").unwrap();
    }
    drop(sender);
    outcomes.iter().map(|outcome: support::Outcome| text(&outcome.unwrap())).collect()
}

#[test]
fn read_modify_write_by_many_loses_nothing() {
    let site = busy_site(
        r#"app.post("/hit", ({ db }) => {
             const { counters } = db;
             if (counters.get("one") === undefined) counters.insert("one", { n: 0 });
             const counter = counters.get("one");
             // Long enough for others to commit in between.
             for (let i = 0; i < 20000; i++);
             counter.n += 1;
             return [counter.n];
           });"#,
    );
    const HITS: usize = 400;
    let mut seen = hammer(&site, "/hit", HITS);
    assert_eq!(site.stored("counters", "one"), Some(format!("{{\"n\":{HITS}}}")));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), HITS, "each hit saw its own number");
    let stats = site.repository.stats();
    assert!(stats.conflicts > 0, "the test is empty if nothing ever conflicted");
    assert_eq!(stats.commits, HITS as u64);
}

/// A handler that reads `race`, whereupon another transaction changes it `losses` times, once in
/// each run: `console.log` is where the test comes in between.
fn lose(losses: u64) -> (Site, support::Outcome) {
    let site = site_with(
        r#"const runs = [];
           app.post("/race", ({ db, session, time }) => {
             const race = db.races.get("one");
             const draws = [Math.random(), Math.random()].join();
             const key = db.entries.insert(draws).slice(10);
             session.mine = draws;
             runs.push({ time, draws, key, seen: race.n });
             console.log("in between");
             race.n += 100;
             return runs;
           });"#,
        Setup::default(),
    );
    site.store_json("races", "one", "{\"n\":0}");
    let (repository, clock) = (site.repository.clone(), site.clock.clone());
    let mut run = 0;
    let _hearing = support::on_log(Box::new(move |_, _| {
        run += 1;
        if run <= losses {
            clock.fetch_add(1, Ordering::SeqCst);
            support::store(&repository, ("races", "one"), &format!("{{\"n\":{run}}}"));
        }
    }));
    let outcome = site.send(request("POST", "/race"));
    (site, outcome)
}

#[test]
fn a_handler_that_runs_again_sees_the_same_randomness_on_a_fresh_view() {
    let (site, outcome) = lose(2);
    let reply = outcome.unwrap();
    let runs = text(&reply);
    let parts = |name: &str| -> Vec<String> {
        let name = format!("\"{name}\":");
        runs.split(&name)
            .skip(1)
            .map(|rest| rest.split(['}', '"']).find(|s| !s.is_empty()).unwrap().to_owned())
            .collect()
    };
    assert_eq!(parts("seen"), ["0", "1", "2"], "{runs}");
    let times: Vec<String> = (0..3).map(|i| format!("{},", support::START_MS + i)).collect();
    assert_eq!(parts("time"), times, "{runs}");
    for name in ["draws", "key"] {
        let drawn = parts(name);
        assert!(drawn.len() == 3 && drawn.iter().all(|one| *one == drawn[0]), "{runs}");
    }
    assert_eq!(site.stored("races", "one").as_deref(), Some(r#"{"n":102}"#));
    let stats = site.repository.stats();
    assert_eq!((stats.conflicts, stats.serial_lane), (2, 0));
    let cookies = reply.headers.iter().filter(|(name, _)| name == "set-cookie").count();
    assert_eq!(cookies, 1, "one session, however often it was made");
    // The document before, two that interfered, and the handler's one commit.
    assert_eq!(stats.commits, 4);
}

#[test]
fn a_handler_that_loses_often_ends_in_the_serial_lane() {
    let losses = u64::from(repository::limits::OPTIMISTIC_TRIES);
    let (site, outcome) = lose(losses);
    assert_eq!(outcome.unwrap().status, 200);
    let expected = format!("{{\"n\":{}}}", losses + 100);
    assert_eq!(site.stored("races", "one"), Some(expected));
    assert_eq!(site.repository.stats().serial_lane, 1);
}

#[test]
fn additions_by_many_never_conflict() {
    let site = busy_site(
        r#"app.post("/hit", ({ db }) => {
             db.tally.add("hits", 1);
             return [db.tally.peek("hits")];
           });"#,
    );
    const HITS: usize = 1000;
    hammer(&site, "/hit", HITS);
    assert_eq!(site.stored("tally", "hits"), Some(HITS.to_string()));
    assert_eq!(site.repository.stats().conflicts, 0);
}

#[test]
fn several_pools_share_one_repository() {
    let site = Arc::new(busy_site(
        r#"app.post("/move", ({ db }) => {
             const a = db.accounts.get("a"), b = db.accounts.get("b");
             for (let i = 0; i < 5000; i++);
             const from = a.sum > b.sum ? a : b, to = from === a ? b : a;
             from.sum -= 1;
             to.sum += 1;
             return [a.sum + b.sum];
           });"#,
    ));
    site.store_json("accounts", "a", r#"{"sum":50}"#);
    site.store_json("accounts", "b", r#"{"sum":50}"#);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let site = site.clone();
            thread::spawn(move || hammer(&site, "/move", 50))
        })
        .collect();
    for thread in threads {
        assert!(thread.join().unwrap().iter().all(|sum| sum == "[100]"));
    }
}
