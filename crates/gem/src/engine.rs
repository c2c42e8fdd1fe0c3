//! The JavaScript engine with one application loaded: the one door to QuickJS. It runs handlers in
//! their budget and says how they ended; it opens no transaction and commits nothing.

mod service;
mod tasks;

use crate::base64;
use crate::budget::Budget;
use crate::errors::FailureKind::{
    self, CpuLimit, DocumentsLimit, Handler, HeapLimit, ReplyLimit, StackLimit,
};
use crate::errors::LoadError;
use crate::files::Files;
use crate::handlers::{Handlers, Kept};
use crate::limits::{LOAD_CPU, ROUTES_MAX, SCRIPT_STACK_BYTES};
use crate::modules::{Modules, OWN};
use crate::natives::{Slot, natives};
use crate::rejections::Rejections;
use crate::reply::{Answer, ReplyError};
use crate::route::{Found, Routes};
use crate::services::Services;
use crate::sources::Sources;
use crate::tasks::Definition;
use crate::thrown::Thrown;
use crate::urlencoded::DecodeError;
use bytes::Bytes;
use repository::{Content, PinnedBlob};
use rquickjs::module::Evaluated;
use rquickjs::{Array, Context, Ctx, Function, Module, Object, Persistent, Runtime, Value};
use service::Calls;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use service::{Asked, Called};

/// How a handler ended without an answer that may be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The request was the client's mistake: this answer, and no commit.
    Refused(Answer),
    /// It waits for what it has asked for: no commit, and another run with the answers.
    Waits,
    /// It threw this, and the application's `onError` answered: this answer, and no commit.
    Recovered(Box<Answer>, Box<Thrown>),
    /// It failed. After `CpuLimit` and `HeapLimit` the engine is to be thrown away.
    Failed(FailureKind, Thrown),
}

impl Stop {
    /// For a run that has used more than it may, `why` says of what; it ended as in `stop`.
    pub(crate) fn exceeded(stop: Option<Self>, why: String) -> Self {
        let thrown = match stop {
            Some(Self::Failed(Handler, thrown)) if thrown.message.contains(&why) => thrown,
            _ => Thrown { message: why, ..Thrown::default() },
        };
        Self::Failed(DocumentsLimit, thrown)
    }
}

const UNHANDLED: &str = "a promise was rejected and nothing handled it";

/// An engine. The order of the fields is the order in which they must be dropped.
pub(crate) struct Engine {
    entry: Entry,
    routes: Routes,
    context: Context,
    rejections: Rejections,
    budget: Rc<Budget>,
    heap_limit: usize,
    /// What the application has bound to collections.
    pub(crate) services: Services,
    /// Its tasks and crons; their handlers come after those of the routes.
    tasks: Vec<Definition>,
    /// Where the functions that JavaScript calls find the request.
    pub(crate) slot: Slot,
    runtime: Runtime,
}

/// The functions that Rust calls, kept from the engine's garbage collection.
struct Entry {
    run: Kept,
    finish: Kept,
    freeze: Kept,
    handlers: Handlers,
    calls: Calls,
}

impl Engine {
    /// Loads the application in `sources`, reading its modules, and returns what was read, and what
    /// it has bound to collections, its tasks, and what is to be warned of.
    pub(crate) fn read(
        sources: Sources,
        heap_limit: usize,
    ) -> Result<(Sources, Services, Vec<Definition>, Vec<String>), LoadError> {
        let modules = Modules::new(sources);
        let engine = Self::load(&modules, heap_limit)?;
        let hidden = engine.hidden_routes(&modules.files());
        Ok((modules.sources().close(), engine.services.clone(), engine.tasks.clone(), hidden))
    }

    /// Which routes never answer GET, because a file of `public/` does.
    fn hidden_routes(&self, files: &Files) -> Vec<String> {
        let hidden = self.routes.fixed().filter_map(|(place, path)| {
            let (file, name) = (files.answering(&path)?, &self.names()[place]);
            Some(format!("{file} answers GET {path}, and so hides the route {name}"))
        });
        hidden.collect()
    }

