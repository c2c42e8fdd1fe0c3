//! Which functions an application binds to which collections, as faces and workers look them up.
//! How they are called is in `engine` and `errand`.

use crate::limits::SERVICES_MAX;
use repository::CollectionName;
use std::collections::HashMap;

/// What is done with a document, as its collection's service sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// It is shown.
    Get,
    /// It is made under a new key.
    Post,
    /// It is written as a whole.
    Put,
    /// It is changed in part.
    Patch,
    /// It is removed.
    Delete,
    /// It has expired and is removed.
    Expire,
}

impl Method {
    const ALL: [Self; 6] =
        [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Expire];

    /// As functions see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Expire => "EXPIRE",
        }
    }
}

/// The service of a collection: for what there is a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    methods: u8,
}

impl Service {
    /// Whether a function is asked about this. `onPut` is asked about what `onPost` or `onPatch`
    /// would be, if they are not there.
    pub fn has(self, method: Method) -> bool {
        self.methods & (1 << method as u8) != 0
    }
}

/// The services of an application, by collection.
#[derive(Clone, Debug, Default)]
pub struct Services {
    by_name: HashMap<CollectionName, Service>,
}

impl Services {
    /// Of the lists that `services.js` gives: a collection, and what is done through its service.
    /// `Err` says what is wrong.
    pub(crate) fn of(lists: &[Vec<String>]) -> Result<Self, String> {
        if lists.len() > SERVICES_MAX {
            return Err(format!("an application has at most {SERVICES_MAX} services"));
        }
        let mut by_name = HashMap::new();
        for list in lists {
            let Some((name, methods)) = list.split_first() else { continue };
            let name = CollectionName::new(name).map_err(|error| error.to_string())?;
            let service: &mut Service = by_name.entry(name).or_default();
            for method in Method::ALL {
                let is_there = methods.iter().any(|name| name == method.as_str());
                service.methods |= u8::from(is_there) << method as u8;
            }
        }
        Ok(Self { by_name })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// That of a collection.
    pub fn get(&self, collection: &CollectionName) -> Option<Service> {
        self.by_name.get(collection).copied()
    }

    /// The collections whose expired documents a function is to see before they go.
    pub fn expiring(&self) -> impl Iterator<Item = &CollectionName> {
        let all = self.by_name.iter();
        all.filter(|(_, service)| service.has(Method::Expire)).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_knows_what_it_is_asked_about() {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let lists = [list(&["notes", "PUT", "EXPIRE"]), list(&["tally", "GET"])];
        let services = Services::of(&lists).unwrap();
        let of = |name| services.get(&CollectionName::new(name).unwrap());
        let notes = of("notes").unwrap();
        let asked = Method::ALL.map(|method| notes.has(method));
        assert_eq!(asked, [false, false, true, false, false, true]);
        assert!(of("tally").unwrap().has(Method::Get));
        assert_eq!(of("others"), None);
        let expiring: Vec<_> = services.expiring().map(CollectionName::as_str).collect();
        assert_eq!(expiring, ["notes"]);
    }

    #[test]
    fn there_are_at_most_so_many() {
        let lists = vec![vec!["notes".to_owned()]; SERVICES_MAX + 1];
        assert!(Services::of(&lists).unwrap_err().contains("at most"));
    }
}
