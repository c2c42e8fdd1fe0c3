//! The session of a run: a document of `_sessions`, read and staged like any other.

use super::{Turn, TurnError};
use crate::session::{self, SessionId};
use bytes::Bytes;
use repository::{CollectionName, Key, MediaType, Timestamp};

/// The session of one run.
pub(super) enum Session {
    Untouched,
    /// The visitor brought a session that lives.
    Known(Known),
    /// The visitor has none; it gets one if the handler changes it.
    New,
    /// As `New`, but the visitor brought one that lived, and that is deleted.
    Ended,
    /// It gets this one.
    Created {
        id: SessionId,
        max_age: Option<u64>,
    },
}

pub(super) struct Known {
    id: SessionId,
    /// Of its document, as the id says.
    key: Key,
    text: Bytes,
    began: Timestamp,
    expires: Timestamp,
    /// It is stored again; then the visitor's cookie may have to live longer, too.
    max_age: Option<u64>,
    is_stored: bool,
}

impl Turn {
    /// The text of the visitor's session; `None` if there is none that lives.
    pub(crate) fn session(&mut self) -> Result<Option<Bytes>, TurnError> {
        self.session = Session::New;
        let Some(id) = session::id_of(&self.request) else { return Ok(None) };
        let key = id.key();
        let collection = sessions();
        let read = self.transaction()?.get(&collection, &key);
        let document = self.readable(read)?;
        let Some(document) = document else { return Ok(None) };
        let text = self.text(&collection, &key, Ok(Some(document.clone())));
        let Some(text) = text.map_err(TurnError::without_session_id)? else { return Ok(None) };
        let now = self.time()?;
        if self.session_rules.is_over(document.created, now) {
            return Ok(None);
        }
        self.session = Session::Known(Known {
            id,
            key,
            text: text.clone(),
            began: document.created,
            expires: document.expires.unwrap_or(now),
            max_age: None,
            is_stored: false,
        });
        Ok(Some(text))
    }

    /// Stages the visitor's session, which from now on lives for the idle time.
    pub(crate) fn save_session(&mut self, text: String) -> Result<(), TurnError> {
        let (now, rules) = (self.time()?, self.session_rules);
        let began = match &self.session {
            Session::Known(known) => known.began,
            _ => now,
        };
        let expires = rules.expires(began, now);
        let max_age =
            rules.is_persistent.then(|| (expires.0.saturating_sub(now.0)).div_ceil(1_000));
        let key = match &mut self.session {
            Session::Known(known) => {
                known.max_age = max_age;
                known.is_stored = true;
                known.key.clone()
            }
            Session::Untouched | Session::New | Session::Ended | Session::Created { .. } => {
                let id = self.new_session_id()?;
                let key = id.key();
                self.session = Session::Created { id, max_age };
                key
            }
        };
        self.stage(&sessions(), &key, text, Some(expires)).map_err(TurnError::without_session_id)
    }

    /// Ends the session that the visitor brought: its id is dead with this commit. What is saved
    /// from now on is another one.
    pub(crate) fn end_session(&mut self) -> Result<(), TurnError> {
        let Session::Known(known) = &self.session else { return Ok(()) };
        let key = known.key.clone();
        self.transaction()?.delete(&sessions(), &key)?;
        self.session = Session::Ended;
        Ok(())
    }

    /// Stages a session that was used and not stored again, if it would end too soon otherwise. A
    /// transaction that has no room for it is not spoiled: the next use will do.
    pub(crate) fn prolong_session(&mut self) {
        let (Ok(now), rules) = (self.time(), self.session_rules) else { return };
        let Session::Known(known) = &mut self.session else { return };
        if known.is_stored || !rules.is_due(known.began, known.expires, now) {
            return;
        }
        let expires = rules.expires(known.began, now);
        let (key, text) = (known.key.clone(), known.text.clone());
        let max_age = rules.is_persistent.then(|| (expires.0 - now.0).div_ceil(1_000));
        known.max_age = max_age;
        let Ok(transaction) = self.transaction() else { return };
        if let Err(error) = transaction.put(&sessions(), &key, MediaType::Json, text, Some(expires))
        {
            log::debug!("a session was not prolonged: {error}");
        }
    }

    fn new_session_id(&mut self) -> Result<SessionId, TurnError> {
        if let Some(id) = &self.new_session_id {
            return Ok(id.clone());
        }
        let id = SessionId::new()?;
        self.new_session_id = Some(id.clone());
        Ok(id)
    }

    /// The Set-Cookie value if this run made, ended or prolonged a session.
    pub(super) fn session_cookie(&self) -> Option<String> {
        let set = |id: &str, max_age| Some(session::set_cookie(id, max_age, &self.request));
        match &self.session {
            Session::Created { id, max_age } => set(id.as_cookie(), *max_age),
            Session::Known(known) if known.max_age.is_some() => {
                set(known.id.as_cookie(), known.max_age)
            }
            Session::Ended => set("", Some(0)),
            Session::Untouched | Session::Known(_) | Session::New => None,
        }
    }
}

fn sessions() -> CollectionName {
    CollectionName::new("_sessions").expect("the name follows the rule")
}
