//! One request's turn at the repository: what the functions that JavaScript calls may do. It knows
//! the transaction, the request and its randomness; it knows no JavaScript.

use crate::exchange::Request;
use crate::limits::LOG_RECORDS_MAX;
use crate::random::{Random, Seed};
use crate::route::Params;
use crate::session;
use crate::urlencoded::{DecodeError, decode_form};
use bytes::Bytes;
use repository::limits::JSON_DEPTH_MAX;
use repository::{
    CollectionName, Document, Key, MediaType, Merge, NameError, ReadError, StageError, Timestamp,
    Transaction,
};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Why a call from JavaScript failed; the handler gets it as an exception.
#[derive(Debug, Error)]
pub(crate) enum TurnError {
    #[error("the request is over")]
    Over,
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("db.{0}: collections whose names start with _ belong to Sarsen")]
    System(String),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Stage(#[from] StageError),
    #[error("db.{collection} \"{key}\" holds {media_type}; a handler reads JSON documents only")]
    NotJson { collection: String, key: String, media_type: String },
    #[error("db.{collection} \"{key}\": expected at most {JSON_DEPTH_MAX} levels of nesting")]
    TooDeep { collection: String, key: String },
    // Of a session, no message has the key: whoever knows the id has the session.
    #[error("session: expected a JSON document, found {0}")]
    SessionNotJson(String),
    #[error("session: expected at most {JSON_DEPTH_MAX} levels of nesting")]
    SessionTooDeep,
    #[error("the body is not UTF-8")]
    BodyNotUtf8,
    #[error("expected a form (application/x-www-form-urlencoded), got {0}")]
    NotAForm(String),
    #[error(transparent)]
    Form(#[from] DecodeError),
    #[error("the operating system gives no randomness: {0}")]
    Randomness(#[from] getrandom::Error),
}

impl TurnError {
    fn without_session_id(self) -> Self {
        match self {
            Self::NotJson { media_type, .. } => Self::SessionNotJson(media_type),
            Self::TooDeep { .. } => Self::SessionTooDeep,
            other => other,
        }
    }
}

/// The session of one run.
enum Session {
    Untouched,
    /// The visitor brought a session that lives.
    Known(Key),
    /// The visitor has none; it gets one if the handler changes it.
    New,
    Created(String),
}

/// A request being served. It outlives the runs that lost to a conflict; what a run does to it is
/// undone by `begin`.
pub(crate) struct Turn {
    request: Request,
    params: Params,
    session_idle: Duration,
    /// Drawn when first needed, and kept: every run sees the same randomness.
    seed: Option<Seed>,
    new_session_id: Option<String>,
    /// There is one while a handler runs.
    transaction: Option<Transaction>,
    random: Option<Random>,
    session: Session,
    log_records: u32,
    /// The repository could not be read: whatever the handler makes of it, there is no reply.
    unreadable: Option<ReadError>,
}

impl Turn {
    pub(crate) fn new(request: Request, params: Params, session_idle: Duration) -> Self {
        Self {
            request,
            params,
            session_idle,
            seed: None,
            new_session_id: None,
            transaction: None,
            random: None,
            session: Session::Untouched,
            log_records: 0,
            unreadable: None,
        }
    }

    /// Starts a run on a transaction.
    pub(crate) fn begin(&mut self, transaction: Transaction) {
        self.transaction = Some(transaction);
        self.random = None;
        self.session = Session::Untouched;
        self.log_records = 0;
        self.unreadable = None;
    }

    /// Ends a run: the transaction with what was staged, and why the repository could not be read,
    /// if so.
    pub(crate) fn end(&mut self) -> Option<(Transaction, Option<ReadError>)> {
        Some((self.transaction.take()?, self.unreadable.take()))
    }

    /// The request.
    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    /// The values the route found in the path.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// The Set-Cookie value if this run made a session.
    pub(crate) fn set_cookie(&self) -> Option<String> {
        match &self.session {
            Session::Created(id) => Some(session::set_cookie(id, &self.request)),
            _ => None,
        }
    }

    /// The time of the view.
    pub(crate) fn time(&self) -> Result<Timestamp, TurnError> {
        Ok(self.transaction.as_ref().ok_or(TurnError::Over)?.time())
    }

    fn transaction(&mut self) -> Result<&mut Transaction, TurnError> {
        self.transaction.as_mut().ok_or(TurnError::Over)
    }

    /// The canonical text of a document.
    pub(crate) fn get(&mut self, collection: &str, key: &str) -> Result<Option<Bytes>, TurnError> {
        let (collection, key) = names(collection, key)?;
        let read = self.transaction()?.get(&collection, &key);
        self.text(&collection, &key, read)
    }

    /// As `get`, without noting the read.
    pub(crate) fn peek(&mut self, collection: &str, key: &str) -> Result<Option<Bytes>, TurnError> {
        let (collection, key) = names(collection, key)?;
        let read = self.transaction()?.peek(&collection, &key);
        self.text(&collection, &key, read)
    }

    fn text(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        read: Result<Option<Arc<Document>>, ReadError>,
    ) -> Result<Option<Bytes>, TurnError> {
        let Some(document) = self.readable(read)? else { return Ok(None) };
        match &document.media_type {
            MediaType::Json => Ok(Some(document.body.clone())),
            MediaType::Other(media_type) => Err(TurnError::NotJson {
                collection: collection.to_string(),
                key: key.to_string(),
                media_type: media_type.to_string(),
            }),
        }
    }

    /// Notes a failure of the repository, which the handler must not be able to hide.
    fn readable<T>(&mut self, read: Result<T, ReadError>) -> Result<T, TurnError> {
        if let Err(error @ (ReadError::Engine(_) | ReadError::ViewTooOld(_))) = &read {
            self.unreadable = Some(error.clone());
        }
        Ok(read?)
    }

    /// Stages a new document, which does not expire.
    pub(crate) fn put(
        &mut self,
        collection: &str,
        key: &str,
        text: String,
    ) -> Result<(), TurnError> {
        let (collection, key) = names(collection, key)?;
        self.stage(&collection, &key, text, None)
    }

    /// Stages a change of a document that was read: it expires when it would have.
    pub(crate) fn change(
        &mut self,
        collection: &str,
        key: &str,
        text: String,
    ) -> Result<(), TurnError> {
        let (collection, key) = names(collection, key)?;
        let read = self.transaction()?.get(&collection, &key);
        let expires = self.readable(read)?.and_then(|document| document.expires);
        self.stage(&collection, &key, text, expires)
    }

    fn stage(
        &mut self,
        collection: &CollectionName,
        key: &Key,
        text: String,
        expires: Option<Timestamp>,
    ) -> Result<(), TurnError> {
        if is_too_deep(&text) {
            let (collection, key) = (collection.to_string(), key.to_string());
            return Err(TurnError::TooDeep { collection, key });
        }
        self.transaction()?.put(collection, key, MediaType::Json, text.into(), expires)?;
        Ok(())
    }

    /// Stages a deletion.
    pub(crate) fn remove(&mut self, collection: &str, key: &str) -> Result<(), TurnError> {
        let (collection, key) = names(collection, key)?;
        self.transaction()?.delete(&collection, &key)?;
        Ok(())
    }

    /// Stages an addition to the number at `path`.
    pub(crate) fn add(
        &mut self,
        collection: &str,
        key: &str,
        path: String,
        delta: f64,
    ) -> Result<(), TurnError> {
        let (collection, key) = names(collection, key)?;
        self.transaction()?.merge(&collection, &key, Merge::Add { path, delta })?;
        Ok(())
    }

    /// The text of the visitor's session; `None` if there is none that lives.
    pub(crate) fn session(&mut self) -> Result<Option<Bytes>, TurnError> {
        self.session = Session::New;
        let Some(id) = session::id_of(&self.request) else { return Ok(None) };
        let collection = sessions();
        let read = self.transaction()?.get(&collection, &id);
        let text = self.text(&collection, &id, read).map_err(TurnError::without_session_id)?;
        if text.is_some() {
            self.session = Session::Known(id);
        }
        Ok(text)
    }

    /// Stages the visitor's session, which from now on lives for the idle time.
    pub(crate) fn save_session(&mut self, text: String) -> Result<(), TurnError> {
        let key = match &self.session {
            Session::Known(key) => key.clone(),
            Session::Untouched | Session::New | Session::Created(_) => {
                let id = self.new_session_id()?;
                let key = Key::new(&id)?;
                self.session = Session::Created(id);
                key
            }
        };
        let idle_ms = u64::try_from(self.session_idle.as_millis()).unwrap_or(u64::MAX);
        let expires = Timestamp(self.time()?.0.saturating_add(idle_ms));
        self.stage(&sessions(), &key, text, Some(expires)).map_err(TurnError::without_session_id)
    }

    fn new_session_id(&mut self) -> Result<String, TurnError> {
        if let Some(id) = &self.new_session_id {
            return Ok(id.clone());
        }
        let id = session::new_id()?;
        self.new_session_id = Some(id.clone());
        Ok(id)
    }

    /// The next number of `Math.random`.
    pub(crate) fn random(&mut self) -> Result<f64, TurnError> {
        Ok(self.generator()?.number())
    }

    /// A key for a new document.
    pub(crate) fn new_key(&mut self) -> Result<String, TurnError> {
        let time = self.time()?;
        Ok(self.generator()?.key(time).as_str().to_owned())
    }

    fn generator(&mut self) -> Result<&mut Random, TurnError> {
        let seed = match self.seed {
            Some(seed) => seed,
            None => *self.seed.insert(Seed::draw()?),
        };
        Ok(self.random.get_or_insert_with(|| Random::new(seed)))
    }

    /// The body as text.
    pub(crate) fn body_text(&self) -> Result<&str, TurnError> {
        std::str::from_utf8(&self.request.body).map_err(|_| TurnError::BodyNotUtf8)
    }

    /// The fields of the body.
    pub(crate) fn form(&self) -> Result<Vec<(String, String)>, TurnError> {
        let found = self.request.header("content-type").next().unwrap_or("no Content-Type");
        let media_type = found.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(TurnError::NotAForm(found.to_owned()));
        }
        Ok(decode_form(&self.request.body)?)
    }

    /// The fields of the query.
    pub(crate) fn query(&self) -> Result<Vec<(String, String)>, TurnError> {
        Ok(decode_form(self.request.query.as_bytes())?)
    }

    /// Counts a record for the log. False: this run has written enough of them.
    pub(crate) fn may_log(&mut self) -> bool {
        self.log_records = self.log_records.saturating_add(1);
        if self.log_records == LOG_RECORDS_MAX + 1 {
            log::warn!(
                target: "app",
                "{} {}: more than {LOG_RECORDS_MAX} records; the rest is left out",
                self.request.method,
                self.request.path
            );
        }
        self.log_records <= LOG_RECORDS_MAX
    }
}

fn sessions() -> CollectionName {
    CollectionName::new("_sessions").expect("the name follows the rule")
}

/// Checks the name of a collection that an application asks for.
pub(crate) fn collection(name: &str) -> Result<CollectionName, TurnError> {
    let collection = CollectionName::new(name)?;
    if collection.is_system() {
        return Err(TurnError::System(name.to_owned()));
    }
    Ok(collection)
}

fn names(name: &str, key: &str) -> Result<(CollectionName, Key), TurnError> {
    Ok((collection(name)?, Key::new(key)?))
}

/// Whether a JSON text, known to be well-formed, nests deeper than the repository stores.
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > JSON_DEPTH_MAX {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_strings() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_too_deep(&nested(JSON_DEPTH_MAX)));
        assert!(is_too_deep(&nested(JSON_DEPTH_MAX + 1)));
        assert!(!is_too_deep(&format!("[\"\\\"{}\\\\\",{{}}]", "[".repeat(JSON_DEPTH_MAX + 1))));
        assert!(!is_too_deep(&format!("[{}{{}}]", "{},".repeat(JSON_DEPTH_MAX + 1))));
    }

    #[test]
    fn system_collections_are_refused() {
        assert!(matches!(collection("_sessions"), Err(TurnError::System(_))));
        assert!(matches!(collection("Notes"), Err(TurnError::Name(_))));
        assert!(collection("notes").is_ok());
    }
}
