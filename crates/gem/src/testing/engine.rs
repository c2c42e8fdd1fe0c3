//! The engine of one file of tests. What limits a test is time on the wall: it waits for a server.

use super::modules::OWN;
use super::natives::{OnStage, add};
use super::{Stage, TestFailure};
use crate::errors::LoadError;
use crate::files::Files;
use crate::limits::{LOAD_CPU, SCRIPT_STACK_BYTES, TEST_HEAP_BYTES};
use crate::modules::Modules;
use crate::natives::{Slot, natives};
use crate::rejections::Rejections;
use crate::sources::Sources;
use crate::thrown::Thrown;
use rquickjs::loader::Loader;
use rquickjs::{Context, Ctx, Function, Module, Object, Persistent, Runtime};
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A file of tests, loaded. It stays on the thread that made it, whose stack is to have
/// [`crate::limits::THREAD_STACK_BYTES`]. The order of the fields is that of their end.
pub struct TestFile {
    titles: Vec<String>,
    start: Persistent<Function<'static>>,
    outcome: Persistent<Function<'static>>,
    context: Context,
    rejections: Rejections,
    stage: OnStage,
    deadline: Rc<Deadline>,
    runtime: Runtime,
}

/// When what runs is stopped.
struct Deadline {
    at: Cell<Instant>,
    /// Whether something was.
    has_stopped: Cell<bool>,
}

impl Deadline {
    fn set(&self, limit: Duration) {
        self.at.set(Instant::now() + limit);
        self.has_stopped.set(false);
    }

    fn is_over(&self) -> bool {
        let is_over = self.has_stopped.get() || Instant::now() >= self.at.get();
        self.has_stopped.set(is_over);
        is_over
    }
}

impl TestFile {
    /// Loads the file at `path` below the application's `folder`.
    pub fn load(folder: &Path, path: &str) -> Result<Self, LoadError> {
        let refused = |error: rquickjs::Error| LoadError::Worker(error.to_string());
        let mut sources = Sources::open(folder)?;
        sources.read_files()?;
        let modules = Modules::for_tests(sources);
        let runtime = Runtime::new().map_err(refused)?;
        runtime.set_memory_limit(TEST_HEAP_BYTES);
        runtime.set_max_stack_size(SCRIPT_STACK_BYTES);
        runtime.set_loader(modules.clone(), modules.clone());
        let deadline = Rc::new(Deadline { at: Instant::now().into(), has_stopped: false.into() });
        deadline.set(LOAD_CPU);
        let watched = Rc::clone(&deadline);
        runtime.set_interrupt_handler(Some(Box::new(move || watched.is_over())));
        let context = Context::full(&runtime).map_err(refused)?;
        let rejections = Rejections::track(&runtime);
        let stage = OnStage::default();
        let loaded = context.with(|ctx| load(&ctx, (&modules, path), &stage));
        let loaded = loaded.map_err(|error| match deadline.has_stopped.get() {
            true => LoadError::Module {
                place: modules.sources().name(path),
                why: format!("it did not load within {LOAD_CPU:?}"),
            },
            false => error,
        })?;
        let (titles, start, outcome) = loaded;
        Ok(Self { titles, start, outcome, context, rejections, stage, deadline, runtime })
    }

    /// The titles of its tests, in their order.
    pub fn titles(&self) -> &[String] {
        &self.titles
    }

    /// Runs the test with this number, for at most `limit`. A file whose test was stopped there
    /// must be loaded again, and is given back only if it need not.
    pub fn run(
        self,
        number: usize,
        stage: Stage,
        limit: Duration,
    ) -> (Result<(), TestFailure>, Option<Self>) {
        self.deadline.set(limit);
        *self.stage.borrow_mut() = Some(stage);
        let mut result = self.run_to_end(number);
        self.stage.borrow_mut().take();
        if let (Ok(()), Some(thrown)) = (&result, self.rejections.take()) {
            let why = format!("a promise was rejected and nothing handled it: {}", thrown.message);
            result = Err(TestFailure { message: why, ..thrown.into() });
        }
        if self.deadline.has_stopped.get() {
            let why = format!("it took longer than {limit:?} and was stopped");
            return (Err(TestFailure::without_place(why)), None);
        }
        let is_idle = !self.runtime.is_job_pending();
        (result, is_idle.then_some(self))
    }

