//! REST: parses the head of a request. What is complete without content is an `Operation`; the rest
//! becomes one in `content_of`. After this nothing knows HTTP.

use crate::http::content;
use crate::http::content_of::{Target, Write};
use crate::http::cors::Origins;
use crate::http::feed::{self, Wanted};
use crate::http::list::Manner;
use crate::http::page::Page;
use crate::http::path::{self, Resource};
use crate::http::{accept, bearer, collections, conditions, once, origin, past, problems, wishes};
use crate::limits;
use crate::operation::{Operation, Place};
use crate::problem::{Kind, Problem};
use crate::surface::{SERVER_METHODS, Template};
use hyper::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Version};
use repository::CollectionName;

/// Where a request goes, by its head alone.
#[derive(Debug)]
pub(crate) enum Route {
    /// It asks what may be done with these URIs; `None`: with the server as a whole.
    Options(Option<Template>),
    /// It is complete without a body.
    Operation(Operation),
    /// It is complete with its body.
    Write(Write),
    /// It is for one of the server's own pages.
    Page(Page),
    /// It asks what was committed.
    Feed(Wanted),
    /// It is for publishing, body and all.
    Atom,
    /// It is for the application, body and all.
    App,
}

/// What there is to go to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    /// Whether there is an application.
    pub has_app: bool,
    /// Whether only this machine can reach the server.
    pub is_local: bool,
    /// Whose pages may write.
    pub origins: &'a Origins,
}

/// Finds where a request goes.
pub(crate) fn route(parts: &Parts, site: Site<'_>) -> Result<Route, Problem> {
    check(parts)?;
    let resource = path::locate(parts.uri.path())?;
    if is_guarded(&resource) {
        origin::check(parts, site.is_local, site.origins)?;
    }
    match resource {
        Resource::Document(place) => document(parts, place),
        Resource::Collections => collections::list(parts),
        Resource::Collection(name) => collection(parts, name),
        Resource::Transactions => transactions(parts),
        Resource::Feed => self::feed(parts),
        Resource::Atom => Ok(Route::Atom),
        Resource::Page(page) => self::page(parts, page),
        Resource::Server if parts.method == Method::OPTIONS => Ok(Route::Options(None)),
        Resource::App if site.has_app => Ok(Route::App),
        Resource::Server | Resource::App => Err(Problem::not_found()),
    }
}

/// Whether not every page of the web may ask for it.
fn is_guarded(resource: &Resource) -> bool {
    match resource {
        Resource::Document(_)
        | Resource::Collections
        | Resource::Collection(_)
        | Resource::Transactions
        | Resource::Atom
        | Resource::Feed => true,
        Resource::Page(page) => *page == Page::Metrics,
        Resource::Server | Resource::App => false,
    }
}

/// What every request must keep to.
fn check(parts: &Parts) -> Result<(), Problem> {
    check_uri(parts)?;
    check_fields(parts)?;
    check_host(parts)?;
    if is_known(&parts.method) {
        return Ok(());
    }
    let detail = format!("the methods known here are {SERVER_METHODS}");
    Err(Problem::new(Kind::NotImplemented, detail))
}

fn check_uri(parts: &Parts) -> Result<(), Problem> {
    let bytes = parts.uri.path_and_query().map_or(0, |uri| uri.as_str().len());
    if bytes <= limits::URI_BYTES_MAX {
        return Ok(());
    }
    Err(uri_too_long(&bytes.to_string()))
}

/// A path and query of `got` bytes.
pub(super) fn uri_too_long(got: &str) -> Problem {
    let detail = format!("path and query have at most {} bytes", limits::URI_BYTES_MAX);
    Problem::new(Kind::UriTooLong, format!("{detail}; got {got}"))
}

/// In HTTP/1 the head has been bounded as it was read. What counts in HTTP/2 is RFC 9113 §6.5.2's.
fn check_fields(parts: &Parts) -> Result<(), Problem> {
    const OVERHEAD_BYTES: usize = 32;
    if parts.version != Version::HTTP_2 {
        return Ok(());
    }
    let field = |name: &str, value: &[u8]| name.len() + value.len() + OVERHEAD_BYTES;
    let fields = parts.headers.iter().map(|(name, value)| field(name.as_str(), value.as_bytes()));
    let target = parts.uri.path_and_query().map_or("", PathAndQuery::as_str);
    let bytes = field(":path", target.as_bytes()) + fields.sum::<usize>();
    if bytes <= limits::HEADER_BYTES_MAX { Ok(()) } else { Err(fields_too_large()) }
}

/// More fields, or larger ones, than a request may have.
pub(super) fn fields_too_large() -> Problem {
    let (bytes, fields) = (limits::HEADER_BYTES_MAX, limits::HEADER_FIELDS_MAX);
    let detail = format!("a request has at most {bytes} bytes of header, in {fields} fields");
    Problem::new(Kind::FieldsTooLarge, detail)
}