    /// An engine with the application in `sources`, which is complete.
    /// `freezes`: its requests cannot change the language's own objects.
    pub(crate) fn start(
        sources: &Sources,
        heap_limit: usize,
        freezes: bool,
    ) -> Result<Self, LoadError> {
        let engine = Self::load(&Modules::new(sources.clone()), heap_limit)?;
        if freezes {
            engine.freeze_intrinsics()?;
        }
        Ok(engine)
    }

    fn load(modules: &Modules, heap_limit: usize) -> Result<Self, LoadError> {
        let refused = |error: rquickjs::Error| LoadError::Worker(error.to_string());
        let runtime = Runtime::new().map_err(refused)?;
        runtime.set_memory_limit(heap_limit);
        runtime.set_max_stack_size(SCRIPT_STACK_BYTES);
        runtime.set_loader(modules.clone(), modules.clone());
        let slot = Slot::default();
        let budget = slot.budget();
        budget.start(LOAD_CPU);
        let watched = budget.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || watched.is_spent())));
        let context = Context::full(&runtime).map_err(refused)?;
        let rejections = Rejections::track(&runtime);
        let loading = Loading { modules, budget: budget.clone() };
        let (entry, routes, services, tasks) = context.with(|ctx| loading.load(&ctx, &slot))?;
        let engine = Self {
            entry,
            routes,
            context,
            rejections,
            budget,
            heap_limit,
            services,
            tasks,
            slot,
            runtime,
        };
        engine.settle(&loading)?;
        Ok(engine)
    }

    /// Runs what loading left to do, so that no request pays for it. A promise that was rejected
    /// meanwhile and that nothing handled is an error, as it is in a request.
    fn settle(&self, loading: &Loading<'_>) -> Result<(), LoadError> {
        let ran = self.run_jobs();
        if self.budget.has_stopped() {
            return Err(loading.too_slow());
        }
        if let Err(Stop::Failed(Handler | HeapLimit, thrown)) = ran {
            return Err(loading.refused(&thrown.to_string()));
        }
        match self.rejections.take() {
            None => Ok(()),
            Some(thrown) => {
                let why = format!("{UNHANDLED}: {}", thrown.message);
                Err(match thrown.place {
                    Some(place) => LoadError::Module { place, why },
                    None => loading.refused(&why),
                })
            }
        }
    }

    /// Keeps what runs from changing the language's own objects.
    fn freeze_intrinsics(&self) -> Result<(), LoadError> {
        let refused = |error: rquickjs::Error| LoadError::Worker(error.to_string());
        self.context.with(|ctx| {
            let freeze = self.entry.freeze.clone().restore(&ctx).map_err(refused)?;
            freeze
                .call::<_, ()>(())
                .map_err(|error| LoadError::Worker(Thrown::catch(&ctx, &error).to_string()))
        })
    }

    /// Whether no job waits to be run. After a run there may be some if it failed: running them
    /// would go on with what has ended, and leaving them would give them to another request, so
    /// such an engine is to be thrown away.
    pub(crate) fn is_idle(&self) -> bool {
        !self.runtime.is_job_pending()
    }

    /// What a request is for.
    pub(crate) fn find(&self, method: &str, path: &str) -> Result<Found, DecodeError> {
        self.routes.find(method, path)
    }

    /// What the tasks of a name are run by, as `run` takes it.
    pub(crate) fn task(&self, name: &str) -> Option<Found> {
        let place = self.tasks.iter().position(|task| task.name == name)?;
        Some(Found::only(self.entry.handlers.last(self.tasks.len() - place)))
    }

    /// Starts the CPU time of a request that has `used` some of its `limit` before it waited.
    /// Gives the thread's CPU time.
    pub(crate) fn start_budget(&self, limit: Duration, used: Duration) -> Duration {
        self.budget.resume(limit, used)
    }

    /// CPU time that the request has used so far.
    pub(crate) fn cpu_used(&self) -> Duration {
        self.budget.used()
    }

    /// What the application's handlers are called, by place.
    pub(crate) fn names(&self) -> &[String] {
        self.entry.handlers.names()
    }

    /// What answers a request is called: `GET /notes/:id`.
    pub(crate) fn name(&self, found: &Found) -> &str {
        self.entry.handlers.name(&found.steps)
    }

    /// Runs what was found for the turn in the slot, to its end. `reply_bytes` bounds the body.
    pub(crate) fn run(&self, found: &Found, reply_bytes: usize) -> Result<Answer, Stop> {
        let result = self.run_to_end(found, reply_bytes);
        let rejected = self.rejections.take();
        // What is rejected in a run that waits is rejected again in the one that ends.
        let (answer, ending) = result?.ok_or(Stop::Waits)?;
        match (rejected, ending) {
            (Some(thrown), _) => Err(self.unhandled(thrown)),
            (None, AnswerEnd::Commit) => Ok(answer),
            (None, AnswerEnd::Refuse) => Err(Stop::Refused(answer)),
            (None, AnswerEnd::Recover(thrown)) => {
                Err(Stop::Recovered(Box::new(answer), Box::new(thrown)))
            }
        }
    }

    fn run_to_end(
        &self,
        found: &Found,
        reply_bytes: usize,
    ) -> Result<Option<(Answer, AnswerEnd)>, Stop> {
        let handlers = &self.entry.handlers;
        self.enter(|ctx| {
            let run = self.entry.run.clone().restore(ctx)?;
            let handler = handlers.of(ctx, &found.steps)?;
            match found.on_error {
                None => run.call::<_, ()>((handler,)),
                Some(place) => run.call::<_, ()>((handler, handlers.at(place))),
            }
        })?;
        self.run_jobs()?;
        let ended = self.enter(|ctx| {
            let finish = self.entry.finish.clone().restore(ctx)?;
            let parts = finish.call::<_, Option<Array>>(())?;
            parts.map(|parts| read_answer(ctx, &self.slot, &parts)).transpose()
        })?;
        let Some((answer, ending)) = ended else { return Ok(None) };
        // Making the reply may have called into the application once more.
        self.run_jobs()?;
        let answer = answer.checked(reply_bytes).map_err(|error| {
            let thrown = Thrown::text(&error.to_string());
            let is_large = matches!(error, ReplyError::Bytes { .. });
            Stop::Failed(if is_large { ReplyLimit } else { Handler }, thrown)
        })?;
        Ok(Some((answer, ending)))
    }

    /// Runs what promises have queued until nothing is left.
    fn run_jobs(&self) -> Result<(), Stop> {
        while self.runtime.is_job_pending() {
            if self.budget.is_spent() {
                return Err(self.cpu_limit(Thrown::default()));
            }
            let job = self.runtime.execute_pending_job();
            job.map_err(|thrown| {
                thrown.0.with(|ctx| self.stopped(&ctx, &rquickjs::Error::Exception))
            })?;
        }
        Ok(())
    }

    fn enter<T>(&self, f: impl FnOnce(&Ctx<'_>) -> rquickjs::Result<T>) -> Result<T, Stop> {
        self.context.with(|ctx| {
            let result = f(&ctx).map_err(|error| self.stopped(&ctx, &error));
            // Code that was interrupted has not ended, whatever it may have caught.
            match result {
                Ok(_) if self.budget.has_stopped() => Err(self.cpu_limit(Thrown::default())),
                result => result,
            }
        })
    }

    fn stopped(&self, ctx: &Ctx<'_>, error: &rquickjs::Error) -> Stop {
        self.stop(Thrown::catch(ctx, error))
    }

    fn stop(&self, thrown: Thrown) -> Stop {
        if self.budget.has_stopped() {
            return self.cpu_limit(thrown);
        }
        if thrown.out_of_memory {
            let limit = self.heap_limit;
            let message =
                format!("{}; a worker's heap is limited to {limit} bytes", thrown.message);
            return Stop::Failed(HeapLimit, Thrown { message, ..thrown });
        }
        if thrown.is_out_of_stack() {
            return Stop::Failed(StackLimit, thrown);
        }
        Stop::Failed(Handler, thrown)
    }

    /// A promise was rejected with this, and nothing handled it.
    fn unhandled(&self, thrown: Thrown) -> Stop {
        match self.stop(thrown) {
            Stop::Failed(Handler, thrown) => {
                let message = format!("{UNHANDLED}: {}", thrown.message);
                Stop::Failed(Handler, Thrown { message, ..thrown })
            }
            limit => limit,
        }
    }

    /// `thrown` tells where it was stopped.
    fn cpu_limit(&self, thrown: Thrown) -> Stop {
        let limit = self.budget.limit_ms();
        let message = format!("the request used its limit of {limit} ms of CPU time");
        Stop::Failed(CpuLimit, Thrown { message, ..thrown })
    }
}

