//! Cleans HTML of strangers for the server's own pages and for readers (RFC 5023 §15.7, RFC 4287
//! §8): what comes out runs nothing and looks like nothing but text. The stored entry stays as it
//! was sent. `tokens` takes HTML apart, `allowed` says what may stay, `references` knows characters
//! by name.
//!
//! Why what comes out is harmless: it consists of text in which `<`, `>` and loose `&` are escaped,
//! and of tags that are written here, of elements and attributes of a list. No element of the list
//! changes how a browser reads what follows it (as `script`, `svg` or `noscript` do), so a browser
//! sees the tags that were written and no others. However wrongly something was taken apart, only
//! its looks suffer. Each byte is looked at a bounded number of times, and every element is closed:
//! `docs/decisions/0038-clean-html.md` has why this is not a library's.

mod allowed;
mod references;
mod tokens;

use crate::limits::{ATOM_BASE_BYTES_MAX, ATOM_HTML_DEPTH_MAX};
use allowed::{Allowed, Value};
use std::borrow::Cow;
use tokens::{Tag, Token, Tokens};
use wire::atom::TextKind;
use wire::uri;

/// The HTML that may be shown of `html`. References in it are resolved by `base`; without one, or
/// with one that is too long to be repeated, those that need it are left out.
pub(crate) fn html(html: &str, base: Option<&str>) -> String {
    let base = base.filter(|base| base.len() <= ATOM_BASE_BYTES_MAX);
    let mut out = Cleaned { out: String::with_capacity(html.len()), open: Vec::new(), base };
    for token in Tokens::of(html) {
        match token {
            Token::Text(text) => text_out(&mut out.out, text),
            Token::Start(tag) => out.start(&tag),
            Token::End(name) => out.end(&name),
        }
    }
    out.close_to(0);
    out.out
}

/// The text of HTML, without its markup.
pub(crate) fn text(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    for token in Tokens::of(html) {
        match token {
            Token::Text(text) => out.push_str(&references::decoded(text)),
            // Words of two paragraphs are two words.
            Token::Start(Tag { name, .. }) | Token::End(name)
                if allowed::is_block(&name) || name == "br" =>
            {
                out.push(' ');
            }
            Token::Start(_) | Token::End(_) => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A construct of Atom as text, without markup and with single spaces.
pub(crate) fn words(construct: &wire::atom::Text) -> String {
    match construct.kind {
        TextKind::Text => construct.value.split_whitespace().collect::<Vec<_>>().join(" "),
        TextKind::Html | TextKind::Xhtml => text(&construct.value),
    }
}

/// Where a link may lead, resolved by `base`.
pub(crate) fn link(href: &str, base: Option<&str>) -> Option<String> {
    let cleaned = Cleaned { out: String::new(), open: Vec::new(), base };
    cleaned.reference(href, allowed::LINK_SCHEMES).map(Cow::into_owned)
}

/// HTML that is being written.
struct Cleaned<'a> {
    out: String,
    /// Elements that are open, all of which have an end tag.
    open: Vec<&'static str>,
    base: Option<&'a str>,
}

impl Cleaned<'_> {
    fn start(&mut self, tag: &Tag<'_>) {
        let Some(element) = allowed::element(&tag.name) else { return };
        self.imply_ends(element);
        if self.open.len() >= ATOM_HTML_DEPTH_MAX && !element.is_void {
            return;
        }
        let start = self.out.len();
        self.out.push('<');
        self.out.push_str(element.name);
        let mut has_source = false;
        // What is stated twice counts the first time, as in browsers.
        let mut stated: Vec<&str> = Vec::new();
        for attribute in &tag.attributes {
            let Some(kind) = element.attribute(&attribute.name) else { continue };
            if stated.contains(&kind.0) {
                continue;
            }
            stated.push(kind.0);
            let value = references::decoded(attribute.value);
            if let Some(value) = self.value(kind.1, &value) {
                has_source |= kind.0 == "src";
                push_attribute(&mut self.out, kind.0, &value);
            }
        }
        if element.name == "img" && !has_source {
            self.out.truncate(start);
            return;
        }
        // Before `>`: what the server says of every such element.
        self.out.push_str(element.always);
        self.out.push('>');
        if !element.is_void {
            self.open.push(element.name);
        }
    }

    fn value<'v>(&self, kind: Value, value: &'v str) -> Option<Cow<'v, str>> {
        match kind {
            Value::Text => Some(Cow::Borrowed(value)),
            Value::Number => {
                let value = value.trim();
                let is_one = !value.is_empty() && value.len() <= 6;
                let is_one = is_one && value.bytes().all(|b| b.is_ascii_digit());
                is_one.then_some(Cow::Borrowed(value))
            }
            Value::Word => {
                let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
                let is_one = value.len() <= 40 && value.bytes().all(is_plain);
                is_one.then_some(Cow::Borrowed(value))
            }
            Value::Link => self.reference(value, allowed::LINK_SCHEMES),
            Value::Source => self.reference(value, allowed::SOURCE_SCHEMES),
        }
    }

    /// A reference that leads to one of these schemes, resolved.
    fn reference<'v>(&self, value: &str, schemes: &[&str]) -> Option<Cow<'v, str>> {
        // Browsers pass over these (the URL standard, "basic URL parser").
        let is_passed_over = |c: char| matches!(c, '\t' | '\n' | '\r');
        let value: String = value.chars().filter(|c| !is_passed_over(*c)).collect();
        let value = value.trim_matches(|c: char| c <= ' ');
        if value.chars().any(char::is_control) {
            return None;
        }
        let is_allowed =
            |scheme: &str| schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme));
        let head = value.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        match head.split_once(':') {
            Some((scheme, _)) => is_allowed(scheme).then(|| Cow::Owned(value.to_owned())),
            None => {
                let resolved = uri::resolve(self.base?, value);
                let scheme = uri::scheme(&resolved);
                scheme.is_none_or(is_allowed).then_some(Cow::Owned(resolved))
            }
        }
    }

    /// Ends what the beginning of an element ends in HTML, where end tags may be left out.
    fn imply_ends(&mut self, element: &Allowed) {
        let Some((ended, within)) = allowed::ends(element.name) else { return };
        for at in (0..self.open.len()).rev() {
            let open = self.open[at];
            if ended.contains(&open) {
                return self.close_to(at);
            }
            if within.contains(&open) {
                return;
            }
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(at) = self.open.iter().rposition(|open| *open == name) {
            self.close_to(at);
        }
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(name) = self.open.pop() else { return };
            self.out.push_str("</");
            self.out.push_str(name);
            self.out.push('>');
        }
    }
}

