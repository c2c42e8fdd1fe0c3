//! TLS as openssl and curl meet it: versions, ALPN, resumption, bad files, replaced files.

use crate::patience::Deadline;
use crate::site::{Client, Site, bare, get, until};
use crate::tools::{curl, run, run_with};
use faces::{ListenError, Server, ServerOptions, TlsError, TlsOptions};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A folder with a certificate for localhost that signs itself, and its key.
struct Identity {
    folder: TempDir,
}

impl Identity {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let identity = Self { folder };
        identity.make("first", &["-days", "30"]);
        identity.make("second", &["-days", "30"]);
        identity.put("first");
        identity
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// `NAME.crt` and `NAME.key`, and the subject NAME.
    fn make(&self, name: &str, more: &[&str]) {
        let (key, certificate) =
            (self.text(&format!("{name}.key")), self.text(&format!("{name}.crt")));
        let subject = format!("/CN={name}");
        let common = [
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            &subject,
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout",
            &key,
            "-out",
            &certificate,
        ];
        let made = run("openssl", &[&common, more].concat());
        assert!(made.status.success(), "{made:?}");
    }

    /// A pair `old` that has expired; `openssl req` makes none, `openssl x509` does.
    fn make_old(&self) {
        self.make("old", &["-days", "30"]);
        let [request, key, certificate, extensions] =
            ["old.csr", "old.key", "old.crt", "extensions"].map(|name| self.text(name));
        fs::write(&extensions, "subjectAltName=DNS:localhost\n").unwrap();
        for arguments in [
            &["req", "-new", "-key", &key, "-subj", "/CN=old", "-out", &request][..],
            &[
                "x509",
                "-req",
                "-in",
                &request,
                "-signkey",
                &key,
                "-days",
                "-1",
                "-extfile",
                &extensions,
                "-out",
                &certificate,
            ],
        ] {
            let made = run("openssl", arguments);
            assert!(made.status.success(), "{made:?}");
        }
    }

    /// Makes the pair NAME the one in use, as most tools do: by renaming over the old one.
    fn put(&self, name: &str) {
        for kind in ["crt", "key"] {
            fs::copy(self.path(&format!("{name}.{kind}")), self.path("new")).unwrap();
            fs::rename(self.path("new"), self.path(&format!("used.{kind}"))).unwrap();
        }
    }

    fn options(&self) -> TlsOptions {
        TlsOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            certificate: self.path("used.crt"),
            key: self.path("used.key"),
        }
    }

    fn site(&self) -> Site {
        Site::with(|options| options.tls = Some(self.options()))
    }
}

fn address(site: &Site) -> String {
    site.server.tls_addr().unwrap().to_string()
}

fn https(site: &Site, path: &str) -> String {
    format!("https://localhost:{}{path}", site.server.tls_addr().unwrap().port())
}

