//! What a scenario comes to.

use super::{read, read_with, with};
use lab::plan::{
    Arrivals, Audit, Bandwidth, Body, ChannelKind, ChannelStep, Class, Coding, Distribution, Keeps,
    List, Load, MemcachedCommand, MemcachedStep, Mix, Number, Order, Pacing, Pages, Piece,
    Resources, Stage, Step, Template, TimeToLive, Turn, Values,
};
use lab::scenario::{Overrides, Scenario, Source};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn load(text: &str) -> Scenario {
    let text = format!(
        "[servers]\nweb = \"http://127.0.0.1:1\"\n[operation.home]\nget = \"/\"\n[load]\n{text}"
    );
    read(&text).unwrap()
}

#[test]
fn what_is_not_said_has_a_sensible_value() {
    let plan = read(&with("")).unwrap().plan;
    assert_eq!(plan.name, "test");
    assert_eq!(plan.load, Load::Closed { users: vec![Stage::flat(2.0, 30 * SECOND)] });
    assert_eq!((plan.phases.ramp_up, plan.phases.measured), (5 * SECOND, 30 * SECOND));
    assert_eq!(plan.operations[0].pacing, Pacing::None);
    assert_eq!(plan.mix, Mix::Flat(vec![1.0]));
    assert_eq!(plan.seed, 1);
}

#[test]
fn an_audit_is_of_the_run_and_not_of_its_setup() {
    let text = with(
        "[operation.two]\nsteps = [{ pause = \"1ms\" }, { put = \"/{key}\" }]\n\
         [[setup]]\noperation = \"two\"\ntimes = 3\n\
         [audit.numbers.sum]\nget = \"/all\"\neach = \"/documents\"\nvalue = \"/cents\"\n\
         next = \"/next\"\nnext_parameter = \"after\"\nequals = 12.5\n\
         [audit.lists.all]\nget = \"/all\"\nid = [\"/a\", \"/b\"]\n\
         [audit.promises]\ntwo = \"stored\"\n\
         home = { listed = \"all\", id = \"{key}\" }",
    );
    let scenario = read(&text).unwrap();
    let pages = |each: Option<&str>, next: Option<(&str, &str)>| Pages {
        origin: 0,
        path: "/all".to_owned(),
        headers: Vec::new(),
        each: each.map(str::to_owned),
        next: next.map(|(next, parameter)| (next.to_owned(), parameter.to_owned())),
    };
    let Audit { numbers, lists, promises, .. } = scenario.plan.audit;
    let sum = Number {
        name: "sum".to_owned(),
        pages: pages(Some("/documents"), Some(("/next", "after"))),
        value: Some("/cents".to_owned()),
        equals: Some(12.5),
    };
    assert_eq!(numbers, [sum]);
    let id = ["/a", "/b"].map(str::to_owned).to_vec();
    assert_eq!(lists, [List { name: "all".to_owned(), pages: pages(None, None), id }]);
    let kept: Vec<_> = promises.iter().map(|p| (p.operation, p.step, &p.keeps)).collect();
    let id = Template { pieces: vec![Piece::Key] };
    assert_eq!(kept, [(1, 1, &Keeps::Stored), (0, 0, &Keeps::Listed { list: 0, id })]);
    assert!(scenario.setup[0].plan.audit.is_empty());
}

#[test]
fn levels_may_move_in_stages() {
    let scenario = load(
        "rate = [{ from = 0, to = 10, for = \"2s\" }, { to = 30, for = \"2s\" }, \
                         { at = 5, for = \"1m\" }]\narrivals = \"even\"\nat_once = 7",
    );
    let expected = vec![
        Stage { from: 0.0, to: 10.0, duration: 2 * SECOND },
        Stage { from: 10.0, to: 30.0, duration: 2 * SECOND },
        Stage::flat(5.0, 60 * SECOND),
    ];
    let load = Load::Open { rate: expected, arrivals: Arrivals::Even, in_flight_max: 7 };
    assert_eq!(scenario.plan.load, load);
    assert_eq!(scenario.plan.phases.measured, 64 * SECOND);
}

