//! Behind a proxy: the configurations of `examples/proxies`, each with the real program from
//! Debian's package, before the real server. Only ports and paths are changed. A program that is
//! missing fails the test: `scripts/setup.sh` installs it.

use crate::harness::{Ends, Server, Site, root, test_app};
use crate::http::{Client, Reply};
use crate::patience::{Deadline, wait_for};
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The proxy's address for its back ends: the one that they trust.
const PROXY: &str = "127.0.0.1";

/// Another address of this machine, for clients.
const CLIENT: &str = "127.0.0.2";

/// A running proxy. It is ended when this is dropped.
struct Proxy {
    child: Child,
    address: SocketAddr,
    folder: TempDir,
}

impl Proxy {
    /// Starts `program` with the configuration in `examples/proxies/NAME.conf`. What `change` gives
    /// is replaced in it: pairs of old and new text, for the folder and the port to listen on.
    fn start(
        name: &str,
        program: &[&str],
        change: impl FnOnce(&str, u16) -> Vec<(&'static str, String)>,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Its workers may run as another user.
        let anybody = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), anybody).expect("permissions");
        let port = free_port();
        let path = root().join("examples/proxies").join(format!("{name}.conf"));
        let mut text = fs::read_to_string(&path).expect("the example");
        for (old, new) in change(folder.path().to_str().expect("a path of text"), port) {
            assert!(text.contains(old), "{} has {old:?}", path.display());
            text = text.replace(old, &new);
        }
        let configuration = folder.path().join("proxy.conf");
        fs::write(&configuration, text).expect("the configuration");
        let said = File::create(folder.path().join("said")).expect("a file");
        let child = command(program, &configuration)
            .stdin(Stdio::null())
            .stdout(said.try_clone().expect("a file"))
            .stderr(said)
            .spawn()
            .unwrap_or_else(|error| {
                panic!("{name} does not run ({error}); scripts/setup.sh {name} installs it")
            });
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut proxy = Self { child, address, folder };
        let Self { child, address, folder } = &mut proxy;
        wait_for(
            "the proxy",
            || written(folder),
            || {
                let ended = child.try_wait().expect("its state");
                assert!(ended.is_none(), "{ended:?}:\n{}", written(folder));
                TcpStream::connect(*address).ok()
            },
        );
        proxy
    }

    fn connect(&self) -> Client {
        Client::connect(self.address).expect("the proxy accepts")
    }

    /// One request by a client at another address than the proxy's.
    fn curl(&self, path: &str, arguments: &[&str]) -> String {
        let url = format!("http://localhost:{}{path}", self.address.port());
        let resolve = format!("localhost:{}:127.0.0.1", self.address.port());
        let output = Command::new("curl")
            .args(["-sS", "--max-time", "30", "--interface", CLIENT, "--resolve", &resolve])
            .args(arguments)
            .arg(url)
            .ends();
        assert!(output.status.success(), "{output:?}\n{}", written(&self.folder));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Everything that was written into a proxy's folder.
fn written(folder: &TempDir) -> String {
    let files = crate::harness::read_tree(folder.path());
    let text = |(path, bytes): (PathBuf, Vec<u8>)| {
        format!("{}:\n{}\n", path.display(), String::from_utf8_lossy(&bytes))
    };
    files.into_iter().map(text).collect()
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Its workers end with it: each of the three programs sees to that when it is asked to end.
        let id = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let asked = id.map(|id| rustix::process::kill_process(id, rustix::process::Signal::TERM));
        if asked.is_none_or(|asked| asked.is_err()) {
            let _gone = self.child.kill();
        }
        let _deadline = Deadline::of(&self.child, "a proxy that was asked to end".to_owned());
        let _reaped = self.child.wait();
    }
}

/// In `/usr/sbin`, which is not in every user's PATH.
fn command(program: &[&str], configuration: &Path) -> Command {
    let name = program.first().expect("a program");
    let known = Path::new("/usr/sbin").join(name);
    let mut command = Command::new(if known.exists() { known } else { PathBuf::from(name) });
    command.args(&program[1..]).arg(configuration);
    command
}

/// Nobody listens on it now; that nobody takes it before the proxy does is likely enough.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn server() -> (Site, Server) {
    let site = Site::with_app(test_app("who"));
    let server = site.start_with(&["--trusted-proxy", PROXY]);
    (site, server)
}

fn nginx(back_end: &Server) -> Proxy {
    Proxy::start("nginx", &["nginx", "-g", "daemon off;", "-c"], |folder, port| {
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {folder}/{kind};\n"));
        vec![
            ("127.0.0.1:8000", back_end.address().to_string()),
            ("listen 8080", format!("listen {PROXY}:{port}")),
            ("http {", format!("http {{\n{}", paths.concat())),
            ("/run/", format!("{folder}/")),
            ("/var/log/nginx/", format!("{folder}/")),
        ]
    })
}

