//! The file of tokens in the data folder: who changes it, and how it is read. It is no part of the
//! repository: `sarsen token` changes it while a server has the repository open, and a server that
//! cannot open its repository can still say who may ask.
//!
//! A change holds `tokens.lock`, writes the whole list to `tokens.tmp`, syncs it, and renames it
//! over `tokens`; whoever reads finds the old list or the new one. `docs/access.md` has the format.

use crate::access::grant::{Grant, GrantError};
use crate::access::token::{Secret, Token, TokenHash};
use crate::limits;
use repository::Timestamp;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

const FORMAT: &str = "sarsen tokens 1";

/// What a token is to be.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What its maker calls it; may be empty.
    pub name: String,
    /// What it allows.
    pub grant: Grant,
    /// When it is made.
    pub created: Timestamp,
    /// From when on it is refused.
    pub expires: Option<Timestamp>,
}

/// Why the file could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It holds something else than tokens.
    #[error(
        "{} is not a list of tokens: {why}; put it back from a backup, or remove it and make the \
         tokens again", path.display()
    )]
    NotTokens {
        /// The file.
        path: PathBuf,
        /// What was expected and what was found.
        why: String,
    },
    /// What it is to allow cannot be allowed.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// There are as many as there may be.
    #[error("there are {max} tokens, as many as may be; revoke one first",
            max = limits::TOKENS_MAX)]
    Full,
    /// A name that is none.
    #[error("a token's name has at most {max} bytes and no control characters; got {got} bytes",
            max = limits::TOKEN_NAME_BYTES_MAX)]
    Name {
        /// The bytes of what came.
        got: usize,
    },
    /// No token has this id.
    #[error("there is no token {id}; `sarsen token list` shows those there are")]
    NoToken {
        /// What was asked for.
        id: String,
    },
    /// The operating system has no randomness.
    #[error("cannot draw a token: {0}")]
    Randomness(getrandom::Error),
}

/// Tells one state of the file from another without reading it: a change makes a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    changed: (i64, i64),
    bytes: u64,
}

/// The tokens of one data folder.
#[derive(Clone, Debug)]
pub struct TokenFile {
    folder: PathBuf,
}

