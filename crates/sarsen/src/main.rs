//! The binary `sarsen`: reads the command line, runs the command, and turns its outcome into lines
//! and an exit code. What a command does is in the file of its name.

mod admin;
mod assemble;
mod backup;
mod bench;
mod cli;
mod code;
mod door;
mod errors;
mod exchange;
mod exit;
mod limits;
mod live;
mod logger;
mod lost;
mod machine;
mod memcached_faces;
mod memory_cache;
mod new;
mod notify;
mod null_server;
mod patience;
mod private;
mod progress;
mod queue;
mod record;
mod replay;
mod restore;
mod run;
mod runs;
mod serve;
mod siege;
mod signals;
mod stats;
mod steady_clock;
mod tasks;
mod terminal;
mod test;
mod token;
mod top;
mod verify;
mod watch;

use cli::Command;
use exit::Exit;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// A request makes and drops many small objects on several threads; this allocator is faster there
/// than the system's, and its memory stays closer to what is in use.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What `sarsen version` says.
const VERSION: &str = concat!("sarsen ", env!("CARGO_PKG_VERSION"), "\n");

fn main() -> ExitCode {
    let exit = match cli::parse(std::env::args_os().skip(1)) {
        Ok(command) => {
            private::keep(&command);
            run(command)
        }
        Err(error) => fail(&format_args!("{error}; see `sarsen help`"), Exit::Usage),
    };
    exit.into()
}

fn run(command: Command) -> Exit {
    if let Command::Bench(_) | Command::Run(_) | Command::Siege(_) | Command::NullServer(_) =
        command
    {
        // Each user has a connection, or more.
        machine::raise_descriptor_limit();
    }
    match command {
        Command::Serve(arguments) => serve(&arguments),
        Command::New(arguments) => match new::run(&arguments) {
            Ok(text) => print(&text, Exit::Success),
            Err(error) => fail(&error, Exit::Failure),
        },
        Command::Test(arguments) => {
            test::run(&arguments).unwrap_or_else(|error| fail(&error, error.exit()))
        }
        Command::Bench(arguments) => match bench::run(arguments) {
            Ok(finished) => print(&finished.text, finished.exit),
            Err(error) => fail(&error, error.exit()),
        },
        Command::Run(arguments) => match run::run(&arguments) {
            Ok(finished) => print(&finished.text, finished.exit),
            Err(error) => fail(&error, error.exit()),
        },
        Command::Submit(arguments) => queued(queue::submit(&arguments)),
        Command::Queue(arguments) => queued(queue::run(&arguments)),
        Command::Runs(arguments) => match runs::run(&arguments) {
            Ok(answer) => print(&answer.text, answer.exit),
            Err(error) => fail(&error, Exit::Failure),
        },
        Command::Siege(arguments) => match siege::run(&arguments) {
            Ok(text) => print(&text, Exit::Success),
            Err(error) => fail(&error, error.exit()),
        },
        Command::Replay(arguments) => replay(&arguments),
        Command::NullServer(arguments) => match null_server::run(&arguments) {
            Ok(()) => Exit::Success,
            Err(error) => fail(&error, Exit::Listen),
        },
        Command::Verify(arguments) => match verify::run(&arguments) {
            Ok(verified) => print(&verified.text, verified.exit),
            Err(error) => fail(&error, error.exit()),
        },
        Command::Stats(arguments) => count(&arguments),
        Command::Export(arguments) => {
            told(exchange::export(&arguments).map(|said| (said, Exit::Success)))
        }
        Command::Import(arguments) => told(exchange::import(&arguments)),
        Command::Token(arguments) => match token::run(arguments) {
            Ok(text) => print(&text, Exit::Success),
            Err(error) => fail(&error, Exit::Tokens),
        },
        Command::Backup(arguments) => back_up(&arguments),
        Command::Restore(arguments) => restore(&arguments),
        Command::Top(arguments) => match top::run(&arguments) {
            Ok(text) => print(&text, Exit::Success),
            Err(error) => fail(&error, error.exit()),
        },
        Command::Errors(arguments) => match errors::run(&arguments) {
            Ok(text) => print(&text, Exit::Success),
            Err(error) => fail(&error, Exit::Failure),
        },
        Command::Tasks(arguments) => match tasks::run(&arguments) {
            Ok(text) => print(&text, Exit::Success),
            Err(error) => fail(&error, error.exit()),
        },
        Command::Version => print(VERSION, Exit::Success),
        Command::Help(text) => print(&text, Exit::Success),
    }
}

fn serve(arguments: &cli::ServeArguments) -> Exit {
    if let Err(error) = logger::start(arguments.log) {
        return fail(&error, Exit::Failure);
    }
    match serve::run(arguments) {
        Ok(()) => Exit::Success,
        Err(error) => fail(&error, error.exit()),
    }
}

fn replay(arguments: &cli::ReplayArguments) -> Exit {
    match replay::run(arguments) {
        Ok(()) => Exit::Success,
        Err(error) => fail(&error, error.exit()),
    }
}

fn restore(arguments: &cli::RestoreArguments) -> Exit {
    match restore::run(arguments) {
        Ok(text) => print(&text, Exit::Success),
        Err(error) => fail(&error, error.exit()),
    }
}

fn count(arguments: &cli::StatsArguments) -> Exit {
    match stats::run(arguments) {
        Ok(text) => print(&text, Exit::Success),
        Err(error) => fail(&error, error.exit()),
    }
}

fn back_up(arguments: &cli::BackupArguments) -> Exit {
    match backup::run(arguments) {
        // stdout has the backup.
        Ok(finished) if arguments.to.as_os_str() == "-" => {
            eprint!("{}", finished.text);
            finished.exit
        }
        Ok(finished) => print(&finished.text, finished.exit),
        Err(error) => fail(&error, error.exit()),
    }
}

/// What a command of the queue comes to.
fn queued(answer: Result<queue::Answer, queue::QueueCommandError>) -> Exit {
    match answer {
        Ok(answer) => print(&answer.text, answer.exit),
        Err(error) => fail(&error, error.exit()),
    }
}

/// Says on stderr what was done; stdout may have what was asked for.
fn told(said: Result<(String, Exit), exchange::ExchangeError>) -> Exit {
    match said {
        Ok((said, exit)) => {
            eprintln!("{said}");
            exit
        }
        Err(error) => fail(&error, error.exit()),
    }
}

/// One line on stderr; the last thing a command that fails says.
fn fail(why: &dyn Display, exit: Exit) -> Exit {
    eprintln!("sarsen: {why}");
    exit
}

/// Prints the result of a command that ends with `exit`, unless nobody takes the result.
fn print(text: &str, exit: Exit) -> Exit {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Ok(()) => exit,
        Err(error) => fail(&format_args!("cannot write to stdout: {error}"), Exit::Failure),
    }
}
