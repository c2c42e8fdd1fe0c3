//! Restoring: a new folder with what a backup holds, up to a commit or a moment. It counts as a
//! repository only once it is complete and was verified. `docs/backup.md`, "Restore".

use super::Progress;
use super::archive;
use super::blobs::Shelf;
use super::chain::{Holdings, Stretch, missing};
use super::errors::{BackupFolderError, RestoreError};
use super::file::{Decoder, Frame, Header, Kind};
use super::large::{self, Names};
use super::manifest::{self, Manifest, ManifestFile};
use super::place::{FORMAT, Place, read_format};
use super::set::{Report, told};
use super::tar::TarReader;
use crate::at_rest::{AtRest, StateRow};
use crate::disk::{Disk, Files};
use crate::document::{CommitNumber, Timestamp};
use crate::engine::Engine;
use crate::errors::{OpenError, ReadError};
use crate::folder::Folder;
use crate::limits::{BACKUP_FILE_READ_BYTES_MAX, MEMORY_BYTES_MIN, RESTORE_MEMORY_BYTES};
use crate::record;
use crate::recovery::Replay;
use crate::store::Clock;
use crate::verify;
use bytes::Bytes;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Up to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreGoal {
    /// This commit.
    Commit(CommitNumber),
    /// The last commit whose time is not after this.
    Time(Timestamp),
}

/// Where the backup is.
pub enum BackupSource<'a> {
    /// In a folder of backups.
    Folder(PathBuf),
    /// In a stream of tar: one full set.
    Tar(&'a mut dyn Read),
}

/// What is restored, and to where.
pub struct RestoreOptions {
    /// The data folder to be made; missing or empty, or left by a restore that was cut short.
    pub folder: PathBuf,
    /// Another folder of backups, whose commits are used as well: an archive that is kept apart.
    pub archive: Option<PathBuf>,
    /// The newest, if it is not said.
    pub goal: Option<RestoreGoal>,
    /// The time source; nothing that is restored depends on it.
    pub clock: Clock,
}

/// What was restored.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The id of the new repository.
    pub repository: String,
    /// The last commit in it.
    pub commit: CommitNumber,
    /// Its time.
    pub time: Timestamp,
    /// Rows that came from a full set.
    pub rows: u64,
    /// Commits that were applied after it.
    pub commits: u64,
    /// Documents that were verified.
    pub documents: u64,
    /// Blobs that they name, which were verified, too.
    pub blobs: u64,
    /// Bytes of them.
    pub blob_bytes: u64,
}

/// Opens what is at rest, given its folder.
type OpenAtRest = Box<dyn Fn(&Path) -> Result<Box<dyn AtRest>, OpenError>>;

/// Removes what is at rest, given its folder.
type Clear = Box<dyn Fn(&Path) -> std::io::Result<()>>;

/// What a restored repository stands on.
pub(crate) struct Ground {
    pub disk: Arc<dyn Disk>,
    /// Opens what is at rest.
    pub open: OpenAtRest,
    /// Removes what is at rest.
    pub clear: Clear,
}

/// Makes a repository of a backup. Interrupted, it leaves a folder that holds none; called again
/// with that, it starts over.
pub fn restore(
    source: BackupSource<'_>,
    options: &RestoreOptions,
    report: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Restored, RestoreError> {
    let ground = Ground {
        disk: Arc::new(Files),
        open: Box::new(|path| Ok(Box::new(Engine::open(path, MEMORY_BYTES_MIN)?))),
        clear: Box::new(|path| match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            cleared => cleared,
        }),
    };
    on(ground, (source, Arc::new(Files)), options, report)
}

