//! The request that a turn serves, as the handler asks for its parts.

use super::{Turn, TurnError};
use crate::body;
use crate::exchange::Request;
use crate::multipart::{Content, Part};
use crate::reply::Answer;
use crate::route::{Ending, Params};
use crate::urlencoded::decode_form;
use repository::json::check_name_list;

impl Turn {
    /// Sets what was found for the request: what the route found in the path, and what answers if
    /// no function of the application does. Anew when it goes on after it waited: the application
    /// may be another one since.
    pub(crate) fn set_found(&mut self, params: Params, ending: Ending) {
        self.params = params;
        self.ending = ending;
    }

    /// The reply if no function of the application answers.
    pub(crate) fn end_answer(&self) -> Answer {
        Answer::of(&self.ending, &self.request.query)
    }

    /// The request.
    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    /// The values the route found in the path.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// The body as text.
    pub(crate) fn body_text(&self) -> Result<&str, TurnError> {
        Ok(body::text(&self.request)?)
    }

    /// The body as text that is to be JSON.
    pub(crate) fn body_json(&self) -> Result<&str, TurnError> {
        Ok(body::json(&self.request)?)
    }

    /// The fields of the body. `file` gives the content of a file by its place among the files.
    pub(crate) fn form(&mut self) -> Result<Vec<Part>, TurnError> {
        let parts = body::form(&self.request)?;
        check_name_list(parts.iter().map(|part| part.name.as_str()))?;
        let place = |part: &Part| match &part.content {
            Content::File { place, .. } => Some(place.clone()),
            Content::Text(_) => None,
        };
        self.files = parts.iter().filter_map(place).collect();
        Ok(parts)
    }

    /// The content of a file of the form; empty if it has no such file.
    pub(crate) fn file(&self, number: usize) -> &[u8] {
        let place = self.files.get(number).cloned();
        place.and_then(|place| self.request.body.get(place)).unwrap_or_default()
    }

    /// The fields of the query.
    pub(crate) fn query(&self) -> Result<Vec<(String, String)>, TurnError> {
        let fields = decode_form(self.request.query.as_bytes())?;
        check_name_list(fields.iter().map(|(name, _)| name.as_str()))?;
        Ok(fields)
    }
}
