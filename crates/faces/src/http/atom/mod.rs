//! Publishing by HTTP (RFC 5023): finds out what a request is for and whether its sender may, has
//! it done, and replies. What is done is in `crate::atom`; `path`, `receive` and `answer` are the
//! parts of HTTP in it, `documents` and `listing` write what is shown to clients, `public` is what
//! readers get. `docs/atompub.md` has the statuses.

mod answer;
mod documents;
mod listing;
mod media;
pub(crate) mod path;
mod public;
mod receive;

use crate::access::{Need, Principal};
use crate::atom::media as media_of;
use crate::atom::member::{self, New, Write};
use crate::atom::publication::{self, Deletion, Drawn, Publication};
use crate::atom::{Atom, Place, earlier, proposal, rows, run};
use crate::http::forwarded::Asker;
use crate::http::framing::Framed;
use crate::http::{body, conditions, rest, wishes};
use crate::limits::ATOM_INLINE_BYTES_MAX;
use crate::preconditions::{Preconditions, Verdict};
use crate::problem::{Kind, Problem};
use crate::reactor::Reactor;
use answer::{Made, Reply, Shown};
use bytes::Bytes;
use hyper::Method;
use hyper::header::LAST_MODIFIED;
use hyper::http::request::Parts;
use path::{Part, Resource};
use repository::{Document, Transaction};
use std::borrow::Cow;
use std::sync::Arc;
use wire::atom::{ENTRY_TYPE, Entry, SERVICE_TYPE, entry};

pub(in crate::http) use answer::challenge;

/// A request and what it comes with.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub parts: &'a Parts,
    pub asker: &'a Asker,
    pub principal: &'a Principal,
    pub reactor: &'a Reactor,
}

/// What is sent, until it is read.
type Sent<'a> = &'a mut Option<Framed>;

const COLLECTION: &str = "GET, HEAD, POST, OPTIONS";
const MEMBER: &str = "GET, HEAD, PUT, DELETE, OPTIONS";
const SETTINGS: &str = "GET, HEAD, PUT, OPTIONS";
const HOME: &str = "GET, HEAD, DELETE, OPTIONS";
const SHOWN: &str = "GET, HEAD, OPTIONS";

/// The methods of a resource, as the Allow field lists them.
fn allow(resource: &Resource) -> &'static str {
    match resource {
        Resource::Publications | Resource::Of(_, Part::Entries | Part::Media) => COLLECTION,
        Resource::Entry(_) | Resource::Medium(_) => MEMBER,
        Resource::Of(_, Part::Settings) => SETTINGS,
        Resource::Of(_, Part::Home) => HOME,
        Resource::Opml | Resource::Of(..) | Resource::Page(_) | Resource::Archive(..) => SHOWN,
    }
}

/// Answers a request for something below `/atom`.
pub(super) async fn serve(request: Request<'_>, sent: Sent<'_>) -> Result<Reply, Problem> {
    let resource = path::locate(request.parts.uri.path())?;
    let method = &request.parts.method;
    match *method {
        Method::OPTIONS => Ok(answer::options(allow(&resource))),
        Method::GET | Method::HEAD => show(request, resource).await,
        _ if !is_listed(method, allow(&resource)) => {
            Err(answer::not_allowed(method, allow(&resource)))
        }
        _ => change(request, resource, sent).await,
    }
}

fn is_listed(method: &Method, allow: &str) -> bool {
    allow.split(", ").any(|one| one == method.as_str())
}

async fn show(request: Request<'_>, resource: Resource) -> Result<Reply, Problem> {
    match resource {
        Resource::Publications => publications(request).await,
        Resource::Of(name, Part::Settings) => settings(request, name).await,
        Resource::Of(name, Part::Service) => service(request, name).await,
        Resource::Of(name, Part::Categories) => categories(request, name).await,
        Resource::Of(name, part @ (Part::Entries | Part::Media)) => {
            request.require(&name, Need::Read)?;
            listing::serve(request, name, part).await
        }
        Resource::Entry(place) => show_entry(request, place).await,
        Resource::Medium(place) => media::show(request, place).await,
        Resource::Opml => public::opml(request).await,
        Resource::Of(..) | Resource::Page(_) | Resource::Archive(..) => {
            public::serve(request, &resource).await
        }
    }
}

