//! `[collections.NAME]` in `sarsen.toml`: settings of collections, which are those of the document
//! API and checked by the same rules. What is said here is set when the application is loaded;
//! what is not stays as it is.

use crate::errors::LoadError;
use crate::settings::{Refusal, refusal};
use crate::thrown::one_line;
use repository::{
    CollectionName, ConfigureError, Repository, RunError, Settings, SettingsError, Transaction,
    json,
};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a file says of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    name: CollectionName,
    /// The settings that are named.
    named: Vec<String>,
    settings: Settings,
}

/// Reads the tables below `[collections]`.
pub(crate) fn read(section: Option<&DeTable>) -> Result<Vec<Wanted>, Refusal> {
    let Some(section) = section else { return Ok(Vec::new()) };
    section.iter().map(|(name, value)| wanted(name, value)).collect()
}

fn wanted(
    name: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Spanned<DeValue>,
) -> Result<Wanted, Refusal> {
    let own = name.get_ref();
    let collection = CollectionName::new(own);
    let collection = collection.map_err(|error| refusal(name.span(), error.to_string()))?;
    if collection.is_system() {
        let why = format!("{own}: collections whose names start with _ belong to Sarsen");
        return Err(refusal(name.span(), why));
    }
    let Some(table) = value.get_ref().as_table() else {
        let why = format!("expected a section [collections.{own}] with settings");
        return Err(refusal(value.span(), why));
    };
    let text = json_of(value)?;
    let settings = Settings::from_json(&text)
        .and_then(|settings| settings.check().map(|()| settings))
        .map_err(|error| refusal(place(&error, value, name), one_line(&error.to_string())))?;
    let named = table.keys().map(|key| key.get_ref().to_string()).collect();
    Ok(Wanted { name: collection, named, settings })
}

/// The JSON text of a value.
fn json_of(value: &Spanned<DeValue>) -> Result<String, Refusal> {
    Ok(match value.get_ref() {
        DeValue::String(text) => json::quote(text),
        DeValue::Boolean(is_true) => is_true.to_string(),
        DeValue::Integer(integer) => {
            let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
            let too_large = || refusal(value.span(), "expected a number of at most 2^53");
            number.ok_or_else(too_large)?.to_string()
        }
        DeValue::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(json_of).collect::<Result<_, _>>()?;
            format!("[{}]", elements.join(","))
        }
        DeValue::Table(table) => {
            let member = |(name, value): (&Spanned<std::borrow::Cow<'_, str>>, _)| {
                Ok(format!("{}:{}", json::quote(name.get_ref()), json_of(value)?))
            };
            let members: Vec<String> = table.iter().map(member).collect::<Result<_, _>>()?;
            format!("{{{}}}", members.join(","))
        }
        DeValue::Float(float) => {
            let number = float.as_str().replace('_', "").parse::<f64>().ok();
            let finite = number.filter(|number| number.is_finite());
            let none = || refusal(value.span(), "expected a number, neither infinite nor nan");
            finite.ok_or_else(none)?.to_string()
        }
        DeValue::Datetime(_) => {
            let found = value.get_ref().type_str();
            let why = format!("expected a text, a number, true or false; found {found}");
            return Err(refusal(value.span(), why));
        }
    })
}

/// Where in the file the mistake is.
fn place(
    error: &SettingsError,
    value: &Spanned<DeValue>,
    name: &Spanned<std::borrow::Cow<'_, str>>,
) -> Range<usize> {
    let (at, member) = match error {
        SettingsError::Value { at, .. } | SettingsError::Missing { at, .. } => (at, None),
        SettingsError::Unknown { at, got, .. } => (at, Some(got)),
        _ => return name.span(),
    };
    let mut found = value;
    let mut span = name.span();
    for token in at.split('/') {
        let inside = match found.get_ref() {
            DeValue::Table(table) => table.get(token),
            DeValue::Array(elements) => token.parse().ok().and_then(|i: usize| elements.get(i)),
            _ => None,
        };
        let Some(inside) = inside else { break };
        (found, span) = (inside, inside.span());
    }
    let table = found.get_ref().as_table();
    let keys = table.into_iter().flat_map(|table| table.keys());
    let unknown = member.and_then(|member| {
        let mut keys = keys;
        keys.find(|key| member.contains(key.get_ref().as_ref()))
    });
    unknown.map_or(span, Spanned::span)
}

impl Wanted {
    /// These settings with what is wanted.
    fn over(&self, present: Settings) -> Settings {
        let mut next = present;
        let wanted = self.settings.clone();
        for name in &self.named {
            match name.as_str() {
                "durability" => next.durability = wanted.durability,
                "conflict" => next.conflict = wanted.conflict,
                "overwrite" => next.overwrite = wanted.overwrite,
                "expiry" => next.expiry_ms = wanted.expiry_ms,
                "history" => next.history = wanted.history,
                "schema" => next.schema.clone_from(&wanted.schema),
                _ => next.indexes.clone_from(&wanted.indexes),
            }
        }
        next
    }

    fn stage(&self, transaction: &mut Transaction) -> Result<(), ConfigureError> {
        let present = transaction.collection(&self.name)?.map(|entry| entry.settings);
        let next = self.over(present.clone().unwrap_or_default());
        if present.unwrap_or_default() == next {
            return Ok(());
        }
        log::info!("collection {}: settings as in sarsen.toml: {}", self.name, next.to_json());
        transaction.configure(&self.name, &next)
    }
}

/// Sets what is wanted, in one transaction; what is so already is not written.
pub(crate) fn apply(wanted: &[Wanted], repository: &Repository) -> Result<(), LoadError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let ran = repository
        .run(|transaction| wanted.iter().try_for_each(|wanted| wanted.stage(transaction)));
    let why = match ran {
        Ok(_) => return Ok(()),
        Err(RunError::Body { error, .. }) => error.to_string(),
        Err(RunError::Begin(error)) => error.to_string(),
        Err(RunError::Commit(error)) => error.to_string(),
        Err(RunError::Duplicate { duplicate, .. }) => duplicate.to_string(),
    };
    Err(LoadError::Settings { place: "sarsen.toml [collections]".to_owned(), why })
}
