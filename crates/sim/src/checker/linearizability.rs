//! Is there a moment between the call and the return of each operation at which it can have taken
//! effect, so that all of them together explain what was returned?
//!
//! Linearizability is local (Herlihy and Wing, TOPLAS 1990): each key is checked by itself. The
//! search is that of Wing and Gong (*Testing and Verifying Concurrent Objects*, JPDC 1993) in
//! Lowe's form (*Testing for Linearizability*, CCPE 2017): operations take effect just in time,
//! when one of them returns, and what was reached once is not searched again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What an operation does with the number of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Replaces it.
    Put(i64),
    /// Adds to it; nothing there counts as 0.
    Add(i64),
    /// Removes it.
    Delete,
    /// Reads it, and this was returned.
    Get(Option<i64>),
}

impl Action {
    /// What is there afterwards, or `None` if the action cannot have happened here.
    fn apply(self, state: Option<i64>) -> Option<Option<i64>> {
        match self {
            Self::Put(value) => Some(Some(value)),
            Self::Add(delta) => Some(Some(state.unwrap_or(0) + delta)),
            Self::Delete => Some(None),
            Self::Get(seen) => (seen == state).then_some(state),
        }
    }
}

/// One operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// On which key.
    pub key: String,
    /// What it did.
    pub action: Action,
    /// An instant before it was called, on a clock that all operations share.
    pub called: u64,
    /// An instant after it had returned; `None` if nobody knows whether it took effect. Then it may
    /// do so at any later moment, or never.
    pub returned: Option<u64>,
}

/// An operation that no order explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// Its place in the list that was checked.
    pub operation: usize,
    /// What happened, for a person.
    pub story: String,
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.story)
    }
}

/// Checks all keys, which hold nothing at first. The first operation of each key that cannot be
/// explained.
pub fn check(operations: &[Operation]) -> Vec<Unexplained> {
    let mut keys: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, operation) in operations.iter().enumerate() {
        keys.entry(&operation.key).or_default().push(index);
    }
    keys.values().filter_map(|of_key| check_key(operations, of_key).err()).collect()
}

/// One way in which things can have gone until now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Course {
    state: Option<i64>,
    /// Which operations that have not returned have taken effect already.
    ahead: BTreeSet<usize>,
}

fn check_key(operations: &[Operation], of_key: &[usize]) -> Result<(), Unexplained> {
    let mut instants = Vec::new();
    for &index in of_key {
        // Of two at the same instant, the call comes first: that allows more.
        instants.push((operations[index].called, false, index));
        instants.extend(operations[index].returned.map(|returned| (returned, true, index)));
    }
    instants.sort_unstable();
    let mut open = BTreeSet::new();
    let mut courses = BTreeSet::from([Course { state: None, ahead: BTreeSet::new() }]);
    for (_, is_return, index) in instants {
        if !is_return {
            open.insert(index);
            continue;
        }
        let after = courses_through(operations, &open, &courses, index);
        if after.is_empty() {
            let story = tell(operations, &open, &courses, index);
            return Err(Unexplained { operation: index, story });
        }
        courses = after;
        open.remove(&index);
    }
    Ok(())
}

/// The courses in which the operation at `index` has taken effect: as late as possible, with just
/// what had to take effect before it.
fn courses_through(
    operations: &[Operation],
    open: &BTreeSet<usize>,
    courses: &BTreeSet<Course>,
    index: usize,
) -> BTreeSet<Course> {
    let mut reached = courses.clone();
    let mut unexplored: Vec<Course> = courses.iter().cloned().collect();
    let mut through = BTreeSet::new();
    while let Some(mut course) = unexplored.pop() {
        if course.ahead.remove(&index) {
            through.insert(course);
            continue;
        }
        for &next in open.difference(&course.ahead) {
            let Some(state) = operations[next].action.apply(course.state) else { continue };
            let mut ahead = course.ahead.clone();
            ahead.insert(next);
            let course = Course { state, ahead };
            if reached.insert(course.clone()) {
                unexplored.push(course);
            }
        }
    }
    through
}

fn tell(
    operations: &[Operation],
    open: &BTreeSet<usize>,
    courses: &BTreeSet<Course>,
    index: usize,
) -> String {
    let Operation { key, action, called, .. } = &operations[index];
    let states: BTreeSet<_> = courses.iter().map(|course| course.state).collect();
    let others: Vec<_> =
        open.iter().filter(|&&i| i != index).map(|&i| operations[i].action).collect();
    format!(
        "{action:?} of {key}, called at {called}, cannot be explained: before it there was one of \
         {states:?}, and meanwhile there were only {others:?}"
    )
}

