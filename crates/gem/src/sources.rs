//! An application's own files, and nothing from outside its folder: its modules, of TypeScript the
//! JavaScript that remains without the types, and what is in `public/`.
//!
//! They are read once, when the application is checked. Workers take them from memory, so all run
//! the same code, and a worker that starts anew does too.

use crate::errors::LoadError;
use crate::failed::CodeFrame;
use crate::files::Files;
use crate::limits::{MODULE_BYTES_MAX, MODULES_MAX};
use crate::thrown::position;
use crate::typescript;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files that the engine may start with.
const MAINS: [&str; 2] = ["app.js", "app.ts"];

/// Why a module cannot be had.
#[derive(Clone, Debug)]
pub(crate) enum Unreadable {
    /// There is none there, or none that may be read.
    File(String),
    /// It is TypeScript that cannot be made JavaScript.
    Text {
        /// `file:line:column`.
        place: String,
        why: String,
    },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(why) => f.write_str(why),
            Self::Text { place, why } => write!(f, "{place}: {why}"),
        }
    }
}

impl From<&str> for Unreadable {
    fn from(why: &str) -> Self {
        Self::File(why.to_owned())
    }
}

/// A module that was read.
#[derive(Clone, Debug)]
struct Module {
    javascript: Arc<str>,
    /// As it is in the file.
    written: Arc<str>,
}

/// An application's sources.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// As the user wrote it; it begins the names of modules, and so the places in messages.
    shown: PathBuf,
    /// Without symbolic links.
    root: PathBuf,
    /// The file that the engine starts with.
    main: &'static str,
    /// By path below the folder, with `/` between names.
    modules: BTreeMap<String, Module>,
    /// What is in `public/`.
    files: Arc<Files>,
    /// Whether modules may still be read.
    open: bool,
}

impl Sources {
    /// The sources in `folder`, no module of them read so far.
    pub(crate) fn open(folder: &Path) -> Result<Self, LoadError> {
        let refused = |source| LoadError::Read {
            path: folder.to_owned(),
            source: Arc::new(source),
            hint: "; expected the folder of an application",
        };
        let root = folder.canonicalize().map_err(refused)?;
        if !root.is_dir() {
            return Err(refused(ErrorKind::NotADirectory.into()));
        }
        let main = main(folder)?;
        Ok(Self {
            shown: folder.to_owned(),
            root,
            main,
            modules: BTreeMap::new(),
            files: Arc::default(),
            open: true,
        })
    }

    /// Reads `public/`.
    pub(crate) fn read_files(&mut self) -> Result<(), LoadError> {
        self.files = Arc::new(Files::read(&self.shown.join("public"))?);
        Ok(())
    }

    /// What is in `public/`.
    pub(crate) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// Forbids further reading.
    pub(crate) fn close(mut self) -> Self {
        self.open = false;
        self
    }

    /// The path of the file that the engine starts with.
    pub(crate) fn main(&self) -> &'static str {
        self.main
    }

    /// The name under which the engine, and messages, know the file at `path` below the folder.
    pub(crate) fn name(&self, path: &str) -> String {
        self.shown.join(path).display().to_string()
    }

    /// The path below the folder of the module called `name`; `None`: it is not the application's.
    pub(crate) fn path<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(&self.name("")).filter(|path| !path.is_empty())
    }

    /// The code around `place`: `file:line:column` with the file's name as messages have it.
    pub(crate) fn code(&self, place: &str) -> Option<CodeFrame> {
        let mut parts = place.rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        let module = self.modules.get(self.path(parts.next()?)?)?;
        CodeFrame::around(&module.written, line, column)
    }

    /// The modules that were read: path and JavaScript.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (&str, &str)> {
        self.modules.iter().map(|(path, module)| (path.as_str(), &*module.javascript))
    }

    /// The JavaScript of a module that was read.
    pub(crate) fn module(&self, path: &str) -> Option<&str> {
        self.modules.get(path).map(|module| &*module.javascript)
    }

    /// The path of the module that an import of `path` means. Who writes TypeScript imports the
    /// JavaScript that a compiler would make of it.
    pub(crate) fn resolve(&self, path: &str) -> String {
        let twin = path.strip_suffix(".js").map(|stem| format!("{stem}.ts"));
        match twin {
            Some(twin) if self.modules.contains_key(&twin) => twin,
            Some(twin) if self.open && !self.is_file(path) && self.is_file(&twin) => twin,
            _ => path.to_owned(),
        }
    }

    fn is_file(&self, path: &str) -> bool {
        self.root.join(path).is_file()
    }

    /// The JavaScript of the module at `path`.
    pub(crate) fn text(&mut self, path: &str) -> Result<Arc<str>, Unreadable> {
        if let Some(module) = self.modules.get(path) {
            return Ok(module.javascript.clone());
        }
        if !self.open {
            return Err("it was not imported when the application was loaded, so it cannot be \
                        imported now"
                .into());
        }
        let written: Arc<str> = self.read(path).map_err(Unreadable::File)?.into();
        let javascript = self.javascript(path, &written)?;
        let module = Module { javascript: javascript.clone(), written };
        self.modules.insert(path.to_owned(), module);
        Ok(javascript)
    }

    fn javascript(&self, path: &str, written: &Arc<str>) -> Result<Arc<str>, Unreadable> {
        if !typescript::is_typescript(path) {
            return Ok(written.clone());
        }
        typescript::javascript(written).map(Arc::from).map_err(|mistake| {
            let (line, column) = position(written, mistake.at);
            Unreadable::Text {
                place: format!("{}:{line}:{column}", self.name(path)),
                why: mistake.why,
            }
        })
    }

    fn read(&self, path: &str) -> Result<String, String> {
        if self.modules.len() == MODULES_MAX {
            return Err(format!("an application has at most {MODULES_MAX} modules"));
        }
        let missing = |error: std::io::Error| match self.nearby(path) {
            Some(other) if error.kind() == ErrorKind::NotFound => {
                format!("{error}; did you mean {other}?")
            }
            _ => error.to_string(),
        };
        let file = self.root.join(path).canonicalize().map_err(missing)?;
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

    /// A file that an import of `path` may have meant: names of modules have their extension.
    fn nearby(&self, path: &str) -> Option<String> {
        let stem = path.strip_suffix(".ts").unwrap_or(path);
        let candidates = [".js", ".ts"].map(|extension| format!("{stem}{extension}"));
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        candidates.iter().find(|candidate| self.is_file(candidate)).map(|found| name(found))
    }
}

fn main(folder: &Path) -> Result<&'static str, LoadError> {
    match MAINS.map(|main| folder.join(main).exists()) {
        [true, true] => Err(LoadError::Module {
            place: folder.join(MAINS[1]).display().to_string(),
            why: format!("there is {}, too; an application starts with one of them", MAINS[0]),
        }),
        [false, true] => Ok(MAINS[1]),
        _ => Ok(MAINS[0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
