//! Several requests at the same time: parallel steps, and pages with their parts.

use crate::nginx::Nginx;
use crate::server::serve;
use crate::{carried_out, first, get, http, json, measured, plan, reply, template, text};
use crate::{failed, with_variables};
use lab::limits::RESOURCES_MAX;
use lab::measure::ErrorClass;
use lab::plan::{Check, HttpStep, Piece, Resources, Step, Template};
use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Longer than any wait that ends.
const PATIENCE: Duration = Duration::from_secs(50);

#[test]
fn parallel_requests_are_under_way_at_the_same_time() {
    // Nobody is answered before all four have come.
    let arrived = Arc::new((Mutex::new(0), Condvar::new()));
    let server = serve(move |request, stream| {
        if request.line.starts_with("GET /together") {
            let (count, all) = &*arrived;
            let mut count = count.lock().unwrap();
            *count += 1;
            let goal = (*count + 3) / 4 * 4;
            all.notify_all();
            let waited = all.wait_timeout_while(count, PATIENCE, |count| *count < goal).unwrap();
            assert!(!waited.1.timed_out(), "they do not come together");
        }
        let path = request.line.split(' ').nth(1).unwrap();
        reply(stream, "200 OK", "", &format!("{{\"path\":\"{path}\"}}"))
    });
    let step = |variable: usize| HttpStep {
        extract: vec![first(variable, json("$.path"))],
        checks: vec![Check::Contains(Template::fixed("together"))],
        ..get(&format!("/together/{variable}"))
    };
    let after = template(vec![text("/after"), Piece::Variable(3), Piece::Variable(0)]);
    let steps = vec![Step::Parallel((0..4).map(step).collect()), http(HttpStep::new("GET", after))];
    let plan = with_variables(plan(&server.url("/"), steps, 3), &["a", "b", "c", "d"]);
    let (report, _) = carried_out(&plan);
    assert_eq!((report.measured.successes(), report.connections), (3, 4));
    assert_eq!(report.measured.statuses().count(200), 15);
    let last = server.seen().pop().unwrap();
    assert_eq!(last.line, "GET /after/together/3/together/0 HTTP/1.1");
}

#[test]
fn one_that_fails_fails_the_step_and_the_others_are_waited_for() {
    let server = serve(|request, stream| match request.line.contains("bad") {
        true => reply(stream, "500 No", "", ""),
        false => reply(stream, "200 OK", "", ""),
    });
    let steps =
        vec![Step::Parallel(vec![get("/one"), get("/bad"), get("/two")]), http(get("/never"))];
    assert_eq!(failed(&plan(&server.url("/"), steps, 5)).0, ErrorClass::Status5xx);
    let lines: HashSet<String> = server.seen().into_iter().map(|request| request.line).collect();
    assert_eq!((lines.len(), server.seen().len()), (3, 15));
}

const PAGE: &str =
    "<!DOCTYPE html><link rel=stylesheet href=/style.css><script src=code.js></script>
    <img src=one.png><img src=two.png><img src=one.png><img src='http://elsewhere.example/x.png'>
    <img src='data:image/png;base64,AAAA'>";

fn site() -> Nginx {
    let files = [
        ("page/index.html", PAGE),
        ("style.css", "p{}"),
        ("page/code.js", "1"),
        ("page/one.png", "1"),
        ("page/two.png", "22"),
    ];
    Nginx::start(&files, "keepalive_requests 10000;")
}

fn page(cold: f64) -> Step {
    let resources = Some(Resources { connections: 3, cold });
    http(HttpStep { resources, ..get("/page/") })
}

const PARTS: [&str; 4] = ["/style.css", "/page/code.js", "/page/one.png", "/page/two.png"];

#[test]
fn with_an_empty_cache_each_part_comes_once_in_a_session() {
    let nginx = site();
    let steps = vec![page(1.0), page(1.0), Step::NewSession, page(1.0)];
    let plan = plan(&nginx.url(), steps, 2);
    let tally = measured(&plan);
    // Three sessions: the first, and the ones that both operations begin.
    assert_eq!(PARTS.map(|part| nginx.count(part, 200)), [3; 4]);
    assert_eq!((tally.statuses().count(200), tally.statuses().count(304)), (6 + 12, 0));
    assert!((2..=4).contains(&nginx.connections()), "{}", nginx.connections());
}

#[test]
fn with_a_warm_cache_code_is_asked_for_again() {
    let nginx = site();
    let steps = vec![page(0.0), page(0.0), Step::NewSession, page(0.0)];
    measured(&plan(&nginx.url(), steps, 1));
    let [style, code, one, two] = PARTS;
    for path in [style, code] {
        assert_eq!((nginx.count(path, 200), nginx.count(path, 304)), (1, 2), "{path}");
    }
    for path in [one, two] {
        assert_eq!((nginx.count(path, 200), nginx.count(path, 304)), (2, 0), "{path}");
    }
}

#[test]
fn the_share_of_sessions_with_an_empty_cache_is_kept() {
    let nginx = site();
    // In each session two pages: with an empty cache the style is asked for once.
    let steps = vec![Step::NewSession, page(0.4), page(0.4)];
    measured(&plan(&nginx.url(), steps, 500));
    let [style, ..] = PARTS;
    let asked = nginx.count(style, 200) + nginx.count(style, 304);
    let cold = 1000 - asked;
    // Four standard deviations around 200; the seed is fixed.
    assert!((156..=244).contains(&cold), "{cold} of 500");
}

#[test]
fn a_part_that_is_missing_is_an_error_of_the_operation() {
    let nginx = Nginx::start(&[("index.html", "<img src=no.png>")], "");
    let step = HttpStep { resources: Some(Resources { connections: 2, cold: 1.0 }), ..get("/") };
    let (class, said) = failed(&plan(&nginx.url(), vec![http(step)], 1));
    assert_eq!(class, ErrorClass::Status4xx);
    assert_eq!(said, "status 404 of the page's part /no.png");
}

#[test]
fn a_page_of_too_many_parts_is_a_failed_check() {
    let page: String = (0..=RESOURCES_MAX).map(|i| format!("<img src={i}.png>")).collect();
    let server = serve(move |_, stream| reply(stream, "200 OK", "", &page));
    let step = HttpStep { resources: Some(Resources { connections: 2, cold: 1.0 }), ..get("/") };
    let (class, said) = failed(&plan(&server.url("/"), vec![http(step)], 1));
    assert_eq!(class, ErrorClass::Check);
    assert_eq!(said, "the page has 257 parts; expected at most 256");
    assert_eq!(server.seen().len(), 1);
}