#[test]
fn the_command_line_scales_stages() {
    let text = with("")
        .replace("users = 2", "users = [{ at = 1, for = \"1s\" }, { at = 4, for = \"3s\" }]");
    let overrides =
        Overrides { users: Some(8), duration: Some(8 * SECOND), ..Overrides::default() };
    let plan = read_with(&text, &overrides).unwrap().plan;
    let users = vec![Stage::flat(2.0, 2 * SECOND), Stage::flat(8.0, 6 * SECOND)];
    assert_eq!(plan.load, Load::Closed { users });
    assert_eq!(plan.phases.measured, 8 * SECOND);
    // Another model has one level.
    let overrides = Overrides { rate: Some(9.0), ..Overrides::default() };
    let plan = read_with(&text, &overrides).unwrap().plan;
    let rate = vec![Stage::flat(9.0, 30 * SECOND)];
    let open = Load::Open { rate, arrivals: Arrivals::Poisson, in_flight_max: 1000 };
    assert_eq!(plan.load, open);
}

#[test]
fn pauses_have_every_distribution() {
    let pacing = |text: &str| {
        let text = with(&format!("[operation.b]\nget = \"/\"\n{text}"));
        read(&text).unwrap().plan.operations[1].pacing
    };
    assert_eq!(pacing("think = \"2s\""), Pacing::Think(Distribution::Fixed(2 * SECOND)));
    assert_eq!(pacing("think = \"0s\""), Pacing::None);
    let uniform = Distribution::Uniform(SECOND, 3 * SECOND);
    assert_eq!(pacing("cycle = { uniform = [\"1s\", \"3s\"] }"), Pacing::Cycle(uniform));
    let exponential =
        Distribution::Exponential { mean: 5 * SECOND, min: 2 * SECOND, cap: 25 * SECOND };
    let text = "cycle = { exponential = \"5s\", min = \"2s\" }";
    assert_eq!(pacing(text), Pacing::Cycle(exponential));
    let log_normal = Distribution::LogNormal { median: SECOND, sigma: 0.5, cap: 9 * SECOND };
    let text = "think = { log_normal = \"1s\", sigma = 0.5, max = \"9s\" }";
    assert_eq!(pacing(text), Pacing::Think(log_normal));
}

#[test]
fn a_servers_path_goes_before_those_of_steps() {
    let overrides =
        Overrides { servers: vec![(None, "http://h:81/base/".into())], ..Overrides::default() };
    let plan = read_with(&with(""), &overrides).unwrap().plan;
    assert_eq!(plan.origins[0].authority(), "h:81");
    let [Step::Http(step)] = plan.operations[0].steps.as_slice() else { panic!("{plan:?}") };
    assert_eq!(step.path.as_fixed(), Some(&b"/base/"[..]));
}

/// A scenario for caches.
const CACHE: &str = "[servers]\nold = \"memcached://a,b:1\"\nnew = \"memcached://c\"\n\
    [variables]\nmeta = true\nttl = \"1.5s\"\n[transport]\npipeline = 4\n[load]\nconnections = 5\n\
    [operation.get]\nsteps = [{ memcached = \"get\", key = \"k\", fill = true, \
    expires = [\"{ttl}\", \"1m\"], meta = \"{meta}\" }]\n\
    [operation.set]\nsteps = [{ memcached = \"set\", key = \"k\", server = \"new\" }]\n";

fn command(step: &Step) -> &MemcachedStep {
    match step {
        Step::Memcached(step) => step,
        other => panic!("{other:?}"),
    }
}

fn commands(scenario: &Scenario) -> Vec<&MemcachedStep> {
    let steps = scenario.plan.operations.iter().flat_map(|operation| &operation.steps);
    steps.map(command).collect()
}

