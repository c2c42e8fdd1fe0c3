//! The arguments of `sarsen bench`.

use super::UsageError;
use super::flag::{Argument, Flag, Spec, Takes};
use super::lab_flags::{self, Common, HasCommon};
use super::load;
use super::value::{self, ValueError};
use lab::limits::{DURATION_MAX, PIPELINE_MAX, RATE_MAX, STREAMS_MAX, USERS_MAX};
use lab::plan::{Arrivals, Gate, Protocol, Transport};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What load to apply, and how to report it.
#[derive(Debug, PartialEq)]
pub struct BenchArguments {
    /// What is requested; `{key}` in it is replaced by a number below `keys`.
    pub url: String,
    /// Users at the same time, each with one connection, level after level; in the open model the
    /// most at once. Empty: the default.
    pub users: Vec<(f64, f64)>,
    /// Requests a second, whatever the server does, level after level. Empty: the closed model.
    pub rate: Vec<(f64, f64)>,
    /// How they are spread.
    pub arrivals: Arrivals,
    /// How long the load goes on before it is measured.
    pub warm_up: Duration,
    /// How long.
    pub duration: Duration,
    /// Requests after which it ends.
    pub requests: Option<u64>,
    /// Whether a user forgets its cookies before each request.
    pub new_session: bool,
    /// The request's method.
    pub method: String,
    /// Header fields sent with each request.
    pub headers: Vec<(String, String)>,
    /// The body of each request.
    pub body: Body,
    /// How many numbers `{key}` stands for.
    pub keys: u64,
    /// How requests travel.
    pub transport: Transport,
    /// What the run must keep.
    pub gates: Vec<Gate>,
    /// Whether it is kept in the folder of runs.
    pub archive: bool,
    /// Whether the rows of the GLASS benchmark of 2007 stand beside the result.
    pub glass: bool,
    /// What other commands have, too. With a folder of runs it is kept in any case.
    pub common: Common,
}

impl HasCommon for BenchArguments {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }
}

