//! A Rust file as one flat list of tokens with their lines, so that a rule can look for a few
//! tokens in a row, inside macros too. Comments and the content of strings are not tokens.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One token, or one bracket.
pub struct Token {
    /// As written: an identifier, one punctuation character, a literal, a bracket.
    pub text: String,
    /// 1-based.
    pub line: usize,
}

/// Every token of `stream`, groups opened up.
pub fn flatten(stream: TokenStream) -> Vec<Token> {
    let mut flat = Vec::new();
    append(stream, &mut flat);
    flat
}

fn append(stream: TokenStream, flat: &mut Vec<Token>) {
    for tree in stream {
        let TokenTree::Group(group) = tree else {
            flat.push(Token { line: tree.span().start().line, text: tree.to_string() });
            continue;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => ("", ""),
        };
        flat.push(Token { text: open.into(), line: group.span_open().start().line });
        append(group.stream(), flat);
        flat.push(Token { text: close.into(), line: group.span_close().start().line });
    }
}
