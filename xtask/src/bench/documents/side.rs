//! The sides: who is measured, what a reply of each promises, and what each does not offer.

use super::row::Transport;

/// A server that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The binary of this repository.
    Sarsen,
    /// nginx with fixed replies: the ceiling of what HTTP allows on this machine.
    Nginx,
    /// VMware Xenon, `peers/xenon`.
    Xenon,
    /// PocketBase, `peers/pocketbase`.
    PocketBase,
}

impl Side {
    /// Every one, in the order of the tables.
    pub const ALL: [Self; 4] = [Self::Sarsen, Self::Nginx, Self::Xenon, Self::PocketBase];

    /// The one that is called so on the command line.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "sarsen" => Some(Self::Sarsen),
            "nginx" => Some(Self::Nginx),
            "xenon" => Some(Self::Xenon),
            "pocketbase" => Some(Self::PocketBase),
            _ => None,
        }
    }

    /// Its name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sarsen => "Sarsen",
            Self::Nginx => "nginx, fixed reply",
            Self::Xenon => "Xenon",
            Self::PocketBase => "PocketBase",
        }
    }

    /// What has happened to a change when its reply leaves, in a few words.
    pub fn durability(self) -> &'static str {
        match self {
            Self::Sarsen => "synced before the reply",
            Self::Nginx => "nothing is kept",
            Self::Xenon => "synced every 5 s",
            Self::PocketBase => "not synced per commit",
        }
    }

    /// The same in a sentence.
    pub fn promise(self) -> &'static str {
        match self {
            Self::Sarsen => {
                "`durability: synced`, its default: the change is in the transaction log and \
                 `fdatasync` has returned before the reply leaves."
            }
            Self::Nginx => "it reads the request, changes nothing, and sends what it always sends.",
            Self::Xenon => {
                "a persisted service: the reply leaves when Lucene has the document in memory; the \
                 index is committed, and synced, every 5 s. A crash takes what came since."
            }
            Self::PocketBase => {
                "SQLite with `journal_mode=WAL` and `synchronous=NORMAL`: the change is with the \
                 operating system; the log is synced at checkpoints. It survives the end of the \
                 process, not that of the machine."
            }
        }
    }

    /// Whether it can be asked this way.
    pub fn speaks(self, transport: Transport) -> bool {
        match self {
            // It refuses prior knowledge and, on JDK 17, offers no ALPN.
            Self::Xenon => !transport.is_http2(),
            Self::Sarsen | Self::Nginx | Self::PocketBase => true,
        }
    }

    /// What it does not offer, in a sentence.
    pub fn lacks(self) -> Option<&'static str> {
        match self {
            Self::Sarsen | Self::Nginx => None,
            Self::Xenon => Some(
                "no entity tags, so no 304; no HTTP/2 for common clients (it refuses prior \
                 knowledge, and has no ALPN without a native library). It indexes every member \
                 of every document, except `text` here.",
            ),
            Self::PocketBase => Some(
                "no entity tags, so no 304; no PUT: here it is PATCH with every member. Out of the \
                 box it speaks HTTP/2 only over TLS; peers/pocketbase allows it without.",
            ),
        }
    }
}
