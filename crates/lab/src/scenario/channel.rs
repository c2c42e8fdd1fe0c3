//! Steps on WebSockets and streams of server-sent events.

use super::http;
use super::operations::Around;
use super::replies;
use super::section::{Section, Value};
use crate::limits::{MESSAGES_AWAITED_MAX, REQUEST_TIMEOUT_MAX};
use crate::plan::{
    ChannelKind, ChannelStep, Check, HttpStep, OpenStep, ReceiveStep, SendStep, Template,
};
use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

const KEYS: [&str; 5] = ["websocket", "events", "send", "receive", "close"];

/// What steps do with channels, so that one that nobody opens is told.
#[derive(Default)]
pub(super) struct Uses {
    opened: RefCell<Vec<ChannelKind>>,
    used: RefCell<Vec<(ChannelKind, Range<usize>)>>,
}

impl Uses {
    /// Notes each use of what no step opens.
    pub(super) fn check(&self, section: &Section<'_>) {
        let opened = self.opened.borrow();
        for (kind, span) in self.used.borrow().iter().filter(|(kind, _)| !opened.contains(kind)) {
            let (what, step) = match kind {
                ChannelKind::WebSocket => ("a WebSocket", "{ websocket = \"/path\" }"),
                ChannelKind::Events => ("an event stream", "{ events = \"/path\" }"),
            };
            let why = format!("no step opens {what}; expected one like {step} before this");
            section.book.wrong(span, why);
        }
    }
}

pub(super) fn is_step(section: &Section<'_>) -> bool {
    !section.which(&KEYS).is_empty()
}

pub(super) fn read(section: &Section<'_>, around: &Around<'_>) -> Option<ChannelStep> {
    match section.which(&KEYS).as_slice() {
        ["websocket"] => {
            let offered = section.get("subprotocol");
            let step = open(section, around, ("websocket", ChannelKind::WebSocket))?;
            let offered = offered.map_or_else(Vec::new, |value| value.one_or_more());
            let subprotocols: Option<Vec<String>> =
                offered.iter().map(subprotocol).collect::<Vec<_>>().into_iter().collect();
            Some(ChannelStep::Open(Box::new(OpenStep { subprotocols: subprotocols?, ..step })))
        }
        ["events"] => {
            let step = open(section, around, ("events", ChannelKind::Events))?;
            Some(ChannelStep::Open(Box::new(step)))
        }
        ["send"] => send(section, around).map(ChannelStep::Send),
        ["receive"] => receive(section, around).map(|step| ChannelStep::Receive(Box::new(step))),
        ["close"] => {
            let kind = kind(&section.get("close")?, ("websocket", "events"))?;
            around.channels.used.borrow_mut().push((kind, section.span.clone()));
            Some(ChannelStep::Close(kind))
        }
        _ => {
            let what = format!("`{}`: expected one of {}", section.name, KEYS.join(", "));
            section.book.wrong(&section.span, format!("{what}; got several"));
            None
        }
    }
}

fn open(
    section: &Section<'_>,
    around: &Around<'_>,
    (key, kind): (&'static str, ChannelKind),
) -> Option<OpenStep> {
    around.channels.opened.borrow_mut().push(kind);
    let server = around.servers.of(section.get("server").as_ref());
    let path = http::path(&section.get(key)?, around);
    let headers = http::fields(section, around);
    let (origin, prefix) = server?;
    let mut path = path?;
    if !prefix.is_empty() {
        path = path.after(&prefix);
    }
    let request = HttpStep { origin, headers: headers?, ..HttpStep::new("GET", path) };
    Some(OpenStep { kind, request, subprotocols: Vec::new() })
}

fn subprotocol(value: &Value<'_>) -> Option<String> {
    let name = value.text()?;
    let is_name =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    if !is_name {
        value.expected("the name of a subprotocol, like \"graphql-ws\"");
    }
    is_name.then_some(name)
}

fn send(section: &Section<'_>, around: &Around<'_>) -> Option<SendStep> {
    around.channels.used.borrow_mut().push((ChannelKind::WebSocket, section.span.clone()));
    let content = around.scope.template(&section.get("send")?);
    let is_binary = section.truth("binary").unwrap_or(false);
    Some(SendStep { content: content?, is_binary })
}

fn receive(section: &Section<'_>, around: &Around<'_>) -> Option<ReceiveStep> {
    let kind = kind(&section.get("receive")?, ("message", "event"));
    around.channels.used.borrow_mut().extend(kind.map(|kind| (kind, section.span.clone())));
    let count = section.whole("count", 1..=u64::from(MESSAGES_AWAITED_MAX)).unwrap_or(1);
    let containing: Option<Option<Template>> =
        section.get("containing").map(|value| around.scope.template(&value));
    let event = match section.get("event") {
        Some(value) if kind == Some(ChannelKind::WebSocket) => {
            value.wrong("only events have a type; expected it after receive = \"event\"");
            None
        }
        Some(value) => value.text(),
        None => None,
    };
    let least = Duration::from_millis(1);
    let timeout = section.duration("timeout", least..=REQUEST_TIMEOUT_MAX);
    let checks = replies::checks(section, around);
    if checks.iter().any(|check| matches!(check, Check::Status(_))) {
        let what = format!("`{}.expect.status`: a message has no status", section.name);
        section.book.wrong(&section.span, what);
    }
    let extract = replies::extracts(section, around);
    let containing = match containing {
        Some(text) => Some(text?),
        None => None,
    };
    let (kind, count) = (kind?, count as u32);
    Some(ReceiveStep { kind, count, containing, event, timeout, checks, extract })
}

/// Which kind of channel one of two words means.
fn kind(value: &Value<'_>, (websocket, events): (&str, &str)) -> Option<ChannelKind> {
    match value.text()?.as_str() {
        word if word == websocket => Some(ChannelKind::WebSocket),
        word if word == events => Some(ChannelKind::Events),
        _ => {
            value.expected(format_args!("\"{websocket}\" or \"{events}\""));
            None
        }
    }
}
