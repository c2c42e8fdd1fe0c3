//! What a user has in mind: the numbers that an operation is drawn with, its rows of data files,
//! and what it took of replies. All that is drawn hangs on the seed, the user's number and the
//! operation's, never on what a server answered.

use super::fill::{Fill, Place};
use super::prepared::Prepared;
use super::variables::Variables;
use crate::entries::Which;
use crate::plan::{Keys, Order, Plan, Turn, Zipf};
use crate::random::Random;

/// Numbers that an operation draws before its first step.
#[derive(Clone, Copy)]
struct Draw {
    key: u64,
    other: u64,
    nonce: u64,
}

/// So often another key is drawn before the next one is taken: a law may be so skewed that nearly
/// all draws are the same.
const OTHER_TRIES: usize = 32;

impl Draw {
    /// `key` and `other` are two of the keys; if there is one only, they are the same. Without
    /// skew every pair is as likely as any.
    fn new(random: &mut Random, keys: &Zipf) -> Self {
        let (key, nonce) = (keys.draw(random), random.number());
        let count = keys.count().max(1);
        let mut other = key;
        if keys.exponent() == 0.0 {
            let distance = if count > 1 { 1 + nonce % (count - 1) } else { 0 };
            other = (key + distance) % count;
        } else if count > 1 {
            other = (0..OTHER_TRIES)
                .map(|_| keys.draw(random))
                .find(|other| *other != key)
                .unwrap_or((key + 1) % count);
        }
        Self { key, other, nonce }
    }
}

/// See above.
pub(crate) struct Mind {
    /// The user's.
    number: u64,
    /// How many users there are.
    users: u64,
    keys: Zipf,
    /// One number for each operation.
    seeds: Random,
    /// What is filled in and how long pauses are.
    pub(crate) content: Random,
    /// Which of several values is taken. Apart, for how many there are hangs on the reply.
    pub(crate) picks: Random,
    draw: Draw,
    pub(crate) variables: Variables,
    /// By data file: the row of this operation.
    rows: Vec<usize>,
    /// By data file: how many operations have taken one.
    taken: Vec<u64>,
    /// The number of the arrival in the open model.
    arrival: Option<u64>,
    /// Operations begun.
    iterations: u64,
}

impl Mind {
    /// Of the user of this number.
    pub(crate) fn new(plan: &Plan, number: usize) -> Self {
        let mut seeds = Random::of_stream(plan.seed, number as u64, 1);
        let (mut content, picks) = (seeds.split(), seeds.split());
        let Keys { count, zipf } = plan.keys;
        let keys = Zipf::new(count, zipf);
        let mut mind = Self {
            number: number as u64,
            users: plan.load.users_max() as u64,
            draw: Draw::new(&mut content, &keys),
            keys,
            seeds,
            content,
            picks,
            variables: Variables::new(plan.variables.len()),
            rows: vec![0; plan.data.len()],
            taken: vec![0; plan.data.len()],
            arrival: None,
            iterations: 0,
        };
        (0..plan.data.len()).for_each(|file| mind.deal(plan, file));
        mind.begin_variables(plan);
        mind
    }

    /// Those that have a value from the beginning. One that needs another which has none has none
    /// either.
    fn begin_variables(&mut self, plan: &Plan) {
        let mut value = Vec::new();
        for (number, variable) in plan.variables.iter().enumerate() {
            let Some(initial) = &variable.initial else { continue };
            value.clear();
            let mut fill = self.fill(plan);
            fill.render(initial, &mut value);
            if fill.fault.is_none() {
                self.variables.set(number, &value);
            }
        }
    }

    /// Takes an arrival of the open model: what it draws goes by the number of that, not by who
    /// happened to be free.
    pub(crate) fn arrive(&mut self, plan: &Plan, number: u64) {
        self.seeds = Random::of_stream(plan.seed, number, 1);
        self.arrival = Some(number);
        self.iterations = number;
    }

    /// Draws all that an operation needs before its first step.
    pub(crate) fn begin(&mut self, plan: &Plan, prepared: &Prepared, operation: usize) {
        self.content = self.seeds.split();
        self.picks = self.seeds.split();
        self.draw = Draw::new(&mut self.content, &self.keys);
        for file in &prepared.operations[operation].data {
            self.deal(plan, *file);
            self.taken[*file] += 1;
        }
        self.iterations += 1;
    }

