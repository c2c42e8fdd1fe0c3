//! The arguments of `sarsen siege`, which are those of siege 4.0.7.

use super::UsageError;
use super::bench;
use super::flag::{Argument, Flag, Spec, Takes};
use super::lab_flags::{self, Common, HasCommon};
use super::value::{self, ValueError};
use lab::limits::{DURATION_MAX, SIEGE_DELAY_MAX, USERS_MAX};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What to besiege, and how.
#[derive(Debug, PartialEq)]
pub struct SiegeArguments {
    /// A URL, which a method and a body may follow.
    pub url: String,
    /// A file of URLs.
    pub file: Option<PathBuf>,
    /// Users at the same time.
    pub users: usize,
    /// How often.
    pub repetitions: Option<Repetitions>,
    /// For how long.
    pub time: Option<Duration>,
    /// A pause after each request, from 0 to this.
    pub delay: Duration,
    /// Whether there is none, whatever is said otherwise.
    pub benchmark: bool,
    /// Whether URLs are chosen at random.
    pub internet: bool,
    /// Fields of every request.
    pub headers: Vec<(String, String)>,
    /// Another User-Agent.
    pub agent: Option<String>,
    /// Another Content-Type of requests with a body.
    pub content_type: Option<String>,
    /// Whether what pages name is fetched, too.
    pub parser: bool,
    /// Whether redirects are followed.
    pub follow: bool,
    /// Whether one request of each URL is made and all of it shown.
    pub get: bool,
    /// What other commands have, too.
    pub common: Common,
}

impl HasCommon for SiegeArguments {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }
}

/// How many requests each user makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetitions {
    /// So many.
    Number(u64),
    /// As many as the file has URLs.
    Once,
}

impl Default for SiegeArguments {
    fn default() -> Self {
        Self {
            url: String::new(),
            file: None,
            users: 25,
            repetitions: None,
            time: None,
            delay: Duration::ZERO,
            benchmark: false,
            internet: false,
            headers: Vec::new(),
            agent: None,
            content_type: None,
            parser: true,
            follow: true,
            get: false,
            common: Common::default(),
        }
    }
}

/// How the arguments are written.
pub const SPEC: Spec<SiegeArguments> = Spec {
    name: "siege",
    usage: "[URL] [flags]",
    about: "Load a server by siege's options, with its report.",
    arguments: &[Argument {
        name: "URL",
        about: "[http://]HOST[:PORT][/PATH], or 'URL POST a=1'",
        store: |arguments, value| {
            arguments.url = value::text(value)?;
            Ok(())
        },
    }],
    flags: FLAGS,
    check: |arguments| match (arguments.url.is_empty(), &arguments.file) {
        (true, None) => {
            Err(UsageError::Missing { command: "siege", what: "a URL, or a file of them: -f FILE" })
        }
        (true, Some(_)) if arguments.get => {
            Err(UsageError::Missing { command: "siege", what: "a URL for -g, not a file of them" })
        }
        (false, Some(_)) => {
            Err(UsageError::Missing { command: "siege", what: "a URL or -f FILE, not both" })
        }
        _ => Ok(()),
    },
};

const FLAGS: &[Flag<SiegeArguments>] = &[
    Flag {
        long: "concurrent",
        short: Some('c'),
        takes: Takes::Value("N", |arguments, value| {
            arguments.users = value::count(value, 1..=USERS_MAX as u64)? as usize;
            Ok(())
        }),
        about: "users at once [25]",
    },
    Flag {
        long: "reps",
        short: Some('r'),
        takes: Takes::Value("N|once", |arguments, value| {
            arguments.repetitions = Some(repetitions(value)?);
            Ok(())
        }),
        about: "requests of each user; once: one of each URL",
    },
    Flag {
        long: "time",
        short: Some('t'),
        takes: Takes::Value("NUMm", |arguments, value| {
            arguments.time = Some(time(value)?);
            Ok(())
        }),
        about: "for how long: 30S, 10M or 1H; without unit minutes",
    },
    Flag {
        long: "delay",
        short: Some('d'),
        takes: Takes::Value("SECONDS", |arguments, value| {
            arguments.delay = delay(value)?;
            Ok(())
        }),
        about: "pause after each, at random from 0 to this [0]",
    },
    Flag {
        long: "benchmark",
        short: Some('b'),
        takes: Takes::Nothing(|arguments| arguments.benchmark = true),
        about: "no pauses",
    },
    Flag {
        long: "internet",
        short: Some('i'),
        takes: Takes::Nothing(|arguments| arguments.internet = true),
        about: "URLs of the file at random, not in their order",
    },
    Flag {
        long: "file",
        short: Some('f'),
        takes: Takes::Value("FILE", |arguments, value| {
            arguments.file = Some(value::file(value)?);
            Ok(())
        }),
        about: "URLs, one a line, with variables, methods and bodies",
    },
    Flag {
        long: "get",
        short: Some('g'),
        takes: Takes::Nothing(|arguments| arguments.get = true),
        about: "one request: show what is sent and the reply's head",
    },
    Flag {
        long: "header",
        short: Some('H'),
        takes: Takes::Value("'N: V'", |arguments, value| {
            arguments.headers.push(bench::header(value)?);
            Ok(())
        }),
        about: "send this header field; may be repeated",
    },
    Flag {
        long: "user-agent",
        short: Some('A'),
        takes: Takes::Value("TEXT", |arguments, value| {
            arguments.agent = Some(value::text(value)?);
            Ok(())
        }),
        about: "the User-Agent",
    },
    Flag {
        long: "content-type",
        short: Some('T'),
        takes: Takes::Value("TEXT", |arguments, value| {
            arguments.content_type = Some(value::text(value)?);
            Ok(())
        }),
        about: "the Content-Type of bodies [that of a form]",
    },
    Flag {
        long: "no-parser",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.parser = false),
        about: "leave out what pages name: style sheets, images",
    },
    Flag {
        long: "no-follow",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.follow = false),
        about: "follow no redirects",
    },
    Flag {
        long: "quiet",
        short: Some('q'),
        takes: Takes::Nothing(|arguments| arguments.common.quiet = true),
        about: "show nothing: the exit code alone tells",
    },
    Flag {
        long: "verbose",
        short: Some('v'),
        takes: Takes::Nothing(|arguments| arguments.common.quiet = false),
        about: "show how it goes on, as without this",
    },
    Flag {
        long: "json-output",
        short: Some('j'),
        takes: Takes::Nothing(|arguments| arguments.common.json = true),
        about: "report as one JSON object with siege's names",
    },
    lab_flags::timeout(),
    lab_flags::threads(),
    lab_flags::seed(),
];

