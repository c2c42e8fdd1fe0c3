//! What a browser shows of a failed request of the application: in development all that is known,
//! in production an id. Programs get the same as members of the problem; see `dispatch`.
//!
//! The page needs no script and nothing from elsewhere, and everything on it is escaped.

use crate::http::accept;
use crate::problem::{Problem, Row};
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use std::fmt::Write;

/// Allows the style below and nothing else (Content Security Policy 3, §2.3.1, "hash-source"). A
/// test compares it with the style.
pub(super) const CONTENT_SECURITY_POLICY: &str = concat!(
    "default-src 'none'; style-src 'sha256-Uwe1mMtTGdE1g/5mlKQarT3rT7n2mnh57fGjwrkk/Zc='; ",
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
);

const STYLE: &str = include_str!("failure.css");

/// Whether the client is a browser that wants a page: it likes HTML better than the problem, which
/// is JSON (RFC 9110 §12.5.1). Who takes anything is a program.
pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    let offers = ["application/problem+json", "application/json", "text/html"];
    accept::best(headers, &offers) == Some(2)
}

/// The page of a problem of the application's. `request` is shown to developers only.
pub(super) fn page(problem: &Problem, report: &gem::Report, request: Option<&Parts>) -> String {
    let Row { name, status, title } = problem.kind.row();
    let mut page = Page(String::with_capacity(4 << 10));
    let lang = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                <meta name=\"viewport\" content=\"width=device-width\">\n\
                <meta name=\"color-scheme\" content=\"light dark\">\n";
    page.raw(&format!("{lang}<title>{status} {title}</title>\n<style>{STYLE}</style>\n</head>\n"));
    page.raw("<body>\n<main>\n");
    page.element("h1", title);
    match request {
        Some(parts) => develop(&mut page, report, parts),
        None => {
            page.element("p", &problem.detail);
            page.raw("<p>If you tell somebody about it, say this id: ");
            page.element("code", &report.id);
            page.raw("</p>\n");
        }
    }
    page.raw(&format!("<footer><a href=\"/errors/{name}\">What this means</a></footer>\n"));
    page.raw("</main>\n</body>\n</html>\n");
    page.0
}

fn develop(page: &mut Page, report: &gem::Report, parts: &Parts) {
    page.raw("<p class=\"message\">");
    page.text(&report.message);
    page.raw("</p>\n");
    if let Some(place) = &report.place {
        page.raw("<p class=\"place\">");
        page.text(place);
        page.raw("</p>\n");
    }
    if let Some(code) = &report.code {
        frame(page, code);
    }
    list(page, "Caused by", &report.causes);
    list(page, "Stack", &report.stack);
    page.raw("<h2>Request</h2>\n<table>\n");
    page.row("request", &format!("{} {}", parts.method, parts.uri));
    page.row("handler", &report.handler);
    page.row("view", &format!("{}", report.view));
    page.row("conflicts", &report.conflicts.to_string());
    page.row("CPU", &format!("{:.1} ms", report.cpu.as_secs_f64() * 1e3));
    page.row("id", &report.id);
    page.raw("</table>\n<details><summary>Header fields</summary>\n<table>\n");
    for (name, value) in &parts.headers {
        // Whoever looks over a developer's shoulder must not get a session.
        let is_secret = value.is_sensitive() || SECRET.contains(&name.as_str());
        let shown = String::from_utf8_lossy(value.as_bytes());
        page.row(name.as_str(), if is_secret { "(not shown)" } else { &shown });
    }
    page.raw("</table>\n</details>\n");
}

const SECRET: [&str; 3] = ["cookie", "authorization", "proxy-authorization"];

fn frame(page: &mut Page, code: &gem::CodeFrame) {
    page.raw("<pre class=\"code\">");
    for (number, line) in code.text().lines().map(|line| (line.starts_with('>'), line)) {
        if number {
            page.raw("<strong>");
        }
        page.text(line);
        page.raw(if number { "</strong>\n" } else { "\n" });
    }
    page.raw("</pre>\n");
}

fn list(page: &mut Page, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    page.element("h2", title);
    page.raw("<ol>\n");
    for line in lines {
        page.element("li", line);
    }
    page.raw("</ol>\n");
}

struct Page(String);

impl Page {
    fn raw(&mut self, html: &str) {
        self.0.push_str(html);
    }

    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
    }

    fn element(&mut self, name: &str, text: &str) {
        write!(self.0, "<{name}>").expect("a string takes everything");
        self.text(text);
        writeln!(self.0, "</{name}>").expect("a string takes everything");
    }

    fn row(&mut self, name: &str, value: &str) {
        self.raw("<tr>");
        self.element("th", name);
        self.element("td", value);
        self.raw("</tr>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Kind;
    use hyper::Request;
    use hyper::header::{ACCEPT, HeaderValue};
    use sha2::{Digest, Sha256};

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
            let bits = bits << (8 * (3 - three.len()));
            for place in 0..4 {
                let digit = char::from(DIGITS[(bits >> (18 - 6 * place) & 63) as usize]);
                text.push(if place <= three.len() { digit } else { '=' });
            }
        }
        text
    }

    #[test]
    fn the_policy_allows_the_style_and_nothing_else() {
        assert_eq!(base64(b"sarsen!"), "c2Fyc2VuIQ==");
        let hash = base64(&Sha256::digest(STYLE));
        assert!(CONTENT_SECURITY_POLICY.contains(&format!("style-src 'sha256-{hash}'")), "{hash}");
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains('<'));
    }

    #[test]
    fn who_names_html_gets_a_page() {
        let wants = |accept: &'static str| {
            wants_page(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]))
        };
        assert!(wants("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
        assert!(wants("application/json;q=0.2, Text/HTML; q=0.3"));
        assert!(wants("text/html"));
        assert!(!wants("application/json, text/html; q=0.1"));
        assert!(!wants("text/html;q=0"));
        assert!(!wants("*/*") && !wants("application/json") && !wants(""));
        assert!(!wants_page(&HeaderMap::new()));
    }

    const EVIL: &str = "</style><script>alert('&')</script>\"";

    fn report() -> gem::Report {
        gem::Report {
            id: "0123456789ab".to_owned(),
            message: format!("TypeError: {EVIL}"),
            place: Some(format!("{EVIL}.js:1:2")),
            handler: format!("GET /{EVIL}"),
            stack: vec![EVIL.to_owned()],
            causes: vec![EVIL.to_owned()],
            code: Some(gem::CodeFrame {
                first_line: 1,
                lines: vec![EVIL.to_owned()],
                line: 1,
                column: 2,
            }),
            ..gem::Report::default()
        }
    }

    fn parts() -> Parts {
        let request = Request::builder().uri("/a?b=%3Cscript%3E").header("X-Own", EVIL);
        let request =
            request.header("Cookie", "sarsen_session=secret").header("Accept", "text/html");
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn everything_is_escaped_and_secrets_are_left_out() {
        let problem = Problem::new(Kind::HandlerFailed, EVIL);
        for request in [Some(&parts()), None] {
            let page = page(&problem, &report(), request);
            assert!(!page.contains("<script") && !page.contains("secret"), "{page}");
            assert_eq!(page.matches("</style>").count(), 1);
            assert!(page.contains("0123456789ab"));
            assert_eq!(page.contains("TypeError"), request.is_some());
        }
        let page = page(&problem, &report(), Some(&parts()));
        assert_eq!(page.matches("&lt;script&gt;alert(&#39;&amp;&#39;)").count(), 7, "{page}");
        assert!(page.contains("<td>(not shown)</td>"));
    }
}
