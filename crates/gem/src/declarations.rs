//! The types of the modules that applications import, for editors and compilers. Nothing here
//! checks them: `tests/types` does, with the TypeScript compiler.

/// Files of declarations: names and texts. An application's folder that has them is checked and
/// completed by editors.
pub const DECLARATIONS: [(&str, &str); 2] = [
    ("sarsen.d.ts", include_str!("js/sarsen.d.ts")),
    ("sarsen-test.d.ts", include_str!("js/testing.d.ts")),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn declares(words: &str) -> bool {
        let follows = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
        DECLARATIONS[0]
            .1
            .match_indices(words)
            .any(|(at, _)| follows(&DECLARATIONS[0].1[at + words.len()..]))
    }

    #[test]
    fn all_that_is_exported_is_declared() {
        let exports = include_str!("js/sarsen.js").lines();
        let lists = exports.filter_map(|line| line.strip_prefix("export { ")?.split_once(" }"));
        let names: Vec<&str> = lists.flat_map(|(names, _)| names.split(", ")).collect();
        assert!(names.contains(&"App"));
        for name in names {
            let kinds = ["function", "const", "class"];
            let is_declared = kinds.iter().any(|kind| declares(&format!("export {kind} {name}")));
            assert!(is_declared, "js/sarsen.d.ts says nothing of {name}");
        }
    }

    #[test]
    fn all_that_a_handler_receives_is_declared() {
        let (_, context) = include_str!("js/turn.js").split_once("\nclass Turn {").unwrap();
        let (context, _) = context.split_once("\n}").unwrap();
        let members =
            context.lines().filter_map(|line| line.strip_prefix("  get ")?.split_once('('));
        let names: Vec<&str> = members.map(|(name, _)| name).collect();
        assert!(names.contains(&"db"));
        for name in names {
            assert!(declares(&format!("readonly {name}")), "js/sarsen.d.ts says nothing of {name}");
        }
    }
}
