//! docs/tutorial.md is true: its code stands in apps/guestbook, and its requests get their replies.

use crate::harness::{Site, root};
use crate::http::Client;
use crate::readme::{check, examples, send};
use std::fs;

fn tutorial() -> String {
    fs::read_to_string(root().join("docs/tutorial.md")).expect("the tutorial")
}

#[test]
fn its_code_is_the_applications() {
    let app = root().join("apps/guestbook");
    let files = ["app.js", "entry.js", "pages.js", "test/guestbook.test.js"];
    let files = files.map(|file| fs::read_to_string(app.join(file)).expect("a file"));
    let tutorial = tutorial();
    let blocks = tutorial.split("```js\n").skip(1).map(|rest| rest.split("```\n").next());
    let blocks: Vec<&str> = blocks.map(|block| block.expect("its end")).collect();
    assert!(blocks.len() >= 6);
    for block in blocks {
        assert!(
            files.iter().any(|file| file.contains(block)),
            "nowhere in the guestbook:\n{block}"
        );
    }
}

#[test]
fn its_requests_get_their_replies() {
    let server = Site::with_app(root().join("apps/guestbook")).start();
    let mut client = Client::connect(server.address()).expect("a connection");
    let examples = examples(&tutorial());
    assert_eq!(examples.len(), 4);
    for example in &examples {
        check(example, &send(example, &mut client));
    }
}
