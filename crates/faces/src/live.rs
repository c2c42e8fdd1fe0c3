//! Live reload: what pages that are open while their application is edited are told. Who edits, and
//! when, is known elsewhere; how a page asks is in `http/live`.

use serde_json::json;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

use crate::limits::LIVE_WAITERS_MAX;

/// What is served, and what is wrong with the newest edit, for all pages that ask.
#[derive(Clone, Debug)]
pub struct Live {
    state: watch::Sender<State>,
    /// Tells this process from the one before on the same port.
    process: u64,
    pub(crate) waiters: Arc<Semaphore>,
}

/// What can be told.
#[derive(Clone, Debug, Default)]
struct State {
    /// Grows with all that is told.
    number: u64,
    /// Grows when another application is served.
    served: u64,
    /// What is wrong with the newest edit, which is then not served.
    mistake: Option<String>,
    is_over: bool,
}

impl Live {
    /// One for a server that is about to start. `process` is a number that no other process has
    /// from which an open page may be.
    pub fn new(process: u64) -> Self {
        let waiters = Arc::new(Semaphore::new(LIVE_WAITERS_MAX));
        Self { state: watch::Sender::new(State::default()), process, waiters }
    }

    /// Another application is served: pages load again.
    pub fn served(&self) {
        self.state.send_modify(|state| {
            state.number += 1;
            state.served += 1;
            state.mistake = None;
        });
    }

    /// The newest edit cannot be served: pages show why until one can.
    pub fn refused(&self, mistake: String) {
        self.state.send_modify(|state| {
            state.number += 1;
            state.mistake = Some(mistake);
        });
    }

    /// The server stops: nobody is kept waiting.
    pub fn end(&self) {
        self.state.send_modify(|state| state.is_over = true);
    }

    /// What a page that is made now was made by.
    pub(crate) fn served_id(&self) -> String {
        self.id_of_served(&self.state.borrow())
    }

    fn id_of_served(&self, state: &State) -> String {
        format!("{:x}-{}", self.process, state.served)
    }

    /// Waits until there is more to tell than `known`, the id of what was told before, and gives it
    /// with its id. `None`: the server stops.
    pub(crate) async fn news(&self, known: Option<&str>) -> Option<(String, String)> {
        let mut states = self.state.subscribe();
        let id = |state: &State| format!("{:x}-{}-{}", self.process, state.served, state.number);
        let is_news = |state: &State| state.is_over || known != Some(id(state).as_str());
        let state = states.wait_for(is_news).await.ok()?.clone();
        let told = json!({ "served": self.id_of_served(&state), "mistake": state.mistake });
        (!state.is_over).then(|| (id(&state), told.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_page_hears_what_it_does_not_know_and_then_waits() {
        let live = Live::new(7);
        let (first, told) = live.news(None).await.unwrap();
        assert_eq!(
            (first.as_str(), told.as_str()),
            ("7-0-0", "{\"served\":\"7-0\",\"mistake\":null}")
        );
        live.refused("app.js:1:1: no".to_owned());
        let (second, told) = live.news(Some(&first)).await.unwrap();
        assert_eq!(told, "{\"served\":\"7-0\",\"mistake\":\"app.js:1:1: no\"}");
        live.served();
        let (third, told) = live.news(Some(&second)).await.unwrap();
        assert_eq!(told, "{\"served\":\"7-1\",\"mistake\":null}");
        assert_eq!(live.served_id(), "7-1");
        // From another process, whatever it had told.
        assert!(live.news(Some("6-1-2")).await.is_some());
        let waits = tokio::spawn({
            let live = live.clone();
            async move { live.news(Some(&third)).await }
        });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        live.end();
        assert_eq!(waits.await.unwrap(), None);
    }
}
