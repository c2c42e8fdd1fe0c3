//! An application: its settings and its sources, checked before any worker starts.

use crate::aside::fetch::{Client, certificates};
use crate::engine::Engine;
use crate::errors::LoadError;
use crate::files::Files;
use crate::limits::{LOAD_HEAP_BYTES, THREAD_STACK_BYTES};
use crate::services::Services;
use crate::settings::{self, Settings};
use crate::sources::Sources;
use crate::tasks::Definition;
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// An application, read from its folder and checked: it parses and its module loads.
pub struct App {
    pub(crate) settings: Settings,
    pub(crate) sources: Sources,
    services: Services,
    tasks: Vec<Definition>,
    client: Arc<Client>,
    warnings: Vec<String>,
}

impl App {
    /// Reads and checks `folder` (`sarsen.toml`, `app.js` or `app.ts`, and what they import).
    pub fn load(folder: &Path) -> Result<Self, LoadError> {
        let mut sources = Sources::open(folder)?;
        let settings = settings::read(&folder.join("sarsen.toml"))?;
        sources.read_files()?;
        let client = client(folder, &settings)?;
        let heap = settings.heap_limit.unwrap_or(LOAD_HEAP_BYTES);
        let (sources, services, tasks, warnings) =
            on_a_workers_stack(|| Engine::read(sources, heap))?;
        Ok(Self { settings, sources, services, tasks, client, warnings })
    }

    /// What loads and is hardly meant, a line each: files that hide routes.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What it has bound to collections.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Its tasks and crons.
    pub(crate) fn tasks(&self) -> &[Definition] {
        &self.tasks
    }

    /// Who asks other servers for its tasks.
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Checks that a worker with this heap can load it.
    pub(crate) fn check(&self, heap_limit: usize) -> Result<(), LoadError> {
        on_a_workers_stack(|| {
            Engine::start(&self.sources, heap_limit, self.settings.freezes).map(drop)
        })
    }

    /// The files of its `public/`.
    pub fn files(&self) -> &Files {
        self.sources.files()
    }

    /// Its name, from `sarsen.toml`.
    pub fn name(&self) -> &str {
        &self.settings.name
    }
}

/// With the certificates that the settings name.
fn client(folder: &Path, settings: &Settings) -> Result<Arc<Client>, LoadError> {
    let policy = settings.fetch.clone();
    let Some(name) = &policy.certificates else { return Ok(Arc::new(Client::new(policy, None))) };
    let path = folder.join(name);
    let text = std::fs::read(&path).map_err(|source| LoadError::Read {
        path: path.clone(),
        source: Arc::new(source),
        hint: "; sarsen.toml names it: [fetch] certificates",
    })?;
    let place = path.display().to_string();
    let found = certificates(&text).map_err(|why| LoadError::Settings { place, why })?;
    Ok(Arc::new(Client::new(policy, Some(&found))))
}

/// Runs `load` on a thread as the workers have, so that what loads here has the same stack there.
fn on_a_workers_stack<T: Send>(
    load: impl FnOnce() -> Result<T, LoadError> + Send,
) -> Result<T, LoadError> {
    thread::scope(|scope| {
        thread::Builder::new()
            .name("gem-check".to_owned())
            .stack_size(THREAD_STACK_BYTES)
            .spawn_scoped(scope, load)
            .map_err(|error| LoadError::Worker(error.to_string()))?
            .join()
            .unwrap_or_else(|_| Err(LoadError::Worker("the engine panicked".to_owned())))
    })
}
