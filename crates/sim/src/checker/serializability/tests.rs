//! Histories made by hand: each anomaly is found under its name, and good ones pass.

use super::Kind::{
    AbortedRead, CircularInformation, DirtyWrite, IntermediateRead, LostUpdate, NeverWritten,
    OwnWrite, Phantom, ReadSkew, SharedNumber, WriteSkew, WrongNumber,
};
use super::*;
use crate::checker::{Operation, Span, Transaction, Version};
use std::slice;

/// A transaction that overlaps all others, from steps such as `r x 1`, `r x -` (nothing there),
/// `w x 2`, `d x 3` and `s a..c b=1`.
fn transaction(name: &str, end: End, steps: &[&str]) -> Transaction {
    let operations = steps.iter().map(|step| operation(step)).collect();
    let view = match end {
        End::Committed(number) => number - 1,
        _ => 0,
    };
    Transaction { name: name.to_owned(), began: 0, ended: 100, view, operations, end }
}

fn operation(step: &str) -> Operation {
    let words: Vec<&str> = step.split(' ').collect();
    let version = |text: &str| Version(text.parse().unwrap());
    let key = words[1].to_owned();
    match words[0] {
        "r" if words[2] == "-" => Operation::Read { key, saw: None },
        "r" => Operation::Read { key, saw: Some(version(words[2])) },
        "w" => Operation::Write { key, version: version(words[2]), deletes: false },
        "d" => Operation::Write { key, version: version(words[2]), deletes: true },
        _ => {
            let (from, to) = key.split_once("..").unwrap();
            let saw = words[2..].iter().map(|pair| pair.split_once('=').unwrap());
            let saw = saw.map(|(key, saw)| (key.to_owned(), version(saw))).collect();
            Operation::Scan { span: Span::closed(from, to), saw }
        }
    }
}

fn committed(number: u64, steps: &[&str]) -> Transaction {
    transaction(&format!("T{number}"), End::Committed(number), steps)
}

fn reader(view: u64, steps: &[&str]) -> Transaction {
    Transaction { view, ..transaction("R", End::Unchanged, steps) }
}

fn history(transactions: &[Transaction]) -> History {
    History { transactions: transactions.to_vec() }
}

fn joined(some: &[Transaction], more: &[Transaction]) -> Vec<Transaction> {
    [some, more].concat()
}

#[track_caller]
fn good(transactions: &[Transaction]) {
    assert_eq!(check(&history(transactions), Order::Commits), []);
}

#[track_caller]
fn bad(transactions: &[Transaction], kind: Kind) {
    let found = check(&history(transactions), Order::Any);
    assert_eq!(found.iter().map(|a| a.kind).collect::<Vec<_>>(), [kind], "{found:?}");
}

#[test]
fn a_serial_history_is_good() {
    good(&[
        committed(1, &["r x -", "w x 1", "w y 2", "r x 1"]),
        committed(2, &["r x 1", "r y 2", "w x 3", "w x 4", "r x 4", "d y 5", "r y -"]),
        reader(2, &["r x 4", "r y -", "s a..z x=4"]),
        committed(3, &["w y 6", "s x..y x=4 y=6"]),
        transaction("A", End::Aborted, &["r x 4", "w x 7", "r x 7"]),
    ]);
}

#[test]
fn aborted_and_intermediate_reads() {
    let aborted = transaction("A", End::Aborted, &["w x 1"]);
    bad(&[aborted, reader(0, &["r x 1"])], AbortedRead);
    bad(&[committed(1, &["w x 1", "w x 2"]), reader(1, &["r x 1"])], IntermediateRead);
    // Also where the reader itself aborted.
    let reader = transaction("R", End::Aborted, &["r x 1"]);
    bad(&[committed(1, &["w x 1", "w x 2"]), reader], IntermediateRead);
}

#[test]
fn reads_of_what_nobody_wrote() {
    bad(&[committed(1, &["w x 1"]), reader(1, &["r x 9"])], NeverWritten);
    bad(&[committed(1, &["w x 1"]), reader(1, &["r y 1"])], NeverWritten);
    bad(&[committed(1, &["d x 1"]), reader(1, &["r x 1"])], NeverWritten);
}

