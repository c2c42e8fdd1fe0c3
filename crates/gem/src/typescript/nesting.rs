//! How deep a text nests, told without parsing: the parser recurses, and has no bound of its own on
//! that. Brackets count wherever they are, also in strings and comments, which only matters where
//! hundreds of them are never closed. Angle brackets are counted as far as they stand in one
//! statement: `a < b` never closes its one.

use crate::limits::TYPESCRIPT_NESTING_MAX;

/// The byte of `text` where it nests deeper than the bound.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let (mut brackets, mut angles) = (0_usize, 0_usize);
    text.bytes().position(|byte| {
        match byte {
            b'(' | b'[' | b'{' => brackets += 1,
            b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            _ => {}
        }
        if matches!(byte, b';' | b')' | b'}') {
            angles = 0;
        }
        brackets + angles > TYPESCRIPT_NESTING_MAX
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_up_to_the_bound() {
        let nested = |open: &str, depth: usize| too_deep(&open.repeat(depth));
        for open in ["(", "[", "{", "A<"] {
            assert_eq!(nested(open, TYPESCRIPT_NESTING_MAX), None);
            let at = (TYPESCRIPT_NESTING_MAX + 1) * open.len() - 1;
            assert_eq!(nested(open, TYPESCRIPT_NESTING_MAX + 1), Some(at), "{open}");
        }
        assert_eq!(too_deep(&"if (a < b) {}\nx = 1 < 2;".repeat(TYPESCRIPT_NESTING_MAX)), None);
    }
}
