//! `siege -g`: one request, shown as it is sent, with the head of what comes back. It measures
//! nothing.

use super::Siege;
use crate::fetch::Fetcher;
use crate::limits::HEAD_BYTES_MAX;
use crate::plan::Trust;

/// The request of the first URL and the head of its reply, with a line end after each line and an
/// empty line after each head.
///
/// # Errors
/// That there is no reply, in words.
pub fn show(siege: &Siege) -> Result<String, String> {
    let Some((entry, body)) = siege.requests.first() else { return Ok(String::new()) };
    let origin = entry.target.origin();
    let connection = if siege.keep_alive { "keep-alive" } else { "close" };
    let mut head = format!(
        "{} {} HTTP/1.1\r\nHost: {}\r\n",
        entry.method,
        entry.target.path(),
        origin.authority()
    );
    let mut field = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
    siege.headers.iter().for_each(|(name, value)| field(name, value));
    if !body.is_empty() {
        field("Content-Type", siege.media_type_of(entry));
        field("Content-Length", &body.len().to_string());
    }
    field("Connection", connection);
    head.push_str("\r\n");
    let mut fetcher = Fetcher::new(
        (origin.clone(), &Trust::default()),
        Vec::new(),
        siege.timeout,
        HEAD_BYTES_MAX,
    );
    let reply = fetcher.exchange(&[head.as_bytes(), body].concat());
    let reply = reply.map_err(|error| format!("{origin}: {error}"))?;
    let lines = |text: &str| text.replace("\r\n", "\n");
    Ok(format!("{}{}", lines(&head), lines(&String::from_utf8_lossy(&reply))))
}
