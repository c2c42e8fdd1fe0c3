//! What a schema asks for, keyword by keyword, with its subschemas by their places in the list of
//! all.

use crate::pattern::Pattern;
use crate::value::Value;

/// The place of a schema in the list of all.
pub(crate) type Id = usize;

/// One schema.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Where it is, as a JSON Pointer.
    pub at: Box<str>,
    /// `true` and `false` are schemas, too.
    pub is: Option<bool>,
    pub keywords: Vec<Keyword>,
    /// Asked last: what they apply to is what the others have not looked at.
    pub unevaluated_items: Option<Id>,
    /// See [`Self::unevaluated_items`].
    pub unevaluated_properties: Option<Id>,
}

/// What has to hold. Where a keyword is about another kind of value, it holds.
#[derive(Debug)]
pub(crate) enum Keyword {
    Type(Vec<Type>),
    /// With the steps that comparing takes.
    Enum(Vec<Value<'static>>, u64),
    Const(Value<'static>, u64),
    /// How a number compares with this one.
    Number(Comparison, f64),
    MultipleOf(f64, Box<str>),
    /// How long or large it is.
    Size(Size, u64),
    Pattern(Pattern),
    UniqueItems,
    Required(Vec<Box<str>>),
    DependentRequired(Vec<(Box<str>, Vec<Box<str>>)>),
    DependentSchemas(Vec<(Box<str>, Id)>),
    Members(Members),
    PropertyNames(Id),
    Elements {
        first: Vec<Id>,
        rest: Option<Id>,
    },
    Contains {
        id: Id,
        min: u64,
        max: Option<u64>,
    },
    Ref(&'static str, Id),
    AllOf(Vec<Id>),
    AnyOf(Vec<Id>),
    OneOf(Vec<Id>),
    Not(Id),
    If {
        condition: Id,
        then: Option<Id>,
        otherwise: Option<Id>,
    },
}

/// `properties`, `patternProperties` and `additionalProperties`, which are about what the other two
/// leave.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// In the order of the names.
    pub named: Vec<(Box<str>, Id)>,
    pub patterns: Vec<(Pattern, Id)>,
    pub others: Option<Id>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Null,
    Boolean,
    Number,
    Integer,
    Text,
    Array,
    Object,
}

pub(crate) const TYPES: &[(&str, Type)] = &[
    ("null", Type::Null),
    ("boolean", Type::Boolean),
    ("number", Type::Number),
    ("integer", Type::Integer),
    ("string", Type::Text),
    ("array", Type::Array),
    ("object", Type::Object),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Minimum,
    ExclusiveMinimum,
    Maximum,
    ExclusiveMaximum,
}

pub(crate) const COMPARISONS: &[(&str, Comparison)] = &[
    ("minimum", Comparison::Minimum),
    ("exclusiveMinimum", Comparison::ExclusiveMinimum),
    ("maximum", Comparison::Maximum),
    ("exclusiveMaximum", Comparison::ExclusiveMaximum),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    MinProperties,
    MaxProperties,
}

pub(crate) const SIZES: &[(&str, Size)] = &[
    ("minLength", Size::MinLength),
    ("maxLength", Size::MaxLength),
    ("minItems", Size::MinItems),
    ("maxItems", Size::MaxItems),
    ("minProperties", Size::MinProperties),
    ("maxProperties", Size::MaxProperties),
];

/// The name of a value of a table.
pub(crate) fn name_of<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, known)| known == value).map_or("", |(name, _)| name)
}

impl Keyword {
    /// As it is written.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Type(_) => "type",
            Self::Enum(..) => "enum",
            Self::Const(..) => "const",
            Self::Number(comparison, _) => name_of(COMPARISONS, comparison),
            Self::MultipleOf(..) => "multipleOf",
            Self::Size(size, _) => name_of(SIZES, size),
            Self::Pattern(_) => "pattern",
            Self::UniqueItems => "uniqueItems",
            Self::Required(_) => "required",
            Self::DependentRequired(_) => "dependentRequired",
            Self::DependentSchemas(_) => "dependentSchemas",
            Self::Members(_) => "properties",
            Self::PropertyNames(_) => "propertyNames",
            Self::Elements { .. } => "items",
            Self::Contains { .. } => "contains",
            Self::Ref(name, _) => name,
            Self::AllOf(_) => "allOf",
            Self::AnyOf(_) => "anyOf",
            Self::OneOf(_) => "oneOf",
            Self::Not(_) => "not",
            Self::If { .. } => "if",
        }
    }

    /// The schemas that it applies to the very value that it stands for itself.
    pub(crate) fn in_place(&self) -> Vec<Id> {
        match self {
            Self::Ref(_, id) | Self::Not(id) => vec![*id],
            Self::AllOf(ids) | Self::AnyOf(ids) | Self::OneOf(ids) => ids.clone(),
            Self::DependentSchemas(all) => all.iter().map(|(_, id)| *id).collect(),
            Self::If { condition, then, otherwise } => {
                [Some(*condition), *then, *otherwise].into_iter().flatten().collect()
            }
            _ => Vec::new(),
        }
    }
}
