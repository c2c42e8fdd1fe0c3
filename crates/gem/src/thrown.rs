//! What a script threw, as one line with its place: `app.js:3:14: TypeError: ...`; and what is
//! known besides: the stack in the application, and what the error was caused by.

use crate::limits::{CAUSES_MAX, FRAME_BYTES_MAX, FRAMES_MAX, MESSAGE_BYTES_MAX};
use rquickjs::{Coerced, Ctx, FromJs, Object, Type, Value};
use std::fmt;

/// An exception, described.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thrown {
    /// `file:line:column` in the application, if known.
    pub(crate) place: Option<String>,
    /// One line.
    pub(crate) message: String,
    /// Whether the engine ran out of heap.
    pub(crate) out_of_memory: bool,
    /// The application's part of the stack, the innermost call first: `name (file:line:column)`.
    pub(crate) stack: Vec<String>,
    /// What it was caused by (`error.cause`), the nearest first, each as this is shown.
    pub(crate) causes: Vec<String>,
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

    /// Describes a thrown value, and what it says that it was caused by.
    pub(crate) fn of<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Self {
        let mut thrown = Self::alone(ctx, value);
        let mut next = cause(value);
        while let Some(value) = next.filter(|_| thrown.causes.len() < CAUSES_MAX) {
            thrown.causes.push(Self::alone(ctx, &value).to_string());
            next = cause(&value);
        }
        thrown
    }

    fn alone<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Self {
        match value.as_object() {
            Some(error) if error.is_error() => Self::of_error(error),
            // Without memory even for an error object the engine throws null, or nothing at all.
            None if value.is_null() || value.type_of() == Type::Uninitialized => {
                Self::out_of_memory("out of memory, or null was thrown")
            }
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
        let frames = frames(&stack);
        let place = frames.first().map(|frame| one_line(frame.place));
        let stack = frames.iter().take(FRAMES_MAX).map(Frame::shown).collect();
        Self { place, stack, out_of_memory, ..Self::text(&text) }
    }

    /// Whether the stack was not deep enough, as far as the message tells.
    pub(crate) fn is_out_of_stack(&self) -> bool {
        self.message == "RangeError: Maximum call stack size exceeded"
    }

    fn out_of_memory(message: &str) -> Self {
        Self { out_of_memory: true, ..Self::text(message) }
    }

    /// One without a place.
    pub(crate) fn text(message: &str) -> Self {
        Self { message: one_line(message), ..Self::default() }
    }
}

/// What an error was caused by (ECMA-262, "InstallErrorCause"). An application may have made it a
/// circle, or endless: the caller counts.
fn cause<'js>(value: &Value<'js>) -> Option<Value<'js>> {
    let error = value.as_object().filter(|object| object.is_error())?;
    match error.get::<_, Value<'js>>("cause") {
        Ok(cause) => (!cause.is_undefined()).then_some(cause),
        Err(_) => {
            error.ctx().catch();
            None
        }
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

/// One call on a stack.
struct Frame<'a> {
    /// Empty at the top of a module.
    name: &'a str,
    place: &'a str,
}

impl Frame<'_> {
    fn shown(&self) -> String {
        let text = match self.name {
            "" => self.place.to_owned(),
            name => format!("{name} ({})", self.place),
        };
        cut(one_line(&text), FRAME_BYTES_MAX)
    }
}

/// The calls on a stack that lie in the application: Sarsen's own modules are called `sarsen:...`.
/// Lines look like `    at name (file:line:column)` or `    at file:line:column`.
fn frames(stack: &str) -> Vec<Frame<'_>> {
    fn frame(line: &str) -> Option<Frame<'_>> {
        let at = line.trim().strip_prefix("at ")?;
        let (name, place) = match (at.split_once(" ("), at.strip_suffix(')')) {
            (Some((name, _)), Some(open)) => (name, &open[name.len() + 2..]),
            _ => ("", at),
        };
        let mut parts = place.rsplitn(3, ':');
        let numbered = parts.by_ref().take(2).all(|part| part.parse::<u32>().is_ok());
        let file = parts.next()?;
        (numbered && !file.starts_with("sarsen:")).then_some(Frame { name, place })
    }
    stack.lines().filter_map(frame).collect()
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
        let shown = |stack| frames(stack).iter().map(Frame::shown).collect::<Vec<_>>();
        let both = ["save (apps/x (1)/lib.js:3:14)", "apps/x/app.js:9:1"];
        assert_eq!(shown(stack), both);
        assert_eq!(frames(stack)[0].place, "apps/x (1)/lib.js:3:14");
        assert!(frames("    at f (native)\n    at sarsen:turn:1:1").is_empty());
        assert!(frames("").is_empty());
        let long = format!("    at {} (app.js:1:1)", "f".repeat(FRAME_BYTES_MAX));
        assert_eq!(shown(&long)[0].len(), FRAME_BYTES_MAX);
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
