//! Plans with steps for caches, against memcached itself and against servers that do wrong.

// In a test a panic is the report.
#![allow(clippy::unwrap_used)]

use lab::engine::{Findings, Phase, Watch, run};
use lab::limits::TRACE_LINE_BYTES_MAX;
use lab::measure::{ErrorClass, Interval, Tally};
use lab::plan::{
    Class, Items, KeyLengths, Load, MemcachedCommand, MemcachedStep, Mix, Operation, Pacing, Piece,
    Plan, Protocol, Stage, Step, Template, TimeToLive, Values,
};
use lab::progress::Tick;
use lab::report::Report;
use lab::scenario::{Overrides, Scenario, Source, shipped};
use lab::trace::{self, Replay, ReplayError};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a server to start, and for an answer of its.
const PATIENCE: Duration = Duration::from_secs(120);

const SECOND: Duration = Duration::from_secs(1);

const GET: MemcachedCommand =
    MemcachedCommand::Get { verify: true, fill: Some(TimeToLive::FOREVER) };
const SET: MemcachedCommand = MemcachedCommand::Set { expires: TimeToLive::FOREVER };

/// A memcached that goes with the test.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ports");
        let mut child = Command::new("memcached")
            .args(["-u", "root", "-l", "127.0.0.1", "-p", "-1", "-U", "0", "-t", "1"])
            .args(options)
            .env("MEMCACHED_PORT_FILENAME", &file)
            .stdin(Stdio::null())
            .spawn()
            .expect("memcached starts; scripts/setup.sh memcached installs it");
        let start = Instant::now();
        let port = loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some(port) = text.trim().strip_prefix("TCP INET: ") {
                break port.parse().unwrap();
            }
            assert!(child.try_wait().unwrap().is_none(), "memcached does not start: {options:?}");
            assert!(start.elapsed() < PATIENCE, "memcached does not tell its port: {text:?}");
            std::thread::sleep(Duration::from_millis(5));
        };
        Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)) }
    }

    /// The one line that it answers.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line
    }

    /// How many seconds an item has left.
    fn time_to_live(&self, key: &str) -> u64 {
        let line = self.ask(&format!("mg {key} t\r\n"));
        let left = line.trim_end().strip_prefix("HD t").map(str::parse);
        left.unwrap_or_else(|| panic!("{line}")).unwrap_or_else(|_| panic!("{line}"))
    }

    fn items(&self) -> u64 {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"stats\r\nquit\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("STAT curr_items "));
        line.unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already, which a test does to it.
        drop(self.child.kill());
        self.child.wait().unwrap();
    }
}

fn operation(name: &str, command: MemcachedCommand) -> Operation {
    let pieces = vec![Piece::Text(b"key-".to_vec()), Piece::Key];
    let key = Template { pieces };
    let step = MemcachedStep { origins: vec![0], key, command, meta: false };
    let steps = vec![Step::Memcached(Box::new(step))];
    Operation { name: name.into(), steps, pacing: Pacing::None }
}

/// 3,000 operations by 8 users on 200 keys.
fn plan(address: SocketAddr, operations: Vec<Operation>) -> Plan {
    let mut plan = Plan::hit(format!("http://{address}/").parse().unwrap());
    plan.mix = Mix::Flat(vec![1.0; operations.len()]);
    plan.operations = operations;
    plan.keys.count = 200;
    plan.items = Items::olio();
    plan.phases.ramp_up = Duration::ZERO;
    plan.phases.measured = PATIENCE;
    plan.phases.count = Some(3_000);
    plan.load = Load::Closed { users: vec![Stage::flat(8.0, PATIENCE)] };
    plan
}

fn steps(plan: &mut Plan) -> impl Iterator<Item = &mut MemcachedStep> {
    plan.operations.iter_mut().flat_map(|operation| &mut operation.steps).map(|step| match step {
        Step::Memcached(step) => &mut **step,
        other => panic!("{other:?}"),
    })
}

struct Nobody;

impl Watch for Nobody {
    fn tick(&mut self, _: &Tick) {}
    fn second(&mut self, _: &Interval) {}
}

