//! The arguments of `sarsen serve`.

use super::flag::{Argument, Flag, Spec, Takes};
use super::value;
use crate::limits::GEMS_MAX;
use faces::AccessLogTarget;
use log::LevelFilter;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// What to serve, and how.
#[derive(Debug, PartialEq, Eq)]
pub struct ServeArguments {
    /// The application's folder; without one only documents are served.
    pub app: Option<PathBuf>,
    /// The repository's folder.
    pub data: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Threads that run the application; one for each core if not given.
    pub gems: Option<usize>,
    /// Memory for documents, buffers and caches in bytes; chosen by the machine if not given.
    pub memory: Option<u64>,
    /// Whether tokens may come from other machines without TLS.
    pub insecure_no_tls: bool,
    /// Where requests are written down.
    pub access_log: Option<AccessLogTarget>,
    /// What is logged.
    pub log: LevelFilter,
}

impl Default for ServeArguments {
    fn default() -> Self {
        Self {
            app: None,
            data: "./sarsen-data".into(),
            listen: (Ipv4Addr::LOCALHOST, 8000).into(),
            gems: None,
            memory: None,
            insecure_no_tls: false,
            access_log: None,
            log: LevelFilter::Info,
        }
    }
}

/// How the arguments are written.
pub const SPEC: Spec<ServeArguments> = Spec {
    name: "serve",
    usage: "[APP] [flags]",
    about: "Run an application, or only documents, on a repository.",
    arguments: &[Argument {
        name: "APP",
        about: "the application's folder [none: documents only]",
        store: |arguments, value| {
            arguments.app = Some(value::folder(value)?);
            Ok(())
        },
    }],
    flags: FLAGS,
    check: |_| Ok(()),
};

const FLAGS: &[Flag<ServeArguments>] = &[
    Flag {
        long: "data",
        short: None,
        takes: Takes::Value("DIR", |arguments, value| {
            arguments.data = value::folder(value)?;
            Ok(())
        }),
        about: "the repository's folder, made if missing [./sarsen-data]",
    },
    Flag {
        long: "listen",
        short: None,
        takes: Takes::Value("ADDR", |arguments, value| {
            arguments.listen = value::parsed(value, "an address such as 127.0.0.1:8000")?;
            Ok(())
        }),
        about: "address and port; port 0 takes a free one [127.0.0.1:8000]",
    },
    Flag {
        long: "gems",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            arguments.gems = Some(value::count(value, 1..=GEMS_MAX as u64)? as usize);
            Ok(())
        }),
        about: "threads that run the application [one for each core]",
    },
    Flag {
        long: "memory",
        short: None,
        takes: Takes::Value("SIZE", |arguments, value| {
            arguments.memory = Some(value::size(value)?);
            Ok(())
        }),
        about: "for documents and caches [1G, or a quarter of RAM if less]",
    },
    Flag {
        long: "insecure-no-tls",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.insecure_no_tls = true),
        about: "let tokens come from other machines in the clear",
    },
    Flag {
        long: "access-log",
        short: None,
        takes: Takes::Value("FILE", |arguments, value| {
            arguments.access_log = Some(match value.to_str() {
                Some("-") => AccessLogTarget::Stdout,
                _ => AccessLogTarget::File(value::file(value)?),
            });
            Ok(())
        }),
        about: "write a line of JSON for each request; - is stdout",
    },
    Flag {
        long: "log",
        short: None,
        takes: Takes::Value("LEVEL", |arguments, value| {
            arguments.log = value::parsed(value, "off, error, warn, info, debug or trace")?;
            Ok(())
        }),
        about: "off, error, warn, info, debug or trace [info]",
    },
];

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn served(line: &str) -> ServeArguments {
        match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Serve(arguments)) => arguments,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn nothing_is_needed() {
        assert_eq!(served("serve"), ServeArguments::default());
    }

    #[test]
    fn every_flag_has_its_effect() {
        let expected = ServeArguments {
            app: Some("apps/counter".into()),
            data: "/d".into(),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            gems: Some(3),
            memory: Some(64 << 20),
            insecure_no_tls: true,
            access_log: Some(AccessLogTarget::File("a.log".into())),
            log: LevelFilter::Debug,
        };
        let line = "serve --data /d apps/counter --listen=127.0.0.1:0 --gems 3 --memory 64M";
        let more = "--insecure-no-tls --access-log a.log --log debug";
        assert_eq!(served(&format!("{line} {more}")), expected);
        assert_eq!(served("serve --access-log -").access_log, Some(AccessLogTarget::Stdout));
    }

    #[test]
    fn the_later_of_two_values_counts() {
        assert_eq!(served("serve --gems 1 --gems 2").gems, Some(2));
    }

    #[test]
    fn what_follows_two_dashes_is_the_application() {
        assert_eq!(served("serve -- --app").app, Some("--app".into()));
    }
}
