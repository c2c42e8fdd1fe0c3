//! The request that a turn serves, as the handler asks for its parts.

use super::{Turn, TurnError};
use crate::exchange::Request;
use crate::route::Params;
use crate::urlencoded::decode_form;

impl Turn {
    /// Sets what the route found in the path, when the handler runs on after it waited: the
    /// application may have been loaded anew since.
    pub(crate) fn set_params(&mut self, params: Params) {
        self.params = params;
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
        std::str::from_utf8(&self.request.body).map_err(|_| TurnError::BodyNotUtf8)
    }

    /// The fields of the body.
    pub(crate) fn form(&self) -> Result<Vec<(String, String)>, TurnError> {
        let found = self.request.header("content-type").next().unwrap_or("no Content-Type");
        let media_type = found.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(TurnError::NotAForm(found.to_owned()));
        }
        Ok(decode_form(&self.request.body)?)
    }

    /// The fields of the query.
    pub(crate) fn query(&self) -> Result<Vec<(String, String)>, TurnError> {
        Ok(decode_form(self.request.query.as_bytes())?)
    }
}
