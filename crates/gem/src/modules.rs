//! How the engine finds modules: Sarsen's own, and the application's by way of `sources`.

use crate::errors::LoadError;
use crate::files::Files;
use crate::imports::Missing;
use crate::sources::{Sources, Unreadable};
use crate::testing::modules as testing;
use crate::thrown::position;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Module};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The module of Sarsen's own that the engine starts with: its name and source.
pub(crate) const OWN: (&str, &str) = ("sarsen:engine", include_str!("js/engine.js"));

/// Sarsen's own modules. Applications import the first; the others only import each other.
const BUILT_IN: &[(&str, &str)] = &[
    OWN,
    ("sarsen", include_str!("js/sarsen.js")),
    ("sarsen:app", include_str!("js/app.js")),
    ("sarsen:asset", include_str!("js/asset.js")),
    ("sarsen:cache", include_str!("js/cache.js")),
    ("sarsen:chain", include_str!("js/chain.js")),
    ("sarsen:conversions", include_str!("js/conversions.js")),
    ("sarsen:cookies", include_str!("js/cookies.js")),
    ("sarsen:db", include_str!("js/db.js")),
    ("sarsen:documents", include_str!("js/documents.js")),
    ("sarsen:durations", include_str!("js/durations.js")),
    ("sarsen:failure", include_str!("js/failure.js")),
    ("sarsen:fetch", include_str!("js/fetch.js")),
    ("sarsen:globals", include_str!("js/globals.js")),
    ("sarsen:guards", include_str!("js/guards.js")),
    ("sarsen:intrinsics", include_str!("js/intrinsics.js")),
    ("sarsen:life", include_str!("js/life.js")),
    ("sarsen:html", include_str!("js/html.js")),
    ("sarsen:password", include_str!("js/password.js")),
    ("sarsen:native", include_str!("js/native.js")),
    ("sarsen:persist", include_str!("js/persist.js")),
    ("sarsen:refuse", include_str!("js/refuse.js")),
    ("sarsen:reply", include_str!("js/reply.js")),
    ("sarsen:results", include_str!("js/results.js")),
    ("sarsen:searches", include_str!("js/searches.js")),
    ("sarsen:services", include_str!("js/services.js")),
    ("sarsen:session", include_str!("js/session.js")),
    ("sarsen:stored", include_str!("js/stored.js")),
    ("sarsen:request", include_str!("js/request.js")),
    ("sarsen:tasks", include_str!("js/tasks.js")),
    ("sarsen:turn", include_str!("js/turn.js")),
    ("sarsen:work", include_str!("js/work.js")),
];

/// Resolves and loads for the engine. Clones share the sources.
#[derive(Clone)]
pub(crate) struct Modules {
    sources: Rc<RefCell<Sources>>,
    /// An import that failed, with its place in the importing module; the engine gives no place.
    failed: Rc<RefCell<Option<LoadError>>>,
    are_tests: bool,
}

impl Modules {
    pub(crate) fn new(sources: Sources) -> Self {
        Self { sources: Rc::new(RefCell::new(sources)), failed: Rc::default(), are_tests: false }
    }

    /// The same for a file of tests.
    pub(crate) fn for_tests(sources: Sources) -> Self {
        Self { are_tests: true, ..Self::new(sources) }
    }

    /// Why an import failed, if one did.
    pub(crate) fn take_failed(&self) -> Option<LoadError> {
        self.failed.borrow_mut().take()
    }

    /// The files of the application's `public/`.
    pub(crate) fn files(&self) -> Arc<Files> {
        Arc::clone(self.sources.borrow().files())
    }

    /// The name of the module that the engine starts with.
    pub(crate) fn main(&self) -> String {
        let sources = self.sources.borrow();
        sources.name(sources.main())
    }

    /// The JavaScript of that module.
    pub(crate) fn main_text(&self) -> Result<Arc<str>, LoadError> {
        let path = self.sources.borrow().main();
        let text = self.sources.borrow_mut().text(path);
        text.map_err(|unreadable| match unreadable {
            Unreadable::File(why) => LoadError::Module { place: self.main(), why },
            Unreadable::Text { place, why } => LoadError::Module { place, why },
        })
    }

