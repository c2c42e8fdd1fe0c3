//! What each target does with the bytes that it is given: forms of both encodings, and paths
//! against patterns. A mistake is a panic. `docs/fuzzing.md` says how to run them.

use crate::target::{SEPARATOR, Target};
use gem::fuzzing::{self, Field};

pub const TARGETS: &[Target] = &[
    Target {
        name: "form",
        run: form,
        seeds: &[
            b"multipart/form-data; boundary=x\xff--x\r\nContent-Disposition: form-data; \
              name=\"a\"\r\n\r\none\r\n--x\r\ncontent-disposition: form-data; name=f; \
              filename=\"C:\\\\a \\\"%22%0D%0A.png\"\r\nContent-Type: image/png\r\n\r\n\x89\r\n\
              --xy\r\n\r\n--x--\r\nend",
            b"multipart/form-data; boundary=\"a b\"\xffpre\r\n--a b \t\r\nA: b\r\n\
              Content-Disposition: form-data; name=\"\"; filename=\"\"\r\n\r\n\r\n--a b--",
            b"Multipart/Form-Data;boundary=x\xff--x--",
            b"application/x-www-form-urlencoded; charset=utf-8\xffa=1&b=%C3%A9+x&=&a&%zz=%",
            b"multipart/form-data; boundary=x\xff--x\r\nno",
        ],
    },
    Target {
        name: "route",
        run: route,
        seeds: &[
            b"/a/:id\n/a/new\n/a/*\n/*\xff/a/new",
            b"/:x{[0-9]{2,4}}/*\n/:x{en|de}/:y?\n/:z?\n/\xff/12/",
            b"/:x{en|de}/:y?\n/:z?\n/en/:w?\xff/en",
            b"/f/:path{.+}\n/f/:path{.*}\n/f/*/g\n/f\n/f/\xff/f/a%2Fb/%c3%a9",
            b"/:a{\\w+}/b\n/:a{[a-c\\-.]}/b\n//b\xff//b",
        ],
    },
    Target {
        name: "cookie",
        run: cookie,
        seeds: &[
            b"a\xffx=1; a=\"b c\"; a=2;; =; a",
            b"theme\xffdark blue; Path=/x\r\nSet-Cookie: b=c",
            b"__Host-id\xff%41%zz%c3%28\xc3\xbc,\\",
        ],
    },
];

fn parts(input: &[u8]) -> Option<(&str, &[u8])> {
    let end = input.iter().position(|&byte| byte == SEPARATOR)?;
    Some((std::str::from_utf8(&input[..end]).ok()?, &input[end + 1..]))
}

/// Bounds hold, contents are in the body, and what was read is read again from what a browser
/// would write for it.
fn form(input: &[u8]) {
    let Some((content_type, body)) = parts(input) else { return };
    let Ok(fields) = fuzzing::form(content_type, body) else { return };
    assert!(fields.len() <= gem::limits::FORM_FIELDS_MAX);
    for (_, content) in &fields {
        if let Err((_, _, bytes)) = content {
            assert!(bytes.is_empty() || body.windows(bytes.len()).any(|window| window == bytes));
        }
    }
    let boundary = boundary(&fields);
    let again = fuzzing::form(
        &format!("multipart/form-data; boundary={boundary}"),
        &multipart(&fields, &boundary),
    );
    assert_eq!(again.as_ref(), Ok(&fields));
    if fields.iter().all(|(_, content)| content.is_ok()) {
        let again = fuzzing::form("application/x-www-form-urlencoded", &urlencoded(&fields));
        assert_eq!(again, Ok(fields));
    }
}

/// One that is in no content.
fn boundary(fields: &[Field]) -> String {
    let mut boundary = "b".to_owned();
    let holds = |bytes: &[u8], boundary: &str| {
        bytes.windows(boundary.len()).any(|window| window == boundary.as_bytes())
    };
    while fields.iter().any(|(_, content)| match content {
        Ok(text) => holds(text.as_bytes(), &boundary),
        Err((_, _, bytes)) => holds(bytes, &boundary),
    }) {
        boundary.push(if boundary.len().is_multiple_of(2) { 'b' } else { 'c' });
        if boundary.len() == 70 {
            break;
        }
    }
    boundary
}

/// As browsers escape names; and backslashes, which have a meaning before a quote only.
fn quoted(name: &str) -> String {
    let name = name.replace('\\', "\\\\").replace('"', "%22");
    format!("\"{}\"", name.replace('\r', "%0D").replace('\n', "%0A"))
}

fn multipart(fields: &[Field], boundary: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in fields {
        let disposition = format!("Content-Disposition: form-data; name={}", quoted(name));
        body.extend_from_slice(format!("--{boundary}\r\n{disposition}").as_bytes());
        match content {
            Ok(text) => body.extend_from_slice(format!("\r\n\r\n{text}").as_bytes()),
            Err((file, media_type, bytes)) => {
                let head = format!("; filename={}\r\nContent-Type: {media_type}", quoted(file));
                body.extend_from_slice(head.as_bytes());
                body.extend_from_slice(b"\r\n\r\n");
                body.extend_from_slice(bytes);
            }
        }
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--").as_bytes());
    body
}

fn urlencoded(fields: &[Field]) -> Vec<u8> {
    let escape = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let pairs = fields.iter().map(|(name, content)| {
        let value = content.as_ref().map_or(String::new(), |text| escape(text));
        format!("{}={value}", escape(name))
    });
    pairs.collect::<Vec<_>>().join("&").into_bytes()
}

/// A path is led to the patterns that it is of, and to no others, in their order.
fn route(input: &[u8]) {
    let Some((patterns, path)) = parts(input) else { return };
    let Ok(path) = std::str::from_utf8(path) else { return };
    let patterns: Vec<&str> = patterns.split('\n').collect();
    if let Some((led, fit)) = fuzzing::routes(&patterns, path) {
        assert_eq!(led, fit, "{path:?} among {patterns:?}");
    }
}

/// Whatever a Cookie field holds can be read. A value that can be set is read again as it was, and
/// a Set-Cookie field is one field of visible text with the attributes that were meant.
fn cookie(input: &[u8]) {
    let Some((name, text)) = parts(input) else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let _ = fuzzing::cookie(text, name);
    if let Ok(field) = fuzzing::set_cookie(name, text, "/") {
        let (pair, attributes) = field.split_once(';').expect("attributes follow");
        assert_eq!(attributes, " Path=/; SameSite=Lax; Secure");
        assert!(pair.bytes().all(|byte| byte.is_ascii_graphic()), "{pair:?}");
        let sent = format!("{name}2=1; {pair}; {name}=3");
        assert_eq!(fuzzing::cookie(&sent, name).as_deref(), Some(text), "{sent}");
    }
    if let Ok(field) = fuzzing::set_cookie(name, "", text) {
        assert_eq!(field, format!("{name}=; Path={text}; SameSite=Lax; Secure"));
        assert!(!text.contains(';'));
    }
}
