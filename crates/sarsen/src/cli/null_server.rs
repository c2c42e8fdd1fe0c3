//! The arguments of `sarsen null-server`.

use super::flag::{Flag, Spec, Takes};
use super::value::{self, ValueError};
use lab::null::{Law, Stall};
use std::net::SocketAddr;

/// Where to answer, and when.
#[derive(Debug, PartialEq)]
pub struct NullServerArguments {
    /// Where it listens.
    pub listen: SocketAddr,
    /// When it answers.
    pub latency: Law,
    /// When it stands still.
    pub stall: Option<Stall>,
    /// Bytes of a reply's body.
    pub body: usize,
}

impl Default for NullServerArguments {
    fn default() -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], 8081));
        Self { listen, latency: Law::None, stall: None, body: 100 }
    }
}

/// Largest body of a reply.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// How the arguments are written.
pub const SPEC: Spec<NullServerArguments> = Spec {
    name: "null-server",
    usage: "[flags]",
    about: "Answer all requests alike, after a known time.",
    arguments: &[],
    flags: FLAGS,
    check: |_arguments| Ok(()),
};

const FLAGS: &[Flag<NullServerArguments>] = &[
    Flag {
        long: "listen",
        short: None,
        takes: Takes::Value("ADDR", |arguments, value| {
            let address: SocketAddr = value::parsed(value, LOOPBACK)?;
            if !address.ip().is_loopback() {
                return Err(ValueError::expected(LOOPBACK));
            }
            arguments.listen = address;
            Ok(())
        }),
        about: "where it listens, on this machine [127.0.0.1:8081]",
    },
    Flag {
        long: "latency",
        short: None,
        takes: Takes::Value("LAW", |arguments, value| {
            let text = value::text(value)?;
            arguments.latency = text.parse().map_err(|_why| {
                ValueError::expected("a law such as fixed:5ms or lognormal:5ms,0.8")
            })?;
            Ok(())
        }),
        about: "a law as fixed:5ms or lognormal:5ms,0.8 (docs/lab.md)",
    },
    Flag {
        long: "stall",
        short: None,
        takes: Takes::Value("LENGTH@AFTER", |arguments, value| {
            arguments.stall = Some(value::parsed(value, "a stall such as 2s@10s")?);
            Ok(())
        }),
        about: "stand still once, as 2s@10s after the first request",
    },
    Flag {
        long: "body",
        short: None,
        takes: Takes::Value("SIZE", |arguments, value| {
            let bytes = value::size(value)?;
            if bytes > BODY_BYTES_MAX {
                return Err(ValueError::expected("a size of at most 64M"));
            }
            arguments.body = bytes as usize;
            Ok(())
        }),
        about: "bytes of each reply's body [100]",
    },
];

const LOOPBACK: &str = "an address of this machine such as 127.0.0.1:8081";

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;
    use std::time::Duration;

    fn parsed(words: &[&str]) -> Result<NullServerArguments, String> {
        let words = [&["null-server"], words].concat();
        match parse(words.iter().map(Into::into)) {
            Ok(Command::NullServer(arguments)) => Ok(arguments),
            Ok(other) => panic!("{words:?}: {other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn every_flag_has_its_effect() {
        assert_eq!(parsed(&[]), Ok(NullServerArguments::default()));
        let words = ["--listen", "[::1]:9", "--latency", "fixed:5ms", "--stall", "2s@10s"];
        let second = Duration::from_secs(1);
        let expected = NullServerArguments {
            listen: "[::1]:9".parse().expect("an address"),
            latency: Law::Fixed(second / 200),
            stall: Some(Stall { after: 10 * second, length: 2 * second }),
            body: 1 << 10,
        };
        assert_eq!(parsed(&[&words[..], &["--body", "1K"]].concat()), Ok(expected));
    }

    #[test]
    fn what_it_cannot_do_is_refused() {
        for (flag, bad) in [
            ("--listen", "0.0.0.0:80"),
            ("--listen", "x"),
            ("--latency", "slow"),
            ("--stall", "2s"),
            ("--body", "1T"),
        ] {
            let error = parsed(&[flag, bad]).expect_err(bad);
            assert!(error.starts_with(&format!("{flag}: expected ")), "{error}");
        }
    }
}
