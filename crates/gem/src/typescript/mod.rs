//! TypeScript: its types are blanked out, so that what remains is JavaScript with every character
//! on the line and in the column where it was written. Nothing is checked here but what cannot be
//! blanked; whether the types fit is the editor's affair, and `tsc --noEmit`'s.
//!
//! A handful of characters move or appear, because without a type the text would mean something
//! else: see [`strip`].

mod marks;
mod nesting;
mod refusal;
mod strip;
mod tokens;

use crate::limits::{TYPESCRIPT_BYTES_MAX, TYPESCRIPT_NESTING_MAX, TYPESCRIPT_STACK_BYTES};
use std::thread;

/// What is wrong with a module, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// The byte of the module where it stands.
    pub(crate) at: usize,
    /// What was found, and what to write instead.
    pub(crate) why: String,
}

/// Whether the file at `path` is TypeScript.
pub(crate) fn is_typescript(path: &str) -> bool {
    path.ends_with(".ts")
}

/// The JavaScript in `text`: as many lines, and as many characters in each.
///
/// The parser recurses as deep as the text nests, so it has a thread with a stack for that.
pub(crate) fn javascript(text: &str) -> Result<String, Mistake> {
    let failed = |why: String| Mistake { at: 0, why };
    if text.len() > TYPESCRIPT_BYTES_MAX {
        let bytes = text.len();
        let why = format!("a module of TypeScript has at most {TYPESCRIPT_BYTES_MAX} bytes");
        return Err(failed(format!("{why}; found {bytes}; divide it, or compile it with tsc")));
    }
    if let Some(at) = nesting::too_deep(text) {
        let why = format!("expected at most {TYPESCRIPT_NESTING_MAX} brackets inside each other");
        return Err(Mistake { at, why });
    }
    thread::scope(|scope| {
        thread::Builder::new()
            .name("gem-types".to_owned())
            .stack_size(TYPESCRIPT_STACK_BYTES)
            .spawn_scoped(scope, || strip::strip(text))
            .map_err(|error| failed(error.to_string()))?
            .join()
            .unwrap_or_else(|_| Err(failed("the parser of TypeScript panicked".to_owned())))
    })
}

#[cfg(test)]
mod tests;
