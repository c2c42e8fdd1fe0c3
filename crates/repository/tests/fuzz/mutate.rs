//! Inputs made from seeds, the same at every run, and the short run of a target on them.

use crate::target::Target;

/// Pieces that the grammars of the targets are made of.
const WORDS: &[&[u8]] = &[
    b"\xff",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\u0000",
    b"\\ud83d",
    b"null",
    b"true",
    b"1e308",
    b"-0",
    b"/",
    b"/0",
    b"~1",
    b"~0",
    b"\"a\":1",
    b"\"paths\":",
    b"\"each\":true",
    b"\0",
    b"\0\x01",
    b"\0\x02",
    b"\x01\0\0\0",
];

/// Most bytes of an input.
const INPUT_BYTES_MAX: usize = 400;

/// Gives the target of this name its seeds and then `inputs` mutations.
pub fn smoke(targets: impl IntoIterator<Item = &'static Target>, name: &str, inputs: usize) {
    let target = targets.into_iter().find(|target| target.name == name);
    let Some(Target { run, seeds, .. }) = target else { panic!("there is no target {name}") };
    let mut mutator = Mutator::new(seeds);
    let seeds = seeds.iter().map(|seed| seed.to_vec());
    for input in seeds.chain((0..inputs).map(|_| mutator.next())) {
        let shown = input.escape_ascii().to_string();
        if let Err(panic) = std::panic::catch_unwind(|| run(&input)) {
            eprintln!("the input of {name}: b\"{shown}\"");
            std::panic::resume_unwind(panic);
        }
    }
}

struct Mutator {
    /// Seeds, and what became of them.
    pool: Vec<Vec<u8>>,
    state: u64,
}

impl Mutator {
    fn new(seeds: &[&[u8]]) -> Self {
        Self { pool: seeds.iter().map(|seed| seed.to_vec()).collect(), state: 0x5eed }
    }

    /// The next input: one from the pool with one to four mutations.
    fn next(&mut self) -> Vec<u8> {
        let from = self.below(self.pool.len());
        let mut input = self.pool[from].clone();
        for _ in 0..=self.below(4) {
            self.mutate(&mut input);
        }
        input.truncate(INPUT_BYTES_MAX);
        // A quarter is kept, in the place of another but never of the first, to be mutated again.
        if self.pool.len() < 256 {
            self.pool.push(input.clone());
        } else if self.below(4) == 0 {
            let place = 64 + self.below(self.pool.len() - 64);
            self.pool[place].clone_from(&input);
        }
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = at + self.below((input.len() - at).min(8) + 1);
        match self.below(6) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.below(256) as u8,
            2 => drop(input.drain(at..end)),
            3 => {
                let copy = input[at..end].to_vec();
                let to = self.below(input.len() + 1);
                input.splice(to..to, copy);
            }
            4 => {
                let other = self.below(self.pool.len());
                let from = self.below(self.pool[other].len() + 1);
                input.truncate(at);
                input.extend_from_slice(&self.pool[other][from..]);
            }
            _ => {
                let word = WORDS[self.below(WORDS.len())];
                input.splice(at..at, word.iter().copied());
            }
        }
    }

    /// A number from 0 to `limit` - 1; xorshift64*.
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) as usize % limit
    }
}