#[test]
fn caches_have_instances_connections_and_times_to_live() {
    let scenario = read(CACHE).unwrap();
    let hosts: Vec<String> =
        scenario.plan.origins.iter().map(|origin| origin.authority()).collect();
    assert_eq!(hosts, ["a:11211", "b:1", "c:11211"]);
    assert_eq!(scenario.servers, ["old", "old", "new"]);
    let [get, set] = commands(&scenario)[..] else { panic!("{scenario:?}") };
    assert_eq!((&get.origins, &set.origins), (&vec![0, 1, 2], &vec![2]));
    assert_eq!((get.meta, set.meta), (true, false));
    let fill = Some(TimeToLive { from_s: 2, to_s: 60 });
    assert_eq!(get.command, MemcachedCommand::Get { verify: true, fill });
    assert_eq!(set.command, MemcachedCommand::Set { expires: TimeToLive::FOREVER });
    // 5 connections with 4 users on each.
    assert_eq!(scenario.plan.load.users_max(), 20);
    let overrides = Overrides {
        instances: Some(1),
        variables: vec![("meta".into(), "false".into())],
        ..Overrides::default()
    };
    let scenario = read_with(CACHE, &overrides).unwrap();
    let [get, set] = commands(&scenario)[..] else { panic!("{scenario:?}") };
    assert_eq!((&get.origins, &set.origins, get.meta), (&vec![0, 1], &vec![1], false));
    let fixed = format!("{CACHE}[items]\nvalues = \"100\"\n");
    let class = Class { weight: 1.0, from_bytes: 100, to_bytes: 100 };
    assert_eq!(read(&fixed).unwrap().plan.items.values, Values::Classes(vec![class]));
    let two = Overrides { instances: Some(2), ..Overrides::default() };
    let said = read_with(CACHE, &two).unwrap_err().to_string();
    assert!(said.contains("`new` has 1 instances; asked are 2"), "{said}");
}

#[test]
fn variables_are_filled_in_everywhere() {
    let text = "[servers]\nweb = \"http://{host}/\"\n[variables]\nhost = \"h\"\nusers = 3\n\
                wait = \"2s\"\n[load]\nusers = \"{users}\"\nthink = \"{wait}\"\n\
                [operation.home]\nget = \"/{host}\"\n";
    let overrides =
        Overrides { variables: vec![("users".into(), "7".into())], ..Overrides::default() };
    let plan = read_with(text, &overrides).unwrap().plan;
    assert_eq!(plan.load.users_max(), 7);
    assert_eq!(plan.origins[0].host, "h");
    assert_eq!(plan.operations[0].pacing, Pacing::Think(Distribution::Fixed(2 * SECOND)));
}

#[test]
fn hooks_are_beside_the_mix() {
    let scenario = read(&with(
        "[operation.fill]\nput = \"/{iteration}\"\n[[setup]]\noperation = \"fill\"\ntimes = 9\n\
         users = 3\n",
    ))
    .unwrap();
    assert_eq!(scenario.plan.mix, Mix::Flat(vec![1.0, 0.0]));
    let [hook] = scenario.setup.as_slice() else { panic!("{:?}", scenario.setup) };
    assert_eq!(hook.plan.load, Load::Numbered { first: 0, times: 9, users: 3 });
    assert_eq!(hook.plan.mix, Mix::Sequence(vec![1]));
    hook.plan.check().unwrap();
}