    fn deal(&mut self, plan: &Plan, file: usize) {
        let data = &plan.data[file];
        let count = data.rows.count() as u64;
        let row = match data.order {
            Order::Next => match self.arrival {
                None => self.number.wrapping_add(self.taken[file].wrapping_mul(self.users)) % count,
                Some(arrival) => arrival % count,
            },
            Order::Random => self.content.below(count),
            Order::ByUser => self.number % count,
        };
        self.rows[file] = row as usize;
    }

    /// How many operations it has begun.
    pub(crate) fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Which of so many comes next in this operation.
    pub(crate) fn turn(&mut self, plan: &Plan, turn: Turn, count: usize) -> usize {
        let (count, before) = (count as u64, self.iterations.saturating_sub(1));
        let chosen = match turn {
            Turn::FromFirst => before % count,
            Turn::FromOwn => (self.number * count / self.users.max(1) + before) % count,
            Turn::Any => self.content.below(count),
            Turn::OfRow(file) => {
                let cell = plan.data[file].rows.cell(self.rows[file], 0);
                let number = std::str::from_utf8(cell).ok().and_then(|text| text.parse().ok());
                number.unwrap_or(0).min(count - 1)
            }
        };
        chosen as usize
    }

    /// Which entry this operation makes: in the open model all are one worker's, for who takes an
    /// arrival is chance.
    pub(crate) fn which(&self, plan: &Plan) -> Which {
        let worker = if self.arrival.is_some() { 0 } else { self.number };
        Which {
            seed: plan.seed,
            worker: plan.entries.first_worker + worker,
            number: self.iterations.saturating_sub(1),
        }
    }

    /// What templates are filled in from.
    pub(crate) fn fill<'a>(&'a mut self, plan: &'a Plan) -> Fill<'a> {
        let which = self.which(plan);
        Fill {
            key: self.draw.key,
            other: self.draw.other,
            nonce: self.draw.nonce,
            user: self.number,
            iteration: self.iterations.saturating_sub(1),
            random: &mut self.content,
            entries: &plan.entries,
            which,
            variables: &self.variables,
            data: &plan.data,
            rows: &self.rows,
            place: Place::Body,
            fault: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_begin_where_they_should() {
        let mut plan = Plan::hit("http://a/".parse().unwrap());
        plan.load = crate::plan::Load::Closed {
            users: vec![crate::plan::Stage::flat(2.0, std::time::Duration::from_secs(1))],
        };
        let prepared = Prepared::new(&plan);
        let turns = |user: usize, turn: Turn| -> Vec<usize> {
            let mut mind = Mind::new(&plan, user);
            let mut next = || {
                mind.begin(&plan, &prepared, 0);
                mind.turn(&plan, turn, 4)
            };
            (0..200).map(|_| next()).collect()
        };
        assert_eq!(turns(1, Turn::FromFirst)[..5], [0, 1, 2, 3, 0]);
        assert_eq!(turns(0, Turn::FromOwn)[..5], [0, 1, 2, 3, 0]);
        assert_eq!(turns(1, Turn::FromOwn)[..5], [2, 3, 0, 1, 2]);
        let any = turns(1, Turn::Any);
        assert_eq!(any, turns(1, Turn::Any));
        assert!((0..4).all(|one| any.iter().filter(|turn| **turn == one).count() > 25), "{any:?}");
    }

    #[test]
    fn another_key_is_never_the_same_one() {
        let mut random = Random::of_user(1, 2);
        let keys = Zipf::new(3, 0.0);
        let draws: Vec<Draw> = (0..10_000).map(|_| Draw::new(&mut random, &keys)).collect();
        for key in 0..3 {
            for other in (0..3).filter(|other| *other != key) {
                let found = draws.iter().filter(|d| d.key == key && d.other == other).count();
                assert!((1_400..1_950).contains(&found), "{key} and {other}: {found}");
            }
        }
        assert!(draws.iter().all(|d| d.key != d.other && d.other < 3));
        for exponent in [0.0, 1.5] {
            assert_eq!(Draw::new(&mut random, &Zipf::new(1, exponent)).other, 0);
        }
        let skewed = Zipf::new(1000, 1.5);
        let draws: Vec<Draw> = (0..10_000).map(|_| Draw::new(&mut random, &skewed)).collect();
        assert!(draws.iter().all(|d| d.key != d.other && d.other < 1000));
        assert!(draws.iter().filter(|d| d.key == 0).count() > 3_000);
    }
}