/// RFC 9112 §3.2: exactly one Host in HTTP/1.1. `origin` looks at what it says.
fn check_host(parts: &Parts) -> Result<(), Problem> {
    let hosts = parts.headers.get_all(HOST).iter().take(2).count();
    if hosts == 1 || (hosts == 0 && parts.version == Version::HTTP_10) {
        return Ok(());
    }
    Err(Problem::new(Kind::BadRequest, "a request has exactly one Host field"))
}

/// CONNECT and TRACE are known to HTTP, but no resource of any origin here could take them.
fn is_known(method: &Method) -> bool {
    const KNOWN: [Method; 7] = [
        Method::GET,
        Method::PUT,
        Method::POST,
        Method::HEAD,
        Method::DELETE,
        Method::OPTIONS,
        Method::PATCH,
    ];
    KNOWN.contains(method)
}

fn document(parts: &Parts, place: Place) -> Result<Route, Problem> {
    let headers = &parts.headers;
    match parts.method {
        Method::GET | Method::HEAD => {
            if let Some(operation) = past::get(parts, &place)? {
                return Ok(Route::Operation(operation));
            }
            let acceptable = accept::acceptable(headers);
            let preconditions = conditions::preconditions(headers)?;
            Ok(Route::Operation(Operation::Get { place, preconditions, acceptable }))
        }
        Method::DELETE => {
            let operation =
                Operation::Delete { place, preconditions: conditions::preconditions(headers)? };
            Ok(Route::Operation(match once::name(parts)? {
                Some(name) => name.of(operation, b"")?,
                None => operation,
            }))
        }
        Method::POST => past::restore(parts, place).map(Route::Operation),
        Method::PUT => {
            check_length(parts)?;
            write(parts, Target::Document(place, content::media_type(headers)?))
        }
        Method::PATCH => {
            check_length(parts)?;
            write(parts, Target::Patch(place, content::patch_format(headers)?))
        }
        Method::OPTIONS => Ok(Route::Options(Some(Template::Document))),
        _ => Err(Problem::method_not_allowed(Template::Document)),
    }
}

fn collection(parts: &Parts, name: CollectionName) -> Result<Route, Problem> {
    match parts.method {
        Method::POST => {
            check_length(parts)?;
            let media_type = content::media_type(&parts.headers)?;
            write(parts, Target::Collection(name, media_type, wishes::slug(&parts.headers)))
        }
        Method::GET | Method::HEAD if feed::is_asked(parts.uri.query()) => {
            Wanted::of_collection(parts, &name).map(Route::Feed)
        }
        Method::GET | Method::HEAD => collections::get(parts, name),
        Method::PUT | Method::PATCH => {
            check_length(parts)?;
            write(parts, collections::target(parts, name)?)
        }
        Method::DELETE => collections::delete(parts, name),
        Method::OPTIONS => Ok(Route::Options(Some(Template::Collection))),
        _ => Err(Problem::method_not_allowed(Template::Collection)),
    }
}

fn transactions(parts: &Parts) -> Result<Route, Problem> {
    match parts.method {
        Method::POST => {
            check_length(parts)?;
            content::check_json(&parts.headers, Template::Transactions)?;
            let manner = Manner::parse(parts.uri.query())?;
            write(parts, Target::Transactions(manner, bearer::carried(parts)?))
        }
        Method::OPTIONS => Ok(Route::Options(Some(Template::Transactions))),
        _ => Err(Problem::method_not_allowed(Template::Transactions)),
    }
}

fn feed(parts: &Parts) -> Result<Route, Problem> {
    match parts.method {
        Method::GET | Method::HEAD => Wanted::of_all(parts).map(Route::Feed),
        Method::OPTIONS => Ok(Route::Options(Some(Template::Feed))),
        _ => Err(Problem::method_not_allowed(Template::Feed)),
    }
}

fn page(parts: &Parts, page: Page) -> Result<Route, Problem> {
    if page == Page::Problem && problems::page(parts.uri.path(), &parts.headers).is_err() {
        return Err(Problem::not_found());
    }
    match parts.method {
        Method::GET | Method::HEAD => Ok(Route::Page(page)),
        Method::OPTIONS => Ok(Route::Options(Some(page.template()))),
        _ => Err(Problem::method_not_allowed(page.template())),
    }
}

/// HTTP/1.1 takes a request that says nothing about its content for one without (RFC 9112 §6.3).
/// Here that is a mistake, and storing nothing would be a bad answer to it (RFC 9110 §15.5.12).
pub(super) fn check_length(parts: &Parts) -> Result<(), Problem> {
    let has = |name| parts.headers.contains_key(name);
    if parts.version >= Version::HTTP_2 || has(CONTENT_LENGTH) || has(TRANSFER_ENCODING) {
        return Ok(());
    }
    let detail = "expected content, with Content-Length or chunked; for no bytes at all send \
                  Content-Length: 0";
    Err(Problem::new(Kind::LengthRequired, detail))
}

