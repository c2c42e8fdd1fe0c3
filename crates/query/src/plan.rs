//! Plans: by which index, or by the keys, the documents of a query are found. `docs/queries.md` has
//! the rules. A plan may find too much, never too little: the filter is evaluated in any case.

use crate::Query;
use crate::bounds::{self, Bounds};
use crate::field::Field;
use crate::filter::{Condition, Operand, Test};
use crate::order::{Order, Place};
use repository::{
    Direction, IndexDefinition, IndexKind, IndexPath, IndexPlace, IndexRange, IndexValue, KeyRange,
};
use std::cmp::Reverse;
use std::ops::Bound;

/// A way to find the documents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub access: Access,
    pub direction: Direction,
    /// Whether documents do not come in the order that was asked for.
    pub sorts: bool,
    class: Class,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Access {
    Keys(KeyRange),
    Index(IndexAccess),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IndexAccess {
    pub name: String,
    pub range: IndexRange,
    pub columns: Vec<Column>,
    /// Whether a document can have several of its rows.
    pub repeats: bool,
}

/// What is known of the values in one column of an index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Column {
    /// They must be this.
    Fixed(IndexValue),
    /// They are those of this field of the order.
    Ordered(usize),
    Other,
}

/// What is taken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    OneDocument,
    BoundedInOrder,
    FixedSorted,
    InOrder,
    RangeSorted,
    AllKeys,
}

/// Every plan for `query`, the one to take first first. There is always one.
pub(crate) fn plans(query: &Query, indexes: &[&IndexDefinition]) -> Vec<Plan> {
    let conditions = query.filter.conditions();
    let mut plans: Vec<Plan> = indexes
        .iter()
        .filter_map(|index| by_index(index, &conditions, &query.order))
        .chain([by_keys(&conditions, &query.order)])
        .collect();
    plans.sort_by(|a, b| a.rank().cmp(&b.rank()));
    plans
}

impl Plan {
    fn rank(&self) -> (Class, Reverse<usize>, bool, &str) {
        (self.class, Reverse(self.fixed()), !self.is_bounded(), self.index().unwrap_or_default())
    }

    /// The index that it reads.
    pub(crate) fn index(&self) -> Option<&str> {
        match &self.access {
            Access::Keys(_) => None,
            Access::Index(index) => Some(&index.name),
        }
    }

    /// How many of the index's values are fixed at the beginning.
    pub(crate) fn fixed(&self) -> usize {
        match &self.access {
            Access::Keys(_) => 0,
            Access::Index(index) => index.range.equal.len(),
        }
    }

    /// Whether the value after those, or the key, has a bound.
    pub(crate) fn is_bounded(&self) -> bool {
        match &self.access {
            Access::Keys(range) => *range != KeyRange::all(),
            Access::Index(IndexAccess { range, .. }) => {
                range.from != Bound::Unbounded || range.to != Bound::Unbounded
            }
        }
    }
}

impl IndexAccess {
    /// Whether a row can be one that the plan is after.
    pub(crate) fn takes(&self, row: &[IndexValue]) -> bool {
        self.columns.iter().zip(row).all(|(column, value)| match column {
            Column::Fixed(fixed) => fixed == value,
            Column::Ordered(_) | Column::Other => true,
        })
    }

    /// Where a place in the order is in the index; only where the index has that order.
    pub(crate) fn place(&self, place: &Place) -> Option<IndexPlace> {
        let value = |column: &Column| match column {
            Column::Fixed(value) => Some(value.clone()),
            Column::Ordered(field) => place.values.get(*field).cloned(),
            Column::Other => None,
        };
        let values = self.columns.iter().map(value).collect::<Option<_>>()?;
        Some(IndexPlace { values, key: place.key.clone() })
    }
}

fn by_keys(conditions: &[&Condition], order: &Order) -> Plan {
    let Bounds { from, to } = bounds::of_keys(conditions);
    let is_one = matches!((&from, &to), (Bound::Included(a), Bound::Included(b)) if a == b);
    let range = KeyRange::new(from, to);
    let sorts = !deciding(order, conditions).is_empty();
    let class = match (range != KeyRange::all(), sorts) {
        _ if is_one => Class::OneDocument,
        (true, false) => Class::BoundedInOrder,
        (true, true) => Class::RangeSorted,
        (false, _) => Class::AllKeys,
    };
    let direction = if sorts { Direction::Ascending } else { order.key };
    Plan { access: Access::Keys(range), direction, sorts, class }
}

