//! `sarsen.toml`: what an application says about itself. Keys that are not known are refused.

use crate::aside::fetch::{Host, Policy};
use crate::collections::{self, Wanted};
use crate::csrf;
use crate::errors::LoadError;
use crate::limits::{
    BYTES_READ, BYTES_WRITTEN, CPU_MS, CSRF_LIST_MAX, DOCUMENTS_READ, DOCUMENTS_WRITTEN,
    FETCH_RULES_MAX, HEAP_BYTES, IDLE_MINUTES, LIFETIME_MINUTES, NAME_CHARS_MAX, REPLY_BYTES,
    REPLY_BYTES_MAX, SETTINGS_BYTES_MAX,
};
use crate::route::Pattern;
use crate::session;
use crate::thrown::position;
use crate::turn::Allowance;
use repository::Usage;
use std::fs;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The settings of one application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Shown to operators.
    pub(crate) name: String,
    /// CPU time of one request, if the application has its own limit.
    pub(crate) cpu_limit: Option<Duration>,
    /// Heap of one worker in bytes, if the application has its own limit.
    pub(crate) heap_limit: Option<usize>,
    /// Whether requests cannot change the language's own objects.
    pub(crate) freezes: bool,
    /// Which pages may send what changes something.
    pub(crate) csrf: csrf::Rules,
    /// Which other servers tasks may ask.
    pub(crate) fetch: Policy,
    /// How long sessions live, and their cookies.
    pub(crate) sessions: session::Rules,
    /// Largest body of a reply, in bytes.
    pub(crate) reply_bytes: usize,
    /// How many documents one run of a handler may read and write.
    pub(crate) allowance: Allowance,
    /// What its collections are to be like.
    pub(crate) collections: Vec<Wanted>,
}

/// Reads the file `sarsen.toml` of an application.
pub(crate) fn read(file: &Path) -> Result<Settings, LoadError> {
    let refused = |source: std::io::Error| LoadError::Read {
        path: file.to_owned(),
        source: Arc::new(source),
        hint: "; an application's folder has a sarsen.toml with its name, and an app.js",
    };
    let bytes = fs::metadata(file).map_err(refused)?.len();
    if bytes > SETTINGS_BYTES_MAX {
        let why = format!("expected at most {SETTINGS_BYTES_MAX} bytes, found {bytes}");
        return Err(LoadError::Settings { place: file.display().to_string(), why });
    }
    parse(&fs::read_to_string(file).map_err(refused)?, &file.display().to_string())
}

/// Where and why a settings file is refused, the place as a byte offset.
pub(crate) struct Refusal {
    at: usize,
    why: String,
}

pub(crate) fn refusal(span: Range<usize>, why: impl Into<String>) -> Refusal {
    Refusal { at: span.start, why: why.into() }
}

fn parse(text: &str, file: &str) -> Result<Settings, LoadError> {
    settings(text).map_err(|Refusal { at, why }| {
        let (line, column) = position(text, at);
        LoadError::Settings { place: format!("{file}:{line}:{column}"), why }
    })
}

fn settings(text: &str) -> Result<Settings, Refusal> {
    let table = DeTable::parse(text)
        .map_err(|error| refusal(error.span().unwrap_or(0..0), one_line(error.message())))?;
    let table = table.get_ref();
    let known = ["name", "csrf", "fetch", "language", "limits", "session", "collections"];
    refuse_unknown(table, "", &known)?;
    let language = section(table, "language")?;
    if let Some(language) = language {
        refuse_unknown(language, "language.", &["freeze"])?;
    }
    let limits = section(table, "limits")?;
    let session = section(table, "session")?;
    if let Some(limits) = limits {
        refuse_unknown(limits, "limits.", LIMITS)?;
    }
    if let Some(session) = session {
        refuse_unknown(session, "session.", SESSION_KEYS)?;
    }
    Ok(Settings {
        name: name(table)?,
        cpu_limit: whole(limits, "cpu_ms", CPU_MS)?.map(Duration::from_millis),
        heap_limit: whole(limits, "heap_bytes", HEAP_BYTES)?.map(|bytes| bytes as usize),
        freezes: truth(language, "freeze")?.unwrap_or(true),
        sessions: sessions(session)?,
        fetch: fetch(section(table, "fetch")?)?,
        reply_bytes: whole(limits, "reply_bytes", REPLY_BYTES)?
            .map_or(REPLY_BYTES_MAX, |bytes| bytes as usize),
        csrf: csrf(section(table, "csrf")?)?,
        allowance: allowance(limits)?,
        collections: collections::read(section(table, "collections")?)?,
    })
}

