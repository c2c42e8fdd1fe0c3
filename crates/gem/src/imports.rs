//! An import of what a module does not export: the engine names the two, and says neither where the
//! import stands nor that types must be marked as such.

/// What is not exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing<'a> {
    /// The name that is imported.
    export: &'a str,
    /// The module that has no such export, as the engine knows it.
    pub(crate) module: &'a str,
}

impl<'a> Missing<'a> {
    /// Reads the engine's message.
    pub(crate) fn of(message: &'a str) -> Option<Self> {
        let (_, names) = message.split_once("Could not find export '")?;
        let (export, module) = names.split_once("' in module '")?;
        Some(Self { export, module: module.strip_suffix('\'')? })
    }

    /// The byte of `text`, a module, where it imports or re-exports the name from a specifier that
    /// `is_meant`.
    pub(crate) fn find(&self, text: &str, is_meant: impl Fn(&str) -> bool) -> Option<usize> {
        text.match_indices("from").find_map(|(from, word)| {
            let after = text[from + word.len()..].trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let specifier = after[1..].split(quote).next()?;
            let list = text[..from].trim_end();
            // Of `import name from` and `import * as name from` the name is the last word.
            let start = if list.ends_with('}') { list.rfind('{')? } else { list.rfind("import")? };
            let at =
                if self.export == "default" { start } else { start + self.word(&list[start..])? };
            is_meant(specifier).then_some(at)
        })
    }

    fn word(&self, list: &str) -> Option<usize> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        list.match_indices(self.export).map(|(at, _)| at).find(|&at| {
            let before = list[..at].chars().next_back();
            let after = list[at + self.export.len()..].chars().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    }

    pub(crate) fn why(&self) -> String {
        let Self { export, module } = self;
        format!(
            "{module} exports no {export}; if that is a type, say so: import {{ type {export} }}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, export: &str) -> Option<usize> {
        let message = format!("SyntaxError: Could not find export '{export}' in module 'x/a.ts'");
        let missing = Missing::of(&message).unwrap();
        assert_eq!(missing.module, "x/a.ts");
        missing.find(text, |specifier| specifier == "./a.ts")
    }

    #[test]
    fn the_import_is_found() {
        let text = "import { A } from './b.ts';\nimport { AB, A } from \"./a.ts\";\n";
        assert_eq!(place(text, "A"), Some(41));
        assert_eq!(place(text, "AB"), Some(37));
        assert_eq!(place("export { A as B } from './a.ts'", "A"), Some(9));
        assert_eq!(place("import a from './a.ts'", "default"), Some(0));
        assert_eq!(place("import { A } from './b.ts'", "A"), None);
        assert_eq!(Missing::of("SyntaxError: other"), None);
    }
}
