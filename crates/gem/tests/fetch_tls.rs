//! `fetch` of tasks over TLS, with a certificate authority of one's own, against openssl.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod support;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use support::{PATIENCE, Setup, folder, start};
use tempfile::TempDir;

/// Runs `openssl` with these words, in a folder.
fn openssl(folder: &Path, words: &str) {
    let output = Command::new("openssl").args(words.split(' ')).current_dir(folder).output();
    let output = output.expect("openssl runs; scripts/setup.sh installs it");
    assert!(output.status.success(), "openssl {words}: {output:?}");
}

const EC: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// Two authorities, and a certificate for localhost that the first has signed.
fn certificates() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for name in ["own", "other"] {
        let files = format!("-keyout {name}.key -out {name}.pem");
        openssl(path, &format!("req -x509 {EC} -days 2 -subj /CN={name} {files}"));
    }
    openssl(path, &format!("req {EC} -subj /CN=server -keyout server.key -out server.csr"));
    fs::write(path.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(
        path,
        "x509 -req -in server.csr -CA own.pem -CAkey own.key -CAcreateserial -days 2 \
         -extfile names -out server.pem",
    );
    folder
}

/// A server that answers every GET over TLS with a page; ended when this is dropped.
struct Peer {
    child: Child,
    port: u16,
}

impl Peer {
    fn start(folder: &Path) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let words = format!("s_server -accept 127.0.0.1:{port} -cert server.pem -key server.key");
        let mut child = Command::new("openssl")
            .args(words.split(' '))
            .args(["-www", "-quiet"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none() && begun.elapsed() < PATIENCE, "no openssl: {ended:?}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Self { child, port }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// What becomes of `fetch("https://HOST:PORT/")`, with this authority, if any.
fn fetched(peer: &Peer, host: &str, authority: Option<&Path>) -> String {
    let port = peer.port;
    let app = format!(
        "import {{ App }} from \"sarsen\";
         const app = new App();
         app.task(\"go\", {{ timeout: \"60s\" }}, async ({{ db, fetch }}) => {{
           let out;
           try {{
             const answer = await fetch(\"https://{host}:{port}/\");
             out = [answer.status, answer.text().includes(\"TLSv1.3\")];
           }} catch (error) {{ out = error.message; }}
           db.log.put(\"out\", out);
         }});
         app.post(\"/go\", ({{ task }}) => task(\"go\"));
         export default app;"
    );
    let folder = folder(&[("app.js", &app)]);
    let mut settings = format!(
        "[fetch]\nallow = [\"localhost:{port}\", \"127.0.0.1:{port}\"]\n\
         private = [\"127.0.0.1/32\"]\n"
    );
    if let Some(authority) = authority {
        fs::copy(authority, folder.path().join("ca.pem")).unwrap();
        settings.push_str("certificates = \"ca.pem\"\n");
    }
    fs::write(folder.path().join("sarsen.toml"), format!("name = \"test\"\n{settings}")).unwrap();
    let site = start(folder, Setup::default());
    site.post("/go");
    site.wait("the task", |site| site.stored("log", "out").is_some());
    site.stored("log", "out").unwrap()
}

#[test]
fn a_peer_is_who_its_authority_says() {
    let folder = certificates();
    let peer = Peer::start(folder.path());
    let [own, other] = ["own.pem", "other.pem"].map(|name| folder.path().join(name));
    assert_eq!(fetched(&peer, "localhost", Some(&own)), "[200,true]");
    for (host, authority, word) in [
        ("localhost", None, "UnknownIssuer"),
        ("localhost", Some(&*other), "UnknownIssuer"),
        ("127.0.0.1", Some(&*own), "not valid for name"),
    ] {
        let said = fetched(&peer, host, authority);
        assert!(said.contains(word), "{host}, {authority:?}: {said}");
    }
    // It has done none of them any harm.
    assert_eq!(fetched(&peer, "localhost", Some(&own)), "[200,true]");
}
