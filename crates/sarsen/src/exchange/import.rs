//! `sarsen import`: where the lines come from, and what is said of them.

use super::progress::Progress;
use super::{ExchangeError, message};
use crate::admin::{AskError, Event as Sent, Running, Sender};
use crate::cli::ImportArguments;
use crate::door::Door;
use crate::exit::Exit;
use repository::Repository;
use repository::exchange::{self as lines, Event, ImportOptions, Imported, Plain};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::thread;

/// Bytes of the input that are read at a time.
const PIECE_BYTES: usize = 1 << 16;

/// Imports a file or stdin; gives what is said about it on stderr, and how the process ends.
pub fn run(arguments: &ImportArguments) -> Result<(String, Exit), ExchangeError> {
    let plain = arguments.collection.clone().zip(arguments.key.clone());
    let options = ImportOptions {
        existing: arguments.existing,
        times: arguments.times,
        keep_going: arguments.keep_going,
        system: arguments.system,
        restart: arguments.restart,
        plain: plain.map(|(collection, key)| Plain { collection, key }),
    };
    let input: Box<dyn Read + Send> = match &arguments.file {
        None => Box::new(io::stdin()),
        Some(path) => {
            let failed =
                |source| ExchangeError::File { action: "read", path: path.clone(), source };
            let open = || File::open(path).map_err(failed);
            // A file that is not whole is told before anything of it is imported.
            if options.plain.is_none() && !options.keep_going {
                let checked = lines::check(&mut BufReader::with_capacity(PIECE_BYTES, open()?));
                checked.map_err(|error| {
                    ExchangeError::Work(format!(
                        "{}: {error}; nothing was imported",
                        path.display()
                    ))
                })?;
            }
            Box::new(open()?)
        }
    };
    let imported = match Door::find_or_make(&arguments.data)? {
        Door::Server(running) => send(running, &options, input)?,
        Door::Repository(repository) => {
            let imported = write(&repository, &options, input);
            let closed = Door::close(&repository);
            let imported = imported?;
            closed?;
            imported
        }
    };
    let exit = if imported.bad == 0 { Exit::Success } else { Exit::Failure };
    Ok((said(&imported), exit))
}

fn said(at: &Imported) -> String {
    if at.was_done {
        let (documents, lines) = (at.documents, at.lines);
        return format!(
            "it was imported before ({documents} documents, {lines} lines) and nothing was done; \
             --restart imports it again"
        );
    }
    let mut text = format!("imported {} documents", at.documents);
    for (count, what) in
        [(at.skipped, "were there already"), (at.expired, "had expired"), (at.bad, "bad lines")]
    {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    if let Some(line) = at.resumed_after {
        text.push_str(&format!(" (went on behind line {line})"));
    }
    text.push_str("; all of it is durable");
    text
}

/// A line that is passed over, as it is shown.
pub(super) fn bad_line(event: &Event<'_>) -> String {
    match event {
        Event::BadLine { line, error } => {
            let column = error.column.map(|column| format!(", column {column}"));
            format!("line {line}{}: {}\n", column.unwrap_or_default(), error.why)
        }
        Event::Progress(_) => String::new(),
    }
}

fn write(
    repository: &Repository,
    options: &ImportOptions,
    input: Box<dyn Read + Send>,
) -> Result<Imported, ExchangeError> {
    let mut progress = Progress::new();
    let mut input = BufReader::with_capacity(PIECE_BYTES, input);
    let imported = lines::import(repository, &mut input, options, &mut |event| match event {
        Event::Progress(at) => {
            progress.tell(at.documents, at.bytes, "");
            Ok(())
        }
        event => {
            progress.clear();
            io::stderr().write_all(bad_line(event).as_bytes())
        }
    });
    imported.map_err(|error| ExchangeError::Work(error.to_string()))
}

fn send(
    running: Running,
    options: &ImportOptions,
    input: Box<dyn Read + Send>,
) -> Result<Imported, ExchangeError> {
    let mut progress = Progress::new();
    let mut stream = running.stream("import", &message::of_import(options))?;
    let sender = stream.sender()?;
    // On a thread of its own: the server tells of bad lines while it is sent more. If it ends
    // first, so does the process, whatever the input does.
    let _sending = thread::Builder::new()
        .name("import".to_owned())
        .spawn(move || pump(input, sender))
        .map_err(|error| ExchangeError::Work(format!("no thread could be started: {error}")))?;
    loop {
        match stream.next() {
            Ok(Sent::Data(line)) => {
                progress.clear();
                io::stderr().write_all(&line).map_err(ExchangeError::Output)?;
            }
            Ok(Sent::Progress(at)) => {
                if let Some(at) = message::imported(&at) {
                    progress.tell(at.documents, at.bytes, "");
                }
            }
            Ok(Sent::End(result)) => {
                let unread = || ExchangeError::Work(format!("the server answered {result}"));
                return message::imported(&result).ok_or_else(unread);
            }
            Err(AskError::Refused(why)) => return Err(ExchangeError::Work(why)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends the input. What goes wrong on the way, the server tells, or its end.
fn pump(input: Box<dyn Read + Send>, mut sender: Sender) {
    let mut input = BufReader::with_capacity(PIECE_BYTES, input);
    loop {
        match input.fill_buf() {
            Ok([]) => {
                let _gone = sender.end();
                return;
            }
            Ok(bytes) => {
                let length = bytes.len();
                if sender.send(bytes).is_err() {
                    return;
                }
                input.consume(length);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // Without its end the server takes it for cut off, and says how far it came.
                eprintln!("sarsen: the input cannot be read: {error}");
                sender.abandon();
                return;
            }
        }
    }
}
