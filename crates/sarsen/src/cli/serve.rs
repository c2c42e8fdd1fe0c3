//! The arguments of `sarsen serve`.

use super::data::{self, InFolder};
use super::flag::{Argument, Flag, Spec, Takes};
use super::{UsageError, value};
use crate::limits::{ARCHIVE_HOLD_BYTES_DEFAULT, CACHE_MEMORY_BYTES_DEFAULT, GEMS_MAX};
use faces::{AccessLogTarget, Network, ProxyFields};
use log::LevelFilter;
use memcached::Place;
use repository::CollectionName;
use repository::limits::RETAIN_BYTES;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// What to serve, and how.
#[derive(Debug, PartialEq, Eq)]
pub struct ServeArguments {
    /// The application's folder; without one only documents are served.
    pub app: Option<PathBuf>,
    /// The repository's folder.
    pub data: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where to speak TLS, if a certificate is given.
    pub tls_listen: SocketAddr,
    /// The certificate with those who signed it, in PEM.
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key, in PEM.
    pub tls_key: Option<PathBuf>,
    /// Proxies that are believed about their clients.
    pub trusted_proxies: Vec<Network>,
    /// What those proxies write.
    pub proxy_fields: ProxyFields,
    /// Threads that run the application; one for each core if not given.
    pub gems: Option<usize>,
    /// Memory for documents, buffers and caches in bytes; chosen by the machine if not given.
    pub memory: Option<u64>,
    /// Bytes that are to stay free on the disk; 0: writes are never refused for want of room.
    pub reserve: u64,
    /// Bytes of the log that are kept for those who read it.
    pub retain: u64,
    /// The folder of backups with the archive, if there is one.
    pub archive: Option<PathBuf>,
    /// Bytes of the log that may be kept for it.
    pub archive_hold: u64,
    /// Where memcached clients find the cache.
    pub memcached: Vec<Place>,
    /// Collections that memcached clients find at an address of their own.
    pub memcached_collections: Vec<(CollectionName, Place)>,
    /// Names and passwords of memcached clients.
    pub memcached_auth: Option<PathBuf>,
    /// After how long a memcached client is let go that sends nothing; never if not given.
    pub memcached_idle: Option<Duration>,
    /// Memory of the cache, in bytes.
    pub cache_memory: u64,
    /// Threads that serve memcached clients; one for each core if not given.
    pub cache_threads: Option<usize>,
    /// Largest value of the cache in bytes; memcached's if not given.
    pub cache_item_max: Option<u64>,
    /// Whether the first entry makes a publication where other machines reach the server, too.
    pub atom_on_demand: bool,
    /// Whether tokens may come from other machines without TLS.
    pub insecure_no_tls: bool,
    /// Where requests are written down.
    pub access_log: Option<AccessLogTarget>,
    /// Origins whose pages may use the documents.
    pub cors_origins: Vec<String>,
    /// Whether clients see what went wrong in the application.
    pub development: bool,
    /// Whether edits of the application are served as they are saved.
    pub watch: bool,
    /// Whether the process ends when no more lost gems can be replaced.
    pub exit_when_lost: bool,
    /// What is logged.
    pub log: LevelFilter,
}

impl Default for ServeArguments {
    fn default() -> Self {
        Self {
            app: None,
            data: "./sarsen-data".into(),
            listen: (Ipv4Addr::LOCALHOST, 8000).into(),
            tls_listen: (Ipv4Addr::LOCALHOST, 8443).into(),
            tls_cert: None,
            tls_key: None,
            trusted_proxies: Vec::new(),
            proxy_fields: ProxyFields::default(),
            gems: None,
            memory: None,
            reserve: repository::limits::RESERVE_BYTES,
            retain: RETAIN_BYTES,
            archive: None,
            archive_hold: ARCHIVE_HOLD_BYTES_DEFAULT,
            memcached: Vec::new(),
            memcached_collections: Vec::new(),
            memcached_auth: None,
            memcached_idle: None,
            cache_memory: CACHE_MEMORY_BYTES_DEFAULT,
            cache_threads: None,
            cache_item_max: None,
            atom_on_demand: false,
            insecure_no_tls: false,
            access_log: None,
            cors_origins: Vec::new(),
            development: false,
            watch: false,
            exit_when_lost: false,
            log: LevelFilter::Info,
        }
    }
}

impl InFolder for ServeArguments {
    fn data(&mut self) -> &mut PathBuf {
        &mut self.data
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
    check: |arguments| match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(_), None) => Err(missing("--tls-key FILE beside --tls-cert")),
        (None, Some(_)) => Err(missing("--tls-cert FILE beside --tls-key")),
        _ if arguments.watch && arguments.app.is_none() => {
            Err(missing("the application's folder beside --watch"))
        }
        _ if arguments.watch && !arguments.listen.ip().is_loopback() => {
            Err(missing("a loopback address beside --watch, such as 127.0.0.1:8000"))
        }
        _ => Ok(()),
    },
};

