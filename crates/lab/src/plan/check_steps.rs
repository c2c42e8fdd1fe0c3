//! Whether the steps of a plan can be carried out: what they name exists, and what they send can be
//! sent.

use super::channel::{ChannelStep, OpenStep, ReceiveStep};
use super::operation::{Body, Check, ExtractFrom, HttpStep, MemcachedStep, Step, Turn};
use super::template::{Piece, Template};
use super::zipf::Zipf;
use super::{Plan, PlanError, Protocol};
use crate::limits;
use wire::memcached::check_key;

/// Checks every step, and gives the size of the largest body before anything is filled in.
pub(super) fn check(plan: &Plan) -> Result<usize, PlanError> {
    check_zipf(plan.keys.zipf, plan.keys.count)?;
    if let Some(fault) = plan.entries.fault() {
        return Err(PlanError::Entries(fault));
    }
    for variable in &plan.variables {
        variable.initial.iter().try_for_each(|template| check_template(plan, template))?;
    }
    let mut largest_body = 0;
    for step in plan.operations.iter().flat_map(|operation| &operation.steps) {
        match step {
            Step::Http(step) => largest_body = largest_body.max(check_http(plan, step)?),
            Step::Parallel(steps) => {
                check_parallel(steps.len())?;
                let sizes = steps.iter().map(|step| check_http(plan, step));
                let sum = sizes.sum::<Result<usize, _>>()?;
                largest_body = largest_body.max(sum);
            }
            Step::Memcached(step) => check_memcached(plan, step)?,
            Step::Channel(step) => check_channel(plan, step)?,
            Step::OneOf(steps, _) if steps.is_empty() => {
                return Err(PlanError::Zero("the number of requests to choose from"));
            }
            Step::OneOf(steps, turn) => {
                if let Turn::OfRow(file) = turn {
                    exists("data file", *file, plan.data.len())?;
                }
                for step in steps {
                    largest_body = largest_body.max(check_http(plan, step)?);
                }
            }
            Step::Once(operation) => check_once(plan, *operation)?,
            Step::Pause(_) | Step::NewSession => {}
        }
    }
    Ok(largest_body)
}

/// What is done once does nothing once itself: there is no end to it otherwise.
fn check_once(plan: &Plan, operation: usize) -> Result<(), PlanError> {
    exists("operation", operation, plan.operations.len())?;
    let steps = &plan.operations[operation].steps;
    match steps.iter().any(|step| matches!(step, Step::Once(_))) {
        true => Err(PlanError::Once(plan.operations[operation].name.clone())),
        false => Ok(()),
    }
}

fn check_parallel(count: usize) -> Result<(), PlanError> {
    match count {
        1..=limits::PARALLEL_MAX => Ok(()),
        _ => Err(PlanError::Parallel(count)),
    }
}

fn check_zipf(exponent: f64, count: u64) -> Result<(), PlanError> {
    let keys = exponent == 0.0 || (1..=limits::ZIPF_KEYS_MAX).contains(&count);
    match (0.0..=limits::ZIPF_EXPONENT_MAX).contains(&exponent) && keys && count > 0 {
        true => Ok(()),
        false => Err(PlanError::Zipf { exponent, count }),
    }
}

fn check_template(plan: &Plan, template: &Template) -> Result<(), PlanError> {
    template.pieces.iter().try_for_each(|piece| check_piece(plan, piece))
}

fn check_piece(plan: &Plan, piece: &Piece) -> Result<(), PlanError> {
    match piece {
        Piece::Variable(number) => exists("variable", *number, plan.variables.len()),
        Piece::Data { file, column } => {
            exists("data file", *file, plan.data.len())?;
            exists("column", *column, plan.data[*file].rows.columns().len())
        }
        Piece::Zipf(zipf) => check_zipf(Zipf::exponent(zipf), zipf.count()),
        Piece::Coded(_, piece) => check_piece(plan, piece),
        _ => Ok(()),
    }
}

