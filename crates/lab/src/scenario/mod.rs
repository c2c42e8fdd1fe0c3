//! Scenario files: TOML in, a plan out, or every mistake that is in it with its place. The format
//! is described in `docs/scenarios.md`. Nothing is connected to here, and no file but those that
//! the scenario names is read.

mod access_log;
mod audit;
mod channel;
mod data;
mod entries;
mod files;
mod gates;
mod hooks;
mod http;
mod load;
mod logged;
mod memcached;
mod mistakes;
mod mix;
mod once;
mod operations;
mod pacing;
mod reach;
mod replay;
mod replies;
mod section;
mod servers;
mod shipped;
mod summary;
mod template;
mod text;
mod transport;

pub(crate) use access_log::AccessLog;
pub use hooks::Hook;
pub use load::SPEEDS;
pub use mistakes::{Mistake, Mistakes};
pub use shipped::{Shipped, shipped};

use crate::limits::{
    DURATION_MAX, REQUEST_TIMEOUT_MAX, SCENARIO_BYTES_MAX, VARIABLES_MAX, ZIPF_EXPONENT_MAX,
    ZIPF_KEYS_MAX,
};
use crate::plan::{
    Background, Entries, Gate, Items, Keys, Mix, Observe, Pacing, Plan, Transport, Trust, Validity,
    Variable,
};
use files::Files;
use mistakes::{Book, hint};
use operations::{Around, Names};
use section::Section;
use servers::Servers;
use std::path::{Path, PathBuf};
use std::time::Duration;
use template::Scope;
use toml::de::DeTable;

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is, in a line.
    pub about: String,
    /// The run.
    pub plan: Plan,
    /// The servers' names, as the plan has them.
    pub servers: Vec<String>,
    /// What comes before the run, in its order.
    pub setup: Vec<Hook>,
    /// What comes after it.
    pub teardown: Vec<Hook>,
    /// The files that it names.
    pub files: Vec<PathBuf>,
    /// What is to be known of them before the run.
    pub notes: Vec<String>,
}

/// What the command line says instead of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// URLs by the server's name; without a name it is the first one's.
    pub servers: Vec<(Option<String>, String)>,
    /// Values of variables.
    pub variables: Vec<(String, String)>,
    /// How many instances of each cache are used, from the first on.
    pub instances: Option<usize>,
    /// Users of the closed model; of stages the largest, the others in proportion.
    pub users: Option<usize>,
    /// Arrivals a second of the open model; of stages the largest, the others in proportion.
    pub rate: Option<f64>,
    /// Most operations at the same time in the open model.
    pub at_once: Option<usize>,
    /// How many times as fast a recording is replayed.
    pub speed: Option<f64>,
    /// The ramp-up.
    pub warm_up: Option<Duration>,
    /// The measured interval; stages are made longer or shorter.
    pub duration: Option<Duration>,
    /// What fixes everything that is drawn.
    pub seed: Option<u64>,
    /// Threads of the generator.
    pub threads: Option<usize>,
    /// Longest time of a request.
    pub timeout: Option<Duration>,
    /// Whose certificates are trusted.
    pub trust: Trust,
    /// A process whose CPU time is read.
    pub server_pid: Option<u32>,
    /// What is read beside the load.
    pub observe: Observe,
}