fn found(plan: &Plan) -> Findings {
    run(plan, &mut Nobody).unwrap()
}

/// All that an operation did, whenever that was.
fn all(findings: &Findings, operation: usize) -> Tally {
    findings.totals.operation(Phase::Measured, operation)
}

#[test]
fn values_are_filled_in_and_come_back() {
    let server = Server::start(&[]);
    for meta in [false, true] {
        assert_eq!(server.ask("flush_all\r\n"), "OK\r\n");
        let mut plan = plan(server.address, vec![operation("get", GET), operation("set", SET)]);
        plan.mix = Mix::Flat(vec![9.0, 1.0]);
        steps(&mut plan).for_each(|step| step.meta = meta);
        let findings = found(&plan);
        let (get, set) = (all(&findings, 0), all(&findings, 1));
        assert_eq!((get.errors().to_string(), set.errors().to_string()), Default::default());
        assert_eq!(get.operations() + set.operations(), 3_000);
        assert_eq!(get.hits() + get.misses(), get.operations());
        // Eight users may miss the same key at the same time.
        assert!((1..=1_600).contains(&get.misses()), "{}", get.misses());
        assert!(get.hits() > 1_000, "{}", get.hits());
        assert_eq!(set.hit_ratio(), None);
        let report = Report::new(&plan, &findings);
        assert!(report.to_text().contains("\nhit ratio "), "{}", report.to_text());
        assert_eq!(report.to_json()["cache"]["hits"], get.hits());
    }
}

#[test]
fn users_share_connections() {
    let server = Server::start(&[]);
    for meta in [false, true] {
        let mut plan = plan(server.address, vec![operation("get", GET)]);
        steps(&mut plan).for_each(|step| step.meta = meta);
        plan.load = Load::Closed { users: vec![Stage::flat(32.0, PATIENCE)] };
        plan.transport.protocol = Protocol::Http1 { pipeline: 16 };
        let findings = found(&plan);
        assert_eq!(all(&findings, 0).errors().to_string(), "");
        assert_eq!(all(&findings, 0).operations(), 3_000);
        assert_eq!(findings.connections, 2);
    }
}

#[test]
fn large_values_come_whole() {
    let server = Server::start(&[]);
    let class = Class { weight: 1.0, from_bytes: 900_000, to_bytes: 1_000_000 };
    for pipeline in [1, 4] {
        let mut plan = plan(server.address, vec![operation("get", GET)]);
        plan.items = Items { values: Values::Classes(vec![class]), keys: KeyLengths::Etc };
        (plan.keys.count, plan.phases.count) = (4, Some(100));
        plan.transport.protocol = Protocol::Http1 { pipeline };
        let findings = found(&plan);
        assert_eq!(all(&findings, 0).errors().to_string(), "");
        assert!(all(&findings, 0).bytes_received() > 50 * 900_000);
    }
}

#[test]
fn keys_are_spread_over_servers() {
    let servers = [Server::start(&[]), Server::start(&[])];
    let mut plan = plan(servers[0].address, vec![operation("get", GET)]);
    let other = Plan::hit(format!("http://{}/", servers[1].address).parse().unwrap());
    plan.origins.extend(other.origins);
    steps(&mut plan).for_each(|step| step.origins = vec![0, 1]);
    let findings = found(&plan);
    assert_eq!(all(&findings, 0).errors().to_string(), "");
    let items = servers.each_ref().map(Server::items);
    assert!(items.iter().all(|items| (60..=140).contains(items)), "{items:?}");
    assert_eq!(items.iter().sum::<u64>(), 200);
    assert_eq!(findings.connections, 16);
}

