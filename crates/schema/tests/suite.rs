//! The official test suite of draft 2020-12 (`suite/README.md`): every test of every schema that is
//! taken here has the result that it should have, and a schema is refused for listed reasons only.

#![allow(clippy::unwrap_used, reason = "tests")]

use schema::Schema;
use serde_json::Value;
use std::path::Path;

/// What is said of schemas that are refused by decision (docs/decisions/0030): those that are
/// several in one, those that want others, and those that are written in another dialect.
const REFUSED: [&str; 3] = ["cannot have a $id", "nothing is fetched", "/$schema\": expected"];

/// Tests of schemas that are taken.
const PASSED_MIN: usize = 1_200;

#[test]
fn the_official_suite() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/draft2020-12");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let (mut passed, mut refused, mut failed) = (0, Vec::new(), Vec::new());
    for path in files {
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let groups: Value = serde_json::from_str(&text).unwrap();
        for group in groups.as_array().unwrap() {
            let about = group["description"].as_str().unwrap();
            let schema = match Schema::compile(&group["schema"].to_string()) {
                Ok(schema) => schema,
                Err(error) => {
                    refused.push((format!("{file}: {about}"), error.to_string()));
                    continue;
                }
            };
            for test in group["tests"].as_array().unwrap() {
                let fits = schema.check(&test["data"].to_string()).is_ok();
                match fits == test["valid"].as_bool().unwrap() {
                    true => passed += 1,
                    false => failed.push(format!("{file}: {about}: {}", test["description"])),
                }
            }
        }
    }
    let is_known = |why: &str| REFUSED.iter().any(|part| why.contains(part));
    let unknown: Vec<_> = refused.iter().filter(|(_, why)| !is_known(why)).collect();
    assert!(failed.is_empty() && unknown.is_empty(), "{failed:#?}\n{unknown:#?}");
    assert!(passed >= PASSED_MIN, "{passed} of a suite that had more");
    assert_eq!(refused.len(), 53, "{refused:#?}");
}
