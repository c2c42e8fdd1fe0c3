//! The collections over HTTP: the list of them, queries, and settings. Which of these a GET of a
//! collection means is in the query component of its URI.

use crate::collections::Listing;
use crate::http::conditions;
use crate::http::content::{self, Format};
use crate::http::content_of::Target;
use crate::http::rest::Route;
use crate::http::{bearer, once};
use crate::operation::Operation;
use crate::problem::{Kind, Problem};
use crate::surface::Template;
use hyper::Method;
use hyper::http::request::Parts;
use query::{ParameterError, Query};
use repository::{CollectionName, Ending, MediaType};

/// Asks for the settings of a collection.
const SETTINGS: &str = "settings";

/// Asks how far the indexes of a collection are.
const STATUS: &str = "status";

/// Means the documents of a collection and not its settings.
const DOCUMENTS: &str = "documents";

/// `/db`.
pub(crate) fn list(parts: &Parts) -> Result<Route, Problem> {
    match parts.method {
        Method::GET | Method::HEAD => {
            let listing = Listing::parse(parts.uri.query(), bearer::carried(parts)?)?;
            Ok(Route::Operation(Operation::ListCollections(listing)))
        }
        Method::OPTIONS => Ok(Route::Options(Some(Template::Collections))),
        _ => Err(Problem::method_not_allowed(Template::Collections)),
    }
}

/// GET of a collection.
pub(crate) fn get(parts: &Parts, collection: CollectionName) -> Result<Route, Problem> {
    Ok(Route::Operation(match parts.uri.query() {
        Some(SETTINGS) => {
            let preconditions = conditions::preconditions(&parts.headers)?;
            Operation::GetSettings { collection, preconditions }
        }
        Some(STATUS) => Operation::DescribeCollection(collection),
        component => Operation::Query(Box::new(Query::parse(collection, component)?)),
    }))
}

/// DELETE of a collection, or of its documents.
pub(crate) fn delete(parts: &Parts, collection: CollectionName) -> Result<Route, Problem> {
    let ending = match parts.uri.query() {
        None => Ending::Drop,
        Some(DOCUMENTS) => Ending::Empty,
        Some(other) => {
            let known = format!("none but {DOCUMENTS}, which has no value");
            let got = repository::excerpt(other, 40).into_owned();
            return Err(ParameterError::Unknown { got, known }.into());
        }
    };
    let preconditions = conditions::preconditions(&parts.headers)?;
    let operation = Operation::End { collection, ending, preconditions };
    Ok(Route::Operation(match once::name(parts)? {
        Some(name) => name.of(operation, b"")?,
        None => operation,
    }))
}

/// What the content of a PUT or PATCH of a collection is for: its settings.
pub(crate) fn target(parts: &Parts, collection: CollectionName) -> Result<Target, Problem> {
    if let Some(other) = parts.uri.query().filter(|component| *component != SETTINGS) {
        let known = format!("none but {SETTINGS}, which has no value");
        let got = repository::excerpt(other, 40).into_owned();
        return Err(ParameterError::Unknown { got, known }.into());
    }
    if parts.method == Method::PUT {
        return match content::media_type(&parts.headers)? {
            MediaType::Json => Ok(Target::Settings(collection, None)),
            MediaType::Other(_) => Err(unsupported(&Method::PUT)),
        };
    }
    match content::patch_format(&parts.headers)? {
        // Settings are a few members; adding to numbers has no use there.
        Format::MergeOperations => Err(unsupported(&Method::PATCH)),
        format => Ok(Target::Settings(collection, Some(format))),
    }
}

fn unsupported(method: &Method) -> Problem {
    let accepts = Template::Collection.accepts(method);
    let detail = format!("settings are sent as {accepts}");
    let mut problem = Problem::new(Kind::UnsupportedMediaType, detail);
    match *method {
        Method::PATCH => problem.more().accept_patch = Some(accepts),
        _ => problem.more().accept = Some(accepts),
    }
    problem
}
