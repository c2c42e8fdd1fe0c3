//! What made entries and media are like: sizes, kinds of content, categories. They are made by
//! `entries`.

use crate::limits::MADE_BYTES_MAX;
use std::sync::Arc;

/// Entries and media that are made again from seed, worker and number.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    /// Bytes of an entry's document.
    pub bytes: Size,
    /// How many entries have each kind of content, by [`ContentKind::ALL`], compared with the
    /// others.
    pub content_weights: [f64; 5],
    /// An entry has from no category to so many.
    pub categories_max: usize,
    /// Share of the entries that have a summary, from 0 to 1, beside those that must have one.
    pub summary_share: f64,
    /// Each so many-th entry of a worker is of words in other scripts; 0: none is.
    pub foreign_every: u64,
    /// Whether an element of nobody's vocabulary says which entry it is.
    pub is_marked: bool,
    /// Bytes of a medium.
    pub media_bytes: Size,
    /// How many media are JPEG, PNG and GIF.
    pub media_weights: [f64; 3],
    /// The words; none: those of the program.
    pub words: Option<Arc<[String]>>,
    /// What is added to the workers' numbers: what a setup makes is not what the run makes.
    pub first_worker: u64,
}

/// The distribution of a size in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Always the same.
    Fixed(usize),
    /// From the first to the second, each as likely.
    Uniform(usize, usize),
    /// The normal distribution, cut at four standard deviations.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        sigma: f64,
    },
    /// The log-normal distribution.
    LogNormal {
        /// Its median.
        median: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
        /// What is larger is this.
        max: usize,
    },
}

/// Kinds of an entry's content (RFC 4287 §4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// Plain text.
    Text,
    /// HTML, escaped.
    Html,
    /// XHTML in a div.
    Xhtml,
    /// Bytes in Base64, with a summary.
    Base64,
    /// Elsewhere, with a summary.
    Source,
}

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeKind {
    /// An entry document.
    Entry,
    /// What is in it but the id, without the tags around it.
    Inside,
    /// A picture's bytes.
    Media,
    /// That picture's media type.
    Type,
    /// A text for the field `Slug` (RFC 5023 §9.7): letters and digits.
    Slug,
}

/// Workers of the run itself have smaller numbers.
pub(crate) const HOOK_WORKERS: u64 = 1_000_000;

impl ContentKind {
    /// In the order of [`Entries::content_weights`].
    pub const ALL: [Self; 5] = [Self::Text, Self::Html, Self::Xhtml, Self::Base64, Self::Source];

    /// As scenarios name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Html => "html",
            Self::Xhtml => "xhtml",
            Self::Base64 => "base64",
            Self::Source => "src",
        }
    }
}

impl MadeKind {
    /// As scenarios name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Inside => "inside",
            Self::Media => "media",
            Self::Type => "type",
            Self::Slug => "slug",
        }
    }
}

impl Size {
    /// The largest that is drawn.
    pub fn largest(&self) -> usize {
        match *self {
            Self::Fixed(bytes) | Self::Uniform(_, bytes) => bytes,
            Self::Normal { mean, sigma } => (mean + 4.0 * sigma) as usize,
            Self::LogNormal { max, .. } => max,
        }
    }

    /// What is wrong with it.
    fn fault(&self) -> Option<String> {
        let is_drawn = match *self {
            Self::Fixed(_) => true,
            Self::Uniform(from, to) => from <= to,
            Self::Normal { mean, sigma } => mean >= 0.0 && sigma >= 0.0,
            Self::LogNormal { median, sigma, .. } => median >= 1.0 && sigma >= 0.0,
        };
        let fits = is_drawn && self.largest() <= MADE_BYTES_MAX;
        (!fits).then(|| format!("a size is from 0 to {MADE_BYTES_MAX} bytes; got {self:?}"))
    }
}

impl Default for Entries {
    /// What mod_atom was measured with: a little over 600 bytes of text.
    fn default() -> Self {
        Self {
            bytes: Size::Normal { mean: 620.0, sigma: 60.0 },
            content_weights: [1.0, 0.0, 0.0, 0.0, 0.0],
            categories_max: 0,
            summary_share: 0.0,
            foreign_every: 50,
            is_marked: true,
            media_bytes: Size::Fixed(16 << 10),
            media_weights: [1.0; 3],
            words: None,
            first_worker: 0,
        }
    }
}

impl Entries {
    /// What is wrong with it.
    pub(super) fn fault(&self) -> Option<String> {
        let is_weight = |weight: &f64| weight.is_finite() && *weight >= 0.0;
        let are_weights = |weights: &[f64]| {
            weights.iter().all(is_weight) && weights.iter().any(|weight| *weight > 0.0)
        };
        if !are_weights(&self.content_weights) || !are_weights(&self.media_weights) {
            return Some("weights are numbers from 0 up, one of them above 0".to_owned());
        }
        if !(0.0..=1.0).contains(&self.summary_share) {
            return Some(format!("a share is from 0 to 1; got {}", self.summary_share));
        }
        if self.words.as_ref().is_some_and(|words| words.is_empty()) {
            return Some("there is no word in the list of words".to_owned());
        }
        self.bytes.fault().or_else(|| self.media_bytes.fault())
    }

    /// The largest that is made of a kind, about.
    pub(super) fn largest(&self, kind: MadeKind) -> usize {
        match kind {
            MadeKind::Entry | MadeKind::Inside => self.bytes.largest(),
            MadeKind::Media => self.media_bytes.largest(),
            MadeKind::Type | MadeKind::Slug => 0,
        }
    }
}