fn missing(what: &'static str) -> UsageError {
    UsageError::Missing { command: "serve", what }
}

const FLAGS: &[Flag<ServeArguments>] = &[
    data::flag("repository's folder, made if missing [./sarsen-data]"),
    Flag {
        long: "listen",
        short: None,
        takes: Takes::Value("ADDR", |arguments, value| {
            arguments.listen = value::parsed(value, "an address such as 127.0.0.1:8000")?;
            Ok(())
        }),
        about: "address; port 0 takes a free one [127.0.0.1:8000]",
    },
    Flag {
        long: "tls-cert",
        short: None,
        takes: Takes::Value("FILE", |arguments, value| {
            arguments.tls_cert = Some(value::file(value)?);
            Ok(())
        }),
        about: "certificate chain in PEM; read again when it changes",
    },
    Flag {
        long: "tls-key",
        short: None,
        takes: Takes::Value("FILE", |arguments, value| {
            arguments.tls_key = Some(value::file(value)?);
            Ok(())
        }),
        about: "the certificate's private key in PEM",
    },
    Flag {
        long: "tls-listen",
        short: None,
        takes: Takes::Value("ADDR", |arguments, value| {
            arguments.tls_listen = value::parsed(value, "an address such as 127.0.0.1:8443")?;
            Ok(())
        }),
        about: "address of TLS, besides --listen [127.0.0.1:8443]",
    },
    Flag {
        long: "trusted-proxy",
        short: None,
        takes: Takes::Value("CIDR", |arguments, value| {
            let network = value::parsed(value, "an address or network such as 10.0.0.0/8")?;
            arguments.trusted_proxies.push(network);
            Ok(())
        }),
        about: "believe what it says of its clients; may be repeated",
    },
    Flag {
        long: "proxy-fields",
        short: None,
        takes: Takes::Value("WHICH", |arguments, value| {
            arguments.proxy_fields = value::parsed(value, "x-forwarded or forwarded")?;
            Ok(())
        }),
        about: "their fields: x-forwarded or forwarded [x-forwarded]",
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
        about: "documents and caches [1G, or 1/4 of the RAM if less]",
    },
    Flag {
        long: "reserve",
        short: None,
        takes: Takes::Value("SIZE", |arguments, value| {
            arguments.reserve = value::size(value)?;
            Ok(())
        }),
        about: "refuse writes with less disk free; 0 never does [256M]",
    },
    Flag {
        long: "retain",
        short: None,
        takes: Takes::Value("SIZE", |arguments, value| {
            arguments.retain = value::size(value)?;
            Ok(())
        }),
        about: "of the log, for feeds and backups; 0: none [256M]",
    },
    Flag {
        long: "archive",
        short: None,
        takes: Takes::Value("DIR", |arguments, value| {
            arguments.archive = Some(value::folder(value)?);
            Ok(())
        }),
        about: "copy each commit to this folder of backups, too",
    },
    Flag {
        long: "archive-hold",
        short: None,
        takes: Takes::Value("SIZE", |arguments, value| {
            arguments.archive_hold = value::size(value)?;
            Ok(())
        }),
        about: "of the log, kept until it is archived [1G]",
    },
    Flag {
        long: "memcached",
        short: None,
        takes: Takes::Value("ADDR", |arguments, value| {
            let place = value::parsed(value, "127.0.0.1:11211 or unix:PATH")?;
            arguments.memcached.push(place);
            Ok(())
        }),
        about: "serve the cache there, as memcached; or unix:PATH",
    },
    Flag {
        long: "memcached-collection",
        short: None,
        takes: Takes::Two("NAME ADDR", |arguments, name, place| {
            let expected = "a collection's name and an address, such as notes 127.0.0.1:11212";
            let name = value::parsed_by(name, |name| CollectionName::new(name).ok(), expected)?;
            let place = value::parsed(place, expected)?;
            arguments.memcached_collections.push((name, place));
            Ok(())
        }),
        about: "serve a durable collection there, the same way",
    },
    Flag {
        long: "memcached-auth",
        short: None,
        takes: Takes::Value("FILE", |arguments, value| {
            arguments.memcached_auth = Some(value::file(value)?);
            Ok(())
        }),
        about: "who may use it: lines user:password, as memcached -Y",
    },
    Flag {
        long: "memcached-idle",
        short: None,
        takes: Takes::Value("TIME", |arguments, value| {
            let most = memcached::limits::IDLE_TIMEOUT_MAX;
            arguments.memcached_idle = Some(value::duration(value, most)?);
            Ok(())
        }),
        about: "close connections idle for so long, such as 10m [never]",
    },
    Flag {
        long: "cache-memory",
        short: None,
        takes: Takes::Value("SIZE", |arguments, value| {
            arguments.cache_memory = value::size(value)?;
            Ok(())
        }),
        about: "for the cache, all included [64M]",
    },
    Flag {
        long: "cache-threads",
        short: None,
        takes: Takes::Value("N", |arguments, value| {
            let most = memcached::limits::THREADS_MAX as u64;
            arguments.cache_threads = Some(value::count(value, 1..=most)? as usize);
            Ok(())
        }),
        about: "threads that serve memcached [one for each core]",
    },
    Flag {
        long: "cache-item-max",
        short: None,
        takes: Takes::Value("SIZE", |arguments, value| {
            arguments.cache_item_max = Some(value::size(value)?);
            Ok(())
        }),
        about: "largest value of the cache [1M less 512 bytes]",
    },
    Flag {
        long: "atom-on-demand",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.atom_on_demand = true),
        about: "let a first entry make its publication",
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
        long: "cors-origin",
        short: None,
        takes: Takes::Value("URL", |arguments, value| {
            let origin = value::text(value)?;
            faces::check_origin(&origin).map_err(value::ValueError::expected)?;
            arguments.cors_origins.push(origin);
            Ok(())
        }),
        about: "pages from there may use documents; repeatable [none]",
    },
    Flag {
        long: "development",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.development = true),
        about: "show clients where and why the application failed",
    },
    Flag {
        long: "watch",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.watch = true),
        about: "serve edits as they are saved; open pages show them",
    },
    Flag {
        long: "exit-when-lost",
        short: None,
        takes: Takes::Nothing(|arguments| arguments.exit_when_lost = true),
        about: "end (code 10) when gems hang that nothing can interrupt",
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
            tls_listen: (Ipv4Addr::LOCALHOST, 1).into(),
            tls_cert: Some("/c".into()),
            tls_key: Some("/k".into()),
            trusted_proxies: ["10.0.0.0/8", "::1"]
                .map(|text| text.parse().expect("a network"))
                .into(),
            proxy_fields: ProxyFields::Forwarded,
            gems: Some(3),
            memory: Some(64 << 20),
            reserve: 0,
            retain: 0,
            archive: Some("/b".into()),
            archive_hold: 2 << 20,
            memcached: ["127.0.0.1:0", "unix:/s"].map(|text| text.parse().expect("a place")).into(),
            memcached_collections: vec![(
                CollectionName::new("notes").expect("a name"),
                "127.0.0.1:1".parse().expect("a place"),
            )],
            memcached_auth: Some("/a".into()),
            memcached_idle: Some(Duration::from_secs(600)),
            cache_memory: 1 << 30,
            cache_threads: Some(2),
            cache_item_max: Some(4 << 20),
            atom_on_demand: true,
            insecure_no_tls: true,
            access_log: Some(AccessLogTarget::File("a.log".into())),
            cors_origins: vec!["https://a.example".into(), "*".into()],
            development: true,
            watch: true,
            exit_when_lost: true,
            log: LevelFilter::Debug,
        };
        let line = "serve --data /d apps/counter --listen=127.0.0.1:0 --gems 3 --memory 64M \
                    --reserve 0 --retain 0 --archive /b --archive-hold 2M";
        let tls = "--tls-cert /c --tls-key /k --tls-listen 127.0.0.1:1";
        let proxies = "--trusted-proxy 10.0.0.0/8 --trusted-proxy ::1 --proxy-fields forwarded";
        let more = "--atom-on-demand --insecure-no-tls --access-log a.log --log debug \
            --development --watch --exit-when-lost \
                    --cors-origin https://a.example --cors-origin *";
        let cache = "--memcached 127.0.0.1:0 --memcached unix:/s --memcached-auth /a \
                     --memcached-idle 10m --cache-memory 1G --cache-threads 2 --cache-item-max 4M \
                     --memcached-collection notes 127.0.0.1:1";
        assert_eq!(served(&format!("{line} {tls} {proxies} {more} {cache}")), expected);
        assert_eq!(served("serve --access-log -").access_log, Some(AccessLogTarget::Stdout));
    }

    #[test]
    fn certificate_and_key_come_together() {
        for (line, lacks) in
            [("serve --tls-cert c", "--tls-key"), ("serve --tls-key k", "--tls-cert")]
        {
            let error = parse(line.split_whitespace().map(Into::into)).expect_err(line).to_string();
            assert!(error.contains(&format!("needs {lacks}")), "{error}");
        }
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
