//! Problems: every way a request can fail, as RFC 9457 describes it. One table has the name, the
//! status and the title of each. Writing them to a socket is `http/reply`.

use crate::limits;
use crate::surface::Template;
use query::ParameterError;
use repository::{
    BeginError, CommitError, CommitNumber, Conflict, Contested, Duplicate, Poisoned, ReadError,
    SchemaFailure, StageError,
};
use std::borrow::Cow;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    BadRequest,
    BrokenBody,
    InvalidName,
    InvalidJson,
    NamesAlike,
    MalformedXml,
    TokenInUri,
    Unauthorized,
    InvalidToken,
    CrossSite,
    InsufficientScope,
    InvalidParameter,
    InvalidFilter,
    InvalidPatch,
    InvalidTransaction,
    NotFound,
    Gone,
    MethodNotAllowed,
    NotAcceptable,
    BodyTimeout,
    Conflict,
    IdentityConflict,
    ServiceRefused,
    Duplicate,
    PatchMismatch,
    StepFailed,
    LengthRequired,
    PreconditionFailed,
    PreconditionRequired,
    BodyTooLarge,
    UriTooLong,
    FieldsTooLarge,
    RangeNotSatisfiable,
    UnsupportedMediaType,
    ForeignHost,
    Unindexable,
    SchemaMismatch,
    InvalidSettings,
    QueryTooBroad,
    Unprocessable,
    InvalidEntry,
    KeyReused,
    TooManyAttempts,
    Internal,
    HandlerFailed,
    CpuLimit,
    HeapLimit,
    StackLimit,
    DocumentsLimit,
    ReplyLimit,
    NotImplemented,
    TransferCoding,
    Busy,
    Unavailable,
    NoSpace,
    FeedGone,
    NotKept,
}

/// A row of the table.
pub(crate) struct Row {
    /// The last part of the problem's `type`, which is a page of the documentation.
    pub name: &'static str,
    pub status: u16,
    pub title: &'static str,
}

