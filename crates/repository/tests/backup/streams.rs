//! Backups as streams of tar.

use crate::harness::{Place, verified, write};
use crate::model::*;
use repository::{BackupSource, CommitNumber, RestoreGoal, restore};

fn stream(place: &Place) -> (Vec<u8>, Everything, CommitNumber) {
    let repository = place.open_only();
    for i in 0..200 {
        write(&repository, &format!("{i}"), "[1,2,3]");
    }
    let mut tar = Vec::new();
    let report = repository.back_up_to_tar(&mut tar, &mut go_on).unwrap();
    let all = everything(&repository);
    (tar, all, report.commit)
}

#[test]
fn a_stream_is_restored() {
    let place = Place::new();
    let (tar, before, commit) = stream(&place);
    let target = Place::new();
    let source = BackupSource::Tar(&mut &tar[..]);
    let restored = restore(source, &options(&target, None), &mut go_on).unwrap();
    assert_eq!(restored.commit, commit);
    verified(&target);
    assert_eq!(everything(&target.open_only()), before);
    let goal = Some(RestoreGoal::Commit(CommitNumber(commit.0 - 1)));
    let source = BackupSource::Tar(&mut &tar[..]);
    let early = restore(source, &options(&Place::new(), goal), &mut go_on).unwrap_err();
    assert!(early.to_string().contains(&format!("the earliest is commit {commit}")), "{early}");
}

#[test]
fn a_stream_unpacked_is_a_folder_of_backups() {
    let place = Place::new();
    let (tar, before, _) = stream(&place);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tar");
    std::fs::write(&path, tar).unwrap();
    let unpacked = folder.path().join("unpacked");
    std::fs::create_dir(&unpacked).unwrap();
    let mut program = std::process::Command::new("tar");
    let status = program.arg("xf").arg(&path).arg("-C").arg(&unpacked).status().unwrap();
    assert!(status.success());
    let (_target, copy, _) = reopened(&unpacked, None);
    assert_eq!(everything(&copy), before);
}

#[test]
fn a_stream_that_is_cut_off_or_damaged_is_refused() {
    let place = Place::new();
    let (tar, ..) = stream(&place);
    let refused = |bytes: &[u8]| {
        let target = Place::new();
        let source = BackupSource::Tar(&mut &bytes[..]);
        let result = restore(source, &options(&target, None), &mut go_on);
        assert_eq!(target.path().join("format").exists(), result.is_ok());
        result.is_err()
    };
    // Nothing depends on the zeros at the end.
    let end = tar.iter().rposition(|byte| *byte != 0).unwrap();
    for length in (0..end).step_by(97).chain([end]) {
        assert!(refused(&tar[..length]), "{length} bytes");
    }
    for at in (0..end).step_by(499) {
        let mut damaged = tar.clone();
        damaged[at] ^= 0x10;
        // Of the padding nothing depends.
        let is_padding = tar[at] == 0 && tar[at.saturating_sub(16)..(at + 16).min(end)] == [0; 32];
        assert!(is_padding || refused(&damaged), "a flip at {at}");
    }
}