#[test]
fn the_other_commands() {
    let server = Server::start(&[]);
    for meta in [false, true] {
        let operations = vec![
            operation("incr", MemcachedCommand::Increment { by: 2 }),
            operation("touch", MemcachedCommand::Touch { expires: TimeToLive::seconds(900) }),
            operation("delete", MemcachedCommand::Delete),
        ];
        let mut plan = plan(server.address, operations);
        steps(&mut plan).for_each(|step| {
            step.meta = meta;
            step.key = Template::fixed("number");
        });
        plan.mix = Mix::Sequence(vec![0, 1, 2, 0, 1, 2]);
        plan.load = Load::Closed { users: vec![Stage::flat(1.0, PATIENCE)] };
        plan.phases.count = Some(6);
        assert_eq!(server.ask("set number 0 0 2\r\n10\r\n"), "STORED\r\n");
        let findings = found(&plan);
        for operation in 0..3 {
            let tally = all(&findings, operation);
            assert_eq!(tally.errors().to_string(), "");
            assert_eq!((tally.hits(), tally.misses()), (1, 1), "{operation}");
        }
    }
}

#[test]
fn a_wrong_value_is_an_error() {
    let server = Server::start(&[]);
    for meta in [false, true] {
        assert_eq!(server.ask("set key-7 0 0 5\r\nwrong\r\n"), "STORED\r\n");
        let mut plan = plan(server.address, vec![operation("get", GET)]);
        steps(&mut plan).for_each(|step| step.meta = meta);
        plan.load = Load::Closed { users: vec![Stage::flat(8.0, PATIENCE)] };
        let findings = found(&plan);
        let errors = all(&findings, 0).errors().clone();
        assert!(errors.count(ErrorClass::Check) > 1, "{errors}");
        assert_eq!(errors.count(ErrorClass::Check), errors.total(), "{errors}");
        let first = errors.first(ErrorClass::Check).unwrap();
        assert!(first.contains("key-7") && first.contains("5 bytes"), "{first}");
        // Who does not look does not mind.
        steps(&mut plan)
            .for_each(|step| step.command = MemcachedCommand::Get { verify: false, fill: None });
        assert_eq!(all(&found(&plan), 0).errors().to_string(), "");
    }
}

#[test]
fn a_refusal_is_an_error_and_the_connection_goes_on() {
    // Items of at most 512 KiB.
    let server = Server::start(&["-I", "512k"]);
    let mut plan = plan(server.address, vec![operation("set", SET)]);
    let class = |from_bytes, to_bytes| Class { weight: 1.0, from_bytes, to_bytes };
    plan.items.values = Values::Classes(vec![class(0, 100), class(550_000, 600_000)]);
    plan.phases.count = Some(100);
    let findings = found(&plan);
    let set = all(&findings, 0);
    let refused = set.errors().count(ErrorClass::Refused);
    assert_eq!(refused, set.errors().total(), "{}", set.errors());
    assert!(refused > 25 && set.successes() > 25, "{refused}");
    let first = set.errors().first(ErrorClass::Refused).unwrap();
    assert_eq!(first, "SERVER_ERROR object too large for cache");
    assert_eq!(findings.connections, 8);
}