/// What `openssl s_client` prints about a handshake.
fn s_client(site: &Site, arguments: &[&str]) -> String {
    let address = address(site);
    let all = [&["s_client", "-connect", &address], arguments].concat();
    let output = run_with("openssl", &all, "");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// The common name of the certificate in use.
fn subject(site: &Site) -> String {
    let shown = s_client(site, &[]);
    let line = shown.lines().find(|line| line.trim_start().starts_with("0 s:")).unwrap_or(&shown);
    line.rsplit(['=', ' ']).next().unwrap().to_owned()
}

#[test]
fn rfc9113_3_2_alpn_by_curl() {
    let identity = Identity::new();
    let site = identity.site();
    site.put("/db/notes/a", "1");
    let ca = identity.text("used.crt");
    for (version, end) in [("--http2", "2 200"), ("--http1.1", "1.1 200")] {
        let got = curl(&["--cacert", &ca, version, &https(&site, "/db/notes/a")]);
        assert_eq!(got, (end.to_owned(), "1".to_owned()));
    }
    // A client that names no protocol gets HTTP/1.1.
    let got = curl(&["--cacert", &ca, "--no-alpn", &https(&site, "/db/notes/a")]);
    assert_eq!(got.0, "1.1 200");
    // The other port goes on without TLS.
    assert_eq!(site.ask(&get("/db/notes/a")).body, "1");
}

#[test]
fn versions_and_protocols_by_openssl() {
    let identity = Identity::new();
    let site = identity.site();
    let of = |version| s_client(&site, &[version, "-alpn", "h2,http/1.1"]);
    for (flag, version) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let shown = of(flag);
        assert!(shown.contains(&format!("New, {version}")), "{shown}");
        assert!(shown.contains("ALPN protocol: h2"), "{shown}");
    }
    let old = s_client(&site, &["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]);
    assert!(!old.contains("New, TLSv1.1"), "{old}");
    // RFC 7301 §3.2: nothing in common is an alert, and not a guess.
    let unknown = s_client(&site, &["-alpn", "spdy/3"]);
    assert!(unknown.contains("no application protocol"), "{unknown}");
}

#[test]
fn sessions_are_resumed() {
    let identity = Identity::new();
    let site = identity.site();
    let kept = identity.text("session");
    for version in ["-tls1_2", "-tls1_3"] {
        // A reply has to be read in TLS 1.3, where the tickets come after the handshake.
        let address = address(&site);
        let ask = |more: [&str; 2]| {
            let all = ["s_client", "-connect", &address, version, "-ign_eof", more[0], more[1]];
            let request = bare("GET", "/healthz", "Connection: close\r\n");
            let output = run_with("openssl", &all, &request);
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let first = ask(["-sess_out", &kept]);
        assert!(first.contains("New, TLS") && first.contains("200 OK"), "{first}");
        let second = ask(["-sess_in", &kept]);
        assert!(second.contains("Reused, TLS") && second.contains("200 OK"), "{second}");
    }
}

#[test]
fn plain_http_to_the_tls_port_is_told_so() {
    let identity = Identity::new();
    let site = identity.site();
    let mut client = Client::to(site.server.tls_addr().unwrap());
    let reply = client.ask(&get("/healthz"));
    assert_eq!((reply.status, reply.problem()), (400, "bad-request"));
    assert!(reply.body.contains("https://"), "{}", reply.body);
    client.end_sending();
    assert!(client.is_at_end());
}

#[test]
fn a_tls_hello_to_the_plain_port_ends() {
    let identity = Identity::new();
    let site = identity.site();
    let address = site.server.local_addr().to_string();
    let output = run("openssl", &["s_client", "-connect", &address]);
    assert!(!output.status.success());
    assert_eq!(site.ask(&get("/healthz")).status, 200);
}

#[test]
fn a_handshake_that_takes_too_long_or_is_none_ends() {
    let identity = Identity::new();
    let site = Site::with(|options| {
        options.tls = Some(identity.options());
        options.timeouts.handshake = Duration::from_millis(400);
    });
    let mut slow = Client::to(site.server.tls_addr().unwrap());
    slow.send([0x16, 3, 1]);
    assert!(slow.is_at_end());
    let mut wrong = Client::to(site.server.tls_addr().unwrap());
    wrong.send([0x16, 3, 1, 0, 4, 1, 2, 3, 4]);
    // An alert (RFC 8446 §6), then the end.
    until(|| wrong.is_at_end_after_reading());
    assert!(s_client(&site, &[]).contains("New, TLS"));
}

#[test]
fn handshakes_that_never_end_keep_nobody_out() {
    let identity = Identity::new();
    let site = Site::with(|options| {
        options.tls = Some(identity.options());
        options.reactors = 1;
        options.timeouts.handshake = Duration::from_secs(30);
    });
    let begin = |_| {
        let mut client = Client::to(site.server.tls_addr().unwrap());
        client.send([0x16, 3, 1]);
        client
    };
    let _idle: Vec<_> = (0..faces::limits::HANDSHAKES_MAX).map(begin).collect();
    let ca = identity.text("used.crt");
    let got = curl(&["--cacert", &ca, &https(&site, "/healthz")]);
    assert_eq!(got.1, "ok\n");
}

#[test]
fn a_replaced_certificate_is_used_and_a_bad_one_is_not() {
    let identity = Identity::new();
    let site = identity.site();
    assert_eq!(subject(&site), "first");
    identity.put("second");
    until(|| subject(&site) == "second");
    // A bad file is tried and not taken; a good one after it is.
    fs::write(identity.path("used.crt"), "no certificate").unwrap();
    std::thread::sleep(3 * faces::limits::CERTIFICATE_WATCH_INTERVAL);
    assert_eq!(subject(&site), "second");
    identity.put("first");
    until(|| subject(&site) == "first");
}

#[test]
fn a_drain_ends_tls_connections_too() {
    let identity = Identity::new();
    let site = identity.site();
    let address = address(&site);
    let mut idle = std::process::Command::new("openssl")
        .args(["s_client", "-connect", &address, "-quiet"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let _deadline = Deadline::of(&idle, "openssl".to_owned());
    let request = get("/healthz");
    std::io::Write::write_all(idle.stdin.as_mut().unwrap(), request.as_bytes()).unwrap();
    let mut byte = [0];
    std::io::Read::read_exact(idle.stdout.as_mut().unwrap(), &mut byte).unwrap();
    assert_eq!(site.server.drain(Duration::from_secs(20)), 0);
    assert!(idle.wait().is_ok(), "it ends when the connection does");
}

fn refused(options: TlsOptions) -> TlsError {
    let site = Site::start();
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = ServerOptions { tls: Some(options), ..ServerOptions::new(free) };
    match Server::start(options, Arc::clone(&site.repository), None).err().unwrap() {
        ListenError::Tls(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn files_that_cannot_be_used_are_named_with_what_is_wrong() {
    let identity = Identity::new();
    let with = |certificate: &str, key: &str| {
        let error = refused(TlsOptions {
            certificate: identity.path(certificate),
            key: identity.path(key),
            ..identity.options()
        });
        let text = error.to_string();
        assert!(!text.contains("BEGIN EC"), "no secrets: {text}");
        (error, text)
    };
    let write = |name: &str, text: &str| fs::write(identity.path(name), text).unwrap();
    let (error, text) = with("absent.crt", "first.key");
    assert!(matches!(error, TlsError::Read { .. }), "{text}");
    assert!(text.contains("absent.crt") && text.contains("No such file"), "{text}");
    let (error, text) = with("first.crt", "second.key");
    assert!(matches!(error, TlsError::Mismatch { .. }), "{text}");
    assert!(text.contains("first.crt") && text.contains("second.key"), "{text}");
    let (error, text) = with("first.key", "first.key");
    assert!(matches!(error, TlsError::NoCertificate { .. }), "{text}");
    let (error, text) = with("first.crt", "first.crt");
    assert!(matches!(error, TlsError::NoKey { .. }), "{text}");
    write("empty", "");
    assert!(matches!(with("empty", "first.key").0, TlsError::NoCertificate { .. }));
    write("half", "-----BEGIN CERTIFICATE-----\nMIIB\n");
    assert!(matches!(with("half", "first.key").0, TlsError::Pem { .. }));
    write("junk", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    assert!(matches!(with("junk", "first.key").0, TlsError::BadCertificate { .. }));
    write("badkey", "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n");
    assert!(matches!(with("first.crt", "badkey").0, TlsError::BadKey { .. }));
    write("large", &"x".repeat(faces::limits::TLS_FILE_BYTES_MAX + 1));
    assert!(matches!(with("large", "first.key").0, TlsError::TooLarge { .. }));
    let encrypted = identity.text("encrypted");
    let key = identity.text("first.key");
    let made = run(
        "openssl",
        &["pkcs8", "-topk8", "-in", &key, "-out", &encrypted, "-passout", "pass:secret"],
    );
    assert!(made.status.success(), "{made:?}");
    let (error, text) = with("first.crt", "encrypted");
    assert!(matches!(error, TlsError::NoKey { .. }) && text.contains("encrypted"), "{text}");
}

#[test]
fn a_file_that_may_not_be_read_is_named() {
    let identity = Identity::new();
    let key = identity.path("used.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&key).is_ok() {
        // A privileged user reads everything; a folder is nobody's to read as a file.
        let error = refused(TlsOptions { key: folder_of(&key), ..identity.options() });
        assert!(matches!(error, TlsError::Read { .. }), "{error}");
        return;
    }
    let error = refused(identity.options());
    assert!(error.to_string().contains("Permission denied"), "{error}");
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap().to_owned()
}

#[test]
fn an_expired_certificate_is_no_reason_not_to_start() {
    let identity = Identity::new();
    identity.make_old();
    identity.put("old");
    let site = identity.site();
    assert_eq!(subject(&site), "old");
}

#[test]
fn rsa_and_ed25519_keys_and_chains_are_taken() {
    let identity = Identity::new();
    for (name, algorithm) in [("rsa", "rsa:2048"), ("ed", "ed25519")] {
        let (key, certificate) =
            (identity.text(&format!("{name}.key")), identity.text(&format!("{name}.crt")));
        let subject_name = format!("/CN={name}");
        let made = run(
            "openssl",
            &[
                "req",
                "-x509",
                "-newkey",
                algorithm,
                "-nodes",
                "-subj",
                &subject_name,
                "-keyout",
                &key,
                "-out",
                &certificate,
                "-days",
                "30",
            ],
        );
        assert!(made.status.success(), "{made:?}");
        // What follows the first certificate is sent along.
        let chain = fs::read_to_string(&certificate).unwrap()
            + &fs::read_to_string(identity.path("first.crt")).unwrap();
        fs::write(&certificate, chain).unwrap();
        identity.put(name);
        let site = identity.site();
        assert_eq!(subject(&site), name);
        assert!(s_client(&site, &["-showcerts"]).matches("BEGIN CERTIFICATE").count() >= 2);
    }
}
