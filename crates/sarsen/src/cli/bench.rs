//! The arguments of `sarsen bench`.

use super::UsageError;
use super::flag::{Argument, Flag, Spec, Takes};
use super::value::{self, ValueError};
use lab::limits::{
    DURATION_MAX, PIPELINE_MAX, RATE_MAX, REQUEST_TIMEOUT_MAX, STREAMS_MAX, THREADS_MAX, USERS_MAX,
};
use lab::plan::{Arrivals, Protocol, Transport};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What load to apply, and how to report it.
#[derive(Debug, PartialEq)]
pub struct BenchArguments {
    /// What is requested; `{key}` in it is replaced by a number below `keys`.
    pub url: String,
    /// Users at the same time, each with one connection; in the open model the most at once.
    pub users: Option<usize>,
    /// Requests a second, whatever the server does.
    pub rate: Option<f64>,
    /// How they are spread.
    pub arrivals: Arrivals,
    /// How long the load goes on before it is measured.
    pub warm_up: Duration,
    /// How long.
    pub duration: Duration,
    /// Requests after which it ends.
    pub requests: Option<u64>,
    /// Fixes what is drawn.
    pub seed: u64,
    /// Longest time of a request.
    pub timeout: Duration,
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
    /// Threads that make the load.
    pub threads: usize,
    /// How requests travel.
    pub transport: Transport,
    /// A server on this machine whose CPU time is reported too.
    pub server_pid: Option<u32>,
    /// Whether the report is JSON.
    pub json: bool,
    /// Whether the rows of the GLASS benchmark of 2007 stand beside the result.
    pub glass: bool,
}

/// Where the body of a request comes from.
#[derive(Debug, PartialEq, Eq)]
pub enum Body {
    /// The command line itself.
    Text(String),
    /// A file.
    File(PathBuf),
}

impl Default for BenchArguments {
    fn default() -> Self {
        Self {
            url: String::new(),
            users: None,
            rate: None,
            arrivals: Arrivals::Poisson,
            warm_up: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            requests: None,
            seed: 1,
            timeout: Duration::from_secs(10),
            new_session: false,
            method: "GET".into(),
            headers: Vec::new(),
            body: Body::Text(String::new()),
            keys: 10_000,
            threads: 1,
            transport: Transport::default(),
            server_pid: None,
            json: false,
            glass: false,
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
        Ok(())
    },
};

const RATE: &str = "a number of requests a second, up to 10 million";

const FLAGS: &[Flag<BenchArguments>] = &[
    Flag {
        long: "users",
        short: Some('c'),
        takes: Takes::Value("N", |arguments, value| {
            arguments.users = Some(value::count(value, 1..=USERS_MAX as u64)? as usize);
            Ok(())
        }),
        about: "users at once, one connection each [10; 1000 with --rate]",
    },
    Flag {
        long: "rate",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            let rate: f64 = value::parsed(value, RATE)?;
            if !(rate.is_finite() && rate > 0.0 && rate <= RATE_MAX) {
                return Err(ValueError::expected(RATE));
            }
            arguments.rate = Some(rate);
            Ok(())
        }),
        about: "open model: N requests a second, whatever the server does",
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
            arguments.warm_up = value::duration(value, DURATION_MAX)?;
            Ok(())
        }),
        about: "load for so long before it is measured [1s]",
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
        about: "send this body, or this file's; a {nonce} always differs",
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
    Flag {
        long: "seed",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.seed = value::count(value, 0..=u64::MAX)?;
            Ok(())
        }),
        about: "the same number draws the same keys [1]",
    },
    Flag {
        long: "timeout",
        short: None,
        takes: Takes::Value("TIME", |arguments, value| {
            arguments.timeout = value::duration(value, REQUEST_TIMEOUT_MAX)?;
            Ok(())
        }),
        about: "longest time of a request; then it is an error [10s]",
    },
    Flag {
        long: "threads",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.threads = value::count(value, 1..=THREADS_MAX as u64)? as usize;
            Ok(())
        }),
        about: "threads that make the load [1]",
    },
    Flag {
        long: "http2",
        short: None,
        takes: Takes::Nothing(|arguments| {
            if let Protocol::Http1 { .. } = arguments.transport.protocol {
                arguments.transport.protocol = Protocol::Http2 { streams: 1 };
            }
        }),
        about: "speak HTTP/2: by ALPN on https, by prior knowledge on http",
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
    Flag {
        long: "ca",
        short: None,
        takes: Takes::Value("FILE", |arguments, value| {
            arguments.transport.trust.ca = Some(value.into());
            Ok(())
        }),
        about: "https: trust these certificates (PEM) and no others",
    },
    Flag {
        long: "insecure",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.transport.trust.insecure = true),
        about: "https: accept any certificate",
    },
    Flag {
        long: "server-pid",
        short: None,
        takes: Takes::Value("PID", |arguments, value| {
            arguments.server_pid = Some(value::count(value, 1..=u64::from(u32::MAX))? as u32);
            Ok(())
        }),
        about: "report this process's CPU time for each request too",
    },
    Flag {
        long: "json",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.json = true),
        about: "report as one JSON object",
    },
    Flag {
        long: "glass",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.glass = true),
        about: "show the GLASS benchmark's rows of 2007 beside the result",
    },
];

