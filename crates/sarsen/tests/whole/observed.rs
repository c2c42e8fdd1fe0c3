//! What is observed beside the load: other processes by their names, and pages of metrics as real
//! programs write them.

use crate::cache::Memcached;
use crate::harness::{Ends, Site, sarsen};
use crate::null_server::NullServer;
use crate::patience::{Deadline, wait_for};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// A run of more than a second, so that something is read, and its report.
fn bench(url: &str, more: &[&str]) -> Value {
    let mut command = sarsen();
    command.args(["bench", url, "-c", "2", "--warm-up", "0s", "-d", "2s", "-q", "--json"]);
    let output = command.args(more).ends();
    let report = serde_json::from_slice(&output.stdout);
    report.unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A program with its end.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn processes_are_observed_by_their_names() {
    let server = NullServer::start(&["--latency", "fixed:1ms"]);
    let cache = Memcached::start();
    // It has a child, which reads until there is nobody who could write.
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat; :"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let shell = Program(shell.spawn().expect("a shell"));
    let (cache, shell) = (format!("cache={}", cache.id()), format!("shell={}+", shell.0.id()));
    let report = bench(&server.url, &["--observe", &cache, "--observe", &shell]);
    for name in ["cache", "shell", "generator", "host"] {
        assert!(report["observed"][name].is_object(), "{name}: {:#}", report["observed"]);
    }
    assert!(report["observed"]["cache"].to_string().contains("rss"), "{:#}", report["observed"]);
    assert!(report["cost"]["cache"].is_object(), "{:#}", report["cost"]);
}

#[test]
fn sarsens_own_metrics_are_read() {
    let server = Site::bare().start();
    let metrics = server.url("/metrics");
    let report = bench(&server.url("/healthz"), &["--metrics", &metrics]);
    let told = report["observed"]["metrics"].to_string();
    assert!(told.contains("commits"), "{report:#}");
}

#[test]
fn an_exporter_of_prometheus_is_read() {
    // Another program may take the port before the exporter does; then the test fails and says so.
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    let address = format!("127.0.0.1:{port}");
    let mut command = Command::new("prometheus-node-exporter");
    command.arg(format!("--web.listen-address={address}")).stderr(Stdio::null());
    let mut exporter = Program(command.spawn().unwrap_or_else(|error| {
        panic!("it does not run ({error}); scripts/setup.sh prometheus-node-exporter installs it")
    }));
    let _deadline = Deadline::of(&exporter.0, "prometheus-node-exporter".to_owned());
    wait_for("the exporter", String::new, || {
        assert!(exporter.0.try_wait().expect("its state").is_none(), "it ended");
        TcpStream::connect(&address).ok()
    });
    let server = NullServer::start(&["--latency", "fixed:1ms"]);
    let metrics = format!("http://{address}/metrics");
    let report = bench(&server.url, &["--metrics", &metrics]);
    let told = &report["observed"]["metrics"];
    assert!(told["go_goroutines"]["min"].as_f64() >= Some(1.0), "{told:#}");
    // A counter, which becomes a rate.
    assert!(told.to_string().contains("go_memstats_alloc_bytes_total"), "{told:#}");
}

#[test]
fn what_is_no_process_or_page_is_told() {
    let mut command = sarsen();
    let output = command.args(["bench", "http://127.0.0.1:1/", "--observe", "7"]).ends();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("database=812"), "{output:?}");
    let server = NullServer::start(&[]);
    let report = bench(&server.url, &["--metrics", &format!("{}none", server.url)]);
    let told = report["observed"]["metrics"].to_string();
    assert!(report["notes"].to_string().contains("metrics"), "{told}: {}", report["notes"]);
}
