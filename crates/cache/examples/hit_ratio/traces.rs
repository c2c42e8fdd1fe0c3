//! The traces. Each is drawn from a fixed seed and is the same on every machine.

/// Requests of a trace.
const REQUESTS: usize = 4_000_000;
/// About as many items of 300 bytes as fit into the memory.
const FITTING: u64 = 174_000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A key is looked up, and nothing follows if it is missing.
    Get,
    /// A key is looked up, and stored if it is missing.
    Fill,
    Set,
    Delete,
}

impl Operation {
    pub fn asks(self) -> bool {
        matches!(self, Self::Get | Self::Fill)
    }
}

#[derive(Clone, Copy)]
pub struct Request {
    pub key: u64,
    pub value_bytes: u32,
    pub key_bytes: u8,
    pub operation: Operation,
}

impl Request {
    fn new(operation: Operation, key: u64, value_bytes: u32) -> Self {
        Self { key, value_bytes, key_bytes: 16, operation }
    }

    pub fn name(&self) -> String {
        format!("{:0width$x}", self.key, width = usize::from(self.key_bytes))
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014).
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Ranks by Zipf's law, by inverting the sums of a table.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(keys: u64, exponent: f64) -> Self {
        let mut sum = 0.0;
        let mut sums = Vec::with_capacity(keys as usize);
        for rank in 1..=keys {
            sum += (rank as f64).powf(-exponent);
            sums.push(sum);
        }
        Self(sums)
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let at = random.unit() * self.0.last().copied().unwrap_or(1.0);
        self.0.partition_point(|sum| *sum < at) as u64
    }
}

/// From 4 bytes to 16 KiB, the same for a key each time; each power of two as likely.
fn mixed_size(key: u64) -> u32 {
    let hash = mix(key);
    let power = 2 + hash % 12;
    (1 << power) + ((hash >> 32) % (1 << power)) as u32
}

type Draw = Box<dyn Fn(&mut Random) -> Vec<Request>>;

pub struct Trace {
    pub name: String,
    draw: Draw,
}

impl Trace {
    fn new(name: impl Into<String>, draw: Draw) -> Self {
        Self { name: name.into(), draw }
    }

    pub fn requests(&self) -> Vec<Request> {
        (self.draw)(&mut Random(42))
    }
}

/// One request after the other, from its number.
fn each(random: &mut Random, draw: impl FnMut(usize, &mut Random) -> Request) -> Vec<Request> {
    let mut draw = draw;
    (0..REQUESTS).map(|number| draw(number, random)).collect()
}

fn zipf(keys: u64, exponent: f64, size: fn(u64) -> u32) -> Draw {
    Box::new(move |random| {
        let zipf = Zipf::new(keys, exponent);
        each(random, |_, random| {
            let key = zipf.draw(random);
            Request::new(Operation::Fill, key, size(key))
        })
    })
}

/// Zipf, but every fourth run of 50,000 requests reads keys in a row that nobody asks for again.
fn scans() -> Draw {
    Box::new(|random| {
        let zipf = Zipf::new(1_000_000, 0.99);
        let mut scanned = 1 << 40;
        each(random, |number, random| {
            if number / 50_000 % 4 == 3 {
                scanned += 1;
                return Request::new(Operation::Fill, scanned, 300);
            }
            Request::new(Operation::Fill, zipf.draw(random), 300)
        })
    })
}

/// Zipf over keys of which a tenth changes every so many requests: what was liked is forgotten.
fn shifting(every: u64) -> Draw {
    Box::new(move |random| {
        let zipf = Zipf::new(1_000_000, 0.99);
        each(random, |number, random| {
            let rank = zipf.draw(random);
            let age = (number as u64 / every + rank % 10) / 10;
            Request::new(Operation::Fill, mix(rank << 8 | age) >> 16, 300)
        })
    })
}

/// Zipf with values that become larger: small ones for the first quarter, then 40 times as large.
fn growing() -> Draw {
    Box::new(|random| {
        let zipf = Zipf::new(1_000_000, 0.99);
        each(random, |number, random| {
            let is_late = number >= REQUESTS / 4;
            let key = zipf.draw(random) | u64::from(is_late) << 40;
            Request::new(Operation::Fill, key, if is_late { 2_000 } else { 50 })
        })
    })
}

