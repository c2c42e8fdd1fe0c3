//! Steps on WebSockets and event streams, as parts of an operation.

use super::checks::{Judge, rendered};
use super::prepared::note_template;
use super::step::Failure;
use super::user::User;
use super::written;
use crate::channel::{Asked, Channel, Channels, Line, Message, Refusal};
use crate::measure::{ErrorClass, Sample};
use crate::plan::{
    ChannelKind, ChannelStep, Check, HttpStep, OpenStep, Plan, ReceiveStep, SendStep, Template,
};
use crate::transport::{self, Reply};
use memchr::memmem;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;
use wire::websocket;

/// A step in the form in which it is carried out.
pub(crate) enum Prepared {
    Open(Box<Open>),
    Send(SendStep),
    Receive(Box<Receive>),
    Close(ChannelKind),
}

/// How a channel is opened.
pub(crate) struct Open {
    kind: ChannelKind,
    server: usize,
    wire: written::Prepared,
    subprotocols: Vec<String>,
}

/// What is waited for.
pub(crate) struct Receive {
    kind: ChannelKind,
    count: u32,
    containing: Option<Template>,
    event: Option<String>,
    timeout: Option<Duration>,
    judge: Judge,
}

impl Prepared {
    pub(crate) fn new(plan: &Plan, step: &ChannelStep) -> Self {
        match step {
            ChannelStep::Open(step) => Self::Open(Box::new(Open::new(plan, step))),
            ChannelStep::Send(step) => Self::Send(step.clone()),
            ChannelStep::Receive(step) => {
                let ReceiveStep { kind, count, timeout, .. } = **step;
                let judge = Judge::new(&step.checks, &step.extract);
                let (containing, event) = (step.containing.clone(), step.event.clone());
                Self::Receive(Box::new(Receive { kind, count, containing, event, timeout, judge }))
            }
            ChannelStep::Close(kind) => Self::Close(*kind),
        }
    }
}

impl Open {
    fn new(plan: &Plan, step: &OpenStep) -> Self {
        let mut request = HttpStep::new("GET", step.request.path.clone());
        request.headers.clone_from(&step.request.headers);
        let has = |request: &HttpStep, name: &str| {
            request.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        let mut add = |name: &str, value: &str| {
            if !has(&request, name) {
                request.headers.push((name.to_owned(), Template::fixed(value)));
            }
        };
        let mut transport = plan.transport.clone();
        match step.kind {
            ChannelKind::Events => add("Accept", "text/event-stream"),
            ChannelKind::WebSocket => {
                // `Connection` says something else.
                transport.keep_alive = true;
                add("Connection", "Upgrade");
                add("Upgrade", "websocket");
                add("Sec-WebSocket-Version", "13");
                if !step.subprotocols.is_empty() {
                    add("Sec-WebSocket-Protocol", &step.subprotocols.join(", "));
                }
            }
        }
        let server = step.request.origin;
        let wire = written::Prepared::new(&plan.origins[server], &request, &transport);
        Self { kind: step.kind, server, wire, subprotocols: step.subprotocols.clone() }
    }
}

/// Notes the data files that a step needs.
pub(super) fn note_data(step: &ChannelStep, data: &mut BTreeSet<usize>) {
    match step {
        ChannelStep::Open(step) => {
            note_template(&step.request.path, data);
            step.request.headers.iter().for_each(|(_, value)| note_template(value, data));
        }
        ChannelStep::Send(step) => note_template(&step.content, data),
        ChannelStep::Receive(step) => {
            step.containing.iter().for_each(|text| note_template(text, data));
            for check in &step.checks {
                match check {
                    Check::Contains(text) | Check::Lacks(text) | Check::Equals(_, text) => {
                        note_template(text, data);
                    }
                    Check::Status(_) | Check::Bytes(..) | Check::Within(..) => {}
                }
            }
        }
        ChannelStep::Close(_) => {}
    }
}

impl User {
    /// One step on a channel. What comes on the user's other channel meanwhile is seen to.
    pub(super) async fn on_channel(&mut self, step: &Prepared) -> Result<(), Failure> {
        let mut channels = match self.channels.take() {
            Some(channels) => channels,
            None => Box::new(Channels::new(self.plan().seed, self.number)),
        };
        let outcome = match step {
            Prepared::Open(open) => self.open(&mut channels, open).await,
            Prepared::Send(_) => self.use_one(&mut channels, ChannelKind::WebSocket, step).await,
            Prepared::Receive(receive) => self.use_one(&mut channels, receive.kind, step).await,
            Prepared::Close(kind) => {
                let deadline = self.desk.deadline();
                channels.close(*kind, deadline).await.map_err(Failure::Http)
            }
        };
        self.channels = Some(channels);
        outcome
    }

    async fn use_one(
        &mut self,
        channels: &mut Channels,
        kind: ChannelKind,
        step: &Prepared,
    ) -> Result<(), Failure> {
        let Some(mut channel) = channels.lift(kind) else {
            return Err(Failure::Check(format!(
                "the user has no open {kind}: begin the operation with the step that opens one, \
                 which keeps one that is open"
            )));
        };
        let outcome = channels.beside(async {
            match step {
                Prepared::Send(send) => self.send(&mut channel, send).await,
                Prepared::Receive(receive) => self.receive(&mut channel, receive).await,
                Prepared::Open(_) | Prepared::Close(_) => Ok(()),
            }
        });
        let outcome = outcome.await;
        // After anything that went wrong on it, it is not used again.
        match outcome {
            Err(Failure::Http(_)) => channels.let_go(channel),
            _ => channels.put(channel),
        }
        outcome
    }

