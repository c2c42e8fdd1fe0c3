//! `[servers]`: where requests go. Any of them may be another on the command line.

use super::Overrides;
use super::mistakes::hint;
use super::section::{Section, Value};
use super::text;
use crate::target::{Origin, Target};

/// The servers, in the order of the file.
pub(super) struct Servers(Vec<Server>);

struct Server {
    name: String,
    /// None: its URL cannot be used, which has been said.
    found: Option<Found>,
    /// The number of its first instance in the plan.
    first: usize,
}

/// What a URL names.
struct Found {
    /// Whether it is `memcached://`.
    is_cache: bool,
    /// Of a cache there may be several.
    instances: Vec<Origin>,
    /// What goes before the paths of its steps.
    prefix: String,
}

impl Servers {
    pub(super) fn read(section: Option<&Section<'_>>, overrides: &Overrides) -> Self {
        let Some(section) = section else { return Self(Vec::new()) };
        let entries = section.entries();
        if entries.is_empty() {
            section.book.missing(&section.span, "[servers] names no server");
        }
        let names: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        for (name, _) in &overrides.servers {
            if name.as_ref().is_some_and(|name| !names.contains(name)) {
                let name = name.as_deref().unwrap_or_default();
                let hint = hint(name, names.iter().map(String::as_str));
                section.book.outside(format!("--server: there is no server `{name}`{hint}"));
            }
        }
        let mut first = 0;
        let read = entries.iter().enumerate().map(|(i, entry)| {
            if !text::is_name(&entry.key) {
                let what = format!("expected {}; got \"{}\"", text::NAME, entry.key);
                section.book.wrong(&entry.span, what);
            }
            // Without a name, the first is meant.
            let is_meant = |name: &Option<String>| match name {
                Some(name) => *name == entry.key,
                None => i == 0,
            };
            let override_ = overrides.servers.iter().rev().find(|(name, _)| is_meant(name));
            let mut found = match override_ {
                Some((_, url)) => {
                    parse(url).map_err(|why| section.book.outside(format!("--server: {why}"))).ok()
                }
                None => of_file(&entry.value),
            };
            if let (Some(found), Some(most)) = (&mut found, overrides.instances)
                && found.is_cache
            {
                let there = found.instances.len();
                if there < most {
                    let what = format!("`{}` has {there} instances; asked are {most}", entry.key);
                    section.book.outside(what);
                }
                found.instances.truncate(most);
            }
            let server = Server { name: entry.key.clone(), found, first };
            first += server.instances().len();
            server
        });
        Self(read.collect())
    }

    /// Where a step goes: the server that it names, or else the first; and what goes before its
    /// paths.
    pub(super) fn of(&self, named: Option<&Value<'_>>) -> Option<(usize, String)> {
        let number = match named {
            None => 0,
            Some(value) => {
                let name = value.text()?;
                let found = self.0.iter().position(|server| server.name == name);
                if found.is_none() {
                    let hint = hint(&name, self.0.iter().map(|server| server.name.as_str()));
                    value.wrong(format_args!("there is no server `{name}`{hint}"));
                }
                found?
            }
        };
        let server = self.0.get(number)?;
        Some((server.first, server.found.as_ref()?.prefix.clone()))
    }

    /// The servers that have the items of a step: those that it names, or else all of
    /// `memcached://`.
    pub(super) fn caches(
        &self,
        named: Option<&Value<'_>>,
        section: &Section<'_>,
    ) -> Option<Vec<usize>> {
        let meant: Vec<&Server> = match named {
            None => self.0.iter().filter(|server| server.is_cache()).collect(),
            Some(value) => {
                let values = value.one_or_more();
                let servers = values.iter().map(|value| {
                    let (first, _) = self.of(Some(value))?;
                    self.0.iter().find(|server| server.first == first && server.found.is_some())
                });
                servers.collect::<Option<_>>()?
            }
        };
        let numbers = meant.iter().flat_map(|server| (server.first..).zip(server.instances()));
        let found: Vec<usize> = numbers.map(|(number, _)| number).collect();
        if found.is_empty() && self.0.iter().all(|server| server.found.is_some()) {
            let what = "there is no server for it; expected one like cache = \"memcached://HOST\"";
            section.book.missing(&section.span, format!("`{}`: {what}", section.name));
        }
        (!found.is_empty()).then_some(found)
    }

    /// For the plan.
    pub(super) fn origins(&self) -> Option<Vec<Origin>> {
        let all = self.0.iter().map(|server| server.found.as_ref());
        let all: Vec<&Found> = all.collect::<Option<_>>()?;
        Some(all.into_iter().flat_map(|found| found.instances.iter().cloned()).collect())
    }

    /// Their names, that of a cache once for each instance.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |server: &Server| vec![server.name.clone(); server.instances().len()];
        self.0.iter().flat_map(name).collect()
    }
}

impl Server {
    fn instances(&self) -> &[Origin] {
        self.found.as_ref().map_or(&[], |found| &found.instances)
    }

    fn is_cache(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.is_cache)
    }
}

fn of_file(value: &Value<'_>) -> Option<Found> {
    parse(&value.text()?).map_err(|why| value.wrong(why)).ok()
}

/// memcached's port.
const CACHE_PORT: u16 = 11_211;

/// The server of a URL, or the servers, and its path without a slash at the end.
fn parse(url: &str) -> Result<Found, String> {
    if let Some(authorities) = url.strip_prefix("memcached://") {
        let instances = authorities.split(',').map(parse_cache).collect::<Result<_, _>>()?;
        return Ok(Found { is_cache: true, instances, prefix: String::new() });
    }
    let target: Target =
        url.parse().map_err(|error: crate::target::TargetError| error.to_string())?;
    let path = target.path();
    if path.contains('?') {
        return Err(format!("expected a URL without a query; got \"{url}\""));
    }
    let prefix = path.trim_end_matches('/').to_owned();
    Ok(Found { is_cache: false, instances: vec![target.origin()], prefix })
}

/// Host and port of a cache.
fn parse_cache(authority: &str) -> Result<Origin, String> {
    let authority = authority.trim_end_matches('/');
    // Colons in brackets belong to an address.
    let after = authority.rsplit(']').next().unwrap_or_default();
    let url = match after.contains(':') {
        true => format!("http://{authority}"),
        false => format!("http://{authority}:{CACHE_PORT}"),
    };
    let target: Target =
        url.parse().map_err(|error: crate::target::TargetError| error.to_string())?;
    match target.path() {
        "/" => Ok(target.origin()),
        path => Err(format!("a cache has no paths; got \"{path}\"")),
    }
}
