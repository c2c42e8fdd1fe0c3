//! Variables that are used before anything has been extracted into them: on every way that a mix
//! can take, a use must come after an extraction.

use super::mistakes::Book;
use super::template::Event;
use crate::plan::{Load, Mix, Variable};

/// The ways through the operations that a user can take.
struct Ways {
    /// The operation of each place.
    places: Vec<usize>,
    /// Places that can be the first.
    first: Vec<usize>,
    /// From place to place.
    steps: Vec<(usize, usize)>,
}

/// Notes each use that may come too early. `trails` has what each operation does, in its order.
pub(super) fn check(
    book: &Book<'_>,
    trails: &[Vec<Event>],
    variables: &[Variable],
    (load, mix): (&Load, &Mix),
) {
    let known: Vec<bool> = variables.iter().map(|variable| variable.initial.is_some()).collect();
    let ways = Ways::of(load, mix, trails.len());
    let sets = |operation: usize, before: &[bool]| {
        let mut after = before.to_vec();
        for event in trails[operation].iter().filter(|event| event.is_set) {
            after[event.variable] = true;
        }
        after
    };
    // What is set on every way to a place; it only ever loses, so this ends.
    let mut before: Vec<Vec<bool>> = vec![vec![true; known.len()]; ways.places.len()];
    for first in &ways.first {
        before[*first].clone_from(&known);
    }
    loop {
        let mut moved = false;
        for (from, to) in &ways.steps {
            let after = sets(ways.places[*from], &before[*from]);
            for (was, is) in before[*to].iter_mut().zip(after) {
                moved |= *was && !is;
                *was &= is;
            }
        }
        if !moved {
            break;
        }
    }
    for (place, operation) in ways.places.iter().enumerate() {
        let mut has = before[place].clone();
        for event in &trails[*operation] {
            if event.is_set {
                has[event.variable] = true;
            } else if !has[event.variable] {
                book.wrong(&event.span, too_early(&variables[event.variable].name));
            }
        }
    }
}

fn too_early(name: &str) -> String {
    format!(
        "`{{{name}}}` is used here before it is extracted: extract it in an earlier step, or give \
         it a first value in [variables]"
    )
}

impl Ways {
    fn of(load: &Load, mix: &Mix, operations: usize) -> Self {
        let all: Vec<usize> = (0..operations).collect();
        // Of the open model, anybody who is free performs the next operation.
        let ways = match mix {
            _ if load.is_open() => return Self::any(all),
            Mix::Flat(_) => return Self::any(all),
            Mix::Markov(rows) => {
                let leads = |from: usize| {
                    let row = rows[from].iter().enumerate();
                    row.filter(|(_, weight)| **weight > 0.0).map(move |(to, _)| (from, to))
                };
                let steps = all.iter().flat_map(|from| leads(*from)).collect();
                Self { places: all, first: vec![0], steps }
            }
            Mix::Sequence(sequence) => Self::round(&[sequence]),
            Mix::Sequences(sequences) => {
                let sequences: Vec<&Vec<usize>> = sequences.iter().map(|(_, of)| of).collect();
                Self::round(&sequences)
            }
        };
        ways.with_others(operations)
    }

    /// Every operation can be the first.
    fn any(places: Vec<usize>) -> Self {
        let first = (0..places.len()).collect();
        Self { places, first, steps: Vec::new() }
    }

    /// Sequences, one of them after another.
    fn round(sequences: &[&Vec<usize>]) -> Self {
        let mut ways = Self { places: Vec::new(), first: Vec::new(), steps: Vec::new() };
        let mut ends = Vec::new();
        for sequence in sequences {
            let begin = ways.places.len();
            ways.places.extend(sequence.iter());
            ways.first.push(begin);
            ends.push(ways.places.len() - 1);
            ways.steps.extend((begin..ways.places.len() - 1).map(|place| (place, place + 1)));
        }
        if let [first] = ways.first.as_slice() {
            ways.steps.push((ends[0], *first));
        }
        ways
    }

    /// What is beside the mix is performed by users who do nothing else.
    fn with_others(mut self, operations: usize) -> Self {
        let reached = |operation: &usize| {
            self.places.iter().enumerate().any(|(place, at)| {
                let is_led_to = self.steps.iter().any(|(from, to)| *to == place && *from != place);
                at == operation && (self.first.contains(&place) || is_led_to)
            })
        };
        let others: Vec<usize> = (0..operations).filter(|operation| !reached(operation)).collect();
        for operation in others {
            self.first.push(self.places.len());
            self.places.push(operation);
        }
        self
    }
}
