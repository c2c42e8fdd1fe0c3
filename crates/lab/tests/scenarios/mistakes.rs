//! Every mistake at once, each with its place, what was expected, what came and the nearest name.

use super::{read, read_with, with};
use lab::scenario::{Mistake, Overrides};

fn said(text: &str) -> Vec<(Option<(usize, usize)>, String)> {
    let all = read(text).expect_err("mistakes").all;
    all.into_iter().map(|Mistake { place, what }| (place, what)).collect()
}

/// The only mistake of a scenario with `rest`.
fn only(rest: &str) -> String {
    let all = said(&with(rest));
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().unwrap().1
}

const TEN: &str = r#"name = 5
[servers]
web = "ftp://a/"
[load]
users = "many"
durration = "10s"
[mix.markov]
home = { home = 50, login = 49 }
login = { hme = 100 }
[operation.home]
get = "no-slash"
body = "{nonse}"
[operation.login]
steps = [{ pause = "soon" }]
[gates.latency]
hom = { p99 = "1s" }
"#;

#[test]
fn ten_mistakes_are_told_at_once() {
    let expected = [
        (1, 8, "`name`: expected a text in quotes; got 5"),
        (3, 7, "`servers.web`: the scheme \"ftp\" is not supported"),
        (5, 9, "`load.users`: expected a number from 0 to 20000; got \"many\""),
        (6, 1, "there is no key `durration` in `load`; did you mean `duration`?"),
        (8, 8, "`mix.markov.home`: expected percentages that sum to 100 (within 0.01); got 99"),
        (9, 11, "`mix.markov.login.hme`: there is no operation `hme`; did you mean `home`?"),
        (11, 7, "`operation.home.get`: expected a path that begins with /"),
        (12, 8, "`{nonse}` is nothing that can be filled in; did you mean `nonce`?"),
        (14, 20, "`operation.login.steps[0].pause`: expected a time like \"500ms\""),
        (16, 1, "`gates.latency.hom`: there is no operation `hom`; did you mean `home`?"),
    ];
    let said = said(TEN);
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for ((place, what), (line, column, words)) in said.iter().zip(expected) {
        assert_eq!(*place, Some((line, column)), "{what}");
        assert!(what.contains(words), "{what}\nlacks\n{words}");
    }
}

#[test]
fn a_mistake_is_told_as_file_line_and_column() {
    let text = read(&with("[gates]\nerrors = 1\n")).expect_err("a mistake").to_string();
    assert_eq!(
        text,
        "test.toml:8:1: there is no key `errors` in `gates`; expected one of cycle_percent, \
         errors_percent, latency, mix_points, rate_at_least\n1 mistake in test.toml"
    );
}

#[test]
fn what_is_not_toml_does_not_hide_the_rest() {
    let said = said(&with("timeot = \n[gates]\nerors_percent = 1\n"));
    let places: Vec<_> = said.iter().map(|(place, _)| place.unwrap().0).collect();
    assert_eq!(places, [7, 9], "{said:?}");
    assert!(said[1].1.contains("did you mean `errors_percent`?"), "{said:?}");
}

#[test]
fn what_is_missing_is_named() {
    let said = said("");
    let words = ["`servers` is missing", "`operation` is missing", "`load` is missing"];
    for word in words {
        assert!(said.iter().any(|(_, what)| what.contains(word)), "{word}: {said:?}");
    }
    assert_eq!(said.len(), words.len(), "{said:?}");
}

