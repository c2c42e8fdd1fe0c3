//! A plan's steps in the form in which they are carried out: what can be known before the run is
//! not looked up in it.

use super::channel;
use super::checks::Judge;
use super::lane::{Errand, Keeps, Versions};
use super::written;
use crate::memcached;
use crate::plan;
use crate::plan::{
    Body, Check, Distribution, HttpStep, Piece, Plan, Resources, Step, Template, Turn,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// All of a plan's steps.
pub(crate) struct Prepared {
    pub(crate) operations: Vec<Operation>,
    /// Makes the values of a cache's items, if there are steps for one.
    pub(crate) maker: Option<Arc<memcached::Maker>>,
}

/// An operation.
pub(crate) struct Operation {
    pub(crate) actions: Vec<Action>,
    /// The data files of which it needs a row.
    pub(crate) data: Vec<usize>,
}

/// A step.
pub(crate) enum Action {
    Http(Box<Request>),
    Parallel(Vec<Request>),
    Memcached(Box<memcached::Prepared>),
    Channel(channel::Prepared),
    OneOf(Vec<Request>, Turn),
    /// The steps of an operation.
    Once(usize),
    Pause(Distribution),
    NewSession,
}

/// A request to one of the plan's servers.
pub(crate) struct Request {
    pub(crate) wire: written::Prepared,
    pub(crate) errand: Errand,
    pub(crate) judge: Judge,
    /// What its reply promises: numbers of the plan's promises.
    pub(crate) promises: Vec<usize>,
    pub(crate) is_cut: bool,
    pub(crate) resources: Option<Resources>,
}

impl Prepared {
    pub(crate) fn new(plan: &Plan) -> Self {
        let operations = plan.operations.iter().map(|operation| {
            let mut data = BTreeSet::new();
            operation.steps.iter().for_each(|step| match step {
                // Its rows are dealt with those of the operation that it is part of.
                Step::Once(other) => {
                    plan.operations[*other].steps.iter().for_each(|step| note_step(step, &mut data))
                }
                step => note_step(step, &mut data),
            });
            let request = |step: &HttpStep| Request::new(plan, step);
            let actions = operation.steps.iter().map(|step| match step {
                Step::Http(step) => Action::Http(Box::new(request(step))),
                Step::Parallel(steps) => Action::Parallel(steps.iter().map(request).collect()),
                Step::Memcached(step) => {
                    Action::Memcached(Box::new(memcached::Prepared::new(step)))
                }
                Step::Channel(step) => Action::Channel(channel::Prepared::new(plan, step)),
                Step::OneOf(steps, turn) => {
                    Action::OneOf(steps.iter().map(request).collect(), *turn)
                }
                Step::Once(operation) => Action::Once(*operation),
                Step::Pause(distribution) => Action::Pause(*distribution),
                Step::NewSession => Action::NewSession,
            });
            let actions = actions.collect();
            Operation { actions, data: data.into_iter().collect() }
        });
        let mut steps = plan.operations.iter().flat_map(|operation| &operation.steps);
        let has_cache = steps.any(|step| matches!(step, Step::Memcached(_)));
        let maker = has_cache.then(|| Arc::new(memcached::Maker::new(&plan.items)));
        let mut prepared = Self { operations: operations.collect(), maker };
        for (number, promise) in plan.audit.promises.iter().enumerate() {
            let action = &mut prepared.operations[promise.operation].actions[promise.step];
            if let Action::Http(request) = action {
                request.promises.push(number);
                // Where a new member is.
                if promise.keeps == plan::Keeps::Posted && request.errand.keeps == Keeps::Nothing {
                    request.errand.keeps = Keeps::Fields;
                }
            }
        }
        prepared
    }
}

impl Request {
    fn new(plan: &Plan, step: &HttpStep) -> Self {
        let versions = if step.conditional { Versions::Asked } else { Versions::Ignored };
        let judge = Judge::new(&step.checks, &step.extract);
        Self {
            wire: written::Prepared::new(&plan.origins[step.origin], step, &plan.transport),
            errand: Errand {
                server: step.origin,
                redirects: step.redirects,
                versions,
                keeps: match judge.keeps(step.resources.is_some()) {
                    // Where a redirect leads and what version came is in the fields.
                    Keeps::Nothing if step.redirects > 0 || step.conditional => Keeps::Fields,
                    keeps => keeps,
                },
            },
            judge,
            promises: Vec::new(),
            is_cut: step.is_cut,
            resources: step.resources,
        }
    }
}

/// Notes the data files that a step needs.
fn note_step(step: &Step, data: &mut BTreeSet<usize>) {
    match step {
        Step::Http(step) => note_data(step, data),
        Step::Parallel(steps) => steps.iter().for_each(|step| note_data(step, data)),
        Step::OneOf(steps, turn) => {
            if let Turn::OfRow(file) = turn {
                data.insert(*file);
            }
            steps.iter().for_each(|step| note_data(step, data));
        }
        Step::Memcached(step) => note_template(&step.key, data),
        Step::Channel(step) => channel::note_data(step, data),
        Step::Once(_) | Step::Pause(_) | Step::NewSession => {}
    }
}

/// Notes the data files that a template names.
pub(super) fn note_template(template: &Template, data: &mut BTreeSet<usize>) {
    for mut piece in &template.pieces {
        while let Piece::Coded(_, coded) = piece {
            piece = coded;
        }
        if let Piece::Data { file, .. } = piece {
            data.insert(*file);
        }
    }
}

/// Notes the data files that a step's templates name.
fn note_data(step: &HttpStep, data: &mut BTreeSet<usize>) {
    let mut note = |template: &Template| note_template(template, data);
    note(&step.path);
    step.headers.iter().for_each(|(_, value)| note(value));
    match &step.body {
        Body::Empty => {}
        Body::Template(template) => note(template),
        Body::Multipart(parts) => parts.iter().for_each(|part| note(&part.content)),
    }
    for check in &step.checks {
        match check {
            Check::Contains(template) | Check::Lacks(template) | Check::Equals(_, template) => {
                note(template);
            }
            Check::Status(_) | Check::Bytes(..) | Check::Within(..) => {}
        }
    }
}
