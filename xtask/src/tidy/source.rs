//! The rules for Rust source: lengths, parameters, names, what may not be called, and that limits
//! are documented. It works on the parsed file; rules on plain text are in `text`.

use super::tokens::{self, Token};
use crate::finding::{Finding, Rule};
use crate::limits::{
    FILE_LINES_MAX, FUNCTION_LINES_MAX, MODULE_NAMES_REFUSED, PARAMETERS_MAX, TYPE_ENDINGS_REFUSED,
};
use proc_macro2::{Ident, TokenStream};
use std::ops::RangeInclusive;
use std::str::FromStr;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, FnArg, Item, Signature};

/// Applies them to the file at `path`.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let file = match syn::parse_file(text) {
        Ok(file) => file,
        Err(error) => {
            let line = error.span().start().line;
            return vec![Finding::new(path, line, Rule::Syntax, error.to_string())];
        }
    };
    let mut walk = Walk { path, findings: Vec::new(), tests: Vec::new() };
    walk.visit_file(&file);
    let Walk { mut findings, tests, .. } = walk;
    // What parsed as a file is a list of tokens; a shebang line is the one exception.
    let tokens = TokenStream::from_str(text).map(tokens::flatten).unwrap_or_default();
    findings.extend(forbidden_tokens(path, &tokens, &tests));
    findings.extend(file_length(path, text, &file));
    if path.ends_with("/limits.rs") {
        findings.extend(undocumented_limits(path, &file));
    }
    findings
}

/// Whether the whole file is for tests or measurements and never shipped.
fn is_test_file(path: &str) -> bool {
    let folder = |name: &str| path.split('/').any(|part| part == name);
    folder("tests") || folder("benches") || path.ends_with("/tests.rs")
}

fn file_length(path: &str, text: &str, file: &syn::File) -> Option<Finding> {
    if is_test_file(path) {
        return None;
    }
    let lines = match file.items.last() {
        Some(Item::Mod(module)) if is_test(&module.attrs) => start_of(&module.attrs).map(|l| l - 1),
        _ => None,
    };
    let lines = lines.unwrap_or_else(|| text.lines().count());
    let what = format!("{lines} lines without tests, at most {FILE_LINES_MAX}");
    (lines > FILE_LINES_MAX).then(|| Finding::new(path, lines, Rule::FileLength, what))
}

fn undocumented_limits(path: &str, file: &syn::File) -> Vec<Finding> {
    let constants = file.items.iter().filter_map(|item| match item {
        Item::Const(constant) if constant.ident != "_" => Some(constant),
        _ => None,
    });
    constants
        .filter(|constant| !constant.attrs.iter().any(|a| a.path().is_ident("doc")))
        .map(|constant| {
            let what = format!("`{}` must say what it bounds and what happens", constant.ident);
            Finding::new(path, line_of(&constant.ident), Rule::LimitDoc, what)
        })
        .collect()
}

/// `tests` are the lines of test code in the file.
fn forbidden_tokens(path: &str, tokens: &[Token], tests: &[RangeInclusive<usize>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).map_or("", text);
        let in_test = is_test_file(path) || tests.iter().any(|lines| lines.contains(&token.line));
        let (rule, what) = match token.text.as_str() {
            "unwrap" if matches!(before, "." | ":") && !in_test => {
                (Rule::Unwrap, "handle the error, or `expect` with why it cannot fail")
            }
            "todo" | "unimplemented" if text(index + 1) == "!" => {
                (Rule::Unfinished, "finish it or leave it out")
            }
            "ignore" if before == "[" => (Rule::Unfinished, "a test runs or does not exist"),
            "unsafe" => (Rule::Unsafe, "allowed only with an exception that gives the reason"),
            _ => continue,
        };
        let what = format!("`{}`: {what}", token.text);
        findings.push(Finding::new(path, token.line, rule, what));
    }
    findings
}

/// Whether the item exists in test builds only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let cfg_test =
            || attribute.meta.require_list().is_ok_and(|l| l.tokens.to_string() == "test");
        attribute.path().is_ident("test") || (attribute.path().is_ident("cfg") && cfg_test())
    })
}

