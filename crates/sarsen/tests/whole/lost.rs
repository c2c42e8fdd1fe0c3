//! Gems that hang where nothing interrupts them: when no more of them are replaced, the server says
//! so, and ends if it is asked to.

use crate::harness::{Server, Site};
use std::fs;
use std::thread;
use tempfile::TempDir;

/// Nothing interrupts the engine while it makes a text of a long number, for seconds each time.
const APP: &str = r#"import { App } from "sarsen";
const app = new App();
app.get("/hang", () => { const long = 1n << 1000000n; for (;;) `${long}`; });
app.get("/fine", () => "fine");
export default app;
"#;

fn app() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("sarsen.toml"), "name = \"hang\"\n[limits]\ncpu_ms = 10\n")
        .expect("the settings are written");
    fs::write(folder.path().join("app.js"), APP).expect("the module is written");
    folder
}

/// As many requests as gems may be lost.
fn hang(server: &Server) {
    let requests: Vec<_> = (0..8)
        .map(|_| {
            let mut client = server.connect();
            thread::spawn(move || client.get("/hang").map(|reply| reply.status))
        })
        .collect();
    for request in requests {
        // The server may have ended before the last reply has left.
        if let Ok(status) = request.join().expect("it does not panic") {
            assert_eq!(status, 500);
        }
    }
}

#[test]
fn a_server_whose_gems_hang_is_not_ready() {
    let app = app();
    let site = Site::with_app(app.path().to_owned());
    let server = site.start();
    assert_eq!(server.get("/readyz").status, 200);
    hang(&server);
    server.wait_until("it is not ready", || server.get("/readyz").status == 503);
    let state = server.get("/readyz").text();
    assert!(
        state.contains(r#""gems:lost":[{"#) && state.contains("start the server anew"),
        "{state}"
    );
    assert_eq!(server.get("/fine").text(), "fine", "what can be served is");
    server.kill();
}

#[test]
fn a_server_whose_gems_hang_ends_if_it_is_to() {
    let app = app();
    let site = Site::with_app(app.path().to_owned());
    let server = site.start_with(&["--exit-when-lost"]);
    hang(&server);
    assert_eq!(server.wait().code(), Some(10));
    site.assert_clean();
}
