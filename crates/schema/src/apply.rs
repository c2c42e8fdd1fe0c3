//! What each keyword asks for.

use crate::checker::{Checker, Seen, Step};
use crate::decimal::is_multiple;
use crate::keyword::{
    COMPARISONS, Comparison, Id, Keyword, Members, Node, SIZES, Size, TYPES, Type, name_of,
};
use crate::value::Value;
use std::collections::HashSet;
use std::fmt::Write as _;

impl<'n, 'd> Checker<'n, 'd> {
    /// Whether a keyword of `node` holds for `value`.
    pub(crate) fn apply(
        &mut self,
        node: &'n Node,
        keyword: &'n Keyword,
        value: &'d Value<'d>,
        seen: Option<&mut Seen>,
    ) -> bool {
        match keyword {
            Keyword::Members(members) => self.members(members, value, seen),
            Keyword::Elements { first, rest } => self.elements((first, *rest), value, seen),
            Keyword::Contains { id, min, max } => {
                self.contains(node, (*id, *min, *max), value, seen)
            }
            Keyword::PropertyNames(id) => self.property_names(node, *id, value),
            Keyword::Ref(_, id) => self.node(*id, value, seen),
            Keyword::AllOf(_)
            | Keyword::AnyOf(_)
            | Keyword::OneOf(_)
            | Keyword::Not(_)
            | Keyword::If { .. }
            | Keyword::DependentSchemas(_) => self.in_place(node, keyword, value, seen),
            _ => match self.simple(keyword, value) {
                None => true,
                Some(reason) => self.fail(node, keyword.name(), || reason),
            },
        }
    }

