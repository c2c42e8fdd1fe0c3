//! The description of the interface, as OpenAPI 3.1 has it, made from the surface's table: what is
//! not in the table is not described, and nothing is described twice.

use crate::http::problems;
use crate::observe::metrics;
use crate::surface::{ALWAYS, Content, Parameter, Place, Reply, Row, Template};
use hyper::Method;
use repository::limits::{COLLECTION_NAME_BYTES_MAX, KEY_BYTES_MAX};
use serde_json::{Map, Value, json};

/// The whole document.
pub(crate) fn document() -> String {
    let paths: Map<String, Value> =
        Template::ALL.into_iter().map(|t| (t.path().to_owned(), path_item(t))).collect();
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sarsen",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Documents in collections, each request one serializable transaction. \
                The application's own pages are not described here.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": { "Problem": problem_schema(), "Health": health_schema() },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Made by `sarsen token create`. Needed once there is one.",
                },
            },
        },
    });
    document.to_string()
}

fn path_item(template: Template) -> Value {
    let mut item = Map::new();
    let parameters: Vec<Value> = path_parameters(template.path()).map(path_parameter).collect();
    if !parameters.is_empty() {
        item.insert("parameters".to_owned(), Value::Array(parameters));
    }
    for row in template.rows() {
        item.insert(row.method.as_str().to_ascii_lowercase(), operation(row));
        if row.method == Method::GET {
            item.insert("head".to_owned(), head(row));
        }
    }
    item.insert("options".to_owned(), options(template));
    Value::Object(item)
}

fn operation(row: &Row) -> Value {
    let mut operation = Map::new();
    operation.insert("operationId".to_owned(), json!(row.id));
    operation.insert("summary".to_owned(), json!(row.summary));
    let parameters: Vec<Value> = row.parameters.iter().map(parameter).collect();
    operation.insert("parameters".to_owned(), Value::Array(parameters));
    if !row.accepts.is_empty() {
        let content: Map<String, Value> =
            row.accepts.iter().map(|one| ((*one).to_owned(), json!({}))).collect();
        operation.insert("requestBody".to_owned(), json!({ "required": true, "content": content }));
    }
    if is_guarded(row.template) {
        // An empty requirement: where no token is configured, none is needed.
        operation.insert("security".to_owned(), json!([{ "token": [] }, {}]));
    }
    operation.insert("responses".to_owned(), responses(row, true));
    Value::Object(operation)
}

/// As GET, and without content (RFC 9110 §9.3.2).
fn head(row: &Row) -> Value {
    let mut operation = operation(row);
    operation["operationId"] = json!(format!("{}Head", row.id));
    operation["summary"] = json!(format!("{}; the head alone", row.summary));
    operation["responses"] = responses(row, false);
    operation
}

fn options(template: Template) -> Value {
    let id = template.rows().next().map_or("", |row| row.id);
    json!({
        "operationId": format!("{id}Options"),
        "summary": "List the methods",
        "responses": {
            "204": { "description": "Allow lists them", "headers": { "Allow": field() } },
            "400": response(&[reply(400, "not well formed", Content::Problem)], true),
            "414": response(&[reply(414, "the URI is too long", Content::Problem)], true),
            "404": response(&[reply(404, "there is nothing here", Content::Problem)], true),
            "421": response(&[reply(421, "not known by that name", Content::Problem)], true),
        },
    })
}

const fn reply(status: u16, about: &'static str, content: Content) -> Reply {
    Reply { status, about, content, fields: &[] }
}

/// What whoever has no token, or one that is not enough, is told.
const REFUSALS: &[Reply] = &[
    reply(400, "a token in the URI", Content::Problem),
    reply(401, "a token is needed, or the one that came is not valid", Content::Problem),
    reply(403, "the token does not allow this", Content::Problem),
    reply(429, "too many tokens were refused", Content::Problem),
];

fn is_guarded(template: Template) -> bool {
    let path = template.path();
    path == "/db" || path.starts_with("/db/") || matches!(path, "/tx" | "/metrics")
}

/// By status, in order; what comes with the same status for several reasons is one entry.
fn responses(row: &Row, with_content: bool) -> Value {
    let refusals = if is_guarded(row.template) { REFUSALS } else { &[] };
    let all: Vec<&Reply> = row.responses.iter().chain(ALWAYS).chain(refusals).collect();
    let mut statuses: Vec<u16> = all.iter().map(|reply| reply.status).collect();
    statuses.sort_unstable();
    statuses.dedup();
    let entry = |status: u16| {
        let same: Vec<Reply> =
            all.iter().filter(|reply| reply.status == status).map(|reply| copy(reply)).collect();
        (status.to_string(), response(&same, with_content))
    };
    Value::Object(statuses.into_iter().map(entry).collect())
}

fn copy(reply: &Reply) -> Reply {
    Reply { status: reply.status, about: reply.about, content: reply.content, fields: reply.fields }
}

/// Replies of one status.
fn response(replies: &[Reply], with_content: bool) -> Value {
    let mut abouts: Vec<&str> = replies.iter().map(|reply| reply.about).collect();
    abouts.dedup();
    let mut response = Map::new();
    response.insert("description".to_owned(), json!(abouts.join("; or ")));
    let fields: Map<String, Value> = replies
        .iter()
        .flat_map(|reply| reply.fields)
        .map(|name| ((*name).to_owned(), field()))
        .collect();
    if !fields.is_empty() {
        response.insert("headers".to_owned(), Value::Object(fields));
    }
    let content: Map<String, Value> =
        replies.iter().flat_map(|reply| content(reply.content)).collect();
    // A reply to a creation has content if the client prefers that. OpenAPI cannot say that content
    // may be there or not, only leave it open.
    let is_open = replies.iter().any(|reply| reply.status == 201);
    if with_content && !is_open && !content.is_empty() {
        response.insert("content".to_owned(), Value::Object(content));
    }
    Value::Object(response)
}

