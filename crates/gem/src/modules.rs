//! The modules of an application: where they come from, and nothing from outside its folder.
//!
//! They are read once, when the application is checked. Workers take them from memory, so all run
//! the same code, and a worker that starts anew does too.

use crate::errors::LoadError;
use crate::failed::CodeFrame;
use crate::limits::{MODULE_BYTES_MAX, MODULES_MAX};
use crate::testing::modules as testing;
use crate::thrown::position;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Module};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// The file that the engine starts with.
pub(crate) const MAIN: &str = "app.js";

/// The module of Sarsen's own that the engine starts with: its name and source.
pub(crate) const OWN: (&str, &str) = ("sarsen:engine", include_str!("js/engine.js"));

/// Sarsen's own modules. Applications import the first; the others only import each other.
const BUILT_IN: &[(&str, &str)] = &[
    OWN,
    ("sarsen", include_str!("js/sarsen.js")),
    ("sarsen:app", include_str!("js/app.js")),
    ("sarsen:chain", include_str!("js/chain.js")),
    ("sarsen:cookies", include_str!("js/cookies.js")),
    ("sarsen:db", include_str!("js/db.js")),
    ("sarsen:documents", include_str!("js/documents.js")),
    ("sarsen:durations", include_str!("js/durations.js")),
    ("sarsen:failure", include_str!("js/failure.js")),
    ("sarsen:globals", include_str!("js/globals.js")),
    ("sarsen:life", include_str!("js/life.js")),
    ("sarsen:html", include_str!("js/html.js")),
    ("sarsen:password", include_str!("js/password.js")),
    ("sarsen:native", include_str!("js/native.js")),
    ("sarsen:persist", include_str!("js/persist.js")),
    ("sarsen:refuse", include_str!("js/refuse.js")),
    ("sarsen:reply", include_str!("js/reply.js")),
    ("sarsen:results", include_str!("js/results.js")),
    ("sarsen:services", include_str!("js/services.js")),
    ("sarsen:session", include_str!("js/session.js")),
    ("sarsen:request", include_str!("js/request.js")),
    ("sarsen:tasks", include_str!("js/tasks.js")),
    ("sarsen:turn", include_str!("js/turn.js")),
];

/// An application's sources.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// As the user wrote it; it begins the names of modules, and so the places in messages.
    shown: PathBuf,
    /// Without symbolic links.
    root: PathBuf,
    /// By path below the folder, with `/` between names.
    files: BTreeMap<String, Arc<str>>,
    /// Whether modules may still be read.
    open: bool,
}

impl Sources {
    /// The sources in `folder`, none of them read so far.
    pub(crate) fn open(folder: &Path) -> Result<Self, LoadError> {
        let refused = |source| LoadError::Read {
            path: folder.to_owned(),
            source: Arc::new(source),
            hint: "; expected the folder of an application",
        };
        let root = folder.canonicalize().map_err(refused)?;
        if !root.is_dir() {
            return Err(refused(std::io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { shown: folder.to_owned(), root, files: BTreeMap::new(), open: true })
    }

    /// Forbids further reading.
    pub(crate) fn close(mut self) -> Self {
        self.open = false;
        self
    }

    /// The name under which the engine, and messages, know the file at `path` below the folder.
    pub(crate) fn name(&self, path: &str) -> String {
        self.shown.join(path).display().to_string()
    }

    fn path<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(&self.name("")).filter(|path| !path.is_empty())
    }

    /// The code around `place`: `file:line:column` with the file's name as messages have it.
    pub(crate) fn code(&self, place: &str) -> Option<CodeFrame> {
        let mut parts = place.rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        CodeFrame::around(self.files.get(self.path(parts.next()?)?)?, line, column)
    }

    /// The text of the file at `path`.
    pub(crate) fn text(&mut self, path: &str) -> Result<Arc<str>, String> {
        if let Some(text) = self.files.get(path) {
            return Ok(text.clone());
        }
        if !self.open {
            return Err("it was not imported when the application was loaded, so it cannot be \
                        imported now"
                .to_owned());
        }
        let text: Arc<str> = self.read(path)?.into();
        self.files.insert(path.to_owned(), text.clone());
        Ok(text)
    }

    fn read(&self, path: &str) -> Result<String, String> {
        if self.files.len() == MODULES_MAX {
            return Err(format!("an application has at most {MODULES_MAX} modules"));
        }
        let file = self.root.join(path).canonicalize().map_err(|error| error.to_string())?;
        if !file.starts_with(&self.root) {
            return Err("it is a link out of the application's folder".to_owned());
        }
        let meta = fs::metadata(&file).map_err(|error| error.to_string())?;
        if !meta.is_file() {
            return Err("it is not a file; an import names a file, such as \"./notes.js\"".into());
        }
        if meta.len() > MODULE_BYTES_MAX {
            return Err(format!("a module has at most {MODULE_BYTES_MAX} bytes"));
        }
        fs::read_to_string(&file).map_err(|error| error.to_string())
    }
}

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

    /// The text of the application's file at `path`.
    pub(crate) fn text(&self, path: &str) -> Result<Arc<str>, String> {
        self.sources.borrow_mut().text(path)
    }

    /// What was read.
    pub(crate) fn sources(&self) -> Sources {
        self.sources.borrow().clone()
    }

    fn locate(&self, base: &str, specifier: &str) -> Result<String, String> {
        if specifier == testing::TEST && !self.are_tests && !is_built_in(base) {
            return Err("only tests can, which `sarsen test` runs".to_owned());
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
                let path = join(base, specifier)?;
                // Read here rather than in `load`: only here is it known who imports.
                sources.text(&path)?;
                Ok(sources.name(&path))
            }
            _ => Err("expected \"sarsen\", or a path that starts with ./ or ../".to_owned()),
        }
    }

    /// The place of `specifier` in the module that imports it.
    fn place(&self, base: &str, specifier: &str) -> String {
        let sources = self.sources.borrow();
        let text = sources.path(base).and_then(|path| sources.files.get(path));
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
fn join(base: &str, specifier: &str) -> Result<String, String> {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => {
                return Err("it leaves the application's folder".to_owned());
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
        self.locate(base, name).map_err(|why| {
            let why = format!("cannot import \"{name}\": {why}");
            let place = self.place(base, name);
            *self.failed.borrow_mut() = Some(LoadError::Module { place, why: why.clone() });
            rquickjs::Error::new_resolving_message(base, name, why)
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
            None => Err("it is outside the application's folder".to_owned()),
        };
        drop(sources);
        let text = text.map_err(|why| rquickjs::Error::new_loading_message(name, why))?;
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

    #[test]
    fn names_begin_with_the_folder_as_the_user_wrote_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut sources = Sources::open(folder.path()).unwrap();
        for (shown, name) in [(".", "./a/b.js"), ("x", "x/a/b.js"), ("/x/y/", "/x/y/a/b.js")] {
            sources.shown = shown.into();
            assert_eq!(sources.name("a/b.js"), name);
            assert_eq!(sources.path(name), Some("a/b.js"));
        }
        assert_eq!(sources.path("/x/z/a.js"), None);
        assert_eq!(sources.path("sarsen"), None);
    }
}
