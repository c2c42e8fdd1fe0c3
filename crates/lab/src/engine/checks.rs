//! Whether a reply is what it must be, and what is taken of it. Prepared once for a run.

use super::extract::{Finder, Seen, field};
use super::lane::Keeps;
use super::mind::Mind;
use super::reference::resolve;
use super::step::Failure;
use crate::limits::{BODY_KEPT_BYTES_MAX, VARIABLE_BYTES_MAX};
use crate::plan::{Check, Extract, ExtractFrom, Plan, Template};
use crate::transport::{Kept, Reply};
use memchr::memmem;

/// The checks and extractions of a step.
pub(crate) struct Judge {
    /// The statuses that may be; none: those below 400.
    statuses: Option<Vec<u16>>,
    /// From so many bytes of body to so many.
    bytes: Option<(u64, u64)>,
    checks: Vec<Prepared>,
    extract: Vec<Extract>,
    /// Whether the body is looked at.
    of_body: bool,
}

enum Prepared {
    /// Contained, or not.
    Text(Needle, bool),
    Equals(ExtractFrom, Template),
    Within(ExtractFrom, f64, f64),
}

/// A text to look for.
enum Needle {
    Fixed(Box<memmem::Finder<'static>>),
    Open(Template),
}

impl Needle {
    fn new(template: &Template) -> Self {
        match template.as_fixed() {
            Some(text) => Self::Fixed(Box::new(memmem::Finder::new(text).into_owned())),
            None => Self::Open(template.clone()),
        }
    }
}

impl Judge {
    pub(crate) fn new(all: &[Check], extract: &[Extract]) -> Self {
        let (mut statuses, mut bytes, mut checks): (Option<Vec<u16>>, _, _) = (None, None, vec![]);
        for check in all {
            checks.push(match check {
                // Several are one after the other, so what is in all of them counts.
                Check::Status(these) => {
                    match &mut statuses {
                        Some(statuses) => statuses.retain(|status| these.contains(status)),
                        none => *none = Some(these.clone()),
                    }
                    continue;
                }
                Check::Bytes(from, to) => {
                    let (least, most) = bytes.unwrap_or((0, u64::MAX));
                    bytes = Some((least.max(*from), most.min(*to)));
                    continue;
                }
                Check::Contains(template) => Prepared::Text(Needle::new(template), true),
                Check::Lacks(template) => Prepared::Text(Needle::new(template), false),
                Check::Equals(from, template) => Prepared::Equals(from.clone(), template.clone()),
                Check::Within(from, least, most) => Prepared::Within(from.clone(), *least, *most),
            });
        }
        let checked = checks.iter().any(Prepared::is_of_body);
        let of_body = checked || extract.iter().any(|extract| extract.from.is_of_body());
        Self { statuses, bytes, checks, extract: extract.to_vec(), of_body }
    }

    /// What of the reply it needs; `page` if more of the body is.
    pub(crate) fn keeps(&self, page: bool) -> Keeps {
        match () {
            () if self.of_body || page => Keeps::Body,
            () if self.checks.is_empty() && self.extract.is_empty() => Keeps::Nothing,
            () => Keeps::Fields,
        }
    }

    /// Looks at a reply, which came from this server and path, and keeps what is to be kept of it.
    pub(crate) fn judge(
        &self,
        (reply, kept, base): (&Reply, &Kept, (usize, &[u8])),
        plan: &Plan,
        mind: &mut Mind,
        finder: &mut Finder,
    ) -> Result<(), Failure> {
        self.judge_status(reply.status)?;
        // It has no body, for what the user has is still right.
        let is_unchanged = reply.status == 304;
        if let Some((from, to)) = self.bytes
            && !is_unchanged
            && !(from..=to).contains(&reply.body_bytes)
        {
            let got = reply.body_bytes;
            return check(format!("expected a body of {from} to {to} bytes, got {got}"));
        }
        if self.checks.is_empty() && self.extract.is_empty() {
            return Ok(());
        }
        if self.of_body && !is_unchanged {
            readable(reply, kept)?;
        }
        let seen = Seen { status: reply.status, fields: &kept.fields, body: &kept.body, base };
        finder.begin();
        for prepared in &self.checks {
            if !(is_unchanged && prepared.is_of_body()) {
                prepared.check(seen, plan, mind, finder)?;
            }
        }
        for extract in &self.extract {
            if !(is_unchanged && extract.from.is_of_body()) {
                take(extract, seen, plan, mind, finder)?;
            }
        }
        finder.end();
        Ok(())
    }

    fn judge_status(&self, status: u16) -> Result<(), Failure> {
        match &self.statuses {
            None if status < 400 => Ok(()),
            Some(statuses) if statuses.contains(&status) => Ok(()),
            Some(statuses) if status < 400 => {
                let expected: Vec<String> = statuses.iter().map(u16::to_string).collect();
                check(format!("expected status {}, got {status}", expected.join(" or ")))
            }
            _ => Err(Failure::Status(status)),
        }
    }
}

/// Whether the body can be looked at.
pub(crate) fn readable(reply: &Reply, kept: &Kept) -> Result<(), Failure> {
    if kept.body.len() as u64 != reply.body_bytes {
        let got = reply.body_bytes;
        return check(format!(
            "the body has {got} bytes, and no more than {BODY_KEPT_BYTES_MAX} can be looked at"
        ));
    }
    match field(&kept.fields, "content-encoding") {
        Some(coding) if !coding.eq_ignore_ascii_case(b"identity") && !kept.body.is_empty() => {
            check(format!(
                "the body is encoded as {} and cannot be looked at; leave Accept-Encoding out",
                shown(coding)
            ))
        }
        _ => Ok(()),
    }
}

impl Prepared {
    fn is_of_body(&self) -> bool {
        match self {
            Self::Text(..) => true,
            Self::Equals(from, _) | Self::Within(from, ..) => from.is_of_body(),
        }
    }