impl Kind {
    /// Every one.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 57] = [
        Self::BadRequest,
        Self::BrokenBody,
        Self::InvalidName,
        Self::InvalidJson,
        Self::NamesAlike,
        Self::MalformedXml,
        Self::TokenInUri,
        Self::Unauthorized,
        Self::InvalidToken,
        Self::CrossSite,
        Self::InsufficientScope,
        Self::InvalidParameter,
        Self::InvalidFilter,
        Self::InvalidPatch,
        Self::InvalidTransaction,
        Self::NotFound,
        Self::Gone,
        Self::MethodNotAllowed,
        Self::NotAcceptable,
        Self::BodyTimeout,
        Self::Conflict,
        Self::IdentityConflict,
        Self::ServiceRefused,
        Self::Duplicate,
        Self::PatchMismatch,
        Self::StepFailed,
        Self::LengthRequired,
        Self::PreconditionFailed,
        Self::PreconditionRequired,
        Self::BodyTooLarge,
        Self::UriTooLong,
        Self::FieldsTooLarge,
        Self::RangeNotSatisfiable,
        Self::UnsupportedMediaType,
        Self::ForeignHost,
        Self::Unindexable,
        Self::SchemaMismatch,
        Self::InvalidSettings,
        Self::QueryTooBroad,
        Self::Unprocessable,
        Self::InvalidEntry,
        Self::KeyReused,
        Self::TooManyAttempts,
        Self::Internal,
        Self::HandlerFailed,
        Self::CpuLimit,
        Self::HeapLimit,
        Self::StackLimit,
        Self::DocumentsLimit,
        Self::ReplyLimit,
        Self::NotImplemented,
        Self::TransferCoding,
        Self::Busy,
        Self::Unavailable,
        Self::NoSpace,
        Self::FeedGone,
        Self::NotKept,
    ];

    /// The table.
    pub(crate) const fn row(self) -> Row {
        let (name, status, title) = self.told();
        Row { name, status, title }
    }

    /// Name, status and title.
    const fn told(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::BadRequest => ("bad-request", 400, "The request is not well formed"),
            Self::BrokenBody => ("broken-body", 400, "The request body did not arrive whole"),
            Self::InvalidName => ("invalid-name", 400, "The name cannot be one"),
            Self::InvalidJson => ("invalid-json", 400, "The body is not JSON"),
            Self::NamesAlike => ("names-alike", 400, "The names of members hash alike"),
            Self::TokenInUri => ("token-in-uri", 400, "A token was sent in the URI"),
            Self::Unauthorized => ("unauthorized", 401, "A token is needed"),
            Self::InvalidToken => ("invalid-token", 401, "The token is not valid"),
            Self::InsufficientScope => ("insufficient-scope", 403, "The token does not allow this"),
            Self::InvalidParameter => {
                ("invalid-parameter", 400, "A parameter of the URI cannot be used")
            }
            Self::InvalidFilter => ("invalid-filter", 400, "The filter is none"),
            Self::InvalidPatch => ("invalid-patch", 400, "The body is no patch"),
            Self::InvalidTransaction => {
                ("invalid-transaction", 400, "The body is no list of operations")
            }
            Self::CrossSite => ("cross-site", 403, "The request comes from another site"),
            Self::Gone => ("gone", 410, "It was deleted"),
            Self::MalformedXml => ("malformed-xml", 400, "The body is not the XML that is wanted"),
            Self::IdentityConflict => ("identity-conflict", 409, "There is another one already"),
            Self::InvalidEntry => ("invalid-entry", 422, "The document breaks a rule of Atom"),
            Self::NotFound => ("not-found", 404, "There is nothing here"),
            Self::MethodNotAllowed => ("method-not-allowed", 405, "The method is not for this"),
            Self::NotAcceptable => ("not-acceptable", 406, "The document has another media type"),
            Self::BodyTimeout => ("body-timeout", 408, "The request body came too slowly"),
            Self::Duplicate => ("duplicate", 409, "Another document has the same unique values"),
            Self::Conflict => ("conflict", 409, "The transaction lost to another"),
            Self::ServiceRefused => ("service-refused", 409, "The application refuses"),
            Self::PatchMismatch => {
                ("patch-mismatch", 409, "The document is not as the patch expects")
            }
            Self::StepFailed => ("step-failed", 409, "An operation of the list cannot be done"),
            Self::LengthRequired => ("length-required", 411, "The request has no content"),
            Self::PreconditionRequired => ("precondition-required", 428, "A condition is required"),
            Self::PreconditionFailed => ("precondition-failed", 412, "A precondition is false"),
            Self::BodyTooLarge => ("body-too-large", 413, "The body is too large"),
            Self::UriTooLong => ("uri-too-long", 414, "The URI is too long"),
            Self::FieldsTooLarge => ("fields-too-large", 431, "The header fields are too large"),
            Self::RangeNotSatisfiable => {
                ("range-not-satisfiable", 416, "The document has no such part")
            }
            Self::UnsupportedMediaType => {
                ("unsupported-media-type", 415, "The media type cannot be stored")
            }
            Self::ForeignHost => ("foreign-host", 421, "The server is not known by that name"),
            Self::Unindexable => ("unindexable", 422, "The document does not fit an index"),
            Self::SchemaMismatch => {
                ("schema-mismatch", 422, "The document does not fit the schema")
            }
            Self::InvalidSettings => {
                ("invalid-settings", 422, "The collection cannot have these settings")
            }
            Self::QueryTooBroad => ("query-too-broad", 422, "The query would read too much"),
            Self::Unprocessable => ("unprocessable", 422, "The request cannot be carried out"),
            Self::KeyReused => {
                ("idempotency-key-reused", 422, "The Idempotency-Key belongs to another request")
            }
            Self::TooManyAttempts => ("too-many-attempts", 429, "Too many tokens were refused"),
            Self::Internal => ("internal", 500, "The server failed"),
            Self::HandlerFailed => ("handler-failed", 500, "The application failed"),
            Self::CpuLimit => ("cpu-limit", 500, "The application ran too long"),
            Self::HeapLimit => ("heap-limit", 500, "The application used too much memory"),
            Self::DocumentsLimit => {
                ("documents-limit", 500, "The application read or wrote too many documents")
            }
            Self::StackLimit => ("stack-limit", 500, "The application recursed too deeply"),
            Self::ReplyLimit => ("reply-limit", 500, "The application's reply is too large"),
            Self::NotImplemented => ("not-implemented", 501, "The method is not known"),
            Self::TransferCoding => ("transfer-coding", 501, "The transfer coding is not known"),
            Self::Busy => ("busy", 503, "The server is busy"),
            Self::Unavailable => ("unavailable", 503, "The repository is not available"),
            Self::NoSpace => ("no-space", 507, "The disk is nearly full"),
            Self::FeedGone => ("feed-gone", 410, "The feed does not reach back so far"),
            Self::NotKept => ("not-kept", 410, "The version is not kept"),
        }
    }

    /// Whether the connection cannot be used afterwards: the end of the request is not known.
    pub(crate) fn closes(self) -> bool {
        matches!(
            self,
            Self::BrokenBody | Self::BodyTimeout | Self::BodyTooLarge | Self::TransferCoding
        )
    }

    /// After how many seconds the same request may succeed, where it may.
    pub(crate) fn retry_after_s(self) -> Option<u64> {
        match self {
            Self::Busy => Some(limits::RETRY_AFTER_S),
            Self::TooManyAttempts => Some(limits::REFUSAL_REFILL.as_secs()),
            _ => None,
        }
    }

    /// What WWW-Authenticate says (RFC 6750 §3). Who sent no token is told of no error (§3.1).
    pub(crate) fn challenge(self) -> Option<&'static str> {
        match self {
            Self::Unauthorized => Some("Bearer realm=\"sarsen\""),
            Self::InvalidToken => Some("Bearer realm=\"sarsen\", error=\"invalid_token\""),
            Self::InsufficientScope => {
                Some("Bearer realm=\"sarsen\", error=\"insufficient_scope\"")
            }
            Self::TokenInUri => Some("Bearer realm=\"sarsen\", error=\"invalid_request\""),
            _ => None,
        }
    }
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub kind: Kind,
    /// What was expected, what came, what to do.
    pub detail: Cow<'static, str>,
    /// What few problems have.
    pub more: Option<Box<More>>,
}

