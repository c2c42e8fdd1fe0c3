//! A failed request as the file has it.

use serde_json::{Map, Value};

/// One line of the file. Later versions may write more members; all are kept as they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// What names it.
    pub id: String,
    /// Every member, in the order of the file.
    pub members: Map<String, Value>,
}
