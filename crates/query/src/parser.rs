//! From the text of a filter to the filter: recursive descent along the grammar of AIP-160
//! (<https://google.aip.dev/160>). `docs/queries.md` says what of it is taken.

use crate::bound::Bound;
use crate::field::{Field, Meta};
use crate::filter::{Condition, Filter, Operand, Relation, Test};
use crate::limits::{FILTER_COMPARISONS_MAX, FILTER_DEPTH_MAX};
use crate::scanner::{Mistake, STAR_AT_END, Scanner, is_name_char};
use crate::timestamp;
use repository::{IndexValue, json};

/// Reads a filter; an empty text holds of everything.
pub(crate) fn parse(text: &str) -> Result<Filter, Mistake> {
    Parser { scanner: Scanner::new(text), comparisons: 0, values: &[] }.whole()
}

/// Reads a filter in which marks stand for `values`, of which there are as many.
pub(crate) fn parse_bound(text: &str, values: &[Bound]) -> Result<Filter, Mistake> {
    Parser { scanner: Scanner::with_marks(text), comparisons: 0, values }.whole()
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    comparisons: usize,
    /// What the marks in the text stand for.
    values: &'a [Bound],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparator {
    Equal,
    NotEqual,
    Has,
    Order(Relation),
}

/// Longer ones before those that they begin with.
const COMPARATORS: [(&str, Comparator); 7] = [
    ("<=", Comparator::Order(Relation::AtMost)),
    (">=", Comparator::Order(Relation::AtLeast)),
    ("!=", Comparator::NotEqual),
    ("<", Comparator::Order(Relation::Less)),
    (">", Comparator::Order(Relation::More)),
    ("=", Comparator::Equal),
    (":", Comparator::Has),
];

const A_VALUE: &str = "a number, true, false, null or a text";

/// A value as it was written.
struct Written {
    text: String,
    is_quoted: bool,
    is_prefix: bool,
    /// Where it begins, in bytes.
    place: usize,
    /// What a mark stands for; the text is empty then, unless it is a text.
    bound: Option<Bound>,
}

