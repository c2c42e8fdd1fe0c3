//! The metrics: what is counted, and that the text is OpenMetrics. That a parser of others reads it
//! is shown by `scripts/conformance.sh`.

use crate::app;
use crate::site::{Site, get, put, until};
use std::collections::BTreeMap;

/// Samples by their name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

fn scrape(site: &Site) -> BTreeMap<String, f64> {
    let reply = site.ask(&get("/metrics"));
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((reply.status, reply.field("content-type")), (200, Some(media_type)));
    assert!(reply.body.ends_with("\n# EOF\n"));
    samples(&reply.body)
}

#[test]
fn what_each_handler_does_is_counted() {
    let site = app::site(64, false);
    for _ in 0..3 {
        assert_eq!(site.ask(&get("/")).status, 200);
    }
    let told = scrape(&site);
    let of_root = |name: &str| told.get(&format!("{name}{{handler=\"GET /\"}}")).copied();
    assert_eq!(of_root("sarsen_handler_duration_seconds_count"), Some(3.0), "{told:?}");
    assert_eq!(of_root("sarsen_handler_queue_duration_seconds_count"), Some(3.0));
    assert_eq!(of_root("sarsen_handler_failures_total"), Some(0.0));
    assert!(of_root("sarsen_handler_cpu_seconds_total").is_some_and(|seconds| seconds > 0.0));
    assert_eq!(told["sarsen_gems_lost_total"], 0.0);
}

#[test]
fn requests_commits_and_syncs_are_counted() {
    let site = Site::start();
    for n in 0..5 {
        site.put(&format!("/db/notes/{n}"), "1");
        site.ask(&get(&format!("/db/notes/{n}")));
    }
    site.ask(&get("/db/notes/absent"));
    site.ask(&put("/db/notes/Bad/Path/", "", "1"));
    let told = scrape(&site);
    let requests = |operation: &str, status: &str| {
        let labels = format!("operation=\"{operation}\",status=\"{status}\"");
        told.get(&format!("sarsen_http_request_duration_seconds_count{{{labels}}}")).copied()
    };
    assert_eq!(requests("document.get", "2xx"), Some(5.0));
    assert_eq!(requests("document.get", "4xx"), Some(1.0));
    assert_eq!(requests("document.put", "2xx"), Some(5.0));
    assert_eq!(requests("document.put", "4xx"), Some(1.0));
    assert_eq!(requests("collection.get", "2xx"), None, "what never came is left out");
    assert_eq!(told["sarsen_commits_total"], 5.0);
    assert!(told["sarsen_tranlog_sync_duration_seconds_count"] >= 1.0);
    assert!(told["sarsen_tranlog_sync_duration_seconds_sum"] > 0.0);
    assert!(told["sarsen_tranlog_bytes_total"] > 0.0);
    assert!(told["sarsen_memory_bytes{use=\"documents\"}"] > 0.0);
    assert!(told["sarsen_connections_accepted_total"] >= 12.0);
    assert!(told["process_resident_memory_bytes"] > 1e6);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(told[&format!("sarsen_build_info{{version=\"{version}\"}}")], 1.0);
    // The one that asks, once the others are seen to have ended.
    until(|| scrape(&site)["sarsen_connections_open"] == 1.0);
}

#[test]
fn the_scrape_before_is_counted_in_the_next() {
    let site = Site::start();
    scrape(&site);
    let labels = "operation=\"metrics.get\",status=\"2xx\"";
    let name = format!("sarsen_http_request_duration_seconds_count{{{labels}}}");
    assert_eq!(scrape(&site)[&name], 1.0);
}

#[test]
fn a_checkpoint_is_counted() {
    let site = Site::start();
    site.put("/db/notes/a", "1");
    assert_eq!(scrape(&site)["sarsen_checkpoint_duration_seconds_count"], 0.0);
    site.repository.checkpoint().unwrap();
    let told = scrape(&site);
    assert_eq!(told["sarsen_checkpoint_duration_seconds_count"], 1.0);
    assert_eq!(told["sarsen_commit_checkpoint"], 1.0);
}

#[test]
fn the_application_and_its_queue_are_told() {
    let site = app::site(7, false);
    site.ask(&get("/"));
    site.ask(&get("/throws"));
    let told = scrape(&site);
    let count = |status: &str| {
        let labels = format!("operation=\"application.get\",status=\"{status}\"");
        told[&format!("sarsen_http_request_duration_seconds_count{{{labels}}}")]
    };
    assert_eq!((count("2xx"), count("5xx")), (1.0, 1.0));
    assert_eq!(told["sarsen_queue_max{queue=\"gems\"}"], 7.0);
    assert_eq!(told["sarsen_queue_length{queue=\"gems\"}"], 0.0);
    assert_eq!(told["sarsen_gems_alive"], 1.0);
}

#[test]
fn buckets_rise_and_end_with_the_count() {
    let site = Site::start();
    site.put("/db/notes/a", "1");
    let reply = site.ask(&get("/metrics"));
    let mut last: BTreeMap<String, f64> = BTreeMap::new();
    for line in reply.body.lines().filter(|line| line.contains("_bucket{")) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let series = name.split("le=").next().unwrap().to_owned();
        let value: f64 = value.parse().unwrap();
        let before = last.insert(series, value).unwrap_or(0.0);
        assert!(value >= before, "{line}");
    }
    let told = samples(&reply.body);
    for (series, value) in last {
        let name = series.replacen("_bucket", "_count", 1);
        let name = name.trim_end_matches(['{', ',']).to_owned();
        let name = if name.contains('{') { name + "}" } else { name };
        assert_eq!(told[&name], value, "{name}");
    }
}
