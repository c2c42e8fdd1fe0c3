//! The log with a real file and the real thread.

use super::*;
use std::net::Ipv4Addr;
use std::time::Duration;

fn entry(path: &str) -> Entry<'_> {
    Entry {
        client: Ipv4Addr::LOCALHOST.into(),
        method: "GET",
        path,
        protocol: "HTTP/1.1",
        status: 200,
        bytes: 0,
        took: Duration::ZERO,
        commit: None,
        principal: None,
        user_agent: None,
        request_id: None,
        trace: None,
    }
}

fn start(path: &Path) -> (LogWriter, Arc<AtomicBool>, Arc<AtomicU64>) {
    let (reopen, drops) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let target = AccessLogTarget::File(path.to_owned());
    let writer = LogWriter::start(Some(&target), Arc::clone(&reopen), Arc::clone(&drops)).unwrap();
    (writer, reopen, drops)
}

#[test]
fn every_line_is_written_before_the_writer_ends() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("access.log");
    let (writer, _, drops) = start(&path);
    for reactor in 0..2 {
        let log = writer.end();
        (0..100).for_each(|n| log.write(&entry(&format!("/{reactor}/{n}"))));
    }
    drop(writer);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 200);
    assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    assert_eq!(drops.load(Ordering::Relaxed), 0);
}

#[test]
fn a_moved_file_is_followed_by_a_new_one() {
    let place = tempfile::tempdir().unwrap();
    let (path, old) = (place.path().join("access.log"), place.path().join("access.log.1"));
    let (writer, reopen, _) = start(&path);
    let log = writer.end();
    log.write(&entry("/first"));
    log.flush();
    while !std::fs::read_to_string(&path).unwrap().contains("/first") {
        std::thread::yield_now();
    }
    std::fs::rename(&path, &old).unwrap();
    reopen.store(true, Ordering::Relaxed);
    log.write(&entry("/second"));
    drop(log);
    drop(writer);
    assert!(std::fs::read_to_string(&path).unwrap().contains("/second"));
    assert!(!std::fs::read_to_string(&old).unwrap().contains("/second"));
}

/// A pipe that nobody reads takes a little and then nothing: the slowest disk there is.
#[test]
fn lines_that_come_too_fast_are_counted_and_the_log_says_so() {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    // Opened for both, or opening it for writing alone would wait for a reader.
    let reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let (writer, _, drops) = start(&pipe);
    let log = writer.end();
    let long = "x".repeat(limits::ACCESS_LOG_BUFFER_BYTES);
    let lines = limits::ACCESS_LOG_BUFFERS_MAX as u64 + 10;
    (0..lines).for_each(|_| log.write(&entry(&long)));
    let dropped = drops.load(Ordering::Relaxed);
    assert!(dropped > 0 && dropped < lines, "{dropped}");
    drop(log);
    let read = std::thread::spawn(move || {
        use std::io::{BufRead, BufReader};
        let lines = BufReader::new(reader).lines().map(Result::unwrap);
        lines.take_while(|line| !line.contains("\"dropped\"")).count() as u64
    });
    assert!(read.join().unwrap() <= lines - dropped);
    drop(writer);
}

#[test]
fn without_a_target_nothing_is_described() {
    let (reopen, drops) = (Arc::default(), Arc::default());
    let writer = LogWriter::start(None, reopen, drops).unwrap();
    assert!(!writer.end().is_on());
}
