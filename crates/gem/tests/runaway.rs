//! Requests that do not stop: what the engine interrupts, what its guards refuse, and what the
//! watchdog takes the gem from. Others are served meanwhile, and nothing of it has an effect.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod support;

use gem::{Failure, FailureKind};
use std::sync::mpsc;
use std::time::Duration;
use support::{Setup, Site, request, site_with};

const SETTINGS: &str = "[limits]\ncpu_ms = 50\nheap_bytes = 67108864\n";

fn site(body: &str, workers: usize) -> Site {
    let routes = format!(
        "app.get(\"/runaway\", ({{ db }}) => {{ db.n.put(\"written\", {{}}); {body} }});\n\
         app.get(\"/fine\", ({{ db }}) => {{ db.n.add(\"count\", 1); return \"fine\"; }});"
    );
    site_with(&routes, Setup { settings: SETTINGS, workers, ..Setup::default() })
}

/// Nothing of the request is there, and the next one is served.
fn assert_unharmed(site: &Site, name: &str) {
    assert_eq!(site.stored("n", "written"), None, "{name}");
    assert_eq!(site.text("/fine"), "fine", "{name}");
}

#[test]
fn what_the_engine_interrupts() {
    for body in [
        "for (;;);",
        "for (;;) { try { for (;;); } catch {} finally { for (;;); } }",
        "/(a+)+b/.test(\"a\".repeat(60));",
        "/a*a*a*a*b/.test(\"a\".repeat(100000));",
        "(function next() { return Promise.resolve().then(next); })();",
        "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);",
        "const a = []; a.length = 2 ** 32 - 1; a.forEach(() => 0);",
        "({ next: () => ({}), __proto__: Iterator.prototype }).toArray();",
        "const a = Array.from({ length: 1e5 }, (_, i) => i); for (;;) a.sort((x, y) => y - x);",
        "new Uint8Array(10).set({ length: 2 ** 53 - 1 });",
    ] {
        let site = site(body, 1);
        let outcome = site.send(request("GET", "/runaway"));
        let stopped = matches!(
            outcome,
            Err(Failure { kind: FailureKind::CpuLimit | FailureKind::Handler, .. })
        );
        assert!(stopped, "{body}: {outcome:?}");
        assert_unharmed(&site, body);
    }
}

#[test]
fn what_the_guards_refuse() {
    for body in [
        "[].reverse.call({ length: 2 ** 53 - 1 });",
        "[].shift.call({ length: 2 ** 53 - 1 });",
        "[].unshift.call({ length: 2 ** 40 }, 1);",
        "[].splice.call({ length: 2 ** 40 }, 0, 1);",
        "[].copyWithin.call({ length: 2 ** 53 - 1 }, 1);",
        "[].sort.call({ length: 2 ** 53 - 1 });",
        "const a = []; a.length = 2 ** 32 - 1; a.join();",
        "const a = []; a.length = 2 ** 32 - 1; String(a);",
        "const a = []; a.length = 2 ** 32 - 1; a.slice(0);",
        "const a = []; a.length = 2 ** 32 - 1; a.flat();",
        "const a = []; a.length = 2 ** 32 - 1; [].concat(a);",
        "String.raw({ raw: { length: 2 ** 53 - 1 } });",
        "[].values.call({ length: 2 ** 53 - 1 }).drop(2 ** 53 - 2).next();",
    ] {
        let site = site(body, 1);
        let Err(Failure { kind: FailureKind::Handler, fault }) =
            site.send(request("GET", "/runaway"))
        else {
            panic!("{body}: expected a refusal");
        };
        assert!(fault.message.contains("expected at most 67108864 elements"), "{fault}");
        assert!(fault.message.contains("app.js:3:"), "{fault}");
        assert_unharmed(&site, body);
    }
}

#[test]
fn guarded_functions_do_what_they_did() {
    let site = site_with(
        "app.get(\"/\", () => { const a = [3, 1, 2]; return [\n\
         a.slice(1), a.concat([4], 5), a.join(\"-\"), [[1], [2]].flat(),\n\
         a.flatMap((x) => [x, x]),\n\
         a.splice(0, 1), a.reverse(), a.sort(), a.shift(), a.unshift(7, 8), String(a),\n\
         String.raw`a\\n${1}`, [1, 2, 3].values().drop(2).next().value,\n\
         a.slice.length, a.slice.name, Object.keys(Array.prototype).length,\n\
         ]; });",
        Setup::default(),
    );
    let expected = "[[1,2],[3,1,2,4,5],\"3-1-2\",[1,2],[3,3,1,1,2,2],[3],[7,8,2],[7,8,2],1,3,\
                    \"7,8,2\",\"a\\\\n1\",3,2,\"slice\",0]";
    assert_eq!(site.text("/"), expected);
}