/// As [`restore`], on any disk, from backups on any disk.
pub(crate) fn on(
    ground: Ground,
    (source, backups): (BackupSource<'_>, Arc<dyn Disk>),
    options: &RestoreOptions,
    report: Report<'_>,
) -> Result<Restored, RestoreError> {
    let archive = options.archive.as_ref();
    let archive = archive.map(|path| Place::new(Arc::clone(&backups), path));
    match source {
        BackupSource::Folder(path) => {
            let place = Place::new(backups, &path);
            let mut holdings = Holdings::default();
            holdings.add(&place)?;
            add_archive(&mut holdings, archive.as_ref(), place.repository()?)?;
            let chain = holdings.chain(options.goal, &path)?;
            let mut target = Restoring::begin(ground, options, report)?;
            if let Some((place, full)) = &chain.full {
                target.rows_of_set(place, full)?;
            }
            target.follow(&chain.stretches, chain.beyond)?;
            target.blobs(std::iter::once(&place).chain(&archive))?;
            target.finish()
        }
        BackupSource::Tar(stream) => {
            let mut tar = TarReader::new(stream);
            let repository = tar_repository(&mut tar)?;
            let mut target = Restoring::begin(ground, options, report)?;
            let full = target.rows_of_tar(&mut tar, &repository)?;
            let mut holdings = Holdings::default();
            add_archive(&mut holdings, archive.as_ref(), repository)?;
            check_goal(options.goal, &full)?;
            let chain = holdings.after(full.to, options.goal)?;
            target.follow(&chain.stretches, chain.beyond)?;
            target.blobs(archive.iter())?;
            target.finish()
        }
    }
}

fn add_archive<'a>(
    holdings: &mut Holdings<'a>,
    archive: Option<&'a Place>,
    expected: [u8; 16],
) -> Result<(), BackupFolderError> {
    match archive {
        Some(place) => {
            place.check(&expected)?;
            holdings.add(place)
        }
        None => Ok(()),
    }
}

/// A stream holds one commit; what is before it cannot be had from it.
fn check_goal(goal: Option<RestoreGoal>, full: &Manifest) -> Result<(), RestoreError> {
    let is_before = match goal {
        None => false,
        Some(RestoreGoal::Commit(commit)) => commit < full.to,
        Some(RestoreGoal::Time(time)) => time < full.time,
    };
    match is_before {
        true => Err(RestoreError::NoFull { path: "the stream".into(), earliest: Some(full.to) }),
        false => Ok(()),
    }
}

fn tar_repository(tar: &mut TarReader<&mut dyn Read>) -> Result<[u8; 16], RestoreError> {
    let first = tar.next().map_err(RestoreError::Stream)?;
    match first {
        Some((name, _)) if name == FORMAT => {
            let text = tar.read(manifest::BYTES_MAX).map_err(RestoreError::Stream)?;
            read_format(&text).map_err(RestoreError::NotABackup)
        }
        other => {
            let found = other.map_or("nothing".to_owned(), |(name, _)| name);
            Err(RestoreError::NotABackup(format!("it begins with {found}, not with {FORMAT}")))
        }
    }
}

/// What comes next of a full set.
enum Piece {
    /// A file of rows.
    Rows(PathBuf, Bytes),
    /// A blob with so many bytes, which is in its place.
    Blob(u64),
}

/// A repository being made.
struct Restoring<'a> {
    ground: Ground,
    options: &'a RestoreOptions,
    folder: Folder,
    /// Where the blobs come to.
    shelf: Arc<Shelf>,
    report: Report<'a>,
    progress: Progress,
    rows: u64,
    commits: u64,
    blobs: (u64, u64),
}

impl<'a> Restoring<'a> {
    fn begin(
        ground: Ground,
        options: &'a RestoreOptions,
        report: Report<'a>,
    ) -> Result<Self, RestoreError> {
        let folder = Folder::begin_restore(Arc::clone(&ground.disk), &options.folder)?;
        let engine = folder.engine();
        (ground.clear)(&engine).map_err(|source| OpenError::Io {
            action: "remove",
            path: engine,
            source,
        })?;
        let shelf = Arc::new(Shelf::new(&ground.disk, &options.folder, ""));
        shelf.clear().map_err(|error| RestoreError::Engine(error.to_string()))?;
        let progress = Progress::default();
        let (rows, commits, blobs) = (0, 0, (0, 0));
        Ok(Self { ground, options, folder, shelf, report, progress, rows, commits, blobs })
    }