/// A server that says the same to everything that it reads.
fn answering(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
                    if stream.write_all(answer).is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn servers_that_do_wrong_are_told_by_class() {
    for (answer, class) in [
        (&b"HELLO\r\n"[..], ErrorClass::Malformed),
        (b"STORED\r\n", ErrorClass::Malformed),
        (b"END\n", ErrorClass::Malformed),
        (b"VALUE key-1 0 99999999\r\n", ErrorClass::Malformed),
        (b"VALUE other 0 1\r\nx\r\nEND\r\n", ErrorClass::Check),
        (b"ERROR\r\n", ErrorClass::Refused),
        (b"VALUE key", ErrorClass::Timeout),
        (b"", ErrorClass::Timeout),
    ] {
        let get = operation("get", MemcachedCommand::Get { verify: true, fill: None });
        for pipeline in [1, 8] {
            let mut plan = plan(answering(answer), vec![get.clone()]);
            plan.phases.count = Some(16);
            plan.request_timeout = SECOND;
            plan.transport.protocol = Protocol::Http1 { pipeline };
            let findings = found(&plan);
            let shown = answer.escape_ascii();
            let errors = all(&findings, 0).errors().clone();
            assert_eq!(errors.total(), 16, "{shown}: {errors}");
            assert!(errors.count(class) > 0, "{shown}: {errors}");
            // Users that share a connection lose it when it is given up.
            let others = errors.total() - errors.count(class);
            assert!(pipeline > 1 || others == 0, "{shown}: {errors}");
        }
    }
}

#[test]
fn a_server_that_dies_leaves_errors_and_a_report() {
    let server = Server::start(&[]);
    for pipeline in [1, 8] {
        let mut plan = plan(server.address, vec![operation("get", GET)]);
        plan.phases.count = None;
        plan.phases.measured = 2 * SECOND;
        plan.transport.protocol = Protocol::Http1 { pipeline };
        let pid = server.child.id().to_string();
        let kill = move || {
            std::thread::sleep(SECOND);
            assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        };
        // The second time it is away from the begin.
        if pipeline == 1 {
            let killer = std::thread::spawn(kill);
            let findings = found(&plan);
            killer.join().unwrap();
            let get = all(&findings, 0);
            let errors = get.errors();
            assert!(get.successes() > 0 && errors.count(ErrorClass::Connect) > 0, "{errors}");
            let both = errors.count(ErrorClass::Connect) + errors.count(ErrorClass::Closed);
            assert_eq!(both, errors.total(), "{errors}");
        } else {
            assert!(run(&plan, &mut Nobody).is_err());
        }
    }
}

#[test]
fn plans_that_cannot_be_run_are_refused() {
    let address = "127.0.0.1:1".parse().unwrap();
    let fault = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan(address, vec![operation("get", GET)]);
        change(&mut plan);
        plan.check().unwrap_err().to_string()
    };
    let key = |text: &str| {
        let key = Template::fixed(text);
        fault(&|plan| steps(plan).for_each(|step| step.key = key.clone()))
    };
    assert!(key("").contains("at least one byte"));
    assert!(key("a b").contains("no space"));
    assert!(key(&"k".repeat(251)).contains("at most 250"));
    assert!(fault(&|plan| steps(plan).for_each(|step| step.origins.clear())).contains("servers"));
    let unknown = fault(&|plan| steps(plan).for_each(|step| step.origins.push(1)));
    assert!(unknown.contains("server 1 does not exist"), "{unknown}");
    let items = fault(&|plan| plan.items.values = Values::Classes(Vec::new()));
    assert!(items.contains("classes"), "{items}");
}

