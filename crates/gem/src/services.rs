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
    /// Those of them for which `onPut` stands in.
    by_put: u8,
}

impl Service {
    /// Whether a function is asked about this. `onPut` is asked about what `onPost` or `onPatch`
    /// would be, if they are not there.
    pub fn has(self, method: Method) -> bool {
        self.methods & (1 << method as u8) != 0
    }

    /// The name of the function that is asked about this.
    pub fn function(self, method: Method) -> &'static str {
        match method {
            _ if self.by_put & (1 << method as u8) != 0 => "onPut",
            Method::Get => "onGet",
            Method::Post => "onPost",
            Method::Put => "onPut",
            Method::Patch => "onPatch",
            Method::Delete => "onDelete",
            Method::Expire => "onExpire",
        }
    }
}

/// The services of an application, by collection.
#[derive(Clone, Debug, Default)]
pub struct Services {
    by_name: HashMap<CollectionName, Service>,
}

impl Services {
    /// Of the lists that `services.js` gives: a collection, and for all that is done through its
    /// service "METHOD function". `Err` says what is wrong.
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
                let mut pairs = methods.iter().filter_map(|pair| pair.split_once(' '));
                let Some((_, function)) = pairs.find(|(name, _)| *name == method.as_str()) else {
                    continue;
                };
                service.methods |= 1 << method as u8;
                let stands_in = method != Method::Put && function == "onPut";
                service.by_put |= u8::from(stands_in) << method as u8;
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
        let notes = list(&["notes", "PATCH onPut", "PUT onPut", "EXPIRE onExpire"]);
        let lists = [notes, list(&["tally", "GET onGet"])];
        let services = Services::of(&lists).unwrap();
        let of = |name| services.get(&CollectionName::new(name).unwrap());
        let notes = of("notes").unwrap();
        let asked = Method::ALL.map(|method| notes.has(method));
        assert_eq!(asked, [false, false, true, true, false, true]);
        let names = [Method::Put, Method::Patch, Method::Expire].map(|m| notes.function(m));
        assert_eq!(names, ["onPut", "onPut", "onExpire"]);
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
