//! Projections: giving some members of a document only.

use crate::field::Field;
use crate::limits::QUERY_FIELDS_MAX;
use crate::scanner::{Mistake, Scanner};
use repository::json;
use std::borrow::Cow;

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
            if scanner.peek() == Some('-') {
                let expected = "a member to give; nothing is left out by -, and a name that begins \
                                with it is written in quotes";
                return Err(scanner.mistake(expected));
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

    /// The names that are places in an array, as in filters, and the others.
    fn split_places(&self) -> (Vec<(usize, &Selected)>, Cow<'_, Self>) {
        let place = |name: &str| {
            let place: usize = name.parse().ok()?;
            (place.to_string() == name).then_some(place)
        };
        let places: Vec<_> = self
            .members
            .iter()
            .filter_map(|(name, selected)| Some((place(name)?, selected)))
            .collect();
        if places.is_empty() {
            return (places, Cow::Borrowed(self));
        }
        let others = self.members.iter().filter(|(name, _)| place(name).is_none());
        (places, Cow::Owned(Self { members: others.cloned().collect() }))
    }

    /// What either of the two gives.
    fn and<'a>(&'a self, other: &Self) -> Cow<'a, Self> {
        if other.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut both = self.clone();
        for (name, selected) in &other.members {
            match both.members.iter_mut().find(|(known, _)| known == name) {
                None => both.members.push((name.clone(), selected.clone())),
                Some((_, known)) => match (&mut *known, selected) {
                    (Selected::Part(part), Selected::Part(more)) => {
                        *part = part.and(more).into_owned();
                    }
                    _ => *known = Selected::Whole,
                },
            }
        }
        Cow::Owned(both)
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

    /// A name that is a number is a place in the array; all other names are for each element.
    fn append_array(&self, text: &str, out: &mut String) {
        let (places, of_each) = self.split_places();
        let mut opening = '[';
        for (place, child) in json::children(text).enumerate() {
            let before = out.len();
            out.push(opening);
            let here = places.iter().find(|(named, _)| *named == place);
            let is_given = match here.map(|(_, selected)| selected) {
                Some(Selected::Whole) => {
                    out.push_str(child.value);
                    true
                }
                Some(Selected::Part(part)) => part.and(&of_each).append(child.value, out),
                None => !of_each.is_empty() && of_each.append(child.value, out),
            };
            match is_given {
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
    fn numbers_are_places_in_arrays_and_names_in_objects() {
        let text = r#"{"t":["x",{"0":5,"g":1,"h":2},[{"g":3,"h":4},7]],"o":{"0":8,"01":9}}"#;
        for (fields, expected) in [
            ("t.0", r#"{"t":["x"]}"#),
            ("t.1", r#"{"t":[{"0":5,"g":1,"h":2}]}"#),
            ("t.0,t.2", r#"{"t":["x",[{"g":3,"h":4},7]]}"#),
            ("t.1.g", r#"{"t":[{"g":1}]}"#),
            ("t.2.0.h", r#"{"t":[[{"h":4}]]}"#),
            ("t.2.1", r#"{"t":[[7]]}"#),
            ("t.1.g,t.h", r#"{"t":[{"g":1,"h":2},[{"h":4}]]}"#),
            ("t.1.0", r#"{"t":[{"0":5}]}"#),
            ("t.0.g", r#"{"t":[]}"#),
            ("t.9", r#"{"t":[]}"#),
            ("t.00,t.\"1\".g", r#"{"t":[{"g":1},[{}]]}"#),
            ("o.0", r#"{"o":{"0":8}}"#),
            ("o.01", r#"{"o":{"01":9}}"#),
        ] {
            assert_eq!(project(fields, text).as_deref(), Some(expected), "{fields}");
        }
        assert_eq!(project("1", "[1,2,3]").as_deref(), Some("[2]"));
        assert_eq!(
            project("1.a,b", r#"[1,{"a":2,"b":3,"c":4},{"b":5}]"#).as_deref(),
            Some(r#"[{"a":2,"b":3},{"b":5}]"#)
        );
    }

    #[test]
    fn lists_are_bounded_and_mistakes_have_a_place() {
        let list = |count: usize| vec!["a"; count].join(",");
        assert!(Projection::parse(&list(QUERY_FIELDS_MAX)).is_ok());
        let mistake = Projection::parse(&list(QUERY_FIELDS_MAX + 1)).unwrap_err();
        assert!(mistake.to_string().contains("at most 64 fields"), "{mistake}");
        for (text, at) in [("", 1), ("a b", 3), ("a,,b", 3), ("a.", 3), ("a,-b", 3)] {
            assert_eq!(Projection::parse(text).unwrap_err().at, at, "{text}");
        }
        assert!(Projection::parse("@key,@version").unwrap().is_empty());
    }
}