    fn run_to_end(&self, number: usize) -> Result<(), TestFailure> {
        self.enter(|ctx| self.start.clone().restore(ctx)?.call::<_, ()>((number,)))?;
        while self.runtime.is_job_pending() && !self.deadline.is_over() {
            self.runtime.execute_pending_job().map_err(|thrown| {
                thrown.0.with(|ctx| failure(&ctx, &rquickjs::Error::Exception))
            })?;
        }
        self.enter(|ctx| self.outcome.clone().restore(ctx)?.call::<_, ()>(()))
    }

    fn enter(&self, f: impl FnOnce(&Ctx<'_>) -> rquickjs::Result<()>) -> Result<(), TestFailure> {
        self.context.with(|ctx| f(&ctx).map_err(|error| failure(&ctx, &error)))
    }
}

/// What a test threw. An unmet expectation says what was expected.
fn failure(ctx: &Ctx<'_>, error: &rquickjs::Error) -> TestFailure {
    if !matches!(error, rquickjs::Error::Exception) {
        return Thrown::catch(ctx, error).into();
    }
    let thrown = ctx.catch();
    let text = |name| thrown.as_object()?.get::<_, Option<String>>(name).ok().flatten();
    let difference = text("expected").zip(text("actual"));
    TestFailure { difference, ..Thrown::of(ctx, &thrown).into() }
}

type Loaded = (Vec<String>, Persistent<Function<'static>>, Persistent<Function<'static>>);

fn load(
    ctx: &Ctx<'_>,
    (modules, path): (&Modules, &str),
    stage: &OnStage,
) -> Result<Loaded, LoadError> {
    let broken = |error: rquickjs::Error| {
        LoadError::Worker(format!("Sarsen's modules: {}", Thrown::catch(ctx, &error)))
    };
    let own = own(ctx, stage, modules.files()).map_err(broken)?;
    let function = |name| own.get::<_, Function>(name).map_err(broken);
    let name = modules.sources().name(path);
    evaluate(ctx, (modules, &name)).map_err(|error| {
        let thrown = Thrown::catch(ctx, &error);
        match (thrown.place, modules.take_failed()) {
            (Some(place), _) => LoadError::Module { place, why: thrown.message },
            (None, Some(import)) => import,
            (None, None) => LoadError::Module { place: name.clone(), why: thrown.message },
        }
    })?;
    let titles = function("titles")?.call(()).map_err(broken)?;
    let save = |name| Ok(Persistent::save(ctx, function(name)?));
    Ok((titles, save("start")?, save("outcome")?))
}

/// Evaluates the modules of Sarsen's own, and gives what the first of them exports.
fn own<'js>(ctx: &Ctx<'js>, stage: &OnStage, files: Arc<Files>) -> rquickjs::Result<Object<'js>> {
    let (module, promise) = Module::declare(ctx.clone(), OWN.0, OWN.1)?.eval()?;
    promise.finish::<()>()?;
    let exports = module.namespace()?;
    let slot = Slot::default();
    let natives = natives(ctx, &slot, files)?;
    add(&natives, &slot, stage)?;
    exports.get::<_, Function>("bind")?.call::<_, ()>((natives,))?;
    Ok(exports)
}

/// Loads the file as the engine loads what is imported, so that it may be TypeScript.
fn evaluate(ctx: &Ctx<'_>, (modules, name): (&Modules, &str)) -> rquickjs::Result<()> {
    let (_, promise) = modules.clone().load(ctx, name, None)?.eval()?;
    promise.finish::<()>()
}
