//! What a handler awaits is performed beside the gems; then the handler runs again from its start,
//! on a fresh view, with the answers. Hashes of passwords stand here for whatever may be awaited.

use crate::support::{self, Outcome, Setup, Site, request, site, site_with, text};
use gem::limits::{ASIDE_ROUNDS_MAX, ASIDES_MAX, PASSWORD_QUEUE, PASSWORD_THREADS};
use gem::{Failure, FailureKind, Pool};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Sends a request and goes on.
fn send(pool: &Pool, method: &str, target: &str) -> Receiver<Outcome> {
    let (sender, outcome) = channel();
    let respond = Box::new(move |result| {
        // A test may have seen enough.
        let _ = sender.send(result);
    });
    pool.submit(request(method, target), respond).map_err(|_| "the queue is full").unwrap();
    outcome
}

fn outcome(sent: &Receiver<Outcome>) -> Outcome {
    sent.recv_timeout(Duration::from_secs(120)).expect("every request has an outcome")
}

#[test]
fn the_handler_runs_again_from_its_start_with_the_same_randomness() {
    let site = site(
        r#"import { password } from "sarsen";
           const runs = [];
           app.post("/join", async ({ db, time }) => {
             const run = { time, draws: [Math.random(), Math.random()] };
             const key = db.users.insert({ name: "a" });
             runs.push({ ...run, key });
             const hash = await password.hash("secret");
             db.users.get(key).hash = hash;
             return { runs, hash };
           });
           app.get("/verify", async ({ db, query }) =>
             [await password.verify(query.text, query.hash)]);"#,
    );
    let reply = site.post("/join");
    let body = text(&reply);
    let (runs, hash) = body.split_once("],\"hash\":\"").unwrap();
    let runs: Vec<&str> = runs.trim_start_matches("{\"runs\":[").split("},{").collect();
    assert_eq!(runs.len(), 2, "{body}");
    assert_eq!(runs[0].trim_matches(['{', '}']), runs[1].trim_matches(['{', '}']));
    let hash = hash.trim_end_matches("\"}");
    assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
    let stats = site.repository.stats();
    assert_eq!((stats.commits, stats.conflicts), (1, 0), "the run that waited left nothing");
    let encoded = hash.replace('+', "%2B").replace('$', "%24");
    assert_eq!(site.text(&format!("/verify?text=secret&hash={encoded}")), "[true]");
    assert_eq!(site.text(&format!("/verify?text=Secret&hash={encoded}")), "[false]");
}

/// A gem that waited itself would never take the second request in between.
#[test]
fn the_gem_serves_others_meanwhile_and_what_they_commit_is_seen() {
    let site = site(
        r#"import { password } from "sarsen";
           app.get("/slow", async ({ db }) => {
             const before = db.notes.get("one");
             await password.hash("x");
             return [before ?? 0];
           });
           app.post("/write", ({ db }) => { db.notes.put("one", 1); });
           app.post("/clean", ({ db }) => { db.notes.delete("one"); });"#,
    );
    let seen = (0..100).any(|_| {
        let slow = send(&site.pool, "GET", "/slow");
        let write = send(&site.pool, "POST", "/write");
        let seen = text(&outcome(&slow).unwrap());
        outcome(&write).unwrap();
        site.post("/clean");
        seen == "[1]"
    });
    assert!(seen, "the other request was served before the one that waited ended");
    assert_eq!(site.repository.stats().conflicts, 0, "the view was fresh");
}

#[test]
fn calls_that_are_awaited_together_are_one_round_and_equal_calls_are_two() {
    let site = site(
        r#"import { password } from "sarsen";
           let runs = 0;
           app.get("/all", async () => {
             runs += 1;
             const all = await Promise.all(["a", "b", "a"].map(password.hash));
             return [runs, new Set(all).size];
           });
           app.get("/unawaited", () => { runs = 0; password.hash("x"); return [runs]; });
           app.get("/race", async () => {
             runs += 1;
             const first = await Promise.race([password.hash("x"), Promise.resolve(1)]);
             return [runs, first];
           });
           app.get("/caught", async () => {
             let finals = 0;
             try {
               try { await password.hash("x"); } finally { finals += 1; }
             } catch { finals += 100; }
             return [finals];
           });"#,
    );
    assert_eq!(site.text("/all"), "[2,3]");
    assert_eq!(site.text("/unawaited"), "[0]", "nobody waits for it: it is not performed");
    assert_eq!(site.text("/race"), "[1,1]", "the handler ended without it");
    assert_eq!(site.text("/caught"), "[1]");
}

