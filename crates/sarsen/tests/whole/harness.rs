//! Starts and stops the real binary for the tests. A server is killed when its handle is dropped.

use crate::http::{Client, Reply};
use crate::patience::{Deadline, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// A command that ends by itself.
pub trait Ends {
    /// Runs it to its end.
    fn ends(&mut self) -> Output;
}

impl Ends for Command {
    fn ends(&mut self) -> Output {
        self.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn().unwrap_or_else(|error| {
            panic!("{self:?} does not run ({error}); scripts/setup.sh installs what is not ours")
        });
        let _deadline = Deadline::of(&child, format!("{self:?}"));
        child.wait_with_output().expect("its output")
    }
}

/// The binary, to be given arguments.
pub fn sarsen() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sarsen"));
    command.stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn run(arguments: &[&str]) -> Output {
    sarsen().args(arguments).ends()
}

/// The repository's root, where `apps/` is.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An application that only the tests use.
pub fn test_app(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps").join(name)
}

/// A data folder, and how to start servers on it. It is deleted when this and its servers are gone.
pub struct Site {
    folder: Arc<TempDir>,
    app: Option<PathBuf>,
}

impl Site {
    /// Documents only.
    pub fn bare() -> Self {
        Self { folder: Arc::new(tempfile::tempdir().expect("a temporary folder")), app: None }
    }

    /// With the application in `app`.
    pub fn with_app(app: PathBuf) -> Self {
        Self { app: Some(app), ..Self::bare() }
    }

    /// The repository's folder; it does not exist before the first start.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The command that serves on a free port.
    pub fn serve(&self) -> Command {
        let mut command = sarsen();
        command.arg("serve").args(&self.app).arg("--data").arg(self.data());
        command.args(["--listen", "127.0.0.1:0", "--gems", "2", "--memory", "64M"]);
        command
    }

    /// Starts a server and waits until it says where it is.
    pub fn start(&self) -> Server {
        self.start_by(&mut self.serve())
    }

    /// The same, with more arguments.
    pub fn start_with(&self, arguments: &[&str]) -> Server {
        self.start_by(self.serve().args(arguments))
    }

    /// As `start`, by this command.
    pub fn start_by(&self, command: &mut Command) -> Server {
        let log = self.log();
        let stderr = OpenOptions::new().create(true).append(true).open(&log).expect("a log file");
        Server::start(command.stderr(stderr), log, Arc::clone(&self.folder))
    }

    /// Where its servers log, one after the other.
    fn log(&self) -> PathBuf {
        self.folder.path().join("stderr")
    }

    /// What its servers have logged.
    pub fn logged(&self) -> String {
        read_log(&self.log())
    }

    /// Waits until `look` finds something, such as a command's output; see [`wait_for`].
    pub fn wait_for<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        wait_for(what, || read_log(&self.log()), look)
    }

    /// `sarsen verify` on the folder.
    pub fn verify(&self) -> Output {
        sarsen().arg("verify").arg("--data").arg(self.data()).ends()
    }

    /// Verifies, and fails the test unless the repository is clean.
    pub fn assert_clean(&self) {
        let output = self.verify();
        assert!(output.status.success(), "verify: {output:?}");
    }
}

/// A running server.
pub struct Server {
    child: Child,
    /// Kept open, so that the server never finds its stdout closed.
    _stdout: BufReader<ChildStdout>,
    /// Kept as long as a server works in it.
    _folder: Arc<TempDir>,
    /// The lines it said at the start.
    pub said: Vec<String>,
    address: SocketAddr,
    log: PathBuf,
}

impl Server {
    fn start(command: &mut Command, log: PathBuf, folder: Arc<TempDir>) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
        let _deadline = Deadline::of(&child, format!("the start of {command:?}"));
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let mut said = Vec::new();
        while !said.last().is_some_and(|line: &String| line.starts_with("url")) {
            let mut line = String::new();
            let read = stdout.read_line(&mut line).expect("its lines are UTF-8");
            if read == 0 {
                let (ended, log) = (child.wait(), read_log(&log));
                panic!("it ended with {ended:?}, said {said:?} and logged:\n{log}");
            }
            said.push(line.trim_end().to_owned());
        }
        let url = said.last().and_then(|line| line.strip_prefix("url")).expect("the last line");
        let address = url.trim().trim_start_matches("http://").trim_end_matches('/');
        let address = address.parse().expect("an address in the URL");
        Self { child, _stdout: stdout, _folder: folder, said, address, log }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.address).expect("the server accepts")
    }

    /// One request on a connection of its own.
    pub fn get(&self, path: &str) -> Reply {
        self.connect().get(path).expect("a reply")
    }

    /// What it has logged so far, and servers before it on the same folder.
    pub fn logged(&self) -> String {
        read_log(&self.log)
    }

    /// Waits until the log holds `words`.
    pub fn wait_for_log(&mut self, words: &str) {
        let Self { child, log, .. } = self;
        wait_for(
            &format!("{words:?} in the log"),
            || read_log(log),
            || {
                let ended = child.try_wait().expect("its state");
                let has_said = read_log(log).contains(words);
                assert!(
                    has_said || ended.is_none(),
                    "it ended without {words:?}:\n{}",
                    read_log(log)
                );
                has_said.then_some(())
            },
        );
    }

    /// Waits until it is so; see [`wait_for`].
    pub fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        wait_for(what, || self.logged(), || is_so().then_some(()));
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process id"), signal).expect("the process is there");
    }

    /// Waits until it has ended by itself.
    pub fn wait(mut self) -> ExitStatus {
        let Self { child, log, .. } = &mut self;
        wait_for("its end", || read_log(log), || child.try_wait().expect("its state"))
    }

    /// Asks it to stop and waits.
    pub fn stop(self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Stops it as a crash would: nothing is finished, nothing is flushed.
    pub fn kill(mut self) {
        self.child.kill().expect("the process is there");
        self.child.wait().expect("its exit status");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `wait` or `kill` there is nothing left to kill, and that is fine.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// What servers wrote there, as far as it is text.
fn read_log(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// Every file below `folder` with its bytes.
pub fn read_tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(read_tree(&path));
        } else {
            let bytes = std::fs::read(&path).expect("the file");
            files.push((path, bytes));
        }
    }
    files.sort();
    files
}

/// A file that cannot be a folder.
pub fn plain_file(folder: &Path) -> PathBuf {
    let path = folder.join("plain");
    File::create(&path).expect("a file");
    path
}