/// Where the body of a request comes from.
#[derive(Debug, PartialEq, Eq)]
pub enum Body {
    /// The command line itself.
    Text(String),
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Default for BenchArguments {
    fn default() -> Self {
        Self {
            url: String::new(),
            users: Vec::new(),
            rate: Vec::new(),
            arrivals: Arrivals::Poisson,
            warm_up: Duration::from_secs(10),
            duration: Duration::from_secs(10),
            requests: None,
            new_session: false,
            method: "GET".into(),
            headers: Vec::new(),
            body: Body::Text(String::new()),
            keys: 10_000,
            transport: Transport::default(),
            gates: Vec::new(),
            archive: false,
            glass: false,
            common: Common::default(),
        }
    }
}

/// How the arguments are written.
pub const SPEC: Spec<BenchArguments> = Spec {
    name: "bench",
    usage: "URL [flags]",
    about: "Load an HTTP server and report what it did.",
    arguments: &[Argument {
        name: "URL",
        about: "http(s)://HOST:PORT/PATH, with {key}, {other}, {nonce}",
        store: |arguments, value| {
            arguments.url = value::text(value)?;
            Ok(())
        },
    }],
    flags: FLAGS,
    check: |arguments| {
        if arguments.url.is_empty() {
            return Err(UsageError::Missing { command: "bench", what: "a URL" });
        }
        let is_one = match arguments.users.as_slice() {
            [] => true,
            [(from, to)] => from == to,
            _ => false,
        };
        if !arguments.rate.is_empty() && !is_one {
            let what = "one number of users at most with --rate: `-c N`";
            return Err(UsageError::Missing { command: "bench", what });
        }
        Ok(())
    },
};

const FLAGS: &[Flag<BenchArguments>] = &[
    Flag {
        long: "users",
        short: Some('c'),
        takes: Takes::Value("N", |arguments, value| {
            arguments.users = load::levels(value, USERS_MAX as f64, true)?;
            Ok(())
        }),
        about: "users at once, or 10,20,40 or 1..50 [10; open 1000]",
    },
    Flag {
        long: "rate",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.rate = load::levels(value, RATE_MAX, false)?;
            Ok(())
        }),
        about: "open model: N requests a second, or 0..900, or 100,200",
    },
    Flag {
        long: "arrivals",
        short: None,
        takes: Takes::Value("LAW", |arguments, value| {
            arguments.arrivals = match value::text(value)?.as_str() {
                "poisson" => Arrivals::Poisson,
                "even" => Arrivals::Even,
                _ => return Err(ValueError::expected("poisson or even")),
            };
            Ok(())
        }),
        about: "how --rate is spread: poisson or even [poisson]",
    },
    Flag {
        long: "warm-up",
        short: None,
        takes: Takes::Value("TIME", |arguments, value| {
            let is_none = matches!(value.to_str(), Some("0" | "0s"));
            let time = || value::duration(value.clone(), DURATION_MAX);
            arguments.warm_up = if is_none { Duration::ZERO } else { time()? };
            Ok(())
        }),
        about: "load for so long before it is measured, or 0s [10s]",
    },
    Flag {
        long: "requests",
        short: Some('n'),
        takes: Takes::Value("N", |arguments, value| {
            arguments.requests = Some(value::count(value, 1..=u64::MAX)?);
            Ok(())
        }),
        about: "end after N requests, if that is earlier",
    },
    Flag {
        long: "duration",
        short: Some('d'),
        takes: Takes::Value("TIME", |arguments, value| {
            arguments.duration = value::duration(value, DURATION_MAX)?;
            Ok(())
        }),
        about: "how long, as 500ms, 15s or 2m [10s]",
    },
    Flag {
        long: "new-session",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.new_session = true),
        about: "forget cookies before each request",
    },
    Flag {
        long: "method",
        short: None,
        takes: Takes::Value("M", |arguments, value| {
            arguments.method = value::text(value)?;
            Ok(())
        }),
        about: "the request's method [GET]",
    },
    Flag {
        long: "header",
        short: None,
        takes: Takes::Value("'N: V'", |arguments, value| {
            arguments.headers.push(header(value)?);
            Ok(())
        }),
        about: "send this header field; may be repeated",
    },
    Flag {
        long: "body",
        short: None,
        takes: Takes::Value("TEXT|@FILE", |arguments, value| {
            arguments.body = body(value)?;
            Ok(())
        }),
        about: "send this, a file, or with @- stdin; {nonce} differs",
    },
    Flag {
        long: "keys",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.keys = value::count(value, 1..=u64::MAX)?;
            Ok(())
        }),
        about: "{key} in URL, header or body is a number below N [10000]",
    },
    lab_flags::seed(),
    lab_flags::timeout(),
    lab_flags::threads(),
    Flag {
        long: "http2",
        short: None,
        takes: Takes::Nothing(|arguments| {
            if let Protocol::Http1 { .. } = arguments.transport.protocol {
                arguments.transport.protocol = Protocol::Http2 { streams: 1 };
            }
        }),
        about: "HTTP/2: by ALPN on https, by prior knowledge on http",
    },
    Flag {
        long: "streams",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            let streams = value::count(value, 1..=STREAMS_MAX as u64)? as usize;
            arguments.transport.protocol = Protocol::Http2 { streams };
            Ok(())
        }),
        about: "HTTP/2 with N users on each connection [1]",
    },
    Flag {
        long: "pipeline",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            let pipeline = value::count(value, 1..=PIPELINE_MAX as u64)? as usize;
            arguments.transport.protocol = Protocol::Http1 { pipeline };
            Ok(())
        }),
        about: "HTTP/1.1 with N users on each connection, in turns [1]",
    },
    Flag {
        long: "no-keep-alive",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.transport.keep_alive = false),
        about: "a connection for each request (Connection: close)",
    },
    lab_flags::ca(),
    lab_flags::insecure(),
    lab_flags::pid(),
    lab_flags::observe(),
    lab_flags::metrics(),
    Flag {
        long: "gate",
        short: None,
        takes: Takes::Value("'NAME<N'", |arguments, value| {
            arguments.gates.push(load::gate(value)?);
            Ok(())
        }),
        about: "p99<50ms, errors<1% or rate>1000: else it is FAILED",
    },
    Flag {
        long: "archive",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.archive = true),
        about: "keep the run in ./runs, or in the folder $SARSEN_RUNS",
    },
    lab_flags::runs(),
    lab_flags::no_host(),
    lab_flags::quiet(),
    lab_flags::json(),
    Flag {
        long: "glass",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.glass = true),
        about: "show the GLASS benchmark's rows of 2007 beside the result",
    },
];