/// What a problem tells beside its detail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct More {
    /// The status, where it is not that of the kind.
    pub status: Option<u16>,
    /// The methods that are allowed, as the Allow field lists them.
    pub allow: Option<String>,
    /// The media types that the method takes, as Accept lists them.
    pub accept: Option<String>,
    /// The same for PATCH, as Accept-Patch lists them (RFC 5789 §3.1).
    pub accept_patch: Option<String>,
    /// The codings that content may have, as Accept-Encoding lists them (RFC 9110 §15.5.16).
    pub accept_encoding: Option<&'static str>,
    /// Whether another Accept would have led to another reply.
    pub varies_by_accept: bool,
    /// The newest commit that the problem reveals something of.
    pub commit: Option<CommitNumber>,
    /// What is known of the application's failure, and whether its developer asks.
    pub failed: Option<(Box<gem::Report>, bool)>,
    /// Extension members (RFC 9457 §3.2), in this order.
    pub members: Vec<(&'static str, serde_json::Value)>,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, detail: detail.into(), more: None }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(Kind::NotFound, "no document or page has this URI")
    }

    pub(crate) fn method_not_allowed(template: Template) -> Self {
        let allow = template.allow();
        let mut problem =
            Self::new(Kind::MethodNotAllowed, format!("{} takes {allow}", template.path()));
        problem.more().allow = Some(allow);
        problem
    }

    /// For what few problems have.
    pub(crate) fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// With an extension member.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<serde_json::Value>) -> Self {
        self.more().members.push((name, value.into()));
        self
    }

    /// With another status than its kind has.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.more().status = Some(status);
        self
    }

    /// Its status.
    pub(crate) fn status(&self) -> u16 {
        let own = self.more.as_ref().and_then(|more| more.status);
        own.unwrap_or_else(|| self.kind.row().status)
    }

    /// Said after the repository was looked at, up to `commit`.
    pub(crate) fn at(mut self, commit: CommitNumber) -> Self {
        self.more().commit = Some(commit);
        self
    }

    /// A failure of the server itself: its cause goes to the log, not to the client.
    pub(crate) fn internal(cause: &dyn std::fmt::Display) -> Self {
        log::error!("a request failed: {cause}");
        Self::new(Kind::Internal, "the cause is in the server's log")
    }

    /// The repository was poisoned before the request took effect.
    fn refused() -> Self {
        Self::new(
            Kind::Unavailable,
            "nothing was changed: commits cannot be made durable until the server's operator has \
             reopened the repository",
        )
    }

    fn closed() -> Self {
        Self::new(Kind::Unavailable, "the server is being shut down; nothing was changed")
    }

    /// The problem as `application/problem+json`.
    pub(crate) fn to_json(&self) -> String {
        let Row { name, title, .. } = self.kind.row();
        let status = self.status();
        let mut json = serde_json::json!({
            "type": format!("/errors/{name}"),
            "title": title,
            "status": status,
            "detail": self.detail,
        });
        for (name, value) in self.more.iter().flat_map(|more| &more.members) {
            json[name] = value.clone();
        }
        json.to_string()
    }
}

