//! The surface: the one table of what HTTP clients can do. Allow, the answer to OPTIONS and
//! `/openapi.json` come from here; a test holds it against the router. What a request does is in
//! `http/rest`.

use hyper::Method;

/// A kind of resource: all URIs of one path template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Template {
    Document,
    Collection,
    Collections,
    Transactions,
    Feed,
    Health,
    Readiness,
    Metrics,
    Description,
    Problems,
    Problem,
}

impl Template {
    /// Every one.
    pub(crate) const ALL: [Self; 11] = [
        Self::Document,
        Self::Collection,
        Self::Collections,
        Self::Transactions,
        Self::Feed,
        Self::Health,
        Self::Readiness,
        Self::Metrics,
        Self::Description,
        Self::Problems,
        Self::Problem,
    ];

    /// As OpenAPI writes it.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Document => "/db/{collection}/{key}",
            Self::Collection => "/db/{collection}",
            Self::Collections => "/db",
            Self::Transactions => "/tx",
            Self::Feed => "/feed",
            Self::Health => "/healthz",
            Self::Readiness => "/readyz",
            Self::Metrics => "/metrics",
            Self::Description => "/openapi.json",
            Self::Problems => "/errors",
            Self::Problem => "/errors/{problem}",
        }
    }

    /// The rows of this resource.
    pub(crate) fn rows(self) -> impl Iterator<Item = &'static Row> {
        TABLE.iter().filter(move |row| row.template == self)
    }

    /// The methods, as the Allow field lists them (RFC 9110 §10.2.1). Whatever takes GET takes
    /// HEAD, and everything takes OPTIONS.
    pub(crate) fn allow(self) -> String {
        let mut allow = String::new();
        for row in self.rows() {
            allow.push_str(row.method.as_str());
            allow.push_str(if row.method == Method::GET { ", HEAD, " } else { ", " });
        }
        allow + "OPTIONS"
    }

    /// The media types that `method` takes, as Accept and Accept-Patch list them (RFC 5789 §3.1,
    /// RFC 9110 §12.5.1); empty if it takes none.
    pub(crate) fn accepts(self, method: &Method) -> String {
        let row = self.rows().find(|row| row.method == *method);
        row.map_or_else(String::new, |row| row.accepts.join(", "))
    }
}

/// One method of one kind of resource.
pub(crate) struct Row {
    pub template: Template,
    /// GET stands for HEAD as well.
    pub method: Method,
    /// The operation's id in OpenAPI.
    pub id: &'static str,
    pub summary: &'static str,
    /// Besides those in the template.
    pub parameters: &'static [Parameter],
    /// Media types of the request's content; `*/*`: any. Empty: it takes none.
    pub accepts: &'static [&'static str],
    /// What may come back beside the problems that every request may meet ([`ALWAYS`]).
    pub responses: &'static [Reply],
}

/// Where a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Query,
    Header,
}

/// A parameter that is never required.
pub(crate) struct Parameter {
    pub name: &'static str,
    pub place: Place,
    pub about: &'static str,
}

/// A status that may come back.
pub(crate) struct Reply {
    pub status: u16,
    pub about: &'static str,
    pub content: Content,
    /// Names of header fields, beside Sarsen-Commit and those of every HTTP reply.
    pub fields: &'static [&'static str],
}

/// What a reply holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    None,
    /// A document, of whatever media type it has.
    Document,
    /// JSON of the server's own.
    Json,
    Text,
    /// `application/health+json`.
    Health,
    /// Server-sent events, or JSON of the server's own.
    Events,
    /// OpenMetrics.
    Metrics,
    /// HTML or Markdown.
    Page,
    /// RFC 9457.
    Problem,
}

const fn header(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, place: Place::Header, about }
}

const fn query(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, place: Place::Query, about }
}

const fn reply(
    status: u16,
    about: &'static str,
    content: Content,
    fields: &'static [&'static str],
) -> Reply {
    Reply { status, about, content, fields }
}

const fn problem(status: u16, about: &'static str) -> Reply {
    Reply { status, about, content: Content::Problem, fields: &[] }
}

/// The media type of lists of merge operations.
pub(crate) const MERGE_OPERATIONS: &str = "application/vnd.sarsen.merge+json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";

