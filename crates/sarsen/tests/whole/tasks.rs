//! Tasks on the real binary that is killed again and again: each that was started with an
//! acknowledged commit runs, and what it changes, the tasks it starts included, is done once.

use crate::harness::{Server, Site, run, test_app};

const KILLS: usize = 6;
const MAILS_A_LIFE: usize = 60;

fn notes(server: &Server) -> u64 {
    server.get("/sent").json()["notes"].as_u64().expect("a number")
}

fn until_noted(server: &Server, count: usize) {
    server.wait_until(&format!("{count} notes"), || notes(server) >= count as u64);
}

#[test]
fn what_tasks_change_is_done_once_however_often_the_server_dies() {
    let site = Site::with_app(test_app("mails"));
    let mut started = 0;
    for life in 0..KILLS {
        let server = site.start();
        let mut client = server.connect();
        for _ in 0..MAILS_A_LIFE {
            let reply = client.request("POST", &format!("/mails/{started}"), &[], b"");
            let reply = reply.expect("a reply");
            assert_eq!(reply.status, 204, "{reply:?}");
            started += 1;
        }
        // Dies while some have run and others have not; each time at another moment.
        until_noted(&server, started - MAILS_A_LIFE + life * MAILS_A_LIFE / KILLS);
        server.kill();
    }
    let server = site.start();
    until_noted(&server, started);
    let sent = server.get("/sent").json();
    for member in ["runs", "once", "mails", "notes"] {
        assert_eq!(sent[member].as_u64(), Some(started as u64), "{member} of {sent}");
    }
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains("\nsarsen_tasks{state=\"dead\"} 0\n"), "{metrics}");
    assert!(server.stop().success());
    let list = run(&["tasks", "list", "--data", site.data().to_str().expect("a path")]);
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    assert_eq!(list, "no task waits, and none is dead\n");
    site.assert_clean();
}
