//! Schemas as text become lists of keywords: checked here, once, so that checking documents need
//! not.

use crate::SchemaError;
use crate::keyword::{COMPARISONS, Id, Keyword, Members, Node, SIZES, TYPES, Type};
use crate::limits::{IN_PLACE_MAX, PATTERNS_MAX, SCHEMA_BYTES_MAX};
use crate::pattern::Pattern;
use crate::references::{Names, escape, find};
use crate::value::Value;
use std::collections::HashMap;

/// The draft.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Keywords of earlier drafts that would be passed over in silence, and what to write.
const EARLIER: &[(&str, &str)] = &[
    ("dependencies", "dependentRequired or dependentSchemas"),
    ("additionalItems", "items, after prefixItems"),
    ("$recursiveRef", "$ref"),
    ("$recursiveAnchor", "$anchor"),
];

type Result<T> = std::result::Result<T, SchemaError>;

fn wrong<T>(at: impl Into<String>, why: impl Into<String>) -> Result<T> {
    Err(SchemaError { at: at.into(), why: why.into() })
}

/// All schemas of `text`; the first is the whole.
pub(crate) fn compile(text: &str) -> Result<Vec<Node>> {
    if text.len() > SCHEMA_BYTES_MAX {
        let why = format!("it has at most {SCHEMA_BYTES_MAX} bytes; got {}", text.len());
        return wrong("", why);
    }
    let root = Value::parse(text).or_else(|why| wrong("", why))?;
    let names = Names::of(&root)?;
    let mut compiler = Compiler {
        root: &root,
        names,
        known: HashMap::new(),
        nodes: Vec::new(),
        todo: Vec::new(),
        patterns: 0,
    };
    compiler.id(String::new(), &root);
    while let Some((id, value)) = compiler.todo.pop() {
        compiler.node(id, value)?;
    }
    let nodes = compiler.nodes;
    check_in_place(&nodes)?;
    Ok(nodes)
}

struct Compiler<'a> {
    root: &'a Value<'a>,
    names: Names<'a>,
    /// The schemas that were met, by their pointers.
    known: HashMap<String, Id>,
    nodes: Vec<Node>,
    /// Those of them that were not read yet.
    todo: Vec<(Id, &'a Value<'a>)>,
    patterns: usize,
}

impl<'a> Compiler<'a> {
    /// The schema at a pointer, which is read in its turn.
    fn id(&mut self, at: String, value: &'a Value<'a>) -> Id {
        if let Some(known) = self.known.get(&at) {
            return *known;
        }
        let id = self.nodes.len();
        self.nodes.push(Node { at: at.as_str().into(), ..Node::default() });
        self.known.insert(at, id);
        self.todo.push((id, value));
        id
    }

    fn node(&mut self, id: Id, value: &'a Value<'a>) -> Result<()> {
        let at = self.nodes[id].at.to_string();
        let members = match value {
            Value::Boolean(is) => {
                self.nodes[id].is = Some(*is);
                return Ok(());
            }
            Value::Object(members) => members,
            other => {
                let why = format!("a schema is an object, true or false; got {}", other.kind());
                return wrong(at, why);
            }
        };
        let mut keywords = Vec::new();
        for (name, value) in members {
            let at = format!("{at}/{}", escape(name));
            if let Some(keyword) = self.keyword(name, value, &at)? {
                keywords.push(keyword);
            }
        }
        keywords.extend(self.members(&at, value)?);
        keywords.extend(self.elements(&at, value)?);
        keywords.extend(self.contains(&at, value)?);
        keywords.extend(self.condition(&at, value));
        self.nodes[id].keywords = keywords;
        self.nodes[id].unevaluated_items = self.inside(&at, value, "unevaluatedItems");
        self.nodes[id].unevaluated_properties = self.inside(&at, value, "unevaluatedProperties");
        Ok(())
    }

    /// The schema that the member `name` holds.
    fn inside(&mut self, at: &str, value: &'a Value<'a>, name: &str) -> Option<Id> {
        let value = value.member(name)?;
        Some(self.id(format!("{at}/{name}"), value))
    }