fn repetitions(value: OsString) -> Result<Repetitions, ValueError> {
    if value.eq_ignore_ascii_case("once") {
        return Ok(Repetitions::Once);
    }
    match value::count(value, 1..=u64::MAX) {
        Ok(number) => Ok(Repetitions::Number(number)),
        Err(_) => Err(ValueError::expected("a number from 1 on, or once")),
    }
}

/// A number of seconds (S), minutes (M) or hours (H), in either case; minutes if that is left out.
fn time(value: OsString) -> Result<Duration, ValueError> {
    let expected =
        || ValueError::expected(format!("a time such as 30S, 10M or 1H, at most {DURATION_MAX:?}"));
    let text = value::text(value)?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "S" => 1,
        "" | "M" => 60,
        "H" => 3_600,
        _ => return Err(expected()),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u64> = is_number.then(|| digits.parse().ok()).flatten();
    let time = number.and_then(|number| number.checked_mul(unit)).map(Duration::from_secs);
    time.filter(|time| !time.is_zero() && *time <= DURATION_MAX).ok_or_else(expected)
}

fn delay(value: OsString) -> Result<Duration, ValueError> {
    let max = SIEGE_DELAY_MAX.as_secs_f64();
    let expected = || ValueError::expected(format!("seconds from 0 to {max}, such as 0.5"));
    let seconds: f64 = value::text(value)?.parse().map_err(|_why| expected())?;
    if !(0.0..=max).contains(&seconds) {
        return Err(expected());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn parsed(words: &[&str]) -> Result<SiegeArguments, String> {
        match parse(words.iter().map(Into::into)) {
            Ok(Command::Siege(arguments)) => Ok(arguments),
            Ok(other) => panic!("{words:?}: {other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn sieges_own_command_lines_are_understood() {
        let url = "http://h/".to_owned();
        let plain = || SiegeArguments { url: url.clone(), ..SiegeArguments::default() };
        let expected = SiegeArguments { benchmark: true, users: 10, ..plain() };
        assert_eq!(parsed(&["siege", "-b", "-c", "10", "http://h/"]), Ok(expected));
        let time = Some(Duration::from_secs(60));
        let expected = SiegeArguments { users: 100, time, ..plain() };
        assert_eq!(parsed(&["siege", "-c100", "-t1M", "http://h/"]), Ok(expected));
        let expected = SiegeArguments {
            file: Some("urls.txt".into()),
            repetitions: Some(Repetitions::Once),
            delay: Duration::from_millis(500),
            internet: true,
            headers: vec![("A".into(), "b".into())],
            agent: Some("me".into()),
            content_type: Some("text/plain".into()),
            parser: false,
            follow: false,
            common: Common { quiet: true, json: true, ..Common::default() },
            ..SiegeArguments::default()
        };
        let words = [
            "siege",
            "-i",
            "-d0.5",
            "--reps=once",
            "-f",
            "urls.txt",
            "-H",
            "A: b",
            "-A",
            "me",
            "-T",
            "text/plain",
            "--no-parser",
            "--no-follow",
            "-q",
            "-j",
        ];
        assert_eq!(parsed(&words), Ok(expected));
    }

    #[test]
    fn times_are_sieges() {
        let seconds = |text: &str| time(text.into()).ok().map(|time| time.as_secs());
        let read = ["30S", "30s", "2M", "2", "1H"].map(seconds);
        assert_eq!(read, [Some(30), Some(30), Some(120), Some(120), Some(3_600)]);
        for bad in ["", "S", "0S", "1.5M", "1D", "25H", "-1S", "1 S"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn values_out_of_bounds_are_refused() {
        for (flag, bad) in [
            ("-c", "0"),
            ("-r", "0"),
            ("-r", "twice"),
            ("-t", "soon"),
            ("-d", "-1"),
            ("-d", "nan"),
            ("-d", "3601"),
            ("-H", "no colon"),
        ] {
            let error = parsed(&["siege", "u", flag, bad]).expect_err(bad);
            assert!(error.starts_with(&format!("{flag}: expected ")), "{error}");
        }
        assert!(parsed(&["siege"]).expect_err("nothing").contains("-f FILE"));
        assert!(parsed(&["siege", "-g", "-f", "x"]).expect_err("a file").contains("a URL for -g"));
        assert!(parsed(&["siege", "u", "-f", "x"]).expect_err("both").contains("not both"));
    }
}