/// The line of the first attribute or doc comment.
fn start_of(attributes: &[Attribute]) -> Option<usize> {
    attributes.first().map(|attribute| attribute.pound_token.span.start().line)
}

fn line_of(ident: &Ident) -> usize {
    ident.span().start().line
}

/// Collects what the items of one file show.
struct Walk<'a> {
    path: &'a str,
    findings: Vec<Finding>,
    /// Lines of items that exist in test builds only.
    tests: Vec<RangeInclusive<usize>>,
}

impl Walk<'_> {
    fn find(&mut self, line: usize, rule: Rule, what: String) {
        self.findings.push(Finding::new(self.path, line, rule, what));
    }

    fn note_test(&mut self, attributes: &[Attribute], end: usize) {
        if is_test(attributes) {
            self.tests.push(start_of(attributes).unwrap_or(end)..=end);
        }
    }

    fn check_type_name(&mut self, ident: &Ident) {
        let name = ident.to_string();
        if let Some(ending) = TYPE_ENDINGS_REFUSED.iter().find(|e| name.ends_with(*e)) {
            let what = format!("`{name}` ends with {ending}, which says nothing; name what it is");
            self.find(line_of(ident), Rule::TypeName, what);
        }
    }

    fn check_signature(&mut self, signature: &Signature) {
        let typed = signature.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_)));
        let count = typed.count();
        if count > PARAMETERS_MAX {
            let what = format!("`{}` has {count}, at most {PARAMETERS_MAX}", signature.ident);
            self.find(line_of(&signature.ident), Rule::Parameters, what);
        }
    }

    fn check_length(&mut self, signature: &Signature, block: &Block) {
        let first = signature.fn_token.span.start().line;
        let lines = end_of(block) + 1 - first;
        if lines > FUNCTION_LINES_MAX {
            let name = &signature.ident;
            let what = format!("`{name}` has {lines} lines, at most {FUNCTION_LINES_MAX}");
            self.find(first, Rule::FunctionLength, what);
        }
    }
}