    /// Keywords without schemas: what is wrong, if something is.
    fn simple(&mut self, keyword: &Keyword, value: &Value<'_>) -> Option<String> {
        match (keyword, value) {
            (Keyword::Type(types), value) => {
                let is_one = types.iter().any(|one| is_of(*one, value));
                let names = || {
                    let all: Vec<_> = types.iter().map(|one| name_of(TYPES, one)).collect();
                    all.join(" or ")
                };
                (!is_one).then(|| format!("expected {}; got {}", names(), told(value)))
            }
            (Keyword::Enum(all, steps), value) => {
                let is_one = self.spend(*steps) && all.contains(value);
                (!is_one).then(|| format!("expected one of {} values", all.len()))
            }
            (Keyword::Const(one, steps), value) => {
                let is_it = self.spend(*steps) && one == value;
                (!is_it).then(|| "expected the one value that the schema names".to_owned())
            }
            (Keyword::Number(comparison, bound), Value::Number(number, _)) => {
                let holds = match comparison {
                    Comparison::Minimum => number >= bound,
                    Comparison::ExclusiveMinimum => number > bound,
                    Comparison::Maximum => number <= bound,
                    Comparison::ExclusiveMaximum => number < bound,
                };
                let name = name_of(COMPARISONS, comparison);
                (!holds).then(|| format!("expected {name} {bound}; got {number}"))
            }
            (Keyword::MultipleOf(of, text), Value::Number(number, own)) => {
                let holds = is_multiple((*number, own), (*of, text));
                (!holds).then(|| format!("expected a multiple of {text}; got {own}"))
            }
            (Keyword::Size(size, bound), value) => self.size(*size, *bound, value),
            (Keyword::Pattern(pattern), Value::Text(text)) => {
                let holds = self.spend(pattern.steps(text.len())) && pattern.is_in(text);
                (!holds).then(|| format!("expected a string with the pattern {}", pattern.source))
            }
            (Keyword::UniqueItems, Value::Array(all)) => self.twice(all),
            (Keyword::Required(names), Value::Object(_)) => {
                let missing = names.iter().find(|name| value.member(name).is_none())?;
                Some(format!("expected a member \"{missing}\""))
            }
            (Keyword::DependentRequired(all), Value::Object(_)) => {
                let present = all.iter().filter(|(name, _)| value.member(name).is_some());
                let missing = |(name, required): &'_ (Box<str>, Vec<Box<str>>)| {
                    let missing = required.iter().find(|name| value.member(name).is_none())?;
                    Some(format!("expected a member \"{missing}\", since there is \"{name}\""))
                };
                present.filter_map(missing).next()
            }
            _ => None,
        }
    }

    fn size(&mut self, size: Size, bound: u64, value: &Value<'_>) -> Option<String> {
        let (count, what) = match (size, value) {
            (Size::MinLength | Size::MaxLength, Value::Text(text)) => {
                if !self.spend(text.len() as u64 / 32) {
                    return Some(String::new());
                }
                (text.chars().count(), "characters")
            }
            (Size::MinItems | Size::MaxItems, Value::Array(all)) => (all.len(), "elements"),
            (Size::MinProperties | Size::MaxProperties, Value::Object(all)) => {
                (all.len(), "members")
            }
            _ => return None,
        };
        let is_least = matches!(size, Size::MinLength | Size::MinItems | Size::MinProperties);
        let (holds, word) = match is_least {
            true => (count as u64 >= bound, "least"),
            false => (count as u64 <= bound, "most"),
        };
        debug_assert!(!name_of(SIZES, &size).is_empty());
        (!holds).then(|| format!("expected at {word} {bound} {what}; got {count}"))
    }

    fn twice(&mut self, all: &[Value<'_>]) -> Option<String> {
        let size: usize = all.iter().map(Value::size).sum();
        if !self.spend(size as u64 / 16) {
            return Some(String::new());
        }
        let mut seen = HashSet::with_capacity(all.len());
        let repeated = all.iter().position(|value| {
            let mut text = String::new();
            render(value, &mut text);
            !seen.insert(text)
        })?;
        Some(format!("expected elements that differ; number {repeated} is there twice"))
    }

    fn members(
        &mut self,
        members: &'n Members,
        value: &'d Value<'d>,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let Value::Object(all) = value else { return true };
        let mut fits = true;
        for (i, (name, member)) in all.iter().enumerate() {
            if !self.spend(1) {
                return false;
            }
            let step = Step::Member(name);
            let named = members.named.binary_search_by(|(known, _)| (**known).cmp(name));
            let mut is_known = named.is_ok();
            if let Ok(at) = named {
                fits &= self.inside(step, members.named[at].1, member);
            }
            for (pattern, id) in &members.patterns {
                if self.spend(pattern.steps(name.len())) && pattern.is_in(name) {
                    is_known = true;
                    fits &= self.inside(step, *id, member);
                }
            }
            if let (false, Some(others)) = (is_known, members.others) {
                is_known = true;
                fits &= self.inside(step, others, member);
            }
            if let (true, Some(seen)) = (is_known, seen.as_deref_mut()) {
                seen.note(i);
            }
            if !fits && self.is_over() {
                return false;
            }
        }
        fits
    }

    fn elements(
        &mut self,
        (first, rest): (&'n [Id], Option<Id>),
        value: &'d Value<'d>,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let Value::Array(all) = value else { return true };
        let mut fits = true;
        for (i, element) in all.iter().enumerate() {
            let Some(id) = first.get(i).copied().or(rest) else { break };
            if !self.spend(1) {
                return false;
            }
            fits &= self.inside(Step::Element(i), id, element);
            if let Some(seen) = seen.as_deref_mut() {
                seen.note(i);
            }
            if !fits && self.is_over() {
                return false;
            }
        }
        fits
    }

    fn contains(
        &mut self,
        node: &Node,
        (id, min, max): (Id, u64, Option<u64>),
        value: &'d Value<'d>,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let Value::Array(all) = value else { return true };
        let mut count = 0;
        for (i, element) in all.iter().enumerate() {
            if !self.spend(1) {
                return false;
            }
            if self.would_fit(id, element, None) {
                count += 1;
                if let Some(seen) = seen.as_deref_mut() {
                    seen.note(i);
                }
            }
        }
        let told = |word, bound| move || format!("expected at {word} {bound} such; got {count}");
        match max {
            _ if count < min => self.fail(node, "contains", told("least", min)),
            Some(max) if count > max => self.fail(node, "maxContains", told("most", max)),
            _ => true,
        }
    }

    fn property_names(&mut self, node: &Node, id: Id, value: &'d Value<'d>) -> bool {
        let Value::Object(all) = value else { return true };
        let mut fits = true;
        for (name, _) in all {
            if !self.name_fits(id, name) {
                fits =
                    self.fail(node, "propertyNames", || "a member's name does not fit".to_owned());
            }
            if !fits && self.is_over() {
                return false;
            }
        }
        fits
    }

    /// Whether a name fits a schema. It is no place of the document, so nothing of it is told.
    fn name_fits(&mut self, id: Id, name: &str) -> bool {
        let name = Value::Text(std::borrow::Cow::Borrowed(name));
        let mut checker = self.apart();
        let fits = checker.node(id, &name, None);
        let (steps, given_up) = checker.spent();
        self.resume(steps, given_up);
        fits
    }

    /// Keywords whose schemas apply to the value itself.
    fn in_place(
        &mut self,
        node: &Node,
        keyword: &'n Keyword,
        value: &'d Value<'d>,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        match keyword {
            Keyword::AllOf(all) => self.all(all.iter(), value, seen),
            Keyword::DependentSchemas(all) => {
                let present = all.iter().filter(|(name, _)| value.member(name).is_some());
                self.all(present.map(|(_, id)| id), value, seen)
            }
            Keyword::AnyOf(all) => {
                let mut fits = false;
                for id in all {
                    fits |= self.would_fit(*id, value, seen.as_deref_mut());
                    // Others may have looked at more.
                    if fits && seen.is_none() {
                        break;
                    }
                }
                let told = || format!("it fits none of {} schemas", all.len());
                fits || self.fail(node, "anyOf", told)
            }
            Keyword::OneOf(all) => {
                let mut fitting = 0;
                for id in all {
                    fitting += usize::from(self.would_fit(*id, value, seen.as_deref_mut()));
                }
                let told = || format!("it fits {fitting} of {} schemas, not one", all.len());
                fitting == 1 || self.fail(node, "oneOf", told)
            }
            Keyword::Not(id) => {
                let told = || "it fits a schema that it must not fit".to_owned();
                !self.would_fit(*id, value, None) || self.fail(node, "not", told)
            }
            Keyword::If { condition, then, otherwise } => {
                let holds = self.would_fit(*condition, value, seen.as_deref_mut());
                let next = if holds { then } else { otherwise };
                next.is_none_or(|id| self.node(id, value, seen))
            }
            _ => true,
        }
    }

    fn all<'i>(
        &mut self,
        ids: impl Iterator<Item = &'i Id>,
        value: &'d Value<'d>,
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut fits = true;
        for id in ids {
            fits &= self.node(*id, value, seen.as_deref_mut());
            if !fits && self.is_over() {
                return false;
            }
        }
        fits
    }
}

fn is_of(one: Type, value: &Value<'_>) -> bool {
    match (one, value) {
        (Type::Integer, Value::Number(number, _)) => number.fract() == 0.0,
        (one, value) => name_of(TYPES, &one) == value.kind(),
    }
}

fn told(value: &Value<'_>) -> String {
    match value {
        Value::Number(number, _) => format!("the number {number}"),
        value => value.kind().to_owned(),
    }
}

/// A text that equal values have in common.
fn render(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Null => out.push('n'),
        Value::Boolean(is) => out.push(if *is { 't' } else { 'f' }),
        // Both zeros are equal.
        Value::Number(number, _) => {
            let _ = write!(out, "#{:x}", (number + 0.0).to_bits());
        }
        Value::Text(text) => {
            let _ = write!(out, "\"{}:{text}", text.len());
        }
        Value::Array(all) => {
            out.push('[');
            all.iter().for_each(|value| render(value, out));
            out.push(']');
        }
        Value::Object(all) => {
            out.push('{');
            for (name, value) in all {
                let _ = write!(out, "{}:{name}", name.len());
                render(value, out);
            }
            out.push('}');
        }
    }
}
