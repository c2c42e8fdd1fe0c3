//! Orders: in which sequence documents are given.

use crate::field::{Field, Meta, Record};
use crate::limits::{ORDER_FIELDS_MAX, ORDER_TEXT_BYTES_MAX};
use crate::scanner::{Mistake, SHOWN_CHARS, Scanner};
use repository::{Direction, IndexValue, Key, excerpt};
use std::cmp::Ordering;

/// A total order of documents: by some fields, and by the key where those are equal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    /// None is the key.
    pub fields: Vec<(Field, Direction)>,
    pub key: Direction,
}

/// A place in an order: where a document is, or was.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// One for each field of the order.
    pub values: Vec<IndexValue>,
    pub key: Key,
}

impl Order {
    /// Reads an order, in the form of AIP-132: `stars desc, title`. An empty text is by key.
    pub(crate) fn parse(text: &str) -> Result<Self, Mistake> {
        let mut scanner = Scanner::new(text);
        let mut order = Self { fields: Vec::new(), key: Direction::Ascending };
        scanner.skip_space();
        if scanner.is_at_end() {
            return Ok(order);
        }
        loop {
            scanner.skip_space();
            let start = scanner.clone();
            check_sign(&scanner)?;
            let field = scanner.field()?;
            scanner.skip_space();
            let direction = match scanner.take_word("desc") {
                true => Direction::Descending,
                false => {
                    scanner.take_word("asc");
                    Direction::Ascending
                }
            };
            scanner.skip_space();
            order.key = direction;
            let is_key = field == Field::Meta(Meta::Key);
            if order.fields.iter().any(|(known, _)| *known == field) {
                return Err(start.mistake("every field once"));
            }
            if !is_key {
                order.fields.push((field, direction));
            }
            if order.fields.len() > ORDER_FIELDS_MAX {
                return Err(start.mistake(format!("at most {ORDER_FIELDS_MAX} fields")));
            }
            if scanner.is_at_end() {
                return Ok(order);
            } else if is_key {
                return Err(scanner.mistake("the end: no two documents have the same key"));
            } else if !scanner.take(",") {
                return Err(scanner.mistake("\"asc\", \"desc\", a comma or the end"));
            }
        }
    }

    /// The values by which a document is ordered; `None` if it lacks one, and so is left out.
    pub(crate) fn values(&self, record: &Record<'_>) -> Option<Vec<IndexValue>> {
        let value = |(field, _): &(Field, Direction)| {
            record.find(field).scalar().map(|scalar| scalar.to_order(ORDER_TEXT_BYTES_MAX))
        };
        self.fields.iter().map(value).collect()
    }

    /// Compares as the order has it: what comes first is less.
    pub(crate) fn compare(&self, a: &Place, b: &Place) -> Ordering {
        let fields = self.fields.iter().zip(a.values.iter().zip(&b.values));
        let by_field = fields.map(|((_, direction), (a, b))| {
            // Values are numbers that are not NaN, and the like: all can be compared.
            directed(*direction, a.partial_cmp(b).unwrap_or(Ordering::Equal))
        });
        let by_key = std::iter::once_with(|| directed(self.key, a.key.cmp(&b.key)));
        by_field.chain(by_key).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

/// Refuses `-stars`, which other servers take for `stars desc`, and says how it is written here.
fn check_sign(scanner: &Scanner<'_>) -> Result<(), Mistake> {
    if scanner.peek() != Some('-') {
        return Ok(());
    }
    let mut after = scanner.clone();
    after.take("-");
    let start = after.clone();
    let name = match after.field() {
        Ok(_) => start.until(&after),
        Err(_) => "name",
    };
    let name = excerpt(name, SHOWN_CHARS);
    let expected = format!(
        "a name: descending is written \"{name} desc\", and a name that begins with - in quotes"
    );
    Err(scanner.mistake(expected))
}

fn directed(direction: Direction, order: Ordering) -> Ordering {
    match direction {
        Direction::Ascending => order,
        Direction::Descending => order.reverse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Ascending, Descending};

    fn place(value: IndexValue, key: &str) -> Place {
        Place { values: vec![value], key: Key::new(key).unwrap() }
    }

    #[test]
    fn orders_are_read() {
        let fields = |text: &str| -> Vec<Direction> {
            Order::parse(text).unwrap().fields.into_iter().map(|(_, d)| d).collect()
        };
        assert_eq!(fields(" "), []);
        assert_eq!(fields("a"), [Ascending]);
        assert_eq!(
            fields(" a.b desc , \"c d\" asc,@created desc"),
            [Descending, Ascending, Descending]
        );
        assert_eq!(fields("a desc,@key"), [Descending]);
        assert_eq!(fields("desc desc"), [Descending]);
        assert_eq!(Order::parse("a,b desc").unwrap().key, Descending, "as the last field");
        assert_eq!(Order::parse("a desc,@key asc").unwrap().key, Ascending);
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, at, expected) in [
            ("a,", 3, "a name"),
            ("a b", 3, "\"asc\", \"desc\", a comma or the end"),
            ("-a b", 1, "descending is written \"a desc\""),
            ("b,-a.c", 3, "descending is written \"a.c desc\""),
            ("-", 1, "descending is written \"name desc\""),
            ("a,b,a", 5, "every field once"),
            ("@key,a", 5, "the end"),
            ("a,b,c,d,e", 9, "at most 4 fields"),
            ("@size", 1, "one of @key"),
        ] {
            let mistake = Order::parse(text).unwrap_err();
            assert_eq!(mistake.at, at, "{text}: {mistake}");
            assert!(mistake.to_string().contains(expected), "{text}: {mistake}");
        }
    }

    #[test]
    fn ties_are_decided_by_key() {
        let number = |n| IndexValue::Number(n);
        let order = Order::parse("a desc").unwrap();
        assert!(order.compare(&place(number(2.0), "a"), &place(number(1.0), "b")).is_lt());
        assert!(order.compare(&place(number(1.0), "a"), &place(number(1.0), "b")).is_gt());
        assert!(order.compare(&place(IndexValue::Null, "a"), &place(number(1.0), "a")).is_gt());
    }
}