/// What becomes of the transaction behind an answer.
enum AnswerEnd {
    Commit,
    Refuse,
    Recover(Thrown),
}

/// What `finish` in `turn.js` returns.
fn read_answer<'js>(
    ctx: &Ctx<'js>,
    slot: &Slot,
    parts: &Array<'js>,
) -> rquickjs::Result<(Answer, AnswerEnd)> {
    let mut headers = Vec::new();
    if let Some(media_type) = parts.get::<Option<String>>(1)? {
        headers.push(("content-type".to_owned(), media_type));
    }
    let mut fields = parts.get::<Option<Vec<String>>>(3)?.unwrap_or_default().into_iter();
    while let (Some(name), Some(value)) = (fields.next(), fields.next()) {
        headers.push((name, value));
    }
    let (body, blob) = read_body(slot, parts.get(2)?)?;
    let answer = Answer { status: parts.get(0)?, headers, body, blob };
    let ending = match (parts.get::<bool>(4)?, parts.get::<Option<Array>>(5)?) {
        (false, _) => AnswerEnd::Commit,
        (true, None) => AnswerEnd::Refuse,
        (true, Some(thrown)) => AnswerEnd::Recover(Thrown::of(ctx, &thrown.get(0)?)),
    };
    Ok((answer, ending))
}

