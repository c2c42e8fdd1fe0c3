//! What a user does: operations, each of some steps that belong together and are timed as one.

use super::channel::ChannelStep;
use super::json_path::JsonPath;
use super::pacing::{Distribution, Pacing};
use super::selector::Selector;
use super::template::Template;
use crate::random::Random;
use regex::bytes::Regex;

/// A unit of load, with a name in the report.
#[derive(Clone, Debug)]
pub struct Operation {
    /// In reports.
    pub name: String,
    /// One after the other. The operation lasts from the first byte sent to the last received; a
    /// step that fails ends it.
    pub steps: Vec<Step>,
    /// The user's pause after it, or until the next.
    pub pacing: Pacing,
}

/// A part of an operation.
#[derive(Clone, Debug)]
pub enum Step {
    /// A request and its reply.
    Http(Box<HttpStep>),
    /// Several at the same time, each on a connection of its own. All are waited for; then they
    /// are checked in their order.
    Parallel(Vec<HttpStep>),
    /// A command to a cache, by memcached's text protocol.
    Memcached(Box<MemcachedStep>),
    /// Something on a WebSocket or an event stream.
    Channel(ChannelStep),
    /// One of several: another each time.
    OneOf(Vec<HttpStep>, Turn),
    /// The steps of another operation, if the user has not been through them yet. What they take
    /// counts.
    Once(usize),
    /// A pause inside the operation; its time counts.
    Pause(Distribution),
    /// The user comes as somebody new: it forgets its cookies and what its browser has kept, and
    /// its channels are closed.
    NewSession,
}

/// Which of several comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// One after the other, from the first on, again and again.
    FromFirst,
    /// The same, but each user begins at a place of its own, so that not all ask for the same.
    FromOwn,
    /// Any, each as likely as the other.
    Any,
    /// The one whose number is in the first column of the row that the operation has of this data
    /// file.
    OfRow(usize),
}

/// An HTTP request, what its reply must be, and what is taken of it.
#[derive(Clone, Debug)]
pub struct HttpStep {
    /// Which of the plan's servers.
    pub origin: usize,
    /// "GET", ... Case matters.
    pub method: String,
    /// Path and query.
    pub path: Template,
    /// Fields besides `Host`, which may be among them and then replaces the server's.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Body,
    /// Redirects that are followed; one more is a failed check. 0: a 3xx is the reply.
    pub redirects: u32,
    /// Whether the entity tag and the date that the user has of this path are sent, so that a 304
    /// may come.
    pub conditional: bool,
    /// What must hold. Unless the status is among it, that must be below 400.
    pub checks: Vec<Check>,
    /// What is kept in variables.
    pub extract: Vec<Extract>,
    /// Whether only half of the body is sent and the connection then closed. There is no reply, so
    /// nothing is looked at.
    pub is_cut: bool,
    /// Whether what the page names (style sheets, scripts, images) is fetched, too.
    pub resources: Option<Resources>,
}

impl HttpStep {
    /// A request to the first server without body, fields and checks.
    pub fn new(method: &str, path: Template) -> Self {
        Self {
            origin: 0,
            method: method.to_owned(),
            path,
            headers: Vec::new(),
            body: Body::Empty,
            redirects: 0,
            conditional: false,
            checks: Vec::new(),
            extract: Vec::new(),
            is_cut: false,
            resources: None,
        }
    }
}

/// A request's body.
#[derive(Clone, Debug)]
pub enum Body {
    /// None. Its length is stated all the same where the method expects one.
    Empty,
    /// Text or bytes.
    Template(Template),
    /// `multipart/form-data` (RFC 7578). The `Content-Type` is set with it.
    Multipart(Vec<Part>),
}

/// A part of a multipart body.
#[derive(Clone, Debug)]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// The file's name, if it is a file.
    pub file_name: Option<String>,
    /// Its media type, if it is told.
    pub media_type: Option<String>,
    /// What is in it.
    pub content: Template,
}

/// What must hold of a reply; if not, the operation is an error of class check.
#[derive(Clone, Debug)]
pub enum Check {
    /// The status is one of these.
    Status(Vec<u16>),
    /// The body has from so many bytes to so many.
    Bytes(u64, u64),
    /// The body contains this.
    Contains(Template),
    /// The body does not contain this.
    Lacks(Template),
    /// The value exists and, as text, is this.
    Equals(ExtractFrom, Template),
    /// The value exists and is a number from the first to the second.
    Within(ExtractFrom, f64, f64),
}

