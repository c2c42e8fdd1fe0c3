//! The operations of a plan as JSON, for people and for comparison: everything that a user does,
//! with the open places of templates in braces. Nobody reads it back.

use crate::plan::{
    Body, ChannelStep, Check, Class, Coding, ContentKind, DataFile, Distribution, Entries, Extract,
    ExtractFrom, HttpStep, Items, KeyLengths, MemcachedCommand, MemcachedStep, Operation, Pacing,
    Piece, Plan, Step, Template, TimeToLive, Values, Variable,
};
use serde_json::{Map, Value, json};

/// Longer texts, files that are sent among them, are told by their length.
const SHOWN_BYTES: usize = 4096;

pub(super) fn operation(plan: &Plan, operation: &Operation) -> Value {
    let pacing = match &operation.pacing {
        Pacing::None => Value::Null,
        Pacing::Think(time) => json!({ "think": distribution(time) }),
        Pacing::Cycle(time) => json!({ "cycle": distribution(time) }),
    };
    let steps: Vec<Value> = operation.steps.iter().map(|one| step(plan, one)).collect();
    json!({ "name": operation.name, "steps": steps, "pacing": pacing })
}

pub(super) fn variable(variable: &Variable) -> Value {
    json!({
        "name": variable.name,
        "initial": variable.initial.as_ref().map(|initial| template(None, initial)),
    })
}

pub(super) fn data(file: &DataFile) -> Value {
    json!({
        "name": file.name,
        "rows": file.rows.count(),
        "columns": file.rows.columns(),
        "order": format!("{:?}", file.order),
    })
}

fn distribution(distribution: &Distribution) -> Value {
    json!({ "law": format!("{distribution:?}"), "mean_s": distribution.mean().as_secs_f64() })
}

fn step(plan: &Plan, step: &Step) -> Value {
    match step {
        Step::Http(step) => http(plan, step),
        Step::Parallel(steps) => {
            let steps: Vec<Value> = steps.iter().map(|step| http(plan, step)).collect();
            json!({ "parallel": steps })
        }
        Step::Memcached(step) => memcached(plan, step),
        Step::Channel(step) => channel(plan, step),
        Step::OneOf(steps, turn) => {
            let steps: Vec<Value> = steps.iter().map(|step| http(plan, step)).collect();
            json!({ "one_of": steps, "turn": format!("{turn:?}") })
        }
        Step::Once(operation) => json!({ "once": plan.operations[*operation].name }),
        Step::Pause(time) => json!({ "pause": distribution(time) }),
        Step::NewSession => json!("new session"),
    }
}

fn channel(plan: &Plan, step: &ChannelStep) -> Value {
    let kind = step.kind().to_string();
    match step {
        ChannelStep::Open(step) => json!({
            "open": kind,
            "request": http(plan, &step.request),
            "subprotocols": step.subprotocols,
        }),
        ChannelStep::Send(step) => {
            json!({ "send": template(Some(plan), &step.content), "binary": step.is_binary })
        }
        ChannelStep::Receive(step) => json!({
            "receive": kind,
            "count": step.count,
            "containing": step.containing.as_ref().map(|text| template(Some(plan), text)),
            "event": step.event,
            "timeout_s": step.timeout.map(|time| time.as_secs_f64()),
            "checks": step.checks.iter().map(|one| check(plan, one)).collect::<Vec<_>>(),
            "extract": step.extract.iter().map(|one| extract(plan, one)).collect::<Vec<_>>(),
        }),
        ChannelStep::Close(_) => json!({ "close": kind }),
    }
}

fn memcached(plan: &Plan, step: &MemcachedStep) -> Value {
    let MemcachedStep { origins, key, command, meta } = step;
    let command = match command {
        MemcachedCommand::Get { verify, fill } => {
            let fill = fill.map(|fill| json!({ "expires": time_to_live(fill) }));
            json!({ "get": { "verify": verify, "fill": fill } })
        }
        MemcachedCommand::Set { expires } => {
            json!({ "set": { "expires": time_to_live(*expires) } })
        }
        MemcachedCommand::Delete => json!("delete"),
        MemcachedCommand::Increment { by } => json!({ "incr": { "by": by } }),
        MemcachedCommand::Touch { expires } => {
            json!({ "touch": { "expires": time_to_live(*expires) } })
        }
    };
    let key = template(Some(plan), key);
    json!({ "servers": origins, "key": key, "memcached": command, "meta": meta })
}

fn time_to_live(TimeToLive { from_s, to_s }: TimeToLive) -> Value {
    json!({ "from_s": from_s, "to_s": to_s })
}

pub(super) fn entries(entries: &Entries) -> Value {
    let weights = ContentKind::ALL.iter().zip(entries.content_weights);
    let weights = weights.map(|(kind, weight)| (kind.name().to_owned(), weight.into()));
    json!({
        "bytes": format!("{:?}", entries.bytes),
        "content": Value::Object(weights.collect::<Map<_, _>>()),
        "categories": entries.categories_max,
        "summary_share": entries.summary_share,
        "foreign_every": entries.foreign_every,
        "mark": entries.is_marked,
        "media_bytes": format!("{:?}", entries.media_bytes),
        "media": entries.media_weights,
        "words": entries.words.as_ref().map(|words| words.len()),
    })
}

