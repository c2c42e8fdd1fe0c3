//! Why the body of a transaction refuses, and what its client is told.

use crate::limits::STEPS_SHOWN_BYTES_MAX;
use crate::patch;
use crate::problem::{Kind, Problem};
use query::{ParameterError, QueryError};
use repository::{
    CollectionName, CommitNumber, ConfigureError, MediaType, ReadError, SettingsError, StageError,
    Timestamp,
};
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) enum Refusal {
    NotFound,
    /// The version may have been there; versions are complete from this commit on.
    NotKept {
        since: Option<CommitNumber>,
    },
    /// The moment has not come.
    NotYet {
        newest: CommitNumber,
        time: Timestamp,
    },
    NotAcceptable {
        is: MediaType,
    },
    /// With the version of the document, if there is one.
    PreconditionFailed {
        current: Option<CommitNumber>,
    },
    PreconditionRequired {
        current: CommitNumber,
    },
    Patch(patch::Refused),
    /// A patch needs a JSON document.
    NotJson {
        is: MediaType,
    },
    /// A mistake of the server's own.
    Internal(String),
    /// No key can be made.
    Name(String),
    /// The name of the request was given to another one.
    KeyReused,
    /// The answer is too large to be remembered.
    AnswerTooLarge,
    /// The results of a list show too much.
    ShowsTooMuch,
    /// Steps of a list, by their index.
    Steps(Vec<(usize, Refusal)>),
    /// It would take long. Never told: the operation runs again on another thread.
    Long,
    /// A query without a result.
    Query(QueryError),
    /// A service refuses, and says so to the client.
    Service {
        status: u16,
        message: String,
    },
    /// The collection's service is asked about JSON.
    ServiceNeedsJson {
        got: String,
    },
    /// A service waits. Never told: the operation runs again with what it waits for.
    Waits,
    /// A service failed.
    Call(gem::Failure),
    /// A collection that nobody has made.
    NoCollection(CollectionName),
    /// Settings that a collection cannot have.
    Settings(SettingsError),
    Configure(ConfigureError),
    Read(ReadError),
    Stage(StageError),
}

impl From<gem::Failure> for Refusal {
    fn from(failure: gem::Failure) -> Self {
        Self::Call(failure)
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<StageError> for Refusal {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Long => Self::Long,
            QueryError::NoCollection(name) => Self::NoCollection(name),
            error => Self::Query(error),
        }
    }
}

impl From<patch::Refused> for Refusal {
    fn from(refused: patch::Refused) -> Self {
        Self::Patch(refused)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => Self::not_found(),
            Refusal::NotKept { since } => not_kept(since),
            Refusal::NotYet { newest, time } => not_yet(newest, time),
            Refusal::NotAcceptable { is } => not_acceptable(&is),
            Refusal::PreconditionFailed { current } => Self::new(
                Kind::PreconditionFailed,
                "the document is not in the state that the request's conditions ask for; \
                 read it again and decide anew",
            )
            .with("etag", etag(current)),
            Refusal::PreconditionRequired { current } => Self::new(
                Kind::PreconditionRequired,
                "the collection wants to know which version is replaced: send If-Match with the \
                 entity tag of the one that you have read",
            )
            .with("etag", etag(Some(current))),
            Refusal::Patch(refused @ patch::Refused::Mismatch { .. }) => {
                Self::new(Kind::PatchMismatch, refused.to_string())
            }
            Refusal::Patch(
                refused @ (patch::Refused::Bound { .. } | patch::Refused::Work { .. }),
            ) => Self::new(Kind::Unprocessable, refused.to_string()),
            Refusal::ShowsTooMuch => Self::new(
                Kind::Unprocessable,
                format!(
                    "the documents in the results would have more than {STEPS_SHOWN_BYTES_MAX} \
                     bytes together: read, or have shown, fewer of them in one list"
                ),
            ),
            Refusal::NotJson { is } => {
                let detail = format!("a patch needs a JSON document; this one is {}", is.as_str());
                Self::new(Kind::PatchMismatch, detail)
            }
            Refusal::Internal(why) => Self::internal(&why),
            Refusal::Name(why) => Self::new(Kind::InvalidName, why),
            Refusal::KeyReused => Self::new(
                Kind::KeyReused,
                "another request had this Idempotency-Key; make a new one for each request",
            ),
            Refusal::AnswerTooLarge => Self::new(
                Kind::Unprocessable,
                "the answer is too large to be remembered for its Idempotency-Key: do without the \
                 key, or without the documents in the answer",
            ),
            Refusal::Steps(failed) => steps(failed),
            Refusal::Long | Refusal::Waits => Self::internal(&"an operation ran on no thread"),
            Refusal::Query(error) => query(error),
            Refusal::Service { status, message } => {
                Self::new(Kind::ServiceRefused, message).with_status(status)
            }
            Refusal::ServiceNeedsJson { got } => Self::new(
                Kind::UnsupportedMediaType,
                format!("the collection's service takes application/json; got {got}"),
            ),
            // `execute` knows how much of it may be told.
            Refusal::Call(_) => Self::new(Kind::HandlerFailed, "nothing was changed"),
            Refusal::NoCollection(name) => Self::new(
                Kind::NotFound,
                format!("there is no collection {name}; the first document in it makes it"),
            ),
            Refusal::Settings(error) => settings(&error),
            Refusal::Configure(error) => configure(error),
            Refusal::Read(error) => error.into(),
            Refusal::Stage(error) => error.into(),
        }
    }
}

