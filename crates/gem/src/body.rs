//! What the body of a request holds: text, JSON, a form. Each is checked against the Content-Type;
//! what that does not allow is the client's fault, with a status of its own.

use crate::content_type::ContentType;
use crate::exchange::Request;
use crate::multipart::{self, MultipartError, Part};
use crate::urlencoded::{DecodeError, decode_form};
use thiserror::Error;

/// Why a body is not what the handler asks for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum BodyError {
    #[error("the body is not UTF-8")]
    NotUtf8,
    #[error("expected a body in UTF-8, got the charset {0}")]
    Charset(String),
    #[error("expected JSON (Content-Type: application/json), got {0}")]
    NotJson(String),
    /// A handler gets doubles, so the rule of documents holds here, too.
    #[error("expected a body that is JSON: {0}")]
    Number(#[from] repository::json::Error),
    #[error(
        "expected a form (Content-Type: application/x-www-form-urlencoded or \
         multipart/form-data), got {0}"
    )]
    NotAForm(String),
    #[error(transparent)]
    Form(#[from] DecodeError),
    #[error(transparent)]
    Multipart(#[from] MultipartError),
}

impl BodyError {
    /// The status of the reply: 415, the body may be good but not here; 400, it is none.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Charset(_) | Self::NotJson(_) | Self::NotAForm(_) => 415,
            Self::NotUtf8 | Self::Number(_) | Self::Form(_) | Self::Multipart(_) => 400,
        }
    }
}

/// The Content-Type of a request; empty if it has none.
fn content_type(request: &Request) -> &str {
    request.header("content-type").next().unwrap_or_default()
}

/// The body as text, whatever its media type.
pub(crate) fn text(request: &Request) -> Result<&str, BodyError> {
    if let Some(charset) = ContentType::parse(content_type(request)).parameter("charset") {
        let is_utf8 = ["utf-8", "utf8", "us-ascii"].iter();
        if !is_utf8.into_iter().any(|known| charset.eq_ignore_ascii_case(known)) {
            return Err(BodyError::Charset(charset.into_owned()));
        }
    }
    std::str::from_utf8(&request.body).map_err(|_| BodyError::NotUtf8)
}

/// The body as text that claims to be JSON, or that claims nothing.
pub(crate) fn json(request: &Request) -> Result<&str, BodyError> {
    let found = content_type(request);
    if found.is_empty() || ContentType::parse(found).is_json() {
        let text = text(request)?;
        repository::json::check_numbers(text)?;
        return Ok(text);
    }
    Err(BodyError::NotJson(found.to_owned()))
}

/// The fields of the body, which is a form in one of the two encodings of HTML.
pub(crate) fn form(request: &Request) -> Result<Vec<Part>, BodyError> {
    let found = content_type(request);
    let content_type = ContentType::parse(found);
    if content_type.is("multipart/form-data") {
        let boundary = content_type.parameter("boundary").unwrap_or_default();
        return Ok(multipart::parse(&request.body, &boundary)?);
    }
    if content_type.is("application/x-www-form-urlencoded") {
        let fields = decode_form(&request.body)?.into_iter();
        return Ok(fields.map(|(name, value)| Part::text(name, value)).collect());
    }
    let found = if found.is_empty() { "no Content-Type" } else { found };
    Err(BodyError::NotAForm(found.to_owned()))
}
