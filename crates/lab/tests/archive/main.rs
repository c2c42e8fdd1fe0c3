//! The archive: what is in a run's folder, that it says what the report says, and that any change
//! of it is told.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

mod contents;
mod runs;

use lab::archive::{About, Build, Recorded, Runs, Spec, record};
use lab::engine::{RunError, run};
use lab::null::{Law, NullServer, Options};
use lab::plan::{Load, Mix, Plan, Stage};
use lab::report::Report;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;
use tempfile::TempDir;

/// A folder of runs.
struct Site {
    folder: TempDir,
}

impl Site {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    fn runs(&self) -> Runs {
        Runs::new(self.folder())
    }

    fn about(&self) -> About {
        About {
            runs: self.folder(),
            spec: Spec::Json(serde_json::json!({ "url": "a" })),
            build: Build { version: "1".into(), commit: None, changed: None },
            ..About::default()
        }
    }

    /// Archives a run of a plan.
    fn record(&self, plan: &Plan) -> Recorded<RunError> {
        self.record_as(plan, &self.about())
    }

    fn record_as(&self, plan: &Plan, about: &About) -> Recorded<RunError> {
        let recorded = record(plan, about, |recorder| {
            run(plan, recorder).map(|findings| Report::new(plan, &findings))
        });
        recorded.unwrap()
    }

    /// A program of the system, in the folder of runs.
    fn shell(&self, command: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.folder()).output().unwrap()
    }
}

/// Two users send two kinds of requests to a null server, for two seconds.
fn plan() -> Plan {
    let any = "127.0.0.1:0".parse().unwrap();
    let law = Law::Fixed(Duration::from_millis(1));
    let server = NullServer::bind(any, Options { law, body_bytes: 10, stall: None }).unwrap();
    let url = format!("http://{}/a", server.local_addr().unwrap());
    std::thread::spawn(move || server.serve());
    let mut plan = Plan::hit(url.parse().unwrap());
    plan.name = "two kinds".into();
    let mut other = plan.operations[0].clone();
    other.name = "other, too".into();
    plan.operations.push(other);
    plan.mix = Mix::Flat(vec![1.0, 1.0]);
    plan.phases.ramp_up = Duration::from_millis(500);
    plan.phases.measured = Duration::from_millis(1_500);
    plan.load = Load::Closed { users: vec![Stage::flat(2.0, plan.phases.measured)] };
    plan
}
