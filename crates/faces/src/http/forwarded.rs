//! Who asks: the client's address, the scheme and the host that it used. The connection tells, or,
//! where it comes from a trusted proxy, the fields that the proxy wrote. What anybody else writes
//! into them is not looked at.
//!
//! The walk goes from the connection's other end backwards: as long as a hop is a trusted proxy,
//! what it wrote about the hop before is believed. The first hop that is no trusted proxy is the
//! client; what stands before it was written by the client and means nothing.

use crate::http::authority::Authority;
use crate::http::connection::Connection;
use crate::limits;
use crate::network::Network;
use crate::problem::{Kind, Problem};
use hyper::Version;
use hyper::header::{FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Which fields the trusted proxies write. Only these are believed: a proxy passes on what it does
/// not know, so the others may be the client's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyFields {
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`, as most proxies write them.
    #[default]
    XForwarded,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// The text names neither.
#[derive(Debug, thiserror::Error)]
#[error("expected x-forwarded or forwarded")]
pub struct ProxyFieldsError;

impl FromStr for ProxyFields {
    type Err = ProxyFieldsError;

    fn from_str(text: &str) -> Result<Self, ProxyFieldsError> {
        match text {
            "x-forwarded" => Ok(Self::XForwarded),
            "forwarded" => Ok(Self::Forwarded),
            _ => Err(ProxyFieldsError),
        }
    }
}

/// The trusted proxies, and what they write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies {
    pub networks: Vec<Network>,
    pub fields: ProxyFields,
}

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    /// The client, as far as it is known.
    pub address: IpAddr,
    /// What the client speaks with the first server it meets.
    pub scheme: Scheme,
    /// Whether a trusted proxy stands between.
    pub is_forwarded: bool,
}

impl Scheme {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn from_field(value: &str) -> Option<Self> {
        let all = [Self::Http, Self::Https];
        all.into_iter().find(|scheme| value.eq_ignore_ascii_case(scheme.as_str()))
    }
}

impl Proxies {
    pub(crate) fn trust(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

/// Finds out who asks. Afterwards the Host field is what the client asked for, in every version of
/// HTTP and with every proxy.
pub(crate) fn asker(parts: &mut Parts, connection: &Connection) -> Result<Asker, Problem> {
    settle_host(parts)?;
    let address = connection.peer.ip().to_canonical();
    let direct = Asker { address, scheme: connection.scheme, is_forwarded: false };
    let proxies = &connection.reactor.proxies;
    if proxies.networks.is_empty() || !proxies.trust(address) {
        return Ok(direct);
    }
    let told = match proxies.fields {
        ProxyFields::XForwarded => x_forwarded(&parts.headers, direct, proxies),
        ProxyFields::Forwarded => forwarded(&parts.headers, direct, proxies),
    };
    // An empty one tells nothing.
    let (asker, host) = (told.asker, told.host.filter(|host| !host.is_empty()));
    if let Some(host) = host {
        let host = host_field(host)?;
        parts.headers.insert(HOST, host);
    }
    Ok(asker)
}

/// The host that a request is for may stand in its target: `:authority` in HTTP/2 (RFC 9113
/// §8.3.1), the absolute form in HTTP/1 (RFC 9112 §3.2.2). It counts, and Host has to say the same
/// in HTTP/2, where both are the client's own words.
fn settle_host(parts: &mut Parts) -> Result<(), Problem> {
    // What Host says has to be a host even where it does not count (RFC 9112 §3.2).
    let host = check_hosts(&parts.headers)?;
    let Some(authority) = parts.uri.authority() else {
        if let Some(host) = host {
            parts.headers.insert(HOST, host);
        }
        return Ok(());
    };
    if parts.version == Version::HTTP_2 {
        let mut hosts = parts.headers.get_all(HOST).iter();
        if hosts.any(|host| !host.as_bytes().eq_ignore_ascii_case(authority.as_str().as_bytes())) {
            return Err(Problem::new(Kind::BadRequest, "Host and :authority have to be the same"));
        }
    } else if parts.version == Version::HTTP_11
        && parts.headers.get_all(HOST).iter().take(2).count() != 1
    {
        // None or two of them stay so, and are refused as in every other form.
        return Ok(());
    }
    let value = host_field(authority.as_str())?;
    parts.headers.insert(HOST, value);
    Ok(())
}

/// Each Host field has to name a host. Gives the one there is if it is to be written otherwise.
fn check_hosts(headers: &HeaderMap) -> Result<Option<HeaderValue>, Problem> {
    let mut other = None;
    for (nth, value) in headers.get_all(HOST).iter().enumerate() {
        let text = value.to_str().map_err(|_| no_host(&value.as_bytes().escape_ascii()))?;
        let host = Authority::parse(text).ok_or_else(|| no_host(&text))?;
        // Two of them stay two, and are refused.
        other = (nth == 0 && host.as_str() != text).then(|| host_field(text)).transpose()?;
    }
    Ok(other)
}

/// The value of a Host field that says so.
fn host_field(text: &str) -> Result<HeaderValue, Problem> {
    let host = Authority::parse(text).ok_or_else(|| no_host(&text))?;
    HeaderValue::from_str(host.as_str()).map_err(|_| no_host(&text))
}

fn no_host(got: &dyn Display) -> Problem {
    /// Characters of it that are told.
    const SHOWN: usize = 80;
    let got: String = got.to_string().chars().take(SHOWN).collect();
    let expected = "expected a host and, after a colon, a port, such as example.org:8000";
    Problem::new(Kind::BadRequest, format!("{expected}; got {got:?}"))
}

/// What the proxies told.
struct Told<'a> {
    asker: Asker,
    host: Option<&'a str>,
}

fn x_forwarded<'a>(headers: &'a HeaderMap, direct: Asker, proxies: &Proxies) -> Told<'a> {
    let mut asker = direct;
    let mut hops = 0;
    for hop in backwards(headers, &X_FORWARDED_FOR).take(limits::FORWARDED_HOPS_MAX) {
        let next = node(hop).filter(|next| may_tell(asker.address, *next));
        let Some(address) = next else { break };
        hops += 1;
        asker.address = address;
        if !proxies.trust(address) {
            break;
        }
    }
    if hops == 0 {
        return Told { asker, host: None };
    }
    asker.is_forwarded = true;
    // A proxy adds to these lists or writes them anew. In a list that all added to, what the first
    // trusted proxy wrote stands as far from the end as the client's address does; a shorter one
    // was written anew.
    let nth = |name| backwards(headers, name).take(hops).last();
    asker.scheme = nth(&X_FORWARDED_PROTO).and_then(Scheme::from_field).unwrap_or(asker.scheme);
    Told { asker, host: nth(&X_FORWARDED_HOST) }
}

fn forwarded<'a>(headers: &'a HeaderMap, direct: Asker, proxies: &Proxies) -> Told<'a> {
    let mut told = Told { asker: direct, host: None };
    for element in backwards(headers, &FORWARDED).take(limits::FORWARDED_HOPS_MAX) {
        let told_for = parameter(element, "for").and_then(node);
        let Some(address) = told_for.filter(|next| may_tell(told.asker.address, *next)) else {
            break;
        };
        let proto = parameter(element, "proto").and_then(Scheme::from_field);
        let scheme = proto.unwrap_or(told.asker.scheme);
        told.asker = Asker { address, scheme, is_forwarded: true };
        told.host = parameter(element, "host").or(told.host);
        if !proxies.trust(address) {
            break;
        }
    }
    told
}

/// The elements of a list field, the last first. One that is not text ends the list.
fn backwards<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).iter().rev();
    let lines = lines.map_while(|line| line.to_str().ok());
    lines.flat_map(|line| line.rsplit(',').map(|element| element.trim_matches([' ', '\t'])))
}

/// A parameter of an element of `Forwarded` (RFC 7239 §4). No value that means anything here needs
/// an escape, and none has a comma or a semicolon in it.
fn parameter<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let (_, value) =
        pairs.map(|(n, v)| (n.trim(), v.trim())).find(|(n, _)| n.eq_ignore_ascii_case(name))?;
    Some(value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value))
}

/// The address of a node (RFC 7239 §6), with or without a port; `X-Forwarded-For` has IPv6
/// addresses without brackets, too. `None` for `unknown` and for made-up names: who that is nobody
/// can tell.
fn node(text: &str) -> Option<IpAddr> {
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || Some(text.parse::<SocketAddr>().ok()?.ip());
    let address: Option<IpAddr> = text.parse().ok().or_else(with_port).or_else(bracketed);
    address.map(|address| address.to_canonical())
}

/// Whether the hop `by` can know of one at `address`. What another machine calls its loopback is
/// not this one's: a client there, or one that only says so, is not on this machine.
fn may_tell(by: IpAddr, address: IpAddr) -> bool {
    by.is_loopback() || !address.is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECT: Asker = Asker {
        address: IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
        scheme: Scheme::Http,
        is_forwarded: false,
    };

    fn proxies() -> Proxies {
        let networks = vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        Proxies { networks, fields: ProxyFields::default() }
    }

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let fields = fields.iter();
        fields.map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect()
    }

    fn by_x(fields: &[(&'static str, &'static str)]) -> (String, Scheme, Option<String>) {
        let headers = headers(fields);
        let told = x_forwarded(&headers, DIRECT, &proxies());
        (told.asker.address.to_string(), told.asker.scheme, told.host.map(str::to_owned))
    }

    fn by_forwarded(lines: &[&'static str]) -> (String, Scheme, Option<String>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED, HeaderValue::from_static(line));
        }
        let told = forwarded(&headers, DIRECT, &proxies());
        (told.asker.address.to_string(), told.asker.scheme, told.host.map(str::to_owned))
    }

    fn is(got: (String, Scheme, Option<String>), address: &str, scheme: Scheme, host: &str) {
        let host = Some(host.to_owned()).filter(|host| !host.is_empty());
        assert_eq!(got, (address.to_owned(), scheme, host));
    }

    #[test]
    fn the_walk_ends_at_the_first_hop_that_is_not_trusted() {
        let field = "x-forwarded-for";
        is(by_x(&[(field, "192.0.2.1")]), "192.0.2.1", Scheme::Http, "");
        is(by_x(&[(field, "198.51.100.9, 192.0.2.1")]), "192.0.2.1", Scheme::Http, "");
        is(by_x(&[(field, "192.0.2.1, 10.0.0.2 ,10.0.0.3")]), "192.0.2.1", Scheme::Http, "");
        is(by_x(&[(field, "10.0.0.9, 10.0.0.2")]), "10.0.0.9", Scheme::Http, "");
        is(by_x(&[(field, "192.0.2.1, unknown, 10.0.0.2")]), "10.0.0.2", Scheme::Http, "");
        is(by_x(&[(field, "")]), "10.0.0.1", Scheme::Http, "");
        is(by_x(&[(field, "2001:db8::1, [fd00::1]:80")]), "2001:db8::1", Scheme::Http, "");
    }

    #[test]
    fn another_machines_loopback_is_not_this_ones() {
        is(by_x(&[("x-forwarded-for", "127.0.0.1, 10.0.0.2")]), "10.0.0.2", Scheme::Http, "");
        is(by_x(&[("x-forwarded-for", "::1")]), "10.0.0.1", Scheme::Http, "");
        is(by_forwarded(&["for=127.0.0.1"]), "10.0.0.1", Scheme::Http, "");
        let here = Asker { address: [127, 0, 0, 1].into(), ..DIRECT };
        let fields = headers(&[("x-forwarded-for", "127.0.0.9")]);
        let told = x_forwarded(&fields, here, &proxies());
        assert_eq!(told.asker.address.to_string(), "127.0.0.9", "a proxy here knows who is here");
    }

    #[test]
    fn several_lines_are_one_list() {
        let mut headers = HeaderMap::new();
        for line in ["198.51.100.9", "192.0.2.1", "10.0.0.2"] {
            headers.append(X_FORWARDED_FOR.clone(), HeaderValue::from_static(line));
        }
        let told = x_forwarded(&headers, DIRECT, &proxies());
        assert_eq!(told.asker.address.to_string(), "192.0.2.1");
    }

    #[test]
    fn scheme_and_host_are_those_of_the_proxy_that_met_the_client() {
        let added = [
            ("x-forwarded-for", "198.51.100.9, 192.0.2.1, 10.0.0.2"),
            ("x-forwarded-proto", "http, https, http"),
            ("x-forwarded-host", "evil.example, www.example.org, inner:8000"),
        ];
        is(by_x(&added), "192.0.2.1", Scheme::Https, "www.example.org");
        let anew = [
            ("x-forwarded-for", "192.0.2.1, 10.0.0.2"),
            ("x-forwarded-proto", "HTTPS"),
            ("x-forwarded-host", "www.example.org"),
        ];
        is(by_x(&anew), "192.0.2.1", Scheme::Https, "www.example.org");
        let alone = [("x-forwarded-proto", "https"), ("x-forwarded-host", "www.example.org")];
        is(by_x(&alone), "10.0.0.1", Scheme::Http, "");
        let odd = [("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "gopher")];
        is(by_x(&odd), "192.0.2.1", Scheme::Http, "");
    }

    #[test]
    fn rfc7239_4_forwarded() {
        is(by_forwarded(&["for=192.0.2.1;proto=https"]), "192.0.2.1", Scheme::Https, "");
        is(
            by_forwarded(&["for=198.51.100.9", "For=\"[2001:db8::1]:4711\"; Host=a.example:81"]),
            "2001:db8::1",
            Scheme::Http,
            "a.example:81",
        );
        is(
            by_forwarded(&["for=192.0.2.1;proto=https;host=a.example, for=10.0.0.2;proto=http"]),
            "192.0.2.1",
            Scheme::Https,
            "a.example",
        );
        is(by_forwarded(&["for=192.0.2.1, for=_hidden"]), "10.0.0.1", Scheme::Http, "");
        is(by_forwarded(&["by=10.0.0.2"]), "10.0.0.1", Scheme::Http, "");
    }

    #[test]
    fn the_walk_is_bounded() {
        let list = format!("192.0.2.1{}", ", 10.0.0.2".repeat(limits::FORWARDED_HOPS_MAX));
        let headers: HeaderMap =
            [(X_FORWARDED_FOR.clone(), HeaderValue::try_from(list).unwrap())].into_iter().collect();
        let told = x_forwarded(&headers, DIRECT, &proxies());
        assert_eq!(told.asker.address.to_string(), "10.0.0.2");
    }
}
