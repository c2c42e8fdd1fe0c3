//! The real binary attacked from outside, grouped by who attacks: docs/security.md names what each
//! of them can do and cannot, and the tests here hold it.

mod other_user;
