//! Puts the documents that are read later, each once, so that no read finds nothing.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// PUTs `body` under the keys 0 to `keys` - 1 of `collection`, on one connection to `authority`.
pub fn fill(authority: &str, collection: &str, keys: u64, body: &str) -> io::Result<()> {
    let request = |key| {
        format!(
            "PUT /db/{collection}/{key} HTTP/1.1\r\nHost: {authority}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    put_all(authority, (0..keys).map(request))
}

/// Sends each of `requests`, as HTTP/1.1 has them, when the one before is answered, on one
/// connection to `authority`.
pub fn put_all(authority: &str, requests: impl Iterator<Item = String>) -> io::Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(authority)?);
    stream.get_ref().set_nodelay(true)?;
    for request in requests {
        stream.get_mut().write_all(request.as_bytes())?;
        read_success(&mut stream)?;
    }
    Ok(())
}

/// Reads one reply to its end; an error unless its status is 2xx.
fn read_success(stream: &mut impl BufRead) -> io::Result<()> {
    let mut status = String::new();
    stream.read_line(&mut status)?;
    if !status.starts_with("HTTP/1.1 2") {
        return Err(io::Error::other(format!("expected a status 2xx, got {status:?}")));
    }
    let mut body_bytes = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(length) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            body_bytes = length.trim().parse().map_err(io::Error::other)?;
        }
    }
    io::copy(&mut stream.take(body_bytes), &mut io::sink()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_to_their_end() {
        let mut replies: &[u8] = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok\
            HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 503 Busy\r\n\r\n";
        assert!(read_success(&mut replies).is_ok());
        assert!(read_success(&mut replies).is_ok());
        let error = read_success(&mut replies).expect_err("503").to_string();
        assert!(error.contains("503"), "{error}");
        assert!(read_success(&mut &b""[..]).is_err(), "a closed connection");
    }
}