/// A value that is taken from a reply and kept by the user.
#[derive(Clone, Debug)]
pub struct Extract {
    /// Into which of the plan's variables.
    pub variable: usize,
    /// Where it is.
    pub from: ExtractFrom,
    /// Whether it is a reference, of which the path on the same server is kept: it is resolved as
    /// RFC 3986 §5 says. One to elsewhere is a failed check.
    pub is_url: bool,
    /// Of several, one at random rather than the first.
    pub any: bool,
    /// Whether it is a failed check if there is none. If not, the variable stays as it is.
    pub required: bool,
}

/// A place in a reply.
#[derive(Clone, Debug)]
pub enum ExtractFrom {
    /// Values in a JSON body.
    Json(JsonPath),
    /// A field of the head.
    Header(String),
    /// What a regular expression's first group (or all of it) matches in the body.
    Regex(Regex),
    /// An attribute, or the text, of the elements that a CSS selector finds in the body.
    Css(Selector),
    /// Addresses in a document of AtomPub.
    Atom(AtomPlace),
    /// The body as it is.
    Body,
    /// The status.
    Status,
}

/// Where an address is in a document of AtomPub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtomPlace {
    /// Of a service document: collections that take entries (RFC 5023 §8.3.4).
    Entries,
    /// Of a service document: collections that take pictures.
    Media,
    /// Of a feed: where its entries are changed, their edit links.
    Members,
    /// Links of the document itself with this relation (RFC 4287 §4.2.7.2).
    Link(String),
}

impl AtomPlace {
    /// By its name; one that means nothing else is a relation.
    pub fn named(name: &str) -> Self {
        match name {
            "entries" => Self::Entries,
            "media" => Self::Media,
            "members" => Self::Members,
            relation => Self::Link(relation.to_owned()),
        }
    }

    /// See [`AtomPlace::named`].
    pub fn name(&self) -> &str {
        match self {
            Self::Entries => "entries",
            Self::Media => "media",
            Self::Members => "members",
            Self::Link(relation) => relation,
        }
    }
}

impl ExtractFrom {
    /// Whether the body is looked at.
    pub(crate) fn is_of_body(&self) -> bool {
        !matches!(self, Self::Header(_) | Self::Status)
    }
}

/// How the parts of a page are fetched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resources {
    /// Connections at the same time, beside the page's.
    pub connections: usize,
    /// Share of sessions that begin with an empty cache, from 0 to 1. The others have what they
    /// saw before and ask whether it has changed.
    pub cold: f64,
}

/// Something that each user remembers.
#[derive(Clone, Debug)]
pub struct Variable {
    /// In messages.
    pub name: String,
    /// What it is before anything was extracted; none: a step that needs it is a failed check.
    pub initial: Option<Template>,
}

/// What `{key}` and `{other}` are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keys {
    /// The numbers from 0 to this less one.
    pub count: u64,
    /// The exponent of Zipf's law; 0: each is as likely as the other.
    pub zipf: f64,
}

/// A command to a cache.
#[derive(Clone, Debug)]
pub struct MemcachedStep {
    /// Which of the plan's servers have the items: a key is on one of them, always the same.
    pub origins: Vec<usize>,
    /// The key. What [`super::Items`] says of lengths is applied to it.
    pub key: Template,
    /// What is done.
    pub command: MemcachedCommand,
    /// Whether the meta commands are used (`mg`, `ms`, `md`, `ma`).
    pub meta: bool,
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemcachedCommand {
    /// Reads the item. That it is not there is no error, but counted.
    Get {
        /// Whether the value must be the one that belongs to the key ([`super::Items`]).
        verify: bool,
        /// Whether an item that is not there is stored, within the same operation, and for how
        /// long.
        fill: Option<TimeToLive>,
    },
    /// Stores the value that belongs to the key.
    Set {
        /// For how long.
        expires: TimeToLive,
    },
    /// Removes the item. That it is not there is no error, but counted.
    Delete,
    /// Adds to the number in an item. That it is not there is no error, but counted.
    Increment {
        /// How much.
        by: u64,
    },
    /// Gives the item another time to live. That it is not there is no error, but counted.
    Touch {
        /// From now on.
        expires: TimeToLive,
    },
}

/// How long an item lives: each time as likely, drawn anew for each command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeToLive {
    /// The shortest, in seconds; 0: it does not expire.
    pub from_s: u32,
    /// The longest.
    pub to_s: u32,
}

impl TimeToLive {
    /// It does not expire.
    pub const FOREVER: Self = Self::seconds(0);

    /// Always the same.
    pub const fn seconds(seconds: u32) -> Self {
        Self { from_s: seconds, to_s: seconds }
    }

    /// One of them.
    pub(crate) fn draw(self, random: &mut Random) -> u32 {
        match self.to_s.saturating_sub(self.from_s) {
            0 => self.from_s,
            more => self.from_s + random.below(u64::from(more) + 1) as u32,
        }
    }
}
