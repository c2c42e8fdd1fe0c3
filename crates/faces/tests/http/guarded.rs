//! A server that has tokens, and tokens that it knows.

use crate::site::{Site, bare, get, until};
use faces::access::{Grant, NewToken, Scope, TokenFile};
use repository::Timestamp;
use tempfile::TempDir;

/// The server.
pub struct Guarded {
    pub site: Site,
    pub file: TokenFile,
    _folder: TempDir,
}

impl Guarded {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::of(folder.path());
        let site = Site::with(|options| options.tokens = Some(file.clone()));
        Self { site, file, _folder: folder }
    }

    /// A token, its id and its text, that the server knows already.
    pub fn token(&self, scope: Scope, patterns: &[&str]) -> (String, String) {
        let patterns = patterns.iter().map(|one| one.parse().unwrap()).collect();
        let grant = Grant::new(scope, patterns).unwrap();
        let new = NewToken { name: String::new(), grant, created: Timestamp(0), expires: None };
        let (token, secret) = self.file.create(new).unwrap();
        let text = secret.reveal().to_owned();
        // A token that is not known yet must not be tried: that would count as a refusal.
        let asked = bare("GET", "/readyz", &bearer(&text));
        let knows = || self.site.ask(&asked).body.contains("observedValue");
        until(|| self.site.ask(&get("/db/notes/a")).status == 401 && knows());
        (token.id, text)
    }
}

/// The field that shows a token.
pub fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}