impl Parser<'_> {
    fn whole(mut self) -> Result<Filter, Mistake> {
        self.scanner.skip_space();
        if self.scanner.is_at_end() {
            return Ok(Filter::All(Vec::new()));
        }
        let filter = self.expression(0)?;
        match self.scanner.is_at_end() {
            true => Ok(filter),
            false => Err(self.scanner.mistake("AND, OR, another comparison or the end")),
        }
    }

    fn expression(&mut self, depth: usize) -> Result<Filter, Mistake> {
        let mut all = Vec::new();
        loop {
            // A sequence: what stands side by side is meant together, as with AND.
            loop {
                all.push(self.factor(depth)?);
                self.scanner.skip_space();
                if matches!(self.scanner.peek(), None | Some(')')) || self.scanner.is_word("AND") {
                    break;
                }
                if !self.scanner.peek().is_some_and(begins_term) {
                    return Err(self.scanner.mistake("AND, OR, another comparison or the end"));
                }
            }
            if !self.scanner.take_word("AND") {
                return Ok(only(all, Filter::All));
            }
            self.scanner.skip_space();
        }
    }

    fn factor(&mut self, depth: usize) -> Result<Filter, Mistake> {
        let mut any = vec![self.term(depth)?];
        loop {
            self.scanner.skip_space();
            if !self.scanner.take_word("OR") {
                return Ok(only(any, Filter::Any));
            }
            self.scanner.skip_space();
            any.push(self.term(depth)?);
        }
    }

    fn term(&mut self, depth: usize) -> Result<Filter, Mistake> {
        let is_negated = self.scanner.take("-") || self.scanner.take_word("NOT");
        self.scanner.skip_space();
        let simple = match self.scanner.peek() {
            Some('(') => self.composite(depth + 1)?,
            _ => Filter::Is(self.restriction()?),
        };
        Ok(if is_negated { Filter::Not(Box::new(simple)) } else { simple })
    }

    fn composite(&mut self, depth: usize) -> Result<Filter, Mistake> {
        if depth > FILTER_DEPTH_MAX {
            let expected = format!("at most {FILTER_DEPTH_MAX} levels of parentheses");
            return Err(self.scanner.mistake(expected));
        }
        self.scanner.take("(");
        self.scanner.skip_space();
        let filter = self.expression(depth)?;
        match self.scanner.take(")") {
            true => Ok(filter),
            false => Err(self.scanner.mistake("AND, OR, another comparison or \")\"")),
        }
    }

    fn restriction(&mut self) -> Result<Condition, Mistake> {
        self.comparisons += 1;
        if self.comparisons > FILTER_COMPARISONS_MAX {
            let expected = format!("at most {FILTER_COMPARISONS_MAX} comparisons");
            return Err(self.scanner.mistake(expected));
        }
        if self.scanner.peek() == Some('-') {
            return Err(self
                .scanner
                .mistake("a name; one that begins with - is written in quotes"));
        }
        let start = self.scanner.clone();
        let field = self.scanner.field()?;
        self.scanner.skip_space();
        let is_next = |(symbol, _): &&(&str, Comparator)| self.scanner.clone().take(symbol);
        let Some((symbol, comparator)) = COMPARATORS.iter().find(is_next) else {
            return Err(self.without_comparator(&start));
        };
        self.scanner.take(symbol);
        self.scanner.skip_space();
        let value = self.value()?;
        match field {
            Field::Meta(meta) => {
                let test = self.meta_test(meta, *comparator, value)?;
                Ok(Condition { field, test })
            }
            Field::Member(path) => {
                let is_date = matches!(value.bound, Some(Bound::Date { .. }));
                let path = if is_date { path.date() } else { path };
                let test = self.test(*comparator, value)?;
                Ok(Condition { field: Field::Member(path), test })
            }
        }
    }

    fn without_comparator(&self, start: &Scanner<'_>) -> Mistake {
        const EXPECTED: &str = "a comparator: =, !=, <, <=, >, >= or :";
        if self.scanner.peek() == Some('(') {
            return self.scanner.mistake("a comparator; there are no functions");
        }
        if ["and", "or", "not"].iter().any(|word| start.is_word(word)) {
            return start.mistake("AND, OR and NOT in capitals, or a name in quotes");
        }
        self.scanner.mistake(EXPECTED)
    }

    fn value(&mut self) -> Result<Written, Mistake> {
        let scanner = &mut self.scanner;
        let place = scanner.place();
        if let Some(at) = scanner.take_mark() {
            return self.bound(at, place);
        }
        if matches!(scanner.peek(), Some('"' | '\'')) {
            let quoted = scanner.quoted(true)?;
            check_end(scanner)?;
            let (text, is_prefix) = (quoted.text, quoted.is_prefix);
            return Ok(Written { text, is_quoted: true, is_prefix, place, bound: None });
        }
        if scanner.peek() == Some('(') {
            let instead = "a value; instead of a = (1 OR 2) write (a = 1 OR a = 2)";
            return Err(scanner.mistake(instead));
        }
        if ["AND", "OR", "NOT"].iter().any(|word| scanner.is_word(word)) {
            return Err(scanner.mistake("a value; AND, OR and NOT as text are written in quotes"));
        }
        let text = scanner.take_while(is_value_char);
        if text.is_empty() {
            return Err(scanner.mistake(A_VALUE));
        }
        if text.starts_with(['.', '+']) {
            let expected = "a number as in JSON; a text that begins so is written in quotes";
            return Err(scanner.mistake_at(place, expected));
        }
        check_end(scanner)?;
        let stem = text.strip_suffix('*').unwrap_or(text);
        if let Some(star) = stem.find('*') {
            return Err(scanner.mistake_at(place + star, STAR_AT_END));
        }
        let is_prefix = stem.len() < text.len();
        Ok(Written { text: stem.to_owned(), is_quoted: false, is_prefix, place, bound: None })
    }

    /// The value for the mark that was at `place`.
    fn bound(&mut self, at: usize, place: usize) -> Result<Written, Mistake> {
        let Some(bound) = self.values.get(at).cloned() else {
            return Err(self.scanner.mistake_at(place, A_VALUE));
        };
        let is_prefix = self.scanner.take("*");
        check_end(&self.scanner)?;
        let text = match &bound {
            Bound::Value(IndexValue::Text(text)) | Bound::Date { text, .. } => text.clone(),
            Bound::Value(_) => String::new(),
        };
        if is_prefix && !matches!(bound, Bound::Value(IndexValue::Text(_))) {
            let expected = "a text before *, which means any text that starts so";
            return Err(self.scanner.mistake_at(place, expected));
        }
        Ok(Written { text, is_quoted: true, is_prefix, place, bound: Some(bound) })
    }

    fn test(&self, comparator: Comparator, value: Written) -> Result<Test, Mistake> {
        if let Some(test) = self.presence(comparator, &value)? {
            return Ok(test);
        }
        let place = value.place;
        let operand = match value {
            Written { text, is_prefix: true, .. } => Operand::Prefix(text),
            Written { bound: Some(Bound::Value(value)), .. } => Operand::Value(value),
            Written { text, is_quoted: true, .. } => Operand::Value(IndexValue::Text(text)),
            Written { text, .. } => Operand::Value(self.literal(text, place)?),
        };
        self.build(comparator, operand, place)
    }

    /// `:*`, which only asks whether there is something.
    fn presence(&self, comparator: Comparator, value: &Written) -> Result<Option<Test>, Mistake> {
        if value.is_quoted || !value.is_prefix || !value.text.is_empty() {
            return Ok(None);
        }
        match comparator {
            Comparator::Has => Ok(Some(Test::Present)),
            _ => {
                let expected = "a value; whether there is one at all is asked by :*";
                Err(self.scanner.mistake_at(value.place, expected))
            }
        }
    }

    fn build(
        &self,
        comparator: Comparator,
        operand: Operand,
        place: usize,
    ) -> Result<Test, Mistake> {
        let relation = match comparator {
            Comparator::Equal => return Ok(Test::Equal(operand)),
            Comparator::NotEqual => return Ok(Test::NotEqual(operand)),
            Comparator::Has => return Ok(Test::Has(operand)),
            Comparator::Order(relation) => relation,
        };
        match operand {
            Operand::Value(value @ (IndexValue::Number(_) | IndexValue::Text(_))) => {
                Ok(Test::Compare(relation, value))
            }
            Operand::Value(_) => {
                let expected = "a number or a text; null, true and false have no such order";
                Err(self.scanner.mistake_at(place, expected))
            }
            Operand::Prefix(_) => {
                let expected = "a value without *, which goes with =, != and :";
                Err(self.scanner.mistake_at(place, expected))
            }
        }
    }

    fn literal(&self, text: String, place: usize) -> Result<IndexValue, Mistake> {
        match text.as_str() {
            "null" => return Ok(IndexValue::Null),
            "true" => return Ok(IndexValue::Boolean(true)),
            "false" => return Ok(IndexValue::Boolean(false)),
            _ => {}
        }
        if !is_number(&text) {
            return Ok(IndexValue::Text(text));
        }
        let canonical = json::canonicalize(text.as_bytes());
        let canonical = canonical.map_err(|_| {
            let expected = "a number that a double can hold, as in documents, or a text in quotes";
            self.scanner.mistake_at(place, expected)
        })?;
        match String::from_utf8_lossy(&canonical).parse() {
            Ok(number) => Ok(IndexValue::Number(number)),
            Err(_) => Err(self.scanner.mistake_at(place, "a number")),
        }
    }

    fn meta_test(
        &self,
        meta: Meta,
        comparator: Comparator,
        value: Written,
    ) -> Result<Test, Mistake> {
        if let Some(test) = self.presence(comparator, &value)? {
            return Ok(test);
        }
        let place = value.place;
        let operand = match meta {
            Meta::Key if value.is_prefix => Operand::Prefix(value.text),
            Meta::Key if value.bound.as_ref().is_some_and(|bound| !bound.is_text()) => {
                return Err(self.scanner.mistake_at(place, "a text, which a key is"));
            }
            Meta::Key => Operand::Value(IndexValue::Text(value.text)),
            Meta::Version if value.bound.is_some() => match value.bound {
                Some(Bound::Value(number @ IndexValue::Number(_))) => Operand::Value(number),
                _ => return Err(self.scanner.mistake_at(place, "a number, which a version is")),
            },
            Meta::Created | Meta::Updated | Meta::Expires if value.bound.is_some() => {
                match value.bound {
                    Some(Bound::Date { ms, .. }) => Operand::Value(IndexValue::Number(ms)),
                    Some(Bound::Value(number @ IndexValue::Number(_))) => Operand::Value(number),
                    _ => {
                        let expected = "a Date, or milliseconds since 1970";
                        return Err(self.scanner.mistake_at(place, expected));
                    }
                }
            }
            Meta::Version => match self.literal(value.text, place)? {
                number @ IndexValue::Number(_) if !value.is_quoted && !value.is_prefix => {
                    Operand::Value(number)
                }
                _ => return Err(self.scanner.mistake_at(place, "a number, which a version is")),
            },
            Meta::Created | Meta::Updated | Meta::Expires => {
                let ms = timestamp::parse(&value.text).filter(|_| !value.is_prefix);
                let ms = ms.ok_or_else(|| {
                    let expected = "a timestamp of RFC 3339, such as 2026-11-21T10:00:00Z";
                    self.scanner.mistake_at(place, expected)
                })?;
                Operand::Value(IndexValue::Number(ms))
            }
        };
        self.build(comparator, operand, place)
    }
}

/// One filter as it is, several as `many` of them.
fn only(mut filters: Vec<Filter>, many: fn(Vec<Filter>) -> Filter) -> Filter {
    match filters.len() {
        1 => filters.remove(0),
        _ => many(filters),
    }
}

/// A value ends where its context does.
fn check_end(scanner: &Scanner<'_>) -> Result<(), Mistake> {
    match scanner.peek() {
        None | Some(' ' | '\t' | '\r' | '\n' | ')') => Ok(()),
        Some('(') => Err(scanner.mistake("a value; there are no functions")),
        Some(_) => {
            let expected = "white space or the end after a value; other characters go in quotes";
            Err(scanner.mistake(expected))
        }
    }
}

/// Whether a term can begin with `c`.
fn begins_term(c: char) -> bool {
    is_name_char(c) || "(-\"'@".contains(c)
}

/// Whether a value without quotes can have `c`.
fn is_value_char(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !"()\"'\\,=<>!".contains(c)
}

/// Whether `text` is a number by the grammar of JSON (RFC 8259 §6).
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.starts_with('0')) {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
#[path = "tests/parser.rs"]
mod tests;
