//! What an acknowledged reply promises, and what must be found afterwards.

use super::Plan;
use super::operation::Step;
use super::template::{Piece, Template};

/// What is looked for after the run.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Numbers that are read before the run and after it.
    pub numbers: Vec<Number>,
    /// Lists that are read after the run.
    pub lists: Vec<List>,
    /// What replies promise.
    pub promises: Vec<Promise>,
    /// Fields with which collections of AtomPub are asked for.
    pub headers: Vec<(String, String)>,
}

/// What the reply of a step promises once it is there and as it should be.
#[derive(Clone, Debug)]
pub struct Promise {
    /// Of which operation.
    pub operation: usize,
    /// Which of its steps.
    pub step: usize,
    /// What.
    pub keeps: Keeps,
}

/// What is promised.
#[derive(Clone, Debug, PartialEq)]
pub enum Keeps {
    /// A GET of the same path gives the body that was sent, or one that was acknowledged later.
    /// JSON is the same if its values are.
    Stored,
    /// A GET of the same path finds nothing, or a body that was acknowledged later.
    Removed,
    /// A collection of AtomPub has one more entry: the one that was made for this operation.
    Posted,
    /// A member is the entry that was made for this operation, or one that was acknowledged later.
    Edited,
    /// A member is not there any more.
    Deleted,
    /// A number has grown by so much.
    Counted {
        /// Which, of [`Audit::numbers`].
        number: usize,
        /// How much; negative: it has shrunk.
        by: i64,
    },
    /// A list has this as often as it was acknowledged.
    Listed {
        /// Which, of [`Audit::lists`].
        list: usize,
        /// Tells elements apart. Nothing in it may be drawn anew.
        id: Template,
    },
}

/// Where something is read, page by page.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// Which of the plan's servers.
    pub origin: usize,
    /// Path and query of the first page.
    pub path: String,
    /// Fields that are sent with each request.
    pub headers: Vec<(String, String)>,
    /// Where the elements are in a page of JSON (RFC 6901); none: the page is one element.
    pub each: Option<String>,
    /// Where a page says what comes after it, and the parameter that takes this; a page that does
    /// not say is the last one.
    pub next: Option<(String, String)>,
}

/// A number.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// In reports.
    pub name: String,
    /// Where it is.
    pub pages: Pages,
    /// Where a number is in each element (RFC 6901; "" is the element itself); they are added up.
    /// None: the elements are counted.
    pub value: Option<String>,
    /// What it must be before and after; none: after the run what it was before, and what was
    /// counted.
    pub equals: Option<f64>,
}

/// A list.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// In reports.
    pub name: String,
    /// Where it is.
    pub pages: Pages,
    /// Where the parts of an element's id are in it (RFC 6901). They are joined with `|`.
    pub id: Vec<String>,
}

impl Audit {
    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.lists.is_empty() && self.promises.is_empty()
    }

    /// What is wrong with it.
    pub(super) fn fault(&self, plan: &Plan) -> Option<String> {
        let numbers = self.numbers.iter().map(|number| (&number.name, &number.pages));
        let lists = self.lists.iter().map(|list| (&list.name, &list.pages));
        for (name, pages) in numbers.chain(lists) {
            if pages.origin >= plan.origins.len() {
                return Some(format!("{name} is on server {}, which does not exist", pages.origin));
            }
            if !pages.path.starts_with('/') {
                return Some(format!(
                    "the path of {name} begins with \"/\"; got \"{}\"",
                    pages.path
                ));
            }
        }
        self.promises.iter().find_map(|promise| self.fault_of(promise, plan))
    }

    fn fault_of(&self, promise: &Promise, plan: &Plan) -> Option<String> {
        let Promise { operation, step, .. } = *promise;
        let found = plan.operations.get(operation).and_then(|found| found.steps.get(step));
        let Some(Step::Http(request)) = found else {
            return Some(format!("step {step} of operation {operation} is no request"));
        };
        if request.is_cut {
            return Some("a request that is cut off promises nothing".to_owned());
        }
        match &promise.keeps {
            Keeps::Stored | Keeps::Removed | Keeps::Posted | Keeps::Edited | Keeps::Deleted => None,
            Keeps::Counted { number, .. } => (*number >= self.numbers.len())
                .then(|| format!("number {number} is counted, but does not exist")),
            Keeps::Listed { list, .. } if *list >= self.lists.len() => {
                Some(format!("list {list} does not exist"))
            }
            Keeps::Listed { id, .. } => {
                let is_drawn =
                    |piece: &Piece| matches!(piece, Piece::Random(..) | Piece::Letters(_));
                id.pieces.iter().any(is_drawn).then(|| {
                    "an id is what was sent, so nothing in it may be drawn anew; keep what is \
                     drawn in a variable"
                        .to_owned()
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanError;

    #[test]
    fn what_cannot_be_audited_is_refused() {
        let refused = |audit: Audit| {
            let mut plan = Plan::hit("http://a/".parse().unwrap());
            plan.audit = audit;
            match plan.check() {
                Err(PlanError::Audit(why)) => why,
                other => panic!("{other:?}"),
            }
        };
        let promise = |step, keeps| Promise { operation: 0, step, keeps };
        let promises = |promise| Audit { promises: vec![promise], ..Audit::default() };
        let why = refused(promises(promise(1, Keeps::Stored)));
        assert!(why.contains("step 1 of operation 0"), "{why}");
        let why = refused(promises(promise(0, Keeps::Counted { number: 0, by: 1 })));
        assert!(why.contains("number 0"), "{why}");
        let pages = |origin, path: &str| Pages {
            origin,
            path: path.to_owned(),
            headers: Vec::new(),
            each: None,
            next: None,
        };
        let list = |pages| List { name: "all".into(), pages, id: vec![String::new()] };
        let lists = |pages| Audit { lists: vec![list(pages)], ..Audit::default() };
        assert!(refused(lists(pages(1, "/"))).contains("server 1"));
        assert!(refused(lists(pages(0, "db"))).contains("\"db\""));
        let id = Template { pieces: vec![Piece::Random(1, 9)] };
        let drawn = promise(0, Keeps::Listed { list: 0, id });
        let why = refused(Audit { promises: vec![drawn], ..lists(pages(0, "/")) });
        assert!(why.contains("drawn anew"), "{why}");
    }
}