    /// A keyword that stands for itself; `None`: it says nothing, or stands with others.
    fn keyword(&mut self, name: &str, value: &'a Value<'a>, at: &str) -> Result<Option<Keyword>> {
        if let Some((_, comparison)) = COMPARISONS.iter().find(|(known, _)| *known == name) {
            return Ok(Some(Keyword::Number(*comparison, number(value, at)?.0)));
        }
        if let Some((_, size)) = SIZES.iter().find(|(known, _)| *known == name) {
            return Ok(Some(Keyword::Size(*size, count(value, at)?)));
        }
        if let Some((_, instead)) = EARLIER.iter().find(|(known, _)| *known == name) {
            return wrong(at, format!("draft 2020-12 has no {name}: write {instead}"));
        }
        Ok(Some(match name {
            "$schema" => {
                let dialect = text(value, at)?.trim_end_matches('#');
                if dialect != DIALECT {
                    return wrong(at, format!("expected {DIALECT}; got {dialect}"));
                }
                return Ok(None);
            }
            "$defs" | "definitions" => {
                self.schemas(value, at)?;
                return Ok(None);
            }
            "$ref" => Keyword::Ref("$ref", self.reference(value, at)?),
            "$dynamicRef" => Keyword::Ref("$dynamicRef", self.reference(value, at)?),
            "type" => Keyword::Type(types(value, at)?),
            "enum" => {
                let all = array(value, at)?.iter().map(|value| value.clone().into_owned());
                let steps = value.size() as u64 / 32 + 1;
                Keyword::Enum(all.collect(), steps)
            }
            "const" => {
                let steps = value.size() as u64 / 32 + 1;
                Keyword::Const(value.clone().into_owned(), steps)
            }
            "multipleOf" => {
                let (of, text) = number(value, at)?;
                if of <= 0.0 {
                    return wrong(at, "expected a number greater than 0");
                }
                Keyword::MultipleOf(of, text.into())
            }
            "pattern" => Keyword::Pattern(self.pattern(text(value, at)?, at)?),
            "uniqueItems" => match value {
                Value::Boolean(true) => Keyword::UniqueItems,
                Value::Boolean(false) => return Ok(None),
                other => return wrong(at, format!("expected true or false; got {}", other.kind())),
            },
            "required" => Keyword::Required(texts(value, at)?),
            "dependentRequired" => {
                let mut all = Vec::new();
                for (name, value) in object(value, at)? {
                    let required = texts(value, &format!("{at}/{}", escape(name)))?;
                    all.push((Box::from(&**name), required));
                }
                Keyword::DependentRequired(all)
            }
            "dependentSchemas" => Keyword::DependentSchemas(self.schemas(value, at)?),
            "propertyNames" => Keyword::PropertyNames(self.id(at.to_owned(), value)),
            "allOf" => Keyword::AllOf(self.list(value, at)?),
            "anyOf" => Keyword::AnyOf(self.list(value, at)?),
            "oneOf" => Keyword::OneOf(self.list(value, at)?),
            "not" => Keyword::Not(self.id(at.to_owned(), value)),
            // What is not known says nothing (core §6.5); so do annotations, `format` included.
            _ => return Ok(None),
        }))
    }

    fn members(&mut self, at: &str, value: &'a Value<'a>) -> Result<Option<Keyword>> {
        let mut members = Members::default();
        if let Some(named) = value.member("properties") {
            members.named = self.schemas(named, &format!("{at}/properties"))?;
        }
        if let Some(by_pattern) = value.member("patternProperties") {
            let at = format!("{at}/patternProperties");
            for (source, id) in self.schemas(by_pattern, &at)? {
                let pattern = self.pattern(&source, &format!("{at}/{}", escape(&source)))?;
                members.patterns.push((pattern, id));
            }
        }
        members.others = self.inside(at, value, "additionalProperties");
        let is_none = members.named.is_empty() && members.patterns.is_empty();
        Ok((!is_none || members.others.is_some()).then_some(Keyword::Members(members)))
    }

    fn elements(&mut self, at: &str, value: &'a Value<'a>) -> Result<Option<Keyword>> {
        let first = match value.member("prefixItems") {
            Some(first) => self.list(first, &format!("{at}/prefixItems"))?,
            None => Vec::new(),
        };
        if let Some(Value::Array(_)) = value.member("items") {
            return wrong(format!("{at}/items"), "a list of schemas is called prefixItems");
        }
        let rest = self.inside(at, value, "items");
        let is_none = first.is_empty() && rest.is_none();
        Ok((!is_none).then_some(Keyword::Elements { first, rest }))
    }

    fn contains(&mut self, at: &str, value: &'a Value<'a>) -> Result<Option<Keyword>> {
        let bound = |name: &str| {
            let bound = value.member(name);
            bound.map(|value| count(value, &format!("{at}/{name}"))).transpose()
        };
        let (min, max) = (bound("minContains")?, bound("maxContains")?);
        let id = self.inside(at, value, "contains");
        Ok(id.map(|id| Keyword::Contains { id, min: min.unwrap_or(1), max }))
    }

    fn condition(&mut self, at: &str, value: &'a Value<'a>) -> Option<Keyword> {
        let condition = self.inside(at, value, "if");
        let then = self.inside(at, value, "then");
        let otherwise = self.inside(at, value, "else");
        condition.map(|condition| Keyword::If { condition, then, otherwise })
    }

    /// The schemas that are the members of an object.
    fn schemas(&mut self, value: &'a Value<'a>, at: &str) -> Result<Vec<(Box<str>, Id)>> {
        let mut all = Vec::new();
        for (name, value) in object(value, at)? {
            all.push((Box::from(&**name), self.id(format!("{at}/{}", escape(name)), value)));
        }
        Ok(all)
    }

