//! Bodies of `multipart/form-data` (RFC 7578), put together once for a run: what is left open in
//! the parts is left open in the body.

use crate::plan::{Part, Piece, Template};

/// The media type with its boundary, and the body.
pub(crate) fn template(parts: &[Part]) -> (String, Template) {
    let boundary = boundary(parts);
    let mut pieces = Vec::new();
    for part in parts {
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            escaped(&part.name)
        );
        if let Some(name) = &part.file_name {
            head.push_str(&format!("; filename=\"{}\"", escaped(name)));
        }
        if let Some(media_type) = &part.media_type {
            head.push_str(&format!("\r\nContent-Type: {media_type}"));
        }
        head.push_str("\r\n\r\n");
        pieces.push(Piece::Text(head.into_bytes()));
        pieces.extend(part.content.pieces.iter().cloned());
        pieces.push(Piece::Text(b"\r\n".to_vec()));
    }
    pieces.push(Piece::Text(format!("--{boundary}--\r\n").into_bytes()));
    (format!("multipart/form-data; boundary={boundary}"), Template { pieces })
}

/// As browsers write a name within quotes (the HTML standard's multipart/form-data encoding).
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// One that is in none of the parts as they stand. That a value drawn later holds it is as likely
/// as guessing 62^22.
fn boundary(parts: &[Part]) -> String {
    let mut boundary = "sarsen-5mG2vXw8RkTq3LdZ9yBnEh".to_owned();
    let texts = || {
        let pieces = parts.iter().flat_map(|part| &part.content.pieces);
        pieces.filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            _ => None,
        })
    };
    while texts().any(|text| memchr::memmem::find(text, boundary.as_bytes()).is_some()) {
        boundary.push('x');
    }
    boundary
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, content: &str) -> Part {
        let content = Template::fixed(content);
        Part { name: name.into(), file_name: None, media_type: None, content }
    }

    #[test]
    fn parts_are_told_apart_by_a_boundary_that_is_in_none() {
        let first = boundary(&[]);
        let parts = [part("a", &format!("--{first}")), part("b", "2")];
        let (media_type, body) = template(&parts);
        let boundary = media_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        assert_eq!(boundary, format!("{first}x"));
        let text: Vec<u8> = body
            .pieces
            .iter()
            .flat_map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n--{first}\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n2\r\n\
             --{boundary}--\r\n"
        );
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn files_say_their_names_and_types_and_stay_open() {
        let file = Part {
            name: "a\"b\r\n".into(),
            file_name: Some("x.jpg".into()),
            media_type: Some("image/jpeg".into()),
            content: Template { pieces: vec![Piece::Key] },
        };
        let (_, body) = template(&[file]);
        let [Piece::Text(head), Piece::Key, ..] = body.pieces.as_slice() else {
            panic!("{body:?}");
        };
        let head = String::from_utf8(head.clone()).unwrap();
        let expected = "Content-Disposition: form-data; name=\"a%22b%0D%0A\"; \
            filename=\"x.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n";
        assert!(head.ends_with(expected), "{head}");
    }
}
