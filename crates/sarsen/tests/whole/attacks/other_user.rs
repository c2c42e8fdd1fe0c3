//! Another user of the machine, and somebody with a stolen backup: what they can read.

use crate::backups::{backup, restore};
use crate::harness::{Ends, Site, read_tree, sarsen, test_app};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The same command, run by somebody whose umask forbids nothing.
fn careless(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 000; exec \"$@\"", "sh"]).arg(command.get_program());
    shell.args(command.get_args());
    shell
}

/// Files and folders below `folder`, itself too, that others can use in any way.
fn open_to_others(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut open = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let found = std::fs::symlink_metadata(&path).expect("it is there");
        let mode = found.permissions().mode() & 0o7777;
        open.extend((mode & 0o077 != 0).then_some((path.clone(), mode)));
        if found.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
    }
    open
}

fn succeed(command: &Command) {
    let output = careless(command).ends();
    assert!(output.status.success(), "{output:?}");
}

const JOIN: &[u8] = b"name=anna&secret=gruen";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A visitor who has logged in, a blob, an access log, an archive, backups, a restored repository
/// and an export: the whole of what the server writes.
#[test]
fn nothing_that_is_written_can_be_read_by_others_and_none_of_it_holds_a_cookie() {
    let site = Site::with_app(test_app("login"));
    let around = tempfile::tempdir().expect("a folder");
    let at = |name: &str| around.path().join(name);
    let mut serve = site.serve();
    serve.arg("--access-log").arg(at("access.log")).arg("--archive").arg(at("archive"));
    let server = site.start_by(&mut careless(&serve));
    let mut client = server.connect();
    let mut post = |path: &str| client.request("POST", path, &[FORM], JOIN).expect("a reply");
    assert_eq!(post("/join").status, 204);
    let reply = post("/login");
    let cookie = reply.headers.iter().find_map(|(name, value)| {
        value.strip_prefix("sarsen_session=").filter(|_| name == "set-cookie")
    });
    let id = cookie.and_then(|rest| rest.split(';').next()).expect("a session").to_owned();
    assert_eq!(id.len(), 22, "{id}");
    let large = vec![b'x'; 200_000];
    let field = [("content-type", "application/octet-stream")];
    assert_eq!(client.request("PUT", "/db/files/a", &field, &large).expect("a reply").status, 201);
    let mut token = sarsen();
    token.args(["token", "create", "--data"]).arg(site.data()).args(["--scope", "read"]);
    succeed(&token);
    succeed(&backup(&site, &at("backups"), &[]));
    let mut export = sarsen();
    export.arg("export").arg("--data").arg(site.data()).arg("--output").arg(at("all.jsonl"));
    succeed(export.arg("--system"));
    drop(client);
    assert!(server.stop().success());
    let copy = Site::bare();
    succeed(&restore(&at("backups"), &copy, &[]));
    let mut seen = 0;
    for folder in [site.data(), copy.data(), at("backups"), at("archive")] {
        assert_eq!(open_to_others(&folder), [], "below {}", folder.display());
        for (path, bytes) in read_tree(&folder) {
            seen += 1;
            let has_it = bytes.windows(id.len()).any(|window| window == id.as_bytes());
            assert!(!has_it, "{} holds a cookie that is of use", path.display());
        }
    }
    assert!(seen > 20, "{seen} files");
    for file in [at("access.log"), at("all.jsonl")] {
        assert_eq!(open_to_others(&file), [], "{}", file.display());
        assert!(!std::fs::read_to_string(&file).expect("text").contains(&id));
    }
}

/// An operator whose folder was made by an earlier build, or by hand, is told.
#[test]
fn a_folder_that_others_can_read_is_told_at_the_start() {
    let site = Site::bare();
    std::fs::create_dir(site.data()).expect("a folder");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(site.data(), open).expect("its mode");
    let mut server = site.start();
    server.wait_for_log("can reach");
    let logged = server.logged();
    assert!(logged.contains("(mode 755)") && logged.contains("chmod go= "), "{logged}");
    let own = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(site.data(), own).expect("its mode");
    let before = server.logged().matches("can reach").count();
    assert!(server.stop().success());
    let server = site.start();
    assert_eq!(server.logged().matches("can reach").count(), before, "{}", server.logged());
}