#[test]
fn own_writes() {
    bad(&[committed(1, &["w x 1"]), committed(2, &["w x 2", "r x 1"])], OwnWrite);
    bad(&[committed(1, &["w x 1", "r x -"])], OwnWrite);
    bad(&[committed(1, &["w x 1"]), committed(2, &["d x 2", "s a..z x=1"])], OwnWrite);
    bad(&[committed(1, &["w x 1", "s a..z"])], OwnWrite);
}

#[test]
fn numbers_that_two_share() {
    bad(&[committed(1, &["w x 1"]), committed(1, &["w y 2"])], SharedNumber);
}

#[test]
fn dirty_writes() {
    // A transaction has one number, so the versions alone cannot be interleaved; real time tells.
    let mut first = committed(2, &["w x 1"]);
    let mut second = committed(1, &["w x 2"]);
    (first.ended, second.began) = (10, 20);
    let found = check(&history(&[first, second]), Order::RealTime);
    assert_eq!((found[0].kind, found[0].against), (DirtyWrite, Order::RealTime));
}

#[test]
fn circular_information_flow() {
    bad(
        &[committed(1, &["w x 1", "r y 2"]), committed(2, &["w y 2", "r x 1"])],
        CircularInformation,
    );
}

/// Who read a version and replaced it comes after its writer, whatever the numbers say.
#[test]
fn numbers_that_contradict_what_was_read() {
    bad(&[committed(2, &["w x 1"]), committed(1, &["r x 1", "w x 2"])], CircularInformation);
}

#[test]
fn lost_updates() {
    let start = committed(1, &["w x 1"]);
    let second = committed(2, &["r x 1", "w x 2"]);
    bad(&[start.clone(), second.clone(), committed(3, &["r x 1", "w x 3"])], LostUpdate);
    good(&[start, second, committed(3, &["r x 2", "w x 3"])]);
    bad(&[committed(1, &["r x -", "w x 1"]), committed(2, &["r x -", "w x 2"])], LostUpdate);
}

#[test]
fn read_skew() {
    let start = committed(1, &["w x 1", "w y 2"]);
    let second = committed(2, &["w x 3", "w y 4"]);
    bad(&[start.clone(), second.clone(), reader(1, &["r x 1", "r y 4"])], ReadSkew);
    bad(&[start.clone(), second.clone(), reader(1, &["r x 1", "r x 3"])], ReadSkew);
    // OTV: the third has seen the second and then the first.
    let third = committed(3, &["r x 3", "r y 2"]);
    bad(&[start.clone(), second.clone(), third], ReadSkew);
    // PMP: the same over a range.
    bad(&[start, committed(2, &["w z 5", "w x 3"]), reader(1, &["s y..z y=2", "r x 3"])], ReadSkew);
}

#[test]
fn write_skew() {
    let start = committed(1, &["w x 1", "w y 2"]);
    let two = [committed(2, &["r x 1", "r y 2", "w x 3"]), committed(3, &["r x 1", "w y 4"])];
    bad(&joined(slice::from_ref(&start), &two), WriteSkew);
    // Among three, of which one has written nothing (Fekete, O'Neil and O'Neil 2004).
    bad(
        &[
            start,
            committed(2, &["w y 3"]),
            committed(3, &["r x 1", "r y 2", "w x 4"]),
            reader(2, &["r x 1", "r y 3"]),
        ],
        WriteSkew,
    );
}

