//! How the documents of a query were found, for whoever asks.

use crate::plan::Plan;
use repository::{Direction, json};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Explain {
    pub plan: Plan,
    /// Documents that were read for the page.
    pub examined: usize,
    /// Plans before it that needed too much, by their index.
    pub given_up: Vec<Option<String>>,
    /// Indexes that are not ready.
    pub building: Vec<String>,
}

impl Explain {
    /// A JSON object, as `docs/queries.md` has it.
    pub(crate) fn to_json(&self) -> String {
        let index = |name: Option<&str>| name.map_or_else(|| "null".to_owned(), json::quote);
        let given_up: Vec<String> =
            self.given_up.iter().map(|name| index(name.as_deref())).collect();
        let building: Vec<String> = self.building.iter().map(|name| json::quote(name)).collect();
        let direction = match self.plan.direction {
            Direction::Ascending => "ascending",
            Direction::Descending => "descending",
        };
        format!(
            "{{\"index\":{},\"fixed\":{},\"range\":{},\"direction\":\"{direction}\",\
             \"sorted\":{},\"examined\":{},\"given_up\":[{}],\"building\":[{}]}}",
            index(self.plan.index()),
            self.plan.fixed(),
            self.plan.is_bounded(),
            self.plan.sorts,
            self.examined,
            given_up.join(","),
            building.join(","),
        )
    }
}
