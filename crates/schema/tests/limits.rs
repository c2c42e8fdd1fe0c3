//! Every bound of schemas is reached: just below works, beyond says so.

#![allow(clippy::unwrap_used, reason = "tests")]

use schema::limits::*;
use schema::{Failure, Schema};

fn refused(schema: &str) -> String {
    Schema::compile(schema).unwrap_err().to_string()
}

fn failures(schema: &str, document: &str) -> Vec<Failure> {
    Schema::compile(schema).unwrap().check(document).unwrap_err()
}

#[test]
fn a_schema_has_a_size() {
    let padded = |bytes: usize| format!("{{\"title\":\"{}\"}}", "x".repeat(bytes - 12));
    assert!(Schema::compile(&padded(SCHEMA_BYTES_MAX)).is_ok());
    assert!(refused(&padded(SCHEMA_BYTES_MAX + 1)).contains("at most 65536 bytes"));
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}true{}", "{\"not\":".repeat(depth), "}".repeat(depth));
    assert!(Schema::compile(&nested(IN_PLACE_MAX)).is_ok());
    assert!(refused(&nested(IN_PLACE_MAX + 1)).contains("more than 64 schemas lead here"));
    assert!(refused(&nested(DEPTH_MAX + 1)).contains("128 levels"));
    // As deep as a document may be, at the bound and two schemas for each level: on a small stack.
    let check = || {
        let list = r##"{"type":"array","items":{"$ref":"#"}}"##;
        let document = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(Schema::compile(list).unwrap().check(&document(DEPTH_MAX)), Ok(()));
        let slow = r##"{"items":{"allOf":[{"allOf":[{"allOf":[{"$ref":"#"}]}]}]}}"##;
        let gave_up = failures(slow, &document(DEPTH_MAX));
        assert!(gave_up[0].reason.contains("nested more deeply"), "{gave_up:?}");
        assert_eq!(Schema::compile(slow).unwrap().check(&document(NESTED_MAX / 5)), Ok(()));
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(check).unwrap().join().unwrap();
}

#[test]
fn circles_in_place_are_refused() {
    for schema in [
        r##"{"$ref":"#"}"##,
        r##"{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}"##,
        r##"{"properties":{"a":{"if":{"$ref":"#/properties/a"}}}}"##,
    ] {
        assert!(refused(schema).contains("refers to itself"), "{schema}");
    }
}

#[test]
fn patterns_are_bounded() {
    let pattern = |bytes: usize| format!("{{\"pattern\":\"{}\"}}", "a".repeat(bytes));
    assert!(Schema::compile(&pattern(PATTERN_BYTES_MAX)).is_ok());
    assert!(refused(&pattern(PATTERN_BYTES_MAX + 1)).contains("at most 1024 bytes"));
    let many = |count: usize| {
        let all: Vec<_> = (0..count).map(|i| format!("\"a{i}\":true")).collect();
        format!("{{\"patternProperties\":{{{}}}}}", all.join(","))
    };
    assert!(Schema::compile(&many(PATTERNS_MAX)).is_ok());
    assert!(refused(&many(PATTERNS_MAX + 1)).contains("at most 100 patterns"));
    let large = refused(r#"{"pattern":"(x{100}){100}"}"#);
    assert!(large.contains(&PATTERN_PROGRAM_BYTES_MAX.to_string()), "{large}");
}

/// Each level applies the next one twice: 2^60 ways lead to the last.
#[test]
fn steps_are_bounded() {
    let doubling = |i: usize| {
        let reference = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, i + 1);
        format!(r#""d{i}":{{"allOf":[{reference},{reference}]}}"#)
    };
    let all: Vec<_> = (0..30).map(doubling).collect();
    let schema =
        format!("{{\"$ref\":\"#/$defs/d0\",\"$defs\":{{{},\"d30\":{{}}}}}}", all.join(","));
    let gave_up = failures(&schema, "1");
    assert!(gave_up[0].reason.contains("more steps than are allowed"), "{gave_up:?}");
    // The same through the document, which a schema may go into in a circle.
    let twice = r##"{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}"##;
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    assert!(failures(twice, &deep)[0].reason.contains("more steps"));
    // A long document has more steps, and not without end.
    let elements = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    let plain = Schema::compile(r#"{"items":{"type":"number"}}"#).unwrap();
    let fits = STEPS_MAX as usize / 4;
    assert!(STEPS_BASE + STEPS_PER_BYTE * fits as u64 > STEPS_MAX);
    assert_eq!(plain.check(&elements(fits)), Ok(()));
    let too_many = plain.check(&elements(STEPS_MAX as usize)).unwrap_err();
    assert!(too_many[0].reason.contains("more steps"), "{too_many:?}");
}

#[test]
fn not_all_failures_are_told() {
    let elements = |count: usize| format!("[{}]", vec!["\"x\""; count].join(","));
    let schema = r#"{"items":{"type":"number"}}"#;
    assert_eq!(failures(schema, &elements(FAILURES_MAX)).len(), FAILURES_MAX);
    assert_eq!(failures(schema, &elements(FAILURES_MAX + 1)).len(), FAILURES_MAX);
}

#[test]
fn a_failure_says_where_and_why() {
    let schema = r##"{
        "type": "object",
        "properties": {
            "a/b": {"type": "array", "items": {"$ref": "#/$defs/positive"}},
            "kind": {"enum": ["x", "y"]}
        },
        "required": ["kind"],
        "additionalProperties": false,
        "$defs": {"positive": {"type": "integer", "minimum": 1}}
    }"##;
    let told = |document: &str| {
        let all = failures(schema, document);
        let one = |f: Failure| format!("{} {} {}", f.path, f.schema, f.reason);
        all.into_iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(
        told(r#"{"a/b":[1,0,"x"],"c":1}"#),
        [
            " /required expected a member \"kind\"",
            "/a~1b/1 /$defs/positive/minimum expected minimum 1; got 0",
            "/a~1b/2 /$defs/positive/type expected integer; got string",
            "/c /additionalProperties no value is allowed here",
        ]
    );
    assert_eq!(told(r#"{"kind":"z"}"#), ["/kind /properties/kind/enum expected one of 2 values"]);
    assert_eq!(told("[]"), [" /type expected object; got array"]);
}

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    for (schema, expected) in [
        ("1", "at \"\": a schema is an object"),
        ("{", "expected JSON"),
        (r#"{"type":"strin"}"#, "at \"/type\": a type is one of"),
        (
            r#"{"properties":{"a":{"minimum":"1"}}}"#,
            "at \"/properties/a/minimum\": expected a number",
        ),
        (r#"{"minLength":-1}"#, "whole number from 0"),
        (r#"{"multipleOf":0}"#, "greater than 0"),
        (r#"{"items":[true]}"#, "prefixItems"),
        (r#"{"dependencies":{}}"#, "dependentRequired"),
        (r#"{"required":["a",1]}"#, "at \"/required/1\""),
        (r#"{"allOf":[]}"#, "at least one schema"),
        (r#"{"pattern":"(?=a)"}"#, "without looking ahead"),
        (r#"{"$defs":{"a":{"type":1}}}"#, "at \"/$defs/a/type\""),
        (r##"{"$ref":"#/$defs/none"}"##, "there is nothing at"),
        (r##"{"$ref":"#none"}"##, "there is no anchor none"),
        (r#"{"$ref":"https://example.com/a.json"}"#, "nothing is fetched"),
        (r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#, "2020-12"),
    ] {
        let why = refused(schema);
        assert!(why.contains(expected), "{schema}: {why}");
    }
}