impl TokenFile {
    /// Those of the data folder `folder`. Nothing is read yet.
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self) -> PathBuf {
        self.folder.join("tokens")
    }

    /// Every token, in the order in which they were made; none where there is no file.
    pub fn read(&self) -> Result<Vec<Token>, TokenFileError> {
        Ok(self.read_if_there()?.unwrap_or_default())
    }

    /// As `read`; `None` where there is no file.
    pub(crate) fn read_if_there(&self) -> Result<Option<Vec<Token>>, TokenFileError> {
        let path = self.path();
        let mut text = String::new();
        let bytes_max = limits::TOKEN_FILE_BYTES_MAX;
        match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.and_then(|file| file.take(bytes_max + 1).read_to_string(&mut text)),
        }
        .map_err(io_error("read", &path))?;
        if text.len() as u64 > bytes_max {
            let why = format!("it has more than {bytes_max} bytes");
            return Err(TokenFileError::NotTokens { path, why });
        }
        parse(&text).map(Some).map_err(|why| TokenFileError::NotTokens { path, why })
    }

    /// The state of the file, as far as it shows from outside. `None` where there is none.
    pub(crate) fn stamp(&self) -> io::Result<Option<Stamp>> {
        match fs::metadata(self.path()) {
            Ok(meta) => Ok(Some(Stamp {
                inode: meta.ino(),
                changed: (meta.ctime(), meta.ctime_nsec()),
                bytes: meta.len(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// That it cannot be read.
    pub(crate) fn unreadable(&self, source: io::Error) -> TokenFileError {
        io_error("read", &self.path())(source)
    }

    /// Makes a token. The folder is made if it is missing, so that a server's first start can
    /// find one. The secret is nowhere but in what this gives.
    pub fn create(&self, new: NewToken) -> Result<(Token, Secret), TokenFileError> {
        let NewToken { name, grant, created, expires } = new;
        if name.len() > limits::TOKEN_NAME_BYTES_MAX || name.chars().any(char::is_control) {
            return Err(TokenFileError::Name { got: name.len() });
        }
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(io_error("create the folder", &self.folder))?;
        let _lock = self.lock()?;
        let mut tokens = self.read()?;
        if tokens.len() >= limits::TOKENS_MAX {
            return Err(TokenFileError::Full);
        }
        let secret = Secret::draw().map_err(TokenFileError::Randomness)?;
        let hash = TokenHash::of(secret.reveal().as_bytes());
        let id = draw_id(&tokens).map_err(TokenFileError::Randomness)?;
        let token = Token { id, name, grant, created, expires, hash };
        tokens.push(token.clone());
        self.write(&tokens)?;
        Ok((token, secret))
    }

    /// Removes the token `id` and gives what was kept of it.
    pub fn revoke(&self, id: &str) -> Result<Token, TokenFileError> {
        let missing = || TokenFileError::NoToken { id: id.to_owned() };
        // Without a folder there is no place for the lock either.
        if self.read_if_there()?.is_none() {
            return Err(missing());
        }
        let _lock = self.lock()?;
        let mut tokens = self.read()?;
        let at = tokens.iter().position(|token| token.id == id).ok_or_else(missing)?;
        let revoked = tokens.remove(at);
        self.write(&tokens)?;
        Ok(revoked)
    }

    /// Waits for its turn among those who change the file.
    fn lock(&self) -> Result<File, TokenFileError> {
        let path = self.folder.join("tokens.lock");
        // Only a file that was made here is given away: what is there may be a link.
        let made = private().create_new(true).write(true).open(&path);
        let file = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                private().write(true).open(&path)
            }
            made => made.and_then(|file| self.give_to_owner(&file).map(|()| file)),
        };
        let locked = file.and_then(|file| file.lock().map(|()| file));
        locked.map_err(io_error("lock", &path))
    }

    fn write(&self, tokens: &[Token]) -> Result<(), TokenFileError> {
        let (path, unfinished) = (self.path(), self.folder.join("tokens.tmp"));
        let text = render(tokens);
        // What an earlier try left may be readable to others, or a link to somewhere else.
        let removed = match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        let written = removed
            .and_then(|()| private().create_new(true).write(true).open(&unfinished))
            .and_then(|mut file| {
                self.give_to_owner(&file)?;
                file.write_all(text.as_bytes())?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&unfinished, &path))
            .and_then(|()| File::open(&self.folder)?.sync_all());
        written.map_err(io_error("write", &path))
    }

    /// The files belong to whom the folder belongs to, whoever made them: a server that could not
    /// read what the superuser wrote would go on with a token that was revoked.
    fn give_to_owner(&self, file: &File) -> io::Result<()> {
        let (folder, own) = (fs::metadata(&self.folder)?, file.metadata()?);
        if (folder.uid(), folder.gid()) == (own.uid(), own.gid()) {
            return Ok(());
        }
        match fchown(file, Some(folder.uid()), Some(folder.gid())) {
            // Only the superuser may give a file away, and nobody else has to.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            given => given,
        }
    }
}

/// For nobody but the owner.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TokenFileError {
    move |source| TokenFileError::Io { action, path: path.to_owned(), source }
}

/// Eight letters and digits, without those that are taken for one another.
fn draw_id(tokens: &[Token]) -> Result<String, getrandom::Error> {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    loop {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes)?;
        let id: String =
            bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
        if tokens.iter().all(|token| token.id != id) {
            return Ok(id);
        }
    }
}

fn render(tokens: &[Token]) -> String {
    let rows: Vec<Value> = tokens
        .iter()
        .map(|token| {
            let collections: Vec<String> =
                token.grant.collections().iter().map(ToString::to_string).collect();
            json!({
                "id": token.id,
                "name": token.name,
                "scope": token.grant.scope().as_str(),
                "collections": collections,
                "created_ms": token.created.0,
                "expires_ms": token.expires.map(|time| time.0),
                "sha256": token.hash.to_hex(),
            })
        })
        .collect();
    format!("{:#}\n", json!({ "format": FORMAT, "tokens": rows }))
}

fn parse(text: &str) -> Result<Vec<Token>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value["format"] != FORMAT {
        return Err(format!("expected \"format\": \"{FORMAT}\", found {}", value["format"]));
    }
    let rows = value["tokens"].as_array().ok_or("expected an array \"tokens\"")?;
    if rows.len() > limits::TOKENS_MAX {
        return Err(format!(
            "expected at most {} tokens, found {}",
            limits::TOKENS_MAX,
            rows.len()
        ));
    }
    let read = |(at, row)| read_token(row).map_err(|why| format!("token {}: {why}", at + 1));
    rows.iter().enumerate().map(read).collect()
}