/// A scenario that ships on 2,000 items, with `changes` of its variables.
fn ships(server: &Server, name: &str, changes: &[(&str, &str)]) -> Scenario {
    let shipped = shipped().iter().find(|shipped| shipped.name == name).unwrap();
    let source = Source { name, text: shipped.text, folder: None };
    let all = [("items_count", "2000"), ("connections", "8"), ("skew", "0.99")];
    let all = all.iter().chain(changes).map(|(name, value)| (name.to_string(), value.to_string()));
    let overrides = Overrides {
        servers: vec![(None, format!("memcached://{}", server.address))],
        variables: all.collect(),
        ..Overrides::default()
    };
    Scenario::read(source, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Puts the items in and performs 4,000 operations.
fn populate_and_run(server: &Server, scenario: &Scenario) -> Findings {
    assert_eq!(server.ask("flush_all\r\n"), "OK\r\n");
    for hook in &scenario.setup {
        let findings = found(&hook.plan);
        let phases = [Phase::RampUp, Phase::Measured, Phase::Drain];
        let operations = || 0..hook.plan.operations.len();
        let all = phases.map(|phase| findings.totals.phase(phase, operations()));
        assert_eq!(all.iter().map(Tally::successes).sum::<u64>(), 2_000);
        assert_eq!(all.iter().map(|tally| tally.errors().total()).sum::<u64>(), 0);
        assert_eq!(server.items(), 2_000);
    }
    let mut plan = scenario.plan.clone();
    plan.phases.ramp_up = Duration::ZERO;
    plan.phases.measured = PATIENCE;
    plan.phases.count = Some(4_000);
    let users = plan.load.users_max() as f64;
    plan.load = Load::Closed { users: vec![Stage::flat(users, PATIENCE)] };
    let findings = found(&plan);
    let (get, set) = (all(&findings, 0), all(&findings, 1));
    assert_eq!((get.errors().to_string(), set.errors().to_string()), Default::default());
    assert_eq!(get.operations() + set.operations(), 4_000);
    findings
}

#[test]
fn the_seeds_benchmark_runs() {
    let server = Server::start(&[]);
    for (items, pipeline, meta) in [("olio", "1", "false"), ("etc", "4", "true")] {
        let changes = [("items", items), ("pipeline", pipeline), ("meta", meta)];
        let scenario = ships(&server, "memcached-olio", &changes);
        let findings = populate_and_run(&server, &scenario);
        let get = all(&findings, 0);
        // 90 %, within four standard deviations.
        assert!((3_524..=3_676).contains(&get.operations()), "{}", get.operations());
        assert_eq!((get.hits(), get.misses()), (get.operations(), 0));
        assert_eq!(findings.connections, 8);
    }
}

#[test]
fn the_presets_run() {
    let server = Server::start(&[]);
    for meta in ["false", "true"] {
        let scenario = ships(&server, "memcached-etc", &[("pipeline", "4"), ("meta", meta)]);
        let findings = populate_and_run(&server, &scenario);
        // 30 of 31, within four standard deviations.
        let gets = all(&findings, 0).operations();
        assert!((3_826..=3_916).contains(&gets), "{gets}");
        let scenario = ships(&server, "memcached-twitter", &[("pipeline", "4"), ("meta", meta)]);
        let findings = populate_and_run(&server, &scenario);
        let gets = all(&findings, 0).operations();
        assert!((2_479..=2_721).contains(&gets), "{gets}");
        assert_eq!(all(&findings, 0).misses(), 0);
        // As the server has it: in seconds from now.
        let lives: u64 = server.time_to_live("tweet-0");
        assert!((1..=1_200).contains(&lives), "{lives}");
    }
}

#[test]
fn what_has_expired_is_put_in_again() {
    let server = Server::start(&[]);
    let soon = [("ttl_min", "1s"), ("ttl_max", "1s")];
    let scenario = ships(&server, "memcached-twitter", &soon);
    let mut plan = scenario.plan.clone();
    plan.phases.ramp_up = Duration::ZERO;
    plan.phases.measured = 5 * SECOND;
    plan.keys.count = 1;
    plan.load = Load::Closed { users: vec![Stage::flat(1.0, PATIENCE)] };
    let findings = found(&plan);
    let get = all(&findings, 0);
    assert_eq!(get.errors().to_string(), "");
    // Whoever sets it makes it live on; reads alone see it end.
    assert!(get.hits() > 0, "{}", get.hits());
    plan.mix = Mix::Flat(vec![1.0, 0.0, 0.0]);
    let get = all(&found(&plan), 0);
    assert_eq!(get.errors().to_string(), "");
    assert!(get.misses() >= 2, "{} misses in 5 s of lives of 1 s", get.misses());
}

/// Replays a trace; gives what was told of each part of its time, and the total.
fn replayed(
    address: SocketAddr,
    lines: &str,
    fill: bool,
) -> Result<(Vec<(u64, trace::Tally)>, trace::Tally), ReplayError> {
    let replay = Replay { server: address.to_string(), fill, every_s: 2 };
    let mut told = Vec::new();
    let total = trace::replay(&replay, lines.as_bytes(), |second, tally| {
        told.push((second, *tally));
    })?;
    Ok((told, total))
}

#[test]
fn a_trace_is_replayed_and_counted_by_its_own_time() {
    const TRACE: &str = "0,a,1,3,0,set,0\n0,a,1,0,0,get,0\n1,b,1,5,0,get,0\n1,b,1,5,0,get,0\n\
        2,b,1,5,0,gets,0\n3,a,1,0,0,delete,0\n3,a,1,0,0,get,0\n9,n,1,2,0,set,0\n\
        9,n,1,2,0,incr,0\r\n\
        9,n,1,2,0,decr,0\n9,c,1,300,0,add,0\n9,c,1,300,0,replace,0\n9,c,1,1,0,append,0\n\
        9,c,1,1,0,prepend,0\n9,c,1,300,0,incr,0\n9,c,1,0,0,get,0";
    for fill in [true, false] {
        let server = Server::start(&[]);
        let (told, total) = replayed(server.address, TRACE, fill).unwrap();
        let (b, fills) = if fill { (1, 1) } else { (0, 0) };
        let tally = |requests, gets, hits, fills, errors| trace::Tally {
            requests,
            gets,
            hits,
            fills,
            errors,
        };
        // 302 digits are no number.
        let parts = [
            (0, tally(4, 3, 1 + b, fills, 0)),
            (2, tally(3, 2, b, 0, 0)),
            (8, tally(9, 1, 1, 0, 1)),
        ];
        assert_eq!(told, parts, "fill: {fill}");
        assert_eq!(total, tally(16, 6, 2 + 2 * b, fills, 1), "fill: {fill}");
    }
}

/// Though many are under way at once, they come to what they would come to one by one.
#[test]
fn the_order_of_a_trace_is_kept() {
    let server = Server::start(&["-m", "256"]);
    let (mut state, mut lines, mut hits, mut gets) = (9_u64, String::new(), 0, 0);
    let mut there = std::collections::HashSet::new();
    for _ in 0..20_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (key, size) = (state >> 33 & 63, [10, 3_000, 60_000][(state >> 40) as usize % 3]);
        let operation = ["get", "get", "get", "set", "delete"][(state >> 50) as usize % 5];
        match operation {
            "get" => {
                gets += 1;
                hits += u64::from(!there.insert(key));
            }
            "set" => drop(there.insert(key)),
            _ => drop(there.remove(&key)),
        }
        lines.push_str(&format!("0,k{key},2,{size},0,{operation},0\n"));
    }
    let (_, total) = replayed(server.address, &lines, true).unwrap();
    assert_eq!((total.gets, total.hits, total.errors), (gets, hits, 0));
    let (_, total) =
        replayed(server.address, "0,big,3,1000000,0,get,0\n0,big,3,0,0,get,0", true).unwrap();
    assert_eq!((total.hits, total.fills), (1, 1));
}

#[test]
fn a_trace_with_a_mistake_names_the_line() {
    let server = Server::start(&[]);
    for (line, said) in [
        ("0,k,1,1,0,fetch,0".to_owned(), "line 3: the operation is not known"),
        (
            format!("0,{},1,1,0,get,0", "k".repeat(TRACE_LINE_BYTES_MAX)),
            "line 3: the line has more",
        ),
        (String::new(), "line 3: expected seven fields"),
    ] {
        let trace = format!("0,k,1,1,0,set,0\n1,k,1,1,0,get,0\n{line}\n");
        let error = replayed(server.address, &trace, false).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn a_cache_that_does_not_answer_a_trace_ends_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let lines = "0,k,1,1,0,get,0\n";
    let error = replayed(address, lines, false).unwrap_err();
    assert!(matches!(error, ReplayError::Transport(_)), "{error}");
    // The connection that waited in vain.
    drop(listener.accept().unwrap());
    let ends = |answer: &[u8]| {
        std::thread::scope(|scope| {
            let replaying = scope.spawn(|| replayed(address, lines, false).unwrap_err());
            let mut stream = listener.accept().unwrap().0;
            stream.read_exact(&mut [0; 7]).unwrap();
            stream.write_all(answer).unwrap();
            drop(stream);
            replaying.join().unwrap()
        })
    };
    assert!(matches!(ends(b""), ReplayError::Closed));
    assert!(matches!(ends(b"VALUE k\r\n"), ReplayError::Malformed(_)));
    drop(listener);
    let error = replayed(address, lines, false).unwrap_err();
    assert!(matches!(error, ReplayError::Connect { .. }), "{error}");
}