const IF_MATCH: Parameter = header("If-Match", "entity tags, or *: one must be the document's");
const IF_NONE_MATCH: Parameter = header("If-None-Match", "entity tags, or *: none may be");
const IF_MODIFIED: Parameter = header("If-Modified-Since", "a date, for GET");
const IF_UNMODIFIED: Parameter = header("If-Unmodified-Since", "a date; If-Match goes before");
const PREFER: Parameter = header("Prefer", "return=minimal or return=representation");
const ONCE: Parameter = header("Idempotency-Key", "names the request: sent again, it runs once");
const WRITE: &[Parameter] = &[IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED, PREFER, ONCE];

const RESTORE: &[Parameter] = &[
    query("restore", "the number of the commit"),
    IF_MATCH,
    IF_NONE_MATCH,
    IF_UNMODIFIED,
    PREFER,
    ONCE,
];

const ETAG: &[&str] = &["ETag", "Sarsen-Durability"];
const WITH_DOCUMENT: &[&str] =
    &["ETag", "Content-Location", "Preference-Applied", "Sarsen-Durability"];
const WRITTEN: Reply = reply(204, "written", Content::None, ETAG);
const SHOWN: Reply = reply(200, "written; the document", Content::Document, WITH_DOCUMENT);
const CREATED: Reply = reply(201, "created", Content::None, ETAG);
const ACCEPT_PAGE: Parameter = header("Accept", "text/html, or text/markdown");
const NO_PAGE: Reply = problem(404, "there is no such kind of problem");
const NOT_FOUND: Reply = problem(404, "there is no such document");
const NOT_KEPT: Reply = problem(410, "the version is not kept, or not any more");
const NO_COLLECTION: Reply = problem(404, "there is no such collection");
const FAILED: Reply = problem(412, "a precondition is false");
const UNCONDITIONAL: Reply = problem(428, "the collection wants a condition on overwriting");
const CONFLICT: Reply = problem(409, "in conflict with what is there");
const UNTYPED: Reply = problem(415, "the media type is not taken");
const UNFIT: Reply = problem(422, "understood, and cannot be done");
const TOO_LARGE: Reply = problem(413, "too large");
const NO_LENGTH: Reply = problem(411, "the request has no content, and does not say so");

/// Problems that every request may meet.
pub(crate) const ALWAYS: &[Reply] = &[
    problem(400, "not well formed"),
    problem(403, "from a page of another site"),
    problem(404, "there is nothing here"),
    problem(405, "not a method of this"),
    problem(408, "the content came too slowly"),
    problem(413, "too large"),
    problem(414, "the URI is too long"),
    problem(431, "the header fields are too large"),
    problem(421, "the server is not known by that name"),
    problem(500, "the server failed"),
    problem(501, "the content comes in a transfer coding that is not known"),
    problem(503, "busy, or not available"),
    problem(507, "the disk is nearly full"),
];