fn exists(what: &'static str, number: usize, count: usize) -> Result<(), PlanError> {
    if number < count { Ok(()) } else { Err(PlanError::Unknown { what, number }) }
}

fn check_memcached(plan: &Plan, step: &MemcachedStep) -> Result<(), PlanError> {
    if let Some(fault) = plan.items.fault() {
        return Err(PlanError::Items(fault));
    }
    if step.origins.is_empty() {
        return Err(PlanError::Zero("the number of servers of a cache"));
    }
    step.origins.iter().try_for_each(|origin| exists("server", *origin, plan.origins.len()))?;
    check_template(plan, &step.key)?;
    let text = step.key.sample();
    check_key(&text).map_err(|fault| PlanError::CacheKey(text.escape_ascii().to_string(), fault))
}

fn check_channel(plan: &Plan, step: &ChannelStep) -> Result<(), PlanError> {
    let kind = step.kind();
    let mut steps = plan.operations.iter().flat_map(|operation| &operation.steps);
    let opens = |other: &Step| match other {
        Step::Channel(ChannelStep::Open(open)) => open.kind == kind,
        _ => false,
    };
    if !steps.any(opens) {
        let what = format!("no step opens the {kind} that another step needs");
        return Err(PlanError::Channel(what));
    }
    match step {
        ChannelStep::Open(step) => check_open(plan, step),
        ChannelStep::Send(step) => check_template(plan, &step.content),
        ChannelStep::Receive(step) => check_receive(plan, step),
        ChannelStep::Close(_) => Ok(()),
    }
}

fn check_open(plan: &Plan, step: &OpenStep) -> Result<(), PlanError> {
    check_http(plan, &step.request)?;
    let own = |name: &str| {
        let is = |own: &&str| name.eq_ignore_ascii_case(own);
        CHANNEL_FIELDS.iter().any(is)
    };
    if let Some((name, _)) = step.request.headers.iter().find(|(name, _)| own(name)) {
        return Err(PlanError::OwnHeader(name.clone()));
    }
    if let Some(wrong) = step.subprotocols.iter().find(|name| !is_token(name)) {
        return Err(PlanError::Header(format!("Sec-WebSocket-Protocol: {wrong}")));
    }
    match plan.transport.protocol {
        Protocol::Http1 { .. } => Ok(()),
        Protocol::Http2 { .. } => Err(PlanError::Channel(format!(
            "a {} is opened over HTTP/1.1; got a transport of HTTP/2",
            step.kind
        ))),
    }
}

fn check_receive(plan: &Plan, step: &ReceiveStep) -> Result<(), PlanError> {
    if step.count == 0 || step.count > limits::MESSAGES_AWAITED_MAX {
        return Err(PlanError::Channel(format!(
            "a step waits for 1 to {} messages; got {}",
            limits::MESSAGES_AWAITED_MAX,
            step.count
        )));
    }
    if step.timeout.is_some_and(|time| time.is_zero()) {
        return Err(PlanError::Zero("the time to wait for a message"));
    }
    if let Some(got) = step.timeout.filter(|time| *time > limits::REQUEST_TIMEOUT_MAX) {
        let (what, max) = ("the time to wait for a message", limits::REQUEST_TIMEOUT_MAX);
        return Err(PlanError::TooLong { what, got, max });
    }
    step.containing.iter().try_for_each(|text| check_template(plan, text))?;
    step.checks.iter().try_for_each(|check| check_check(plan, check))?;
    for extract in &step.extract {
        exists("variable", extract.variable, plan.variables.len())?;
        check_from(&extract.from)?;
    }
    Ok(())
}

