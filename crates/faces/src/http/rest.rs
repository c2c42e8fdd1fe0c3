//! REST: parses a request into an `Operation`. After this nothing knows HTTP.

use crate::http::page::Page;
use crate::http::path::{self, Resource};
use crate::http::{conditions, content, origin};
use crate::limits;
use crate::operation::{Content, Operation, Place};
use crate::preconditions::Preconditions;
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use crate::surface::{SERVER_METHODS, Template};
use bytes::Bytes;
use hyper::header::{HOST, HeaderMap};
use hyper::http::request::Parts;
use hyper::{Method, Version};
use repository::{CollectionName, KeyRandomness, MediaType, json};

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
    /// It is for the application, body and all.
    App,
}

/// An operation that lacks its body.
#[derive(Debug)]
pub(crate) struct Write {
    target: Target,
    media_type: MediaType,
    preconditions: Preconditions,
}

#[derive(Debug)]
enum Target {
    Document(Place),
    Collection(CollectionName),
}

/// What there is to go to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// Whether there is an application.
    pub has_app: bool,
    /// Whether only this machine can reach the server.
    pub is_local: bool,
}

/// Finds where a request goes.
pub(crate) fn route(parts: &Parts, site: Site) -> Result<Route, Problem> {
    check(parts)?;
    match path::locate(parts.uri.path())? {
        Resource::Document(place) => {
            origin::check(parts, site.is_local)?;
            document(&parts.method, place, &parts.headers)
        }
        Resource::Collection(name) => {
            origin::check(parts, site.is_local)?;
            collection(&parts.method, name, &parts.headers)
        }
        Resource::Page(page) => self::page(parts, page, site),
        Resource::Server if parts.method == Method::OPTIONS => Ok(Route::Options(None)),
        Resource::App if site.has_app => Ok(Route::App),
        Resource::Server | Resource::App => Err(Problem::not_found()),
    }
}

/// What every request must keep to.
fn check(parts: &Parts) -> Result<(), Problem> {
    check_uri(parts)?;
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
    let detail = format!("path and query have at most {} bytes", limits::URI_BYTES_MAX);
    Err(Problem::new(Kind::UriTooLong, format!("{detail}; got {bytes}")))
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

fn document(method: &Method, place: Place, headers: &HeaderMap) -> Result<Route, Problem> {
    let operation = match *method {
        Method::GET | Method::HEAD => {
            Operation::Get { place, preconditions: conditions::preconditions(headers)? }
        }
        Method::DELETE => {
            Operation::Delete { place, preconditions: conditions::preconditions(headers)? }
        }
        Method::PUT => return write(Target::Document(place), headers),
        Method::OPTIONS => return Ok(Route::Options(Some(Template::Document))),
        _ => return Err(Problem::method_not_allowed(Template::Document)),
    };
    Ok(Route::Operation(operation))
}

fn collection(
    method: &Method,
    name: CollectionName,
    headers: &HeaderMap,
) -> Result<Route, Problem> {
    match *method {
        Method::POST => write(Target::Collection(name), headers),
        Method::OPTIONS => Ok(Route::Options(Some(Template::Collection))),
        _ => Err(Problem::method_not_allowed(Template::Collection)),
    }
}

fn page(parts: &Parts, page: Page, site: Site) -> Result<Route, Problem> {
    if page == Page::Metrics {
        origin::check(parts, site.is_local)?;
    }
    match parts.method {
        Method::GET | Method::HEAD => Ok(Route::Page(page)),
        Method::OPTIONS => Ok(Route::Options(Some(page.template()))),
        _ => Err(Problem::method_not_allowed(page.template())),
    }
}

fn write(target: Target, headers: &HeaderMap) -> Result<Route, Problem> {
    let media_type = content::media_type(headers)?;
    let preconditions = conditions::preconditions(headers)?;
    Ok(Route::Write(Write { target, media_type, preconditions }))
}

impl Write {
    /// The operation with its body.
    pub(crate) async fn with_body(
        self,
        body: Bytes,
        reactor: &Reactor,
    ) -> Result<Operation, Problem> {
        let Self { target, media_type, preconditions } = self;
        let body = match media_type {
            MediaType::Json => canonical(body, reactor).await?,
            // A copy, because the piece of the read buffer that came would keep all of the buffer
            // in memory for as long as the document is.
            MediaType::Other(_) => Bytes::copy_from_slice(&body),
        };
        let content = Content { media_type, body };
        Ok(match target {
            Target::Document(place) => Operation::Put { place, content, preconditions },
            Target::Collection(collection) => {
                let randomness = draw_randomness()?;
                Operation::Create { collection, content, randomness, preconditions }
            }
        })
    }
}

fn draw_randomness() -> Result<KeyRandomness, Problem> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|error| Problem::internal(&error))?;
    Ok(KeyRandomness::new(u128::from_ne_bytes(bits)))
}

async fn canonical(body: Bytes, reactor: &Reactor) -> Result<Bytes, Problem> {
    let canonical = if body.len() <= limits::INLINE_JSON_BYTES_MAX {
        json::canonicalize(&body)
    } else {
        reactor.off_thread(move || json::canonicalize(&body)).await?
    };
    let text = canonical.map_err(|error| Problem::new(Kind::InvalidJson, error.to_string()))?;
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface;

    const BARE: Site = Site { has_app: false, is_local: false };
    use hyper::Request;

    fn routed(method: &str, uri: &str, fields: &[(&str, &str)]) -> Result<Route, Problem> {
        let mut request = Request::builder().method(method).uri(uri).header("host", "h");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        route(&request.body(()).unwrap().into_parts().0, BARE)
    }

    fn refused(method: &str, uri: &str, fields: &[(&str, &str)]) -> Problem {
        routed(method, uri, fields).unwrap_err()
    }

    #[test]
    fn methods_of_each_resource() {
        let json = [("content-type", "application/json")];
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
            Ok(Route::Write(Write { target: Target::Document(_), .. }))
        ));
        assert!(matches!(
            routed("POST", "/db/notes", &json),
            Ok(Route::Write(Write { target: Target::Collection(_), .. }))
        ));
        assert!(matches!(routed("GET", "/healthz", &[]), Ok(Route::Page(Page::Health))));
        assert!(matches!(routed("OPTIONS", "*", &[]), Ok(Route::Options(None))));
    }

    /// A URI of each kind of resource.
    fn uri(template: Template) -> &'static str {
        match template {
            Template::Document => "/db/notes/a",
            Template::Collection => "/db/notes",
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
        let bare = |version| {
            let request = Request::builder().version(version).uri("/healthz").body(()).unwrap();
            route(&request.into_parts().0, BARE)
        };
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