#[cfg(test)]
mod tests {
    use super::Action::{Add, Delete, Get, Put};
    use super::*;

    fn operation(called: u64, returned: u64, action: Action) -> Operation {
        Operation { key: "x".to_owned(), action, called, returned: Some(returned) }
    }

    fn unknown(called: u64, action: Action) -> Operation {
        Operation { key: "x".to_owned(), action, called, returned: None }
    }

    #[track_caller]
    fn good(operations: &[Operation]) {
        assert_eq!(check(operations), []);
    }

    #[track_caller]
    fn bad(operations: &[Operation], at: usize) {
        let found = check(operations);
        assert_eq!(found.iter().map(|f| f.operation).collect::<Vec<_>>(), [at], "{found:?}");
    }

    #[test]
    fn one_after_another_each_sees_what_the_one_before_left() {
        let all = [
            operation(0, 1, Get(None)),
            operation(2, 3, Put(5)),
            operation(4, 5, Add(-2)),
            operation(6, 7, Get(Some(3))),
            operation(8, 9, Delete),
            operation(10, 11, Get(None)),
            operation(12, 13, Add(4)),
            operation(14, 15, Get(Some(4))),
        ];
        good(&all);
        bad(&all[..6].iter().chain(&all[7..]).cloned().collect::<Vec<_>>(), 6);
    }

    #[test]
    fn what_overlaps_may_take_effect_in_either_order() {
        for first in [1, 2] {
            good(&[
                operation(0, 10, Put(1)),
                operation(0, 10, Put(2)),
                operation(2, 4, Get(Some(first))),
                operation(5, 7, Get(Some(3 - first))),
            ]);
        }
    }

    #[test]
    fn a_stale_read_is_found() {
        bad(
            &[
                operation(0, 1, Put(1)),
                operation(2, 3, Put(2)),
                operation(4, 5, Get(Some(1))),
                operation(6, 7, Get(Some(1))),
            ],
            2,
        );
    }

    #[test]
    fn what_was_seen_once_cannot_be_unseen() {
        bad(
            &[
                operation(0, 1, Put(1)),
                operation(2, 10, Put(2)),
                operation(3, 4, Get(Some(2))),
                operation(5, 6, Get(Some(1))),
            ],
            3,
        );
    }

    #[test]
    fn a_lost_add_is_found() {
        let adds = [operation(0, 3, Add(1)), operation(1, 4, Add(1))];
        good(&[&adds[..], &[operation(5, 6, Get(Some(2)))]].concat());
        bad(&[&adds[..], &[operation(5, 6, Get(Some(1)))]].concat(), 2);
    }

    #[test]
    fn what_nobody_told_may_take_effect_late_or_never() {
        let start = [operation(0, 1, Put(1)), unknown(2, Put(2))];
        let get = |at, seen| operation(at, at + 1, Get(Some(seen)));
        good(&[&start[..], &[get(4, 1), get(6, 1), get(8, 2)]].concat());
        good(&[&start[..], &[get(4, 2), get(6, 2)]].concat());
        good(&[&start[..], &[get(4, 1)]].concat());
        bad(&[&start[..], &[get(4, 2), get(6, 1)]].concat(), 3);
        bad(&[unknown(5, Put(2)), get(1, 2)], 1);
    }

    #[test]
    fn keys_are_checked_by_themselves() {
        let mut other = operation(2, 3, Get(None));
        other.key = "y".to_owned();
        good(&[operation(0, 1, Put(1)), other.clone(), operation(4, 5, Get(Some(1)))]);
        other.action = Get(Some(1));
        bad(&[operation(0, 1, Put(1)), other], 1);
    }

    #[test]
    fn many_that_overlap_are_checked_without_trying_each_order_anew() {
        let mut all: Vec<_> = (0..12).map(|i| operation(i, 100 + i, Add(1))).collect();
        all.push(operation(50, 60, Get(Some(7))));
        all.push(operation(200, 201, Get(Some(12))));
        good(&all);
        all.push(operation(202, 203, Get(Some(11))));
        bad(&all, 14);
    }
}