#[test]
fn files_have_stages_and_arrivals() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("day.txt"), "seconds users\n1 2\n2, 2, 6 # ramp\n").unwrap();
    std::fs::write(
        folder.path().join("log"),
        "h - - [10/Oct/2000:13:55:36 -0700] \"GET /\" 200\n\
        h - - [10/Oct/2000:13:55:38 -0700] \"GET /\" 200\n",
    )
    .unwrap();
    let read = |text: &str| {
        let text = with("").replace("users = 2", text);
        let source = Source { name: "test.toml", text: &text, folder: Some(folder.path()) };
        Scenario::read(source, &Overrides::default())
    };
    let scenario = read("users = { file = \"day.txt\" }").unwrap();
    let ramp = Stage { from: 2.0, to: 6.0, duration: 2 * SECOND };
    assert_eq!(scenario.plan.load, Load::Closed { users: vec![Stage::flat(2.0, SECOND), ramp] });
    assert_eq!(scenario.files, [folder.path().join("day.txt")]);
    let replay = read("replay = \"log\"\nspeed = 2\nat_once = 5\nwarm_up = \"0s\"").unwrap();
    let offsets = vec![Duration::ZERO, SECOND];
    assert_eq!(replay.plan.load, Load::Replay { offsets, in_flight_max: 5 });
    let missing = read("users = { file = \"dax.txt\" }").expect_err("no such file");
    assert!(missing.to_string().contains("cannot read"), "{missing}");
    std::fs::write(folder.path().join("day.txt"), "1 2\n-1 2\n").unwrap();
    let wrong = read("users = { file = \"day.txt\" }").expect_err("a negative time").to_string();
    assert!(wrong.contains("line 2 of it: expected SECONDS LEVEL"), "{wrong}");
}

#[test]
fn a_step_has_everything_that_can_be_said_of_it() {
    let text = with(
        "[data.words]\nrows = [\"one\", \"two\"]\norder = \"next\"\n[operation.all]\nsteps = [\n\
         { post = \"/{words}\", headers = { Accept = \"*/*\" }, form = { a = \"{words} &\" }, \
         redirects = 3, conditional = true, resources = { connections = 2, cold_percent = 10 }, \
         expect = { status = [200, 201], bytes = [1, 9], contains = [\"x\", \"{key}\"], \
         lacks = \"y\", equals = [{ json = \"$.a\", value = \"b\" }], \
         within = { header = \"Age\", from = 0, to = 9 } }, \
         extract = { id = { json = \"/a/0\", any = true }, tag = { regex = \"t=(.)\", required = \
         false } } },\n{ parallel = [{ get = \"/{id}\" }, { get = \"/{zipf:10,1.2}\" }] },\n\
         { new_session = true },\n{ put = \"/\", multipart = [{ name = \"f\", \
         file_name = \"f.txt\", type = \"text/plain\", text = \"{json:id}\" }] },\n\
         { pause = { uniform = [\"1s\", \"2s\"] \
         } },\n]\n",
    );
    let plan = read(&text).unwrap().plan;
    let [
        Step::Http(first),
        Step::Parallel(both),
        Step::NewSession,
        Step::Http(last),
        Step::Pause(_),
    ] = plan.operations[1].steps.as_slice()
    else {
        panic!("{:?}", plan.operations[1])
    };
    assert_eq!((first.redirects, first.conditional), (3, true));
    assert_eq!(first.resources, Some(Resources { connections: 2, cold: 0.1 }));
    assert_eq!((first.checks.len(), first.extract.len()), (7, 2));
    let media_type =
        ("Content-Type".to_owned(), Template::fixed("application/x-www-form-urlencoded"));
    assert!(first.headers.contains(&media_type), "{first:?}");
    let word = Piece::Coded(Coding::Percent, Box::new(Piece::Data { file: 0, column: 0 }));
    let Body::Template(body) = &first.body else { panic!("{first:?}") };
    let expected = [Piece::Text(b"a=".to_vec()), word, Piece::Text(b"%20%26".to_vec())];
    assert_eq!(body.pieces, expected);
    assert_eq!(both[0].path.pieces, [Piece::Text(b"/".to_vec()), Piece::Variable(0)]);
    let Body::Multipart(parts) = &last.body else { panic!("{last:?}") };
    assert_eq!(parts[0].file_name.as_deref(), Some("f.txt"));
    let names: Vec<&str> = plan.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["id", "tag"]);
    assert_eq!((plan.data[0].name.as_str(), plan.data[0].order), ("words", Order::Next));
}