/// Writes text. A reference to a character stays one.
fn text_out(out: &mut String, text: &str) {
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let instead = match byte {
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'&' if references::length(&text[at..]).is_none() => "&amp;",
            b'\t' | b'\n' | b'\r' => continue,
            0..0x20 | 0x7f => "\u{fffd}",
            _ => continue,
        };
        out.push_str(&text[written..at]);
        out.push_str(instead);
        written = at + 1;
    }
    out.push_str(&text[written..]);
}

fn push_attribute(out: &mut String, name: &str, value: &str) {
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    wire::xml::escape_attribute(out, value);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(dirty: &str) -> String {
        html(dirty, Some("http://example.org/a/b"))
    }

    /// RFC 5023 §15.7, RFC 4287 §8.1; the ways are those of the OWASP's list of filter evasions.
    #[test]
    fn rfc4287_8_1_nothing_runs() {
        for (dirty, clean_text) in [
            ("<script>alert(1)</script>a", "a"),
            ("<SCRIPT SRC=//evil></SCRIPT >a", "a"),
            ("<script>a", ""),
            ("a<style>b{}</style>c", "ac"),
            ("<b onclick=alert(1) style='x' class=y id=z>a</b>", "<b>a</b>"),
            ("<b/onclick=alert(1)>a", "<b>a</b>"),
            ("<a href='javascript:alert(1)'>a</a>", "<a rel=\"noopener nofollow\">a</a>"),
            ("<a href='JaVa\tScript:alert(1)'>a</a>", "<a rel=\"noopener nofollow\">a</a>"),
            ("<a href=' \u{1}javascript:x'>a</a>", "<a rel=\"noopener nofollow\">a</a>"),
            ("<a href='java&#115;cript&#58;x'>a</a>", "<a rel=\"noopener nofollow\">a</a>"),
            ("<a href='javascript&colon;x'>a</a>", "<a rel=\"noopener nofollow\">a</a>"),
            ("<a href='data:text/html,x'>a</a>", "<a rel=\"noopener nofollow\">a</a>"),
            ("<img src=data:image/png,x onerror=y>", ""),
            ("<img src=x onerror=alert(1)//", ""),
            ("<iframe src=x>y</iframe>z", "z"),
            ("<svg><a xlink:href=x><script>y</script></svg>z", "z"),
            ("<math><mtext></mtext></math>z", "z"),
            ("<object data=x><embed src=y>z</object>", "z"),
            ("<form action=x><input name=y>z</form>", "z"),
            ("<base href=x><meta http-equiv=refresh><link rel=stylesheet>z", "z"),
            (
                "<noscript><p title=\"</noscript><img src=x onerror=y>\">z",
                "<p title=\"&lt;\
              /noscript&gt;&lt;img src=x onerror=y&gt;\">z</p>",
            ),
            ("<!--><img src=y><!-- -->z", "<img src=\"http://example.org/a/y\" loading=\"lazy\">z"),
            ("<!-- <b> --><?php x ?><![CDATA[y]]>z", "z"),
            ("<b title='\"><script>'>a</b>", "<b title=\"&quot;&gt;&lt;script&gt;\">a</b>"),
            ("<template><b>x</b></template>y", "y"),
        ] {
            assert_eq!(clean(dirty), clean_text, "{dirty}");
        }
    }

    #[test]
    fn what_people_write_stays() {
        for same in [
            "<p>One <b>and</b> <em>two</em>.</p>",
            "<ul><li>a</li><li>b</li></ul>",
            "a &lt; b &amp; c &eacute; &#233; \u{e9}",
            "<table><tr><th colspan=\"2\">a</th></tr><tr><td>b</td><td>c</td></tr></table>",
            "<h2 lang=\"fr\" dir=\"ltr\">Titre</h2><hr><pre><code>x\n  y</code></pre>",
            "<details><summary>a</summary>b</details>",
        ] {
            assert_eq!(clean(same), same);
        }
        assert_eq!(
            clean("<a href=c?d=1&amp;e=2#f title=g>x</a>"),
            "<a href=\"http://example.org/a/c?d=1&amp;e=2#f\" title=\"g\" \
             rel=\"noopener nofollow\">x</a>"
        );
        let mail = "<a href=\"mailto:a@example.org\" rel=\"noopener nofollow\">x</a>";
        assert_eq!(clean("<a href=mailto:a@example.org>x"), mail);
        assert_eq!(clean("1 < 2 & 3 > 2 &nonsense"), "1 &lt; 2 &amp; 3 &gt; 2 &amp;nonsense");
    }

    #[test]
    fn every_element_is_closed_as_browsers_would() {
        for (dirty, cleaned) in [
            ("<p>a<p>b", "<p>a</p><p>b</p>"),
            (
                "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>",
                "<ul><li>a</li><li>b<ul><li>c</li></ul>\
             </li><li>d</li></ul>",
            ),
            (
                "<table><tr><td>a<td>b<tr><td>c</table>",
                "<table><tr><td>a</td><td>b</td></tr>\
             <tr><td>c</td></tr></table>",
            ),
            ("<b><i>a</b>b</i>c", "<b><i>a</i></b>bc"),
            ("</div></p>a", "a"),
            ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
            ("<br></br><br/>", "<br><br>"),
        ] {
            assert_eq!(clean(dirty), cleaned, "{dirty}");
        }
        let many = "<p>a".repeat(10_000);
        assert_eq!(clean(&many).matches("<p>").count(), 10_000);
    }

    #[test]
    fn depth_and_bases_are_bounded() {
        let deep = format!("{}x", "<div>".repeat(ATOM_HTML_DEPTH_MAX + 5));
        let cleaned = clean(&deep);
        assert_eq!(cleaned.matches("<div>").count(), ATOM_HTML_DEPTH_MAX);
        assert_eq!(cleaned.matches("</div>").count(), ATOM_HTML_DEPTH_MAX);
        let long = format!("http://example.org/{}", "a".repeat(ATOM_BASE_BYTES_MAX));
        assert_eq!(html("<a href=b>c</a>", Some(&long)), "<a rel=\"noopener nofollow\">c</a>");
        let absolute = "<a href=\"http://a/\" rel=\"noopener nofollow\">c</a>";
        assert_eq!(html("<a href=http://a/>c</a>", None), absolute);
    }

    /// What made a parser that builds a tree need gigabytes of 16 KB.
    #[test]
    fn what_comes_out_is_not_much_more_than_what_went_in() {
        let tags: String = (0..20_000).map(|n| format!("<b title={n}>")).collect();
        let text = "<p>x".repeat(20_000);
        let dirty = format!("<p>{tags}{text}");
        assert!(clean(&dirty).len() < 10 * dirty.len());
        let attributes: String = (0..200_000).map(|n| format!(" a{n}")).collect();
        assert_eq!(clean(&format!("<b{attributes}>x")), "<b>x</b>");
    }

    #[test]
    fn text_has_no_markup() {
        for (html, expected) in [
            ("a <b>b</b>", "a b"),
            ("<p>a</p><p>b</p>", "a b"),
            ("1 &lt; 2 &amp;amp; &eacute;&#x41;", "1 < 2 &amp; \u{e9}A"),
            ("<script>x</script>y", "y"),
            ("a<br>b\n c", "a b c"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }
}
