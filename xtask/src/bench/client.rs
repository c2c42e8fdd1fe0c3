//! Enough of an HTTP/1.1 client to prepare a side and to look at one reply. It measures nothing.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest wait for a reply.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One reply.
#[derive(Debug)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    head: String,
    /// Its content.
    pub body: String,
}

impl Reply {
    /// The value of the field `name`, in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut values = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.trim())
    }

    /// The reply itself if its status is 2xx.
    pub fn success(self) -> Result<Self, String> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        Err(format!("expected a status 2xx, got {} {}", self.status, self.body.trim()))
    }
}

/// Sends one request, with JSON if it has a body, on a connection of its own.
pub fn send(authority: &str, method: &str, path: &str, body: &str) -> Result<Reply, String> {
    send_as(authority, (method, path), "application/json", body)
}

/// As `send`, with a body of this media type.
pub fn send_as(
    authority: &str,
    (method, path): (&str, &str),
    media_type: &str,
    body: &str,
) -> Result<Reply, String> {
    let text = exchange(authority, (method, path), media_type, body);
    let text = text.map_err(|error| format!("{method} {path}: {error}"))?;
    parse(&text).ok_or_else(|| format!("{method} {path}: expected an HTTP reply, got {text:?}"))
}

fn exchange(
    authority: &str,
    (method, path): (&str, &str),
    media_type: &str,
    body: &str,
) -> io::Result<String> {
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let content = match body {
        "" => String::new(),
        _ => format!("Content-Type: {media_type}\r\nContent-Length: {}\r\n", body.len()),
    };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n{content}\r\n{body}"
    )?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(text: &str) -> Option<Reply> {
    let (head, content) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let mut reply = Reply { status, head: head.to_owned(), body: String::new() };
    let chunked = reply.field("transfer-encoding").is_some_and(|value| value == "chunked");
    reply.body = if chunked { join_chunks(content)? } else { content.to_owned() };
    Some(reply)
}

fn join_chunks(mut content: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (size, rest) = content.split_once("\r\n")?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.push_str(rest.get(..size)?);
        content = rest.get(size..)?.strip_prefix("\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_whole_or_in_chunks() {
        let reply = parse("HTTP/1.1 201 Created\r\nETag: \"7\"\r\n\r\nok").expect("a reply");
        assert_eq!((reply.status, reply.field("etag"), &*reply.body), (201, Some("\"7\""), "ok"));
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        assert_eq!(parse(chunks).expect("a reply").body, "abc");
        assert!(parse("HTTP/1.1 503 Busy\r\n\r\n").expect("a reply").success().is_err());
        assert!(parse("").is_none());
    }
}