fn apache(back_ends: [&Server; 2]) -> Proxy {
    Proxy::start("apache", &["apache2", "-DFOREGROUND", "-f"], |folder, port| {
        vec![
            ("127.0.0.1:8000", back_ends[0].address().to_string()),
            ("127.0.0.1:8001", back_ends[1].address().to_string()),
            ("Listen 8080", format!("Listen {PROXY}:{port}")),
            ("*:8080", format!("*:{port}")),
            ("/run/apache2", folder.to_owned()),
            ("/var/log/apache2", folder.to_owned()),
        ]
    })
}

fn lighttpd(back_end: &Server) -> Proxy {
    Proxy::start("lighttpd", &["lighttpd", "-D", "-f"], |folder, port| {
        vec![
            ("\"port\" => 8000", format!("\"port\" => {}", back_end.address().port())),
            ("server.port = 8080", format!("server.port = {port}")),
            ("/var/www/html", folder.to_owned()),
            ("/run/", format!("{folder}/")),
            ("/var/log/lighttpd/", format!("{folder}/")),
        ]
    })
}

fn header<'a>(reply: &'a Reply, name: &str) -> &'a str {
    reply.header(name).unwrap_or_else(|| panic!("no {name} in {reply:?}"))
}

/// Documents through a proxy are documents: nothing of what makes conditional requests work, and no
/// byte, is changed on the way.
fn assert_documents_pass(proxy: &Proxy, direct: &Server) {
    let mut client = proxy.connect();
    let put = client.put_json("/db/notes/a", "{\"n\":1}").expect("a reply");
    assert_eq!(put.status, 201, "{put:?}\n{}", written(&proxy.folder));
    let first = header(&put, "etag").to_owned();
    let got = client.get("/db/notes/a").expect("a reply");
    assert_eq!((got.status, got.text().as_str()), (200, "{\"n\":1}"));
    assert_eq!(header(&got, "etag"), first);
    assert_eq!(header(&got, "content-type"), "application/json");
    let mut ask = |method: &str, condition: (&str, &str), body: &[u8]| {
        let fields = [condition, ("content-type", "application/json")];
        client.request(method, "/db/notes/a", &fields, body).expect("a reply")
    };
    let unchanged = ask("GET", ("if-none-match", &first), b"");
    assert_eq!((unchanged.status, header(&unchanged, "etag")), (304, first.as_str()));
    let second = ask("PUT", ("if-match", &first), b"2");
    assert_eq!(second.status, 204);
    assert_ne!(header(&second, "etag"), first);
    let failed = ask("PUT", ("if-match", &first), b"3");
    assert_eq!(
        (failed.status, failed.header("content-type")),
        (412, Some("application/problem+json"))
    );
    assert_eq!(ask("HEAD", ("accept", "*/*"), b"").status, 200);
    assert_eq!(direct.get("/db/notes/a").text(), "2");
    assert_eq!(ask("DELETE", ("accept", "*/*"), b"").status, 204);
    // A slash in a key stays what it is.
    let odd = client.put_json("/db/notes/a%2Fb%20c", "1").expect("a reply");
    assert_eq!(odd.status, 201, "{odd:?}");
    assert_eq!(direct.get("/db/notes/a%2Fb%20c").status, 200);
    assert_large_bodies_pass(proxy);
}

fn assert_large_bodies_pass(proxy: &Proxy) {
    let mut client = proxy.connect();
    let large: Vec<u8> = (0..faces_body_max()).map(|n| (n % 251) as u8).collect();
    let fields = [("content-type", "application/octet-stream")];
    let put = client.request("PUT", "/db/notes/large", &fields, &large).expect("a reply");
    assert_eq!(put.status, 201, "{put:?}\n{}", written(&proxy.folder));
    let got = client.get("/db/notes/large").expect("a reply");
    assert!(got.status == 200 && got.body == large, "{} {}", got.status, got.body.len());
}

/// The largest document.
fn faces_body_max() -> usize {
    repository::limits::DOCUMENT_BYTES_MAX
}

/// The server sees the client and the host that it asked for, whatever the client says of itself.
fn assert_clients_are_known(proxy: &Proxy) {
    let expected = format!("{CLIENT} http localhost:{}", proxy.address.port());
    assert_eq!(proxy.curl("/who", &[]), expected);
    let lies = [
        "X-Forwarded-For: 203.0.113.9",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Host: evil.example",
        "Forwarded: for=203.0.113.9;host=evil.example;proto=https",
    ];
    let lies: Vec<&str> = lies.iter().flat_map(|field| ["-H", field]).collect();
    assert_eq!(proxy.curl("/who", &lies), expected, "{}", written(&proxy.folder));
    let cookies = proxy.curl("/session", &[&lies[..], &["-i"]].concat()).to_lowercase();
    assert!(cookies.contains("set-cookie") && !cookies.contains("secure"), "{cookies}");
}

