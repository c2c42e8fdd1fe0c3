//! The GLASS benchmark of October 2007 beside a run of today. It compares no machines and says so.

use crate::report::Report;

/// What was measured then: a counter page, a new session in every hit, driven by siege.
const ROWS_2007: [(&str, f64); 3] = [
    ("2007  Squeak, 1 image, 10 clients", 10.0),
    ("2007  GemStone/S, 1 core, 1 gem, raw log, 10 clients", 91.0),
    ("2007  GemStone/S, 4 cores, 5 gems", 230.0),
];

const LABEL_WIDTH: usize = 54;

/// The rows of 2007 and the measured one, aligned, ending with a newline.
pub fn table(measured: &Report) -> String {
    let mut text =
        format!("{:LABEL_WIDTH$}{:>10}\n", "counter, a new session in every hit", "req/s");
    let sessions = if measured.new_session { "" } else { ", sessions kept" };
    let own = format!("now   this server, {} users{sessions}", measured.users);
    let own = (own.as_str(), measured.requests_per_second());
    for (label, rate) in ROWS_2007.into_iter().chain([own]) {
        text.push_str(&format!("{label:LABEL_WIDTH$}{rate:>10.0}\n"));
    }
    text.push_str("The machines differ: the rows show how far apart the results are, not why.\n");
    text
}
