//! Documents that an application's `onExpire` is to see, on the real binary that is killed again
//! and again: each is seen, and what is done about it takes effect once.

use crate::harness::{Server, Site, test_app};

const KILLS: usize = 6;
const ORDERS_A_LIFE: usize = 60;

/// How many were seen, by the tally and by the documents of each.
fn seen(server: &Server) -> (u64, u64) {
    let seen = server.get("/seen").json();
    (seen["count"].as_u64().expect("a number"), seen["keys"].as_u64().expect("a number"))
}

fn until_seen(server: &Server, count: u64) {
    server.wait_until(&format!("{count} seen"), || seen(server).0 >= count);
}

#[test]
fn what_expires_is_seen_once_however_often_the_server_dies() {
    let site = Site::with_app(test_app("orders"));
    let mut made = 0;
    for life in 0..KILLS {
        let server = site.start();
        let mut client = server.connect();
        for _ in 0..ORDERS_A_LIFE {
            let path = format!("/orders/{made}");
            let reply = client.request("POST", &path, &[], b"").expect("a reply");
            assert_eq!(reply.status, 204, "{reply:?}");
            made += 1;
        }
        // Dies while some were seen and others were not; each time at another moment.
        until_seen(&server, (made - ORDERS_A_LIFE + life * ORDERS_A_LIFE / KILLS) as u64);
        server.kill();
    }
    let server = site.start();
    until_seen(&server, made as u64);
    assert_eq!(seen(&server), (made as u64, made as u64));
    assert!(server.stop().success());
    site.assert_clean();
}
