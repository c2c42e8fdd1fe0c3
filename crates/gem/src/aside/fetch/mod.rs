//! Requests to other servers, which tasks make: HTTP/1.1 and TLS by `ureq` and `rustls`, blocking,
//! on the threads of a crew. Whom they may go to is `policy`'s; here is how they go, and bounds.
//!
//! A host is checked by its name before it is looked up, and by the addresses that the look-up
//! gives: the client connects to these and looks nothing up itself, so no second answer can lead it
//! elsewhere. Redirects are followed here, one by one, with the same checks.

mod address;
mod lookup;
mod policy;

pub(crate) use policy::{Host, Policy};

use crate::limits::{FETCH_CONNECT_MAX, FETCH_REDIRECTS_MAX, FETCH_REPLY_BYTES_MAX};
use bytes::Bytes;
use lookup::Lookup;
use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;
use ureq::Agent;
use ureq::http::{self, Method, Uri, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::DefaultConnector;

/// What the application asks for.
#[derive(Clone)]
pub(crate) struct Fetch {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    /// From the beginning of the call to the end of the reply.
    pub(crate) timeout: Duration,
    pub(crate) redirect: Redirect,
    pub(crate) client: Arc<Client>,
}

/// Calls are equal if they ask for the same: how long there is still time differs between runs.
impl PartialEq for Fetch {
    fn eq(&self, other: &Self) -> bool {
        let asked = |fetch: &Self| (fetch.method.clone(), fetch.url.clone(), fetch.redirect);
        asked(self) == asked(other) && self.headers == other.headers && self.body == other.body
    }
}

impl Eq for Fetch {}

/// What becomes of a reply that says to ask elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// It is followed.
    Follow,
    /// It is the answer.
    Manual,
    /// It is an error.
    Error,
}

/// The answer of another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub(crate) status: u16,
    /// Names in lower case; values that are not UTF-8 have U+FFFD in their place.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    /// Where it came from, after redirects.
    pub(crate) url: String,
}

/// Why there is no answer.
#[derive(Debug, Error)]
enum FetchError {
    #[error("expected a URL such as https://api.example.com/path, got {0:?}: {1}")]
    Url(String, &'static str),
    #[error(
        "{host}:{port} is not among the hosts that may be asked; add it to sarsen.toml: [fetch] \
         allow = [\"{host}\"]"
    )]
    NotAllowed { host: String, port: u16 },
    #[error("a redirect from https to http is not followed: {0}")]
    Downgrade(String),
    #[error("more than {FETCH_REDIRECTS_MAX} redirects")]
    Redirects,
    #[error("redirected to {0}, and redirect is \"error\"")]
    Redirected(String),
    #[error("the reply has more than {FETCH_REPLY_BYTES_MAX} bytes")]
    TooLarge,
    #[error("no answer within {0} ms")]
    Timeout(u128),
    #[error("{0}")]
    Http(String),
}

/// Who asks, for one application.
pub(crate) struct Client {
    policy: Policy,
    agent: Agent,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// The certificates in a file of PEM.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err("expected PEM certificates (-----BEGIN CERTIFICATE-----)".to_owned());
    }
    Ok(found)
}