#[test]
fn phantoms() {
    // Each counts what is there and adds one.
    bad(&[committed(1, &["s a..z", "w b 1"]), committed(2, &["s a..z", "w c 2"])], Phantom);
    // Deleting takes from the range, too.
    let start = committed(1, &["w b 1", "w c 2"]);
    let deleting =
        [committed(2, &["s a..z b=1 c=2", "d b 3"]), committed(3, &["s a..z b=1 c=2", "d c 4"])];
    bad(&joined(slice::from_ref(&start), &deleting), Phantom);
    // A document that changes within the range is an item.
    let changing =
        [committed(2, &["s a..z b=1 c=2", "w b 3"]), committed(3, &["s a..z b=1 c=2", "w c 4"])];
    bad(&joined(slice::from_ref(&start), &changing), WriteSkew);
    // What is outside of the range is nobody's business.
    good(&[committed(1, &["s a..b", "w c 1"]), committed(2, &["s d..e", "w b 2", "r c 1"])]);
    let narrow = [committed(2, &["s a..b b=1", "w c 5"]), reader(2, &["s b..c b=1 c=5"])];
    good(&joined(slice::from_ref(&start), &narrow));
}

#[test]
fn nothing_there_is_explained_by_whatever_deletion_fits() {
    let all = [
        committed(1, &["w x 1"]),
        committed(2, &["d x 2"]),
        committed(3, &["w x 3"]),
        committed(4, &["d x 4"]),
        committed(5, &["d x 5"]),
    ];
    for view in [0, 2, 4, 5] {
        good(&joined(&all, &[reader(view, &["r x -"])]));
    }
    good(&joined(&all, &[committed(6, &["r x -", "w x 6"])]));
    // Whoever knows of somebody who saw the deletion cannot see what was there before.
    let stale = [committed(6, &["r x -", "w y 6"]), committed(7, &["r y 6", "r x 3"])];
    bad(&joined(&all, &stale), ReadSkew);
}

#[test]
fn real_time() {
    let mut start = committed(1, &["w x 1"]);
    let mut second = committed(2, &["w x 2"]);
    let mut stale = reader(1, &["r x 1"]);
    (start.ended, second.began, second.ended, stale.began) = (10, 20, 30, 40);
    let all = history(&[start.clone(), second.clone(), stale.clone()]);
    assert_eq!(check(&all, Order::Any), []);
    let found = check(&all, Order::RealTime);
    assert_eq!((found[0].kind, found[0].against), (ReadSkew, Order::RealTime));
    assert_eq!(
        found[0].to_string(),
        "G-single (read skew) in real time: T2 replaced x that R had seen; R began after T2 had \
         ended"
    );
    // Overlapping ones may come in either order.
    stale.began = 25;
    assert_eq!(check(&history(&[start, second, stale]), Order::RealTime), []);
}

#[test]
fn the_order_of_commits() {
    // Serializable as 2, 1, and nobody can tell by the clock.
    let all = [committed(1, &["w x 1"]), committed(2, &["r x -", "w y 2"])];
    assert_eq!(check(&history(&all), Order::RealTime), []);
    let found = check(&history(&all), Order::Commits);
    assert_eq!((found[0].kind, found[0].against), (ReadSkew, Order::Commits));
    // No data is involved, only the clock.
    let mut late = all;
    (late[0].began, late[1].ended, late[1].operations) = (20, 10, Vec::new());
    let found = check(&history(&late), Order::Commits);
    assert_eq!((found[0].kind, found[0].against), (WrongNumber, Order::Commits));
}

#[test]
fn what_nobody_told() {
    let unknown = |number| transaction("U", End::Unknown(number), &["r y -", "w x 1"]);
    good(&[unknown(None), reader(0, &["r x -"])]);
    good(&[unknown(Some(1)), reader(1, &["r x 1"])]);
    good(&[unknown(None), reader(1, &["r x 1"])]);
    let skew = [unknown(Some(1)), committed(2, &["r x -", "w y 2"])];
    bad(&skew, WriteSkew);
}

#[test]
fn each_circle_is_reported_once_by_its_gravest_cycle() {
    let skew =
        |n: u64, a: &str, b: &str| [committed(n, &[a, "w a 1"]), committed(n + 1, &[b, "w b 2"])];
    let lost = [committed(5, &["r q -", "w q 8"]), committed(6, &["r q -", "w q 9"])];
    let all = joined(&skew(1, "r b -", "r a -"), &lost);
    let found = check(&history(&all), Order::Any);
    assert_eq!(found.iter().map(|a| a.kind).collect::<Vec<_>>(), [WriteSkew, LostUpdate]);
}