/// Connections with the server at one end, in any state but listening.
fn connections_of(server: &Server) -> usize {
    const LISTEN: &str = "0A";
    let table = fs::read_to_string("/proc/net/tcp").expect("the table of connections");
    let port = format!(":{:04X}", server.address().port());
    let of_server = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        let (local, state) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
        local.ends_with(&port) && state != LISTEN
    };
    let remote =
        |line: &&str| line.split_whitespace().nth(2).is_some_and(|remote| remote.ends_with(&port));
    table.lines().filter(|line| of_server(line) || remote(line)).count()
}

/// Many requests, and few connections to the server, ended ones included.
fn assert_connections_are_kept(proxy: &Proxy, server: &Server) {
    // Fewer than the requests after which Apache ends a client's connection.
    const REQUESTS: usize = 90;
    let before = connections_of(server);
    let mut client = proxy.connect();
    for _ in 0..REQUESTS {
        assert_eq!(client.get("/healthz").expect("a reply").status, 200);
    }
    let more = connections_of(server).saturating_sub(before);
    assert!(more < REQUESTS / 4, "{more} more connections for {REQUESTS} requests");
}

/// What stands in a body is not run, even where the proxy and the server may see a body end in
/// different places (RFC 9112 §2.2, §7.1.2). Not for lighttpd 1.4, which itself takes for a trailer
/// section what reaches up to the next empty line, and what comes then for a request.
fn assert_bodies_hide_no_request(proxy: &Proxy, direct: &Server) {
    const HIDDEN: &str = "DELETE /db/notes/kept HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let chunked = "PUT /db/notes/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\n\
                   Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";
    let carrier = format!(
        "PUT /db/notes/b HTTP/1.1\r\nHost: localhost\r\nContent-Type: a/b\r\n\
         Content-Length: {}\r\n\r\n{HIDDEN}",
        HIDDEN.len()
    );
    let last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(direct.connect().put_json("/db/notes/kept", "1").expect("a reply").status, 201);
    for end in
        ["0\r\n\n", "0\r\nX: a\n\r\n", "0\r\nX: a\n\n", "0\r\nX: a\r\n\n", "0\r\nX: a\r\n\r\n"]
    {
        let mut client = proxy.connect();
        client.send(format!("{chunked}{end}{carrier}{last}").as_bytes()).expect("it is sent");
        let said = client.read_to_end().expect("replies, and an end");
        let said = String::from_utf8_lossy(&said);
        assert!(said.starts_with("HTTP/1.1 "), "{end:?}: {said}\n{}", written(&proxy.folder));
        let kept = direct.get("/db/notes/kept");
        assert_eq!(kept.status, 200, "{end:?}: {said}\n{}", written(&proxy.folder));
    }
}

#[test]
fn nginx_before_a_server() {
    let (_site, server) = server();
    let proxy = nginx(&server);
    assert_documents_pass(&proxy, &server);
    assert_bodies_hide_no_request(&proxy, &server);
    assert_clients_are_known(&proxy);
    assert_connections_are_kept(&proxy, &server);
}

#[test]
fn lighttpd_before_a_server() {
    let (_site, server) = server();
    let proxy = lighttpd(&server);
    assert_documents_pass(&proxy, &server);
    assert_clients_are_known(&proxy);
}

#[test]
fn apache_before_two_servers_of_which_one_dies() {
    let ((_site, first), (_other_site, second)) = (server(), server());
    let proxy = apache([&first, &second]);
    assert_clients_are_known(&proxy);
    assert_connections_are_kept(&proxy, &first);
    // Both have it, each in its own repository, and both are asked.
    for server in [&first, &second] {
        let put = server.connect().put_json("/db/notes/kept", "1").expect("a reply");
        assert_eq!(put.status, 201);
    }
    for server in [&first, &second] {
        let name = server.address().port().to_string();
        let put = server.connect().put_json("/db/notes/who", &name).expect("a reply");
        assert_eq!(put.status, 201);
    }
    let ask = |path: &str| proxy.connect().get(path).expect("a reply");
    let mut answered: Vec<_> = (0..10).map(|_| ask("/db/notes/who").text()).collect();
    answered.sort();
    answered.dedup();
    assert_eq!(answered.len(), 2, "both answer: {answered:?}");
    second.kill();
    for _ in 0..10 {
        assert_eq!(ask("/db/notes/kept").status, 200, "{}", written(&proxy.folder));
    }
    // With one server that is left, documents behave as with one.
    assert_documents_pass(&proxy, &first);
}
