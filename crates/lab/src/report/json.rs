//! The report as one JSON object. It computes nothing that the report does not have.

use super::{Report, cost};
use crate::measure::{ErrorClass, Errors, Latency, StatusClass, Statuses, Tally};
use serde_json::{Map, Value, json};

pub(super) fn render(report: &Report) -> Value {
    let measured = &report.measured;
    json!({
        "target": report.target,
        "method": report.method,
        "model": if report.is_open { "open" } else { "closed" },
        "arrivals": report.model,
        "users": report.users,
        "rate": report.rate,
        "new_session": report.new_session,
        "transport": report.transport,
        "ramp_up_s": report.ramp_up_time.as_secs_f64(),
        "duration_s": report.duration.as_secs_f64(),
        "requests_per_second": report.requests_per_second(),
        "requests": measured.operations(),
        "successes": measured.successes(),
        "latency_ms": latency(measured.service()),
        "response_ms": latency(measured.response()),
        "omission_gap_p99_ms": report.omission_gap_ms,
        "send_lag_ms": { "p50": report.send_lag_ms[0], "p99": report.send_lag_ms[1] },
        "dropped": report.dropped,
        "errors": errors(measured.errors()),
        "statuses": statuses(measured.statuses()),
        "latency_by_status_ms": by_status(measured),
        "messages": messages(measured),
        "operations": operations(&report.operations),
        "background": operations(&report.background),
        "cache": cache(measured),
        "bytes_received": measured.bytes_received(),
        "connections": report.connections,
        "servers": servers(report),
        "cpu_us_per_request": {
            "generator": report.generator_us_per_request(),
            "server": report.server_us_per_request(),
        },
        "cost": cost::to_json(&report.costs, &report.observed, measured.operations()),
        "observed": cost::observed_to_json(&report.observed),
        "audit": report.audit.as_ref().map(|audit| json!({
            "checked": audit.checked,
            "lost": audit.lost,
            "first": audit.faults,
        })),
        "outside": {
            "ramp_up": outside(&report.ramp_up),
            "drain": outside(&report.drain),
        },
        "outcome": report.outcome().name(),
        "valid": report.is_valid(),
        "reasons": report.verdict.doubts,
        "failures": report.verdict.failures,
        "faults": report.verdict.faults,
        "notes": report.verdict.notes,
    })
}

fn operations(operations: &[(String, Tally)]) -> Value {
    let one = |(name, tally): &(String, Tally)| {
        let figures = json!({
            "requests": tally.operations(),
            "successes": tally.successes(),
            "latency_ms": latency(tally.service()),
            "response_ms": latency(tally.response()),
            "errors": errors(tally.errors()),
            "latency_by_status_ms": by_status(tally),
            "messages": messages(tally),
            "cache": cache(tally),
            "cycle_ms": cycles(tally),
            "cycle_s": tally.cycle().map(|cycle| cycle.as_secs_f64()),
        });
        (name.clone(), figures)
    };
    Value::Object(operations.iter().map(one).collect())
}

/// Each server, and what it calls its software.
fn servers(report: &Report) -> Value {
    let all = report.servers.iter();
    all.map(|(origin, software)| json!({ "origin": origin, "software": software })).collect()
}

/// The classes of which there was any, each with how many there were.
fn by_status(tally: &Tally) -> Value {
    let one =
        |class: StatusClass| Some((class.name().to_owned(), counted(tally.by_status(class)?)));
    Value::Object(StatusClass::ALL.into_iter().filter_map(one).collect())
}

/// From start to start, as planned and as it was; nothing if it is not paced.
fn cycles(tally: &Tally) -> Value {
    match (tally.planned_cycles(), tally.actual_cycles()) {
        (None, _) => Value::Null,
        (Some(planned), actual) => {
            json!({ "planned": counted(planned), "actual": actual.map(counted) })
        }
    }
}

/// Nothing if none was waited for.
fn messages(tally: &Tally) -> Value {
    tally.messages().map_or(Value::Null, counted)
}

fn counted(times: &Latency) -> Value {
    let mut value = latency(times);
    value["count"] = times.count().into();
    value
}

/// Nothing if nothing was asked of a cache.
fn cache(tally: &Tally) -> Value {
    match tally.hit_ratio() {
        Some(ratio) => {
            json!({ "hits": tally.hits(), "misses": tally.misses(), "hit_ratio": ratio })
        }
        None => Value::Null,
    }
}

fn latency(latency: &Latency) -> Value {
    json!({
        "p50": latency.percentile_ms(0.5),
        "p90": latency.percentile_ms(0.9),
        "p99": latency.percentile_ms(0.99),
        "p99_9": latency.percentile_ms(0.999),
        "max": latency.max_ms(),
        "mean": latency.mean_ms(),
    })
}

fn errors(errors: &Errors) -> Value {
    let count = |class: ErrorClass| (class.name().to_owned(), errors.count(class).into());
    Value::Object(ErrorClass::ALL.into_iter().map(count).collect())
}

fn statuses(statuses: &Statuses) -> Value {
    let counted = statuses.iter().map(|(status, count)| (status.to_string(), count.into()));
    Value::Object(counted.collect::<Map<_, _>>())
}

/// What is stated of operations outside the measured interval.
fn outside(tally: &Tally) -> Value {
    json!({
        "requests": tally.operations(),
        "errors": errors(tally.errors()),
        "max_ms": tally.service().max_ms(),
    })
}
