//! Secondary indexes: what they hold, own writes, conflicts in them, and unique values.

use crate::harness::indexes::{
    BY_N, UNIQUE_N, add, configured, delete, find, find_all, must_commit, number, numbers, refused,
    stage,
};
use crate::harness::{
    self, Place, close_and_verify, configure, key, notes, put, verified, wait_built,
};
use repository::{
    Direction, IndexRange, IndexValue, Isolation, MediaType, Outcome, Timestamp, Transaction,
};
use std::ops::Bound::{Excluded, Unbounded};

use Direction::{Ascending, Descending};

#[test]
fn values_are_found_by_kind_and_in_order() {
    let place = Place::new();
    let repository = place.open_only();
    let settings = r#"{"indexes":[
        {"name":"any","paths":[{"path":"/v"}]},
        {"name":"numbers","paths":[{"path":"/v","kind":"number"}]},
        {"name":"texts","paths":[{"path":"/v","kind":"text"}]},
        {"name":"tags","paths":[{"path":"/t","each":true}]},
        {"name":"two","paths":[{"path":"/t","each":true},{"path":"/v","kind":"number"}]}]}"#;
    configure(&repository, "notes", settings);
    wait_built(&repository);
    for (at, body) in [
        ("a", r#"{"v":null}"#),
        ("b", r#"{"v":true}"#),
        ("c", r#"{"v":-2.5,"t":["x","y","x"]}"#),
        ("d", r#"{"v":10,"t":["y"]}"#),
        ("e", r#"{"v":9,"t":"y"}"#),
        ("f", r#"{"v":"zebra"}"#),
        ("g", r#"{"v":"ant"}"#),
        ("h", r#"{"v":{"w":1}}"#),
        ("i", "[1]"),
    ] {
        stage(&repository, at, body);
    }
    let text = |value: &str| IndexValue::Text(value.to_owned());
    let mut view = repository.begin().unwrap();
    let mut find = |index, range: &IndexRange, direction, limit| {
        find(&mut view, index, range, direction, limit)
    };
    let all = IndexRange::all();
    assert_eq!(find("any", &all, Ascending, 99), "a b c e d g f");
    assert_eq!(find("any", &all, Descending, 3), "f g d");
    assert_eq!(find("numbers", &all, Descending, 99), "d e c");
    assert_eq!(find("texts", &all, Ascending, 1), "g");
    assert_eq!(find("numbers", &numbers(-3.0, 10.0), Ascending, 99), "c e");
    assert_eq!(find("tags", &all, Ascending, 99), "c c d e", "once for each value");
    assert_eq!(find("tags", &IndexRange::equal(vec![text("y")]), Descending, 99), "e d c");
    let of_y = |from, to| IndexRange { equal: vec![text("y")], from, to };
    assert_eq!(find("two", &of_y(Excluded(number(-2.5)), Unbounded), Ascending, 99), "e d");
    assert_eq!(find("two", &of_y(Unbounded, Excluded(number(10.0))), Descending, 99), "e c");
    drop(view);
    assert_eq!(close_and_verify(&place, repository), 9);
}

#[test]
fn rows_follow_documents() {
    let mut bench = configured(BY_N);
    for (at, n) in [("a", 1), ("b", 2), ("c", 3)] {
        stage(bench.repository(), at, &format!(r#"{{"n":{n}}}"#));
    }
    bench.checkpoint().unwrap();
    bench.evict();
    let repository = bench.repository();
    stage(repository, "a", r#"{"n":4}"#);
    assert_eq!(find_all(repository, "by_n"), "b c a");
    delete(repository, "b");
    assert_eq!(find_all(repository, "by_n"), "c a");
    let mut merging = repository.begin().unwrap();
    merging.merge(&notes(), &key("c"), add("/n", 7.0)).unwrap();
    merging.merge(&notes(), &key("d"), add("/n", 5.0)).unwrap();
    assert_eq!(find(&mut merging, "by_n", &numbers(4.0, 99.0), Ascending, 9), "a d c", "own ones");
    must_commit(merging);
    assert_eq!(find_all(repository, "by_n"), "a d c");
    let mut expiring = repository.begin().unwrap();
    let (body, at) = (bytes::Bytes::from(r#"{"n":0}"#), Some(Timestamp(bench.now() + 5)));
    expiring.put(&notes(), &key("e"), MediaType::Json, body, at).unwrap();
    must_commit(expiring);
    assert_eq!(find_all(repository, "by_n"), "e a d c");
    bench.move_clock(5);
    assert_eq!(find_all(repository, "by_n"), "a d c", "at once");
    bench.move_clock(1);
    bench.reap();
    assert_eq!(bench.repository().stats().reaped, 1);
    bench.crash(true);
    assert_eq!(find_all(bench.repository(), "by_n"), "a d c");
    bench.checkpoint().unwrap();
    bench.crash(true);
    assert_eq!(find_all(bench.repository(), "by_n"), "a d c");
    assert_eq!(verified(&bench.stop()), 3);
}

#[test]
fn own_writes_are_found() {
    let bench = configured(BY_N);
    for i in 0..40 {
        stage(bench.repository(), &format!("{i:02}"), &format!(r#"{{"n":{i}}}"#));
    }
    bench.checkpoint().unwrap();
    bench.evict();
    let mut own = bench.repository().begin().unwrap();
    put(&mut own, "10", r#"{"n":20.5}"#);
    put(&mut own, "new", r#"{"n":21}"#);
    own.delete(&notes(), &key("21")).unwrap();
    own.merge(&notes(), &key("22"), add("/n", -30.0)).unwrap();
    let found = |own: &mut Transaction, direction, limit| {
        find(own, "by_n", &numbers(20.0, 24.0), direction, limit)
    };
    assert_eq!(found(&mut own, Ascending, 99), "20 10 new 23");
    assert_eq!(found(&mut own, Descending, 99), "23 new 10 20");
    assert_eq!(found(&mut own, Descending, 2), "23 new");
    assert_eq!(found(&mut own, Ascending, 3), "20 10 new");
    assert_eq!(find(&mut own, "by_n", &numbers(-99.0, 1.5), Ascending, 99), "22 00 01");
    must_commit(own);
    let mut after = bench.repository().begin().unwrap();
    assert_eq!(found(&mut after, Ascending, 99), "20 10 new 23");
    drop(after);
    verified(&bench.stop());
}

#[test]
fn phantoms_in_index_ranges_are_conflicts() {
    let bench = configured(BY_N);
    let repository = bench.repository();
    for (at, n) in [("a", 1), ("b", 5), ("c", 9)] {
        stage(repository, at, &format!(r#"{{"n":{n}}}"#));
    }
    let loses = |limit, others: &dyn Fn()| {
        bench.checkpoint().unwrap();
        bench.evict();
        let mut reader = repository.begin().unwrap();
        find(&mut reader, "by_n", &numbers(2.0, 8.0), Ascending, limit);
        put(&mut reader, "result", "0");
        others();
        match reader.commit().unwrap() {
            Outcome::Committed(_) => None,
            Outcome::Conflict(conflict) => Some(conflict.documents[0].key.to_string()),
            other => panic!("{other:?}"),
        }
    };
    let lost = |at: &str| Some(at.to_owned());
    assert_eq!(loses(9, &|| stage(repository, "d", r#"{"n":6}"#)), lost("d"), "it comes");
    assert_eq!(loses(9, &|| stage(repository, "d", r#"{"n":16}"#)), lost("d"), "it goes");
    assert_eq!(loses(9, &|| stage(repository, "d", r#"{"n":17}"#)), None, "it is elsewhere");
    assert_eq!(loses(9, &|| stage(repository, "b", r#"{"n":5,"m":1}"#)), lost("b"), "it was read");
    assert_eq!(loses(1, &|| stage(repository, "d", r#"{"n":7}"#)), None, "beyond the limit");
    assert_eq!(loses(9, &|| delete(repository, "b")), lost("b"));
    let merged = || {
        let mut merging = repository.begin().unwrap();
        merging.merge(&notes(), &key("a"), add("/n", 3.0)).unwrap();
        must_commit(merging);
    };
    assert_eq!(loses(9, &merged), lost("a"));
}

/// Where a merge operation leads depends on what others do, so reading an index over it is reading
/// the document.
#[test]
fn what_is_merged_may_come_into_a_range() {
    let bench = configured(BY_N);
    let repository = bench.repository();
    stage(repository, "a", r#"{"n":20}"#);
    let mut reader = repository.begin().unwrap();
    reader.merge(&notes(), &key("a"), add("/n", -10.0)).unwrap();
    assert_eq!(find(&mut reader, "by_n", &numbers(0.0, 5.0), Ascending, 9), "");
    put(&mut reader, "result", "0");
    let mut other = repository.begin().unwrap();
    other.merge(&notes(), &key("a"), add("/n", -8.0)).unwrap();
    must_commit(other);
    assert!(matches!(reader.commit().unwrap(), Outcome::Conflict(_)), "a is at 2 now");
}

#[test]
fn unique_values_are_had_once() {
    let bench = configured(UNIQUE_N);
    let repository = bench.repository();
    stage(repository, "a", r#"{"n":1}"#);
    stage(repository, "b", r#"{"n":2}"#);
    stage(repository, "c", r#"{"m":1}"#);
    stage(repository, "d", r#"{"m":1}"#);
    let refuses = |writes: &[(&str, &str)]| {
        let mut transaction = repository.begin().unwrap();
        writes.iter().for_each(|(at, body)| put(&mut transaction, at, body));
        refused(transaction.commit().unwrap())
    };
    let pair = |key: &str, holder: &str| (key.to_owned(), holder.to_owned());
    assert_eq!(refuses(&[("e", r#"{"n":2}"#)]), pair("e", "b"));
    assert_eq!(refuses(&[("a", r#"{"n":2}"#)]), pair("a", "b"));
    assert_eq!(refuses(&[("e", r#"{"n":7}"#), ("f", r#"{"n":7}"#)]), pair("f", "e"));
    assert_eq!(find_all(repository, "by_n"), "a b", "nothing came of it");
    let mut swap = repository.begin().unwrap();
    put(&mut swap, "a", r#"{"n":2}"#);
    put(&mut swap, "b", r#"{"n":1}"#);
    must_commit(swap);
    assert_eq!(find_all(repository, "by_n"), "b a");
    let mut moved = repository.begin().unwrap();
    moved.delete(&notes(), &key("a")).unwrap();
    put(&mut moved, "g", r#"{"n":2}"#);
    must_commit(moved);
    stage(repository, "b", r#"{"n":1,"m":2}"#);
    assert_eq!(find_all(repository, "by_n"), "b g");
    verified(&bench.stop());
}

#[test]
fn of_two_that_take_a_value_at_once_one_gets_it() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let bench = configured(UNIQUE_N);
        let repository = bench.repository();
        let mut both = ["a", "b"].map(|at| {
            let mut transaction = repository.begin().unwrap();
            transaction.set_isolation(isolation);
            put(&mut transaction, at, r#"{"n":1}"#);
            transaction
        });
        both.reverse();
        let [second, first] = both;
        must_commit(first);
        assert!(matches!(second.commit().unwrap(), Outcome::Conflict(_)));
        let mut again = repository.begin().unwrap();
        put(&mut again, "b", r#"{"n":1}"#);
        assert_eq!(refused(again.commit().unwrap()).1, "a");
    }
}

#[test]
fn threads_fight_for_unique_values_and_each_is_had_once() {
    const VALUES: u64 = 40;
    let place = Place::new();
    let repository = place.open_only();
    configure(&repository, "notes", UNIQUE_N);
    wait_built(&repository);
    let take = |thread: u64, n: u64| {
        let ran = repository.run(|transaction| {
            put(transaction, &format!("{thread}-{n}"), &format!(r#"{{"n":{n}}}"#));
            Ok::<_, std::convert::Infallible>(())
        });
        u64::from(ran.is_ok())
    };
    let won: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| scope.spawn(move || (0..VALUES).map(|n| take(thread, n)).sum::<u64>()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(won, VALUES);
    assert_eq!(find_all(&repository, "by_n").split(' ').count() as u64, VALUES);
    assert_eq!(close_and_verify(&place, repository), VALUES);
}

#[test]
fn an_expired_holder_frees_its_value() {
    let bench = configured(UNIQUE_N);
    let repository = bench.repository();
    let body = || bytes::Bytes::from(r#"{"n":1}"#);
    let mut brief = repository.begin().unwrap();
    let soon = Some(Timestamp(bench.now() + 5));
    brief.put(&notes(), &key("a"), MediaType::Json, body(), soon).unwrap();
    must_commit(brief);
    let mut early = repository.begin().unwrap();
    put(&mut early, "b", r#"{"n":1}"#);
    assert_eq!(refused(early.commit().unwrap()).1, "a");
    bench.move_clock(5);
    stage(repository, "b", r#"{"n":1}"#);
    let mut again = repository.begin().unwrap();
    put(&mut again, "a", r#"{"n":1}"#);
    assert_eq!(refused(again.commit().unwrap()).1, "b");
    bench.move_clock(1);
    bench.reap();
    assert_eq!(find_all(repository, "by_n"), "b");
    // It comes back while somebody takes its value.
    let mut brief = repository.begin().unwrap();
    let soon = Some(Timestamp(bench.now() + 5));
    let other = bytes::Bytes::from(r#"{"n":2}"#);
    brief.put(&notes(), &key("c"), MediaType::Json, other.clone(), soon).unwrap();
    must_commit(brief);
    bench.move_clock(5);
    let mut taker = repository.begin().unwrap();
    put(&mut taker, "d", r#"{"n":2}"#);
    let mut back = repository.begin().unwrap();
    back.put(&notes(), &key("c"), MediaType::Json, other, None).unwrap();
    must_commit(back);
    assert!(matches!(taker.commit().unwrap(), Outcome::Conflict(_)));
    verified(&bench.stop());
}

#[test]
fn merge_operations_on_unique_values_are_writes() {
    let bench = configured(UNIQUE_N);
    let repository = bench.repository();
    stage(repository, "a", r#"{"n":1}"#);
    stage(repository, "b", r#"{"n":2,"m":0}"#);
    let mut onto = repository.begin().unwrap();
    onto.merge(&notes(), &key("a"), add("/n", 1.0)).unwrap();
    assert_eq!(refused(onto.commit().unwrap()).1, "b");
    let mut both = [1.0, 2.0].map(|delta| {
        let mut transaction = repository.begin().unwrap();
        transaction.merge(&notes(), &key("a"), add("/n", delta * 4.0)).unwrap();
        transaction
    });
    both.reverse();
    let [second, first] = both;
    must_commit(first);
    assert!(matches!(second.commit().unwrap(), Outcome::Conflict(_)), "a known value only");
    let elsewhere = || {
        let mut transaction = repository.begin().unwrap();
        transaction.merge(&notes(), &key("b"), add("/m", 1.0)).unwrap();
        transaction
    };
    let (one, two) = (elsewhere(), elsewhere());
    must_commit(one);
    must_commit(two);
    assert_eq!(find_all(repository, "by_n"), "b a");
    verified(&bench.stop());
}

/// Neither of two merged changes has the pair of values that both together give.
#[test]
fn two_merged_changes_do_not_make_a_duplicate() {
    let bench = configured(
        r#"{"conflict":"merge","indexes":
           [{"name":"pair","paths":[{"path":"/a"},{"path":"/b"}],"unique":true}]}"#,
    );
    let repository = bench.repository();
    stage(repository, "x", r#"{"a":0,"b":0}"#);
    stage(repository, "y", r#"{"a":1,"b":1}"#);
    let mut both = [r#"{"a":1,"b":0}"#, r#"{"a":0,"b":1}"#].map(|body| {
        let mut transaction = repository.begin().unwrap();
        harness::get(&mut transaction, "x");
        put(&mut transaction, "x", body);
        transaction
    });
    both.reverse();
    let [second, first] = both;
    must_commit(first);
    assert!(matches!(second.commit().unwrap(), Outcome::Conflict(_)));
    verified(&bench.stop());
}
