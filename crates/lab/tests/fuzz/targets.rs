//! What each target does with the bytes that it is given: what servers answer, and the files of
//! users. A mistake is a panic. `docs/fuzzing.md` says how to run them.

use crate::target::{SEPARATOR, Target};
use lab::fuzzing;
use lab::observe::{Exposition, Sample};
use lab::scenario::{Overrides, Scenario, Source};
use lab::siege::urls::{self, Content, Entry};
use lab::target::Target as Url;
use serde_json::Value;

pub const TARGETS: &[Target] = &[
    Target {
        name: "lab-json",
        run: json,
        seeds: &[
            b"/a/0/b~1c\xff{\"a\": [{\"b/c\": \"x\\n\\ud83d\\ude00\"}, -1.5e3], \"a\": null}",
            b"$.items[*]['a b'].*\xff{\"items\":[{\"a b\":{\"x\":[1,[2]],\"y\":{}}},true,{}]}",
            b"/\xff {\"\":\"\"} ",
            b"$[2]\xff[[\"]\"],{\"}\":1},\"\\\"\"]",
        ],
    },
    Target {
        name: "siege-urls",
        run: siege_urls,
        seeds: &[
            b"# x\nHOST=a.b\n$(HOST)/c?d=1\nhttp://${HOST}:81/ POST a=1&b=2\n$HOST/e PUT <f.jpg\n",
            b"www.example.com\nhttp://[::1]:8080/\\$x DELETE\nhttps://a/\xc3\xbc HEAD\n",
            b"ftp://a/\nhttp://a/ POTS\n$(NOBODY)/\n$(OPEN\n=\nhttp://:1/\n",
        ],
    },
    Target {
        name: "lab-page",
        run: page,
        seeds: &[
            b"ul.a > li:nth-child(2n+1) [href^='/x'], p ~ b\xff<ul class=a><li><a href=/x>1</a>\
              <li>2</ul><p>x<b>y</b><p>",
            b"*\xff<!DOCTYPE html><base href=/a/><link rel=stylesheet href=b.css><img src=c>\
              <table><td><b></table>x<template><p></template><svg><p>",
            b"td:not(.x):last-child + td\xff<table><tr><td class=x>1<td>2</table>",
        ],
    },
    Target {
        name: "lab-atompub",
        run: atompub,
        seeds: &[
            b"<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/a/'><link rel='next' href='?b'/>\
              <entry><id>x</id><title>t</title><link rel='edit' href='c'/><content>d</content>\
              <m:made xmlns:m='tag:lab.example,2026:made' run='1' worker='2' seq='3'/>\
              <e:edited xmlns:e='http://www.w3.org/2007/app'>2026-01-01T00:00:00Z</e:edited>\
              </entry></feed>",
            b"<a:service xmlns:a='http://www.w3.org/2007/app'><a:workspace><a:collection href='b'>\
              <a:accept>image/*</a:accept></a:collection><a:collection xml:base='/c/' href='d'/>\
              </a:workspace></a:service>",
        ],
    },
    Target {
        name: "lab-reference",
        run: reference,
        seeds: &[
            b"/a/b?c\xff../d/./e?f/../g#h",
            b"/\xffhttp://b:81/x/..",
            b"/a\xff//b:81?x",
            b"/a b\xff?\r\nx",
        ],
    },
    Target {
        name: "lab-metrics",
        run: metrics,
        seeds: &[
            b"# TYPE a counter\na_total{b=\"}\\\"\",c=\"d\"} 7 1.5 # {e=\"f\"} 1\n# EOF\n",
            b"a_bucket{le=\"+Inf\"} 3\r\na_sum -1.5e3\nx:y NaN\nz\t-Inf 1395066363000\n\n",
            b"# HELP a b\n# TYPE a histogram\n# UNIT a s\na_count 0\na_created 1",
        ],
    },
    Target {
        name: "lab-csv",
        run: csv,
        seeds: &[b"a,b\r\n\"x,\"\"y\",\r\n\r\n1,2", b"\xEF\xBB\xBFa\n\"1\n2\"\n3\n", b"a,,b\n,,"],
    },
    Target {
        name: "lab-access-log",
        run: access_log,
        seeds: &[
            b"::1 - - [22/Nov/2026:04:00:01 +0000] \"GET /a?b HTTP/1.1\" 200 6 \"-\" \"c\"\n\
              ::1 - A [x] [22/Nov/2026:04:00:00 -0130] \"HEAD /\\xe4\\\"# HTTP/1.0\" 404 -\n",
            b"x\n[22/Nov/2026:04:00:01 +0000] \"\\x16\" 400 0\n\n\
              a - - [22/Nov/2026:04:00:01 +0000] \
              \"GET http://h:80/x?y\" 200 1\r\n",
        ],
    },
    Target {
    name: "lab-reply",
    run: reply,
    seeds: &[
        b"\x05HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 204 No Content\r\n\r\n",
        b"\x01HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2;x=\"y\"\r\nab\r\n0\r\nA: b\r\n\
          \r\nHTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n",
        b"\x83HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 500 Bad\r\n\
          Content-Length: 1, 1\r\nConnection: x, close\r\nSet-Cookie: a=b; Max-Age=5\r\n\r\n!",
        b"\x10HTTP/1.0 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: a=; max-age=-1\r\n\r\nto the end",
        b"\x02HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\
          \r\n\r\nok",
        b"\x07HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
    ],
},
    Target {
    name: "scenario",
    run: scenario,
    seeds: &[
        b"keys=5\n[servers]\na=\"http://h/b\"\n[variables]\nu=3\nt=\"x{u}\"\n[load]\n\
          users=\"{u}\"\nthink={exponential=\"5s\",min=\"1s\"}\n[mix]\nweights={a=9,b=1}\n\
          [operation.a]\n\
          get=\"/{key}/{t}\"\n[operation.b]\nsteps=[{post=\"/\",form={a=\"{nonce}\"}},\
          {pause=\"1ms\"}]\n",
        b"[servers]\na=\"https://[::1]:8\"\n[load]\n\
          rate=[{from=0,to=9,for=\"2s\"},{to=3,for=\"1m\"}]\nat_once=7\n\
          arrivals=\"even\"\n[mix.markov]\na={a=50,b=50}\nb=[100,0]\n[operation]\n\
          a={get=\"/\",cycle={log_normal=\"1s\",sigma=0.5}}\n\
          b={put=\"/{random:1-6}\",body=\"\\\\{\"}\n",
        b"[servers]\na=\"http://h\"\n[load]\nusers=2\nrepetitions=3\n[operation.a]\n\
          steps=[{websocket=\"/{key}\",subprotocol=\"a\"},{send=\"{nonce}\",binary=true},\
          {receive=\"message\",containing=\"{nonce}\",count=2,timeout=\"1s\",\
          extract={x={body=true}}},{close=\"websocket\"},{events=\"/{x}\"},\
          {receive=\"event\",event=\"e\",expect={contains=\"y\"}}]\n",
        b"[servers]\na=\"http://h\"\n[load]\nusers=2\noperations=9\n[mix]\nsequences=[{weight=2,\
          of=[\"a\"]}]\n[operation.a]\nget=\"/\"\n[operation.c]\nget=\"/{letters:3}\"\n\
          [background]\nc={every=\"1s\"}\n[[setup]]\noperation=\"a\"\ntimes=3\n[gates]\n\
          errors_percent=1\n[gates.latency]\nall={p99_9=\"1s\"}\n[validity]\ndrift=0.5\n",
    ],
    },
];