/// Splits `Name: value`. What may be in either is the lab's business.
fn header(value: OsString) -> Result<(String, String), ValueError> {
    let text = value::text(value)?;
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| ValueError::expected("a header field such as 'Accept: text/html'"))?;
    Ok((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
}

fn body(value: OsString) -> Result<Body, ValueError> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    if let Some(path) = value.as_bytes().strip_prefix(b"@") {
        return Ok(Body::File(OsString::from_vec(path.to_vec()).into()));
    }
    value::text(value).map(Body::Text)
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;
    use lab::plan::Trust;

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
        let trust = Trust { ca: Some("roots.pem".into()), insecure: true };
        Transport { protocol, keep_alive: false, trust }
    }

    #[test]
    fn every_flag_has_its_effect() {
        let words = [
            "bench",
            "u",
            "-c",
            "64",
            "--rate",
            "0.5",
            "--arrivals",
            "even",
            "--warm-up",
            "2s",
            "-d15s",
            "-n",
            "9",
            "--new-session",
            "--method",
            "PUT",
            "--header",
            "A: b:c",
            "--header",
            "D:e",
            "--body",
            "@file",
            "--keys",
            "1000",
            "--seed",
            "3",
            "--timeout",
            "500ms",
            "--threads",
            "2",
            "--streams",
            "8",
            "--http2",
            "--no-keep-alive",
            "--ca",
            "roots.pem",
            "--insecure",
            "--server-pid",
            "7",
            "--json",
            "--glass",
        ];
        let expected = BenchArguments {
            url: "u".into(),
            users: Some(64),
            rate: Some(0.5),
            arrivals: Arrivals::Even,
            warm_up: Duration::from_secs(2),
            duration: Duration::from_secs(15),
            requests: Some(9),
            seed: 3,
            timeout: Duration::from_millis(500),
            new_session: true,
            method: "PUT".into(),
            headers: vec![("A".into(), "b:c".into()), ("D".into(), "e".into())],
            body: Body::File("file".into()),
            keys: 1000,
            threads: 2,
            transport: transport(),
            server_pid: Some(7),
            json: true,
            glass: true,
        };
        assert_eq!(parsed(&words), Ok(expected));
    }

    #[test]
    fn a_body_may_be_text() {
        let body = parsed(&["bench", "u", "--body", "{\"a\":1}"]).map(|arguments| arguments.body);
        assert_eq!(body, Ok(Body::Text("{\"a\":1}".into())));
    }

    #[test]
    fn values_out_of_bounds_are_refused() {
        for (flag, bad) in [
            ("--header", "no colon"),
            ("-c", "0"),
            ("--rate", "0"),
            ("--rate", "nan"),
            ("--arrivals", "often"),
            ("-d", "10"),
            ("--threads", "65"),
            ("--streams", "0"),
            ("--pipeline", "1001"),
            ("--keys", "-1"),
            ("--server-pid", "4294967296"),
        ] {
            let error = parsed(&["bench", "u", flag, bad]).expect_err(bad);
            assert!(error.starts_with(&format!("{flag}: expected ")), "{error}");
        }
    }
}
