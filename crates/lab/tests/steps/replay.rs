//! The log that nginx wrote, replayed to nginx.

use crate::carried_out;
use crate::nginx::Nginx;
use lab::scenario::{Overrides, Scenario, Source};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The log, once it has so many lines: nginx writes one when the reply has gone.
fn lines(path: &Path, count: usize) -> String {
    let begin = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.lines().count() >= count {
            return text;
        }
        assert!(
            begin.elapsed() < Duration::from_secs(120),
            "{count} lines were waited for: {text}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_nginx_logged_is_sent_again() {
    let log = tempfile::tempdir().unwrap();
    let path = log.path().join("access.log");
    let directives =
        format!("access_log {} combined; location = /gone {{ return 410; }}", path.display());
    let nginx = Nginx::start(&[("a", "x"), ("b c", "y")], &directives);
    let requests = ["GET /a?q=\"%22 HTTP/1.0", "HEAD /b%20c HTTP/1.0", "GET /gone HTTP/1.0"];
    for line in requests {
        let mut stream = TcpStream::connect(nginx.url()["http://".len()..].trim_end_matches('/'));
        let stream = stream.as_mut().unwrap();
        stream.write_all(format!("{line}\r\n\r\n").as_bytes()).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    let text = format!(
        "[servers]\nnginx = \"{}\"\n[load]\nreplay = {{ log = \"recorded.log\" }}\nspeed = 1000\n\
         warm_up = \"0s\"\n[operation.visit]\nlogged = true\n",
        nginx.url()
    );
    // nginx goes on writing to its own.
    let recorded = lines(&path, 3);
    std::fs::write(log.path().join("recorded.log"), &recorded).unwrap();
    let source = Source { name: "test.toml", text: &text, folder: Some(log.path()) };
    let scenario = Scenario::read(source, &Overrides::default()).unwrap();
    let (report, _) = carried_out(&scenario.plan);
    assert_eq!(report.measured.successes(), 3, "{}", report.to_text());
    assert_eq!(report.measured.statuses().count(410), 1);
    let again = lines(&path, 6);
    let line = |line: &str| {
        let quoted = line.split('"').nth(1).unwrap();
        quoted.split(' ').take(2).collect::<Vec<_>>().join(" ")
    };
    let logged: Vec<String> = again.lines().map(line).collect();
    assert_eq!(logged.len(), 6, "{again}");
    let (mut first, mut second) = (logged[..3].to_vec(), logged[3..].to_vec());
    first.sort();
    second.sort();
    assert_eq!(first, second);
}
