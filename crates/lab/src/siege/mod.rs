//! Siege's way of loading a server: users who walk through a list of URLs, in its order or at
//! random, and pause between them. It makes a plan of that; `urls` reads siege's files, `lines`
//! reports as siege does, `get` shows a single request.

mod get;
mod lines;
pub mod urls;

pub use get::show;
pub use lines::{json, lines};

use crate::plan::{
    Body, Distribution, HttpStep, Load, Mix, Operation, Pacing, Phases, Plan, Resources, Stage,
    Step, Template, Turn,
};
use crate::target::Origin;
use std::time::Duration;
use urls::{Content, Entry};

/// What siege was asked for.
#[derive(Clone, Debug)]
pub struct Siege {
    /// What is requested, with the bodies.
    pub requests: Vec<(Entry, Vec<u8>)>,
    /// `-c`: users at the same time.
    pub users: usize,
    /// `-r`: how many requests each user makes; none: until the time is over.
    pub repetitions: Option<u64>,
    /// `-t`: for how long.
    pub time: Duration,
    /// `-d`: a pause after each request, from 0 to this, each as likely as the other.
    pub delay: Duration,
    /// `-i`: at random instead of one after the other.
    pub internet: bool,
    /// Whether each user begins at a place of its own in the list.
    pub staggered: bool,
    /// Fields of every request.
    pub headers: Vec<(String, String)>,
    /// The `Content-Type` of bodies; none: a form's, or that of the file's name.
    pub content_type: Option<String>,
    /// Whether redirects are followed.
    pub follow: bool,
    /// Whether what pages name is fetched, too.
    pub parser: bool,
    /// Whether connections are kept; siege's default is that they are not.
    pub keep_alive: bool,
    /// Threads that make the load.
    pub threads: usize,
    /// Fixes what is drawn.
    pub seed: u64,
    /// Longest time of a request.
    pub timeout: Duration,
}

/// Most redirects that are followed, one after the other, as siege has it.
const REDIRECTS: u32 = 20;

impl Siege {
    /// The plan of it. Must have at least one request.
    pub fn plan(&self) -> Plan {
        let (first, _) = self.requests.first().expect("there is a URL, or nothing to besiege");
        let mut plan = Plan::hit(first.target.clone());
        if self.requests.len() > 1 {
            plan.name = format!("{} URLs", self.requests.len());
        }
        let mut origins: Vec<Origin> = Vec::new();
        let requests = self.requests.iter().map(|(entry, body)| {
            let origin = entry.target.origin();
            let known = origins.iter().position(|known| *known == origin);
            let number = known.unwrap_or_else(|| {
                origins.push(origin);
                origins.len() - 1
            });
            self.request(number, entry, body)
        });
        let requests: Vec<HttpStep> = requests.collect();
        let turn = match (self.internet, self.staggered) {
            (true, _) => Turn::Any,
            (false, true) => Turn::FromOwn,
            (false, false) => Turn::FromFirst,
        };
        let pacing = match self.delay.is_zero() {
            true => Pacing::None,
            false => Pacing::Think(Distribution::Uniform(Duration::ZERO, self.delay)),
        };
        let operation = Operation {
            name: "siege".to_owned(),
            steps: vec![Step::OneOf(requests, turn)],
            pacing,
        };
        let mut transport = plan.transport.clone();
        transport.keep_alive = self.keep_alive;
        Plan {
            origins,
            operations: vec![operation],
            mix: Mix::Flat(vec![1.0]),
            load: Load::Closed { users: vec![Stage::flat(self.users as f64, self.time)] },
            phases: Phases {
                ramp_up: Duration::ZERO,
                measured: self.time,
                ramp_down: Duration::ZERO,
                count: None,
            },
            repetitions: self.repetitions,
            threads: self.threads,
            seed: self.seed,
            request_timeout: self.timeout,
            transport,
            ..plan
        }
    }

    /// The `Content-Type` of an entry's body.
    fn media_type_of(&self, entry: &Entry) -> &str {
        let given = self.content_type.as_deref();
        given.unwrap_or_else(|| media_type(&entry.body))
    }

    fn request(&self, origin: usize, entry: &Entry, body: &[u8]) -> HttpStep {
        let mut step = HttpStep::new(&entry.method, Template::fixed(entry.target.path()));
        step.origin = origin;
        let fields = self.headers.iter();
        step.headers =
            fields.map(|(name, value)| (name.clone(), Template::fixed(value.as_bytes()))).collect();
        if !body.is_empty() {
            step.body = Body::Template(Template::fixed(body));
            let is_typed = self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case("content-type"));
            if !is_typed {
                let media_type = Template::fixed(self.media_type_of(entry));
                step.headers.push(("Content-Type".to_owned(), media_type));
            }
        }
        step.redirects = if self.follow { REDIRECTS } else { 0 };
        step.resources = self.parser.then_some(Resources { connections: 1, cold: 1.0 });
        step
    }
}

/// By the end of a file's name; of all else that of a form, as siege has it.
fn media_type(body: &Content) -> &'static str {
    const FORM: &str = "application/x-www-form-urlencoded";
    let Content::File(path) = body else { return FORM };
    match path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "csv" => "text/csv",
        "gif" => "image/gif",
        "htm" | "html" => "text/html",
        "jpeg" | "jpg" => "image/jpeg",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "txt" => "text/plain",
        "xml" => "text/xml",
        _ => FORM,
    }
}
