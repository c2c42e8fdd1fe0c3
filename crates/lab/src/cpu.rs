//! CPU time as the kernel counts it, read from `/proc`. It judges nothing.

use std::io;
use std::time::Duration;

/// Length of the kernel's clock tick in the files of `/proc`. Linux fixes it at 1/100 s for
/// every program, whatever the kernel's own timer runs at (`USER_HZ`, proc(5)).
const TICK: Duration = Duration::from_millis(10);

/// CPU time the calling thread has used.
///
/// # Errors
/// The file cannot be read or is not as proc(5) says.
pub(crate) fn this_thread() -> io::Result<Duration> {
    let path = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(path)?;
    parse_schedstat(&text).ok_or_else(|| unexpected(path, &text))
}

/// CPU time all threads of a process have used, in user and kernel mode.
///
/// # Errors
/// There is no such process, or the file is not as proc(5) says.
pub(crate) fn process(pid: u32) -> io::Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path)?;
    parse_stat(&text).ok_or_else(|| unexpected(&path, &text))
}

fn unexpected(path: &str, text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{path} reads \"{}\"", text.trim_end()))
}

/// The first field of schedstat is the time on the CPU in nanoseconds.
fn parse_schedstat(text: &str) -> Option<Duration> {
    text.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Fields 14 and 15 of stat are utime and stime in ticks. Field 2, the name in parentheses, may
/// hold spaces and parentheses itself, so fields are counted from its last one.
fn parse_stat(text: &str) -> Option<Duration> {
    let after_name = &text[text.rfind(')')? + 1..];
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let kernel: u32 = fields.next()?.parse().ok()?;
    Some(TICK * user + TICK * kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stat_past_an_awkward_name() {
        let text = "7 (a) b (c) R 1 2 3 0 -1 4194304 9 9 9 9 49 51 4 1 20 0 1 0 1 1 1\n";
        assert_eq!(parse_stat(text), Some(Duration::from_secs(1)));
        assert_eq!(parse_stat("7 (a) R 1 2"), None);
        assert_eq!(parse_stat("nothing"), None);
    }

    #[test]
    fn reads_schedstat() {
        assert_eq!(parse_schedstat("1500 2 3\n"), Some(Duration::from_nanos(1500)));
        assert_eq!(parse_schedstat(""), None);
    }

    #[test]
    fn reads_the_running_kernel() {
        this_thread().unwrap();
        process(std::process::id()).unwrap();
        assert_eq!(process(u32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
