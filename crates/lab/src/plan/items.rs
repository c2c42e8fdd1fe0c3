//! What is in a cache: the value that belongs to a key, which anybody can make again from the key
//! alone, so that what a server gives back can be told from what was stored.

use crate::limits::{ITEM_BYTES_MAX, TWITTER_BYTES_MAX};

/// The items of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Items {
    /// How long values are. A key's value always has the same length.
    pub values: Values,
    /// How long keys are.
    pub keys: KeyLengths,
}

/// Lengths of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Each key belongs to one of several classes.
    Classes(Vec<Class>),
    /// As in Facebook's largest pool of general use, ETC (Atikoglu et al., SIGMETRICS 2012, §5 and
    /// table 5): many of 2, 3 and 11 bytes, and from 15 bytes on a generalized Pareto distribution.
    Etc,
    /// As in a cluster of Twitter's caches that is like most of them (Yang, Yue and Rashmi, OSDI
    /// 2020): half of the objects, key and value together, below 230 bytes, 24 % below 100.
    Twitter,
}

/// Values of about the same length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// How many keys belong to it, compared with the others.
    pub weight: f64,
    /// The shortest, in bytes.
    pub from_bytes: usize,
    /// The longest, in bytes; those between are as likely.
    pub to_bytes: usize,
}

/// Lengths of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLengths {
    /// As the steps write them.
    AsWritten,
    /// As in ETC: a generalized extreme value distribution with mean 35. Keys are filled up to
    /// their length with `.`; those that are longer stay as they are.
    Etc,
}

impl Default for Items {
    /// 100 bytes.
    fn default() -> Self {
        let class = Class { weight: 1.0, from_bytes: 100, to_bytes: 100 };
        Self { values: Values::Classes(vec![class]), keys: KeyLengths::AsWritten }
    }
}

impl Items {
    /// The seed's classes: 60 % of 4 to 100 bytes, 30 % of 1 to 2 KB, 10 % of 5 to 20 KB.
    pub fn olio() -> Self {
        let class = |weight, from_bytes, to_bytes| Class { weight, from_bytes, to_bytes };
        let classes =
            vec![class(60.0, 4, 100), class(30.0, 1_000, 2_000), class(10.0, 5_000, 20_000)];
        Self { values: Values::Classes(classes), keys: KeyLengths::AsWritten }
    }

    /// What is wrong with them.
    pub fn fault(&self) -> Option<String> {
        let Values::Classes(classes) = &self.values else { return None };
        let is_weight = |class: &Class| class.weight.is_finite() && class.weight >= 0.0;
        if !classes.iter().all(is_weight) || classes.iter().all(|class| class.weight <= 0.0) {
            return Some("expected classes of values with weights, one of them above 0".to_owned());
        }
        let wrong = classes
            .iter()
            .find(|class| class.from_bytes > class.to_bytes || class.to_bytes > ITEM_BYTES_MAX)?;
        Some(format!(
            "a class of values goes from its shortest to its longest, which has at most \
             {ITEM_BYTES_MAX} bytes; got {} to {}",
            wrong.from_bytes, wrong.to_bytes
        ))
    }

    /// The longest value, in bytes.
    pub fn bytes_max(&self) -> usize {
        match &self.values {
            Values::Classes(classes) => {
                classes.iter().map(|class| class.to_bytes).max().unwrap_or(0)
            }
            Values::Etc => ITEM_BYTES_MAX,
            Values::Twitter => TWITTER_BYTES_MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_cannot_be_are_told() {
        let fault = |classes: &[(f64, usize, usize)]| {
            let class = |&(weight, from_bytes, to_bytes)| Class { weight, from_bytes, to_bytes };
            let values = Values::Classes(classes.iter().map(class).collect());
            Items { values, keys: KeyLengths::AsWritten }.fault().is_some()
        };
        assert!(!fault(&[(1.0, 0, ITEM_BYTES_MAX), (0.0, 5, 5)]));
        for bad in
            [(0.0, 1, 1), (-1.0, 1, 1), (f64::NAN, 1, 1), (1.0, 2, 1), (1.0, 0, ITEM_BYTES_MAX + 1)]
        {
            assert!(fault(&[bad]), "{bad:?}");
        }
        assert!(fault(&[]));
        assert_eq!((Items::default().fault(), Items::olio().fault()), (None, None));
    }
}