fn read_token(row: &Value) -> Result<Token, String> {
    let text = |name: &str| row[name].as_str().ok_or(format!("expected a text \"{name}\""));
    let refused = |error: GrantError| error.to_string();
    let patterns = row["collections"].as_array().ok_or("expected an array \"collections\"")?;
    let patterns = patterns.iter().map(|one| one.as_str().unwrap_or_default().parse());
    let patterns = patterns.collect::<Result<_, _>>().map_err(refused)?;
    let scope = text("scope")?.parse().map_err(refused)?;
    let expires = match &row["expires_ms"] {
        Value::Null => None,
        time => Some(Timestamp(time.as_u64().ok_or("expected a number \"expires_ms\"")?)),
    };
    Ok(Token {
        id: text("id")?.to_owned(),
        name: text("name")?.to_owned(),
        grant: Grant::new(scope, patterns).map_err(refused)?,
        created: Timestamp(row["created_ms"].as_u64().ok_or("expected a number \"created_ms\"")?),
        expires,
        hash: TokenHash::from_hex(text("sha256")?)
            .ok_or("expected 64 hexadecimal digits as \"sha256\"")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::grant::{Pattern, Scope};
    use std::os::unix::fs::PermissionsExt;

    fn new(name: &str) -> NewToken {
        let collections = vec![Pattern::Every, "img-*".parse().unwrap()];
        let grant = Grant::new(Scope::Write, collections).unwrap();
        let (created, expires) = (Timestamp(5), Some(Timestamp(9)));
        NewToken { name: name.to_owned(), grant, created, expires }
    }

    #[test]
    fn tokens_are_made_listed_and_revoked() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(&place.path().join("new/data"));
        assert!(file.read().unwrap().is_empty());
        let (first, secret) = file.create(new("one")).unwrap();
        let (second, _) = file.create(new("")).unwrap();
        let listed = file.read().unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!((&listed[0].id, &listed[1].id), (&first.id, &second.id));
        assert_eq!((listed[0].name.as_str(), &listed[0].grant), ("one", &first.grant));
        assert_eq!((listed[0].created, listed[0].expires), (Timestamp(5), Some(Timestamp(9))));
        assert!(listed[0].hash.is(&TokenHash::of(secret.reveal().as_bytes())));

        assert_eq!(file.revoke(&first.id).unwrap().id, first.id);
        assert!(matches!(file.revoke(&first.id), Err(TokenFileError::NoToken { .. })));
        assert_eq!(file.read().unwrap().len(), 1);
    }

    #[test]
    fn only_the_owner_reads_the_file_and_no_secret_is_in_it() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        let (_, secret) = file.create(new("n")).unwrap();
        for name in ["tokens", "tokens.lock"] {
            let mode = fs::metadata(place.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(&secret.reveal()[super::super::token::PREFIX.len()..]));
        assert!(!place.path().join("tokens.tmp").exists());
    }

    #[test]
    fn what_an_earlier_try_left_is_not_written_through() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        let (elsewhere, unfinished) =
            (place.path().join("elsewhere"), place.path().join("tokens.tmp"));
        fs::write(&elsewhere, "kept").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &unfinished).unwrap();
        file.create(new("n")).unwrap();
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "kept");
        fs::write(&unfinished, "torn").unwrap();
        fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o644)).unwrap();
        file.create(new("m")).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(file.read().unwrap().len(), 2);
    }

    #[test]
    fn the_files_belong_to_whom_the_folder_belongs_to() {
        let place = tempfile::tempdir().unwrap();
        // Only the superuser can show more than that nothing fails.
        let is_given = std::os::unix::fs::chown(place.path(), Some(65_534), Some(65_534)).is_ok();
        let file = TokenFile::of(place.path());
        file.create(new("n")).unwrap();
        let owner = fs::metadata(place.path()).unwrap().uid();
        assert!(!is_given || owner == 65_534);
        for name in ["tokens", "tokens.lock"] {
            assert_eq!(fs::metadata(place.path().join(name)).unwrap().uid(), owner, "{name}");
        }
    }

    #[test]
    fn every_change_shows_from_outside() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        let mut stamps = vec![file.stamp().unwrap()];
        let (token, _) = file.create(new("n")).unwrap();
        stamps.push(file.stamp().unwrap());
        file.create(new("m")).unwrap();
        stamps.push(file.stamp().unwrap());
        file.revoke(&token.id).unwrap();
        stamps.push(file.stamp().unwrap());
        assert!(stamps.windows(2).all(|two| two[0] != two[1]), "{stamps:?}");
    }

    #[test]
    fn many_make_tokens_at_once_and_none_is_lost() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..5).for_each(|_| drop(file.create(new("n")).unwrap())));
            }
        });
        assert_eq!(file.read().unwrap().len(), 40);
    }

    #[test]
    fn what_is_no_list_of_tokens_is_refused_and_named() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        file.create(new("n")).unwrap();
        let good = fs::read_to_string(file.path()).unwrap();
        for (from, to, word) in [
            ("sarsen tokens 1", "sarsen tokens 2", "sarsen tokens 2"),
            ("\"write\"", "\"root\"", "root"),
            ("\"img-*\"", "\"IMG\"", "IMG"),
            ("\"sha256\": \"", "\"sha256\": \"x", "sha256"),
            ("\"created_ms\": 5", "\"created_ms\": -5", "created_ms"),
            ("\"expires_ms\": 9", "\"expires_ms\": \"soon\"", "expires_ms"),
            ("{", "", "line 2"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "{from}");
            fs::write(file.path(), bad).unwrap();
            let error = file.read().unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("tokens"), "{error}");
            assert!(file.create(new("m")).is_err(), "it is not written over");
        }
        let long = " ".repeat(usize::try_from(limits::TOKEN_FILE_BYTES_MAX).unwrap() + 1);
        fs::write(file.path(), long).unwrap();
        assert!(file.read().unwrap_err().to_string().contains("more than"));
    }

    #[test]
    fn there_are_as_many_tokens_as_may_be_and_no_more() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        let (token, _) = file.create(new(&"n".repeat(limits::TOKEN_NAME_BYTES_MAX))).unwrap();
        let patterns = vec![Pattern::Prefix("p".repeat(64)); limits::TOKEN_PATTERNS_MAX];
        let grant = Grant::new(Scope::Admin, patterns).unwrap();
        let largest = Token { grant, ..token };
        let all = vec![largest; limits::TOKENS_MAX];
        assert!(render(&all).len() as u64 <= limits::TOKEN_FILE_BYTES_MAX, "the largest file fits");
        file.write(&all[1..]).unwrap();
        file.create(new("last")).unwrap();
        assert!(matches!(file.create(new("more")), Err(TokenFileError::Full)));
    }

    #[test]
    fn a_name_is_one_short_line() {
        let place = tempfile::tempdir().unwrap();
        let file = TokenFile::of(place.path());
        let long = "n".repeat(limits::TOKEN_NAME_BYTES_MAX + 1);
        for bad in ["a\nb", "\u{1b}[31m", &long] {
            assert!(matches!(file.create(new(bad)), Err(TokenFileError::Name { .. })), "{bad:?}");
        }
        assert!(!place.path().join("tokens").exists());
    }
}