fn parts(input: &[u8]) -> Option<(&str, &[u8])> {
    let end = input.iter().position(|&byte| byte == SEPARATOR)?;
    Some((std::str::from_utf8(&input[..end]).ok()?, &input[end + 1..]))
}

/// Where a tree can be made, a pointer leads to what it leads to there, and every value is one.
fn json(input: &[u8]) {
    let Some((path, text)) = parts(input) else { return };
    let Some(found) = fuzzing::json(path, text) else { return };
    let Ok(tree) = serde_json::from_slice::<Value>(text) else {
        let values = found.unwrap_or_default();
        assert!(values.iter().all(|value| !value.is_empty()));
        return;
    };
    let found = found.unwrap_or_else(|at| panic!("byte {at} of JSON is refused"));
    for value in &found {
        serde_json::from_slice::<Value>(value).unwrap();
    }
    // Of several members of one name the tree has the last one.
    if !path.starts_with('$') && members(text) == count(&tree) {
        let expected = tree.pointer(path).cloned();
        let got = found.first().map(|value| serde_json::from_slice::<Value>(value).unwrap());
        assert_eq!(got, expected);
        assert!(found.len() <= 1);
    }
}

/// Colons outside strings: one for each member.
fn members(text: &[u8]) -> usize {
    let (mut in_string, mut escaped, mut count) = (false, false, 0);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

fn count(tree: &Value) -> usize {
    match tree {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(|member| 1 + count(member)).sum(),
        _ => 0,
    }
}

/// Any page can be looked through; every page has an element; parts are in the page's text.
fn page(input: &[u8]) {
    let Some((selector, page)) = parts(input) else { return };
    fuzzing::page(selector, None, page);
    fuzzing::page(selector, Some("href"), page);
    assert!(fuzzing::page("html", None, page).flatten().is_some());
    assert!(fuzzing::parts(page).iter().all(|reference| !reference.trim().is_empty()));
}

/// What a page and the places in it say is the same.
fn atompub(input: &[u8]) {
    let [entries, media, members, next] = fuzzing::addresses(input);
    assert_eq!(entries.is_some(), media.is_some());
    let Some((edits, follows)) = fuzzing::collection(input) else { return };
    assert_eq!(members, Some(edits));
    assert!(follows.is_none_or(|follows| next.is_some_and(|next| next.contains(&follows))));
}

/// Every path can be sent, and is read again from a line with it.
fn access_log(input: &[u8]) {
    let methods = ["GET", "HEAD"];
    let Ok(requests) = fuzzing::access_log(input, &methods) else { return };
    for (method, path) in requests {
        assert!(methods.contains(&method.as_str()));
        assert!(path.starts_with(b"/") && path.iter().all(u8::is_ascii_graphic));
        let escaped: Vec<u8> = path
            .iter()
            .flat_map(|byte| match byte {
                b'"' | b'\\' => vec![b'\\', *byte],
                byte => vec![*byte],
            })
            .collect();
        let begin = format!("h - - [22/Nov/2026:04:00:01 +0000] \"{method} ");
        let line = [begin.as_bytes(), &escaped, b" HTTP/1.1\" 200 5\n"].concat();
        assert_eq!(fuzzing::access_log(&line, &methods).unwrap(), [(method, path)]);
    }
}

/// What was read is read again from what it is, written out; a mistake has a line of the file.
fn siege_urls(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let lines = text.lines().count();
    match urls::read(&text, &|_| None) {
        Ok(entries) => {
            let again: String = entries.iter().map(written).collect();
            let read = urls::read(&again, &|_| None).unwrap();
            let shown = |entries: &[Entry]| entries.iter().map(written).collect::<Vec<String>>();
            assert_eq!(shown(&read), shown(&entries));
        }
        Err(mistakes) => assert!(mistakes.iter().all(|mistake| mistake.line <= lines)),
    }
}

/// A line of the file, with nothing left to be filled in.
fn written(entry: &Entry) -> String {
    let body = match &entry.body {
        Content::None => String::new(),
        Content::Text(text) => text.clone(),
        Content::File(path) => format!("<{path}"),
    };
    let line = format!("{} {} {body}", entry.target, entry.method);
    format!("{}\n", line.replace('$', "\\$"))
}

/// A path is one that can be sent, and leads to itself.
fn reference(input: &[u8]) {
    let Some((base, reference)) = parts(input) else { return };
    if !base.starts_with('/') || !base.bytes().all(|byte| byte.is_ascii_graphic()) {
        return;
    }
    let origins = ["http://a/", "http://b:81/"].map(|url| url.parse::<Url>().unwrap().origin());
    let Some((server, path)) = fuzzing::reference(&origins, base.as_bytes(), reference) else {
        return;
    };
    assert!(server < 2 && path.starts_with(b"/"));
    assert!(path.iter().all(u8::is_ascii_graphic));
}

/// What was read is read again from what it is when every cell is quoted.
fn csv(input: &[u8]) {
    let Ok(rows) = fuzzing::csv(input) else { return };
    let columns = rows[0].len();
    assert!(rows.iter().all(|row| row.len() == columns));
    let names: Vec<Vec<u8>> = (0..columns).map(|i| i.to_string().into_bytes()).collect();
    let mut text = Vec::new();
    for row in [&names].into_iter().chain(&rows) {
        for (i, cell) in row.iter().enumerate() {
            text.extend_from_slice(if i == 0 { b"\"" } else { b",\"" });
            cell.iter().for_each(|byte| match byte {
                b'"' => text.extend_from_slice(b"\"\""),
                byte => text.push(*byte),
            });
            text.push(b'"');
        }
        text.extend_from_slice(b"\r\n");
    }
    assert_eq!(fuzzing::csv(&text), Ok(rows));
}

/// The first byte says in which pieces the rest comes, and whether the requests were HEAD.
fn reply(input: &[u8]) {
    let Some((first, stream)) = input.split_first() else { return };
    let (piece, is_head) = (usize::from(first & 0x7f), first & 0x80 != 0);
    let whole = fuzzing::read_replies(stream, stream.len(), is_head, true);
    let pieces = fuzzing::read_replies(stream, piece, is_head, true);
    assert_eq!(whole, pieces, "in pieces of {piece}");
    // Whoever keeps nothing may pass over heads that are known.
    let passed_over = fuzzing::read_replies(stream, piece, is_head, false);
    assert_eq!((&whole.read, whole.is_refused), (&passed_over.read, passed_over.is_refused));
    assert_eq!((whole.may_close, whole.cookies), (passed_over.may_close, passed_over.cookies));
    for ((status, _, length), body) in whole.read.iter().zip(&whole.bodies) {
        assert!((200..600).contains(status), "{status}");
        assert!(*length <= stream.len() as u64, "{length}");
        assert_eq!(body.len() as u64, *length);
    }
}

/// A page of metrics says the same when its samples are written again.
fn metrics(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(page) = Exposition::parse(text) else { return };
    let line = |sample: &Sample<'_>| {
        let labels = match sample.labels {
            "" => String::new(),
            labels => format!("{{{labels}}}"),
        };
        format!("{}{labels} {}\n", sample.name, sample.value)
    };
    let written: String = page.samples.iter().map(line).collect();
    let again = Exposition::parse(&written).unwrap_or_else(|error| panic!("{error}"));
    let rewritten: String = again.samples.iter().map(line).collect();
    assert_eq!(written, rewritten);
    for sample in &page.samples {
        // One of its samples is the first of its kind, and its sum has that in it.
        assert!(page.sum(sample.name).is_some());
        assert!(page.value(sample.name, sample.labels).is_some());
        let _any = page.is_counter(sample.name);
    }
}

/// A mistake has a place in the file; what has none can be run.
fn scenario(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let source = Source { name: "fuzz.toml", text: &text, folder: None };
    match Scenario::read(source, &Overrides::default()) {
        Ok(scenario) => {
            scenario.plan.check().expect("what was read can be run");
            for hook in scenario.setup.iter().chain(&scenario.teardown) {
                hook.plan.check().expect("what comes around it, too");
            }
            assert!(!scenario.to_text().is_empty());
        }
        Err(mistakes) => {
            assert!(!mistakes.all.is_empty());
            let lines = text.split('\n').count();
            for mistake in &mistakes.all {
                let (line, column) = mistake.place.unwrap_or((1, 1));
                let content = text.split('\n').nth(line - 1).unwrap_or_default();
                assert!(line <= lines && column <= content.chars().count() + 1, "{mistake:?}");
            }
        }
    }
}