async fn change(
    request: Request<'_>,
    resource: Resource,
    sent: Sent<'_>,
) -> Result<Reply, Problem> {
    let need = match resource {
        Resource::Of(_, Part::Settings | Part::Home) => Need::Admin,
        _ => Need::Write,
    };
    let is_delete = request.parts.method == Method::DELETE;
    match &resource {
        Resource::Publications => request.principal.require_known()?,
        Resource::Of(name, _) | Resource::Archive(name, _) => request.require(name, need)?,
        Resource::Entry(place) | Resource::Medium(place) | Resource::Page(place) => {
            request.require(&place.publication, need)?;
        }
        Resource::Opml => {}
    }
    if !is_delete {
        rest::check_length(request.parts)?;
    }
    match resource {
        Resource::Publications => make(request, sent).await,
        Resource::Of(name, Part::Settings) => configure(request, name, sent).await,
        Resource::Of(name, Part::Home) => delete_publication(request, name).await,
        Resource::Of(name, Part::Entries) => create_entry(request, name, sent).await,
        Resource::Of(name, Part::Media) => media::create(request, name, sent).await,
        Resource::Entry(place) if is_delete => {
            delete(request, move |tx, write| member::delete(tx, (write, &place))).await
        }
        Resource::Medium(place) if is_delete => {
            delete(request, move |tx, write| media_of::delete(tx, (write, &place))).await
        }
        Resource::Entry(place) => replace_entry(request, place, sent).await,
        Resource::Medium(place) => media::replace(request, place, sent).await,
        Resource::Of(..) | Resource::Opml | Resource::Page(_) | Resource::Archive(..) => {
            Err(Problem::not_found())
        }
    }
}

impl Request<'_> {
    /// Whether its sender may do that with the publication.
    fn require(&self, publication: &str, need: Need) -> Result<(), Problem> {
        self.principal.require(&format!("atom/{publication}"), need)
    }

    /// A publication that everybody may read, or the asker may. One that the asker may not read is
    /// not told from one that is not there.
    fn readable(
        &self,
        tx: &mut Transaction,
        name: &str,
    ) -> Result<(Publication, Arc<Document>), Problem> {
        let found = publication::find(tx, &self.reactor.atom.names, name)?;
        if found.as_ref().is_none_or(|(publication, _)| publication.is_private) {
            self.require(name, Need::Read)?;
        }
        found.ok_or_else(|| publication::missing(name))
    }

    fn conditions(&self) -> Result<Preconditions, Problem> {
        conditions::preconditions(&self.parts.headers)
    }

    fn atom(&self) -> Arc<Atom> {
        Arc::clone(&self.reactor.atom)
    }

    /// What becomes a member, so far as the head of the request says.
    fn drawn_for(&self, publication: String) -> Result<New, Problem> {
        let slug = wishes::slug(&self.parts.headers).map(|slug| slug.as_str().to_owned());
        Ok(New { publication, slug, drawn: Drawn::draw()? })
    }
}

/// Whether the asker has `document` already.
fn is_current(document: &Document, conditions: &Preconditions) -> Result<bool, Problem> {
    match conditions.for_read(document) {
        Verdict::Proceed => Ok(false),
        Verdict::NotModified => Ok(true),
        Verdict::Failed => Err(member::failed(Some(document.version))),
    }
}