/// Where a scenario comes from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// As mistakes name it.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The folder that the files it names are in; none: it may name none.
    pub folder: Option<&'a Path>,
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(source: Source<'_>, overrides: &Overrides) -> Result<Self, Mistakes> {
        let mut book = Book::new(source.text);
        let mistakes = |all| Mistakes { file: source.name.to_owned(), all };
        if source.text.len() > SCENARIO_BYTES_MAX {
            book.outside(format!("{}: it has more than {SCENARIO_BYTES_MAX} bytes", source.name));
            return Err(mistakes(book.close()));
        }
        let (table, errors) = DeTable::parse_recoverable(source.text);
        for error in errors {
            let what = error.message().replace('\n', "; ");
            book.unreadable(&error.span().unwrap_or(0..0), what);
        }
        let table = table.get_ref();
        define(&mut book, table, overrides);
        let files = Files::new(source.folder);
        let reader = Reader { book: &book, files: &files, overrides };
        let root = Section::new(&book, table, 0..0, String::new());
        let scenario = reader.read(&root, source.name);
        root.close();
        let found = book.close();
        match scenario {
            Some(scenario) if found.is_empty() => Ok(Self { files: files.into_read(), ..scenario }),
            _ => Err(mistakes(found)),
        }
    }
}

/// The constants of `[variables]` and of the command line, which texts may name.
fn define(book: &mut Book<'_>, table: &DeTable<'_>, overrides: &Overrides) {
    let mut defined = Vec::new();
    {
        let section = Section::new(book, table, 0..0, String::new());
        let variables = section.section("variables").map_or_else(Vec::new, |s| s.entries());
        if variables.len() > VARIABLES_MAX {
            book.outside(format!("there are at most {VARIABLES_MAX} variables"));
        }
        for entry in variables {
            if !text::is_name(&entry.key) {
                let what = format!("expected {}; got \"{}\"", text::NAME, entry.key);
                book.wrong(&entry.span, what);
            } else if template::is_taken(&entry.key) {
                let what =
                    format!("`{}` means something in templates; name it otherwise", entry.key);
                book.wrong(&entry.span, what);
            } else if let Some(value) = entry.value.constant() {
                defined.push((entry.key, value));
            }
        }
        for (name, _) in &overrides.variables {
            let names = defined.iter().map(|(known, _)| known.as_str());
            if !names.clone().any(|known| known == name) {
                let hint = hint(name, names);
                book.outside(format!("--set: [variables] has no `{name}`{hint}"));
            }
        }
    }
    let overrides = overrides.variables.iter().cloned();
    for (name, value) in defined.into_iter().chain(overrides) {
        book.define(&name, value);
    }
}

struct Reader<'a> {
    book: &'a Book<'a>,
    files: &'a Files<'a>,
    overrides: &'a Overrides,
}

impl<'a> Reader<'a> {
    fn read(&self, root: &Section<'a>, file: &str) -> Option<Scenario> {
        let name = root.text("name").unwrap_or_else(|| stem(file));
        let about = root.text("about").unwrap_or_default();
        // Its entries have been read already.
        root.get("variables");
        let servers = self.servers(root);
        let operations = root.need("operation", "at least one section [operation.NAME]");
        let (extracted, urls) = operations.as_ref().map_or_else(Default::default, data::extracted);
        let operations = operations.and_then(|value| value.section());
        // Without operations it is not known what these refer to, but they are known keys.
        root.which(&["setup", "teardown", "background", "mix", "gates", "audit"]);
        let names = operations.as_ref().map(operations::names);
        let transport = self.transport(root);
        let mut loading = self.loading(root, transport.protocol.users_per_connection());
        let pacing = loading.as_ref().map_or(Pacing::None, |loading| loading.pacing);
        let mut data = data::read(root.section("data").as_ref(), self.files);
        let log = loading.as_mut().and_then(|loading| loading.log.take());
        let notes = log.iter().map(AccessLog::note).collect();
        let logged = log
            .zip(data.as_mut())
            .and_then(|(log, data)| logged::Logged::add(log, data, (self.book, &root.span)));
        let rows = data.clone().unwrap_or_default();
        let scope = Scope::new(self.book, self.files, (&extracted, &urls), &rows);
        let variables = self.variables(&extracted, &scope);
        let (channels, once) = (channel::Uses::default(), once::Uses::default());
        let around = Around {
            servers: &servers,
            scope: &scope,
            channels: &channels,
            once: &once,
            names: names.as_ref(),
            logged: logged.as_ref(),
            has_load: loading.is_some(),
        };
        let operations = operations.map(|section| operations::read(&section, &around, pacing));
        let performed = operations.as_ref().and_then(|(operations, _)| operations.as_deref());
        let audit = names.as_ref().zip(performed).map(|known| audit::whole(root, known, &around));
        let parts = names.as_ref().map(|names| self.parts(root, names, &once));
        let frame = self.frame(root);
        let (parts, loading, (operations, trails)) = (parts?, loading?, operations?);
        let mix = parts.mix?;
        reach::check(self.book, &trails, &variables, (&loading.load, &mix));
        let plan = Plan {
            name,
            load: loading.load,
            phases: loading.phases,
            threads: loading.threads,
            repetitions: loading.repetitions,
            origins: servers.origins()?,
            operations: operations?,
            mix,
            transport,
            variables,
            data: data?,
            background: parts.background,
            gates: parts.gates,
            audit: audit.unwrap_or_default(),
            ..frame
        };
        self.check(&plan, file);
        Some(Scenario {
            about,
            servers: servers.names(),
            setup: hooks::all(&parts.setup, 0, &plan),
            teardown: hooks::all(&parts.teardown, parts.setup.len(), &plan),
            files: Vec::new(),
            notes,
            plan,
        })
    }

