//! `console` writes to the log under the target "app", within bounds.

use crate::support::{on_log, site};
use gem::limits::{LOG_RECORD_BYTES_MAX, LOG_RECORDS_MAX};
use std::sync::{Arc, Mutex};

type Records = Arc<Mutex<Vec<(log::Level, String)>>>;

fn records(routes: &str, path: &str) -> Vec<(log::Level, String)> {
    let site = site(routes);
    let heard = Records::default();
    let ear = heard.clone();
    let _hearing = on_log(Box::new(move |level, text| {
        ear.lock().unwrap().push((level, text.to_owned()));
    }));
    site.text(path);
    std::mem::take(&mut *heard.lock().unwrap())
}

#[test]
fn levels_and_texts() {
    let heard = records(
        r#"app.get("/", ({ db }) => {
             console.log("text", 1, null, undefined, { a: [1] });
             console.info(true, 10n);
             console.warn(Symbol("s"), () => 1);
             console.error(new TypeError("bad"));
             console.debug(db);
             const cycle = {};
             cycle.cycle = cycle;
             console.log(cycle);
           });"#,
        "/",
    );
    let levels: Vec<log::Level> = heard.iter().map(|(level, _)| *level).collect();
    use log::Level::{Debug, Error, Info, Warn};
    assert_eq!(levels, [Info, Info, Warn, Error, Debug, Info]);
    assert_eq!(heard[0].1, r#"text 1 null undefined {"a":[1]}"#);
    assert_eq!(heard[1].1, "true 10");
    assert_eq!(heard[2].1, "Symbol(s) () => 1");
    assert!(heard[3].1.starts_with("TypeError: bad\n    at "), "{}", heard[3].1);
    assert!(heard[5].1.starts_with("[cannot be shown: "), "{}", heard[5].1);
}

#[test]
fn records_are_bounded_in_number_and_size() {
    let heard = records(
        r#"app.get("/", () => {
             console.log("x".repeat(100000));
             for (let i = 0; i < 1000; i++) console.log(i);
           });"#,
        "/",
    );
    assert_eq!(heard.len(), LOG_RECORDS_MAX as usize + 1);
    assert!(heard[0].1.len() <= LOG_RECORD_BYTES_MAX && heard[0].1.ends_with('…'));
    let (level, last) = heard.last().unwrap();
    assert_eq!(*level, log::Level::Warn);
    assert!(last.contains("more than 200 records"), "{last}");
}
