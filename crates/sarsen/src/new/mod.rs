//! `sarsen new`: writes a small application that works, to begin with.

use crate::cli::NewArguments;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why nothing was written, or not all.
#[derive(Debug, Error)]
pub enum NewError {
    /// The folder has something in it, which is left as it is.
    #[error("{} is not empty; expected a new or an empty folder", .0.display())]
    NotEmpty(PathBuf),
    /// The folder's name cannot be the application's.
    #[error(
        "an application's name has 1 to 64 characters without quotes, backslashes and control \
         characters; got \"{0}\""
    )]
    Name(String),
    /// A file or folder cannot be made.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which one.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// What is the same in both languages: the files' names and texts.
const FILES: [(&str, &str); 4] = [
    ("sarsen.toml", include_str!("template/sarsen.toml")),
    ("public/style.css", include_str!("template/public/style.css")),
    ("README.md", include_str!("template/README.md")),
    (".gitignore", "sarsen-data/\n"),
];

const TEST: &str = include_str!("template/test/app.test.js");

const JAVASCRIPT: [(&str, &str); 3] = [
    ("app.js", include_str!("template/app.js")),
    ("jsconfig.json", include_str!("template/jsconfig.json")),
    ("test/app.test.js", TEST),
];

/// The test has no types to write.
const TYPESCRIPT: [(&str, &str); 3] = [
    ("app.ts", include_str!("template/app.ts")),
    ("tsconfig.json", include_str!("template/tsconfig.json")),
    ("test/app.test.ts", TEST),
];

/// Writes the application; gives what is to be said.
pub fn run(arguments: &NewArguments) -> Result<String, NewError> {
    let folder = &arguments.app;
    let name = name_of(folder)?;
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(NewError::NotEmpty(folder.clone()));
    }
    let own = if arguments.typescript { TYPESCRIPT } else { JAVASCRIPT };
    let [(app, _), (config, _), _] = own;
    let fill = |text: &str| {
        text.replace("{{name}}", &name).replace("{{app}}", app).replace("{{config}}", config)
    };
    for (file, text) in own.iter().chain(&FILES) {
        write(&folder.join(file), &fill(text))?;
    }
    for (file, text) in gem::DECLARATIONS {
        write(&folder.join(file), text)?;
    }
    Ok(said(&folder.display().to_string()))
}

/// The application is called as its folder is.
fn name_of(folder: &Path) -> Result<String, NewError> {
    let full = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = full.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_plain = !name.contains(|c: char| c.is_control() || matches!(c, '"' | '\\' | '\u{fffd}'));
    if is_plain && (1..=64).contains(&name.chars().count()) && !name.trim().is_empty() {
        Ok(name)
    } else {
        Err(NewError::Name(name))
    }
}

/// Writes a file that is not there yet.
fn write(path: &Path, text: &str) -> Result<(), NewError> {
    let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = parent
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(path))
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| NewError::Write { path: path.to_owned(), source })
}

fn said(folder: &str) -> String {
    let folder = match folder.contains(|c: char| c.is_whitespace() || "'\"$`\\".contains(c)) {
        true => format!("'{}'", folder.replace('\'', r"'\''")),
        false => folder.to_owned(),
    };
    format!(
        "made        {folder}\n\
         serve it    sarsen serve {folder} --watch\n\
         test it     sarsen test {folder}\n\
         its data    curl 'http://127.0.0.1:8000/db/notes'\n"
    )
}