#[test]
fn a_conflict_after_the_wait_runs_again_with_the_same_answers() {
    let site = site(
        r#"import { password } from "sarsen";
           const hashes = [];
           app.post("/race", async ({ db }) => {
             const hash = await password.hash("secret");
             hashes.push(hash);
             const race = db.races.get("one");
             console.log("in between");
             race.n += 100;
             return [hashes.length, new Set(hashes).size, race.n];
           });"#,
    );
    site.store_json("races", "one", "{\"n\":0}");
    let repository = site.repository.clone();
    let mut run = 0;
    let _hearing = support::on_log(Box::new(move |_, _| {
        run += 1;
        if run <= 2 {
            support::store(&repository, ("races", "one"), &format!("{{\"n\":{run}}}"));
        }
    }));
    assert_eq!(text(&site.post("/race")), "[3,1,102]");
    assert_eq!(site.repository.stats().conflicts, 2);
}

#[test]
fn rounds_and_calls_of_one_request_are_bounded() {
    let site = site(
        r#"import { password } from "sarsen";
           let runs = 0;
           app.get("/rounds", async () => {
             const text = String(runs += 1);
             await password.hash(text);
           });
           app.get("/runs", () => [runs]);
           app.get("/calls", async ({ query }) => {
             const calls = Array.from({ length: Number(query.n) }, () => password.hash(""));
             return (await Promise.all(calls)).length + "";
           });
           app.get("/caught", async () => {
             let why;
             for (let n = 0; n < 40; n++) password.hash("").catch((error) => { why = error; });
             await 0;
             return why.message;
           });"#,
    );
    let message = site.failure("/rounds");
    assert!(
        message.starts_with(&format!("the request waited {ASIDE_ROUNDS_MAX} times")),
        "{message}"
    );
    assert_eq!(site.text("/runs"), format!("[{}]", ASIDE_ROUNDS_MAX + 1));
    assert_eq!(site.text(&format!("/calls?n={ASIDES_MAX}")), ASIDES_MAX.to_string());
    let bound = format!("a request awaits at most {ASIDES_MAX} calls");
    let message = site.failure(&format!("/calls?n={}", ASIDES_MAX + 1));
    assert!(message.contains(&bound), "{message}");
    assert!(site.text("/caught").starts_with(&bound));
}

#[test]
fn a_full_queue_refuses_and_the_others_are_served() {
    let site = site(
        r#"import { password } from "sarsen";
           app.get("/many", async () => {
             const calls = Array.from({ length: 32 }, () => password.hash(""));
             return (await Promise.all(calls)).length + "";
           });"#,
    );
    let sent: Vec<_> = (0..2 * (PASSWORD_QUEUE + PASSWORD_THREADS) / 32 + 2)
        .map(|_| send(&site.pool, "GET", "/many"))
        .collect();
    let outcomes: Vec<_> = sent.iter().map(outcome).collect();
    let refused = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Err(Failure { kind: FailureKind::Busy, .. })))
        .count();
    let served = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert!(refused > 0 && served > 0, "{refused} refused, {served} served");
    assert_eq!(refused + served, outcomes.len());
    assert_eq!(site.text("/many"), "32", "there is room again");
    assert_eq!(site.pool.load().waiting, 0);
}