fn not_acceptable(is: &MediaType) -> Problem {
    let detail = format!("the document is {}: name that in Accept", is.as_str());
    Problem::new(Kind::NotAcceptable, detail).with("media_type", is.as_str())
}

fn not_yet(newest: CommitNumber, time: Timestamp) -> Problem {
    let expected = format!("a commit up to {newest}, or a time before {}", time.rfc3339());
    ParameterError::value("at", expected, "what has not come").into()
}

fn not_kept(since: Option<CommitNumber>) -> Problem {
    let detail = match since {
        Some(since) => format!("versions are no longer kept from before commit {since}"),
        None => "the collection keeps no versions but the present one".to_owned(),
    };
    Problem::new(Kind::NotKept, detail).with("since", since.map(|since| since.0))
}

fn query(error: QueryError) -> Problem {
    match error {
        QueryError::TooBroad(broad) => {
            let settings = broad.settings().and_then(|text| serde_json::from_str(text).ok());
            let problem = Problem::new(Kind::QueryTooBroad, broad.to_string());
            match settings {
                Some(settings) => problem.with("settings", Value::Object(settings)),
                None => problem,
            }
        }
        QueryError::Cursor => {
            ParameterError::value("after", QueryError::Cursor.to_string(), "another").into()
        }
        QueryError::Read(error) => error.into(),
        QueryError::Long | QueryError::NoCollection(_) => Problem::internal(&error),
    }
}

fn settings(error: &SettingsError) -> Problem {
    Problem::new(Kind::InvalidSettings, error.to_string()).with("pointer", error.pointer())
}

fn configure(error: ConfigureError) -> Problem {
    match error {
        ConfigureError::Settings(error) => settings(&error),
        ConfigureError::Unfit { .. } => Problem::new(Kind::InvalidSettings, error.to_string()),
        ConfigureError::Begin(error) => error.into(),
        ConfigureError::Read(error) => error.into(),
        ConfigureError::Commit(error) => error.into(),
    }
}

fn etag(version: Option<CommitNumber>) -> Value {
    version.map_or(Value::Null, |version| format!("\"{version}\"").into())
}

/// One problem for all steps that failed: 412 if only conditions did, 409 if the state of a
/// document is in the way, and otherwise what is wrong with the first of them.
fn steps(failed: Vec<(usize, Refusal)>) -> Problem {
    let failed: Vec<(usize, Problem)> =
        failed.into_iter().map(|(index, refusal)| (index, refusal.into())).collect();
    let first = failed.first().map_or(Kind::Internal, |(_, problem)| problem.kind);
    let kind = match first {
        Kind::NotFound | Kind::PatchMismatch => Kind::StepFailed,
        kind => kind,
    };
    let mut detail = "nothing was changed".to_owned();
    for (index, problem) in &failed {
        detail = format!("{detail}; operation {index}: {}", problem.detail);
    }
    let listed: Vec<Value> = failed.iter().map(|(index, problem)| step(*index, problem)).collect();
    Problem::new(kind, detail).with("failed", listed)
}

fn step(index: usize, problem: &Problem) -> Value {
    let row = problem.kind.row();
    let mut listed = json!({
        "operation": index,
        "type": format!("/errors/{}", row.name),
        "status": problem.status(),
        "detail": problem.detail,
    });
    for (name, value) in problem.more.iter().flat_map(|more| &more.members) {
        listed[name] = value.clone();
    }
    listed
}