/// The same keys one after the other, again and again.
fn looping(percent: u64) -> Draw {
    let keys = FITTING * percent / 100;
    Box::new(move |random| {
        each(random, |number, _| Request::new(Operation::Fill, number as u64 % keys, 300))
    })
}

/// What is written once and read once, a share of the memory later: sessions, codes, results.
fn once(percent: u64) -> Draw {
    let distance = FITTING * percent / 100;
    Box::new(move |random| each(random, |number, _| written(number as u64, distance)))
}

/// Writes and reads by turns; what is read was written so many writes before.
fn written(number: u64, distance: u64) -> Request {
    let key = (1 << 40) + number / 2;
    match number % 2 {
        0 => Request::new(Operation::Set, key, 300),
        _ => Request::new(Operation::Get, key - distance, 300),
    }
}

/// The same after a time that has no memory: exponential, with that mean.
fn later(percent: u64) -> Draw {
    let mean = (FITTING * percent / 100) as f64;
    Box::new(move |random| {
        each(random, |number, random| {
            let distance = (-(1.0 - random.unit()).ln() * mean) as u64;
            written(number as u64, distance.min(1 << 39))
        })
    })
}

/// Sessions: written, then read and written again at random, five times in a life.
fn sessions() -> Draw {
    let alive = FITTING * 60 / 100;
    Box::new(move |random| {
        let mut begun = alive;
        each(random, |number, random| {
            if number % 10 == 0 {
                begun += 1;
                return Request::new(Operation::Set, begun, 300);
            }
            let key = begun - random.below(alive);
            let operation = if number % 2 == 0 { Operation::Set } else { Operation::Get };
            Request::new(operation, key, 300)
        })
    })
}

/// A set that nearly fills the memory is used for half the time, and never again; then what is
/// written once is read a share of the memory later.
fn out_of_use(percent: u64) -> Draw {
    let distance = FITTING * percent / 100;
    Box::new(move |random| {
        each(random, |number, random| match number < REQUESTS / 2 {
            true => Request::new(Operation::Fill, random.below(FITTING * 9 / 10), 300),
            false => written(number as u64, distance),
        })
    })
}

/// Zipf that throws much out for half the time; then what is written once is read later.
fn turned(percent: u64) -> Draw {
    let distance = FITTING * percent / 100;
    Box::new(move |random| {
        let zipf = Zipf::new(1_000_000, 0.99);
        each(random, |number, random| match number < REQUESTS / 2 {
            true => Request::new(Operation::Fill, zipf.draw(random), 300),
            false => written(number as u64, distance),
        })
    })
}

/// A set that nearly fills the memory is used, and another one from half of the time on.
fn replaced() -> Draw {
    Box::new(move |random| {
        let zipf = Zipf::new(1_000_000, 0.9);
        each(random, |number, random| {
            let is_late = u64::from(number >= REQUESTS / 2);
            Request::new(Operation::Fill, zipf.draw(random) | is_late << 40, 300)
        })
    })
}

/// A cache for a database beside sessions: half is Zipf, half is written once and read later.
fn beside(percent: u64) -> Draw {
    let distance = FITTING * percent / 100;
    Box::new(move |random| {
        let zipf = Zipf::new(1_000_000, 0.99);
        each(random, |number, random| match number / 2 % 2 {
            0 => Request::new(Operation::Fill, zipf.draw(random), 300),
            _ => written((number / 4 * 2 + number % 2) as u64, distance),
        })
    })
}

/// A cluster of Twitter's (Yang et al., OSDI 2020), by the statistics published with the traces
/// (`stat/2020Mar.md`): mean lengths of keys and values, Zipf's exponent, shares of operations.
struct Cluster {
    number: u32,
    key_bytes: u8,
    value_bytes: u32,
    exponent: f64,
    /// In percent; what is left are `get`.
    sets: u64,
    deletes: u64,
    /// Whether a cache for storage: what is missing is stored.
    fills: bool,
}

