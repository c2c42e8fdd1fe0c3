//! A user's line that lets only so much through: what comes and what is sent stays the same.

use crate::nginx::Nginx;
use crate::server;
use crate::{body, carried_out, get, http, plan, reply, template, text};
use lab::measure::Tally;
use lab::plan::{Bandwidth, Check, HttpStep, Plan, Step, Template};

/// 4 Mbit/s: 60 KB need a tenth of a second.
const SLOW: Bandwidth = Bandwidth { receive: Some(500_000), send: Some(500_000) };

fn bound(mut plan: Plan) -> Plan {
    plan.transport.bandwidth = SLOW;
    plan
}

fn measured(plan: &Plan) -> Tally {
    let (report, _) = carried_out(plan);
    assert_eq!(report.errors_in_all(), 0, "{}", report.to_text());
    report.measured
}

#[test]
fn the_same_bytes_come() {
    let content = "0123456789abcdef".repeat(4_000);
    let nginx = Nginx::start(&[("large", &content), ("small", "x")], "");
    let mut step = get("/large");
    step.checks = vec![Check::Contains(template(vec![text(&content)]))];
    let steps = || vec![http(step.clone()), http(get("/small"))];
    let free = measured(&plan(&nginx.url(), steps(), 2));
    let slow = measured(&bound(plan(&nginx.url(), steps(), 2)));
    assert_eq!(slow.bytes_received(), free.bytes_received());
    assert_eq!(slow.statuses().count(200), 4);
}

#[test]
fn the_same_bytes_are_sent_on_connections_beside_each_other() {
    let content = "0123456789abcdef".repeat(1_500);
    let expected = content.clone();
    let server = server::serve(move |request, stream| {
        let status = if request.body == expected.as_bytes() { "200 OK" } else { "400 Bad" };
        reply(stream, status, "", &expected)
    });
    let mut post = HttpStep::new("POST", Template::fixed("/"));
    post.body = body(vec![text(&content)]);
    post.checks = vec![Check::Contains(template(vec![text(&content)]))];
    let steps = vec![Step::Parallel(vec![post.clone(), post.clone()]), http(post)];
    assert_eq!(measured(&bound(plan(&server.url("/"), steps, 1))).statuses().count(200), 3);
    assert_eq!(server.seen().len(), 3);
}