/// A text, a list with bytes in base64, or the number of content that the run has by reference.
fn read_body(slot: &Slot, body: Value<'_>) -> rquickjs::Result<(Bytes, Option<PinnedBlob>)> {
    if body.is_string() {
        return Ok((body.get::<String>()?.into(), None));
    }
    let wrong = |why: &'static str| rquickjs::Error::new_from_js_message("body", "bytes", why);
    if body.is_number() {
        let number = body.get::<usize>()?;
        let stored = slot.with(|turn| turn.stored_at(number));
        return match stored.map_err(|_| wrong("it is of another request"))? {
            Content::Inline(bytes) => Ok((bytes, None)),
            Content::Blob(blob) => Ok((Bytes::new(), Some(blob))),
        };
    }
    let text: String = Array::from_value(body)?.get(0)?;
    let bytes = base64::decode(&text).ok_or_else(|| wrong("it is not base64"))?;
    Ok((bytes.into(), None))
}

/// The application being loaded.
struct Loading<'a> {
    modules: &'a Modules,
    budget: Rc<Budget>,
}

/// What loading gives.
type Loaded = (Entry, Routes, Services, Vec<Definition>);

impl Loading<'_> {
    fn load(&self, ctx: &Ctx<'_>, slot: &Slot) -> Result<Loaded, LoadError> {
        let broken = |error: rquickjs::Error| {
            LoadError::Worker(format!("Sarsen's modules: {}", Thrown::catch(ctx, &error)))
        };
        let own = OwnModules::load(ctx, slot, self.modules.files()).map_err(broken)?;
        let main = self.main(ctx)?;
        let routes = own.routes(&main).map_err(broken)?;
        let Some(routes) = routes else {
            return Err(self.refused(
                "the default export is not an App; end the module with `export default app;`, \
                 where app is `new App()` from \"sarsen\"",
            ));
        };
        if routes.len() > ROUTES_MAX {
            return Err(self.refused(&format!("an application has at most {ROUTES_MAX} routes")));
        }
        let (mut handlers, routes) = Handlers::read(ctx, &own.0, routes).map_err(broken)?;
        let lists = own.services(&main).map_err(broken)?;
        let services = Services::of(&lists).map_err(|why| self.refused(&why))?;
        let list = own.tasks(&main).map_err(broken)?;
        let tasks = tasks::read(ctx, &list).map_err(broken)?.map_err(|why| self.refused(&why))?;
        for (task, handler) in tasks.definitions.iter().zip(tasks.handlers) {
            handlers.add(format!("task {}", task.name), handler);
        }
        let [run, finish, freeze] = own.entry(ctx).map_err(broken)?;
        let calls = Calls::of(ctx, &own.0).map_err(broken)?;
        let entry = Entry { run, finish, freeze, handlers, calls };
        Ok((entry, routes, services, tasks.definitions))
    }

    /// Loads the application's modules.
    fn main<'js>(&self, ctx: &Ctx<'js>) -> Result<Module<'js, Evaluated>, LoadError> {
        let name = self.modules.main();
        let text = self.modules.main_text()?;
        let evaluate = || {
            let (module, promise) =
                Module::declare(ctx.clone(), name.as_str(), text.as_bytes())?.eval()?;
            promise.finish::<()>()?;
            Ok(module)
        };
        evaluate().map_err(|error| self.failed(ctx, &error))
    }

    fn failed(&self, ctx: &Ctx<'_>, error: &rquickjs::Error) -> LoadError {
        let thrown = Thrown::catch(ctx, error);
        if self.budget.has_stopped() {
            return self.too_slow();
        }
        if matches!(error, rquickjs::Error::WouldBlock) {
            return self.refused("it awaits a promise that never settles");
        }
        if let Some(missing) = self.modules.missing(&thrown.message) {
            return missing;
        }
        match (thrown.place, self.modules.take_failed()) {
            (Some(place), _) => LoadError::Module { place, why: thrown.message },
            (None, Some(import)) => import,
            (None, None) => self.refused(&thrown.message),
        }
    }

    fn too_slow(&self) -> LoadError {
        let limit = self.budget.limit_ms();
        self.refused(&format!("it did not load within {limit} ms of CPU time"))
    }

    fn refused(&self, why: &str) -> LoadError {
        LoadError::Module { place: self.modules.main(), why: why.to_owned() }
    }
}