    async fn open(&mut self, channels: &mut Channels, open: &Open) -> Result<(), Failure> {
        self.write_wire(0, &open.wire)?;
        let path = self.lanes[0].written.path();
        if let Some(mut old) = channels.lift(open.kind) {
            let is_there = old.is_to(open.server, path);
            match old.ended().map(transport::Failure::class) {
                None if is_there => {
                    channels.put(old);
                    return Ok(());
                }
                // What the server said is wrong, and nobody has been told so yet.
                Some(ErrorClass::Malformed) => {
                    let failure = old.take_end();
                    channels.let_go(old);
                    return Err(Failure::Http(failure));
                }
                None => channels.put(old),
                Some(_) => channels.let_go(old),
            }
            let deadline = self.desk.deadline();
            channels.close(open.kind, deadline).await.map_err(Failure::Http)?;
        }
        let secret = channels.secret();
        let last_id = channels.last_id(open.server, self.lanes[0].written.path()).to_vec();
        let channel = channels.beside(self.connect(open, secret, &last_id)).await?;
        channels.opened += 1;
        channels.put(channel);
        Ok(())
    }

    /// Opens a channel with the request that has been begun.
    async fn connect(
        &mut self,
        open: &Open,
        secret: crate::random::Random,
        last_id: &[u8],
    ) -> Result<Channel, Failure> {
        let desk = Rc::clone(&self.desk);
        let mut secret = secret;
        let line =
            Line::open(&desk.servers[open.server], self.memory.link.as_ref(), desk.deadline())
                .await;
        let line = line.map_err(Failure::Http)?;
        let jar = &self.memory.jars[open.server];
        let written = &mut self.lanes[0].written;
        written.push_memory(jar.borrow().line(), None);
        let nonce = u128::from(secret.number()) << 64 | u128::from(secret.number());
        let key = websocket::key(nonce.to_be_bytes());
        match open.kind {
            ChannelKind::WebSocket => written.push_field(b"Sec-WebSocket-Key: ", &key),
            ChannelKind::Events => written.push_field(b"Last-Event-ID: ", last_id),
        }
        written.finish();
        let (path, request) = (written.path(), written.bytes());
        let asked = Asked { server: open.server, path, request, jar };
        self.trip.send();
        let opened = match open.kind {
            ChannelKind::WebSocket => {
                Channel::web_socket(line, &asked, &key, &open.subprotocols, secret).await
            }
            ChannelKind::Events => Channel::events(line, &asked).await,
        };
        opened.map_err(|refusal| match refusal {
            Refusal::Transport(failure) => Failure::Http(failure),
            Refusal::Status(status) => {
                self.trip.statuses.borrow_mut().push(status);
                Failure::Status(status)
            }
            Refusal::Wrong(why) => Failure::Check(why),
        })
    }

    async fn send(&mut self, channel: &mut Channel, step: &SendStep) -> Result<(), Failure> {
        let desk = Rc::clone(&self.desk);
        let message = rendered(&step.content, &desk.brief.plan, &mut self.mind)?;
        if !step.is_binary && std::str::from_utf8(&message).is_err() {
            let why = "a text message is not UTF-8: send it with `binary = true`";
            return Err(Failure::Check(why.to_owned()));
        }
        self.trip.send();
        let sent = channel.send(&message, step.is_binary, desk.deadline()).await;
        sent.map_err(Failure::Http)
    }

    async fn receive(&mut self, channel: &mut Channel, step: &Receive) -> Result<(), Failure> {
        let desk = Rc::clone(&self.desk);
        let plan = &desk.brief.plan;
        let now = Instant::now();
        let since = self.trip.last_sent.get().unwrap_or(now);
        let deadline =
            desk.brief.timetable.deadline(now, step.timeout.unwrap_or(plan.request_timeout));
        let wanted = match &step.containing {
            Some(text) => rendered(text, plan, &mut self.mind)?,
            None => Vec::new(),
        };
        let wanted = memmem::Finder::new(&wanted);
        let (mut came, mut passed_over) = (0, 0);
        while came < step.count {
            let message = match channel.next(deadline).await {
                Ok(message) => message,
                Err(transport::Failure::Timeout) => {
                    let waited = (Instant::now() - now).as_secs_f64();
                    let why = format!(
                        "waited {waited:.3} s for {} messages; {came} came, and {passed_over} \
                         others",
                        step.count
                    );
                    return Err(Failure::Http(transport::Failure::Silent(why)));
                }
                Err(failure) => return Err(Failure::Http(failure)),
            };
            let is_event = step.event.as_ref().is_none_or(|event| message.is_event(event));
            if !is_event || wanted.find(&message.body).is_none() {
                passed_over += 1;
                continue;
            }
            came += 1;
            desk.note_message(self.operation, since, message.at);
            self.judge_message(step, message)?;
        }
        Ok(())
    }

    /// Looks at a message as at a reply.
    fn judge_message(&mut self, step: &Receive, message: Message) -> Result<(), Failure> {
        let kept = &mut self.lanes[0].kept;
        let body_bytes = message.body.len() as u64;
        (kept.fields, kept.body) = (message.fields, message.body);
        let reply = Reply { status: 200, keep_alive: true, body_bytes };
        // A message has no address: what it refers to is on the first server.
        let whole = (&reply, &*kept, (0, &b"/"[..]));
        let (plan, finder) = (&self.desk.brief.plan, &mut self.desk.finder.borrow_mut());
        let outcome = step.judge.judge(whole, plan, &mut self.mind, finder);
        if let Err(failure) = &outcome {
            self.desk.note_sample(|| {
                Sample::new(self.operation, failure.to_string(), &reply, &self.lanes[0].kept)
            });
        }
        outcome
    }
}