/// What of a document is to be shown, by the conditions of the request.
fn shown(
    document: &Document,
    conditions: &Preconditions,
    (media_type, text): (&'static str, impl FnOnce() -> Result<Bytes, Problem>),
) -> Result<Shown, Problem> {
    let (version, updated) = (document.version, document.updated);
    let text = if is_current(document, conditions)? { None } else { Some(text()?) };
    Ok(Shown { text, media_type, version, updated })
}

async fn publications(request: Request<'_>) -> Result<Reply, Problem> {
    request.principal.require_known()?;
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let done = run::read(request.reactor, |tx| {
        let (mut all, head) = publication::list(tx, &atom.names)?;
        let allows =
            |one: &Publication| request.principal.allows(&format!("atom/{}", one.name), Need::Read);
        all.retain(allows);
        let list = documents::List::of(&all, head.as_deref());
        let text = || Ok(Bytes::from(documents::service(&all)));
        shown(&list.tag, &list.conditions(&conditions), (SERVICE_TYPE, text))
    });
    let mut reply = answer::shown(done.await?);
    // It says nothing of who may see what.
    reply.headers_mut().remove(LAST_MODIFIED);
    Ok(reply)
}

/// Shows something that is made of a publication's settings.
async fn of_settings(
    request: Request<'_>,
    name: String,
    (media_type, write): (&'static str, fn(&Publication) -> String),
) -> Result<Reply, Problem> {
    request.require(&name, Need::Read)?;
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let done = run::read(request.reactor, |tx| {
        let found = publication::find(tx, &atom.names, &name)?;
        let (found, document) = found.ok_or_else(|| publication::missing(&name))?;
        shown(&document, &conditions, (media_type, || Ok(Bytes::from(write(&found)))))
    });
    Ok(answer::shown(done.await?))
}

async fn service(request: Request<'_>, name: String) -> Result<Reply, Problem> {
    let write = |publication: &Publication| documents::service(std::slice::from_ref(publication));
    of_settings(request, name, (SERVICE_TYPE, write)).await
}

async fn categories(request: Request<'_>, name: String) -> Result<Reply, Problem> {
    let write = |publication: &Publication| publication.categories.document();
    of_settings(request, name, (wire::atom::CATEGORIES_TYPE, write)).await
}

async fn settings(request: Request<'_>, name: String) -> Result<Reply, Problem> {
    of_settings(request, name, ("application/json", Publication::settings)).await
}

async fn show_entry(request: Request<'_>, place: Place) -> Result<Reply, Problem> {
    request.require(&place.publication, Need::Read)?;
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let done = run::read(request.reactor, |tx| {
        let found = member::read(tx, &atom.names, &place)?.document;
        let text = || match earlier::current(&found, &place)? {
            Cow::Borrowed(_) => Ok(found.body.clone()),
            Cow::Owned(text) => Ok(Bytes::from(text)),
        };
        shown(&found, &conditions, (ENTRY_TYPE, text))
    });
    Ok(answer::shown(done.await?))
}

/// Makes a publication. One that was named must not be there; one that was not gets a name by its
/// title.
async fn make(request: Request<'_>, sent: Sent<'_>) -> Result<Reply, Problem> {
    let (form, charset) = receive::publication(&request.parts.headers)?;
    let named = wishes::slug(&request.parts.headers).map(|slug| slug.as_str().to_owned());
    let conditions = request.conditions()?;
    let (atom, drawn) = (request.atom(), Drawn::draw()?);
    let principal = request.principal.clone();
    let read = body::read(sent, request.reactor).await?;
    let is_long = read.bytes.len() > ATOM_INLINE_BYTES_MAX;
    let bytes = read.bytes;
    let done = run::run(request.reactor, is_long, move |runner| {
        let text = receive::text(&bytes, charset.as_deref())?;
        let given = proposal::read(form, &text)?;
        let wish = named.clone().or_else(|| proposal::name_of(&given.title));
        Ok(runner.run(|tx| {
            member::check_new(&conditions)?;
            let made = Publication {
                name: free_name(
                    tx,
                    (&atom, &principal),
                    (wish.as_deref(), named.is_some()),
                    drawn,
                )?,
                ..given.clone()
            };
            let made = publication::make(tx, &atom, (&made, drawn))?;
            Ok(Made {
                path: made.path("service"),
                media_type: SERVICE_TYPE,
                text: Bytes::from(documents::service(std::slice::from_ref(&made))),
            })
        }))
    });
    answer::made(done.await?, request.parts, request.asker)
}

/// A name that is free, and that the asker may publish by: whether there is another of it is told
/// to nobody else.
fn free_name(
    tx: &mut Transaction,
    (atom, principal): (&Atom, &Principal),
    (wish, is_named): (Option<&str>, bool),
    drawn: Drawn,
) -> Result<String, Problem> {
    let may = |name: String| {
        principal.require(&format!("atom/{name}"), Need::Write)?;
        Ok::<_, Problem>(name)
    };
    let drawn = drawn.key.key_at(tx.time()).as_str().to_lowercase();
    let Some(wish) = wish else { return may(drawn) };
    if is_named && !proposal::is_name(wish) {
        let detail = format!("a publication cannot be called {wish}; choose another Slug");
        return Err(Problem::new(Kind::InvalidName, detail));
    }
    for tried in 1..=crate::limits::ATOM_SUFFIXES_MAX {
        let name = may(if tried == 1 { wish.to_owned() } else { format!("{wish}-{tried}") })?;
        let is_free = publication::find(tx, &atom.names, &name)?.is_none();
        if is_free && proposal::is_name(&name) {
            return Ok(name);
        }
        if is_named {
            let detail = format!("there is a publication {wish} already, at /atom/{wish}");
            return Err(Problem::new(Kind::IdentityConflict, detail));
        }
    }
    may(format!("{wish}-{drawn}"))
}

/// Gives a publication other settings. Its name, id and beginning stay.
async fn configure(request: Request<'_>, name: String, sent: Sent<'_>) -> Result<Reply, Problem> {
    let (form, charset) = receive::publication(&request.parts.headers)?;
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let read = body::read(sent, request.reactor).await?;
    let bytes = read.bytes;
    let done = run::run(request.reactor, false, move |runner| {
        let text = receive::text(&bytes, charset.as_deref())?;
        let given = proposal::read(form, &text)?;
        Ok(runner.run(|tx| {
            let found = publication::find(tx, &atom.names, &name)?;
            let (found, document) = found.ok_or_else(|| publication::missing(&name))?;
            member::check(&conditions, &document, false)?;
            let now = given.clone().in_place_of(found);
            publication::write(tx, &atom, &now)?;
            rows::touch(tx, &atom.names, &rows::all())?;
            Ok(None)
        }))
    });
    Ok(answer::changed(done.await?, request.parts))
}

/// The entry in a text, complete but for what the server adds.
fn read_entry(text: &str) -> Result<Entry<'_>, Problem> {
    let sent = entry::read(text).map_err(|error| proposal::refused(&error))?;
    sent.check_complete().map_err(|error| proposal::refused(&error))?;
    Ok(sent)
}

async fn create_entry(
    request: Request<'_>,
    publication: String,
    sent: Sent<'_>,
) -> Result<Reply, Problem> {
    let charset = receive::entry(&request.parts.headers)?;
    let (new, conditions) = (request.drawn_for(publication)?, request.conditions()?);
    let atom = request.atom();
    let read = body::read(sent, request.reactor).await?;
    let (bytes, is_long) = (read.bytes.clone(), read.bytes.len() > ATOM_INLINE_BYTES_MAX);
    let done = run::run(request.reactor, is_long, move |runner| {
        let text = receive::text(&bytes, charset.as_deref())?;
        let sent = read_entry(&text)?;
        let write = Write { atom: &atom, conditions: &conditions };
        Ok(runner.run(|tx| member::create(tx, (write, &new), &sent).map(made)))
    });
    answer::made(done.await?, request.parts, request.asker)
}

fn made(written: member::Written) -> Made {
    Made { path: written.path, media_type: ENTRY_TYPE, text: written.text }
}

async fn replace_entry(
    request: Request<'_>,
    place: Place,
    sent: Sent<'_>,
) -> Result<Reply, Problem> {
    let charset = receive::entry(&request.parts.headers)?;
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let read = body::read(sent, request.reactor).await?;
    let (bytes, is_long) = (read.bytes.clone(), read.bytes.len() > ATOM_INLINE_BYTES_MAX);
    let done = run::run(request.reactor, is_long, move |runner| {
        let text = receive::text(&bytes, charset.as_deref())?;
        let sent = read_entry(&text)?;
        let write = Write { atom: &atom, conditions: &conditions };
        Ok(runner.run(|tx| {
            let written = member::replace(tx, (write, &place), &sent)?;
            Ok(Some(written.text))
        }))
    });
    Ok(answer::changed(done.await?, request.parts))
}

async fn delete(
    request: Request<'_>,
    remove: impl Fn(&mut Transaction, Write<'_>) -> Result<(), Problem> + Send + 'static,
) -> Result<Reply, Problem> {
    let (atom, conditions) = (request.atom(), request.conditions()?);
    let done = run::run(request.reactor, false, move |runner| {
        let write = Write { atom: &atom, conditions: &conditions };
        Ok(runner.run(|tx| remove(tx, write)))
    });
    Ok(answer::deleted(&done.await?))
}

/// Deletes a publication and all that is in it, a part in each transaction. The conditions are
/// those of the first; who is cut off meanwhile asks again.
async fn delete_publication(request: Request<'_>, name: String) -> Result<Reply, Problem> {
    let (atom, conditions) = (request.atom(), Arc::new(request.conditions()?));
    let mut begun: Option<String> = None;
    loop {
        let (atom, conditions) = (Arc::clone(&atom), Arc::clone(&conditions));
        let (name, id) = (name.clone(), begun.take());
        let done = run::run(request.reactor, true, move |runner| {
            Ok(runner.run(|tx| {
                let deletion = match &id {
                    Some(id) => Deletion::Begun(id),
                    None => Deletion::New(&conditions),
                };
                publication::delete(tx, &atom.names, (&name, deletion))
            }))
        });
        let done = done.await?;
        if done.value.is_none() {
            return Ok(answer::deleted(&done.map(|_| ())));
        }
        begun = done.value;
    }
}