/// What Sarsen's own modules export to the engine.
struct OwnModules<'js>(Object<'js>);

impl<'js> OwnModules<'js> {
    fn load(ctx: &Ctx<'js>, slot: &Slot, files: Arc<Files>) -> rquickjs::Result<Self> {
        let (module, promise) = Module::declare(ctx.clone(), OWN.0, OWN.1)?.eval()?;
        promise.finish::<()>()?;
        let exports = module.namespace()?;
        let bind: Function = exports.get("bind")?;
        bind.call::<_, ()>((natives(ctx, slot, files)?,))?;
        Ok(Self(exports))
    }

    fn entry(&self, ctx: &Ctx<'js>) -> rquickjs::Result<[Kept; 3]> {
        let kept = |name| -> rquickjs::Result<Kept> {
            Ok(Persistent::save(ctx, self.0.get::<_, Function>(name)?))
        };
        Ok([kept("run")?, kept("finish")?, kept("freezeIntrinsics")?])
    }

    /// The routes of the default export of `main`; `None` if it is not an App.
    fn routes(&self, main: &Module<'js, Evaluated>) -> rquickjs::Result<Option<Array<'js>>> {
        let namespace = main.namespace()?;
        if !namespace.contains_key("default")? {
            return Ok(None);
        }
        let take: Function = self.0.get("take")?;
        take.call((namespace.get::<_, Value>("default")?,))
    }

    /// The services of the default export of `main`, an App, which from now on are asked.
    fn services(&self, main: &Module<'js, Evaluated>) -> rquickjs::Result<Vec<Vec<String>>> {
        let take: Function = self.0.get("takeServices")?;
        take.call((main.namespace()?.get::<_, Value>("default")?,))
    }

    /// Its tasks and crons, which from now on can be started.
    fn tasks(&self, main: &Module<'js, Evaluated>) -> rquickjs::Result<Array<'js>> {
        let take: Function = self.0.get("takeTasks")?;
        take.call((main.namespace()?.get::<_, Value>("default")?,))
    }
}
