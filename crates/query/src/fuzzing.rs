//! Doors to private parts for the targets in `tests/fuzz`. Nothing else may use them.

use crate::field::Record;
use crate::filter::Filter;
use crate::plan::{self, Access, Column};
use crate::{Asked, Bound, Query, cursor, parser, reference};
use bytes::Bytes;
use repository::{
    CollectionName, CommitNumber, Document, IndexDefinition, IndexRange, IndexValue, Key,
    MediaType, Timestamp,
};

/// A plan by an index: which one, the rows that it reads, and of those the values, for each path
/// of the index, that it is after.
pub type Plan = (String, IndexRange, Vec<Option<IndexValue>>);

fn parse(component: Option<&str>) -> Result<Query, String> {
    let collection = CollectionName::new("c").map_err(|error| error.to_string())?;
    Query::parse(collection, component).map_err(|error| error.to_string())
}

/// The query component of a URI, written again from the query that it was read as; why not, if it
/// is none.
pub fn component_again(component: &str) -> Result<String, String> {
    let query = parse(Some(component))?;
    let after = query.after.map(|place| cursor::encode(&place, query.fingerprint));
    let after = after.iter().map(|cursor| ("after", cursor.as_str()));
    Ok(reference(query.echo.iter().map(|(name, value)| (*name, value.as_str())).chain(after)))
}

/// The cursor, written again from the place that it stands for, of a query with so many fields in
/// its order.
pub fn cursor_again(text: &str, fingerprint: u64, fields: usize) -> Option<String> {
    let place = cursor::decode(text, fingerprint, fields).ok()?;
    Some(cursor::encode(&place, fingerprint))
}

/// A cursor that has these bytes, and a checksum that fits.
pub fn cursor_of(bytes: &[u8]) -> String {
    cursor::sealed(bytes.to_vec())
}

/// Where the mistake is if `filter` is none: which character, from 1.
pub fn mistake(filter: &str) -> Option<usize> {
    parser::parse(filter).err().map(|mistake| mistake.at)
}

/// How many comparisons a filter has whose pieces have `value` between each two; `None`: it is no
/// filter.
pub fn comparisons(pieces: &[String], value: &str) -> Option<usize> {
    fn count(filter: &Filter) -> usize {
        match filter {
            Filter::All(filters) | Filter::Any(filters) => filters.iter().map(count).sum(),
            Filter::Not(filter) => count(filter),
            Filter::Is(_) => 1,
        }
    }
    let collection = CollectionName::new("c").ok()?;
    let value = Bound::Value(IndexValue::Text(value.to_owned()));
    let values = vec![value; pieces.len().saturating_sub(1)];
    let asked = Asked { pieces, values: &values, ..Asked::default() };
    Some(count(&Query::ask(collection, &asked).ok()?.filter))
}

/// The plans for a filter and an order, if the document with the key `k` and this canonical text
/// belongs to what they find.
pub fn plans(
    filter: &str,
    order: &str,
    text: &str,
    indexes: &[IndexDefinition],
) -> Option<Vec<Plan>> {
    let component = reference([("filter", filter), ("order", order)]);
    let query = parse(component.strip_prefix('?')).ok()?;
    let document = Document {
        media_type: MediaType::Json,
        body: Bytes::copy_from_slice(text.as_bytes()),
        blob: None,
        version: CommitNumber(1),
        created: Timestamp(0),
        updated: Timestamp(0),
        expires: None,
    };
    let key = Key::new("k").ok()?;
    let record = Record::new(&key, &document);
    if !query.filter.holds(&record) || query.order.values(&record).is_none() {
        return None;
    }
    let indexes: Vec<&IndexDefinition> = indexes.iter().collect();
    let by_index = |plan: plan::Plan| match plan.access {
        Access::Keys(_) => None,
        Access::Index(index) => {
            let fixed = |column| match column {
                Column::Fixed(value) => Some(value),
                Column::Ordered(_) | Column::Other => None,
            };
            Some((index.name, index.range, index.columns.into_iter().map(fixed).collect()))
        }
    };
    Some(plan::plans(&query, &indexes).into_iter().filter_map(by_index).collect())
}
