//! The session of a run: a document of `_sessions`, read and staged like any other.

use super::{Turn, TurnError};
use crate::session;
use bytes::Bytes;
use repository::{CollectionName, Key, Timestamp};

/// The session of one run.
pub(super) enum Session {
    Untouched,
    /// The visitor brought a session that lives.
    Known(Key),
    /// The visitor has none; it gets one if the handler changes it.
    New,
    Created(String),
}

impl Turn {
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

    /// The Set-Cookie value if this run made a session.
    pub(crate) fn set_cookie(&self) -> Option<String> {
        match &self.session {
            Session::Created(id) => Some(session::set_cookie(id, &self.request)),
            _ => None,
        }
    }
}

fn sessions() -> CollectionName {
    CollectionName::new("_sessions").expect("the name follows the rule")
}
