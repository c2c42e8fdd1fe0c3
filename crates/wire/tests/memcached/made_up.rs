//! Conversations that are made up, the same at every run: commands of all kinds in one stream, some
//! of them damaged.

use super::model::{Link, Model};
use super::server::Server;

/// Has so many streams answered by both. Whether `flush_all` takes a unique number is the server's
/// affair.
pub fn compare(server: &Server, streams: usize, flush_is_numbered: bool) {
    let model = Model::shared();
    model.borrow_mut().flush_is_numbered = flush_is_numbered;
    let mut maker = Maker { state: 0x5eed };
    let mut lengths = 0;
    for number in 0..streams {
        let stream = maker.stream();
        let mut link = Link::default();
        model.borrow_mut().receive(&mut link, &stream);
        let expected: Vec<u8> = link.answers.into_iter().collect();
        let got = server.answers(&stream);
        lengths += got.len();
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string().replace("MN\\r\\n", "");
        assert_eq!(shown(&got), shown(&expected), "stream {number}: {}", stream.escape_ascii());
        assert!(got == expected, "stream {number}: the same but for MN");
    }
    // They do say something.
    assert!(lengths > 1700 * streams, "{lengths}");
}

struct Maker {
    state: u64,
}

/// Keys; the number's is its own, because what a pending answer refers to is not changed in place.
const KEYS: [&str; 4] = ["a", "b", "YQ==", "a-longer-key"];
const NUMBER: &str = "n";
const TIMES: [&str; 5] = ["0", "0", "900", "-1", "z"];
/// Bytes that mean something somewhere.
const DAMAGE: &[u8] = b" \r\n\t\0z0-+ ";

impl Maker {
    fn stream(&mut self) -> Vec<u8> {
        let mut stream = Vec::new();
        for _ in 0..=self.below(40) {
            let mut command = self.command().into_bytes();
            // The mode E alone would be a flag, which memcached 1.6.18 does not have; and it passes
            // over what is no Base64 in a key.
            let is_fragile = command.contains(&b'E') || command.contains(&b'=');
            if self.below(8) == 0 && !is_fragile {
                let at = self.below(command.len());
                match self.below(3) {
                    0 => drop(command.remove(at)),
                    1 => command.insert(at, *self.one(DAMAGE)),
                    _ => command[at] = *self.one(DAMAGE),
                }
            }
            stream.extend(command);
        }
        // Where data are missing, memcached would close without giving its last answers.
        stream.extend(b"mn\r\n".repeat(400));
        stream
    }

    fn command(&mut self) -> String {
        match self.below(20) {
            0..4 => self.reading(),
            4..9 => self.storing(),
            9 => {
                let key = self.one(&KEYS).to_string();
                let rest = *self.one(&["", " noreply", " 0", " 0 noreply", " z"]);
                format!("delete {key}{rest}\r\n")
            }
            10 => {
                let (key, time) = (*self.one(&KEYS), *self.one(&TIMES));
                format!("touch {key} {time}{}\r\n", self.one(&["", " noreply"]))
            }
            11..13 => self.counting(),
            13..15 => self.meta_get(),
            15..17 => self.meta_set(),
            17 => {
                let flags =
                    self.flags(&["q", "k", "Oab", "I", "T100000", "C7", "b", "v", "w", "T"]);
                format!("md {}{flags}\r\n", self.one(&KEYS))
            }
            18 => {
                (*self.one(&["mn\r\n", "verbosity 1\r\n", "mz\r\n", "\r\n", "gett a\r\n"])).into()
            }
            _ => (*self.one(&["flush_all\r\n", "flush_all noreply\r\n", "nothing\r\n"])).into(),
        }
    }

    fn reading(&mut self) -> String {
        let mut line = (*self.one(&["get", "gets", "gat", "gats"])).to_owned();
        if line.starts_with("ga") {
            line = format!("{line} {}", self.one(&TIMES));
        }
        for _ in 0..=self.below(3) {
            line = format!("{line} {}", self.one(&KEYS));
        }
        line + "\r\n"
    }

    fn storing(&mut self) -> String {
        let verb = *self.one(&["set", "set", "add", "replace", "append", "prepend", "cas"]);
        let (key, time, data) = (*self.one(&KEYS), *self.one(&TIMES), self.data());
        let flags = *self.one(&["0", "5", "99999"]);
        let cas = if verb == "cas" { format!(" {}", self.below(60)) } else { String::new() };
        let noreply = *self.one(&["", "", " noreply"]);
        format!("{verb} {key} {flags} {time} {}{cas}{noreply}\r\n{data}\r\n", data.len())
    }

    fn counting(&mut self) -> String {
        match self.below(5) {
            0 => format!("set {NUMBER} 0 0 3\r\n{}\r\n", 100 + self.below(900)),
            1 => format!("get {NUMBER}\r\n"),
            2 => {
                let flags = self.flags(&["D7", "v", "c", "q", "Oab", "k", "N0", "J5", "MI", "MX"]);
                format!("ma {NUMBER}{flags}\r\n")
            }
            3 => format!("ma {}{}\r\n", self.one(&["none", "a"]), self.flags(&["v", "k", "Oz"])),
            _ => format!("incr {NUMBER} {}{}\r\n", self.below(5000), self.one(&["", " noreply"])),
        }
    }

    fn meta_get(&mut self) -> String {
        const FLAGS: &[&str] =
            &["v", "k", "s", "f", "c", "h", "q", "u", "Oab", "b", "N100000", "R30", "Pz", "v", "T"];
        format!("mg {}{}\r\n", self.one(&KEYS), self.flags(FLAGS))
    }

    fn meta_set(&mut self) -> String {
        const FLAGS: &[&str] = &[
            "c", "k", "q", "Oab", "F5", "T0", "T100000", "MS", "ME", "MA", "MP", "MR", "I", "b",
            "C9", "C30", "MX", "Fz",
        ];
        let (key, data) = (*self.one(&KEYS), self.data());
        format!("ms {key} {}{}\r\n{data}\r\n", data.len(), self.flags(FLAGS))
    }

    fn flags(&mut self, known: &[&str]) -> String {
        let count = self.below(5);
        (0..count).map(|_| format!(" {}", self.one(known))).collect()
    }

    fn data(&mut self) -> String {
        let length = self.below(12);
        (0..length).map(|i| char::from(b'a' + (i % 26) as u8)).collect()
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A number from 0 to `limit` - 1; xorshift64*.
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}
