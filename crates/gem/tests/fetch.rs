//! `fetch` of tasks, against a server that the tests run.

use crate::support::{Setup, Site, site, site_with};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A small server of HTTP/1.1: what a path is answered with, and what was asked.
struct Peer {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let noted = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let noted = noted.clone();
                thread::spawn(move || answer(stream.unwrap(), &noted, port));
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn site(&self, code: &str, private: &str) -> Site {
        let port = self.port;
        let settings = format!(
            "[fetch]\nallow = [\"127.0.0.1:{port}\", \"localhost:{port}\", \"169.254.169.254\"]\n\
             private = [{private}]\n"
        );
        let code = code.replace("PEER", &format!("http://127.0.0.1:{port}"));
        let code = format!(
            "app.task('go', {{ attempts: 2, timeout: '20s' }}, async ({{ db, fetch }}) => {{
               {code}
             }});
             app.post('/go', ({{ task }}) => task('go'));"
        );
        let settings: &'static str = Box::leak(settings.into_boxed_str());
        site_with(&code, Setup { settings, ..Setup::default() })
    }
}

/// One request on a connection, then the end.
fn answer(mut stream: TcpStream, noted: &Mutex<Vec<String>>, port: u16) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    noted.lock().unwrap().push(format!("{head}\n{}", String::from_utf8_lossy(&body)));
    let path = head.split(' ').nth(1)?;
    let send = |stream: &mut TcpStream, status: &str, fields: &str, body: &[u8]| {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\n{fields}content-length: {length}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok()
    };
    match path {
        "/json" => send(&mut stream, "200 OK", "X-Kind: a\r\nX-Kind: b\r\n", b"{\"n\":7}"),
        "/bytes" => send(&mut stream, "200 OK", "", &[0, 255, 1]),
        "/missing" => send(&mut stream, "404 Not Found", "", b"nothing"),
        "/see" => send(&mut stream, "303 See Other", "location: /json\r\n", b""),
        "/meta" => send(&mut stream, "302 Found", "location: http://169.254.169.254/\r\n", b""),
        "/other" => send(&mut stream, "302 Found", "location: http://example.org/\r\n", b""),
        "/round" => send(&mut stream, "302 Found", "location: /round\r\n", b""),
        "/local" => {
            let location = format!("location: http://localhost:{port}/json\r\n");
            send(&mut stream, "302 Found", &location, b"")
        }
        "/huge" => {
            // No length: it is cut off by whoever reads.
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").ok()?;
            while stream.write_all(&[b'x'; 65_536]).is_ok() {}
            Some(())
        }
        "/large" => send(&mut stream, "200 OK", "", &vec![b'x'; 3 << 20]),
        "/silent" => {
            // Until the other side gives up.
            let _ended = reader.read(&mut [0]);
            Some(())
        }
        "/slow" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n").ok()?;
            while stream.write_all(b"x").is_ok() {
                thread::sleep(std::time::Duration::from_millis(20));
            }
            Some(())
        }
        _ => send(&mut stream, "200 OK", "", b"ok"),
    }
}

const LOOPBACK: &str = "\"127.0.0.1/32\"";

/// What the task stored as `log/out`.
fn out(site: &Site) -> String {
    site.post("/go");
    site.wait("the task", |site| site.stored("log", "out").is_some());
    site.stored("log", "out").unwrap()
}

/// The error that the call was rejected with.
fn refused(peer: &Peer, call: &str, private: &str) -> String {
    let code = format!(
        "let why; try {{ await {call}; }} catch (error) {{ why = error.message; }}
         db.log.put('out', why ?? 'no error');"
    );
    out(&peer.site(&code, private))
}

#[test]
fn an_answer_comes_as_it_was_sent() {
    let peer = Peer::start();
    let site = peer.site(
        "const [json, bytes, missing] = await Promise.all([
           fetch('PEER/json'), fetch('PEER/bytes'), fetch('PEER/missing')]);
         db.log.put('out', [json.status, json.ok, json.json().n, json.headers.get('X-KIND'),
           [...json.bytes()].length, [...bytes.bytes()], missing.ok, missing.text()]);",
        LOOPBACK,
    );
    assert_eq!(out(&site), "[200,true,7,\"a, b\",7,[0,255,1],false,\"nothing\"]");
    let asked = peer.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked.iter().all(|head| head.to_lowercase().contains("user-agent: sarsen/")));
}

#[test]
fn what_is_sent_carries_a_key_that_is_the_same_in_each_run() {
    let peer = Peer::start();
    let site = peer.site(
        "await fetch('PEER/a', { method: 'POST', body: { n: 1 }, headers: { 'X-A': 'b' } });
         await fetch('PEER/b', { method: 'put', body: 'text' });
         if (db.switch.get('on') === undefined) throw new Error('not yet');
         db.log.put('out', 1);",
        LOOPBACK,
    );
    site.post("/go");
    site.wait("the task", |site| site.pool.task_figures().failures == 1);
    site.store_json("switch", "on", "1");
    site.pass(60_000);
    site.pool.look_at_clock();
    site.wait("the task", |site| site.stored("log", "out").is_some());
    let asked = peer.asked();
    assert_eq!(asked.len(), 4, "each once in each of two runs: {asked:?}");
    let key = |at: usize| {
        let head = asked[at].to_lowercase();
        let line = head.lines().find(|line| line.starts_with("idempotency-key:")).unwrap();
        line.to_owned()
    };
    assert_eq!((key(0), key(1)), (key(2), key(3)));
    assert_ne!(key(0), key(1));
    assert!(asked[0].contains("POST /a") && asked[0].ends_with("{\"n\":1}"), "{}", asked[0]);
    assert!(asked[0].to_lowercase().contains("content-type: application/json"));
    assert!(asked[1].contains("PUT /b") && asked[1].ends_with("text"));
}

