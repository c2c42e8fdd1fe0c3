//! The queue: jobs in their order, one at a time, whatever dies meanwhile. What a job runs is a
//! script here, which the queue cannot tell from the real program: it knows arguments and exit
//! codes only. The real one is in the tests of the binary.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

use lab::archive::RunId;
use lab::queue::{Job, JobState, Program, Queue, QueueError, Runner, Submission};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

/// After it a test that waits says what it waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// A queue, and a program that does what the scenario says.
struct Site {
    folder: TempDir,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "#!/bin/sh\n[ \"$1\" = run ] || exit 99\necho \"$@\"\n. \"$2\"\n")
            .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn queue(&self) -> Queue {
        Queue::new(self.folder.path().join("queue"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn submission(&self, script: &str) -> Submission {
        Submission {
            name: "a job".into(),
            scenario: ("script".into(), script.into()),
            files: Vec::new(),
            arguments: vec!["--json".into()],
            runs: self.file("runs"),
            after: None,
            not_before: None,
        }
    }

    /// A job that runs this script.
    fn submit(&self, script: &str) -> Job {
        self.queue().submit(&self.submission(script)).unwrap()
    }

    fn take(&self) -> Result<Runner, QueueError> {
        let path = self.file("program");
        Runner::take(&self.queue(), Program { path, codes: [0, 1, 9] })
    }

    fn state(&self, job: &Job) -> JobState {
        self.queue().find(job.id.as_str()).unwrap().state
    }

    fn wait_for(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < end, "waited for {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn jobs_are_done_in_their_order_and_told_apart_by_their_exit() {
    let site = Site::new();
    let list = site.file("order");
    let script = |word: &str, end: &str| format!("echo {word} >> {}; {end}\n", list.display());
    let ends = [
        ("exit 0", JobState::Passed),
        ("exit 1", JobState::Failed),
        ("exit 9", JobState::Invalid),
        ("exit 6", JobState::Invalid),
        ("kill -9 $$", JobState::Killed),
    ];
    let words = ["first", "second", "third", "fourth", "fifth"];
    let jobs: Vec<Job> =
        words.iter().zip(ends).map(|(word, (end, _))| site.submit(&script(word, end))).collect();
    let mut told = Vec::new();
    site.take().unwrap().run(|job| told.push((job.id.clone(), job.state))).unwrap();
    for (job, (end, state)) in jobs.iter().zip(ends) {
        assert_eq!(site.state(job), state, "{end}");
    }
    let order = fs::read_to_string(list).unwrap();
    assert_eq!(order, "first\nsecond\nthird\nfourth\nfifth\n");
    let each: Vec<_> = jobs.iter().flat_map(|job| [&job.id, &job.id]).collect();
    assert_eq!(told.iter().map(|(id, _)| id).collect::<Vec<_>>(), each);
    let unreachable = site.queue().find(jobs[3].id.as_str()).unwrap();
    assert_eq!(unreachable.exit_code, Some(6));
    assert!(unreachable.reason.unwrap().contains("exit code 6"));
    let log = fs::read_to_string(jobs[0].log()).unwrap();
    let said = format!("--json --runs {} --id {}", site.file("runs").display(), jobs[0].id);
    assert!(log.starts_with("run ") && log.contains(&said), "{log}");
}

#[test]
fn what_is_submitted_is_copied() {
    let site = Site::new();
    let data = site.file("names.csv");
    fs::write(&data, "first").unwrap();
    let out = site.file("out");
    let script = format!("cat \"$(dirname \"$2\")/data/names.csv\" > {}\n", out.display());
    let mut submission = site.submission(&script);
    submission.files = vec![(data.clone(), "data/names.csv".into())];
    site.queue().submit(&submission).unwrap();
    fs::write(&data, "changed").unwrap();
    site.take().unwrap().run(|_| {}).unwrap();
    assert_eq!(fs::read_to_string(out).unwrap(), "first");

    submission.files = vec![(data, "../names.csv".into())];
    assert!(matches!(site.queue().submit(&submission), Err(QueueError::Outside(_))));
    submission.files = vec![(site.file("missing"), "missing".into())];
    assert!(matches!(site.queue().submit(&submission), Err(QueueError::File { .. })));
    assert_eq!(site.queue().list().unwrap().len(), 1, "what cannot be copied is no job");
}

#[test]
fn runners_exclude_each_other() {
    let site = Site::new();
    let runner = site.take().unwrap();
    assert!(site.queue().has_runner());
    assert!(matches!(site.take(), Err(QueueError::Taken(_))));
    drop(runner);
    assert!(!site.queue().has_runner());
    site.take().unwrap().run(|_| {}).unwrap();
}

#[test]
fn a_job_may_follow_another() {
    let site = Site::new();
    let good = site.submit("exit 0\n");
    let bad = site.submit("exit 1\n");
    let follow = |id: &RunId| {
        let after = Some(id.clone());
        site.queue().submit(&Submission { after, ..site.submission("exit 0\n") }).unwrap()
    };
    let (after_good, after_bad) = (follow(&good.id), follow(&bad.id));
    let after_that = follow(&after_bad.id);
    site.take().unwrap().run(|_| {}).unwrap();
    assert_eq!(site.state(&after_good), JobState::Passed);
    assert_eq!(site.state(&after_bad), JobState::Cancelled);
    assert_eq!(site.state(&after_that), JobState::Cancelled);
    let reason = site.queue().find(after_bad.id.as_str()).unwrap().reason.unwrap();
    assert!(reason.contains(bad.id.as_str()) && reason.contains("failed"), "{reason}");
}

#[test]
fn what_waits_is_cancelled_and_what_runs_is_ended() {
    let site = Site::new();
    let began = site.file("began");
    let running = site.submit(&format!(
        "trap 'exit 9' TERM\n: > {}\nwhile :; do sleep 0.02; done\n",
        began.display()
    ));
    let waiting = site.submit("exit 0\n");
    let runner = site.take().unwrap();
    std::thread::scope(|scope| {
        let runner = scope.spawn(|| runner.run(|_| {}));
        site.wait_for("the job to run", || began.exists());
        site.queue().cancel(&waiting, false).unwrap();
        assert_eq!(site.state(&waiting), JobState::Cancelled);
        assert_eq!(site.state(&running), JobState::Running);
        site.queue().cancel(&running, false).unwrap();
        runner.join().unwrap().unwrap();
    });
    assert_eq!(site.state(&running), JobState::Cancelled);
    let over = site.queue().cancel(&running, false);
    assert!(matches!(over, Err(QueueError::Over { state: "cancelled", .. })));
}

#[test]
fn one_that_does_not_listen_is_killed_by_force() {
    let site = Site::new();
    let began = site.file("began");
    let job = site
        .submit(&format!("trap '' TERM\n: > {}\nwhile :; do sleep 0.02; done\n", began.display()));
    let runner = site.take().unwrap();
    std::thread::scope(|scope| {
        let runner = scope.spawn(|| runner.run(|_| {}));
        site.wait_for("the job to run", || began.exists());
        site.queue().cancel(&job, true).unwrap();
        runner.join().unwrap().unwrap();
    });
    assert_eq!(site.state(&job), JobState::Cancelled);
}

#[test]
fn whoever_waits_hears_of_the_end() {
    let site = Site::new();
    let job = site.submit("exit 1\n");
    let gone = site.queue().wait(&job.id, |_| false).unwrap();
    assert_eq!(gone.state, JobState::Queued, "it does not wait any longer than it must");
    std::thread::scope(|scope| {
        let (queue, id) = (site.queue(), job.id.clone());
        let waiting = scope.spawn(move || queue.wait(&id, |_| true));
        site.take().unwrap().run(|_| {}).unwrap();
        assert_eq!(waiting.join().unwrap().unwrap().state, JobState::Failed);
    });
}

#[test]
fn a_queue_is_bounded_and_what_is_no_job_is_left_alone() {
    let site = Site::new();
    let first = site.submit("exit 0\n");
    fs::create_dir(site.queue().folder().join("letters")).unwrap();
    let torn = site.queue().folder().join("20200101T000000Z-torn-0001");
    fs::create_dir(&torn).unwrap();
    fs::write(torn.join("job.json"), "{").unwrap();
    for number in 1..lab::limits::QUEUE_JOBS_MAX {
        let id = format!("20200101T000000Z-copy-{number:04x}");
        let copy = site.queue().folder().join(id);
        fs::create_dir(&copy).unwrap();
        for name in ["job.json", "state.json"] {
            fs::copy(first.folder.join(name), copy.join(name)).unwrap();
        }
    }
    let full = site.queue().submit(&site.submission("exit 0\n"));
    assert!(matches!(full, Err(QueueError::Full)), "{full:?}");
    assert!(matches!(site.queue().find("20200101"), Err(QueueError::Ambiguous { .. })));
    assert!(matches!(site.queue().find("letters"), Err(QueueError::Unknown { .. })));
}

#[test]
fn a_suspended_queue_begins_nothing_and_ends_what_goes_on() {
    let site = Site::new();
    let (first, second) = (site.submit("sleep 0.2; exit 0\n"), site.submit("exit 0\n"));
    let runner = site.take().unwrap();
    let queue = site.queue();
    let mut told = 0;
    runner
        .run(|_| {
            // As soon as the first one runs; when it is over nobody else may hold the queue.
            told += 1;
            if told == 1 {
                queue.suspend(true).unwrap();
            }
        })
        .unwrap();
    assert_eq!((site.state(&first), told), (JobState::Passed, 2));
    assert_eq!(site.state(&second), JobState::Queued);
    assert!(site.queue().is_suspended() && !site.queue().has_runner());
    // Another runner does not begin it either.
    site.take().unwrap().run(|_| {}).unwrap();
    assert_eq!(site.state(&second), JobState::Queued);
    site.queue().suspend(false).unwrap();
    site.queue().suspend(false).unwrap();
    site.take().unwrap().run(|_| {}).unwrap();
    assert_eq!(site.state(&second), JobState::Passed);
}

#[test]
fn a_job_is_not_carried_out_before_its_time_and_others_need_not_wait_for_it() {
    let site = Site::new();
    let not_before = SystemTime::now() + Duration::from_secs(2);
    let later = Submission { not_before: Some(not_before), ..site.submission("exit 0\n") };
    let later = site.queue().submit(&later).unwrap();
    assert!(later.to_json()["not_before_utc"].is_string(), "{}", later.to_json());
    let order = site.file("order");
    let now = site.submit("exit 0\n");
    let after = Some(later.id.clone());
    let follows = Submission { after, ..site.submission("exit 0\n") };
    let follows = site.queue().submit(&follows).unwrap();
    site.take()
        .unwrap()
        .run(|job| {
            if job.state == JobState::Running {
                let early = job.id == later.id && SystemTime::now() < not_before;
                fs::write(&order, format!("{}", !early)).unwrap();
                let mut all = fs::read_to_string(site.file("all")).unwrap_or_default();
                all.push_str(&format!("{}\n", job.id));
                fs::write(site.file("all"), all).unwrap();
            }
        })
        .unwrap();
    assert_eq!(fs::read_to_string(order).unwrap(), "true");
    let all = fs::read_to_string(site.file("all")).unwrap();
    let ids = [&now.id, &later.id, &follows.id].map(ToString::to_string);
    assert_eq!(all.lines().collect::<Vec<_>>(), ids);
}