const LIMITS: &[&str] = &[
    "cpu_ms",
    "heap_bytes",
    "reply_bytes",
    "documents_read",
    "bytes_read",
    "documents_written",
    "bytes_written",
];

fn allowance(section: Option<&DeTable>) -> Result<Allowance, Refusal> {
    let Allowance(default) = Allowance::default();
    let limit = |key, range, default| -> Result<usize, Refusal> {
        Ok(whole(section, key, range)?.map_or(default, |limit| limit as usize))
    };
    Ok(Allowance(Usage {
        documents_read: limit("documents_read", DOCUMENTS_READ, default.documents_read)?,
        bytes_read: limit("bytes_read", BYTES_READ, default.bytes_read)?,
        documents_written: limit(
            "documents_written",
            DOCUMENTS_WRITTEN,
            default.documents_written,
        )?,
        bytes_written: limit("bytes_written", BYTES_WRITTEN, default.bytes_written)?,
    }))
}

const SESSION_KEYS: &[&str] = &["idle_minutes", "lifetime_minutes", "persistent"];

fn sessions(section: Option<&DeTable>) -> Result<session::Rules, Refusal> {
    let default = session::Rules::default();
    let minutes = |key, range| -> Result<Option<Duration>, Refusal> {
        Ok(whole(section, key, range)?.map(|minutes| Duration::from_secs(minutes * 60)))
    };
    let idle = minutes("idle_minutes", IDLE_MINUTES)?.unwrap_or(default.idle);
    let lifetime = minutes("lifetime_minutes", LIFETIME_MINUTES)?;
    let is_persistent = truth(section, "persistent")?.unwrap_or(default.is_persistent);
    if let Some(lifetime) = lifetime.filter(|lifetime| *lifetime < idle) {
        let (lifetime, idle) = (lifetime.as_secs() / 60, idle.as_secs() / 60);
        let why = format!(
            "expected lifetime_minutes to be at least idle_minutes, {idle}; got {lifetime}"
        );
        return Err(refusal(span(section, "lifetime_minutes"), why));
    }
    // Without a lifetime of its own, an application may have a longer idle time than the default's.
    let lifetime = lifetime.unwrap_or(default.lifetime.max(idle));
    Ok(session::Rules { idle, lifetime, is_persistent })
}

fn csrf(section: Option<&DeTable>) -> Result<csrf::Rules, Refusal> {
    if let Some(section) = section {
        refuse_unknown(section, "csrf.", &["check", "exempt", "trusted_origins"])?;
    }
    let origin = |text: &str| {
        csrf::origin(text).ok_or_else(|| {
            format!("expected an origin such as \"https://admin.example\", got {text:?}")
        })
    };
    let pattern = |text: &str| Pattern::parse(text).map_err(|error| error.to_string());
    Ok(csrf::Rules {
        is_on: truth(section, "check")?.unwrap_or(true),
        trusted_origins: list(section, "trusted_origins", origin)?,
        exempt: list(section, "exempt", pattern)?,
    })
}