#[test]
fn a_conflict_repeats_no_request() {
    let peer = Peer::start();
    let site = peer.site(
        "await fetch('PEER/once', { method: 'POST' });
         const runs = db.log.get('runs') ?? 0;
         db.log.put('runs', runs + 1);
         db.log.put('out', 1);",
        LOOPBACK,
    );
    for n in 1..=20 {
        site.post("/go");
        site.store_json("log", "other", &n.to_string());
    }
    site.wait("the task", |site| site.pool.task_figures().runs == 20);
    assert_eq!(site.stored("log", "runs").unwrap(), "20");
    assert_eq!(peer.asked().len(), 20);
}

#[test]
fn redirects_are_followed_within_the_rules() {
    let peer = Peer::start();
    let code = "const answer = await fetch('PEER/see', { method: 'POST', body: 'x' });
         const manual = await fetch('PEER/see', { redirect: 'manual' });
         db.log.put('out', [answer.json().n, answer.url.endsWith('/json'), manual.status]);";
    assert_eq!(out(&peer.site(code, LOOPBACK)), "[7,true,303]");
    assert!(peer.asked().iter().any(|head| head.starts_with("GET /json")));
    let call = |path: &str, options: &str| {
        refused(&peer, &format!("fetch('PEER{path}', {options})"), LOOPBACK)
    };
    assert!(call("/see", "{ redirect: 'error' }").contains("redirected to /json"));
    assert!(call("/round", "{}").contains("more than 10 redirects"));
    // The host is allowed; its address is not.
    let error = call("/meta", "{}");
    assert!(error.contains("169.254.169.254") && error.contains("[fetch] private"), "{error}");
    let error = call("/other", "{}");
    assert!(error.contains("example.org:80 is not among the hosts"), "{error}");
}

#[test]
fn names_that_mean_this_machine_are_refused_by_their_address() {
    let peer = Peer::start();
    let call = format!("fetch('http://localhost:{}/json')", peer.port);
    let error = refused(&peer, &call, "");
    assert!(error.contains("not one of the Internet"), "{error}");
    let error = refused(&peer, "fetch('PEER/json')", "");
    assert!(error.contains("127.0.0.1"), "{error}");
    assert!(peer.asked().is_empty(), "nobody was connected to");
}

#[test]
fn what_all_calls_of_a_task_hold_is_bounded() {
    let peer = Peer::start();
    // Of 3 MiB each, two are within the bound.
    let settled = "const found = await Promise.allSettled(calls);
         db.log.put('out', found.map((one) => one.value?.status ?? one.reason.message).sort());";
    let replies = format!("const calls = [1, 2, 3, 4].map(() => fetch('PEER/large')); {settled}");
    let bodies = format!(
        "const body = 'x'.repeat(3 << 20);
         const calls = [1, 2, 3].map(() => fetch('PEER/a', {{ method: 'POST', body }})); {settled}"
    );
    for (code, refused) in [(replies, 2), (bodies, 1)] {
        let out = out(&peer.site(&code, LOOPBACK));
        assert_eq!(out.matches("200").count(), 2, "{out}");
        let bound = gem::limits::FETCH_TASK_BYTES_MAX.to_string();
        assert_eq!(out.matches(&bound).count(), refused, "{out}");
    }
}

#[test]
fn slow_and_huge_replies_end() {
    let peer = Peer::start();
    for path in ["/silent", "/slow"] {
        let call = format!("fetch('PEER{path}', {{ timeout: '300ms' }})");
        let error = refused(&peer, &call, LOOPBACK);
        assert!(error.contains("no answer within 300 ms"), "{path}: {error}");
    }
    let error = refused(&peer, "fetch('PEER/huge')", LOOPBACK);
    assert!(error.contains("the reply has more than 4194304 bytes"), "{error}");
}

#[test]
fn what_cannot_be_asked_is_told() {
    let peer = Peer::start();
    for (call, part) in [
        ("fetch('ftp://127.0.0.1/')", "neither https:// nor http://"),
        ("fetch('/json')", "expected a URL such as"),
        ("fetch('http://user:secret@127.0.0.1/')", "holds credentials"),
        ("fetch('http://127.0.0.1:1/')", "127.0.0.1:1 is not among the hosts"),
        ("fetch('PEER/', { metod: 'POST' })", "no option"),
        ("fetch('PEER/', { timeout: 'soon' })", "timeout: expected milliseconds"),
        ("fetch('PEER/', { headers: { Host: 'a' } })", "Host is made of the URL"),
        ("fetch('PEER/', { headers: { a: 'b\\nc' } })", "a value is visible ASCII"),
        ("fetch('PEER/', { headers: { 'Content-Length': '1' } })", "belongs to the server"),
        ("fetch('PEER/', { body: 'x'.repeat(4194305), method: 'PUT' })", "at most 4194304 bytes"),
        ("fetch('PEER/', { redirect: 'maybe' })", "redirect is one of"),
    ] {
        let error = refused(&peer, call, LOOPBACK);
        assert!(error.contains(part), "{call}: {error}");
    }
    assert!(peer.asked().is_empty());
}

#[test]
fn only_tasks_may_ask() {
    let site = site(
        "app.get('/own', async ({ fetch }) => (await fetch('http://example.org/')).text());
         app.get('/global', async () => (await fetch('http://example.org/')).text());",
    );
    for path in ["/own", "/global"] {
        let error = site.failure(path);
        assert!(error.contains("only tasks ask other servers"), "{error}");
    }
}