/// The size of its body before anything is filled in.
fn check_http(plan: &Plan, step: &HttpStep) -> Result<usize, PlanError> {
    exists("server", step.origin, plan.origins.len())?;
    if !is_token(&step.method) || step.method == "CONNECT" {
        return Err(PlanError::Method(step.method.clone()));
    }
    check_template(plan, &step.path)?;
    check_path(&step.path)?;
    check_headers(plan, step)?;
    if step.redirects > limits::REDIRECTS_MAX {
        return Err(PlanError::Redirects(step.redirects));
    }
    for check in &step.checks {
        check_check(plan, check)?;
    }
    for extract in &step.extract {
        exists("variable", extract.variable, plan.variables.len())?;
        check_from(&extract.from)?;
    }
    if let Some(resources) = step.resources {
        check_parallel(resources.connections)?;
        if !(0.0..=1.0).contains(&resources.cold) {
            return Err(PlanError::Cold(resources.cold));
        }
    }
    let whole_connections = Protocol::Http1 { pipeline: 1 };
    if step.is_cut && plan.transport.protocol != whole_connections {
        return Err(PlanError::Cut);
    }
    check_body(plan, &step.body)
}

/// What is filled in is looked at when it is.
fn check_path(path: &Template) -> Result<(), PlanError> {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => text.iter().all(|byte| *byte > b' ' && *byte != 0x7F),
        _ => true,
    };
    let begins = match path.pieces.first() {
        Some(Piece::Text(text)) => text.starts_with(b"/"),
        first => first.is_some(),
    };
    if begins && path.pieces.iter().all(text) {
        return Ok(());
    }
    let text = path.pieces.iter().map(|piece| match piece {
        Piece::Text(text) => String::from_utf8_lossy(text).into_owned(),
        _ => "{...}".to_owned(),
    });
    Err(PlanError::Path(text.collect()))
}

/// Whether a field of this name may be sent.
pub(crate) fn check_field(name: &str) -> Result<(), PlanError> {
    if !is_token(name) {
        return Err(PlanError::Header(name.to_owned()));
    }
    match OWN_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        true => Err(PlanError::OwnHeader(name.to_owned())),
        false => Ok(()),
    }
}

fn check_headers(plan: &Plan, step: &HttpStep) -> Result<(), PlanError> {
    for (name, value) in &step.headers {
        check_template(plan, value)?;
        if !is_token(name) || !value.pieces.iter().all(is_field_value) {
            return Err(PlanError::Header(name.clone()));
        }
        let is = |own: &&str| name.eq_ignore_ascii_case(own);
        let multipart = matches!(step.body, Body::Multipart(_));
        check_field(name)?;
        let own =
            (step.conditional && VALIDATORS.iter().any(is)) || (multipart && is(&"Content-Type"));
        if own {
            return Err(PlanError::OwnHeader(name.clone()));
        }
    }
    Ok(())
}

fn check_body(plan: &Plan, body: &Body) -> Result<usize, PlanError> {
    let bytes = match body {
        Body::Empty => 0,
        Body::Template(template) => {
            check_template(plan, template)?;
            template.fixed_bytes()
        }
        Body::Multipart(parts) => {
            for part in parts {
                check_template(plan, &part.content)?;
                let media_type = part.media_type.as_deref().unwrap_or_default();
                if !is_field_text(media_type.as_bytes()) {
                    return Err(PlanError::Header("Content-Type".to_owned()));
                }
            }
            parts.iter().map(|part| part.content.fixed_bytes()).sum()
        }
    };
    if bytes > limits::REQUEST_BODY_BYTES_MAX {
        return Err(PlanError::BodyTooLarge(bytes));
    }
    let made = |piece: &Piece| match piece {
        Piece::Made(kind) => plan.entries.largest(*kind),
        _ => 0,
    };
    match body {
        Body::Template(template) => Ok(bytes + template.pieces.iter().map(made).sum::<usize>()),
        _ => Ok(bytes),
    }
}

fn check_check(plan: &Plan, check: &Check) -> Result<(), PlanError> {
    match check {
        Check::Status(_) => Ok(()),
        Check::Bytes(from, to) if from > to => {
            Err(PlanError::Range(format!("{from} bytes"), format!("{to}")))
        }
        Check::Bytes(..) => Ok(()),
        Check::Contains(template) | Check::Lacks(template) => check_template(plan, template),
        Check::Equals(from, template) => {
            check_from(from)?;
            check_template(plan, template)
        }
        Check::Within(from, least, most) if least <= most => check_from(from),
        Check::Within(_, least, most) => Err(PlanError::Range(least.to_string(), most.to_string())),
    }
}

