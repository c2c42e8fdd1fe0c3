//! What `cargo metadata` knows: our crates with the dependencies they declare, and the packages
//! that a build on this machine uses. It judges nothing.

use super::TidyError;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// One crate of the workspace.
#[derive(Debug)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// What it declares, each name once.
    pub dependencies: Vec<Dependency>,
}

/// One declared dependency.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// The package's name.
    pub name: String,
    /// Whether only tests use it.
    pub tests_only: bool,
    /// Whether it is a crate of this workspace.
    pub ours: bool,
}

/// One package of the build.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its SPDX licence expression, if it states one.
    pub licence: Option<String>,
}

/// The crates of the workspace.
pub fn crates(root: &Path) -> Result<Vec<Crate>, TidyError> {
    let answer = ask(root, &["--no-deps"])?;
    Ok(entries(&answer, "packages").map(read_crate).collect())
}

/// Every package that a build for this machine's platform uses. Other platforms' packages are not
/// downloaded by a build, so an offline question cannot be asked about them.
pub fn packages(root: &Path) -> Result<Vec<Package>, TidyError> {
    let answer = ask(root, &["--filter-platform", &host(root)?])?;
    let resolved = entries(&answer["resolve"], "nodes").filter_map(|node| node["id"].as_str());
    let resolved: Vec<&str> = resolved.collect();
    let used = entries(&answer, "packages")
        .filter(|package| package["id"].as_str().is_some_and(|id| resolved.contains(&id)));
    Ok(used.map(read_package).collect())
}

fn read_crate(package: &Value) -> Crate {
    let declared = entries(package, "dependencies").map(|dependency| Dependency {
        name: text(dependency, "name"),
        tests_only: dependency["kind"] == "dev",
        ours: dependency["path"].is_string(),
    });
    let mut dependencies: Vec<Dependency> = declared.collect();
    dependencies.sort();
    // A name that is declared for the build and for tests is no test-only dependency: the former
    // sorts first.
    dependencies.dedup_by(|later, first| later.name == first.name);
    Crate { name: text(package, "name"), dependencies }
}

fn read_package(package: &Value) -> Package {
    let licence = package["license"].as_str().map(str::to_owned);
    Package { name: text(package, "name"), licence }
}

fn entries<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn ask(root: &Path, arguments: &[&str]) -> Result<Value, TidyError> {
    // `cargo test` and `cargo run` say which cargo they are.
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let fixed = ["metadata", "--offline", "--format-version", "1"];
    let command: Vec<&str> = fixed.into_iter().chain(arguments.iter().copied()).collect();
    let output = run(root, &cargo, &command)?;
    serde_json::from_slice(&output).map_err(|error| TidyError::Command {
        command: format!("cargo {}", command.join(" ")),
        why: error.to_string(),
    })
}

/// The platform this machine builds for.
fn host(root: &Path) -> Result<String, TidyError> {
    let answer = run(root, "rustc", &["-vV"])?;
    let answer = String::from_utf8_lossy(&answer);
    let host = answer.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| TidyError::Command {
        command: "rustc -vV".into(),
        why: format!("expected a line `host: ...`, got: {answer}"),
    })
}

fn run(root: &Path, program: &str, arguments: &[&str]) -> Result<Vec<u8>, TidyError> {
    let failed = |why: String| TidyError::Command {
        command: format!("{program} {}", arguments.join(" ")),
        why,
    };
    let output = Command::new(program).current_dir(root).args(arguments).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_crate_lists_each_dependency_once_and_tells_tests_apart() {
        let found = read_crate(&json!({
            "name": "a",
            "dependencies": [
                { "name": "z", "kind": "dev" },
                { "name": "b", "kind": "dev", "path": "somewhere" },
                { "name": "b", "kind": null, "path": "somewhere" },
                { "name": "c", "kind": "build" },
            ],
        }));
        let got: Vec<_> =
            found.dependencies.iter().map(|d| (d.name.as_str(), d.tests_only, d.ours)).collect();
        assert_eq!(got, [("b", false, true), ("c", false, false), ("z", true, false)]);
    }

    #[test]
    fn this_workspace_is_seen() {
        let crates = crates(crate::root()).unwrap();
        let xtask = crates.iter().find(|c| c.name == "xtask").unwrap();
        assert!(xtask.dependencies.iter().any(|d| d.name == "syn" && !d.tests_only && !d.ours));
        assert!(packages(crate::root()).unwrap().iter().any(|p| p.name == "syn"));
    }
}
