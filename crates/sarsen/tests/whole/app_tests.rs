//! `sarsen test` on the real binary: what passes, what is said of what fails, and how it ends.

use crate::harness::{root, run, test_app};
use std::path::Path;
use std::process::Output;

fn test(folder: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let folder = folder.to_str().expect("a path in UTF-8");
    let Output { status, stdout, stderr } = run(&[&["test", folder], more].concat());
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn the_tests_of_the_example_applications_pass() {
    let mut applications = 0;
    for entry in std::fs::read_dir(root().join("apps")).expect("the applications") {
        let folder = entry.expect("an entry").path();
        if !folder.join("test").exists() {
            continue;
        }
        let (code, stdout, stderr) = test(&folder, &[]);
        assert_eq!(code, Some(0), "{}:\n{stdout}{stderr}", folder.display());
        assert!(stdout.contains(" passed, 0 failed in "), "{stdout}");
        applications += 1;
    }
    assert!(applications > 0);
}

#[test]
fn tests_do_with_the_server_what_is_promised() {
    let (code, stdout, stderr) = test(&test_app("tested"), &["works"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("\n11 passed, 0 failed in "), "{stdout}");
    assert!(!stdout.contains("on the way"), "{stdout}");
}

#[test]
fn what_fails_is_shown_with_its_place_its_difference_and_the_log() {
    let folder = test_app("tested");
    let (code, stdout, stderr) = test(&folder, &["fails", "--timeout", "500ms"]);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    let file = folder.join("test/fails.test.js").display().to_string();
    for expected in [
        format!("{file}:6:30: the value was expected to equal another one\n"),
        "- expected  + actual\n".to_owned(),
        "    -   two: \"another\",\n    +   two: \"the second of the notes\",\n".to_owned(),
        format!("{file}:10:49: expected 500 to be 200\n"),
        "INFO  on the way to the mistake\n".to_owned(),
        "it took longer than 500ms and was stopped\n".to_owned(),
        "the test awaits a promise that nothing is left to settle\n".to_owned(),
        "  ok     what follows runs all the same (".to_owned(),
        "\n1 passed, 4 failed in ".to_owned(),
    ] {
        assert!(stdout.contains(&expected), "expected {expected:?} in\n{stdout}");
    }
    assert!(!stdout.contains('\x1b'), "no colours where there is no terminal");
}

#[test]
fn json_says_the_same() {
    let (code, stdout, _) = test(&test_app("tested"), &["a value differs", "--json"]);
    assert_eq!(code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&stdout).expect("one JSON text");
    assert_eq!((report["passed"].as_u64(), report["failed"].as_u64()), (Some(0), Some(1)));
    let test = &report["tests"][0];
    assert_eq!(test["title"], "a value differs");
    assert_eq!(test["file"], "test/fails.test.js");
    let expected = test["failure"]["expected"].as_str().expect("a text");
    assert!(expected.contains("two: \"another\""), "{expected}");
}

#[test]
fn what_cannot_be_run_is_said() {
    let (code, _, stderr) = test(&test_app("pairs"), &[]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("there are no tests in"), "{stderr}");
    let (code, _, stderr) = test(&test_app("tested"), &["no such title"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("no test has \"no such title\""), "{stderr}");
    let (code, _, stderr) = test(&test_app("broken"), &[]);
    assert_eq!(code, Some(5), "{stderr}");
    let (code, _, stderr) = test(Path::new(""), &[]);
    assert_eq!(code, Some(2), "{stderr}");
}
