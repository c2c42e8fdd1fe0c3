//! The runs of a folder.

use crate::{Site, plan};
use lab::archive::{About, ArchiveError, RunId, State, record};
use lab::engine::RunError;
use lab::plan::Plan;
use lab::report::Report;
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

/// A run in which nothing was done.
fn empty(site: &Site, id: &str, name: &str) {
    let about = About { id: Some(RunId::parse(id).unwrap()), ..site.about() };
    let mut plan = plan();
    plan.name = name.into();
    let failed = record(&plan, &about, |_| -> Result<Report, &str> { Err("no server is there") });
    failed.unwrap().kept.unwrap();
}

#[test]
fn any_change_is_told() {
    let site = Site::new();
    let id = site.record(&plan()).id;
    let runs = site.runs();
    let run = runs.find(id.as_str()).unwrap();
    let verify = || runs.verify(&run).unwrap();
    assert_eq!(verify(), Vec::<String>::new());
    let changes = [
        ("echo >> {}/client.csv", "client.csv was changed"),
        ("rm {}/report.txt", "report.txt is missing"),
        ("touch {}/more", "more was added"),
        ("rm {}/more {}/SHA256SUMS", "SHA256SUMS is missing"),
    ];
    site.shell(&format!("chmod -R u+w {id}; cp -r {id} whole"));
    for (change, told) in changes {
        site.shell(&change.replace("{}", id.as_str()));
        assert!(verify().iter().any(|line| line.contains(told)), "{change}: {:?}", verify());
    }
    // Whoever writes new sums is found out by the sum of these.
    site.shell(&format!("rm -r {id}; mv whole {id}; echo >> {id}/client.csv"));
    site.shell(&format!("cd {id}; f=$(ls | grep -v SHA); sha256sum $f > SHA256SUMS"));
    let told = verify();
    assert!(told.len() == 1 && told[0].starts_with("SHA256SUMS was changed"), "{told:?}");
    site.shell(&format!("rm {id}.sha256"));
    assert!(verify()[0].contains(".sha256 is missing"), "{:?}", verify());
}

#[test]
fn the_newest_comes_first_and_a_begin_is_enough() {
    let site = Site::new();
    assert!(site.runs().list().unwrap().is_empty());
    for id in ["20261122T101500Z-a-0001", "20261122T101500Z-a-0002", "20261123T101500Z-b-0003"] {
        empty(&site, id, "x");
    }
    fs::create_dir(site.folder().join("letters")).unwrap();
    let runs = site.runs();
    let listed = runs.list().unwrap();
    // They began one after the other, whatever their ids say.
    let ids: Vec<&str> = listed.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids[0], "20261123T101500Z-b-0003");
    assert!(listed.iter().all(|run| run.outcome() == "INVALID" && run.state == State::Whole));
    assert!(listed[0].verdict["reasons"][0].as_str().unwrap().contains("no server is there"));
    assert_eq!(runs.find("20261123").unwrap().id.as_str(), ids[0]);
    assert!(
        matches!(runs.find("20261122T"), Err(ArchiveError::Ambiguous { ids, .. }) if ids.len() == 2)
    );
    for none in ["2027", "", "letters", "../"] {
        assert!(matches!(runs.find(none), Err(ArchiveError::Unknown { .. })), "{none}");
    }
}

#[test]
fn tags_and_notes_leave_the_run_as_it_is() {
    let site = Site::new();
    empty(&site, "20261122T101500Z-a-0001", "x");
    let runs = site.runs();
    let run = runs.find("2026").unwrap();
    let before = run.content_sha256().unwrap();
    runs.tag(&run, &["baseline".into(), "old".into()], &[]).unwrap();
    let label = runs.tag(&run, &[], &["old".into()]).unwrap();
    assert_eq!(label.tags.into_iter().collect::<Vec<_>>(), ["baseline"]);
    runs.note(&run, "the disk was busy").unwrap();
    let again = runs.find("2026").unwrap();
    assert_eq!((again.label.note.as_str(), again.label.tags.len()), ("the disk was busy", 1));
    assert_eq!(again.content_sha256(), Some(before));
    assert_eq!(runs.verify(&again).unwrap(), Vec::<String>::new());
}

#[test]
fn a_deleted_run_is_gone_with_all_that_is_beside_it() {
    let site = Site::new();
    empty(&site, "20261122T101500Z-a-0001", "x");
    let runs = site.runs();
    let run = runs.find("2026").unwrap();
    runs.note(&run, "x").unwrap();
    runs.delete(&run).unwrap();
    assert_eq!(fs::read_dir(site.folder()).unwrap().count(), 0);
    assert!(runs.delete(&run).is_err());
}

#[test]
fn a_run_that_goes_on_is_told_from_one_that_was_killed() {
    let site = Site::new();
    let plan: Plan = plan();
    let runs = site.runs();
    let seen = record(&plan, &site.about(), |recorder| -> Result<Report, RunError> {
        let run = runs.find(recorder.id().as_str()).unwrap();
        assert_eq!((run.state, run.outcome()), (State::Running, "RUNNING"));
        assert_eq!(run.name(), "two kinds");
        assert!(matches!(runs.delete(&run), Err(ArchiveError::Running(_))));
        let report = Report::new(&plan, &lab::engine::run(&plan, recorder)?);
        // As if what writes it had been killed here.
        let copy = format!("cp -r {0}.running 20200101T000000Z-copy-0001.running", run.id);
        assert!(site.shell(&copy).status.success());
        Ok(report)
    });
    assert!(seen.unwrap().kept.is_ok());
    let killed = runs.find("2020").unwrap();
    assert_eq!((killed.state, killed.outcome()), (State::Killed, "KILLED"));
    assert!(killed.text("client.csv").unwrap().lines().count() > 1);
    assert!(runs.verify(&killed).unwrap()[0].contains("killed"));
    runs.delete(&killed).unwrap();
    assert_eq!(runs.list().unwrap().len(), 1);
}

#[test]
fn an_id_is_given_out_once() {
    let site = Site::new();
    let id = RunId::new(UNIX_EPOCH + Duration::from_secs(1), "a");
    empty(&site, id.as_str(), "x");
    let about = About { id: Some(id), ..site.about() };
    let refused = record(&plan(), &about, |_| -> Result<Report, &str> { Err("never") });
    assert!(matches!(refused, Err(ArchiveError::Taken(_))));
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_before_anything_is_sent() {
    let site = Site::new();
    fs::write(site.folder(), "a file").unwrap();
    let refused = record(&plan(), &site.about(), |_| -> Result<Report, &str> { panic!("it ran") });
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("cannot write") && error.contains("runs"), "{error}");
}
