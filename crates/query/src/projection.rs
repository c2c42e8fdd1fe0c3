//! Projections: giving some members of a document only.

use crate::field::Field;
use crate::limits::QUERY_FIELDS_MAX;
use crate::scanner::{Mistake, Scanner};
use repository::json;

/// Which members are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Projection {
    members: Vec<(String, Selected)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Selected {
    Whole,
    Part(Projection),
}

impl Projection {
    /// Reads a list of fields: `title, author.name`. Metadata is always given and may be named;
    /// if nothing else is, the projection is empty.
    pub(crate) fn parse(text: &str) -> Result<Self, Mistake> {
        let mut scanner = Scanner::new(text);
        let mut projection = Self::default();
        for count in 1.. {
            scanner.skip_space();
            if count > QUERY_FIELDS_MAX {
                return Err(scanner.mistake(format!("at most {QUERY_FIELDS_MAX} fields")));
            }
            if let Field::Member(path) = scanner.field()? {
                projection.add(path.names());
            }
            scanner.skip_space();
            if scanner.is_at_end() {
                break;
            } else if !scanner.take(",") {
                return Err(scanner.mistake("a comma or the end"));
            }
        }
        Ok(projection)
    }

    fn add(&mut self, names: &[String]) {
        let Some((first, rest)) = names.split_first() else { return };
        let at = self.members.iter().position(|(name, _)| name == first).unwrap_or_else(|| {
            self.members.push((first.clone(), Selected::Part(Self::default())));
            self.members.len() - 1
        });
        match &mut self.members[at].1 {
            selected if rest.is_empty() => *selected = Selected::Whole,
            Selected::Part(part) => part.add(rest),
            Selected::Whole => {}
        }
    }

    /// Whether no member is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Appends what is given of the canonical `text`: objects with fewer members, arrays with what
    /// is given of their elements. False, and nothing, if it is neither.
    pub(crate) fn append(&self, text: &str, out: &mut String) -> bool {
        match text.as_bytes().first() {
            Some(b'{') => self.append_object(text, out),
            Some(b'[') => self.append_array(text, out),
            _ => return false,
        }
        true
    }

    fn append_object(&self, text: &str, out: &mut String) {
        let mut opening = '{';
        for child in json::children(text) {
            let raw = child.name.unwrap_or("\"\"");
            let name = json::unquote(raw);
            let Some((_, selected)) = self.members.iter().find(|(known, _)| *known == name) else {
                continue;
            };
            let before = out.len();
            out.push(opening);
            out.push_str(raw);
            out.push(':');
            let is_given = match selected {
                Selected::Whole => {
                    out.push_str(child.value);
                    true
                }
                Selected::Part(part) => part.append(child.value, out),
            };
            match is_given {
                true => opening = ',',
                false => out.truncate(before),
            }
        }
        if opening == '{' {
            out.push('{');
        }
        out.push('}');
    }

    fn append_array(&self, text: &str, out: &mut String) {
        let mut opening = '[';
        for child in json::children(text) {
            let before = out.len();
            out.push(opening);
            match self.append(child.value, out) {
                true => opening = ',',
                false => out.truncate(before),
            }
        }
        if opening == '[' {
            out.push('[');
        }
        out.push(']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(fields: &str, text: &str) -> Option<String> {
        let mut out = String::new();
        Projection::parse(fields).unwrap().append(text, &mut out).then_some(out)
    }

    #[test]
    fn members_are_given_in_their_own_order() {
        let text = r#"{"a":1,"b":{"c":[1,2],"d":"x","e\"":null},"f":[{"g":1,"h":2},3,[{"g":4}]]}"#;
        for (fields, expected) in [
            ("a", r#"{"a":1}"#),
            ("f,a", r#"{"a":1,"f":[{"g":1,"h":2},3,[{"g":4}]]}"#),
            ("b.d", r#"{"b":{"d":"x"}}"#),
            ("b.\"e\\\"\" , b.c", r#"{"b":{"c":[1,2],"e\"":null}}"#),
            ("b.d,b", r#"{"b":{"c":[1,2],"d":"x","e\"":null}}"#),
            ("b,b.d", r#"{"b":{"c":[1,2],"d":"x","e\"":null}}"#),
            ("f.g", r#"{"f":[{"g":1},[{"g":4}]]}"#),
            ("a.x,x,@key", "{}"),
            ("b.x", r#"{"b":{}}"#),
        ] {
            assert_eq!(project(fields, text).as_deref(), Some(expected), "{fields}");
        }
        assert_eq!(project("a", "1"), None);
        assert_eq!(project("a", "[1,{\"a\":2}]").as_deref(), Some("[{\"a\":2}]"));
    }

    #[test]
    fn lists_are_bounded_and_mistakes_have_a_place() {
        let list = |count: usize| vec!["a"; count].join(",");
        assert!(Projection::parse(&list(QUERY_FIELDS_MAX)).is_ok());
        let mistake = Projection::parse(&list(QUERY_FIELDS_MAX + 1)).unwrap_err();
        assert!(mistake.to_string().contains("at most 64 fields"), "{mistake}");
        for (text, at) in [("", 1), ("a b", 3), ("a,,b", 3), ("a.", 3)] {
            assert_eq!(Projection::parse(text).unwrap_err().at, at, "{text}");
        }
        assert!(Projection::parse("@key,@version").unwrap().is_empty());
    }
}
