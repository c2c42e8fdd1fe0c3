//! The elements of a list of operations, with messages that say where a mistake is.

use super::Malformed;
use repository::json;

/// So much of a value that a message stays readable.
pub(crate) fn excerpt(value: &str) -> String {
    repository::excerpt(value, 40).into_owned()
}

/// A list's element: an object, with its place in the list.
pub(crate) struct Element<'a> {
    index: usize,
    text: &'a str,
}

/// The elements of a list of operations.
pub(crate) fn elements(text: &str, max: usize) -> Result<Vec<Element<'_>>, Malformed> {
    if !text.starts_with('[') {
        let why = "expected a list of operations".to_owned();
        return Err(Malformed::Structure { at: String::new(), why });
    }
    let listed = json::children(text).map(|child| child.value).enumerate();
    let elements: Vec<_> = listed.map(|(index, text)| Element { index, text }).collect();
    match elements.len() {
        got if got > max => Err(Malformed::TooMany { got, max }),
        _ => Ok(elements),
    }
}

impl<'a> Element<'a> {
    pub(crate) fn wrong(&self, member: &str, why: impl Into<String>) -> Malformed {
        let slash = if member.is_empty() { "" } else { "/" };
        Malformed::Structure { at: format!("/{}{slash}{member}", self.index), why: why.into() }
    }

    /// Refuses members that are not among `known`.
    pub(crate) fn check_members(&self, known: &[&str]) -> Result<(), Malformed> {
        let names = json::children(self.text).filter_map(|child| child.name).map(json::unquote);
        for name in names {
            if !known.contains(&&*name) {
                let why = format!("it can have {}; got \"{}\"", known.join(", "), excerpt(&name));
                return Err(self.wrong("", why));
            }
        }
        Ok(())
    }

    /// The text of a member, if it is there.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<&'a str>, Malformed> {
        if !self.text.starts_with('{') {
            return Err(self.wrong("", "expected an object"));
        }
        let mut members = json::children(self.text);
        let found = members.find(|child| child.name.is_some_and(|raw| json::unquote(raw) == name));
        Ok(found.map(|child| child.value))
    }

    /// The text of a member, which must be there.
    pub(crate) fn member(&self, name: &str) -> Result<&'a str, Malformed> {
        let missing = || self.wrong("", format!("the operation needs \"{name}\""));
        self.optional(name)?.ok_or_else(missing)
    }

    pub(crate) fn string(&self, name: &str) -> Result<String, Malformed> {
        let value = self.member(name)?;
        match value.starts_with('"') {
            true => Ok(json::unquote(value).into_owned()),
            false => Err(self.wrong(name, format!("expected a string, got {}", excerpt(value)))),
        }
    }

    pub(crate) fn pointer(&self, name: &str) -> Result<String, Malformed> {
        let pointer = self.string(name)?;
        json::check_pointer(&pointer).map_err(|error| self.wrong(name, error.to_string()))?;
        Ok(pointer)
    }
}
