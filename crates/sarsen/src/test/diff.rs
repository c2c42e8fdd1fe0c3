//! The difference between two texts, line by line: the longest common subsequence (Hunt and McIlroy
//! 1976), with a few common lines around what differs.

use crate::limits::DIFF_LINES_MAX;

/// One line of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// In both.
    Both(&'a str),
    /// Was expected and is not there.
    Expected(&'a str),
    /// Is there and was not expected.
    Actual(&'a str),
    /// So many lines are in both, and not shown.
    Same(usize),
}

/// Common lines shown around a difference.
const AROUND: usize = 3;

/// What differs. Of texts with more than [`DIFF_LINES_MAX`] lines only the first are compared.
pub fn diff<'a>(expected: &'a str, actual: &'a str) -> Vec<Line<'a>> {
    let a: Vec<&str> = expected.lines().take(DIFF_LINES_MAX).collect();
    let b: Vec<&str> = actual.lines().take(DIFF_LINES_MAX).collect();
    // lengths[i][j]: of the longest common subsequence of a[i..] and b[j..].
    let mut lengths = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i][j] = match a[i] == b[j] {
                true => lengths[i + 1][j + 1] + 1,
                false => lengths[i + 1][j].max(lengths[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            lines.push(Line::Both(a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && lengths[i + 1][j] >= lengths[i][j + 1]) {
            lines.push(Line::Expected(a[i]));
            i += 1;
        } else {
            lines.push(Line::Actual(b[j]));
            j += 1;
        }
    }
    folded(&lines)
}

/// Leaves out common lines that are far from what differs.
fn folded<'a>(lines: &[Line<'a>]) -> Vec<Line<'a>> {
    let differs = |line: &Line<'_>| !matches!(line, Line::Both(_));
    let is_near = |at: usize| {
        let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(lines.len());
        lines[around].iter().any(differs)
    };
    let mut shown = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if is_near(at) {
            shown.push(*line);
        } else if let Some(Line::Same(count)) = shown.last_mut() {
            *count += 1;
        } else {
            shown.push(Line::Same(1));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_with_its_surroundings() {
        let (a, b) = ("1\n2\n3\n4\n5\nsix\n7", "1\n2\n3\n4\n5\n6\nnew\n7");
        let expected = [
            Line::Same(2),
            Line::Both("3"),
            Line::Both("4"),
            Line::Both("5"),
            Line::Expected("six"),
            Line::Actual("6"),
            Line::Actual("new"),
            Line::Both("7"),
        ];
        assert_eq!(diff(a, b), expected);
        assert_eq!(diff("", "a"), [Line::Actual("a")]);
        assert_eq!(diff("a", ""), [Line::Expected("a")]);
        assert_eq!(diff("a\nb", "a\nb"), [Line::Same(2)]);
    }
}