/// Two operations, of which `a` extracts what `b` uses.
fn handing_over(rest: &str) -> Result<Scenario, lab::scenario::Mistakes> {
    read(&format!(
        "[servers]\nweb = \"http://127.0.0.1:1\"\n[operation.a]\nget = \"/\"\nextract = {{ id = {{ \
         json = \"/id\" }} }}\n[operation.b]\nget = \"/{{id}}\"\n{rest}"
    ))
}

#[test]
fn what_is_used_must_be_extracted_on_every_way() {
    let closed = "[load]\nusers = 1\n";
    for good in [
        "[mix]\nsequence = [\"a\", \"b\"]",
        "[mix]\nsequences = [{ of = [\"a\", \"b\", \"b\"] }, { of = [\"a\"] }]",
        "[mix.markov]\na = { a = 50, b = 50 }\nb = { b = 100 }",
        "[variables]\nid = 1",
    ] {
        assert!(handing_over(&format!("{closed}{good}")).is_ok(), "{good}");
    }
    for bad in [
        "",
        "[mix]\nsequence = [\"b\", \"a\"]",
        "[mix]\nsequences = [{ of = [\"a\", \"b\"] }, { of = [\"b\"] }]",
        "[mix]\nsequence = [\"a\"]\n[background]\nb = { rate = 1 }",
    ] {
        let said = handing_over(&format!("{closed}{bad}")).expect_err(bad).all;
        assert_eq!(said.len(), 1, "{bad}: {said:?}");
        assert!(said[0].what.contains("`{id}` is used here before it is extracted"), "{said:?}");
        assert_eq!(said[0].place, Some((7, 7)), "{bad}");
    }
    // In the open model anybody who is free performs what comes next.
    let open = handing_over("[load]\nrate = 1\n[mix]\nsequence = [\"a\", \"b\"]");
    assert!(open.is_err());
    // What another of the requests at the same time extracts is not there yet.
    let together = with(
        "[operation.c]\nsteps = [{ parallel = [{ get = \"/\", extract = { id = { body = true } } \
         }, { get = \"/{id}\" }] }]",
    );
    assert!(read(&together).is_err());
}

#[test]
fn steps_on_channels() {
    let scenario = read(&with(
        r#"
[operation.chat]
steps = [
  { websocket = "/chat/{key}", subprotocol = ["v2", "v1"], headers = { X-User = "{user}" } },
  { send = "{nonce}" },
  { send = "raw", binary = true },
  { receive = "message", containing = "{nonce}", count = 3, timeout = "2s",
    extract = { seen = { body = true } } },
  { get = "/{seen}" },
  { close = "websocket" },
]
[operation.watch]
steps = [
  { events = "/stream" },
  { receive = "event", event = "price", expect = { within = { json = "/is", from = 1, to = 9 } } },
]
"#,
    ))
    .unwrap();
    let steps = &scenario.plan.operations[1].steps;
    let Step::Channel(ChannelStep::Open(open)) = &steps[0] else { panic!("{:?}", steps[0]) };
    assert_eq!(open.kind, ChannelKind::WebSocket);
    assert_eq!(open.subprotocols, ["v2", "v1"]);
    assert_eq!(open.request.headers[0].0, "X-User");
    let Step::Channel(ChannelStep::Send(send)) = &steps[2] else { panic!("{:?}", steps[2]) };
    assert!(send.is_binary);
    let Step::Channel(ChannelStep::Receive(receive)) = &steps[3] else { panic!("{:?}", steps[3]) };
    assert_eq!((receive.count, receive.timeout), (3, Some(Duration::from_secs(2))));
    assert_eq!((receive.containing.is_some(), receive.extract.len()), (true, 1));
    assert!(matches!(steps[5], Step::Channel(ChannelStep::Close(ChannelKind::WebSocket))));
    let steps = &scenario.plan.operations[2].steps;
    let Step::Channel(ChannelStep::Receive(receive)) = &steps[1] else { panic!("{:?}", steps[1]) };
    assert_eq!((receive.kind, receive.event.as_deref()), (ChannelKind::Events, Some("price")));
    assert_eq!((receive.count, receive.checks.len()), (1, 1));
}

