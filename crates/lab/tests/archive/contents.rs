//! What is in the folder of a run.

use crate::{Site, plan};
use hdrhistogram::Histogram;
use lab::archive::{About, Spec};
use lab::plan::{Check, Distribution, HttpStep, Keeps, Pacing, Promise, Step, Template};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The rows of a table, by the names of their columns.
fn table(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        // The name of an operation is quoted; no other cell is.
        let plain = line.replace("\"other, too\"", "other_too");
        let cells: Vec<String> = plain.split(',').map(str::to_owned).collect();
        assert_eq!(cells.len(), head.len(), "{line}");
        head.iter().map(|name| (*name).to_owned()).zip(cells).collect()
    };
    lines.map(row).collect()
}

fn sum(rows: &[BTreeMap<String, String>], column: &str) -> u64 {
    rows.iter().map(|row| row[column].parse::<u64>().unwrap()).sum()
}

#[test]
fn a_run_is_kept_with_all_that_was_measured() {
    let (site, plan) = (Site::new(), plan());
    let recorded = site.record(&plan);
    let (report, folder) = (recorded.result.unwrap(), recorded.kept.unwrap());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "SHA256SUMS",
            "client.csv",
            "drain.hlog",
            "environment.json",
            "generator.csv",
            "host.csv",
            "measured.hlog",
            "operations.csv",
            "plan.json",
            "ramp-up.hlog",
            "report.json",
            "report.txt",
            "response.hgrm",
            "service.hgrm",
            "spec.json",
            "verdict.json",
        ]
    );
    for name in names {
        let mode = fs::metadata(folder.join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o444, "{name}");
    }
    assert_eq!(fs::read_to_string(folder.join("report.txt")).unwrap(), report.to_text());
    let json = fs::read_to_string(folder.join("report.json")).unwrap();
    assert_eq!(json, format!("{}\n", report.to_json()));

    let all = |tally: fn(&lab::measure::Tally) -> u64| {
        [&report.ramp_up, &report.measured, &report.drain].map(tally).iter().sum::<u64>()
    };
    let client = table(&folder.join("client.csv"));
    let seconds: Vec<u64> = client.iter().map(|row| row["second"].parse().unwrap()).collect();
    assert_eq!(seconds[..2], [0, 1]);
    assert_eq!((client[0]["phase"].as_str(), client[1]["phase"].as_str()), ("ramp-up", "measured"));
    assert_eq!(client[1]["planned_users"], "2");
    assert_eq!(sum(&client, "operations"), all(lab::measure::Tally::operations));
    assert_eq!(sum(&client, "bytes_received"), all(lab::measure::Tally::bytes_received));
    assert!(client[1]["utc"].ends_with('Z') && client[1]["utc"] > client[0]["utc"]);

    for name in ["generator.csv", "host.csv"] {
        let observed = table(&folder.join(name));
        assert!(!observed.is_empty() && observed[0].len() > 3, "{name}: {observed:?}");
    }

    let operations = table(&folder.join("operations.csv"));
    for (name, tally) in &report.operations {
        let name = name.replace(", ", "_");
        let own = |row: &&BTreeMap<String, String>| {
            row["operation"] == name && row["phase"] == "measured"
        };
        let own: Vec<_> = operations.iter().filter(own).cloned().collect();
        assert_eq!(sum(&own, "successes"), tally.successes(), "{name}");
        assert!(tally.successes() > 0);
    }
}

#[test]
fn what_an_audit_found_and_what_servers_are_is_kept() {
    let (site, mut plan) = (Site::new(), plan());
    let Step::Http(step) = &mut plan.operations[0].steps[0] else { panic!("a request") };
    step.method = "DELETE".to_owned();
    let promise = Promise { operation: 0, step: 0, keeps: Keeps::Removed };
    plan.audit.promises.push(promise);
    let recorded = site.record(&plan);
    let (report, folder) = (recorded.result.unwrap(), recorded.kept.unwrap());
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    };
    // The null server removes nothing.
    let (found, audit) = (report.audit.unwrap(), read("audit.json"));
    assert_eq!((audit["checked"].as_u64(), audit["lost"].as_u64()), (Some(1), Some(1)));
    assert_eq!(audit["faults"][0], found.faults[0]);
    let servers = read("environment.json")["servers"].clone();
    assert_eq!(servers[0]["origin"].as_str(), Some(report.servers[0].0.as_str()));
    assert_eq!(servers, read("report.json")["servers"]);
}

#[test]
fn times_by_class_of_status_add_up_to_all() {
    let (site, mut plan) = (Site::new(), plan());
    let Step::Http(step) = &mut plan.operations[1].steps[0] else { panic!("a request") };
    step.checks = vec![Check::Status(vec![404])];
    let pause = Distribution::Fixed(std::time::Duration::from_millis(2));
    plan.operations[0].pacing = Pacing::Cycle(pause);
    let recorded = site.record(&plan);
    let (report, folder) = (recorded.result.unwrap(), recorded.kept.unwrap());
    let found = merged(&folder.join("measured.hlog"));
    let count = |tag: &str| found.get(tag).map_or(0, Histogram::len);
    let [(_, hit), (_, other)] = report.operations.as_slice() else { panic!("two operations") };
    assert_eq!((count("hit:2xx"), count("hit:service")), (hit.operations(), hit.successes()));
    // They failed, and their times are kept all the same.
    assert_eq!((count("other__too:2xx"), count("other__too:service")), (other.operations(), 0));
    assert!(other.operations() > 0);
    let planned = hit.planned_cycles().unwrap().count();
    assert!(planned > 0 && count("hit:cycle-planned") == planned, "{planned}");
    assert_eq!(count("hit:cycle-actual"), hit.actual_cycles().unwrap().count());
    assert_eq!(count("other__too:cycle-planned"), 0);
    let told = &report.to_json()["operations"]["hit"]["cycle_ms"];
    assert_eq!(told["planned"]["count"].as_u64(), Some(planned));
}