    /// Copies the blobs that documents name.
    fn blobs<'p>(&mut self, places: impl Iterator<Item = &'p Place>) -> Result<(), RestoreError> {
        let engine = self.open()?;
        let row = engine.state_row().map_err(|error| RestoreError::Engine(error.to_string()))?;
        let names = Names { engine: &*engine, at: engine.state(row.commit) };
        if self.progress.bytes_expected > 0 {
            self.progress.bytes_expected += names.bytes()?;
        }
        let from: Vec<Shelf> = places.map(Shelf::of).collect();
        let mut told = told(&mut self.progress, &mut self.report);
        self.blobs = names.copy(&from, &self.shelf, &mut told)?;
        Ok(())
    }

    fn tell(&mut self, items: usize, bytes: usize) -> Result<(), RestoreError> {
        self.progress.items += items as u64;
        self.progress.bytes += bytes as u64;
        match (self.report)(&self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(RestoreError::Stopped),
        }
    }

    fn open(&mut self) -> Result<Box<dyn AtRest>, RestoreError> {
        Ok((self.ground.open)(&self.folder.engine())?)
    }

    /// Writes the rows of a full set.
    fn rows_of_set(&mut self, place: &Place, full: &Manifest) -> Result<(), RestoreError> {
        self.progress.bytes_expected = full.bytes();
        let mut files = full.files.iter();
        let next = &mut || match files.next() {
            None => Ok(None),
            Some(file) => {
                let path = place.path.join(full.folder()).join(&file.name);
                Ok(Some(Piece::Rows(path, place.file(full, file)?)))
            }
        };
        let check = |found: &Found| match found.rows == full.items {
            true => Ok(()),
            false => Err(RestoreError::NotABackup(format!(
                "{} has {} rows, its manifest says {}",
                full.folder(),
                found.rows,
                full.items
            ))),
        };
        self.ingest((full.to, full.time), full.repository, next, check)
    }

    /// Writes the rows of the full set that a stream holds; gives its manifest, with which it ends.
    fn rows_of_tar(
        &mut self,
        tar: &mut TarReader<&mut dyn Read>,
        repository: &[u8; 16],
    ) -> Result<Manifest, RestoreError> {
        let shelf = Arc::clone(&self.shelf);
        let not = |why: &str| RestoreError::NotABackup(why.to_owned());
        let (name, content) = loop {
            match next_piece(tar, &shelf)? {
                Some(Piece::Rows(name, content)) => break (name, content),
                Some(Piece::Blob(bytes)) => self.tell(0, bytes as usize)?,
                None => return Err(not("it holds no set")),
            }
        };
        let header = Decoder::new(content.clone()).map_err(RestoreError::NotABackup)?.header;
        let mut files = Vec::new();
        let mut manifest = None;
        let mut pending = Some(Piece::Rows(name, content));
        let next = &mut || {
            let piece = match pending.take() {
                Some(first) => Some(first),
                None => next_piece(tar, &shelf)?,
            };
            let (name, content) = match piece {
                Some(Piece::Rows(name, content)) => (name, content),
                other => return Ok(other),
            };
            let plain = name.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if plain == manifest::NAME {
                let text = String::from_utf8_lossy(&content);
                let read = Manifest::from_text(&text).map_err(RestoreError::NotABackup)?;
                manifest = Some(read);
                return Ok(None);
            }
            files.push(ManifestFile::of(plain, &content));
            Ok(Some(Piece::Rows(name, content)))
        };
        // What the stream ends with says whether it is whole.
        let mut whole = None;
        let at = (header.commit, header.time);
        let mut rows = 0;
        self.ingest(at, *repository, next, |found| {
            rows = found.rows;
            Ok(())
        })?;
        if let Some(manifest) = manifest {
            let is_same = manifest.files == files
                && (manifest.to, manifest.time, manifest.items) == (at.0, at.1, rows)
                && manifest.repository == *repository;
            whole = is_same.then_some(manifest);
        }
        whole.ok_or_else(|| not("its manifest is missing, or does not fit its files"))
    }

    /// Writes rows, in order, as the state at a commit.
    fn ingest(
        &mut self,
        (commit, time): (CommitNumber, Timestamp),
        repository: [u8; 16],
        next: &mut dyn FnMut() -> Result<Option<Piece>, RestoreError>,
        check: impl FnOnce(&Found) -> Result<(), RestoreError>,
    ) -> Result<(), RestoreError> {
        let engine = self.open()?;
        let failed = |error: crate::at_rest::EngineError| RestoreError::Engine(error.to_string());
        let mut ingest = engine.ingest(StateRow { commit, time, segment: 0 }).map_err(failed)?;
        let mut found = Found::default();
        while let Some(piece) = next()? {
            let (path, content) = match piece {
                Piece::Rows(path, content) => (path, content),
                Piece::Blob(bytes) => {
                    self.tell(0, bytes as usize)?;
                    continue;
                }
            };
            let damaged = |why| RestoreError::from(BackupFolderError::damaged(&path)(why));
            let bytes = content.len();
            let mut file = Decoder::new(content).map_err(damaged)?;
            let expected =
                Header { kind: Kind::Rows, repository, commit, time, place: found.files };
            if file.header != expected {
                return Err(damaged("it belongs to another place or another backup".to_owned()));
            }
            let before = found.rows;
            while let Some(frame) = file.next().map_err(damaged)? {
                for (id, key, document) in found.take(&frame, commit).map_err(damaged)? {
                    ingest.write(id, &key, Some(&document)).map_err(failed)?;
                }
            }
            if !file.is_ended() {
                return Err(damaged("it is cut off".to_owned()));
            }
            found.files += 1;
            self.tell((found.rows - before) as usize, bytes)?;
        }
        check(&found)?;
        ingest.finish().map_err(failed)?;
        self.rows = found.rows;
        Ok(())
    }

    /// Applies the commits of the stretches, up to the goal.
    fn follow(
        &mut self,
        stretches: &[Stretch<'_>],
        beyond: Option<CommitNumber>,
    ) -> Result<(), RestoreError> {
        if stretches.is_empty() {
            return Ok(());
        }
        let engine = self.open()?;
        let unreadable = |error: ReadError| RestoreError::Engine(error.to_string());
        let replay = Replay::begin(engine, &self.options.clock).map_err(unreadable)?;
        let mut following = Following { at: replay.last(), replay, is_done: false };
        for stretch in stretches.iter() {
            if following.is_done {
                break;
            }
            match stretch {
                Stretch::Set(place, set) => self.follow_set(&mut following, place, set)?,
                Stretch::Archive(place, file) => {
                    archive::read_file(place, file.after, |previous, mut records| {
                        // A frame that could not be synced may stand where the next file goes on.
                        records.retain(|(number, _)| *number <= file.to);
                        let why = |error: RestoreError| match error {
                            RestoreError::Backup(error) => error,
                            other => {
                                BackupFolderError::damaged(&file.path(place))(other.to_string())
                            }
                        };
                        self.records(&mut following, previous, records).map_err(why)
                    })?;
                    // What is missing behind the goal is in nobody's way.
                    let is_reached = self.options.goal == Some(RestoreGoal::Commit(following.at));
                    if !(following.is_done || is_reached || following.at >= file.to) {
                        return Err(missing(following.at, Some(file.to), file.to));
                    }
                }
            }
            if !following.is_done {
                following.at = following.at.max(stretch.to());
            }
        }
        let is_short =
            matches!(self.options.goal, Some(RestoreGoal::Time(_))) && !following.is_done;
        if let Some(beyond) = beyond.filter(|_| is_short) {
            // Something later is there that cannot be reached, and may be not after the time.
            return Err(missing(following.at, Some(beyond), beyond));
        }
        following.replay.write_down().map_err(|error| RestoreError::Engine(error.to_string()))
    }

    fn follow_set(
        &mut self,
        following: &mut Following,
        place: &Place,
        set: &Manifest,
    ) -> Result<(), RestoreError> {
        let mut items = 0;
        for (at, file) in set.files.iter().enumerate() {
            let path = place.path.join(set.folder()).join(&file.name);
            let damaged = |why| RestoreError::from(BackupFolderError::damaged(&path)(why));
            let mut read = Decoder::new(place.file(set, file)?).map_err(damaged)?;
            let Header { kind, repository, place: number, .. } = read.header;
            if (kind, repository, number as usize) != (Kind::Records, set.repository, at) {
                return Err(damaged("it belongs to another place or another backup".to_owned()));
            }
            while let Some(frame) = read.next().map_err(damaged)? {
                let records = frame.records().map_err(damaged)?;
                items += records.len() as u64;
                self.records(following, CommitNumber(frame.previous), records)?;
            }
            if following.is_done {
                return Ok(());
            }
            if !read.is_ended() {
                return Err(damaged("it is cut off".to_owned()));
            }
        }
        match items == set.items {
            true => Ok(()),
            false => Err(RestoreError::NotABackup(format!(
                "{} has {items} commits, its manifest says {}",
                set.folder(),
                set.items
            ))),
        }
    }

    /// Applies the records of one frame, but for those that are applied already or beyond the goal.
    fn records(
        &mut self,
        following: &mut Following,
        previous: CommitNumber,
        records: Vec<(CommitNumber, Bytes)>,
    ) -> Result<(), RestoreError> {
        if previous > following.at && !following.is_done {
            return Err(missing(following.at, Some(previous), previous));
        }
        let (mut applied, mut bytes) = (0, 0);
        for (number, record) in records {
            if number <= following.at {
                continue;
            }
            if following.is_done || self.is_beyond(number, &record) {
                following.is_done = true;
                break;
            }
            following.replay.record(number, &record).map_err(RestoreError::Apply)?;
            following.at = number;
            applied += 1;
            bytes += record.len();
        }
        self.commits += applied as u64;
        if following.replay.memory_bytes() > RESTORE_MEMORY_BYTES {
            let written = following.replay.write_down();
            written.map_err(|error| RestoreError::Engine(error.to_string()))?;
        }
        self.tell(applied, bytes)
    }

    fn is_beyond(&self, number: CommitNumber, record: &Bytes) -> bool {
        match self.options.goal {
            None => false,
            Some(RestoreGoal::Commit(commit)) => number > commit,
            Some(RestoreGoal::Time(time)) => record::time(record).is_some_and(|at| at > time),
        }
    }

    /// Reads everything once more, as `sarsen verify` does, and makes a repository of the folder.
    fn finish(mut self) -> Result<Restored, RestoreError> {
        let engine = self.open()?;
        let row = engine.state_row().map_err(|error| RestoreError::Engine(error.to_string()))?;
        self.folder.sync()?;
        let report = verify::verify_folder(&self.folder, engine)?;
        if report.wrong > 0 {
            return Err(RestoreError::Wrong(report.findings.join("; ")));
        }
        self.folder.finish_restore()?;
        Ok(Restored {
            repository: crate::folder::hex(&self.folder.id()),
            commit: row.commit,
            time: row.time,
            rows: self.rows,
            commits: self.commits,
            documents: report.documents.values().sum(),
            blobs: self.blobs.0,
            blob_bytes: self.blobs.1,
        })
    }
}

