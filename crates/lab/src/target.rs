//! Where the load goes: an `http` or `https` URL, taken apart. It resolves no name and opens no
//! connection.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use thiserror::Error;

/// The server and the path a run sends its requests to.
///
/// The path may hold `{key}` and `{nonce}`, see [`crate::bench::Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    origin: Origin,
    path: String,
}

/// A URL the lab cannot send load to.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// There is no scheme in front.
    #[error("expected a URL like http://HOST:PORT/PATH, got \"{0}\": put http:// in front")]
    NoScheme(String),
    /// The scheme is one the lab does not speak.
    #[error("the scheme \"{0}\" is not supported; use http:// or https://")]
    Scheme(String),
    /// User name or password in the URL.
    #[error("the URL holds a user name; leave it out and send an Authorization header instead")]
    UserName,
    /// The host is missing or is not a name, an IPv4 address or an IPv6 address in brackets.
    #[error(
        "\"{0}\" is not a host; expected a name, an IPv4 address or an IPv6 address in brackets"
    )]
    Host(String),
    /// The port is not a number from 1 to 65535.
    #[error("\"{0}\" is not a port; expected a number from 1 to 65535")]
    Port(String),
    /// The path or query holds a character that must be percent-encoded.
    #[error("the character {0:?} in the URL must be percent-encoded")]
    Path(char),
}

/// A server: host and port, and whether TLS is spoken there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Whether it is `https`.
    pub tls: bool,
    /// The host, without brackets if it is an IPv6 address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Origin {
    /// Host and port as they stand in a `Host` field (RFC 9110 §7.2).
    pub fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match self.port == default_port(self.tls) {
            true => host,
            false => format!("{host}:{}", self.port),
        }
    }
}

fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// The origin as it stands in a URL (RFC 6454 §6.1).
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.authority())
    }
}

impl Target {
    /// The server alone.
    pub fn origin(&self) -> Origin {
        self.origin.clone()
    }

    /// The host, without brackets if it is an IPv6 address.
    pub fn host(&self) -> &str {
        &self.origin.host
    }

    /// The port; 80 or 443 if the URL named none.
    pub fn port(&self) -> u16 {
        self.origin.port
    }

    /// The path and query as they stand in a request line.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Host and port as they stand in a `Host` field (RFC 9110 §7.2).
    pub fn authority(&self) -> String {
        self.origin.authority()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path)
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(url: &str) -> Result<Self, TargetError> {
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| TargetError::NoScheme(url.to_owned()))?;
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(TargetError::Scheme(scheme.to_owned())),
        };
        let split = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(split);
        let (host, port) = parse_authority(authority, default_port(tls))?;
        Ok(Self { origin: Origin { tls, host, port }, path: parse_path(path)? })
    }
}

fn parse_authority(authority: &str, default_port: u16) -> Result<(String, u16), TargetError> {
    if authority.contains('@') {
        return Err(TargetError::UserName);
    }
    let bad_host = || TargetError::Host(authority.to_owned());
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or_else(bad_host)?;
        host.parse::<Ipv6Addr>().map_err(|_| bad_host())?;
        let port = match port.strip_prefix(':') {
            Some(port) => parse_port(port)?,
            None if port.is_empty() => default_port,
            None => return Err(bad_host()),
        };
        return Ok((host.to_owned(), port));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, parse_port(port)?),
        None => (authority, default_port),
    };
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if host.is_empty() || !host.bytes().all(is_name) {
        return Err(bad_host());
    }
    Ok((host.to_owned(), port))
}

fn parse_port(port: &str) -> Result<u16, TargetError> {
    let digits = port.bytes().all(|b| b.is_ascii_digit());
    match port.parse() {
        Ok(number) if digits && number > 0 => Ok(number),
        _ => Err(TargetError::Port(port.to_owned())),
    }
}

/// The path as it is sent: never empty, and without the fragment, which is not for the server.
fn parse_path(path: &str) -> Result<String, TargetError> {
    let path = path.split('#').next().unwrap_or_default();
    match path.chars().find(|c| !c.is_ascii_graphic()) {
        Some(character) => Err(TargetError::Path(character)),
        None if path.starts_with('/') => Ok(path.to_owned()),
        None => Ok(format!("/{path}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> (String, u16, String) {
        let target: Target = url.parse().unwrap();
        (target.origin.host, target.origin.port, target.path)
    }

    fn refusal(url: &str) -> TargetError {
        url.parse::<Target>().unwrap_err()
    }

    #[test]
    fn takes_a_url_apart() {
        let whole = parts("http://localhost:8080/db/notes/{key}?fields=a#top");
        assert_eq!(whole, ("localhost".into(), 8080, "/db/notes/{key}?fields=a".into()));
        assert_eq!(parts("HTTP://a.b-c_d"), ("a.b-c_d".into(), 80, "/".into()));
        assert_eq!(parts("http://a?q=1"), ("a".into(), 80, "/?q=1".into()));
        assert_eq!(parts("http://a#x"), ("a".into(), 80, "/".into()));
        assert_eq!(parts("http://[::1]:99/x"), ("::1".into(), 99, "/x".into()));
        assert_eq!(parts("http://[::1]"), ("::1".into(), 80, "/".into()));
        assert_eq!(parts("HTTPS://a"), ("a".into(), 443, "/".into()));
        assert_eq!(parts("https://[::1]"), ("::1".into(), 443, "/".into()));
    }

    #[test]
    fn writes_itself_as_a_url() {
        for url in ["http://a/", "http://a:8080/x?y", "http://[::1]/", "http://[::1]:1/"] {
            assert_eq!(url.parse::<Target>().unwrap().to_string(), url);
        }
        assert_eq!("http://a:80".parse::<Target>().unwrap().to_string(), "http://a/");
        for url in ["https://a/", "https://a:80/", "https://[::1]:8443/x"] {
            assert_eq!(url.parse::<Target>().unwrap().to_string(), url);
        }
        assert_eq!("https://a:443".parse::<Target>().unwrap().to_string(), "https://a/");
    }

    #[test]
    fn refuses_with_the_reason() {
        assert_eq!(refusal("localhost:80/"), TargetError::NoScheme("localhost:80/".into()));
        assert_eq!(refusal("ftp://a/"), TargetError::Scheme("ftp".into()));
        assert_eq!(refusal("://a/"), TargetError::Scheme(String::new()));
        assert_eq!(refusal("http://me:x@a/"), TargetError::UserName);
        for host in ["", "a b", "ä", "[::1", "[::g]", "[::1]x", "[1.2.3.4]"] {
            assert_eq!(refusal(&format!("http://{host}/")), TargetError::Host(host.into()));
        }
        for port in ["", "0", "65536", "x", "+1", "1:2"] {
            assert_eq!(refusal(&format!("http://a:{port}/")), TargetError::Port(port.into()));
            assert_eq!(refusal(&format!("http://[::1]:{port}")), TargetError::Port(port.into()));
        }
        assert_eq!(refusal("http://a/b c"), TargetError::Path(' '));
        assert_eq!(refusal("http://a/ü"), TargetError::Path('ü'));
        assert_eq!(refusal("http://a/\r\nx"), TargetError::Path('\r'));
    }
}