    /// What no section shows alone.
    fn check(&self, plan: &Plan, file: &str) {
        if self.book.is_empty()
            && let Err(error) = plan.check()
        {
            self.book.outside(format!("{file}: {error}"));
        }
    }

    /// What users keep of replies, and its first values.
    fn variables(&self, names: &[String], scope: &Scope<'_>) -> Vec<Variable> {
        let variable = |name: &String| {
            let initial = self.book.constants().get(name).map(|text| scope.of_text(text));
            if let Some(Err(faults)) = &initial {
                faults.iter().for_each(|fault| self.book.outside(format!("`{name}`: {fault}")));
            }
            Variable { name: name.clone(), initial: initial.and_then(Result::ok) }
        };
        let variables = names.iter().map(variable).collect();
        // A first value is no step.
        scope.take_trail();
        variables
    }

    fn servers(&self, root: &Section<'a>) -> Servers {
        let section = root.need("servers", "a section [servers] with NAME = \"URL\"");
        let section = section.and_then(|value| value.section());
        Servers::read(section.as_ref(), self.overrides)
    }

    fn transport(&self, root: &Section<'a>) -> Transport {
        let section = root.section("transport");
        let transport = transport::read(section.as_ref(), self.files, self.overrides);
        if let Some(section) = section {
            section.close();
        }
        transport
    }

    fn loading(&self, root: &Section<'a>, on_each: usize) -> Option<load::Loading> {
        let section = root.need("load", "a section [load] with users = N or rate = N")?;
        let section = section.section()?;
        let loading = load::read(&section, self.files, self.overrides, on_each);
        section.close();
        loading
    }

    /// What refers to operations.
    fn parts(&self, root: &Section<'a>, names: &Names, once: &once::Uses) -> Parts {
        let setup = hooks::read(root, "setup", names);
        let teardown = hooks::read(root, "teardown", names);
        let background = self.background(root, names);
        let beside: Vec<usize> = hooks::operations(&setup)
            .chain(hooks::operations(&teardown))
            .chain(background.iter().map(|background| background.operation))
            .chain(once.operations())
            .collect();
        let mixed: Vec<usize> = (0..names.len()).filter(|i| !beside.contains(i)).collect();
        let mix = root.section("mix");
        let no_errors = || vec![Gate::Errors { at_most: 0.0 }];
        let gates = root.section("gates").map_or_else(no_errors, |section| {
            let gates = gates::read(&section, names);
            section.close();
            gates
        });
        if mixed.is_empty() && mix.is_none() && names.len() > 0 {
            let what = "every operation is in [background], [[setup]] or [[teardown]], or is done \
                        once; the run itself has none";
            self.book.missing(&root.span, what);
        }
        let parts = Parts {
            mix: mix::read(mix.as_ref(), names, &mixed),
            background,
            gates,
            setup,
            teardown,
        };
        if let Some(mix) = mix {
            mix.close();
        }
        parts
    }

