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
            Server { name: entry.key.clone(), target }
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

fn of_file(value: &Value<'_>) -> Option<(Origin, String)> {
    parse(&value.text()?).map_err(|why| value.wrong(why)).ok()
}

/// The server of a URL, and its path without a slash at the end.
fn parse(url: &str) -> Result<(Origin, String), String> {
    let target: Target =
        url.parse().map_err(|error: crate::target::TargetError| error.to_string())?;
    let path = target.path();
    if path.contains('?') {
        return Err(format!("expected a URL without a query; got \"{url}\""));
    }
    Ok((target.origin(), path.trim_end_matches('/').to_owned()))
}