fn write(parts: &Parts, target: Target) -> Result<Route, Problem> {
    Ok(Route::Write(Write {
        target,
        preconditions: conditions::preconditions(&parts.headers)?,
        returns: wishes::returns(&parts.headers),
        once: once::name(parts)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Principal;
    use crate::surface;

    use crate::http::content_of::Target;
    use hyper::Request;

    fn routed(method: &str, uri: &str, fields: &[(&str, &str)]) -> Result<Route, Problem> {
        let mut request = Request::builder().method(method).uri(uri).header("host", "h");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        go(request)
    }

    fn go(request: hyper::http::request::Builder) -> Result<Route, Problem> {
        let origins = Origins::default();
        let site = Site { has_app: false, is_local: false, origins: &origins };
        let mut parts = request.body(()).unwrap().into_parts().0;
        parts.extensions.insert(Principal::Anyone);
        route(&parts, site)
    }

    fn refused(method: &str, uri: &str, fields: &[(&str, &str)]) -> Problem {
        routed(method, uri, fields).unwrap_err()
    }

    #[test]
    fn methods_of_each_resource() {
        let json = [("content-type", "application/json"), ("content-length", "1")];
        assert!(matches!(
            routed("GET", "/db/notes/a", &[]),
            Ok(Route::Operation(Operation::Get { .. }))
        ));
        assert!(matches!(
            routed("HEAD", "http://h/db/notes/a?x=1", &[]),
            Ok(Route::Operation(Operation::Get { .. }))
        ));
        assert!(matches!(
            routed("DELETE", "/db/notes/a", &[]),
            Ok(Route::Operation(Operation::Delete { .. }))
        ));
        assert!(matches!(
            routed("PUT", "/db/notes/a", &json),
            Ok(Route::Write(Write { target: Target::Document(..), .. }))
        ));
        assert!(matches!(
            routed("POST", "/db/notes", &json),
            Ok(Route::Write(Write { target: Target::Collection(..), .. }))
        ));
        assert!(matches!(routed("GET", "/healthz", &[]), Ok(Route::Page(Page::Health))));
        assert!(matches!(routed("OPTIONS", "*", &[]), Ok(Route::Options(None))));
    }

    /// A URI of each kind of resource.
    fn uri(template: Template) -> &'static str {
        match template {
            Template::Document => "/db/notes/a",
            Template::Collections => "/db",
            Template::Collection => "/db/notes",
            Template::Transactions => "/tx",
            Template::Feed => "/feed",
            Template::Health => "/healthz",
            Template::Readiness => "/readyz",
            Template::Metrics => "/metrics",
            Template::Description => "/openapi.json",
            Template::Problems => "/errors",
            Template::Problem => "/errors/busy",
        }
    }

    #[test]
    fn the_router_and_the_surface_agree() {
        for template in Template::ALL {
            let uri = uri(template);
            for method in SERVER_METHODS.split(", ") {
                let type_of = |row: &surface::Row| row.accepts.first().copied();
                let row = template.rows().find(|row| row.method.as_str() == method);
                let accepted = row.and_then(type_of).unwrap_or("*/*");
                let sent = if accepted == "*/*" { "application/json" } else { accepted };
                let fields = [("content-type", sent), ("content-length", "2")];
                let is_restored = (template, method) == (Template::Document, "POST");
                let uri = if is_restored { "/db/notes/a?restore=1" } else { uri };
                let refused = routed(method, uri, &fields).err();
                let takes = template.allow().split(", ").any(|allowed| allowed == method);
                let kind = refused.as_ref().map(|problem| problem.kind);
                let expected = (!takes).then_some(Kind::MethodNotAllowed);
                assert_eq!(kind, expected, "{method} {uri}: {refused:?}");
                if let Some(problem) = refused {
                    assert_eq!(problem.more.unwrap().allow, Some(template.allow()));
                }
            }
            let asked = routed("OPTIONS", uri, &[]);
            assert!(matches!(asked, Ok(Route::Options(Some(got))) if got == template));
        }
    }

    #[test]
    fn methods_that_nothing_takes() {
        for method in ["BREW", "get", "CONNECT", "TRACE"] {
            assert_eq!(refused(method, "/db/notes/a", &[]).kind, Kind::NotImplemented, "{method}");
        }
    }

    #[test]
    fn without_an_application_its_paths_are_not_found() {
        for uri in ["/", "/notes", "/healthz/"] {
            assert_eq!(refused("GET", uri, &[]).kind, Kind::NotFound, "{uri}");
        }
        assert_eq!(refused("GET", "*", &[]).kind, Kind::NotFound);
    }

    #[test]
    fn rfc9112_3_2_one_host() {
        assert_eq!(refused("GET", "/healthz", &[("host", "h")]).kind, Kind::BadRequest);
        let bare = |version| go(Request::builder().version(version).uri("/healthz"));
        assert!(bare(Version::HTTP_10).is_ok());
        assert!(bare(Version::HTTP_11).is_err());
    }

    #[test]
    fn a_uri_may_have_its_limit_and_no_more() {
        let uri = |bytes: usize| format!("/healthz?{}", "x".repeat(bytes - "/healthz?".len()));
        assert!(routed("GET", &uri(limits::URI_BYTES_MAX), &[]).is_ok());
        let problem = refused("GET", &uri(limits::URI_BYTES_MAX + 1), &[]);
        assert_eq!(problem.kind, Kind::UriTooLong);
    }
}