impl Client {
    /// With the certificates to trust instead of Mozilla's, if any are given.
    pub(crate) fn new(policy: Policy, certificates: Option<&[Certificate<'static>]>) -> Self {
        let roots = match certificates {
            Some(certificates) => RootCerts::new_with_certs(certificates),
            None => RootCerts::WebPki,
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // Not from the environment: where requests go is the application's to say.
            .proxy(None)
            .user_agent(concat!("sarsen/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_connect(Some(FETCH_CONNECT_MAX))
            .timeout_resolve(Some(FETCH_CONNECT_MAX))
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build();
        let lookup = Lookup::new(policy.clone());
        let agent = Agent::with_parts(config, DefaultConnector::default(), lookup);
        Self { policy, agent }
    }
}

impl Fetch {
    /// Performs it on the calling thread.
    pub(super) fn perform(&self) -> Result<Fetched, String> {
        let what = || format!("fetch {} {}", self.method, self.url);
        self.follow().map_err(|error| format!("{}: {error}", what()))
    }

    fn follow(&self) -> Result<Fetched, FetchError> {
        let end = Instant::now() + self.timeout;
        let mut hop = Hop {
            method: self
                .method
                .parse()
                .map_err(|_| FetchError::Http(format!("there is no method {:?}", self.method)))?,
            uri: self.parse(&self.url)?,
            headers: self.headers.clone(),
            body: self.body.clone(),
        };
        for _ in 0..=FETCH_REDIRECTS_MAX {
            self.check(&hop.uri)?;
            let fetched = self.ask(&hop, end)?;
            let Some(location) = redirection(&fetched) else { return Ok(fetched) };
            match self.redirect {
                Redirect::Manual => return Ok(fetched),
                Redirect::Error => return Err(FetchError::Redirected(location.to_owned())),
                Redirect::Follow => {
                    let next = self.parse(&resolve(&hop.uri, location))?;
                    hop = hop.redirected(fetched.status, next)?;
                }
            }
        }
        Err(FetchError::Redirects)
    }

    fn parse(&self, text: &str) -> Result<Uri, FetchError> {
        let refused = |why| FetchError::Url(text.to_owned(), why);
        // What comes after it is the client's own (RFC 9110 §4.2.5).
        let sent = text.split('#').next().unwrap_or_default();
        let uri: Uri = sent.parse().map_err(|_| refused("it is not one"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(refused("it begins with neither https:// nor http://"));
        }
        match uri.authority() {
            None => Err(refused("it names no host")),
            // They would end up in logs, and in the next URL; a header says the same.
            Some(authority) if authority.as_str().contains('@') => {
                Err(refused("it holds credentials; send an Authorization header instead"))
            }
            Some(_) => Ok(uri),
        }
    }

    fn check(&self, uri: &Uri) -> Result<(), FetchError> {
        let scheme_port = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        let port = uri.port_u16().unwrap_or(scheme_port);
        match self.client.policy.allows(&host, port, scheme_port) {
            true => Ok(()),
            false => Err(FetchError::NotAllowed { host, port }),
        }
    }

    fn ask(&self, hop: &Hop, end: Instant) -> Result<Fetched, FetchError> {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(FetchError::Timeout(self.timeout.as_millis()));
        }
        let mut request = http::Request::builder().method(hop.method.clone()).uri(hop.uri.clone());
        for (name, value) in &hop.headers {
            request = request.header(name, value);
        }
        let failed = |error: ureq::Error| self.failed(&error);
        let built = |error: http::Error| FetchError::Http(error.to_string());
        let has_body = !hop.body.is_empty()
            || [Method::POST, Method::PUT, Method::PATCH].contains(&hop.method);
        let sent = if has_body {
            let request = request.body(&hop.body[..]).map_err(built)?;
            let config = self.agent().configure_request(request).timeout_global(Some(left));
            self.agent().run(config.allow_non_standard_methods(true).build())
        } else {
            let request = request.body(()).map_err(built)?;
            let config = self.agent().configure_request(request).timeout_global(Some(left));
            self.agent().run(config.allow_non_standard_methods(true).build())
        };
        let mut reply = sent.map_err(failed)?;
        let mut body = Vec::new();
        let bound = FETCH_REPLY_BYTES_MAX as u64 + 1;
        let read = reply.body_mut().as_reader().take(bound).read_to_end(&mut body);
        read.map_err(|error| self.failed(&ureq::Error::from(error)))?;
        if body.len() > FETCH_REPLY_BYTES_MAX {
            return Err(FetchError::TooLarge);
        }
        let field = |(name, value): (&header::HeaderName, &header::HeaderValue)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        Ok(Fetched {
            status: reply.status().as_u16(),
            headers: reply.headers().iter().map(field).collect(),
            body: body.into(),
            url: hop.uri.to_string(),
        })
    }

    fn agent(&self) -> &Agent {
        &self.client.agent
    }

    fn failed(&self, error: &ureq::Error) -> FetchError {
        match error {
            ureq::Error::Timeout(_) => FetchError::Timeout(self.timeout.as_millis()),
            ureq::Error::HostNotFound => FetchError::Http("the host has no address".to_owned()),
            other => FetchError::Http(other.to_string()),
        }
    }
}

/// One request of those that redirects make of a call.
struct Hop {
    method: Method,
    uri: Uri,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Hop {
    /// The request that follows a redirect (RFC 9110 §15.4, and as browsers do: fetch standard,
    /// "HTTP-redirect fetch").
    fn redirected(mut self, status: u16, uri: Uri) -> Result<Self, FetchError> {
        if self.uri.scheme_str() == Some("https") && uri.scheme_str() == Some("http") {
            return Err(FetchError::Downgrade(uri.to_string()));
        }
        let is_post = self.method == Method::POST;
        let keeps_head = self.method == Method::HEAD;
        if (status == 303 && !keeps_head) || (matches!(status, 301 | 302) && is_post) {
            self.method = Method::GET;
            self.body = Bytes::new();
            self.headers.retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
        }
        if self.uri.authority() != uri.authority() || self.uri.scheme() != uri.scheme() {
            let is_secret = |name: &str| {
                ["authorization", "cookie", "proxy-authorization"]
                    .iter()
                    .any(|secret| name.eq_ignore_ascii_case(secret))
            };
            self.headers.retain(|(name, _)| !is_secret(name));
        }
        self.uri = uri;
        Ok(self)
    }
}

/// Where a reply says to ask instead.
fn redirection(fetched: &Fetched) -> Option<&str> {
    if !matches!(fetched.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = fetched.headers.iter().find(|(name, _)| name == "location");
    location.map(|(_, value)| value.as_str())
}

/// The URL that a reference means on a page (RFC 3986 §5.2, for what servers send as a Location).
fn resolve(base: &Uri, reference: &str) -> String {
    let scheme = base.scheme_str().unwrap_or("https");
    let authority = base.authority().map_or("", |authority| authority.as_str());
    if reference.contains("://") {
        return reference.to_owned();
    }
    if reference.starts_with("//") {
        return format!("{scheme}:{reference}");
    }
    if reference.starts_with('/') {
        return format!("{scheme}://{authority}{reference}");
    }
    let path = base.path();
    if reference.starts_with('?') {
        return format!("{scheme}://{authority}{path}{reference}");
    }
    let folder = &path[..path.rfind('/').map_or(0, |at| at + 1)];
    format!("{scheme}://{authority}{}", without_dots(&format!("{folder}{reference}")))
}

/// A path without `.` and `..` (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let (path, query) = match path.find('?') {
        Some(at) => path.split_at(at),
        None => (path, ""),
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if segments.peek().is_none() {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved() {
        let base: Uri = "https://example.com:8443/a/b?x=1".parse().unwrap();
        for (reference, expected) in [
            ("http://other.org/c", "http://other.org/c"),
            ("//other.org/c", "https://other.org/c"),
            ("/c?d=//e", "https://example.com:8443/c?d=//e"),
            ("c", "https://example.com:8443/a/c"),
            ("./c/", "https://example.com:8443/a/c/"),
            ("../c", "https://example.com:8443/c"),
            ("../../../c", "https://example.com:8443/c"),
            ("..", "https://example.com:8443/"),
            ("?y=2", "https://example.com:8443/a/b?y=2"),
        ] {
            assert_eq!(resolve(&base, reference), expected, "{reference}");
        }
    }

    #[test]
    fn a_redirect_keeps_no_secret_for_others_and_no_body_for_get() {
        let hop = |url: &str| Hop {
            method: Method::POST,
            uri: url.parse().unwrap(),
            headers: ["Authorization", "content-type", "x-a", "Cookie"]
                .map(|name| (name.to_owned(), "v".to_owned()))
                .to_vec(),
            body: Bytes::from_static(b"text"),
        };
        let names = |hop: &Hop| {
            hop.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" ")
        };
        let same = hop("https://a.org/1").redirected(307, "https://a.org/2".parse().unwrap());
        let same = same.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((same.method.as_str(), same.body.len()), ("POST", 4));
        assert_eq!(names(&same), "Authorization content-type x-a Cookie");
        let other = hop("https://a.org/1").redirected(303, "https://b.org/".parse().unwrap());
        let other = other.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((other.method.as_str(), other.body.len()), ("GET", 0));
        assert_eq!(names(&other), "x-a");
        let down = hop("https://a.org/1").redirected(302, "http://a.org/".parse().unwrap());
        assert!(matches!(down, Err(FetchError::Downgrade(_))));
    }
}