/// The fields that decide the order: not those that are the same in all documents.
pub(crate) fn deciding(order: &Order, conditions: &[&Condition]) -> Vec<usize> {
    let is_fixed = |field: &Field| {
        conditions.iter().any(|condition| {
            condition.field == *field && matches!(condition.test, Test::Equal(Operand::Value(_)))
        })
    };
    (0..order.fields.len()).filter(|i| !is_fixed(&order.fields[*i].0)).collect()
}

fn by_index(index: &IndexDefinition, conditions: &[&Condition], order: &Order) -> Option<Plan> {
    let columns: Vec<Column> =
        index.paths.iter().map(|path| column(path, conditions, order)).collect();
    let is_complete = index.paths.iter().zip(&columns).all(|(path, column)| match column {
        Column::Fixed(_) => true,
        Column::Ordered(_) if path.kind == IndexKind::Any => true,
        Column::Ordered(_) | Column::Other => bounds::is_covered(path, conditions),
    });
    if !is_complete {
        return None;
    }
    let fixed = columns.iter().take_while(|c| matches!(c, Column::Fixed(_))).count();
    let range = range(index, &columns[..fixed], conditions);
    let is_bounded = range.from != Bound::Unbounded || range.to != Bound::Unbounded;
    let sorts = !is_in_order(&columns, conditions, order);
    let class = match (sorts, fixed) {
        (_, fixed) if index.unique && fixed == columns.len() => Class::OneDocument,
        (false, fixed) if fixed > 0 || is_bounded => Class::BoundedInOrder,
        (true, fixed) if fixed > 0 => Class::FixedSorted,
        (false, _) => Class::InOrder,
        (true, _) if is_bounded => Class::RangeSorted,
        (true, _) => return None,
    };
    let each_is_open =
        |(path, column): (&IndexPath, &Column)| path.each && !matches!(column, Column::Fixed(_));
    let repeats = index.paths.iter().zip(&columns).any(each_is_open);
    let direction = if sorts { Direction::Ascending } else { order.key };
    let name = index.name.clone();
    let access = Access::Index(IndexAccess { name, range, columns, repeats });
    Some(Plan { access, direction, sorts, class })
}

fn column(path: &IndexPath, conditions: &[&Condition], order: &Order) -> Column {
    if let Some(value) = bounds::fixed_value(path, conditions) {
        return Column::Fixed(value.clone());
    }
    let is_it = |(field, _): &(Field, Direction)| match field {
        Field::Member(member) => member.pointer() == path.path,
        Field::Meta(_) => false,
    };
    order.fields.iter().position(is_it).map_or(Column::Other, Column::Ordered)
}

/// The rows: the fixed values at the beginning, and a range of the one after them.
fn range(index: &IndexDefinition, fixed: &[Column], conditions: &[&Condition]) -> IndexRange {
    let value = |column: &Column| match column {
        Column::Fixed(value) => Some(value.clone()),
        Column::Ordered(_) | Column::Other => None,
    };
    let equal = fixed.iter().filter_map(value).collect();
    let next = index.paths.get(fixed.len());
    match next.and_then(|path| bounds::of_values(path, conditions)) {
        Some(Bounds { from, to }) => IndexRange { equal, from, to },
        None => IndexRange::equal(equal),
    }
}

/// Whether the rows with the fixed values are in the order that was asked for.
fn is_in_order(columns: &[Column], conditions: &[&Condition], order: &Order) -> bool {
    let deciding = deciding(order, conditions);
    let open: Vec<&Column> = columns.iter().filter(|c| !matches!(c, Column::Fixed(_))).collect();
    let is_same = |(column, field): (&&Column, &usize)| **column == Column::Ordered(*field);
    open.len() == deciding.len()
        && open.iter().zip(&deciding).all(is_same)
        && deciding.iter().all(|field| order.fields[*field].1 == order.key)
}
