//! The house numbers that `cargo xtask tidy` holds the repository to, and the names it refuses.
//! Reaching a number is allowed, passing it is a finding. No rule is applied here.

/// Most lines in a Rust file, its `#[cfg(test)]` module at the bottom not counted.
pub const FILE_LINES_MAX: usize = 600;

/// Most lines in a function, from `fn` to its closing brace.
pub const FUNCTION_LINES_MAX: usize = 70;

/// Most parameters of a function, `self` not counted.
pub const PARAMETERS_MAX: usize = 5;

/// Most columns in a line of Rust or JavaScript.
pub const COLUMNS_MAX: usize = 100;

/// Module and crate names that say nothing about what is inside.
pub const MODULE_NAMES_REFUSED: &[&str] =
    &["common", "core", "util", "utils", "helper", "helpers", "misc", "types"];

/// Last words of a type's name that say nothing about what it is.
pub const TYPE_ENDINGS_REFUSED: &[&str] =
    &["Manager", "Helper", "Helpers", "Util", "Utils", "Info", "Data", "Impl", "Inner", "Base"];

/// Folders at the root of a file system that exist on one machine and not on the next.
pub const MACHINE_FOLDERS: &[&str] = &["work", "root", "home"];

/// Licences that a package may carry, by SPDX identifier.
pub const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // The list of roots that TLS trusts (webpki-roots): data, not code.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];