/// The table.
pub(crate) static TABLE: &[Row] = &[
    Row {
        template: Template::Document,
        method: Method::GET,
        id: "getDocument",
        summary: "Read a document",
        parameters: &[
            query("at", "the number of a commit, or a time: the version that was there then"),
            query("versions", "without a value: list the versions, the newest first"),
            query("limit", "of versions: how many at most, 1 to 1000; without it 50"),
            query("after", "of versions: the \"next\" of the page before"),
            header("Accept", "media types, with weights"),
            IF_MATCH,
            IF_NONE_MATCH,
            IF_MODIFIED,
            IF_UNMODIFIED,
            header("Range", "bytes=FIRST-LAST, of a document that is not JSON"),
            header("If-Range", "the ETag of which Range is meant"),
        ],
        accepts: &[],
        responses: &[
            reply(200, "the document", Content::Document, &["ETag", "Last-Modified"]),
            reply(206, "a part of it", Content::Document, &["ETag", "Content-Range"]),
            reply(304, "you have this version", Content::None, &["ETag"]),
            NOT_FOUND,
            NOT_KEPT,
            problem(406, "the document has another media type"),
            FAILED,
            reply(416, "it has no such part", Content::Problem, &["Content-Range"]),
        ],
    },
    Row {
        template: Template::Document,
        method: Method::PUT,
        id: "putDocument",
        summary: "Write a document, whether there is one or not",
        parameters: WRITE,
        accepts: &["*/*"],
        responses: &[
            SHOWN,
            CREATED,
            WRITTEN,
            CONFLICT,
            NO_LENGTH,
            FAILED,
            TOO_LARGE,
            UNTYPED,
            UNFIT,
            UNCONDITIONAL,
        ],
    },
    Row {
        template: Template::Document,
        method: Method::PATCH,
        id: "patchDocument",
        summary: "Change a JSON document in part",
        parameters: WRITE,
        accepts: &[MERGE_PATCH, JSON_PATCH, MERGE_OPERATIONS],
        responses: &[
            SHOWN,
            CREATED,
            WRITTEN,
            NOT_FOUND,
            CONFLICT,
            NO_LENGTH,
            FAILED,
            TOO_LARGE,
            UNTYPED,
            UNFIT,
            UNCONDITIONAL,
        ],
    },
    Row {
        template: Template::Document,
        method: Method::DELETE,
        id: "deleteDocument",
        summary: "Remove a document",
        parameters: WRITE,
        accepts: &[],
        responses: &[
            reply(204, "removed", Content::None, &["Sarsen-Durability"]),
            NOT_FOUND,
            FAILED,
            UNFIT,
            UNCONDITIONAL,
        ],
    },
    Row {
        template: Template::Document,
        method: Method::POST,
        id: "restoreDocument",
        summary: "Write the version again that was there after a commit",
        parameters: RESTORE,
        accepts: &[],
        responses: &[
            SHOWN,
            CREATED,
            WRITTEN,
            NOT_FOUND,
            CONFLICT,
            NOT_KEPT,
            FAILED,
            UNTYPED,
            UNFIT,
            UNCONDITIONAL,
        ],
    },
    Row {
        template: Template::Collection,
        method: Method::POST,
        id: "createDocument",
        summary: "Create a document under a new key",
        parameters: &[
            header("Slug", "what the key should be like (RFC 5023 §9.7)"),
            IF_NONE_MATCH,
            PREFER,
            ONCE,
        ],
        accepts: &["*/*"],
        responses: &[
            reply(201, "created; Location says where", Content::Document, CREATED_FIELDS),
            CONFLICT,
            NO_LENGTH,
            FAILED,
            TOO_LARGE,
            UNTYPED,
            UNFIT,
        ],
    },
    Row {
        template: Template::Collection,
        method: Method::GET,
        id: "queryDocuments",
        summary: "List documents; with ?settings or ?status alone, tell about the collection",
        parameters: &[
            query("filter", "which documents, in the language of AIP-160"),
            query("order", "fields, each with asc or desc: stars desc, title"),
            query("limit", "how many at most, 0 to 1000; without it 50"),
            query("after", "the \"next\" of the page before"),
            query("fields", "members to give: title, author.name"),
            query("count", "true: how many there are in all"),
            query("explain", "true: how they were found"),
        ],
        accepts: &[],
        responses: &[
            reply(200, "a page of documents", Content::Json, &["Link", "ETag", "Last-Modified"]),
            reply(304, "you have these settings", Content::None, &["ETag"]),
            NO_COLLECTION,
            problem(406, "with ?feed alone: Accept admits neither form of it"),
            FAILED,
            problem(422, "it would read too much; the index that would help"),
        ],
    },
    Row {
        template: Template::Collection,
        method: Method::PUT,
        id: "putSettings",
        summary: "Give a collection its settings; make it if it is not there",
        parameters: WRITE,
        accepts: &["application/json"],
        responses: &[
            SHOWN, CREATED, WRITTEN, CONFLICT, NO_LENGTH, FAILED, TOO_LARGE, UNTYPED, UNFIT,
        ],
    },
    Row {
        template: Template::Collection,
        method: Method::PATCH,
        id: "patchSettings",
        summary: "Change the settings of a collection in part",
        parameters: WRITE,
        accepts: &[MERGE_PATCH, JSON_PATCH],
        responses: &[
            SHOWN,
            WRITTEN,
            NO_COLLECTION,
            CONFLICT,
            NO_LENGTH,
            FAILED,
            TOO_LARGE,
            UNTYPED,
            UNFIT,
        ],
    },
    Row {
        template: Template::Collection,
        method: Method::DELETE,
        id: "endCollection",
        summary: "Drop a collection; with ?documents alone, empty it and keep its settings",
        parameters: &[IF_MATCH, IF_NONE_MATCH, IF_UNMODIFIED, ONCE],
        accepts: &[],
        responses: &[
            reply(204, "gone", Content::None, &["Sarsen-Durability"]),
            NO_COLLECTION,
            FAILED,
            UNFIT,
        ],
    },
    Row {
        template: Template::Collections,
        method: Method::GET,
        id: "listCollections",
        summary: "List collections, with their settings and how far their indexes are",
        parameters: &[
            query("limit", "how many at most, 0 to 1000; without it 100"),
            query("after", "the last name of the page before"),
        ],
        accepts: &[],
        responses: &[reply(200, "a page of collections", Content::Json, &["Link"])],
    },
    Row {
        template: Template::Transactions,
        method: Method::POST,
        id: "transact",
        summary: "Perform a list of operations, all or none",
        parameters: &[
            query("isolation", "serializable, as it is without, or snapshot"),
            query("conflict", "retry, as it is without, or report"),
            PREFER,
            ONCE,
        ],
        accepts: &["application/json"],
        responses: &[
            reply(200, "what each came to", Content::Json, &["Sarsen-Durability"]),
            CONFLICT,
            NO_LENGTH,
            FAILED,
            TOO_LARGE,
            UNTYPED,
            UNFIT,
            UNCONDITIONAL,
        ],
    },
    Row {
        template: Template::Feed,
        method: Method::GET,
        id: "getFeed",
        summary: "Tell what is committed, as it happens, or in pages for Accept: application/json",
        parameters: &[
            query("after", "the commit to go on after; without it, what is committed from now on"),
            query("collections", "only these, with commas"),
            header("Last-Event-ID", "as after, which it goes before"),
            header("Accept", "text/event-stream, or application/json for one page"),
        ],
        accepts: &[],
        responses: &[
            reply(200, "events, or a page of commits", Content::Events, &["Vary"]),
            problem(406, "Accept admits neither of the two forms"),
            problem(410, "what comes next is not kept any more; from where it is"),
        ],
    },
    Row {
        template: Template::Health,
        method: Method::GET,
        id: "getHealth",
        summary: "Say that the process answers",
        parameters: &[],
        accepts: &[],
        responses: &[reply(200, "it does", Content::Text, &[])],
    },
    Row {
        template: Template::Readiness,
        method: Method::GET,
        id: "getReadiness",
        summary: "Say whether the server can do its work",
        parameters: &[],
        accepts: &[],
        responses: &[
            reply(200, "it can", Content::Health, &[]),
            reply(503, "it cannot; which check fails", Content::Health, &[]),
        ],
    },
    Row {
        template: Template::Metrics,
        method: Method::GET,
        id: "getMetrics",
        summary: "Tell what is counted",
        parameters: &[],
        accepts: &[],
        responses: &[reply(200, "OpenMetrics 1.0", Content::Metrics, &[])],
    },
    Row {
        template: Template::Description,
        method: Method::GET,
        id: "getDescription",
        summary: "Describe what can be asked",
        parameters: &[],
        accepts: &[],
        responses: &[reply(200, "OpenAPI 3.1", Content::Json, &[])],
    },
    Row {
        template: Template::Problems,
        method: Method::GET,
        id: "listProblems",
        summary: "List the kinds of problems",
        parameters: &[ACCEPT_PAGE],
        accepts: &[],
        responses: &[reply(200, "the list", Content::Page, &["Vary"])],
    },
    Row {
        template: Template::Problem,
        method: Method::GET,
        id: "getProblem",
        summary: "Explain a kind of problem",
        parameters: &[ACCEPT_PAGE],
        accepts: &[],
        responses: &[reply(200, "the page", Content::Page, &["Vary"]), NO_PAGE],
    },
];

const CREATED_FIELDS: &[&str] =
    &["ETag", "Location", "Content-Location", "Preference-Applied", "Sarsen-Durability"];

/// The methods of the server as a whole (`OPTIONS *`).
pub(crate) const SERVER_METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