fn content(content: Content) -> Vec<(String, Value)> {
    let entry =
        |media_type: &str, schema: Value| (media_type.to_owned(), json!({ "schema": schema }));
    let text = || json!({ "type": "string" });
    let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    match content {
        Content::None => Vec::new(),
        Content::Document => vec![entry("*/*", json!({}))],
        Content::Json => vec![entry("application/json", json!({}))],
        Content::Text => vec![entry("text/plain", text())],
        Content::Health => vec![entry("application/health+json", reference("Health"))],
        Content::Metrics => {
            let media_type = metrics::MEDIA_TYPE.split(';').next().unwrap_or_default();
            vec![entry(media_type, text())]
        }
        Content::Events => {
            vec![entry("text/event-stream", text()), entry("application/json", json!({}))]
        }
        Content::Page => vec![entry("text/html", text()), entry("text/markdown", text())],
        Content::Problem => vec![entry("application/problem+json", reference("Problem"))],
    }
}

fn field() -> Value {
    json!({ "schema": { "type": "string" } })
}

fn parameter(parameter: &Parameter) -> Value {
    let place = match parameter.place {
        Place::Query => "query",
        Place::Header => "header",
    };
    json!({
        "name": parameter.name,
        "in": place,
        "description": parameter.about,
        "schema": { "type": "string" },
    })
}

/// The names in braces of a template.
fn path_parameters(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('{').skip(1).filter_map(|rest| rest.split('}').next())
}

fn path_parameter(name: &str) -> Value {
    let schema = match name {
        "collection" => json!({
            "type": "string",
            "pattern": format!("^[a-z][a-z0-9_-]{{0,{}}}$", COLLECTION_NAME_BYTES_MAX - 1),
        }),
        "key" => json!({ "type": "string", "minLength": 1, "maxLength": KEY_BYTES_MAX }),
        _ => json!({ "type": "string", "enum": problems::names().collect::<Vec<_>>() }),
    };
    json!({ "name": name, "in": "path", "required": true, "schema": schema })
}

/// RFC 9457 §3.1.
fn problem_schema() -> Value {
    json!({
        "type": "object",
        "description": "A problem (RFC 9457)",
        "properties": {
            "type": { "type": "string", "format": "uri-reference", "pattern": "^/errors/[a-z-]+$" },
            "title": { "type": "string" },
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "detail": { "type": "string" },
        },
        "required": ["type", "title", "status", "detail"],
    })
}

fn health_schema() -> Value {
    let status = json!({ "type": "string", "enum": ["pass", "fail"] });
    json!({
        "type": "object",
        "properties": {
            "status": status,
            "checks": {
                "type": "object",
                "additionalProperties": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "status": status,
                            "observedValue": { "type": "integer" },
                            "observedUnit": { "type": "string" },
                            "output": { "type": "string" },
                        },
                        "required": ["status"],
                    },
                },
            },
        },
        "required": ["status", "checks"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::SERVER_METHODS;
    use std::collections::BTreeSet;

    fn parsed() -> Value {
        serde_json::from_str(&document()).unwrap()
    }

    #[test]
    fn every_row_of_the_surface_is_described_and_nothing_else() {
        let document = parsed();
        let mut ids = BTreeSet::new();
        for template in Template::ALL {
            let item = document["paths"][template.path()].as_object().unwrap();
            let methods: BTreeSet<String> =
                item.keys().filter(|key| *key != "parameters").cloned().collect();
            let allowed = template.allow().to_ascii_lowercase();
            let expected: BTreeSet<String> = allowed.split(", ").map(str::to_owned).collect();
            assert_eq!(methods, expected, "{}", template.path());
            for method in &methods {
                let id = item[method]["operationId"].as_str().unwrap();
                assert!(ids.insert(id.to_owned()), "{id} is there twice");
                assert!(SERVER_METHODS.to_ascii_lowercase().contains(method.as_str()));
            }
        }
        assert_eq!(document["paths"].as_object().unwrap().len(), Template::ALL.len());
    }

    #[test]
    fn paths_name_their_parameters() {
        let document = parsed();
        let names = |path: &str| -> Vec<String> {
            let parameters = document["paths"][path]["parameters"].as_array().unwrap();
            parameters.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names("/db/{collection}/{key}"), ["collection", "key"]);
        assert!(document["paths"]["/healthz"]["parameters"].is_null());
    }

    #[test]
    fn what_is_guarded_says_so_and_a_head_has_no_content() {
        let document = parsed();
        let read = &document["paths"]["/db/{collection}/{key}"]["get"];
        assert!(read["responses"]["401"].is_object() && read["security"].is_array());
        assert!(read["responses"]["200"]["content"].is_object());
        let head = &document["paths"]["/db/{collection}/{key}"]["head"];
        assert!(head["responses"]["200"]["content"].is_null());
        let health = &document["paths"]["/healthz"]["get"];
        assert!(health["responses"]["401"].is_null() && health["security"].is_null());
    }
}
