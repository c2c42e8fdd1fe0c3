//! Forms with files: multipart/form-data (RFC 7578), in the syntax of RFC 2046 §5.1.1, as browsers
//! write it (WHATWG HTML, "multipart form data"). The body is whole and bounded; one walk over it
//! finds the parts, and contents are not copied.

use crate::content_type::parameters;
use crate::limits::{FORM_FIELDS_MAX, PART_HEAD_BYTES_MAX};
use std::ops::Range;
use thiserror::Error;

/// Why a body is no such form.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum MultipartError {
    #[error("multipart/form-data has a boundary of 1 to 70 characters; got {0:?}")]
    Boundary(String),
    #[error("the form has no part: its boundary is not in the body")]
    Start,
    #[error("the form ends early: its last boundary is missing")]
    End,
    #[error("a part's header fields have at most {PART_HEAD_BYTES_MAX} bytes and end with CRLF")]
    Head,
    #[error("a part is named by Content-Disposition: form-data; name=\"...\"")]
    Name,
    #[error("a form has at most {FORM_FIELDS_MAX} fields")]
    Parts,
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) content: Content,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(String),
    /// A file: its name as the client says, which is no path, its media type, and where in the body
    /// it is.
    File {
        name: String,
        media_type: String,
        place: Range<usize>,
    },
}

impl Part {
    pub(crate) fn text(name: String, value: String) -> Self {
        Self { name, content: Content::Text(value) }
    }
}

/// RFC 2046 §5.1.1.
const BOUNDARY_CHARS_MAX: usize = 70;

/// The fields of the form `body`, in order. A file that the visitor did not choose, which browsers
/// send without name and content, is left out.
pub(crate) fn parse(body: &[u8], boundary: &str) -> Result<Vec<Part>, MultipartError> {
    let good = boundary.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if !good || boundary.is_empty() || boundary.len() > BOUNDARY_CHARS_MAX {
        return Err(MultipartError::Boundary(boundary.to_owned()));
    }
    let scanner = Scanner { body, delimiter: format!("\r\n--{boundary}").into_bytes() };
    let mut parts = Vec::new();
    let mut count = 0;
    let mut mark = scanner.first().ok_or(MultipartError::Start)?;
    while let Mark::Part { start } = mark {
        count += 1;
        if count > FORM_FIELDS_MAX {
            return Err(MultipartError::Parts);
        }
        let (head, content) = split_head(body, start)?;
        // The empty line before a content that is empty is the line before the boundary too.
        let (end, next) = scanner.next(content - 2).ok_or(MultipartError::End)?;
        parts.extend(part(head, body, content.min(end)..end)?);
        mark = next;
    }
    Ok(parts)
}

/// What a boundary is followed by.
enum Mark {
    /// A part, whose header fields start here.
    Part { start: usize },
    /// Nothing of interest.
    Close,
}

struct Scanner<'a> {
    body: &'a [u8],
    /// The boundary with what goes before it on a line. CR is nowhere else in it, so attempts to
    /// match it do not overlap, and a search is one walk.
    delimiter: Vec<u8>,
}

impl Scanner<'_> {
    /// The first boundary, which need not have a line before it.
    fn first(&self) -> Option<Mark> {
        let bare = &self.delimiter[2..];
        if self.body.starts_with(bare)
            && let Some(mark) = self.mark(bare.len())
        {
            return Some(mark);
        }
        self.next(0).map(|(_, mark)| mark)
    }

    /// The next boundary from `from` on: where the line before it ends, and what follows it.
    fn next(&self, mut from: usize) -> Option<(usize, Mark)> {
        loop {
            let rest = self.body.get(from..)?;
            let at = from + rest.iter().position(|&byte| byte == b'\r')?;
            if self.body[at..].starts_with(&self.delimiter)
                && let Some(mark) = self.mark(at + self.delimiter.len())
            {
                return Some((at, mark));
            }
            from = at + 1;
        }
    }

    /// What a boundary that ends at `at` is followed by; `None` if it is only the start of a line
    /// of some content.
    fn mark(&self, at: usize) -> Option<Mark> {
        let rest = self.body.get(at..)?;
        if rest.starts_with(b"--") {
            return Some(Mark::Close);
        }
        let padding = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let ends = rest[padding..].starts_with(b"\r\n");
        ends.then_some(Mark::Part { start: at + padding + 2 })
    }
}

/// The header fields of the part at `start`, and where its content starts.
fn split_head(body: &[u8], start: usize) -> Result<(&[u8], usize), MultipartError> {
    let rest = &body[start..];
    if rest.starts_with(b"\r\n") {
        return Err(MultipartError::Name);
    }
    let bounded = &rest[..rest.len().min(PART_HEAD_BYTES_MAX + 4)];
    let end = bounded.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.ok_or(MultipartError::Head)?;
    Ok((&rest[..end], start + end + 4))
}

fn part(head: &[u8], body: &[u8], place: Range<usize>) -> Result<Option<Part>, MultipartError> {
    let head = String::from_utf8_lossy(head);
    let mut disposition = None;
    let mut media_type = None;
    for line in head.split("\r\n") {
        let (name, value) = line.split_once(':').ok_or(MultipartError::Head)?;
        if name.eq_ignore_ascii_case("content-disposition") {
            disposition.get_or_insert(value.trim());
        } else if name.eq_ignore_ascii_case("content-type") {
            media_type.get_or_insert(value.trim());
        }
    }
    let (kind, given) =
        disposition.ok_or(MultipartError::Name)?.split_once(';').unwrap_or_default();
    let mut name = None;
    let mut file = None;
    for (known, value) in parameters(given) {
        if known.eq_ignore_ascii_case("name") && name.is_none() {
            name = value.map(|value| unescape(&value));
        } else if known.eq_ignore_ascii_case("filename") && file.is_none() {
            file = value.map(|value| unescape(&value));
        }
    }
    let name = name.filter(|_| kind.trim().eq_ignore_ascii_case("form-data"));
    let name = name.ok_or(MultipartError::Name)?;
    let content = match file {
        None => Content::Text(String::from_utf8_lossy(&body[place]).into_owned()),
        Some(file) if file.is_empty() && place.is_empty() => return Ok(None),
        Some(file) => {
            // RFC 7578 §4.4.
            let media_type = media_type.unwrap_or("application/octet-stream").to_owned();
            Content::File { name: file, media_type, place }
        }
    };
    Ok(Some(Part { name, content }))
}

/// Browsers escape what would end a name, and nothing else (WHATWG HTML, "multipart form data").
fn unescape(name: &str) -> String {
    if !name.contains('%') {
        return name.to_owned();
    }
    name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}

#[cfg(test)]
mod tests;