/// Splits `Name: value`. What may be in either is the lab's business.
pub fn header(value: OsString) -> Result<(String, String), ValueError> {
    let text = value::text(value)?;
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| ValueError::expected("a header field such as 'Accept: text/html'"))?;
    Ok((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
}

fn body(value: OsString) -> Result<Body, ValueError> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    if value == "@-" {
        return Ok(Body::Stdin);
    }
    if let Some(path) = value.as_bytes().strip_prefix(b"@") {
        return Ok(Body::File(OsString::from_vec(path.to_vec()).into()));
    }
    value::text(value).map(Body::Text)
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;
    use lab::plan::{Process, Trust};

    fn parsed(words: &[&str]) -> Result<BenchArguments, String> {
        match parse(words.iter().map(Into::into)) {
            Ok(Command::Bench(arguments)) => Ok(arguments),
            Ok(other) => panic!("{words:?}: {other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn only_the_url_is_needed() {
        let expected = BenchArguments { url: "http://h/".into(), ..BenchArguments::default() };
        assert_eq!(parsed(&["bench", "http://h/"]), Ok(expected));
    }

    fn transport() -> Transport {
        let protocol = Protocol::Http2 { streams: 8 };
        Transport { protocol, keep_alive: false, ..Transport::default() }
    }

    #[test]
    fn every_flag_has_its_effect() {
        // With one word that has a space in it, and so on a line of its own.
        let line = "bench u -c 64 --rate 0.5 --arrivals even --warm-up 2s -d15s -n 9 --new-session \
            --method PUT --header D:e --body @file --keys 1000 --seed 3 --timeout 500ms \
            --threads 2 --streams 8 --http2 --no-keep-alive --ca roots.pem --insecure --pid 7 \
            --observe db=8+ \
            --metrics m \
            --gate errors<50% --archive --runs kept --no-host -q --json --glass --header";
        let words: Vec<&str> = line.split_whitespace().chain(["A: b:c"]).collect();
        let expected = BenchArguments {
            url: "u".into(),
            users: vec![(64.0, 64.0)],
            rate: vec![(0.5, 0.5)],
            arrivals: Arrivals::Even,
            warm_up: Duration::from_secs(2),
            duration: Duration::from_secs(15),
            requests: Some(9),
            new_session: true,
            method: "PUT".into(),
            headers: vec![("D".into(), "e".into()), ("A".into(), "b:c".into())],
            body: Body::File("file".into()),
            keys: 1000,
            transport: transport(),
            gates: vec![Gate::Errors { at_most: 0.5 }],
            archive: true,
            glass: true,
            common: Common {
                seed: Some(3),
                timeout: Some(Duration::from_millis(500)),
                threads: Some(2),
                trust: Trust { ca: Some("roots.pem".into()), insecure: true },
                pids: vec![7],
                observed: vec![Process { name: "db".into(), pid: 8, with_children: true }],
                metrics: vec!["m".into()],
                runs: Some("kept".into()),
                no_host: true,
                quiet: true,
                json: true,
            },
        };
        assert_eq!(parsed(&words), Ok(expected));
    }

    #[test]
    fn a_body_may_be_text() {
        let body = parsed(&["bench", "u", "--body", "{\"a\":1}"]).map(|arguments| arguments.body);
        assert_eq!(body, Ok(Body::Text("{\"a\":1}".into())));
        let body = parsed(&["bench", "u", "--body", "@-"]).map(|arguments| arguments.body);
        assert_eq!(body, Ok(Body::Stdin));
    }

    #[test]
    fn levels_of_users_do_not_go_with_a_rate() {
        let error = parsed(&["bench", "u", "--rate", "1..9", "-c", "1..2"]).expect_err("both");
        assert!(error.contains("with --rate"), "{error}");
        assert!(parsed(&["bench", "u", "--rate", "1..9", "-c", "20"]).is_ok());
    }

    #[test]
    fn values_out_of_bounds_are_refused() {
        for (flag, bad) in [
            ("--header", "no colon"),
            ("-c", "0"),
            ("-c", "20001"),
            ("-c", "1.5"),
            ("--gate", "p99"),
            ("--rate", "0"),
            ("--rate", "nan"),
            ("--arrivals", "often"),
            ("-d", "10"),
            ("--threads", "65"),
            ("--streams", "0"),
            ("--pipeline", "1001"),
            ("--keys", "-1"),
            ("--pid", "4294967296"),
        ] {
            let error = parsed(&["bench", "u", flag, bad]).expect_err(bad);
            assert!(error.starts_with(&format!("{flag}: expected ")), "{error}");
        }
    }
}
