//! What the target does with the bytes that it is given: a schema and a document. A mistake is a
//! panic. `docs/fuzzing.md` says how to run it.

use crate::target::{SEPARATOR, Target};
use schema::{Schema, limits};

pub const TARGETS: &[Target] = &[Target {
    name: "schema",
    run: schema,
    seeds: &[
        b"{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\"}},\"$defs\":{\"n\":\
          {\"minimum\":1,\"multipleOf\":0.5}},\"required\":[\"a\"]}\xff{\"a\":0.25}",
        b"{\"items\":{\"anyOf\":[{\"$ref\":\"#\"},{\"pattern\":\"^[\\\\d.-]+$\"}]}}\xff\
          [[[\"1.2\"]]]",
        b"{\"unevaluatedProperties\":false,\"if\":{\"required\":[\"a\"]},\"then\":{\"properties\":\
          {\"a\":true}},\"patternProperties\":{\"^x\":{\"const\":{}}}}\xff{\"a\":1,\"x\":{}}",
        b"{\"prefixItems\":[{\"enum\":[1,null]}],\"contains\":{\"type\":\"string\"},\"oneOf\":\
          [true,false],\"uniqueItems\":true,\"not\":{\"maxItems\":1}}\xff[1,\"\\u00e9\",1.0]",
    ],
}];

/// Whatever comes ends, and says no more than it may, the same each time.
fn schema(input: &[u8]) {
    let mut parts = input.splitn(2, |byte| *byte == SEPARATOR);
    let mut text = || std::str::from_utf8(parts.next().unwrap_or_default()).ok();
    let (Some(schema), Some(document)) = (text(), text()) else { return };
    let Ok(compiled) = Schema::compile(schema) else { return };
    let checked = compiled.check(document);
    if let Err(failures) = &checked {
        assert!((1..=limits::FAILURES_MAX).contains(&failures.len()), "{failures:?}");
        assert!(failures.iter().all(|failure| !failure.reason.is_empty()), "{failures:?}");
    }
    let again = Schema::compile(schema).map(|compiled| compiled.check(document));
    assert_eq!(again, Ok(checked));
}