const CLUSTERS: [Cluster; 9] = [
    cluster(12, (44, 1_030), 0.3048, (80, 0), false),
    cluster(14, (96, 414), 1.2959, (13, 22), true),
    cluster(19, (42, 101), 0.735, (25, 0), false),
    cluster(29, (36, 799), 1.2323, (13, 0), true),
    cluster(40, (44, 155), 0.8551, (50, 0), false),
    cluster(45, (16, 120), 0.6372, (0, 0), true),
    cluster(48, (44, 70), 0.8191, (35, 0), false),
    cluster(52, (20, 273), 1.2117, (4, 0), true),
    cluster(53, (36, 9_213), 1.2061, (3, 0), true),
];

const fn cluster(
    number: u32,
    bytes: (u8, u32),
    exponent: f64,
    percent: (u64, u64),
    fills: bool,
) -> Cluster {
    let ((key_bytes, value_bytes), (sets, deletes)) = (bytes, percent);
    Cluster { number, key_bytes, value_bytes, exponent, sets, deletes, fills }
}

impl Cluster {
    /// Over a million keys, which is more than fits. Lengths of values are log-normal about the
    /// published mean, with the deviation that fits the paper's median of 230 bytes with 24 % below
    /// 100.
    fn draw(&self, random: &mut Random) -> Vec<Request> {
        const DEVIATION: f64 = 1.179;
        let zipf = Zipf::new(1_000_000, self.exponent);
        let median = f64::from(self.value_bytes) / (DEVIATION * DEVIATION / 2.0).exp();
        each(random, |_, random| {
            let key = zipf.draw(random);
            let mut of_key = Random(key);
            let radius = (-2.0 * (1.0 - of_key.unit()).ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * of_key.unit()).cos();
            let value_bytes = (median * (DEVIATION * normal).exp()).min(500_000.0) as u32;
            let percent = random.below(100);
            let operation = match percent {
                _ if percent < self.sets => Operation::Set,
                _ if percent < self.sets + self.deletes => Operation::Delete,
                _ if self.fills => Operation::Fill,
                _ => Operation::Get,
            };
            Request { key, value_bytes, key_bytes: self.key_bytes, operation }
        })
    }
}

pub fn all() -> Vec<Trace> {
    let small = |_| 300;
    let mut traces = vec![
        Trace::new("zipf-0.7", zipf(1_000_000, 0.7, small)),
        Trace::new("zipf-0.99", zipf(1_000_000, 0.99, small)),
        Trace::new("zipf-1.2", zipf(4_000_000, 1.2, small)),
        Trace::new("zipf-mixed-sizes", zipf(500_000, 0.99, mixed_size)),
        Trace::new("zipf-growing", growing()),
        Trace::new("zipf-scans", scans()),
        Trace::new("zipf-shifting", shifting(200_000)),
        Trace::new("zipf-shifting-fast", shifting(50_000)),
        Trace::new("zipf-replaced", replaced()),
        Trace::new("loop-90", looping(90)),
        Trace::new("loop-120", looping(120)),
        Trace::new("loop-300", looping(300)),
    ];
    for percent in [10, 30, 50, 70, 90, 95] {
        traces.push(Trace::new(format!("once-{percent}"), once(percent)));
    }
    for percent in [30, 100] {
        traces.push(Trace::new(format!("later-{percent}"), later(percent)));
    }
    for percent in [20, 50, 90] {
        traces.push(Trace::new(format!("out-of-use-{percent}"), out_of_use(percent)));
    }
    for percent in [30, 60] {
        traces.push(Trace::new(format!("turned-{percent}"), turned(percent)));
    }
    for percent in [10, 30, 60] {
        traces.push(Trace::new(format!("beside-{percent}"), beside(percent)));
    }
    traces.push(Trace::new("sessions", sessions()));
    traces.extend(CLUSTERS.iter().map(|cluster| {
        Trace::new(
            format!("twitter-{}", cluster.number),
            Box::new(|random: &mut Random| cluster.draw(random)),
        )
    }));
    traces
}
