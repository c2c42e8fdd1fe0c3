//! The repository's canonical JSON is what the engine's `JSON.stringify(JSON.parse(text))` gives,
//! byte for byte: on this rests that an unchanged document is found unchanged.

use crate::support;
use repository::json::canonicalize;
use rquickjs::{Context, Function, Runtime};

/// A small generator (splitmix64, Steele et al. 2014): a failure names the seed.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    fn space(&mut self) -> &'static str {
        self.pick(&["", "", "", " ", "\n", "\t", "\r\n "])
    }

    fn value(&mut self, depth: u32) -> String {
        let text = match self.below(if depth == 0 { 4 } else { 6 }) {
            0 => self.pick(&["null", "true", "false"]).to_owned(),
            1 | 2 => self.number(),
            3 => self.string(),
            4 => self.array(depth),
            _ => self.object(depth),
        };
        format!("{}{text}{}", self.space(), self.space())
    }

    fn number(&mut self) -> String {
        match self.below(7) {
            0 => self.below(100).to_string(),
            1 => format!("-{}", self.below(1 << 53)),
            2 => self
                .pick(&[
                    "-0", "0.0", "-0.0e5", "1E5", "1e21", "1e20", "1.0e+2", "5e-324", "1e-7",
                    "1e-6", "123e-20",
                ])
                .to_owned(),
            3 => format!("{}.{}", self.below(1000), self.below(1_000_000)),
            4 => format!("{}e{}", self.below(10_000), self.below(600) as i64 - 300),
            5 => format!("{}.{}e-{}", self.below(10), self.next(), self.below(320)),
            _ => {
                let number = f64::from_bits(self.next());
                if number.is_finite() { format!("{number:e}") } else { "1".to_owned() }
            }
        }
    }

    fn string(&mut self) -> String {
        let parts = [
            "a",
            "Z",
            "é",
            "😀",
            "\u{2028}",
            "\u{7f}",
            "\u{80}",
            "\\n",
            "\\u0041",
            "\\u00e9",
            "\\u001f",
            "\\ud83d\\ude00",
            "\\ud83d",
            "\\ude00\\ud83d",
            "\\/",
            "/",
            "\\\\",
            "\\\"",
            "\\u0000",
            "\\b\\f\\r\\t",
            "\\u2028",
            "\\uD800x",
        ];
        let count = self.below(5);
        let inside: String = (0..count).map(|_| self.pick(&parts)).collect();
        format!("\"{inside}\"")
    }

    fn array(&mut self, depth: u32) -> String {
        let count = self.below(4);
        let items: Vec<String> = (0..count).map(|_| self.value(depth - 1)).collect();
        format!("[{}{}]", self.space(), items.join(","))
    }

    fn object(&mut self, depth: u32) -> String {
        let mut keys = vec![
            "\"b\"",
            "\"a\"",
            "\"10\"",
            "\"9\"",
            "\"01\"",
            "\"-1\"",
            "\"\"",
            "\"__proto__\"",
            "\"4294967294\"",
            "\"4294967295\"",
            "\"1.5\"",
            "\"é\"",
            "\"\\u0063\"",
            "\"toString\"",
            "\"0\"",
            "\"\\n\"",
            "\"9007199254740993\"",
            "\"toJSON\"",
        ];
        let count = self.below(6);
        let members: Vec<String> = (0..count)
            .map(|_| {
                let key = keys.swap_remove(self.below(keys.len() as u64) as usize);
                format!("{}{key}{}:{}", self.space(), self.space(), self.value(depth - 1))
            })
            .collect();
        format!("{{{}{}}}", self.space(), members.join(","))
    }
}

/// Calls `f` with JavaScript's idea of canonical text.
fn with_stringify(f: impl FnOnce(&dyn Fn(&str) -> String)) {
    let context = Context::full(&Runtime::new().unwrap()).unwrap();
    context.with(|ctx| {
        let stringify: Function = ctx.eval("text => JSON.stringify(JSON.parse(text))").unwrap();
        f(&|text| stringify.call((text,)).unwrap_or_else(|_| panic!("not JSON: {text}")));
    });
}

#[test]
fn canonical_text_is_what_javascript_writes() {
    with_stringify(|stringify| {
        let mut taken = 0;
        for seed in 0..20_000 {
            let text = Generator(seed).value(4);
            // It refuses integers that a double does not hold; JavaScript rounds them.
            let Ok(canonical) = canonicalize(text.as_bytes()) else { continue };
            let canonical = String::from_utf8(canonical).unwrap();
            assert_eq!(canonical, stringify(&text), "seed {seed}: {text}");
            taken += 1;
        }
        assert!(taken > 10_000, "only {taken} texts were compared");
    });
}

#[test]
fn what_javascript_writes_is_canonical() {
    with_stringify(|stringify| {
        for seed in 0..20_000 {
            let written = stringify(&Generator(seed).value(4));
            let canonical = canonicalize(written.as_bytes());
            let canonical = canonical.map(|text| String::from_utf8(text).unwrap());
            assert_eq!(canonical.as_deref(), Ok(written.as_str()), "seed {seed}");
        }
    });
}

#[test]
fn what_a_handler_stores_is_what_javascript_writes() {
    let site = support::site(
        r#"app.post("/", ({ db, request }) => request.json().map((text, i) => {
             const value = JSON.parse(text);
             db.notes.put(`${i}`, value);
             return JSON.stringify(value);
           }));
           app.post("/back", ({ db, request }) => {
             for (let i = 0; i < request.json().length; i++) db.notes.get(`${i}`);
           });"#,
    );
    for round in 0..20 {
        let texts: Vec<String> = (0..200).map(|i| Generator(round * 200 + i).value(4)).collect();
        let quoted: Vec<String> = texts.iter().map(|text| repository::json::quote(text)).collect();
        let body = format!("[{}]", quoted.join(","));
        let post = |path| {
            let mut request = support::request("POST", path);
            request.body = body.clone().into();
            support::text(&site.send(request).unwrap())
        };
        let written = post("/");
        let written: Vec<_> = repository::json::children(&written).map(|c| c.value).collect();
        for (i, (text, written)) in texts.iter().zip(&written).enumerate() {
            let stored = site.stored("notes", &i.to_string()).unwrap();
            let quoted = canonicalize(repository::json::quote(&stored).as_bytes()).unwrap();
            assert_eq!(String::from_utf8(quoted).unwrap(), *written, "{text}");
        }
        let before = site.written();
        post("/back");
        assert_eq!(site.written(), before, "what is read is found unchanged");
    }
}