/// Nothing interrupts the engine while it makes a text of a long number, for seconds; and it looks
/// at its limit at each ten thousandth loop only.
const STUBBORN: &str = "const long = 1n << 1000000n; for (;;) `${long}`;";

#[test]
fn a_worker_that_cannot_be_interrupted_is_replaced() {
    let site = site(STUBBORN, 1);
    let outcome = site.send(request("GET", "/runaway"));
    let Err(Failure { kind: FailureKind::CpuLimit, fault }) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(fault.message.contains("its gem was replaced"), "{fault}");
    assert_eq!(fault.report.unwrap().handler, "GET /runaway");
    assert_unharmed(&site, STUBBORN);
    let load = site.pool.load();
    assert_eq!((load.workers, load.alive, load.lost), (1, 1, 1));
}

#[test]
fn others_are_served_while_one_spins_and_a_poisoned_request_comes_again() {
    let site = site(STUBBORN, 2);
    let (sender, outcomes) = mpsc::channel();
    for _ in 0..3 {
        let sender = sender.clone();
        let respond = Box::new(move |outcome| sender.send(outcome).unwrap());
        assert!(site.pool.submit(request("GET", "/runaway"), respond).is_ok());
        // The queue is first in, first out: this one waits for the one before at most until the
        // watchdog has seen to it.
        assert_eq!(site.text("/fine"), "fine");
    }
    for _ in 0..3 {
        let outcome = outcomes.recv_timeout(Duration::from_secs(120)).unwrap();
        assert!(matches!(outcome, Err(Failure { kind: FailureKind::CpuLimit, .. })), "{outcome:?}");
    }
    let load = site.pool.load();
    assert_eq!((load.workers, load.alive, load.lost), (2, 2, 3));
    let figures = site.pool.handlers();
    let fine = figures.iter().find(|figures| figures.name == "GET /fine").unwrap();
    assert_eq!((fine.took.count(), fine.failed, fine.writes), (3, 0, 3));
}

/// Nor is the end waited for by more than the watchdog needs, and what waited in the queue is done.
#[test]
fn a_pool_stops_while_one_cannot_be_interrupted() {
    for _ in 0..3 {
        let site = site(STUBBORN, 1);
        let (sender, outcomes) = mpsc::channel();
        for path in ["/runaway", "/runaway", "/fine"] {
            let sender = sender.clone();
            let respond = Box::new(move |outcome| sender.send(outcome).unwrap());
            assert!(site.pool.submit(request("GET", path), respond).is_ok());
        }
        let (stopped, ended) = mpsc::channel();
        std::thread::spawn(move || {
            site.pool.stop();
            stopped.send(()).unwrap();
        });
        ended.recv_timeout(Duration::from_secs(120)).expect("it stops");
        for _ in 0..2 {
            let outcome = outcomes.try_recv().unwrap();
            let is_stopped = matches!(outcome, Err(Failure { kind: FailureKind::CpuLimit, .. }));
            assert!(is_stopped, "{outcome:?}");
        }
        assert!(outcomes.try_recv().unwrap().is_ok());
    }
}

/// Half of the gems work on tasks; a lost one is none of them any more.
#[test]
fn tasks_go_on_where_one_cannot_be_interrupted() {
    let routes = format!(
        "app.task('spin', {{ attempts: 1 }}, () => {{ {STUBBORN} }});
         app.task('fine', ({{ db }}) => {{ db.n.add('fine', 1); }});
         app.post('/:name', ({{ task, params }}) => task(params.name));"
    );
    let site = site_with(&routes, Setup { settings: SETTINGS, workers: 2, ..Setup::default() });
    site.post("/spin");
    site.wait("it is stopped", |site| site.pool.task_figures().dead == 1);
    site.post("/fine");
    site.wait("another runs", |site| site.stored("n", "fine").is_some());
    assert_eq!(site.pool.load().lost, 1);
}

#[test]
fn a_heap_that_fills_again_and_again_is_given_back() {
    let site = site("const a = []; for (;;) a.push([a.length]);", 1);
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let fill = |times: usize| {
        for _ in 0..times {
            let outcome = site.send(request("GET", "/runaway"));
            let stopped = matches!(
                outcome,
                Err(Failure { kind: FailureKind::HeapLimit | FailureKind::CpuLimit, .. })
            );
            assert!(stopped, "{outcome:?}");
        }
        resident()
    };
    let before = fill(3);
    let after = fill(20);
    // One heap that is kept each time would be 20 of 64 MiB.
    assert!(after < before + (300 << 20), "from {before} to {after} bytes");
    assert_unharmed(&site, "heap");
}
