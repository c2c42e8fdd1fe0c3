//! Checks a document against a schema: keeps count of what that takes, where it is, and what has
//! failed. What each keyword asks for is in `apply`.

use crate::Failure;
use crate::keyword::{Id, Node};
use crate::limits::{FAILURES_MAX, NESTED_MAX, STEPS_BASE, STEPS_MAX, STEPS_PER_BYTE};
use crate::references::escape;
use crate::value::Value;

/// Where in the document.
#[derive(Clone, Copy)]
pub(crate) enum Step<'d> {
    Member(&'d str),
    Element(usize),
}

/// Which members or elements of a value some schema has looked at, for `unevaluatedItems` and
/// `unevaluatedProperties` (core §11).
#[derive(Clone, Default)]
pub(crate) struct Seen(Vec<bool>);

impl Seen {
    fn of(value: &Value<'_>) -> Self {
        Self(match value {
            Value::Array(all) => vec![false; all.len()],
            Value::Object(all) => vec![false; all.len()],
            _ => Vec::new(),
        })
    }

    pub(crate) fn note(&mut self, at: usize) {
        self.0[at] = true;
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }
}

pub(crate) struct Checker<'n, 'd> {
    nodes: &'n [Node],
    path: Vec<Step<'d>>,
    failures: Vec<Failure>,
    /// More than 0: whether something fits is asked, and not why.
    quiet: usize,
    nested: usize,
    steps: u64,
    /// Why the check was given up.
    given_up: Option<&'static str>,
}

/// Checks the JSON text `document` against the first of `nodes`.
pub(crate) fn check(nodes: &[Node], document: &str) -> Result<(), Vec<Failure>> {
    let whole =
        |reason: String| vec![Failure { path: String::new(), schema: String::new(), reason }];
    let value = Value::parse(document).map_err(whole)?;
    let steps = (STEPS_BASE + STEPS_PER_BYTE * document.len() as u64).min(STEPS_MAX);
    let mut checker = Checker {
        nodes,
        path: Vec::new(),
        failures: Vec::new(),
        quiet: 0,
        nested: 0,
        steps,
        given_up: None,
    };
    let fits = checker.node(0, &value, None);
    match checker.given_up {
        Some(why) => Err(whole(why.to_owned())),
        None if fits => Ok(()),
        None => Err(checker.failures),
    }
}

impl<'n, 'd> Checker<'n, 'd> {
    /// Whether `value` fits a schema; notes in `seen` what of it was looked at, if it does.
    pub(crate) fn node(
        &mut self,
        id: Id,
        value: &'d Value<'d>,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let node = &self.nodes[id];
        match node.is {
            Some(true) => return true,
            Some(false) => return self.fail(node, "", || "no value is allowed here".to_owned()),
            None => {}
        }
        if self.nested >= NESTED_MAX {
            self.given_up = Some("it is nested more deeply than this schema can follow");
        }
        if !self.spend(1) {
            return false;
        }
        self.nested += 1;
        let asks = node.unevaluated_items.is_some() || node.unevaluated_properties.is_some();
        let fits = if asks {
            let mut own = Seen::of(value);
            let fits = self.keywords(node, value, Some(&mut own))
                && self.unevaluated(node, value, &mut own);
            if let (true, Some(seen)) = (fits, seen.as_deref_mut()) {
                seen.add(&own);
            }
            fits
        } else {
            self.keywords(node, value, seen)
        };
        self.nested -= 1;
        fits
    }

    fn keywords(
        &mut self,
        node: &'n Node,
        value: &'d Value<'d>,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut fits = true;
        for keyword in &node.keywords {
            if !self.apply(node, keyword, value, seen.as_deref_mut()) {
                fits = false;
                if self.is_over() {
                    break;
                }
            }
        }
        fits
    }

    fn unevaluated(&mut self, node: &'n Node, value: &'d Value<'d>, seen: &mut Seen) -> bool {
        let mut fits = true;
        match (value, node.unevaluated_items, node.unevaluated_properties) {
            (Value::Array(all), Some(id), _) => {
                for (i, element) in all.iter().enumerate() {
                    fits &= seen.0[i] || self.inside(Step::Element(i), id, element);
                    seen.note(i);
                }
            }
            (Value::Object(all), _, Some(id)) => {
                for (i, (name, member)) in all.iter().enumerate() {
                    fits &= seen.0[i] || self.inside(Step::Member(name), id, member);
                    seen.note(i);
                }
            }
            _ => {}
        }
        fits
    }

    /// Whether what is at `step` fits a schema.
    pub(crate) fn inside(&mut self, step: Step<'d>, id: Id, value: &'d Value<'d>) -> bool {
        self.path.push(step);
        let fits = self.node(id, value, None);
        self.path.pop();
        fits
    }

    /// Whether `value` would fit a schema; that it does not is no failure. What was looked at
    /// counts if it does.
    pub(crate) fn would_fit(
        &mut self,
        id: Id,
        value: &'d Value<'d>,
        seen: Option<&mut Seen>,
    ) -> bool {
        self.quiet += 1;
        let fits = match seen {
            None => self.node(id, value, None),
            Some(seen) => {
                let mut own = Seen::of(value);
                let fits = self.node(id, value, Some(&mut own));
                if fits {
                    seen.add(&own);
                }
                fits
            }
        };
        self.quiet -= 1;
        fits
    }

    /// A checker of something that is no place of the document, with the steps that are left.
    pub(crate) fn apart<'o>(&self) -> Checker<'n, 'o> {
        Checker {
            nodes: self.nodes,
            path: Vec::new(),
            failures: Vec::new(),
            quiet: 1,
            nested: self.nested,
            steps: self.steps,
            given_up: self.given_up,
        }
    }

    /// The steps that are left, and why it was given up.
    pub(crate) fn spent(self) -> (u64, Option<&'static str>) {
        (self.steps, self.given_up)
    }

    /// Goes on with what [`Self::apart`] has left.
    pub(crate) fn resume(&mut self, steps: u64, given_up: Option<&'static str>) {
        (self.steps, self.given_up) = (steps, given_up);
    }

    /// Counts steps; false, if there are no more.
    pub(crate) fn spend(&mut self, steps: u64) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        if self.steps == 0 {
            self.given_up.get_or_insert("checking it takes more steps than are allowed");
        }
        self.given_up.is_none()
    }

    /// Whether going on would tell nothing more.
    pub(crate) fn is_over(&self) -> bool {
        self.quiet > 0 || self.given_up.is_some() || self.failures.len() >= FAILURES_MAX
    }

    /// Notes that a keyword of `node` failed here. Always false.
    pub(crate) fn fail(
        &mut self,
        node: &Node,
        keyword: &str,
        reason: impl FnOnce() -> String,
    ) -> bool {
        if self.is_over() {
            return false;
        }
        let step = |step: &Step<'_>| match step {
            Step::Member(name) => format!("/{}", escape(name)),
            Step::Element(i) => format!("/{i}"),
        };
        let slash = if keyword.is_empty() { "" } else { "/" };
        self.failures.push(Failure {
            path: self.path.iter().map(step).collect(),
            schema: format!("{}{slash}{keyword}", node.at),
            reason: reason(),
        });
        false
    }
}