/// Every line of a log, decoded as another reader would, added up by tag.
fn merged(path: &Path) -> BTreeMap<String, Histogram<u64>> {
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    let mut found: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    for entry in IntervalLogIterator::new(&fs::read(path).unwrap()) {
        let LogEntry::Interval(interval) = entry.unwrap() else { continue };
        let bytes = decoded(interval.encoded_histogram());
        let one: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        let tag = interval.tag().unwrap().to_string();
        match found.get_mut(&tag) {
            Some(sum) => sum.add(&one).unwrap(),
            None => drop(found.insert(tag, one)),
        }
    }
    found
}

/// By `base64 -d`.
fn decoded(text: &str) -> Vec<u8> {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut base64 = Command::new("base64")
        .arg("-d")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    base64.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    base64.wait_with_output().unwrap().stdout
}

#[test]
fn the_histograms_of_the_seconds_are_those_of_the_report() {
    let (site, plan) = (Site::new(), plan());
    let recorded = site.record(&plan);
    let (report, folder) = (recorded.result.unwrap(), recorded.kept.unwrap());
    let logged = merged(&folder.join("measured.hlog"));
    for (tag, (_, tally)) in ["hit", "other__too"].iter().zip(&report.operations) {
        assert_eq!(&logged[&format!("{tag}:service")], tally.service().histogram());
        assert_eq!(&logged[&format!("{tag}:response")], tally.response().histogram());
    }
    let early = merged(&folder.join("ramp-up.hlog"));
    let count: u64 =
        early.iter().filter(|(tag, _)| tag.ends_with(":service")).map(|(_, h)| h.len()).sum();
    assert_eq!(count, report.ramp_up.successes());
    let text = fs::read_to_string(folder.join("response.hgrm")).unwrap();
    let count = report.measured.response().count();
    assert!(text.contains(&format!("Total count    = {count:>12}")), "{text}");
}

#[test]
fn other_programs_check_the_sums() {
    let site = Site::new();
    let recorded = site.record(&plan());
    let id = recorded.id;
    let checked = site.shell(&format!(
        "sha256sum --strict -c {id}.sha256 && cd {id} && sha256sum --strict -c SHA256SUMS"
    ));
    assert!(checked.status.success(), "{checked:?}");
    let lines = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(lines.lines().filter(|line| line.ends_with(": OK")).count(), 16);
}

#[test]
fn no_secret_is_kept() {
    let (site, mut plan) = (Site::new(), plan());
    let Step::Http(step) = &mut plan.operations[0].steps[0] else { panic!("a request") };
    let HttpStep { headers, path, .. } = step.as_mut();
    headers.push(("Authorization".into(), Template::fixed("Bearer s3cr3t-a")));
    headers.push(("X-Session-Token".into(), Template::fixed("s3cr3t-b")));
    *path = Template::fixed("/a?access_token=s3cr3t-c&b=1");
    plan.name = "http://h/a?access_token=s3cr3t-c".into();
    let about = About {
        spec: Spec::Toml("Authorization = \"Bearer s3cr3t-a\"\n".into()),
        arguments: ["bench", "--header", "X-Session-Token: s3cr3t-b", "http://me:s3cr3t-d@h/"]
            .map(str::to_owned)
            .into(),
        ..site.about()
    };
    let folder = site.record_as(&plan, &about).kept.unwrap();
    let found = site.shell("grep -r s3cr3t . ; find . -name '*s3cr3t*'");
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    let kept = fs::read_to_string(folder.join("plan.json")).unwrap();
    assert!(kept.contains("Bearer ***") && kept.contains("access_token=***&b=1"), "{kept}");
    let spec = fs::read_to_string(folder.join("spec.toml")).unwrap();
    assert_eq!(spec, "Authorization = \"Bearer ***\"\n");
}

#[test]
fn files_of_data_are_copied() {
    let site = Site::new();
    let data = site.folder().with_file_name("names.csv");
    fs::write(&data, "a\nb\n").unwrap();
    let about = About { data: vec![data], ..site.about() };
    let folder = site.record_as(&plan(), &about).kept.unwrap();
    assert_eq!(fs::read_to_string(folder.join("data/names.csv")).unwrap(), "a\nb\n");
    let listed = fs::read_to_string(folder.join("data.json")).unwrap();
    assert!(listed.contains("names.csv") && listed.contains("\"copied\": true"), "{listed}");
    let run = site.runs().list().unwrap().remove(0);
    assert_eq!(site.runs().verify(&run).unwrap(), Vec::<String>::new());
}
