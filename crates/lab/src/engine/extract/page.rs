//! The parts of a page that a browser fetches with it: style sheets, scripts, icons and images, as
//! its tags name them (`link`, `script`, `img`, `input type=image`). What scripts and style sheets
//! ask for, `srcset` and frames are left out.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use std::cell::RefCell;

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A style sheet or a script.
    Code,
    /// An image or an icon.
    Image,
}

/// A part, as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) kind: Kind,
    pub(crate) reference: String,
}

/// The parts of a page in their order, and what they are relative to if the page says so.
pub(crate) fn parts(page: &[u8]) -> (Vec<Part>, Option<String>) {
    let tokenizer = Tokenizer::new(Tags::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(&*String::from_utf8_lossy(page)));
    // No script is handed out, so it never pauses.
    let _done = tokenizer.feed(&input);
    tokenizer.end();
    let Tags { parts, base } = tokenizer.sink;
    (parts.into_inner(), base.into_inner())
}

#[derive(Default)]
struct Tags {
    parts: RefCell<Vec<Part>>,
    base: RefCell<Option<String>>,
}

impl TokenSink for Tags {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else { return TokenSinkResult::Continue };
        if tag.kind == TagKind::EndTag {
            return TokenSinkResult::Continue;
        }
        self.note(&tag);
        match &*tag.name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "noscript" | "iframe" | "noembed" | "noframes" | "xmp" => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}

impl Tags {
    fn note(&self, tag: &Tag) {
        let attribute = |name: &str| {
            tag.attrs.iter().find(|attr| &*attr.name.local == name).map(|attr| &*attr.value)
        };
        let (kind, reference) = match &*tag.name {
            "script" => (Some(Kind::Code), attribute("src")),
            "img" => (Some(Kind::Image), attribute("src")),
            "link" => (attribute("rel").and_then(kind_of_link), attribute("href")),
            "input" => {
                let is_image =
                    attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("image"));
                (is_image.then_some(Kind::Image), attribute("src"))
            }
            "base" => {
                let href = attribute("href").map(str::to_owned);
                let mut base = self.base.borrow_mut();
                // The first one counts.
                *base = base.take().or(href);
                return;
            }
            _ => return,
        };
        let Some((kind, reference)) = kind.zip(reference) else { return };
        if !reference.trim_ascii().is_empty() {
            self.parts.borrow_mut().push(Part { kind, reference: reference.to_owned() });
        }
    }
}

fn kind_of_link(rel: &str) -> Option<Kind> {
    let is = |wanted: &str| rel.split_ascii_whitespace().any(|w| w.eq_ignore_ascii_case(wanted));
    match () {
        () if is("alternate") => None,
        () if is("stylesheet") || is("modulepreload") => Some(Kind::Code),
        () if is("icon") => Some(Kind::Image),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_browser_would_fetch() {
        let page =
            b"<!DOCTYPE html><head><base href=/b/><base href=/no/><title><img src=no></title>
            <link rel='StyleSheet' href='a.css?x&amp;y'><link rel=alternate href=no>
            <LINK href=/i.png rel='shortcut icon'><script src=a.js async></script>
            <script>document.write('<img src=no>')</script><style><img src=no></style>
            <!-- <img src=no> --><IMG alt='<img src=no>' SRC = \"1.png\" /><img src=''>
            <input type=IMAGE src=2.png><input src=no><a href=no></a><img src='\xff";
        let (parts, base) = parts(page);
        let found: Vec<_> = parts.iter().map(|p| (p.kind, p.reference.as_str())).collect();
        let expected = [
            (Kind::Code, "a.css?x&y"),
            (Kind::Image, "/i.png"),
            (Kind::Code, "a.js"),
            (Kind::Image, "1.png"),
            (Kind::Image, "2.png"),
        ];
        assert_eq!(found, expected);
        assert_eq!(base.as_deref(), Some("/b/"));
        assert_eq!(super::parts(b""), (Vec::new(), None));
    }
}
