//! Queries of programs: the text of the filter in pieces, with a value between each two. A value is
//! never text of the filter, whatever it is, so nobody can put a condition into it.

use crate::limits::{FILTER_BYTES_MAX, QUERY_DOCUMENTS_DEFAULT, QUERY_EXAMINED_MAX};
use crate::order::Order;
use crate::parameters::ParameterError;
use crate::projection::Projection;
use crate::{Query, cursor, parser};
use repository::{CollectionName, IndexValue, json};

/// A value in a filter.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// As documents have it.
    Value(IndexValue),
    /// A moment. As documents have it, it is an object whose one member is `$date`.
    Date {
        /// As `Date.prototype.toISOString` writes it.
        text: String,
        /// Milliseconds since 1970.
        ms: f64,
    },
}

/// What a program asks for.
#[derive(Clone, Debug, Default)]
pub struct Asked<'a> {
    /// The text of the filter around its values: one piece more than values, or none at all.
    pub pieces: &'a [String],
    /// The values.
    pub values: &'a [Bound],
    /// The order; `None`: by key.
    pub order: Option<&'a str>,
    /// Documents of a page, at most [`QUERY_EXAMINED_MAX`]; `None`: [`QUERY_DOCUMENTS_DEFAULT`].
    pub limit: Option<usize>,
    /// The cursor with which the page before ended.
    pub after: Option<&'a str>,
    /// The members to give; `None`: whole documents.
    pub fields: Option<&'a str>,
}

/// What stands for a value in the text of a filter; no piece has it.
pub(crate) const MARK: char = '\u{1a}';

impl Query {
    /// The query for what a program asks of `collection`.
    pub fn ask(collection: CollectionName, asked: &Asked<'_>) -> Result<Self, ParameterError> {
        let mistake = |name| move |mistake| ParameterError::Mistake { name, mistake };
        let text = asked.pieces.join(MARK.encode_utf8(&mut [0; 4]));
        if text.len() > FILTER_BYTES_MAX {
            let expected = format!("at most {FILTER_BYTES_MAX} bytes beside its values");
            let got = format!("{} bytes", text.len());
            return Err(ParameterError::Value { name: "filter", expected, got });
        }
        if text.matches(MARK).count() != asked.values.len() {
            return Err(ParameterError::value("filter", "text without control characters", &text));
        }
        let filter = parser::parse_bound(&text, asked.values).map_err(mistake("filter"))?;
        let order_text = asked.order.unwrap_or_default();
        let order = Order::parse(order_text).map_err(mistake("order"))?;
        let fields = asked.fields.map(Projection::parse).transpose();
        let fields = fields.map_err(mistake("fields"))?;
        let limit = asked.limit.unwrap_or(QUERY_DOCUMENTS_DEFAULT);
        if limit > QUERY_EXAMINED_MAX {
            let expected = format!("a whole number from 0 to {QUERY_EXAMINED_MAX}");
            return Err(ParameterError::value("limit", expected, &limit.to_string()));
        }
        let values: Vec<String> = asked.values.iter().map(Bound::to_json).collect();
        let filter_with_values = format!("{text}{}", values.join(","));
        let fingerprint =
            cursor::fingerprint([collection.as_str(), &filter_with_values, order_text]);
        let after = asked.after.map(|after| {
            let place = cursor::decode(after, fingerprint, order.fields.len());
            place.map_err(|error| ParameterError::value("after", error.to_string(), after))
        });
        let after = after.transpose()?;
        let (counts, explains, echo) = (false, false, Vec::new());
        Ok(Self {
            collection,
            filter,
            order,
            limit,
            after,
            fields,
            counts,
            explains,
            fingerprint,
            echo,
        })
    }

    /// What of a canonical text is to be given; `None` if nothing is.
    pub fn project(&self, text: &str) -> Option<String> {
        let Some(fields) = &self.fields else { return Some(text.to_owned()) };
        let mut out = String::new();
        (!fields.is_empty() && fields.append(text, &mut out)).then_some(out)
    }
}

impl Bound {
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Value(IndexValue::Text(_)))
    }

    fn to_json(&self) -> String {
        match self {
            Self::Date { text, .. } => format!("[{}]", json::quote(text)),
            Self::Value(IndexValue::Null) => "null".to_owned(),
            Self::Value(IndexValue::Boolean(value)) => value.to_string(),
            Self::Value(IndexValue::Number(number)) => json::format_number(*number),
            Self::Value(IndexValue::Text(text)) => json::quote(text),
        }
    }
}

#[cfg(test)]
#[path = "tests/bound.rs"]
mod tests;