    /// What the engine's message says is not exported, with the place of the import.
    pub(crate) fn missing(&self, message: &str) -> Option<LoadError> {
        let missing = Missing::of(message)?;
        let sources = self.sources.borrow();
        let is_meant = |base: &str, specifier: &str| {
            let path = join(base, specifier).map(|path| sources.name(&sources.resolve(&path)));
            specifier == missing.module || path.is_ok_and(|name| name == missing.module)
        };
        sources.modules().find_map(|(path, text)| {
            let at = missing.find(text, |specifier| is_meant(path, specifier))?;
            let (line, column) = position(text, at);
            let place = format!("{}:{line}:{column}", sources.name(path));
            Some(LoadError::Module { place, why: missing.why() })
        })
    }

    /// What was read.
    pub(crate) fn sources(&self) -> Sources {
        self.sources.borrow().clone()
    }

    fn locate(&self, base: &str, specifier: &str) -> Result<String, Unreadable> {
        if specifier == testing::TEST && !self.are_tests && !is_built_in(base) {
            return Err("only tests can, which `sarsen test` runs".into());
        }
        if specifier == "sarsen"
            || specifier == testing::TEST
            || (is_built_in(base) && is_built_in(specifier))
        {
            return Ok(specifier.to_owned());
        }
        let mut sources = self.sources.borrow_mut();
        let relative = specifier.starts_with("./") || specifier.starts_with("../");
        match sources.path(base) {
            Some(base) if relative => {
                let path = sources.resolve(&join(base, specifier)?);
                // Read here rather than in `load`: only here is it known who imports.
                sources.text(&path)?;
                Ok(sources.name(&path))
            }
            _ => Err("expected \"sarsen\", or a path that starts with ./ or ../".into()),
        }
    }

    /// The place of `specifier` in the module that imports it.
    fn place(&self, base: &str, specifier: &str) -> String {
        let sources = self.sources.borrow();
        let text = sources.path(base).and_then(|path| sources.module(path));
        let quoted = ['"', '\''].map(|quote| format!("{quote}{specifier}{quote}"));
        let at = text.and_then(|text| Some((text, quoted.iter().find_map(|q| text.find(q))?)));
        at.map_or_else(
            || base.to_owned(),
            |(text, at)| {
                let (line, column) = position(text, at);
                format!("{base}:{line}:{column}")
            },
        )
    }
}

/// The source of one of Sarsen's own modules.
fn built_in(name: &str) -> Option<&'static str> {
    let mut modules = BUILT_IN.iter().chain(testing::MODULES);
    modules.find(|(built_in, _)| *built_in == name).map(|(_, source)| *source)
}

fn is_built_in(name: &str) -> bool {
    built_in(name).is_some()
}

/// The path that `specifier` means in the module at `base`; both below the application's folder.
fn join(base: &str, specifier: &str) -> Result<String, Unreadable> {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => {
                return Err("it leaves the application's folder".into());
            }
            ".." => {}
            name => parts.push(name),
        }
    }
    Ok(parts.join("/"))
}

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        self.locate(base, name).map_err(|unreadable| {
            let (place, why) = match unreadable {
                Unreadable::File(why) => {
                    (self.place(base, name), format!("cannot import \"{name}\": {why}"))
                }
                Unreadable::Text { place, why } => (place, why),
            };
            let message = format!("{place}: {why}");
            *self.failed.borrow_mut() = Some(LoadError::Module { place, why });
            rquickjs::Error::new_resolving_message(base, name, message)
        })
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        if let Some(source) = built_in(name) {
            return Module::declare(ctx.clone(), name, source);
        }
        let mut sources = self.sources.borrow_mut();
        let text = match sources.path(name) {
            Some(path) => sources.text(path),
            None => Err("it is outside the application's folder".into()),
        };
        drop(sources);
        let text = text.map_err(|unreadable| {
            let message = unreadable.to_string();
            // What is imported was read when it was resolved; this is the file of a test.
            if let Unreadable::Text { place, why } = unreadable {
                *self.failed.borrow_mut() = Some(LoadError::Module { place, why });
            }
            rquickjs::Error::new_loading_message(name, message)
        })?;
        Module::declare(ctx.clone(), name, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_stay_inside() {
        assert_eq!(join("app.js", "./a.js").unwrap(), "a.js");
        assert_eq!(join("app.js", "./lib//./a.js").unwrap(), "lib/a.js");
        assert_eq!(join("lib/x/a.js", "../b.js").unwrap(), "lib/b.js");
        assert!(join("app.js", "../a.js").is_err());
        assert!(join("lib/a.js", "../../lib/b.js").is_err());
    }
}
