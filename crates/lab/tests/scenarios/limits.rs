//! Scenarios that are as large as they may be are read and run; one more of anything is a mistake.

use super::read;
use lab::engine::{Watch, run};
use lab::limits::{
    LETTERS_MAX, PARALLEL_MAX, SCENARIO_BYTES_MAX, SCENARIO_OPERATIONS_MAX, SCENARIO_STEPS_MAX,
    VARIABLES_MAX,
};
use lab::measure::Interval;
use lab::null::{Law, NullServer, Options};
use lab::progress::Tick;
use lab::report::Report;

struct Nobody;

impl Watch for Nobody {
    fn tick(&mut self, _: &Tick) {}
    fn second(&mut self, _: &Interval) {}
}

fn server() -> String {
    let any = "127.0.0.1:0".parse().unwrap();
    let options = Options { law: Law::None, body_bytes: 10, stall: None };
    let server = NullServer::bind(any, options).unwrap();
    let url = format!("http://{}/", server.local_addr().unwrap());
    std::thread::spawn(move || server.serve());
    url
}

/// So many operations of so many requests each, one after the other, with so many variables that
/// each request sends, and keeps.
fn large(url: &str, operations: usize, steps: usize, variables: usize) -> String {
    let mut text = format!(
        "[servers]\nnull = \"{url}\"\n[load]\nusers = 1\nwarm_up = \"0s\"\nduration = \"100s\"\n\
         operations = {operations}\n[variables]\n"
    );
    for number in 0..variables {
        text.push_str(&format!("v{number} = \"{number}\"\n"));
    }
    let names: Vec<String> = (0..operations).map(|number| format!("\"o{number}\"")).collect();
    text.push_str(&format!("[mix]\nsequence = [{}]\n", names.join(", ")));
    for number in 0..operations {
        text.push_str(&format!("[operation.o{number}]\nsteps = [\n"));
        for step in 0..steps {
            let variable = (number + step) % variables;
            text.push_str(&format!(
                "{{ get = \"/{{v{variable}}}\", extract = {{ v{variable} = {{ body = true }} }}, \
                 expect = {{ status = 200, bytes = 10 }} }},\n"
            ));
        }
        text.push_str("]\n");
    }
    text
}

#[test]
fn the_largest_scenario_runs() {
    let url = server();
    let text = large(&url, SCENARIO_OPERATIONS_MAX, 20, VARIABLES_MAX);
    assert!(text.len() < SCENARIO_BYTES_MAX, "{}", text.len());
    let plan = read(&text).unwrap_or_else(|mistakes| panic!("{mistakes}")).plan;
    assert_eq!(plan.operations.len(), SCENARIO_OPERATIONS_MAX);
    let report = Report::new(&plan, &run(&plan, &mut Nobody).unwrap());
    assert_eq!(report.measured.errors().to_string(), "");
    // Each of them once.
    assert_eq!(report.operations.len(), SCENARIO_OPERATIONS_MAX);
    for (name, tally) in &report.operations {
        assert_eq!(tally.successes(), 1, "{name}");
    }
    let replies = 20 * SCENARIO_OPERATIONS_MAX as u64;
    assert_eq!(report.measured.statuses().count(200), replies);
}

#[test]
fn the_longest_operation_runs() {
    let url = server();
    let text = large(&url, 1, SCENARIO_STEPS_MAX, 1);
    let plan = read(&text).unwrap().plan;
    let report = Report::new(&plan, &run(&plan, &mut Nobody).unwrap());
    assert_eq!(report.measured.errors().to_string(), "");
    assert_eq!(report.measured.statuses().count(200), SCENARIO_STEPS_MAX as u64);
}

#[test]
fn as_many_requests_at_once_as_there_may_be() {
    let url = server();
    let request = "{ get = \"/\" }, ";
    let with = |count: usize| {
        format!(
            "[servers]\nnull = \"{url}\"\n[load]\nusers = 1\nwarm_up = \"0s\"\n\
             duration = \"100s\"\noperations = 3\n[operation.all]\n\
             steps = [{{ parallel = [{}] }}]\n",
            request.repeat(count)
        )
    };
    let plan = read(&with(PARALLEL_MAX)).unwrap().plan;
    let report = Report::new(&plan, &run(&plan, &mut Nobody).unwrap());
    assert_eq!(report.measured.errors().to_string(), "");
    assert_eq!(report.measured.statuses().count(200), 3 * PARALLEL_MAX as u64);
    assert_eq!(report.connections, PARALLEL_MAX as u64);
    let said = read(&with(PARALLEL_MAX + 1)).unwrap_err().to_string();
    assert!(said.contains(&format!("expected 1 to {PARALLEL_MAX} requests")), "{said}");
}

#[test]
fn one_more_is_a_mistake() {
    let url = "http://127.0.0.1:1";
    for (text, words) in [
        (large(url, SCENARIO_OPERATIONS_MAX + 1, 1, 1), "there are at most 100 operations"),
        (large(url, 1, SCENARIO_STEPS_MAX + 1, 1), "expected 1 to 100 steps; got 101"),
        (large(url, 1, 1, VARIABLES_MAX + 1), "there are at most 100 variables"),
        (" ".repeat(SCENARIO_BYTES_MAX + 1), "it has more than 1048576 bytes"),
        (
            large(url, 1, 1, 1).replace("/{v0}", &format!("/{{letters:{}}}", LETTERS_MAX + 1)),
            "{letters:COUNT}",
        ),
    ] {
        let said = read(&text).unwrap_err().to_string();
        assert!(said.contains(words), "{said}\nlacks\n{words}");
    }
}