pub(super) fn items(items: &Items) -> Value {
    let class = |class: &Class| {
        let Class { weight, from_bytes, to_bytes } = class;
        json!({ "weight": weight, "from_bytes": from_bytes, "to_bytes": to_bytes })
    };
    let values = match &items.values {
        Values::Classes(classes) => classes.iter().map(class).collect(),
        Values::Etc => json!("etc"),
        Values::Twitter => json!("twitter"),
    };
    let keys = match items.keys {
        KeyLengths::AsWritten => "as written",
        KeyLengths::Etc => "etc",
    };
    json!({ "values": values, "keys": keys })
}

fn http(plan: &Plan, step: &HttpStep) -> Value {
    let text = |one: &Template| template(Some(plan), one);
    let headers = step.headers.iter().map(|(name, value)| (name.clone(), text(value).into()));
    let body = match &step.body {
        Body::Empty => Value::Null,
        Body::Template(body) => text(body).into(),
        Body::Multipart(parts) => {
            let parts = parts.iter().map(|part| {
                json!({
                    "name": part.name,
                    "file_name": part.file_name,
                    "media_type": part.media_type,
                    "content": text(&part.content),
                })
            });
            json!({ "multipart": parts.collect::<Vec<_>>() })
        }
    };
    json!({
        "server": step.origin,
        "method": step.method,
        "path": text(&step.path),
        "headers": Value::Object(headers.collect::<Map<_, _>>()),
        "body": body,
        "redirects": step.redirects,
        "conditional": step.conditional,
        "cut": step.is_cut,
        "checks": step.checks.iter().map(|one| check(plan, one)).collect::<Vec<_>>(),
        "extract": step.extract.iter().map(|one| extract(plan, one)).collect::<Vec<_>>(),
        "resources": step.resources.map(|resources| json!({
            "connections": resources.connections,
            "cold_share": resources.cold,
        })),
    })
}

fn check(plan: &Plan, check: &Check) -> Value {
    let text = |one: &Template| template(Some(plan), one);
    match check {
        Check::Status(statuses) => json!({ "status": statuses }),
        Check::Bytes(from, to) => json!({ "bytes": [from, to] }),
        Check::Contains(wanted) => json!({ "contains": text(wanted) }),
        Check::Lacks(unwanted) => json!({ "lacks": text(unwanted) }),
        Check::Equals(from, value) => json!({ "value": place(from), "equals": text(value) }),
        Check::Within(from, least, most) => {
            json!({ "value": place(from), "within": [least, most] })
        }
    }
}

fn extract(plan: &Plan, extract: &Extract) -> Value {
    json!({
        "variable": plan.variables[extract.variable].name,
        "from": place(&extract.from),
        "url": extract.is_url,
        "any": extract.any,
        "required": extract.required,
    })
}

fn place(from: &ExtractFrom) -> Value {
    match from {
        ExtractFrom::Json(path) => json!({ "json": path.to_string() }),
        ExtractFrom::Header(name) => json!({ "header": name }),
        ExtractFrom::Regex(regex) => json!({ "regex": regex.as_str() }),
        ExtractFrom::Css(selector) => json!({ "css": selector.to_string() }),
        ExtractFrom::Atom(place) => json!({ "atom": place.name() }),
        ExtractFrom::Body => json!("body"),
        ExtractFrom::Status => json!("status"),
    }
}

/// With its open places in braces; those of the plan go by their names, if it is given.
fn template(plan: Option<&Plan>, template: &Template) -> String {
    template.pieces.iter().map(|one| piece(plan, one)).collect()
}

fn piece(plan: Option<&Plan>, one: &Piece) -> String {
    match one {
        Piece::Text(text) if text.len() > SHOWN_BYTES => format!("{{{} bytes}}", text.len()),
        Piece::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Piece::Key => "{key}".to_owned(),
        Piece::Other => "{other}".to_owned(),
        Piece::Nonce => "{nonce}".to_owned(),
        Piece::User => "{user}".to_owned(),
        Piece::Iteration => "{iteration}".to_owned(),
        Piece::Random(from, to) => format!("{{random:{from}..{to}}}"),
        Piece::Letters(count) => format!("{{letters:{count}}}"),
        Piece::Zipf(zipf) => format!("{{zipf:{},{}}}", zipf.count(), zipf.exponent()),
        Piece::Made(kind) => format!("{{made:{}}}", kind.name()),
        Piece::Variable(number) => match plan {
            Some(plan) => format!("{{{}}}", plan.variables[*number].name),
            None => format!("{{variable {number}}}"),
        },
        Piece::Data { file, column } => match plan.map(|plan| &plan.data[*file]) {
            Some(data) => format!("{{{}.{}}}", data.name, data.rows.columns()[*column]),
            None => format!("{{data {file}.{column}}}"),
        },
        Piece::Coded(coding, coded) => {
            let name = match coding {
                Coding::Percent => "percent",
                Coding::Word => "word",
                Coding::Json => "json",
            };
            let inner = piece(plan, coded);
            format!("{{{name}:{}}}", inner.trim_start_matches('{').trim_end_matches('}'))
        }
    }
}
