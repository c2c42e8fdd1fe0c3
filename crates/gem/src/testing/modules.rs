//! Sarsen's own modules for tests, beside those that applications have.

/// The one that the engine of a file of tests starts with: its name and source.
pub(crate) const OWN: (&str, &str) = ("sarsen:testing", include_str!("../js/testing/engine.js"));

/// What an application's tests import, and nothing else does.
pub(crate) const TEST: &str = "sarsen:test";

/// All of them. They only import each other and those of applications.
pub(crate) const MODULES: &[(&str, &str)] = &[
    OWN,
    (TEST, include_str!("../js/testing/test.js")),
    ("sarsen:testing/client", include_str!("../js/testing/client.js")),
    ("sarsen:testing/equal", include_str!("../js/testing/equal.js")),
    ("sarsen:testing/expect", include_str!("../js/testing/expect.js")),
    ("sarsen:testing/show", include_str!("../js/testing/show.js")),
    ("sarsen:testing/stage", include_str!("../js/testing/stage.js")),
    ("sarsen:testing/tests", include_str!("../js/testing/tests.js")),
];
