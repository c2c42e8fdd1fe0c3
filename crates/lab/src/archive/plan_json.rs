//! The resolved plan of a run as JSON: every number that it was carried out with, the seed among
//! them, whatever stood in the file or on the command line. It is for people and for comparison; a
//! run is made again from `spec.toml` or `spec.json`.

use super::steps_json;
use crate::plan::{
    Endpoint, Gate, Load, Mix, Observe, Plan, Process, Protocol, Stage, Transport, Trust, Validity,
};
use serde_json::{Map, Value, json};
use std::time::Duration;

pub(super) fn of(plan: &Plan) -> Value {
    let name = |operation: usize| plan.operations[operation].name.clone();
    let background = plan.background.iter();
    let background =
        background.map(|b| json!({ "operation": name(b.operation), "per_second": b.rate }));
    let shares = plan.mix.shares(plan.operations.len());
    let shares = shares.into_iter().enumerate().map(|(o, share)| (name(o), share.into()));
    let operations = plan.operations.iter();
    let operations = operations.map(|operation| steps_json::operation(plan, operation));
    json!({
        "name": plan.name,
        "seed": plan.seed,
        "threads": plan.threads,
        "load": load(&plan.load),
        "phases": {
            "ramp_up_s": seconds(plan.phases.ramp_up),
            "measured_s": seconds(plan.phases.measured),
            "ramp_down_s": seconds(plan.phases.ramp_down),
            "drain_s": seconds(plan.drain),
            "operations_max": plan.phases.count,
            "operations_per_user_max": plan.repetitions,
        },
        "transport": transport(&plan.transport),
        "servers": plan.origins.iter().map(|origin| origin.authority()).collect::<Vec<_>>(),
        "operations": operations.collect::<Vec<_>>(),
        "mix": mix(&plan.mix),
        "mix_shares": Value::Object(shares.collect::<Map<_, _>>()),
        "background": background.collect::<Vec<_>>(),
        "keys": { "count": plan.keys.count, "zipf": plan.keys.zipf },
        "items": steps_json::items(&plan.items),
        "entries": steps_json::entries(&plan.entries),
        "variables": plan.variables.iter().map(steps_json::variable).collect::<Vec<_>>(),
        "data": plan.data.iter().map(steps_json::data).collect::<Vec<_>>(),
        "new_session": plan.new_session,
        "request_timeout_s": seconds(plan.request_timeout),
        "gates": plan.gates.iter().map(|g| gate(g, &name)).collect::<Vec<_>>(),
        "validity": validity(plan.validity),
        "server_pid": plan.server_pid,
        "observed": observed(&plan.observe),
    })
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn load(load: &Load) -> Value {
    let stages = |stages: &[Stage]| {
        let mut parts = Vec::new();
        for Stage { from, to, duration } in stages {
            parts.push(json!({ "from": from, "to": to, "duration_s": seconds(*duration) }));
        }
        parts
    };
    match load {
        Load::Closed { users } => json!({ "model": "closed", "users": stages(users) }),
        Load::Open { rate, arrivals, in_flight_max } => json!({
            "model": "open",
            "operations_per_second": stages(rate),
            "arrivals": format!("{arrivals:?}").to_lowercase(),
            "in_flight_max": in_flight_max,
        }),
        Load::Replay { offsets, in_flight_max } => json!({
            "model": "open",
            "arrivals": "recorded",
            "arrivals_count": offsets.len(),
            "last_arrival_s": offsets.last().copied().map(seconds),
            "in_flight_max": in_flight_max,
        }),
        Load::Numbered { first, times, users } => json!({
            "model": "numbered",
            "first": first,
            "times": times,
            "users": users,
        }),
    }
}

fn transport(transport: &Transport) -> Value {
    let Transport { protocol, keep_alive, trust: Trust { ca, insecure }, bandwidth } = transport;
    let (name, users) = match protocol {
        Protocol::Http1 { pipeline } => ("HTTP/1.1", pipeline),
        Protocol::Http2 { streams } => ("HTTP/2", streams),
    };
    json!({
        "protocol": name,
        "users_per_connection": users,
        "keep_alive": keep_alive,
        "own_authorities": ca.is_some(),
        "any_certificate": insecure,
        "receive_bytes_per_s": bandwidth.receive,
        "send_bytes_per_s": bandwidth.send,
    })
}

fn validity(validity: Validity) -> Value {
    let Validity { send_lag_p99_ms, generator_cpu, pause_ms, dropped, .. } = validity;
    let Validity { retransmits, little, mix_points, cycle, .. } = validity;
    let Validity { drift, latency_drift, clock_step_ms, .. } = validity;
    json!({
        "send_lag_p99_ms": send_lag_p99_ms,
        "generator_cpu_share": generator_cpu,
        "pause_ms": pause_ms,
        "dropped_share": dropped,
        "retransmits_share": retransmits,
        "little_share": little,
        "mix_points": mix_points,
        "cycle_share": cycle,
        "drift_share": drift,
        "latency_drift_share": latency_drift,
        "clock_step_ms": clock_step_ms,
    })
}

fn observed(observe: &Observe) -> Value {
    let process = |process: &Process| {
        let Process { name, pid, with_children } = process;
        json!({ "name": name, "pid": pid, "with_children": with_children })
    };
    let endpoint = |endpoint: &Endpoint| {
        let Endpoint { name, target, headers: _may_be_secret, only } = endpoint;
        json!({ "name": name, "url": target.to_string(), "only": only })
    };
    json!({
        "processes": observe.processes.iter().map(process).collect::<Vec<_>>(),
        "endpoints": observe.endpoints.iter().map(endpoint).collect::<Vec<_>>(),
    })
}

fn mix(mix: &Mix) -> Value {
    match mix {
        Mix::Flat(weights) => json!({ "kind": "flat", "weights": weights }),
        Mix::Markov(rows) => json!({ "kind": "markov", "weights": rows }),
        Mix::Sequence(operations) => json!({ "kind": "sequence", "operations": operations }),
        Mix::Sequences(sequences) => json!({ "kind": "sequences", "weighted": sequences }),
    }
}

fn gate(gate: &Gate, name: &dyn Fn(usize) -> String) -> Value {
    match gate {
        Gate::Latency { operation, quantile, at_most_ms } => json!({
            "gate": "latency",
            "operation": operation.map(name),
            "quantile": quantile,
            "at_most_ms": at_most_ms,
        }),
        Gate::Errors { at_most } => json!({ "gate": "errors", "at_most_share": at_most }),
        Gate::Rate { at_least } => json!({ "gate": "rate", "at_least_per_second": at_least }),
        Gate::Mix { at_most_points } => json!({ "gate": "mix", "at_most_points": at_most_points }),
        Gate::Cycle { at_most } => json!({ "gate": "cycle", "at_most_share": at_most }),
    }
}