    /// `[background]`: `NAME = { rate = 2 }` or `{ every = "5s" }`.
    fn background(&self, root: &Section<'a>, names: &Names) -> Vec<Background> {
        let Some(section) = root.section("background") else { return Vec::new() };
        let read = section.entries().into_iter().filter_map(|entry| {
            let operation = names.find(&entry.key);
            if let Err(why) = &operation {
                entry.wrong_key(why);
            }
            let table = entry.value.section()?;
            let rate = table.number("rate", 0.0001..=10_000.0);
            let every = table.duration("every", Duration::from_micros(100)..=DURATION_MAX);
            if table.which(&["rate", "every"]).len() != 1 {
                entry.value.expected("either { rate = 2 } or { every = \"5s\" }");
            }
            table.close();
            let rate = rate.or(every.map(|every| 1.0 / every.as_secs_f64()))?;
            Some(Background { operation: operation.ok()?, rate })
        });
        read.collect()
    }

    /// What is of the plan as a whole.
    fn frame(&self, root: &Section<'a>) -> Plan {
        let least = Duration::from_millis(1);
        // Of the one-liner's plan, only what nobody reads is left in the end.
        let frame = Plan::hit("http://localhost/".parse().expect("it is a URL"));
        let keys = root.get("keys").and_then(|value| keys(&value)).unwrap_or(frame.keys);
        let seed = root.whole("seed", 0..=u64::MAX).unwrap_or(frame.seed);
        let timeout = root.duration("timeout", least..=REQUEST_TIMEOUT_MAX);
        let drain = root.duration("drain", Duration::ZERO..=REQUEST_TIMEOUT_MAX);
        let new_session = root.truth("new_session").unwrap_or(false);
        let validity = root.section("validity").map_or_else(Validity::default, |section| {
            let validity = gates::validity(&section);
            section.close();
            validity
        });
        let items = root.section("items").map_or_else(Items::default, |section| {
            let items = memcached::items(&section);
            section.close();
            items
        });
        let entries = root.section("entries").map_or_else(Entries::default, |section| {
            let entries = entries::read(&section, self.files);
            section.close();
            entries
        });
        Plan {
            keys,
            items,
            entries,
            seed: self.overrides.seed.unwrap_or(seed),
            new_session,
            request_timeout: self.overrides.timeout.or(timeout).unwrap_or(frame.request_timeout),
            drain: drain.unwrap_or(frame.drain),
            validity,
            server_pid: self.overrides.server_pid,
            observe: self.overrides.observe.clone(),
            ..frame
        }
    }
}

/// A number of keys, or `{ count = N, zipf = EXPONENT }`.
fn keys(value: &section::Value<'_>) -> Option<Keys> {
    if !value.is_table() {
        return value.whole(1..=u64::MAX).map(|count| Keys { count, zipf: 0.0 });
    }
    let section = value.section()?;
    let count = section.need("count", "how many keys there are");
    let count = count.and_then(|count| count.whole(1..=ZIPF_KEYS_MAX));
    let zipf = section.number("zipf", 0.0..=ZIPF_EXPONENT_MAX).unwrap_or(0.0);
    section.close();
    Some(Keys { count: count?, zipf })
}

/// What refers to operations.
struct Parts {
    mix: Option<Mix>,
    background: Vec<Background>,
    gates: Vec<Gate>,
    setup: Vec<hooks::Asked>,
    teardown: Vec<hooks::Asked>,
}

/// A file's name without its folder and ending.
fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| file.to_owned())
}
