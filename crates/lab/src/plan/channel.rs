//! Steps on connections by which servers send messages unasked: WebSockets (RFC 6455) and streams
//! of server-sent events (WHATWG HTML §9.2). A user has at most one of each kind at a time, which
//! stays open from operation to operation.

use super::operation::{Check, Extract, HttpStep};
use super::template::Template;
use std::fmt;
use std::time::Duration;

/// What is spoken on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// Messages in both directions.
    WebSocket,
    /// Events from the server.
    Events,
}

impl fmt::Display for ChannelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WebSocket => "WebSocket",
            Self::Events => "event stream",
        })
    }
}

/// A step on a channel.
#[derive(Clone, Debug)]
pub enum ChannelStep {
    /// Sees to it that there is a channel.
    Open(Box<OpenStep>),
    /// Sends a message on the WebSocket.
    Send(SendStep),
    /// Waits for messages.
    Receive(Box<ReceiveStep>),
    /// Ends a channel, a WebSocket by the closing handshake.
    Close(ChannelKind),
}

impl ChannelStep {
    /// The kind of channel that it is about.
    pub fn kind(&self) -> ChannelKind {
        match self {
            Self::Open(step) => step.kind,
            Self::Send(_) => ChannelKind::WebSocket,
            Self::Receive(step) => step.kind,
            Self::Close(kind) => *kind,
        }
    }
}

/// Opens a channel, unless the user has one of this kind to the same server and path that is still
/// open. One to elsewhere is closed.
#[derive(Clone, Debug)]
pub struct OpenStep {
    /// Of what kind.
    pub kind: ChannelKind,
    /// A GET: server, path and fields. Nothing else of it is looked at. The fields of the opening
    /// handshake, and of event streams `Accept` and `Last-Event-ID`, are added.
    pub request: HttpStep,
    /// Subprotocols that are offered. The server must choose one of them, or none if there are
    /// none.
    pub subprotocols: Vec<String>,
}

/// A message to the server.
#[derive(Clone, Debug)]
pub struct SendStep {
    /// What it says.
    pub content: Template,
    /// Whether it is sent as bytes, not as a text.
    pub is_binary: bool,
}

/// Waits for messages. Each one's time is from when the operation sent something last, or else
/// began, to when it came.
#[derive(Clone, Debug)]
pub struct ReceiveStep {
    /// On which channel.
    pub kind: ChannelKind,
    /// How many messages; others are passed over.
    pub count: u32,
    /// Those that have this text.
    pub containing: Option<Template>,
    /// Of events, those of this type.
    pub event: Option<String>,
    /// Longest time for all of them; none: the plan's for a request.
    pub timeout: Option<Duration>,
    /// What must hold of each. It is looked at like a reply: the message is its body, and an
    /// event's type and id are the fields `event` and `id`.
    pub checks: Vec<Check>,
    /// What is kept in variables; with several messages it is that of the last.
    pub extract: Vec<Extract>,
}
