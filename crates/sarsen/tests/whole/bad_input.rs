//! Servers, names and machines that do not behave, as `sarsen bench` and `sarsen siege` meet them:
//! a clear line each, and a run that began is closed with what was measured so far. What class each
//! failure belongs to is tested in the lab.

use crate::harness::{run, sarsen};
use crate::null_server::NullServer;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

/// Answers whatever comes with the same bytes and closes; without any it never answers.
fn server(reply: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).is_ok_and(|read| read > 0) {
                    if !reply.is_empty() {
                        let _gone = stream.write_all(reply);
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}/")
}

fn bench(url: &str, arguments: &[&str]) -> Output {
    let all = [&["bench", url, "-q", "--warm-up", "0s", "-c", "1"], arguments].concat();
    run(&all)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// No run: one line on stderr.
fn assert_one_line(output: &Output, code: i32, words: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{output:?}");
    assert_eq!(said.lines().count(), 1, "{said}");
    words.iter().for_each(|words| assert!(said.contains(words), "{words} in: {said}"));
}

#[test]
fn what_cannot_be_reached_is_one_line() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it");
    let unreachable = format!("http://{closed}/");
    let plain = NullServer::start(&[]);
    let tls = plain.url.replace("http:", "https:");
    for (url, words) in [
        (unreachable.as_str(), "cannot connect to"),
        ("http://nobody.invalid/", "cannot find the address of \"nobody.invalid\""),
        (tls.as_str(), "cannot speak to"),
    ] {
        assert_one_line(&bench(url, &["-n", "2"]), 6, &[words]);
        assert_one_line(&run(&["siege", "-q", "-r1", url]), 6, &[words]);
    }
}

#[test]
fn replies_that_are_none_void_the_run_and_are_told_in_words() {
    let cases: [(&'static [u8], &str); 5] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", "error closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more", "error malformed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "error malformed"),
        (b"220 mail.example ESMTP\r\n", "error malformed"),
        (b"", "error timeout"),
    ];
    for (reply, class) in cases {
        let output = bench(&server(reply), &["-n", "2", "--timeout", "300ms"]);
        let report = text(&output.stdout);
        assert_eq!(output.status.code(), Some(9), "{report}");
        assert!(report.contains("INVALID: "), "{report}");
        let line = report.lines().find(|line| line.starts_with(class));
        assert!(line.is_some_and(|line| line.contains("2, first: ")), "{class}: {report}");
    }
}

#[test]
fn a_server_that_dies_in_the_run_leaves_what_was_measured_before() {
    let server = NullServer::start(&["--latency", "fixed:1ms"]);
    let mut command = sarsen();
    command.args(["bench", &server.url, "--warm-up", "0s", "-c", "2", "-d", "4s"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert!(line.contains("measuring"), "{line}");
    drop(server);
    let output = child.wait_with_output().expect("it ends");
    let report = text(&output.stdout);
    assert!(matches!(output.status.code(), Some(1 | 9)), "{report}");
    assert!(report.contains("error connect"), "{report}");
    let rate = report.lines().find_map(|line| line.strip_prefix("requests/s"));
    let rate = rate.and_then(|rate| rate.split_whitespace().next()?.parse::<f64>().ok());
    assert!(rate > Some(0.0), "{report}");
    assert!(!report.contains("PASSED"), "{report}");
}

#[test]
fn a_redirect_that_leads_back_ends() {
    let reply = b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n";
    let output = run(&["siege", "-q", "-j", "-c1", "-r1", &server(reply)]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{report}");
    assert!(
        report.contains("\"failed_transactions\":1") && report.contains("redirect"),
        "{report}"
    );
}

/// In a network of its own, of which only a few ports are for connections. Needs user namespaces.
#[test]
fn a_machine_without_free_ports_voids_the_run() {
    let script = "ip link set lo up && echo '40000 40004' > /proc/sys/net/ipv4/ip_local_port_range
        \"$0\" null-server --listen 127.0.0.1:8099 --latency fixed:200ms > /dev/null &
        tries=0
        until \"$0\" bench http://127.0.0.1:8099/ -q --warm-up 0s -c 1 -n 1 > /dev/null 2>&1; do
            [ $? != 6 ] && break
            tries=$((tries + 1)); [ $tries -lt 1000 ] || exit 99
            sleep 0.1
        done
        \"$0\" bench http://127.0.0.1:8099/ -q --warm-up 0s -c 20 -d 2s
        code=$?
        kill $!
        exit $code";
    let mut command = Command::new("unshare");
    command.args(["-rn", "sh", "-c", script, env!("CARGO_BIN_EXE_sarsen")]);
    let output = command.output().expect("unshare runs; scripts/setup.sh unshare installs it");
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    assert!(report.contains("no free ports left"), "{report}");
}