    fn check(
        &self,
        seen: Seen<'_>,
        plan: &Plan,
        mind: &mut Mind,
        finder: &mut Finder,
    ) -> Result<(), Failure> {
        match self {
            Self::Text(Needle::Fixed(needle), wanted) => {
                let is_there = needle.find(seen.body).is_some();
                contained(is_there, *wanted, needle.needle())
            }
            Self::Text(Needle::Open(template), wanted) => {
                let needle = rendered(template, plan, mind)?;
                contained(memmem::find(seen.body, &needle).is_some(), *wanted, &needle)
            }
            Self::Equals(from, template) => {
                let expected = rendered(template, plan, mind)?;
                match finder.find(from, seen, None).map_err(Failure::Check)? {
                    Some(got) if got == expected => Ok(()),
                    got => differs(from, &format!("to be {}", shown(&expected)), got),
                }
            }
            Self::Within(from, least, most) => {
                let got = finder.find(from, seen, None).map_err(Failure::Check)?;
                let number = got.and_then(|got| std::str::from_utf8(got).ok()?.trim().parse().ok());
                match number {
                    Some(number) if (*least..=*most).contains(&number) => Ok(()),
                    _ => differs(from, &format!("to be a number from {least} to {most}"), got),
                }
            }
        }
    }
}

fn contained(is_there: bool, wanted: bool, needle: &[u8]) -> Result<(), Failure> {
    match (is_there, wanted) {
        (true, true) | (false, false) => Ok(()),
        (_, true) => check(format!("expected the body to contain {}", shown(needle))),
        (_, false) => check(format!("expected the body not to contain {}", shown(needle))),
    }
}

/// A template, filled in.
pub(super) fn rendered(
    template: &Template,
    plan: &Plan,
    mind: &mut Mind,
) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let mut fill = mind.fill(plan);
    fill.render(template, &mut out);
    match fill.fault {
        None => Ok(out),
        Some(fault) => check(fault.describe(&plan.variables)),
    }
}

fn differs(from: &ExtractFrom, expected: &str, got: Option<&[u8]>) -> Result<(), Failure> {
    let got = got.map_or("nothing".to_owned(), shown);
    check(format!("expected {} {expected}, got {got}", place(from)))
}

fn take(
    extract: &Extract,
    seen: Seen<'_>,
    plan: &Plan,
    mind: &mut Mind,
    finder: &mut Finder,
) -> Result<(), Failure> {
    let picks = extract.any.then_some(&mut mind.picks);
    let found = finder.find(&extract.from, seen, picks).map_err(Failure::Check)?;
    let name = || &plan.variables[extract.variable].name;
    match found {
        Some(value) if extract.is_url => {
            let location = resolve(&plan.origins, seen.base, value);
            let Some(location) = location.ok().filter(|location| location.server == seen.base.0)
            else {
                return check(format!(
                    "expected an address on the same server for \"{}\", got {}",
                    name(),
                    shown(value)
                ));
            };
            mind.variables.set(extract.variable, &location.path);
            Ok(())
        }
        Some(value) if value.len() <= VARIABLE_BYTES_MAX => {
            mind.variables.set(extract.variable, value);
            Ok(())
        }
        Some(value) => check(format!(
            "the value for \"{}\" has {} bytes; expected at most {VARIABLE_BYTES_MAX}",
            name(),
            value.len()
        )),
        None if !extract.required => Ok(()),
        None => check(format!("expected {} for \"{}\", got nothing", place(&extract.from), name())),
    }
}

fn check<T>(why: String) -> Result<T, Failure> {
    Err(Failure::Check(why))
}

/// A place in words.
fn place(from: &ExtractFrom) -> String {
    match from {
        ExtractFrom::Json(path) => format!("the value of {path}"),
        ExtractFrom::Header(name) => format!("the header \"{name}\""),
        ExtractFrom::Regex(regex) => format!("a match of {:?}", regex.as_str()),
        ExtractFrom::Css(selector) => format!("what {selector} selects"),
        ExtractFrom::Atom(place) => format!("the address \"{}\"", place.name()),
        ExtractFrom::Body => "the body".to_owned(),
        ExtractFrom::Status => "the status".to_owned(),
    }
}

/// A value in words, the beginning of it if it is long.
fn shown(value: &[u8]) -> String {
    const SHOWN_BYTES: usize = 100;
    let short = String::from_utf8_lossy(&value[..value.len().min(SHOWN_BYTES)]);
    match value.len() <= SHOWN_BYTES {
        true => format!("{short:?}"),
        false => format!("{short:?}... ({} bytes)", value.len()),
    }
}
