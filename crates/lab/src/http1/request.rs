//! What goes to the server: requests prepared once for a run, and written for each operation. It
//! does not check that method and fields are well formed; the plan does.

use crate::engine::{Fill, push_decimal};
use crate::plan::{HttpStep, Piece, Template, Transport};
use crate::target::Origin;

/// A request with its fixed parts already in wire form.
pub(crate) struct Prepared {
    /// The method and a space.
    method: Vec<u8>,
    path: Template,
    /// ` HTTP/1.1` and the fields, up to the ones that change.
    fields: Template,
    body: Option<Template>,
    sends_length: bool,
    /// Whether replies come without a body, whatever their fields say (RFC 9110 §9.3.2).
    pub(crate) is_head: bool,
}

impl Prepared {
    /// Of a step.
    pub(crate) fn new(origin: &Origin, step: &HttpStep, transport: &Transport) -> Self {
        let mut fields = Template::fixed(" HTTP/1.1\r\n");
        let mut push = |text: &str| push_text(&mut fields, text.as_bytes());
        if !step.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            push(&format!("Host: {}\r\n", origin.authority()));
        }
        if !transport.keep_alive {
            push("Connection: close\r\n");
        }
        for (name, value) in &step.headers {
            push_text(&mut fields, format!("{name}: ").as_bytes());
            value.pieces.iter().for_each(|piece| push_piece(&mut fields, piece));
            push_text(&mut fields, b"\r\n");
        }
        let body = Some(step.body.clone()).filter(|body| body.as_fixed() != Some(b""));
        Self {
            method: format!("{} ", step.method).into_bytes(),
            path: step.path.clone(),
            fields,
            sends_length: body.is_some() || expects_body(&step.method),
            body,
            is_head: step.method == "HEAD",
        }
    }

    /// Writes the request over what `out` held. `body` is for its content, and kept so that
    /// rendering the next needs no memory.
    pub(crate) fn render(
        &self,
        fill: &mut Fill<'_>,
        cookies: &[u8],
        (out, body): (&mut Vec<u8>, &mut Vec<u8>),
    ) {
        out.clear();
        body.clear();
        out.extend_from_slice(&self.method);
        fill.render(&self.path, out);
        fill.render(&self.fields, out);
        if !cookies.is_empty() {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(cookies);
            out.extend_from_slice(b"\r\n");
        }
        if let Some(template) = &self.body {
            fill.render(template, body);
        }
        if self.sends_length {
            out.extend_from_slice(b"Content-Length: ");
            push_decimal(out, body.len() as u64);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body);
    }
}

fn push_text(template: &mut Template, text: &[u8]) {
    match template.pieces.last_mut() {
        Some(Piece::Text(last)) => last.extend_from_slice(text),
        _ => template.pieces.push(Piece::Text(text.to_vec())),
    }
}

fn push_piece(template: &mut Template, piece: &Piece) {
    match piece {
        Piece::Text(text) => push_text(template, text),
        other => template.pieces.push(other.clone()),
    }
}

/// Methods that say their length even when it is 0 (RFC 9110 §8.6).
fn expects_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}
