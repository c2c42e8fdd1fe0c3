//! Atom entries and media that anybody can make again: from the run's seed, the worker and the
//! number of the operation come the same bytes (docs/lab.md, "Entries"). What is asked for is the
//! plan's; where it is sent, and what becomes of it, is not known here.

mod document;
mod media;
mod prose;
mod words;

pub(crate) use document::{MARK_NAMESPACE, Mark};

use crate::plan::{ContentKind, Entries, MadeKind, Size};
use crate::random::Random;
use std::io::Write;

/// The stream of a user's draws that entries come from; 0 to 2 are the engine's.
const STREAM: u64 = 3;

/// Which entry: of the run with this seed, the worker's with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Which {
    pub(crate) seed: u64,
    pub(crate) worker: u64,
    pub(crate) number: u64,
}

impl Which {
    /// What it is drawn from. Media have draws of their own, so that both may be of one operation.
    fn draws(self, is_media: bool) -> Random {
        let stream = STREAM + u64::from(is_media);
        let mut worker = Random::of_stream(self.seed, self.worker, stream);
        Random::of_user(worker.number(), self.number)
    }
}

impl Entries {
    /// Appends what is asked for.
    pub(crate) fn make(&self, kind: MadeKind, which: Which, out: &mut Vec<u8>) {
        match kind {
            MadeKind::Entry => document::write(self, which, out),
            MadeKind::Inside => document::write_inside(self, which, out),
            MadeKind::Media => {
                let mut random = which.draws(true);
                let kind = self.media_kind(&mut random);
                let size = self.media_bytes.draw(&mut random);
                media::write(kind, size, &mut random, out);
            }
            MadeKind::Type => {
                let kind = self.media_kind(&mut which.draws(true));
                out.extend_from_slice(kind.media_type().as_bytes());
            }
            MadeKind::Slug => {
                let Which { worker, number, .. } = which;
                let _a_vector_takes_all = write!(out, "w{worker}s{number}");
            }
        }
    }

    fn media_kind(&self, random: &mut Random) -> media::MediaKind {
        media::MediaKind::ALL[pick(&self.media_weights, random)]
    }

    fn content_kind(&self, random: &mut Random) -> ContentKind {
        ContentKind::ALL[pick(&self.content_weights, random)]
    }
}

impl Size {
    /// The next size in bytes.
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        match *self {
            Self::Fixed(bytes) => bytes,
            Self::Uniform(from, to) => from + random.below((to - from) as u64 + 1) as usize,
            Self::Normal { mean, sigma } => {
                let size = mean + sigma * random.normal();
                // What is beyond four deviations would be one in 16,000.
                size.clamp((mean - 4.0 * sigma).max(0.0), mean + 4.0 * sigma) as usize
            }
            Self::LogNormal { median, sigma, max } => {
                let size = median * (sigma * random.normal()).exp();
                (size as usize).min(max)
            }
        }
    }
}

/// One of several by weight.
fn pick(weights: &[f64], random: &mut Random) -> usize {
    let sum: f64 = weights.iter().sum();
    let mut at = random.unit() * sum;
    for (number, weight) in weights.iter().enumerate() {
        at -= weight;
        if at < 0.0 {
            return number;
        }
    }
    // Rounding: the last that may be.
    weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests;
