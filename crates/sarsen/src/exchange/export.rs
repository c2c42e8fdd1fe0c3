//! `sarsen export`: where the lines go, and what is said of them.

use super::progress::Progress;
use super::{ExchangeError, message};
use crate::admin::{Event, Running};
use crate::cli::ExportArguments;
use crate::door::Door;
use repository::Repository;
use repository::exchange::{self as lines, ExportError, ExportFrom, ExportScope, Exporting};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

/// Writes an export to stdout or a file; gives what is said about it on stderr.
pub fn run(arguments: &ExportArguments) -> Result<String, ExchangeError> {
    let asked =
        ExportScope { collections: arguments.collections.clone(), system: arguments.system };
    let Some(path) = &arguments.output else {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let (at, commit) = write(arguments, (&asked, None), &mut out)?;
        out.flush().map_err(ExchangeError::Output)?;
        return Ok(said(&at, commit));
    };
    let failed =
        |action| move |source| ExchangeError::File { action, path: path.to_owned(), source };
    let (file, from) = match arguments.resume {
        true => begun(path)?,
        false => (File::create_new(path).map_err(failed("make"))?, None),
    };
    let scope = from.as_ref().map_or(&asked, |from| &from.scope);
    let mut out = BufWriter::with_capacity(1 << 16, &file);
    let (at, commit) = write(arguments, (scope, from.as_ref()), &mut out)?;
    out.flush().and_then(|()| file.sync_all()).map_err(failed("write"))?;
    Ok(said(&at, commit))
}

fn said(at: &Exporting, commit: u64) -> String {
    let (documents, collections) = (at.written.documents, at.written.collections);
    format!("exported {documents} documents of {collections} collections at commit {commit}")
}

/// Opens a file that an export was begun in, behind what is whole of it.
fn begun(path: &Path) -> Result<(File, Option<ExportFrom>), ExchangeError> {
    let failed =
        |action| move |source| ExchangeError::File { action, path: path.to_owned(), source };
    let file = OpenOptions::new().read(true).append(true).create(true).open(path);
    let file = file.map_err(failed("open"))?;
    let from = lines::resume_of(&mut BufReader::with_capacity(1 << 16, &file))
        .map_err(|why| ExchangeError::Resume { path: path.to_owned(), why })?;
    let whole = from.as_ref().map_or(0, |from| from.bytes);
    file.set_len(whole).map_err(failed("write"))?;
    Ok((file, from))
}

type Wanted<'a> = (&'a ExportScope, Option<&'a ExportFrom>);

/// Writes it, and gives what was written at which commit.
fn write(
    arguments: &ExportArguments,
    wanted: Wanted<'_>,
    out: &mut dyn Write,
) -> Result<(Exporting, u64), ExchangeError> {
    match Door::find(&arguments.data)? {
        Door::Server(running) => ask(running, wanted, out),
        Door::Repository(repository) => {
            let written = read(&repository, wanted, out);
            let closed = Door::close(&repository);
            let written = written?;
            closed?;
            Ok(written)
        }
    }
}

fn read(
    repository: &Repository,
    (scope, from): Wanted<'_>,
    out: &mut dyn Write,
) -> Result<(Exporting, u64), ExchangeError> {
    let mut progress = Progress::new();
    let snapshot = repository.snapshot().map_err(|e| ExchangeError::Work(e.to_string()))?;
    let exported = lines::export(&snapshot, scope, from, out, &mut |at| {
        progress.tell(at.written.documents, at.bytes, &at.collection);
        Ok(())
    });
    match exported {
        Ok(at) => Ok((at, snapshot.commit().0)),
        Err(ExportError::Write(error)) => Err(ExchangeError::Output(error)),
        Err(error) => Err(ExchangeError::Work(error.to_string())),
    }
}

fn ask(
    running: Running,
    (scope, from): Wanted<'_>,
    out: &mut dyn Write,
) -> Result<(Exporting, u64), ExchangeError> {
    let mut progress = Progress::new();
    let mut stream = running.stream("export", &message::of_export(scope, from))?;
    let mut written = 0;
    loop {
        match stream.next()? {
            Event::Data(bytes) => {
                out.write_all(&bytes).map_err(ExchangeError::Output)?;
                written += bytes.len() as u64;
            }
            Event::Progress(at) => {
                if let Some((at, _)) = message::exporting(&at) {
                    progress.tell(at.written.documents, written, &at.collection);
                }
            }
            Event::End(result) => {
                let unread = || ExchangeError::Work(format!("the server answered {result}"));
                return message::exporting(&result).ok_or_else(unread);
            }
        }
    }
}