/// However many runs a request has, it has one budget. What a run may cost is found out first, so
/// that nothing depends on how fast the machine is.
#[test]
fn the_runs_of_a_request_share_its_cpu_time() {
    let site = site_with(
        r#"import { password } from "sarsen";
           const burn = (n) => { for (let i = 0; i < n; i++); };
           app.get("/burn", async ({ query }) => {
             burn(Number(query.n));
             for (let round = 0; round < Number(query.rounds); round++) {
               await password.hash(String(round));
             }
             return "done";
           });"#,
        Setup { cpu_limit: Duration::from_millis(100), ..Setup::default() },
    );
    let burn =
        |n: u64, rounds: u64| site.send(request("GET", &format!("/burn?n={n}&rounds={rounds}")));
    let too_many = (10..40).map(|power| 1 << power).find(|n| burn(*n, 0).is_err()).unwrap();
    assert_eq!(text(&burn(too_many / 8, 0).unwrap()), "done");
    let outcome = burn(too_many / 8, 15);
    assert!(matches!(outcome, Err(Failure { kind: FailureKind::CpuLimit, .. })), "{outcome:?}");
    assert_eq!(text(&burn(10, 3).unwrap()), "done");
}

#[test]
fn what_a_waiting_run_held_is_freed() {
    let site = site_with(
        r#"import { password } from "sarsen";
           app.get("/hold", async () => {
             const much = Array.from({ length: 100_000 }, (_, i) => i);
             await password.hash("x");
             return much.length + "";
           });"#,
        Setup { heap_limit: 16 << 20, ..Setup::default() },
    );
    for _ in 0..50 {
        assert_eq!(site.text("/hold"), "100000");
    }
}

#[test]
fn a_pool_that_stops_finishes_what_waits() {
    let site = site(
        r#"import { password } from "sarsen";
           app.get("/two", async () => {
             await password.hash("a");
             await password.hash("b");
             return "both";
           });"#,
    );
    let sent: Vec<_> = (0..5).map(|_| send(&site.pool, "GET", "/two")).collect();
    site.pool.stop();
    for sent in sent {
        assert_eq!(text(&sent.try_recv().expect("it has ended").unwrap()), "both");
    }
    assert!(site.pool.submit(request("GET", "/two"), Box::new(|_| ())).is_err());
}

#[test]
fn a_promise_that_never_settles_is_an_error_as_ever() {
    let site = site(
        r#"app.get("/never", () => new Promise(() => {}));
           app.get("/normal", () => "fine");"#,
    );
    assert!(site.failure("/never").contains("never settles"));
    assert_eq!(site.text("/normal"), "fine");
}

/// Two gems and many requests that wait and write: each is served once.
#[test]
fn many_requests_that_wait_are_each_served_once() {
    let site: Site = site_with(
        r#"import { password } from "sarsen";
           app.post("/join", async ({ db }) => {
             const users = db.tally.get("users") ?? { n: 0 };
             await password.hash("x");
             db.tally.put("users", { n: users.n + 1 });
           });"#,
        Setup { workers: 2, ..Setup::default() },
    );
    const USERS: usize = 40;
    let sent: Vec<_> = (0..USERS).map(|_| send(&site.pool, "POST", "/join")).collect();
    for sent in &sent {
        assert_eq!(outcome(sent).unwrap().status, 204);
    }
    assert_eq!(site.stored("tally", "users"), Some(format!("{{\"n\":{USERS}}}")));
}

/// The route is looked for again: one that waits belongs to no engine.
#[test]
fn a_request_that_waits_is_served_by_the_application_that_was_loaded_meanwhile() {
    let app = |name: &str| {
        let routes = format!(
            "import {{ App, password }} from \"sarsen\";\n\
             const app = new App();\n\
             app.get(\"/{name}\", () => \"{name}\");\n\
             app.get(\"/slow/:what\", async ({{ params }}) => {{\n\
               await password.hash(\"x\");\n\
               return \"{name} \" + params.what;\n\
             }});\n\
             export default app;\n"
        );
        support::folder(&[("app.js", &routes)])
    };
    let (old, new) = (app("old"), app("new"));
    let load = |folder: &tempfile::TempDir| support::load(folder.path()).unwrap();
    let site = support::start(app("old"), Setup { workers: 2, ..Setup::default() });
    let seen = (0..100).any(|_| {
        site.pool.reload(load(&old)).unwrap();
        let sent = send(&site.pool, "GET", "/slow/page");
        site.pool.reload(load(&new)).unwrap();
        match text(&outcome(&sent).unwrap()).as_str() {
            "new page" => true,
            "old page" => false,
            other => panic!("{other}"),
        }
    });
    assert!(seen, "the new application served a request that the old one had begun");
}
