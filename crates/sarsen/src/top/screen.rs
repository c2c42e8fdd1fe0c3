//! A look as text, for a terminal or not.

use super::look::{Line, Look};

/// What the handlers are sorted by, the greatest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Cpu,
    Requests,
    Slowest,
    Failed,
    Conflicts,
    Name,
}

impl Order {
    /// The order that a key asks for.
    pub fn of_key(key: u8) -> Option<Self> {
        match key {
            b'c' => Some(Self::Cpu),
            b'r' => Some(Self::Requests),
            b'p' => Some(Self::Slowest),
            b'e' => Some(Self::Failed),
            b'x' => Some(Self::Conflicts),
            b'n' => Some(Self::Name),
            _ => None,
        }
    }

    fn sort(self, lines: &mut [Line]) {
        let by = |figure: fn(&Line) -> f64| {
            move |a: &Line, b: &Line| figure(b).total_cmp(&figure(a)).then(a.name.cmp(&b.name))
        };
        match self {
            Self::Cpu => lines.sort_by(by(|line| line.cpu_percent)),
            Self::Requests => lines.sort_by(by(|line| line.requests_per_s)),
            Self::Slowest => lines.sort_by(by(|line| line.p99_us)),
            Self::Failed => lines.sort_by(by(|line| line.failed as f64)),
            Self::Conflicts => lines.sort_by(by(|line| line.conflicts as f64)),
            Self::Name => lines.sort_by(|a, b| a.name.cmp(&b.name)),
        }
    }
}

/// What the keys do.
pub const KEYS: &str = "q quit   sort: c CPU  r requests  p p99  e failed  x conflicts  n name";

/// The lines of a look. Those of handlers beyond `rows` are left out.
pub fn lines(look: &Look, order: Order, rows: usize) -> Vec<String> {
    let (rate, p50, p99) = look.requests();
    let mut lines = vec![
        format!(
            "requests {rate:9.0}/s   p50 {:>8}   p99 {:>8}   connections {}",
            time(p50),
            time(p99),
            look.now("connections")
        ),
        format!(
            "commits  {:9.0}/s   conflicts {:.0}/s   serial lane {:.0}/s   sync p99 {}   \
             not durable yet {}",
            look.rate("commits"),
            look.rate("conflicts"),
            look.rate("serial_lane"),
            time(look.sync_p99_us()),
            look.now("visible").saturating_sub(look.now("durable"))
        ),
        gems(look),
        format!(
            "memory   {} resident, {} of {} for documents   CPU {:.0} %",
            size(look.now("resident_bytes")),
            size(look.now("memory_bytes")),
            size(look.now("memory_bytes_max")),
            look.rate("cpu_ms") / 10.0
        ),
        String::new(),
        format!(
            "{:NAME_CHARS$} {:>8} {:>6} {:>8} {:>8} {:>8} {:>7} {:>7} {:>8} {:>8}",
            "HANDLER",
            "REQ/S",
            "CPU%",
            "P50",
            "P99",
            "QUEUED",
            "FAILED",
            "CONFL",
            "READS",
            "WRITES"
        ),
    ];
    let mut handlers = look.handlers();
    order.sort(&mut handlers);
    lines.extend(handlers.iter().take(rows).map(row));
    lines
}

fn gems(look: &Look) -> String {
    let Some(workers) = look.gems("workers") else {
        return "gems     none: documents only".to_owned();
    };
    let now = |name| look.gems(name).unwrap_or_default();
    format!(
        "gems     {} of {workers} busy   queue {} of {}   waiting {}   lost {}",
        now("busy"),
        now("queued"),
        now("queue_max"),
        now("waiting"),
        now("lost")
    )
}

/// As much of a handler's name as is shown; it comes first, so that a narrow terminal has it.
const NAME_CHARS: usize = 24;

fn row(line: &Line) -> String {
    let shown = line.name.chars().map(|c| if c.is_control() { ' ' } else { c });
    let name: String = shown.take(NAME_CHARS).collect();
    format!(
        "{name:NAME_CHARS$} {:>8.1} {:>6.1} {:>8} {:>8} {:>8} {:>7} {:>7} {:>8} {:>8}",
        line.requests_per_s,
        line.cpu_percent,
        time(line.p50_us),
        time(line.p99_us),
        time(line.queued_p99_us),
        line.failed,
        line.conflicts,
        line.reads,
        line.writes
    )
}

fn time(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.0} us"),
        us if us < 1_000_000.0 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

fn size(bytes: u64) -> String {
    format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_look_has_its_figures_and_the_handlers_in_order() {
        let took = |count: u64| json!({ "buckets": [0, count, 0] });
        let handler = |name: &str, count: u64, cpu_us: u64| {
            let counts = took(count);
            json!({ "name": name, "cpu_us": cpu_us, "took": counts, "queued": counts })
        };
        let look = Look::new(
            json!({
                "up_ms": 2_000, "requests": took(40), "commits": 10, "visible": 9, "durable": 7,
                "gems": { "workers": 2, "busy": 1, "queued": 3, "queue_max": 512, "lost": 1 },
                "handlers": [handler("GET /a", 30, 1_000), handler("GET /b\u{1b}", 10, 9_000)],
            }),
            None,
        );
        let text = lines(&look, Order::Cpu, 10);
        assert!(text[0].contains("20/s") && text[1].contains("not durable yet 2"), "{text:?}");
        assert_eq!(text[2], "gems     1 of 2 busy   queue 3 of 512   waiting 0   lost 1");
        assert!(text[6].starts_with("GET /b  "), "{text:?}");
        assert!(text[7].starts_with("GET /a "), "{text:?}");
        assert!(lines(&look, Order::Requests, 10)[6].starts_with("GET /a "));
        assert_eq!(lines(&look, Order::Name, 1).len(), 7);
        assert!(text.iter().all(|line| !line.contains('\u{1b}')));
    }

    #[test]
    fn each_key_has_its_order() {
        for key in *b"crpexn" {
            assert!(Order::of_key(key).is_some());
            assert!(KEYS.contains(&format!("{} ", char::from(key))));
            assert!(KEYS.len() <= 80);
        }
        assert_eq!(Order::of_key(b'z'), None);
    }
}