/// The texts of a list, each read by `read`, which says what is wrong with one.
fn list<T>(
    section: Option<&DeTable>,
    key: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Refusal> {
    let Some(value) = section.and_then(|section| section.get(key)) else { return Ok(Vec::new()) };
    let rule = || format!("expected {key} to be a list of at most {CSRF_LIST_MAX} texts");
    let array = value.get_ref().as_array().filter(|array| array.len() <= CSRF_LIST_MAX);
    let array = array.ok_or_else(|| refusal(value.span(), rule()))?;
    let entries = array.iter().map(|entry| {
        let text = entry.get_ref().as_str().ok_or_else(|| refusal(entry.span(), rule()))?;
        read(text).map_err(|why| refusal(entry.span(), format!("{key}: {why}")))
    });
    entries.collect()
}

fn span(section: Option<&DeTable>, key: &str) -> Range<usize> {
    section.and_then(|section| section.get(key)).map_or(0..0, Spanned::span)
}

fn truth(section: Option<&DeTable>, key: &str) -> Result<Option<bool>, Refusal> {
    let Some(value) = section.and_then(|section| section.get(key)) else { return Ok(None) };
    let truth = value.get_ref().as_bool();
    truth
        .map(Some)
        .ok_or_else(|| refusal(value.span(), format!("expected {key} to be true or false")))
}

fn name(table: &DeTable) -> Result<String, Refusal> {
    let rule = format!("expected name = \"...\" with 1 to {NAME_CHARS_MAX} visible characters");
    let Some(value) = table.get("name") else {
        return Err(refusal(0..0, format!("{rule}, found none")));
    };
    match value.get_ref().as_str() {
        Some(name)
            if !name.trim().is_empty()
                && name.chars().count() <= NAME_CHARS_MAX
                && !name.contains(char::is_control) =>
        {
            Ok(name.to_owned())
        }
        _ => Err(refusal(value.span(), rule)),
    }
}

fn fetch(section: Option<&DeTable>) -> Result<Policy, Refusal> {
    let Some(section) = section else { return Ok(Policy::default()) };
    refuse_unknown(section, "fetch.", &["allow", "private", "certificates"])?;
    let allow = rules(section, "allow", "hosts such as \"api.example.com\"", Host::parse)?;
    let network = |text: &str| text.parse().ok();
    let private = rules(section, "private", "networks such as \"10.0.0.0/8\"", network)?;
    let certificates = match section.get("certificates") {
        None => None,
        Some(value) => match value.get_ref().as_str() {
            Some(name) if !name.is_empty() => Some(name.into()),
            _ => return Err(refusal(value.span(), "expected certificates = \"FILE.pem\"")),
        },
    };
    Ok(Policy { allow, private, certificates })
}

/// At most `FETCH_RULES_MAX` texts that mean something.
fn rules<T>(
    section: &DeTable,
    key: &str,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Refusal> {
    let Some(value) = section.get(key) else { return Ok(Vec::new()) };
    let why = format!("expected {key} to be a list of at most {FETCH_RULES_MAX} {expected}");
    let items = value.get_ref().as_array().filter(|items| items.len() <= FETCH_RULES_MAX);
    let items = items.ok_or_else(|| refusal(value.span(), why.clone()))?;
    let read = |item: &Spanned<DeValue>| {
        item.get_ref().as_str().and_then(&parse).ok_or_else(|| refusal(item.span(), why.clone()))
    };
    items.iter().map(read).collect()
}

fn section<'a>(table: &'a DeTable, name: &str) -> Result<Option<&'a DeTable<'a>>, Refusal> {
    let Some(value) = table.get(name) else { return Ok(None) };
    match value.get_ref().as_table() {
        Some(section) => Ok(Some(section)),
        None => {
            let found = value.get_ref().type_str();
            Err(refusal(value.span(), format!("expected a section [{name}], found {found}")))
        }
    }
}

fn whole(
    section: Option<&DeTable>,
    key: &str,
    range: RangeInclusive<i64>,
) -> Result<Option<u64>, Refusal> {
    let Some(value) = section.and_then(|section| section.get(key)) else { return Ok(None) };
    match number(value) {
        Some(number) if range.contains(&number) => Ok(Some(number.unsigned_abs())),
        _ => {
            let (low, high) = range.into_inner();
            let why = format!("expected {key} to be a whole number from {low} to {high}");
            Err(refusal(value.span(), why))
        }
    }
}

fn number(value: &Spanned<DeValue>) -> Option<i64> {
    let integer = value.get_ref().as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn refuse_unknown(table: &DeTable, prefix: &str, known: &[&str]) -> Result<(), Refusal> {
    let unknown = table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
    let Some(key) = unknown else { return Ok(()) };
    let nearest = known.iter().min_by_key(|name| distance(name, key.get_ref()));
    let nearest = nearest.map(|name| format!("; did you mean {prefix}{name}?")).unwrap_or_default();
    let why = format!("unknown key {prefix}{}{nearest}", key.get_ref());
    Err(refusal(key.span(), one_line(&why)))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many characters must change to make `b` of `a` (Levenshtein 1965).
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(text, "sarsen.toml").unwrap_err().to_string()
    }

    #[test]
    fn the_least_and_the_most() {
        let least = parse("name = \"counter\"", "f").unwrap();
        assert_eq!(least.name, "counter");
        assert_eq!(least.cpu_limit, None);
        assert_eq!(least.sessions, session::Rules::default());
        assert_eq!(least.reply_bytes, REPLY_BYTES_MAX);
        let most = "name = 'x'\n[limits]\ncpu_ms = 1_500\nheap_bytes = 0x1000000\n\
                    reply_bytes = 4096\n\
                    [session]\nidle_minutes = 5\nlifetime_minutes = 60\n\
                    persistent = true\n";
        let most = parse(most, "f").unwrap();
        assert_eq!(most.cpu_limit, Some(Duration::from_millis(1500)));
        assert_eq!(most.heap_limit, Some(16 << 20));
        assert_eq!(most.reply_bytes, 4096);
        let (idle, lifetime) = (Duration::from_secs(300), Duration::from_secs(3600));
        assert_eq!(most.sessions, session::Rules { idle, lifetime, is_persistent: true });
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest() {
        assert_eq!(refused("nmae = 'x'"), "sarsen.toml:1:1: unknown key nmae; did you mean name?");
        assert_eq!(
            refused("name = 'x'\n[limits]\n  cpu = 3"),
            "sarsen.toml:3:3: unknown key limits.cpu; did you mean limits.cpu_ms?"
        );
    }

    #[test]
    fn values_are_checked_where_they_stand() {
        assert!(refused("").starts_with("sarsen.toml:1:1: expected name"));
        assert!(refused("name = 3").starts_with("sarsen.toml:1:8: expected name"));
        assert!(refused("name = ' '").contains("expected name"));
        assert!(refused("name = 'x'\nlimits = 3").starts_with("sarsen.toml:2:10: expected a sec"));
        for value in ["0", "60001", "1.5", "'x'", "-1"] {
            let text = format!("name = 'x'\n[limits]\ncpu_ms = {value}");
            let why = "sarsen.toml:3:10: expected cpu_ms to be a whole number from 1 to 60000";
            assert_eq!(refused(&text), why);
        }
        for value in [1023, 16_777_217] {
            let text = format!("name = 'x'\n[limits]\nreply_bytes = {value}");
            assert!(refused(&text).contains("from 1024 to 16777216"), "{value}");
        }
    }

    #[test]
    fn origins_and_paths_are_checked_where_they_stand() {
        let all = "name = 'x'\n[csrf]\ncheck = false\n\
                   trusted_origins = ['https://A.example:443']\nexempt = ['/hooks/*']";
        let rules = parse(all, "f").unwrap().csrf;
        assert_eq!((rules.is_on, rules.exempt.len()), (false, 1));
        assert_eq!(rules.trusted_origins, ["https://a.example"]);
        let refused = |text: &str| refused(&format!("name = 'x'\n[csrf]\n{text}"));
        let why = "sarsen.toml:3:20: trusted_origins: expected an origin such as \
                   \"https://admin.example\", got \"a.example\"";
        assert_eq!(refused("trusted_origins = ['a.example']"), why);
        assert!(refused("exempt = ['hooks']").starts_with("sarsen.toml:3:11: exempt: "));
        assert!(refused("exempt = '/hooks'").contains("a list of at most 100 texts"));
        let many = format!("exempt = [{}]", "'/a',".repeat(CSRF_LIST_MAX + 1));
        assert!(refused(&many).contains("a list of at most 100 texts"));
    }

    #[test]
    fn a_sessions_lifetime_is_not_shorter_than_its_idle_time() {
        let why =
            "sarsen.toml:3:20: expected lifetime_minutes to be at least idle_minutes, 30; got 9";
        assert_eq!(refused("name = 'x'\n[session]\nlifetime_minutes = 9"), why);
        let long = parse("name = 'x'\n[session]\nidle_minutes = 500_000", "f").unwrap();
        assert_eq!(long.sessions.lifetime, long.sessions.idle);
        let why = "sarsen.toml:3:14: expected persistent to be true or false";
        assert_eq!(refused("name = 'x'\n[session]\npersistent = 1"), why);
    }

    #[test]
    fn what_is_not_toml_is_refused_in_one_line() {
        let message = refused("name = 'x'\nname 3\n");
        assert!(message.starts_with("sarsen.toml:2:"), "{message}");
        assert!(!message.contains('\n'));
    }

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("name", "nmae"), 2);
        assert_eq!(distance("cpu_ms", "cpu"), 3);
    }
}