impl From<Poisoned> for Problem {
    /// For a request that had run when it turned out that its commit, or what it read, will not
    /// become durable. The cause is for the operator, not for the client.
    fn from(poisoned: Poisoned) -> Self {
        // The repository has said it at level error, once.
        log::debug!("a reply was withheld: {poisoned}");
        Self::new(
            Kind::Unavailable,
            "it is not known whether the request took effect: commits cannot be made durable until \
             the server's operator has reopened the repository",
        )
    }
}

impl From<ParameterError> for Problem {
    fn from(error: ParameterError) -> Self {
        let kind = match &error {
            ParameterError::Mistake { name: "filter", .. } => Kind::InvalidFilter,
            _ => Kind::InvalidParameter,
        };
        let problem = Self::new(kind, error.to_string());
        match error {
            ParameterError::Mistake { name, mistake } => {
                problem.with("parameter", name).with("position", mistake.at)
            }
            ParameterError::Repeated { name } | ParameterError::Value { name, .. } => {
                problem.with("parameter", name)
            }
            ParameterError::Unknown { .. } | ParameterError::Encoding { .. } => problem,
        }
    }
}

impl From<BeginError> for Problem {
    fn from(error: BeginError) -> Self {
        match error {
            BeginError::Poisoned(_) => Self::refused(),
            BeginError::Closed => Self::closed(),
        }
    }
}

impl From<CommitError> for Problem {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Poisoned(_) => Self::refused(),
            CommitError::Overloaded(_) | CommitError::ViewTooOld(_) => {
                Self::new(Kind::Busy, error.to_string())
            }
            CommitError::NoSpace { .. } => Self::new(
                Kind::NoSpace,
                "the server's disk is nearly full, so it takes no writes; deletions are taken",
            ),
            CommitError::TooManyCollections => Self::new(Kind::BadRequest, error.to_string()),
            CommitError::Read(error) => error.into(),
            CommitError::NoProgress => Self::internal(&error.to_string()),
            CommitError::Closed => Self::closed(),
        }
    }
}

impl From<&Conflict> for Problem {
    fn from(conflict: &Conflict) -> Self {
        // What is Sarsen's own is nobody's business.
        let told = conflict.documents.iter().filter(|contested| !contested.collection.is_system());
        let documents: Vec<_> = told.map(contested).collect();
        let detail = "another commit has changed what was read; nothing was changed: send it again";
        Self::new(Kind::Conflict, detail)
            .with("competitor", conflict.competitor.0)
            .with("documents", documents)
    }
}

fn contested(contested: &Contested) -> serde_json::Value {
    serde_json::json!({
        "collection": contested.collection.as_str(),
        "key": contested.key.as_str(),
        "competitor": contested.competitor.0,
        "paths": contested.paths,
    })
}

fn failure(failure: &SchemaFailure) -> serde_json::Value {
    serde_json::json!({
        "path": failure.path,
        "schema": failure.schema,
        "reason": failure.reason,
    })
}

impl From<Duplicate> for Problem {
    fn from(duplicate: Duplicate) -> Self {
        let Duplicate { collection, index, key, holder } = &duplicate;
        Self::new(Kind::Duplicate, duplicate.to_string())
            .with("collection", collection.as_str())
            .with("key", key.as_str())
            .with("index", index.as_str())
            .with("holder", holder.as_str())
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        Self::internal(&error)
    }
}