fn end_of(block: &Block) -> usize {
    block.brace_token.span.close().end().line
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let name = module.ident.to_string();
        if MODULE_NAMES_REFUSED.contains(&name.as_str()) {
            let what = format!("`{name}` says nothing; name what the module holds");
            self.find(line_of(&module.ident), Rule::ModuleName, what);
        }
        let end = module.content.as_ref().map(|(brace, _)| brace.span.close().end().line);
        self.note_test(&module.attrs, end.unwrap_or_else(|| line_of(&module.ident)));
        visit::visit_item_mod(self, module);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.note_test(&function.attrs, end_of(&function.block));
        self.check_length(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.note_test(&function.attrs, end_of(&function.block));
        self.check_length(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.check_length(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        self.check_signature(signature);
        visit::visit_signature(self, signature);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.check_type_name(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.check_type_name(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.check_type_name(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.check_type_name(&item.ident);
        visit::visit_item_type(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<(usize, Rule)> {
        let mut found: Vec<_> = check(path, text).into_iter().map(|f| (f.line, f.rule)).collect();
        found.sort_unstable();
        found
    }

    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    #[test]
    fn rust_that_does_not_parse_is_found() {
        assert_eq!(rules("a.rs", "//! x\nfn f( {}\n"), [(2, Rule::Syntax)]);
    }

    #[test]
    fn files_are_measured_without_the_tests_at_their_bottom() {
        let full = "const A: u8 = 0;\n".repeat(FILE_LINES_MAX);
        assert_eq!(rules("src/a.rs", &full), [], "the limit itself is allowed");
        let tests = "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n";
        assert_eq!(rules("src/a.rs", &format!("{full}{tests}")), []);
        let long = format!("{full}const B: u8 = 0;\n{tests}");
        assert_eq!(rules("src/a.rs", &long), [(FILE_LINES_MAX + 1, Rule::FileLength)]);
        assert_eq!(rules("crates/a/tests/a.rs", &long), [], "tests may be long");
        let buried = format!("{tests}{full}");
        assert_eq!(rules("src/a.rs", &buried), [(FILE_LINES_MAX + 4, Rule::FileLength)]);
    }

    #[test]
    fn functions_are_measured_from_fn_to_brace() {
        assert_eq!(rules("a.rs", &function(FUNCTION_LINES_MAX)), []);
        let long = function(FUNCTION_LINES_MAX + 1);
        assert_eq!(rules("a.rs", &long), [(1, Rule::FunctionLength)]);
        let method = format!("impl A {{\n{long}}}\ntrait B {{\n{long}}}\n");
        assert_eq!(
            rules("a.rs", &method),
            [(2, Rule::FunctionLength), (FUNCTION_LINES_MAX + 5, Rule::FunctionLength)]
        );
    }

    #[test]
    fn parameters_are_counted_without_self() {
        let five = "a: u8, b: u8, c: u8, d: u8, e: u8";
        assert_eq!(rules("a.rs", &format!("impl A {{ fn f(&self, {five}) {{}} }}")), []);
        assert_eq!(rules("a.rs", &format!("fn f({five}, g: u8) {{}}")), [(1, Rule::Parameters)]);
        assert_eq!(
            rules("a.rs", &format!("trait A {{ fn f({five}, g: u8); }}")),
            [(1, Rule::Parameters)]
        );
    }

    #[test]
    fn names_that_say_nothing_are_refused() {
        for name in MODULE_NAMES_REFUSED {
            assert_eq!(rules("a.rs", &format!("mod {name};")), [(1, Rule::ModuleName)], "{name}");
        }
        for ending in TYPE_ENDINGS_REFUSED {
            for item in ["struct Note{};", "enum Note{} {}", "trait Note{} {}", "type Note{} = u8;"]
            {
                let text = item.replacen("{}", ending, 1);
                assert_eq!(rules("a.rs", &text), [(1, Rule::TypeName)], "{text}");
            }
        }
        assert_eq!(rules("a.rs", "struct Metadata; struct Database; mod corean;"), []);
    }

    #[test]
    fn unfinished_work_is_found_in_tests_too() {
        let text = "#[test]\n#[ignore]\nfn f() {\n    todo!()\n}\nfn g() { unimplemented!(\"x\") }";
        let expected = [(2, Rule::Unfinished), (4, Rule::Unfinished), (6, Rule::Unfinished)];
        assert_eq!(rules("a.rs", text), expected);
        assert_eq!(rules("a.rs", "//! todo!() later\nfn todo() {}"), [], "words are no macros");
    }

    #[test]
    fn unwrap_is_allowed_in_tests_only() {
        let text =
            "fn f() {\n    a.unwrap();\n    assert!(a.unwrap());\n    a.map(A::unwrap);\n}\n";
        let lines = [(2, Rule::Unwrap), (3, Rule::Unwrap), (4, Rule::Unwrap)];
        assert_eq!(rules("a.rs", text), lines);
        assert_eq!(rules("crates/a/tests/a.rs", text), []);
        assert_eq!(rules("a.rs", &format!("#[cfg(test)]\nmod tests {{\n{text}}}")), []);
        assert_eq!(rules("a.rs", &format!("#[test]\n{text}")), []);
        assert_eq!(rules("a.rs", &format!("#[cfg(not(test))]\n{text}")).len(), 3);
        assert_eq!(rules("a.rs", "fn f() { a.unwrap_or(0); \".unwrap()\"; }"), []);
    }

    #[test]
    fn unsafe_is_found_in_every_form() {
        let text = "unsafe fn f() {}\nfn g() { unsafe {} }\nunsafe impl A for B {}";
        assert_eq!(rules("a.rs", text), [(1, Rule::Unsafe), (2, Rule::Unsafe), (3, Rule::Unsafe)]);
        assert_eq!(rules("a.rs", "#![forbid(unsafe_code)]\n// unsafe\n"), []);
    }

    #[test]
    fn limits_say_what_they_bound() {
        let text = "/// Most.\npub const A: u8 = 1;\npub const B: u8 = 2;\nconst _: () = ();";
        assert_eq!(rules("crates/a/src/limits.rs", text), [(3, Rule::LimitDoc)]);
        assert_eq!(rules("crates/a/src/other.rs", text), []);
    }
}