#[test]
fn a_users_line_may_be_bound() {
    let bandwidth =
        |value: &str| read(&with(&format!("[transport]\nbandwidth = {value}"))).unwrap().plan;
    let both = bandwidth("\"1 Mbit/s\"").transport.bandwidth;
    assert_eq!(both, Bandwidth { receive: Some(125_000), send: Some(125_000) });
    let one = bandwidth("{ receive = \"64 kbit/s\" }").transport.bandwidth;
    assert_eq!(one, Bandwidth { receive: Some(8_000), send: None });
}

#[test]
fn each_user_may_go_after_so_many() {
    let text = with("").replace("users = 2", "users = 2\nrepetitions = 3");
    let scenario = read(&text).unwrap();
    assert_eq!(scenario.plan.repetitions, Some(3));
    assert!(scenario.to_text().contains("2 users, closed loop, 3 times each"));
    let refused = text.replace("users = 2", "rate = 2");
    assert!(read(&refused).unwrap_err().to_string().contains("belongs to `users`"));
}

const LOG: &str = "\
a - - [22/Nov/2026:04:00:02 +0000] \"GET /b HTTP/1.1\" 404 5 \"-\" \"x\"
a - - [22/Nov/2026:04:00:00 +0000] \"GET /a?b HTTP/1.1\" 200 5
a - - [22/Nov/2026:04:00:00 +0000] \"POST /c HTTP/1.1\" 200 5
";

#[test]
fn a_log_is_replayed_with_its_requests() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("access.log"), LOG).unwrap();
    let read = |load: &str| {
        let text = format!(
            "[servers]\nweb = \"http://127.0.0.1:1/base\"\n[load]\n{load}\nwarm_up = \"0s\"\n\
             [operation.visit]\nlogged = true\n"
        );
        let source = Source { name: "test.toml", text: &text, folder: Some(folder.path()) };
        Scenario::read(source, &Overrides::default())
    };
    let scenario = read("replay = { log = \"access.log\" }\nspeed = 2").unwrap();
    let second = [Duration::ZERO, SECOND];
    assert!(matches!(&scenario.plan.load, Load::Replay { offsets, .. } if *offsets == second));
    assert_eq!(scenario.notes, ["2 requests of the log; 1 of other methods left out"]);
    assert!(scenario.to_text().contains("replay            2 requests of the log"));
    let rows = &scenario.plan.data[0].rows;
    assert_eq!((rows.columns(), rows.count()), (&["kind".into(), "path".into()][..], 2));
    let Step::OneOf(requests, Turn::OfRow(0)) = &scenario.plan.operations[0].steps[0] else {
        panic!("{:?}", scenario.plan.operations[0].steps)
    };
    let methods: Vec<&str> = requests.iter().map(|request| request.method.as_str()).collect();
    assert_eq!(methods, ["GET", "GET"]);
    assert_eq!(requests[0].checks.len() + requests[1].checks.len(), 1);
    assert_eq!(requests[0].path.pieces[0], Piece::Text(b"/base".to_vec()));

    let all = "replay = { log = \"access.log\", methods = [\"GET\", \"POST\"] }";
    assert_eq!(read(all).unwrap().notes, ["3 requests of the log"]);
    for (load, words) in [
        ("replay = { log = \"none.log\" }", "cannot replay"),
        ("replay = { log = \"access.log\", methods = [\"GTE\"] }", "expected one of GET, HEAD"),
        ("replay = { log = \"access.log\", methods = [\"PUT\"] }", "no request to be replayed"),
        ("replay = { file = \"access.log\" }", "`load.replay.log` is missing"),
    ] {
        let why = read(load).unwrap_err().to_string();
        // That there is no log for the step is no other mistake.
        assert!(why.contains(words) && !why.contains("there is no log"), "{load}: {why}");
    }
}