impl From<StageError> for Problem {
    fn from(error: StageError) -> Self {
        match error {
            StageError::DocumentTooLarge { bytes } => Self::new(
                Kind::BodyTooLarge,
                format!(
                    "a document has at most {} bytes; this one has {bytes} in the form in which \
                     it is stored",
                    limits::BODY_BYTES_MAX
                ),
            ),
            StageError::MediaTypeTooLong { .. } => {
                Self::new(Kind::UnsupportedMediaType, error.to_string())
            }
            StageError::NamesAlike(_) => Self::new(Kind::NamesAlike, error.to_string()),
            StageError::NotJson { .. } => Self::new(Kind::UnsupportedMediaType, error.to_string()),
            StageError::Schema(misfit) => {
                let failures: Vec<_> = misfit.failures.iter().map(failure).collect();
                Self::new(Kind::SchemaMismatch, misfit.to_string()).with("failures", failures)
            }
            StageError::Index(_) => Self::new(Kind::Unindexable, error.to_string()),
            StageError::Merge { .. } => Self::new(Kind::PatchMismatch, error.to_string()),
            StageError::TooManyRows
            | StageError::TransactionTooLarge
            | StageError::TooManyMerges
            | StageError::MergePathTooLong { .. } => {
                Self::new(Kind::Unprocessable, error.to_string())
            }
            // A list has fewer operations than a transaction may have writes.
            StageError::Ended { .. }
            | StageError::TooManyWrites
            | StageError::Reserved { .. }
            | StageError::Read(_) => Self::internal(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repository::{CollectionName, Key};

    #[test]
    fn every_problem_has_a_name_of_its_own_and_an_error_status() {
        let names: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|k| k.row().name).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        for kind in Kind::ALL {
            let row = kind.row();
            assert!((400..600).contains(&row.status), "{}", row.name);
            assert!(row.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", row.name);
        }
    }

    #[test]
    fn the_list_of_kinds_is_complete() {
        let text = include_str!("problem.rs");
        let (_, after) = text.split_once("enum Kind {").unwrap();
        let (names, _) = after.split_once('}').unwrap();
        let names: Vec<_> = names.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
        assert_eq!(names, Kind::ALL.map(|kind| format!("{kind:?}")));
    }

    #[test]
    fn a_conflict_is_reported_with_all_that_is_known() {
        let documents = vec![Contested {
            collection: CollectionName::new("notes").unwrap(),
            key: Key::new("a").unwrap(),
            competitor: CommitNumber(7),
            paths: vec!["/n".to_owned()],
        }];
        let own = Contested {
            collection: CollectionName::new("_answers").unwrap(),
            ..documents[0].clone()
        };
        let documents = [own].into_iter().chain(documents).collect();
        let problem = Problem::from(&Conflict { documents, competitor: CommitNumber(7) });
        let json: serde_json::Value = serde_json::from_str(&problem.to_json()).unwrap();
        assert_eq!((&json["status"], &json["competitor"]), (&409.into(), &7.into()));
        let document = &json["documents"][0];
        assert_eq!(document["collection"], "notes");
        assert_eq!((&document["key"], &document["competitor"]), (&"a".into(), &7.into()));
        assert_eq!(document["paths"], serde_json::json!(["/n"]));
        assert_eq!(json["documents"].as_array().unwrap().len(), 1, "Sarsen's own is not told");
    }

    #[test]
    fn a_detail_cannot_break_out_of_the_json() {
        let problem = Problem::new(Kind::InvalidName, "got \"a\\b\"\n");
        assert_eq!(
            problem.to_json(),
            r#"{"type":"/errors/invalid-name","title":"The name cannot be one","status":400,"#
                .to_owned()
                + r#""detail":"got \"a\\b\"\n"}"#
        );
    }

    #[test]
    fn a_document_that_grew_past_the_bound_is_the_clients_affair() {
        let problem = Problem::from(StageError::DocumentTooLarge { bytes: 9_000_000 });
        assert_eq!(problem.kind.row().status, 413);
        assert!(problem.detail.contains("9000000"), "{}", problem.detail);
    }
}
