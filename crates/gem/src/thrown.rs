//! What a script threw, as one line with its place: `app.js:3:14: TypeError: ...`.

use crate::limits::MESSAGE_BYTES_MAX;
use rquickjs::{Coerced, Ctx, FromJs, Object, Value};
use std::fmt;

/// An exception, described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Thrown {
    /// `file:line:column` in the application, if known.
    pub(crate) place: Option<String>,
    /// One line.
    pub(crate) message: String,
    /// Whether the engine ran out of heap.
    pub(crate) out_of_memory: bool,
}

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Thrown {
    /// Describes the exception that `error` stands for, and takes it from the engine.
    pub(crate) fn catch(ctx: &Ctx<'_>, error: &rquickjs::Error) -> Self {
        match error {
            rquickjs::Error::Exception => Self::of(ctx, &ctx.catch()),
            rquickjs::Error::Allocation => Self::out_of_memory("out of memory"),
            other => Self::text(&other.to_string()),
        }
    }

    /// Describes a thrown value.
    pub(crate) fn of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Self {
        match value.as_object() {
            Some(error) if error.is_error() => Self::of_error(error),
            // Without memory even for an error object the engine throws null.
            None if value.is_null() => Self::out_of_memory("out of memory, or null was thrown"),
            _ => Self::text(&format!("{} was thrown", shown(ctx, value))),
        }
    }

    fn of_error(error: &Object<'_>) -> Self {
        let name = property(error, "name").unwrap_or_else(|| "Error".to_owned());
        let message = property(error, "message").unwrap_or_default();
        let stack = property(error, "stack").unwrap_or_default();
        let out_of_memory = name == "InternalError" && message == "out of memory";
        let text = if message.is_empty() { name } else { format!("{name}: {message}") };
        // An application may set the stack to anything.
        let place = place(&stack).map(|place| one_line(&place));
        Self { place, out_of_memory, ..Self::text(&text) }
    }

    fn out_of_memory(message: &str) -> Self {
        Self { out_of_memory: true, ..Self::text(message) }
    }

    /// One without a place.
    pub(crate) fn text(message: &str) -> Self {
        Self { place: None, message: one_line(message), out_of_memory: false }
    }
}

fn property(error: &Object<'_>, name: &str) -> Option<String> {
    match error.get::<_, Option<Coerced<String>>>(name) {
        Ok(text) => text.map(|text| text.0),
        Err(_) => {
            // A getter that threw: what it threw must not stay behind in the engine.
            error.ctx().catch();
            None
        }
    }
}

/// A thrown value that is not an error, for a message; a string in quotes.
fn shown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if value.is_string() || value.is_object() {
        let json = ctx.json_stringify(value.clone()).ok().flatten();
        if let Some(json) = json.and_then(|json| json.to_string().ok()) {
            return json;
        }
        // The value may have thrown while it was read: that exception is of no interest.
        ctx.catch();
    }
    match Coerced::<String>::from_js(ctx, value.clone()) {
        Ok(text) => text.0,
        Err(_) => {
            ctx.catch();
            value.type_name().to_owned()
        }
    }
}

/// The first place in a stack that lies in the application: Sarsen's own modules are called
/// `sarsen:...`. Lines look like `    at name (file:line:column)` or `    at file:line:column`.
fn place(stack: &str) -> Option<String> {
    stack.lines().find_map(|line| {
        let at = line.trim().strip_prefix("at ")?;
        let place = match (at.split_once(" ("), at.strip_suffix(')')) {
            (Some((name, _)), Some(open)) => &open[name.len() + 2..],
            _ => at,
        };
        let mut parts = place.rsplitn(3, ':');
        let numbered = parts.by_ref().take(2).all(|part| part.parse::<u32>().is_ok());
        let file = parts.next()?;
        (numbered && !file.starts_with("sarsen:")).then(|| place.to_owned())
    })
}

/// At most `MESSAGE_BYTES_MAX` bytes of `text`, on one line.
pub(crate) fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    cut(line, MESSAGE_BYTES_MAX)
}

/// At most `bytes_max` bytes of `text`, and a sign if that is not all.
pub(crate) fn cut(mut text: String, bytes_max: usize) -> String {
    const SIGN: &str = "…";
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max - SIGN.len()));
        text.push_str(SIGN);
    }
    text
}

/// Line and column, from 1, of the byte at `at`; columns count characters.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at.min(text.len()))];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_the_applications() {
        let stack = "    at encode (sarsen:persist:71:9)\n    at put (native)\n    \
                     at save (apps/x (1)/lib.js:3:14)\n    at apps/x/app.js:9:1\n";
        assert_eq!(place(stack).as_deref(), Some("apps/x (1)/lib.js:3:14"));
        assert_eq!(place("    at apps/x/app.js:9:1\n").as_deref(), Some("apps/x/app.js:9:1"));
        assert_eq!(place("    at f (native)\n    at sarsen:turn:1:1"), None);
        assert_eq!(place(""), None);
    }

    #[test]
    fn messages_are_cut_to_one_line() {
        assert_eq!(one_line("a\nb\tc"), "a b c");
        let long = one_line(&"ü".repeat(MESSAGE_BYTES_MAX));
        assert!(long.len() <= MESSAGE_BYTES_MAX && long.ends_with('…'));
        assert_eq!(cut("abcd".to_owned(), 4), "abcd");
    }

    #[test]
    fn positions() {
        assert_eq!(position("", 0), (1, 1));
        assert_eq!(position("a\nüb", 4), (2, 2));
        assert_eq!(position("a\n", 99), (2, 1));
    }
}
