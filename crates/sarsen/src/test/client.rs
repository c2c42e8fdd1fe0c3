//! One request to the server under test: a connection, a request, a reply, the end. What it reads
//! comes from Sarsen itself, so it takes no more than what Sarsen writes.

use gem::testing::{Received, Sent};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Sends `sent` and reads the reply. The error is one line; no step takes longer than `patience`.
pub fn exchange(address: SocketAddr, sent: &Sent, patience: Duration) -> Result<Received, String> {
    let asked = || format!("{} {}", sent.method, sent.target);
    try_exchange(address, sent, patience).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("{}: there was no reply within {patience:?}", asked())
        }
        _ => format!("{}: {error}", asked()),
    })
}

fn try_exchange(address: SocketAddr, sent: &Sent, patience: Duration) -> io::Result<Received> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(&written(address, sent)?)?;
    let mut stream = BufReader::new(stream);
    let status = status(&line(&mut stream)?)?;
    let mut headers = Vec::new();
    loop {
        let line = line(&mut stream)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid(&line))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let has_body = sent.method != "HEAD" && !matches!(status, 204 | 304);
    let body = if has_body { body(&mut stream, &headers)? } else { Vec::new() };
    Ok(Received { status, headers, body: body.into() })
}

fn written(address: SocketAddr, sent: &Sent) -> io::Result<Vec<u8>> {
    let mut head = format!("{} {} HTTP/1.1\r\n", sent.method, sent.target);
    if !sent.headers.iter().any(|(name, _)| name == "host") {
        head.push_str(&format!("host: {address}\r\n"));
    }
    for (name, value) in &sent.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let lines = sent.headers.iter().flat_map(|(name, value)| [name, value]).chain([&sent.target]);
    if lines.flat_map(|text| text.chars()).any(|c| c.is_control() && c != '\t') {
        return Err(io::Error::other("a line end in the path or in a header field"));
    }
    if !sent.body.is_empty() || matches!(sent.method.as_str(), "POST" | "PUT" | "PATCH") {
        head.push_str(&format!("content-length: {}\r\n", sent.body.len()));
    }
    head.push_str("connection: close\r\n\r\n");
    Ok([head.as_bytes(), &sent.body].concat())
}

fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    if stream.read_until(b'\n', &mut line)? == 0 {
        return Err(io::Error::other("the server ended the connection without a reply"));
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn status(line: &str) -> io::Result<u16> {
    let code = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok()).ok_or_else(|| invalid(line))
}

fn invalid(line: &str) -> io::Error {
    io::Error::other(format!("not a reply of HTTP/1.1: {line:?}"))
}

/// By its length, in chunks (RFC 9112 §7.1), or to the end of the connection.
fn body(stream: &mut impl BufRead, headers: &[(String, String)]) -> io::Result<Vec<u8>> {
    let field = |name| headers.iter().find(|(field, _)| field == name).map(|(_, value)| value);
    let mut body = Vec::new();
    if field("transfer-encoding").is_some() {
        loop {
            let size = line(stream)?;
            let size = size.split(';').next().unwrap_or_default();
            let size = u64::from_str_radix(size, 16).map_err(|_| invalid(size))?;
            if size == 0 {
                return Ok(body);
            }
            stream.by_ref().take(size).read_to_end(&mut body)?;
            line(stream)?;
        }
    }
    match field("content-length").map(|length| length.parse()) {
        Some(Ok(length)) => stream.take(length).read_to_end(&mut body)?,
        Some(Err(_)) => return Err(io::Error::other("its length is no number")),
        None => stream.read_to_end(&mut body)?,
    };
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_by_length_in_chunks_and_to_the_end() {
        let read = |fields: &[(&str, &str)], mut bytes: &[u8]| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let headers: Vec<_> = fields.iter().map(own).collect();
            String::from_utf8(body(&mut bytes, &headers).expect("a body")).expect("text")
        };
        assert_eq!(read(&[("content-length", "3")], b"abcdef"), "abc");
        let chunks = b"2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n";
        assert_eq!(read(&[("transfer-encoding", "chunked")], chunks), "abc");
        assert_eq!(read(&[], b"abc"), "abc");
    }

    #[test]
    fn a_line_end_makes_no_second_field() {
        let mut sent = Sent {
            method: "GET".to_owned(),
            target: "/".to_owned(),
            headers: vec![("a".to_owned(), "b\r\nc: d".to_owned())],
            body: Vec::new(),
        };
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        assert!(written(address, &sent).is_err());
        sent.headers.clear();
        sent.target = "/ HTTP/1.1\r\n".to_owned();
        assert!(written(address, &sent).is_err());
    }
}