/// Rows that were found, which must be in order.
#[derive(Default)]
struct Found {
    files: u32,
    rows: u64,
    last: Option<(u32, String)>,
}

impl Found {
    fn take(
        &mut self,
        frame: &Frame,
        commit: CommitNumber,
    ) -> Result<Vec<super::file::Row>, String> {
        if frame.previous != self.rows {
            return Err(format!("rows {} to {} are missing", self.rows, frame.previous));
        }
        let rows = frame.rows()?;
        for (id, key, document) in &rows {
            let place = (*id, key.clone());
            if *id == 0 || self.last.as_ref().is_some_and(|last| *last >= place) {
                return Err(format!("the row {id}/{key} is out of order"));
            }
            if document.version > commit {
                return Err(format!(
                    "the row {id}/{key} is of the later commit {}",
                    document.version
                ));
            }
            self.last = Some(place);
        }
        self.rows += rows.len() as u64;
        Ok(rows)
    }
}

/// Commits being applied.
struct Following {
    replay: Replay,
    /// Everything up to it is applied, or has no record.
    at: CommitNumber,
    /// The goal is reached.
    is_done: bool,
}

/// The next file of a stream; a blob is put into its place.
fn next_piece(
    tar: &mut TarReader<&mut dyn Read>,
    shelf: &Shelf,
) -> Result<Option<Piece>, RestoreError> {
    let Some((name, bytes)) = tar.next().map_err(RestoreError::Stream)? else { return Ok(None) };
    if let Some(blob) = large::in_stream(&name, bytes) {
        large::take_from(tar, blob, shelf)?;
        return Ok(Some(Piece::Blob(blob.length)));
    }
    if bytes > BACKUP_FILE_READ_BYTES_MAX {
        return Err(RestoreError::NotABackup(format!("{name} has {bytes} bytes")));
    }
    let content = tar.read(bytes).map_err(RestoreError::Stream)?;
    Ok(Some(Piece::Rows(name.into(), content.into())))
}