    /// The schemas that are the elements of an array.
    fn list(&mut self, value: &'a Value<'a>, at: &str) -> Result<Vec<Id>> {
        let all = array(value, at)?;
        if all.is_empty() {
            return wrong(at, "expected at least one schema");
        }
        let list = all.iter().enumerate();
        Ok(list.map(|(i, value)| self.id(format!("{at}/{i}"), value)).collect())
    }

    fn reference(&mut self, value: &Value<'_>, at: &str) -> Result<Id> {
        let reference = text(value, at)?;
        let pointer = self.names.pointer(reference).or_else(|why| wrong(at, why))?;
        match find(self.root, &pointer) {
            Some(found) => Ok(self.id(pointer, found)),
            None => wrong(at, format!("there is nothing at \"{reference}\" in this schema")),
        }
    }

    fn pattern(&mut self, source: &str, at: &str) -> Result<Pattern> {
        self.patterns += 1;
        if self.patterns > PATTERNS_MAX {
            return wrong(at, format!("a schema has at most {PATTERNS_MAX} patterns"));
        }
        Pattern::new(source).or_else(|why| wrong(at, why))
    }
}

fn text<'v>(value: &'v Value<'_>, at: &str) -> Result<&'v str> {
    match value {
        Value::Text(text) => Ok(text),
        other => wrong(at, format!("expected a string; got {}", other.kind())),
    }
}

fn number<'v>(value: &'v Value<'_>, at: &str) -> Result<(f64, &'v str)> {
    match value {
        Value::Number(number, text) => Ok((*number, text)),
        other => wrong(at, format!("expected a number; got {}", other.kind())),
    }
}

/// A whole number that is not negative.
fn count(value: &Value<'_>, at: &str) -> Result<u64> {
    match value {
        // Beyond 2^53 nothing is that large.
        Value::Number(number, _) if *number >= 0.0 && number.fract() == 0.0 => Ok(*number as u64),
        other => wrong(at, format!("expected a whole number from 0; got {}", other.kind())),
    }
}

fn array<'v, 'a>(value: &'v Value<'a>, at: &str) -> Result<&'v [Value<'a>]> {
    match value {
        Value::Array(all) => Ok(all),
        other => wrong(at, format!("expected an array; got {}", other.kind())),
    }
}

type MemberList<'a> = [(std::borrow::Cow<'a, str>, Value<'a>)];

fn object<'v, 'a>(value: &'v Value<'a>, at: &str) -> Result<&'v MemberList<'a>> {
    match value {
        Value::Object(all) => Ok(all),
        other => wrong(at, format!("expected an object; got {}", other.kind())),
    }
}

fn texts(value: &Value<'_>, at: &str) -> Result<Vec<Box<str>>> {
    let all = array(value, at)?.iter().enumerate();
    all.map(|(i, value)| text(value, &format!("{at}/{i}")).map(Into::into)).collect()
}

fn types(value: &Value<'_>, at: &str) -> Result<Vec<Type>> {
    let one = |value: &Value<'_>| {
        let name = text(value, at)?;
        match TYPES.iter().find(|(known, _)| *known == name) {
            Some((_, known)) => Ok(*known),
            None => {
                let known: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
                wrong(at, format!("a type is one of {}; got {name}", known.join(", ")))
            }
        }
    };
    match value {
        Value::Array(all) => all.iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}

/// Checks that from no schema there is a way of more than [`IN_PLACE_MAX`] others that all apply to
/// the same value. A circle is such a way.
fn check_in_place(nodes: &[Node]) -> Result<()> {
    let next: Vec<Vec<Id>> = nodes
        .iter()
        .map(|node| node.keywords.iter().flat_map(Keyword::in_place).collect())
        .collect();
    // Who is led to, and how long the longest way there is, in the order in which all that lead
    // there are known (Kahn 1962).
    let mut leading = vec![0; nodes.len()];
    next.iter().flatten().for_each(|id| leading[*id] += 1);
    let mut ready: Vec<Id> = (0..nodes.len()).filter(|id| leading[*id] == 0).collect();
    let mut longest = vec![0; nodes.len()];
    let mut passed = 0;
    while let Some(id) = ready.pop() {
        passed += 1;
        if longest[id] > IN_PLACE_MAX {
            let why = format!("more than {IN_PLACE_MAX} schemas lead here, one after the other");
            return wrong(&*nodes[id].at, why);
        }
        for &other in &next[id] {
            longest[other] = longest[other].max(longest[id] + 1);
            leading[other] -= 1;
            if leading[other] == 0 {
                ready.push(other);
            }
        }
    }
    match leading.iter().position(|count| *count > 0) {
        Some(id) if passed < nodes.len() => {
            wrong(&*nodes[id].at, "it refers to itself without going into the document")
        }
        _ => Ok(()),
    }
}