fn check_from(from: &ExtractFrom) -> Result<(), PlanError> {
    match from {
        ExtractFrom::Header(name) if !is_token(name) => Err(PlanError::Header(name.clone())),
        _ => Ok(()),
    }
}

/// Fields that the users themselves keep right.
const OWN_FIELDS: [&str; 4] = ["Content-Length", "Transfer-Encoding", "Connection", "Cookie"];

/// Fields with which channels are opened (RFC 6455 §4.1, WHATWG HTML §9.2.4).
const CHANNEL_FIELDS: [&str; 6] = [
    "Upgrade",
    "Last-Event-ID",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Extensions",
];

/// Fields of conditional requests (RFC 9110 §13.1), which users keep right where they make them.
const VALIDATORS: [&str; 2] = ["If-None-Match", "If-Modified-Since"];

/// A token of RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    let is_tchar = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(is_tchar)
}

/// What is filled in is looked at when it is.
fn is_field_value(piece: &Piece) -> bool {
    match piece {
        Piece::Text(text) => is_field_text(text),
        _ => true,
    }
}

/// Visible characters, spaces and tabs (RFC 9110 §5.5): nothing that could end the field.
fn is_field_text(text: &[u8]) -> bool {
    text.iter().all(|b| *b == b'\t' || (*b >= b' ' && *b != 0x7F))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ChannelKind, DataFile, Keys, Order, Resources, Rows};
    use std::sync::Arc;

    /// Why a plan is refused whose step and keys were changed.
    fn refusal(change: impl FnOnce(&mut Plan, &mut HttpStep)) -> PlanError {
        let mut plan = Plan::hit("http://a/".parse().unwrap());
        plan.check().unwrap();
        let mut step = HttpStep::new("POST", Template::fixed("/"));
        change(&mut plan, &mut step);
        plan.operations[0].steps = vec![Step::Http(Box::new(step))];
        plan.check().unwrap_err()
    }

    fn of(pieces: Vec<Piece>) -> Template {
        Template { pieces }
    }

    #[test]
    fn bounds_are_kept() {
        let more = limits::REDIRECTS_MAX + 1;
        assert_eq!(refusal(|_, step| step.redirects = more), PlanError::Redirects(more));
        let resources = |connections, cold| Some(Resources { connections, cold });
        let many = limits::PARALLEL_MAX + 1;
        let parallel = refusal(|_, step| step.resources = resources(many, 0.4));
        assert_eq!(parallel, PlanError::Parallel(many));
        let none = refusal(|_, step| step.resources = resources(0, 0.4));
        assert_eq!(none, PlanError::Parallel(0));
        let cold = refusal(|_, step| step.resources = resources(1, 1.5));
        assert_eq!(cold, PlanError::Cold(1.5));
        let keys = |count, zipf| refusal(|plan, _| plan.keys = Keys { count, zipf });
        let (count, exponent) = (limits::ZIPF_KEYS_MAX + 1, limits::ZIPF_EXPONENT_MAX + 0.1);
        assert_eq!(keys(count, 1.0), PlanError::Zipf { exponent: 1.0, count });
        assert_eq!(keys(10, exponent), PlanError::Zipf { exponent, count: 10 });
        assert_eq!(keys(0, 0.0), PlanError::Zero("the number of keys"));
    }

    /// Why these steps are refused after one that opens a WebSocket.
    fn refusal_of(step: ChannelStep, change: impl FnOnce(&mut Plan, &mut OpenStep)) -> PlanError {
        let mut plan = Plan::hit("http://a/".parse().unwrap());
        let request = HttpStep::new("GET", Template::fixed("/"));
        let kind = ChannelKind::WebSocket;
        let mut open = OpenStep { kind, request, subprotocols: Vec::new() };
        change(&mut plan, &mut open);
        let open = Step::Channel(ChannelStep::Open(Box::new(open)));
        plan.operations[0].steps = vec![open, Step::Channel(step)];
        plan.check().unwrap_err()
    }

    #[test]
    fn channels_keep_their_bounds() {
        let kind = ChannelKind::WebSocket;
        let receive = |count, timeout| {
            let (checks, extract) = (Vec::new(), Vec::new());
            let (containing, event) = (None, None);
            let step = ReceiveStep { kind, count, containing, event, timeout, checks, extract };
            refusal_of(ChannelStep::Receive(Box::new(step)), |_, _| {}).to_string()
        };
        let more = limits::MESSAGES_AWAITED_MAX + 1;
        assert!(receive(more, None).ends_with(&format!("got {more}")));
        assert!(receive(0, None).ends_with("got 0"));
        let long = limits::REQUEST_TIMEOUT_MAX * 2;
        assert!(receive(1, Some(long)).contains("must be at most"));
        let close = || ChannelStep::Close(ChannelKind::Events);
        let unopened = refusal_of(close(), |_, _| {}).to_string();
        assert_eq!(unopened, "no step opens the event stream that another step needs");
        let own = refusal_of(ChannelStep::Close(kind), |_, open| {
            open.request.headers = vec![("upgrade".to_owned(), Template::fixed("h2c"))];
        });
        assert_eq!(own, PlanError::OwnHeader("upgrade".to_owned()));
        let http2 = refusal_of(ChannelStep::Close(kind), |plan, _| {
            plan.transport.protocol = Protocol::Http2 { streams: 1 };
        });
        assert_eq!(
            http2.to_string(),
            "a WebSocket is opened over HTTP/1.1; got a transport of HTTP/2"
        );
        let named = refusal_of(ChannelStep::Close(kind), |_, open| {
            open.subprotocols = vec!["a b".to_owned()];
        });
        assert!(matches!(named, PlanError::Header(_)), "{named}");
    }

    #[test]
    fn what_is_named_exists() {
        let unknown = |what, number| PlanError::Unknown { what, number };
        assert_eq!(refusal(|_, step| step.origin = 1), unknown("server", 1));
        let variable =
            of(vec![Piece::Coded(crate::plan::Coding::Json, Box::new(Piece::Variable(0)))]);
        let body = refusal(|_, step| step.body = Body::Template(variable.clone()));
        assert_eq!(body, unknown("variable", 0));
        let cell = |column| of(vec![Piece::Text(b"/".to_vec()), Piece::Data { file: 0, column }]);
        assert_eq!(refusal(|_, step| step.path = cell(0)), unknown("data file", 0));
        let rows = Arc::new(Rows::lines(b"row").unwrap());
        let data = DataFile { name: "f".to_owned(), rows, order: Order::Random };
        let column = refusal(|plan, step| {
            plan.data.push(data);
            step.path = cell(1);
        });
        assert_eq!(column, unknown("column", 1));
    }

    #[test]
    fn what_cannot_be_sent_or_hold_is_refused() {
        for path in ["", "x", "/a b", "/\r\nX: y"] {
            let refused = refusal(|_, step| step.path = Template::fixed(path));
            assert_eq!(refused, PlanError::Path(path.to_owned()));
        }
        let header = |name: &str| {
            let name = name.to_owned();
            refusal(|_, step| {
                step.conditional = true;
                step.body = Body::Multipart(Vec::new());
                step.headers = vec![(name, Template::fixed("x"))];
            })
        };
        for own in ["Cookie", "if-none-match", "content-type", "Content-Length"] {
            assert_eq!(header(own), PlanError::OwnHeader(own.to_owned()));
        }
        assert_eq!(header("a b"), PlanError::Header("a b".to_owned()));
        let range = refusal(|_, step| step.checks = vec![Check::Bytes(2, 1)]);
        assert_eq!(range.to_string(), "a check can never hold: from 2 bytes to 1 there is nothing");
        let nan = Check::Within(ExtractFrom::Status, f64::NAN, 1.0);
        assert!(matches!(refusal(|_, step| step.checks = vec![nan]), PlanError::Range(..)));
    }
}