#[test]
fn each_section_refuses_what_it_cannot_be() {
    for (rest, words) in [
        ("[mix]\nweights = { home = 0 }", "nothing can come next"),
        ("[mix]\nweights = [1, 2]", "expected 1 numbers"),
        ("[mix]\nsequence = []", "at least one operation"),
        ("[mix]\nsequence = [\"hime\"]", "did you mean `home`?"),
        ("[mix]\nsequences = [{ of = [\"home\"], weight = -1 }]", "expected a number from"),
        ("[mix]\nsequence = [\"home\"]\nweights = [1]", "exactly one of"),
        ("[mix]\nmarkov = { home = [100.02] }", "got 100.02"),
        (
            "[operation.b]\nget = \"/\"\n[background]\nb = { rate = 1, every = \"1s\" }",
            "either { rate = 2 } or",
        ),
        ("[operation.b]\nget = \"/\"\nput = \"/\"", "got several"),
        ("[operation.b]\nget = \"/\"\nbody = \"\"\nform = {}", "got several"),
        ("[operation.b]\nget = \"/\"\nheaders = { \"a b\" = \"\" }", "cannot be sent"),
        ("[operation.b]\nget = \"/\"\nheaders = { Cookie = \"a\" }", "set by the load generator"),
        ("[operation.b]\nget = \"/\"\nserver = \"wev\"", "did you mean `web`?"),
        ("[operation.b]\nget = \"/{random:6-1}\"", "{random:FROM-TO}"),
        ("[operation.b]\nget = \"/{letters:0}\"", "{letters:COUNT}"),
        ("[operation.b]\nget = \"/\"\nbody_file = \"x\"", "a scenario that ships has no files"),
        ("[operation.b]\nget = \"/\"\nthink = \"1s\"\ncycle = \"1s\"", "got both"),
        ("[operation.b]\nget = \"/\"\nthink = { exponential = \"1s\", max = \"10ms\" }", "at most"),
        ("[operation.b]\nget = \"/\"\nthink = { exponental = \"1s\" }", "exactly one of"),
        ("[operation.b]\nthink = \"1s\"", "neither `steps` nor a request"),
        ("[[setup]]\noperation = \"home\"\ntimes = 0", "a whole number from 1"),
        ("[gates.latency]\nall = { p100 = \"1s\" }", "expected a percentile"),
        ("[background]\nhome = { rate = 1 }", "the run itself has none"),
        ("[operation.b]\nget = \"/\"\nextract = { a = { regex = \"(\" } }", "regex"),
        ("[operation.b]\nget = \"/\"\nextract = { a = { json = \"a\" } }", "a path like"),
        ("[operation.b]\nget = \"/\"\nextract = { a = {} }", "expected one of json"),
        ("[operation.b]\nget = \"/\"\nexpect = { statsu = 200 }", "did you mean `status`?"),
        ("[operation.b]\nget = \"/\"\nexpect = { status = 20 }", "from 100 to 599"),
        ("[operation.b]\nput = \"/\"\nmultipart = [{ name = \"a\" }]", "either `text` or `file`"),
        ("[operation.b]\nget = \"/{percent:nonse}\"", "did you mean `nonce`?"),
        ("[data.a]\nrows = []", "expected at least one row"),
        ("[data.a]\nrows = [\"x\"]\n[operation.b]\nget = \"/{a.b}\"", "has no column `b`"),
        ("[variables]\nkey = 1", "means something in templates"),
        ("[audit.promises]\nhime = \"stored\"", "did you mean `home`?"),
        ("[audit.promises]\nhome = \"kept\"", "expected \"stored\""),
        ("[audit.promises]\nhome = { keeps = \"stored\", step = 2 }", "only a request"),
        ("[audit.numbers.n]\nget = \"/\"\n[audit.promises]\nhome = { counted = \"m\" }", "no `m`"),
        ("[audit.numbers.n]\nget = \"n\"", "begins with /"),
        ("[audit.numbers.n]\nget = \"/\"\nvalue = \"a\"", "a JSON pointer"),
        ("[audit.numbers.n]\nget = \"/\"\nnext = \"/a\"", "both `next`"),
        ("[audit.lists.l]\nget = \"/\"", "`audit.lists.l.id` is missing"),
        ("[audit.list.l]\nget = \"/\"", "did you mean `lists`?"),
        ("[variables]\na = []", "a text or a number"),
        ("[items]\nvalues = \"twiter\"", "\"twitter\", a length"),
        ("[operation.b]\nget = \"/\"\nconditional = \"yes\"", "expected true or false"),
    ] {
        let what = only(rest);
        assert!(what.contains(words), "{rest}\nsaid: {what}\nlacks: {words}");
    }
}

#[test]
fn steps_on_channels_and_of_logs_refuse_what_they_cannot_be() {
    for (steps, words) in [
        ("{ send = \"x\" }", "no step opens a WebSocket"),
        ("{ close = \"events\" }", "no step opens an event stream"),
        ("{ websocket = \"/\" }, { receive = \"mesage\" }", "got \"mesage\""),
        ("{ websocket = \"/\" }, { receive = \"message\", count = 0 }", "from 1 to 10000; got 0"),
        ("{ websocket = \"/\" }, { receive = \"message\", event = \"x\" }", "only events have"),
        (
            "{ events = \"/\" }, { receive = \"event\", expect = { status = 200 } }",
            "a message has no status",
        ),
        ("{ websocket = \"chat\" }", "a path that begins with /"),
        ("{ websocket = \"/\", send = \"x\" }", "got several"),
        ("{ websocket = \"/\", subprotocols = \"a\" }", "did you mean `subprotocol`?"),
        ("{ websocket = \"/\", subprotocol = \"a b\" }", "graphql-ws"),
        ("{ websocket = \"/\", headers = { Upgrade = \"x\" } }", "set by the load generator"),
        ("{ logged = true }", "there is no log; expected one like [load] replay"),
    ] {
        let what = only(&format!("[operation.b]\nsteps = [{steps}]"));
        assert!(what.contains(words), "{steps}\nsaid: {what}\nlacks: {words}");
    }
}

#[test]
fn lines_of_users_refuse_what_they_cannot_be() {
    for (rest, words) in [
        ("streams = 2\n[operation.b]\nsteps = [{ events = \"/\" }]", "opened over HTTP/1.1"),
        ("bandwidth = \"1 Mbit\"", "a rate like \"1 Mbit/s\""),
        ("bandwidth = { recieve = \"1 MB/s\" }", "did you mean `receive`?"),
        ("pipeline = 2\nbandwidth = \"1 MB/s\"", "needs connections of its own"),
    ] {
        let what = only(&format!("[transport]\n{rest}"));
        assert!(what.contains(words), "{rest}\nsaid: {what}\nlacks: {words}");
    }
}

#[test]
fn the_command_line_is_held_to_the_file() {
    let overrides = Overrides {
        servers: vec![(Some("wep".into()), "http://h".into()), (None, "h".into())],
        variables: vec![("usrs".into(), "1".into())],
        ..Overrides::default()
    };
    let all = read_with(&with("[variables]\nusers = 1"), &overrides).expect_err("mistakes").all;
    let all: Vec<&str> = all.iter().map(|mistake| mistake.what.as_str()).collect();
    assert_eq!(
        all,
        [
            "--server: expected a URL like http://HOST:PORT/PATH, got \"h\": put http:// in front",
            "--server: there is no server `wep`; did you mean `web`?",
            "--set: [variables] has no `usrs`; did you mean `users`?",
        ]
    );
}
