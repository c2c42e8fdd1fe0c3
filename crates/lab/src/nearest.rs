//! The known name that a misspelt one was probably meant to be.

/// The most similar of `names`, if one is similar enough to be worth suggesting.
pub fn of<'a>(got: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = (got.chars().count() / 3).max(1);
    let measured = names.into_iter().map(|name| (distance(got, name), name));
    measured.filter(|(distance, _)| *distance <= bound).min_by_key(|(d, _)| *d).map(|(_, n)| n)
}

/// The end of an error message that suggests `nearest`.
pub fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// How many letters must be added, removed, replaced or swapped with their neighbour to get from
/// one to the other (optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    // rows[i][j]: the distance of the first i letters of `from` to the first j of `to`.
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let above = &rows[i - 1];
            let replaced = above[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut least = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, expected) in
            [("", "", 0), ("", "abc", 3), ("serve", "serve", 0), ("serv", "serve", 1)]
        {
            assert_eq!(distance(from, to), expected, "{from} {to}");
            assert_eq!(distance(to, from), expected, "{to} {from}");
        }
        assert_eq!(distance("bnech", "bench"), 1, "a swap is one step");
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["data", "listen", "gems"];
        assert_eq!(of("lisen", names), Some("listen"));
        assert_eq!(of("gem", names), Some("gems"));
        assert_eq!(of("port", names), None);
        assert_eq!(of("", names), None);
    }
}
