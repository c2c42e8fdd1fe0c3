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
    /// Whether its URL is `memcached://`.
    is_cache: bool,
    /// None: its URL cannot be used, which has been said.
    target: Option<(Origin, String)>,
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
            let target = match override_ {
                Some((_, url)) => {
                    parse(url).map_err(|why| section.book.outside(format!("--server: {why}"))).ok()
                }
                None => of_file(&entry.value),
            };
            let is_cache = target.as_ref().is_some_and(|(_, is_cache)| *is_cache);
            Server { name: entry.key.clone(), is_cache, target: target.map(|(target, _)| target) }
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
        let (_, prefix) = self.0.get(number)?.target.clone()?;
        Some((number, prefix))
    }

    /// The servers that have the items of a step: those that it names, or else all of
    /// `memcached://`.
    pub(super) fn caches(
        &self,
        named: Option<&Value<'_>>,
        section: &Section<'_>,
    ) -> Option<Vec<usize>> {
        let found: Vec<usize> = match named {
            None => (0..self.0.len()).filter(|server| self.0[*server].is_cache).collect(),
            Some(value) => {
                let values = value.one_or_more();
                let servers = values.iter().map(|value| self.of(Some(value)).map(|(it, _)| it));
                servers.collect::<Option<_>>()?
            }
        };
        if found.is_empty() && self.0.iter().all(|server| server.target.is_some()) {
            let what = "there is no server for it; expected one like cache = \"memcached://HOST\"";
            section.book.missing(&section.span, format!("`{}`: {what}", section.name));
        }
        (!found.is_empty()).then_some(found)
    }

    /// For the plan.
    pub(super) fn origins(&self) -> Option<Vec<Origin>> {
        let origin = |server: &Server| server.target.as_ref().map(|(origin, _)| origin.clone());
        self.0.iter().map(origin).collect()
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|server| server.name.clone()).collect()
    }
}

fn of_file(value: &Value<'_>) -> Option<Found> {
    parse(&value.text()?).map_err(|why| value.wrong(why)).ok()
}

/// A server with what goes before its paths, and whether it is a cache.
type Found = ((Origin, String), bool);

/// memcached's port.
const CACHE_PORT: u16 = 11_211;

/// The server of a URL, and its path without a slash at the end.
fn parse(url: &str) -> Result<Found, String> {
    if let Some(authority) = url.strip_prefix("memcached://") {
        return parse_cache(authority).map(|found| (found, true));
    }
    let target: Target =
        url.parse().map_err(|error: crate::target::TargetError| error.to_string())?;
    let path = target.path();
    if path.contains('?') {
        return Err(format!("expected a URL without a query; got \"{url}\""));
    }
    Ok(((target.origin(), path.trim_end_matches('/').to_owned()), false))
}

/// Host and port of a cache.
fn parse_cache(authority: &str) -> Result<(Origin, String), String> {
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
        "/" => Ok((target.origin(), String::new())),
        path => Err(format!("a cache has no paths; got \"{path}\"")),
    }
}
