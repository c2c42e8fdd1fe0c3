//! The scenarios that ship can be run, and say of Olio's mix what is known of it.

use lab::scenario::{Overrides, Scenario, Source, shipped};

fn read(name: &str) -> Scenario {
    let found = shipped().iter().find(|scenario| scenario.name == name).unwrap();
    let source = Source { name, text: found.text, folder: None };
    Scenario::read(source, &Overrides::default()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn every_scenario_that_ships_has_its_name_and_no_mistake() {
    for scenario in shipped() {
        let read = read(scenario.name);
        assert_eq!(read.plan.name, scenario.name);
        assert!(!read.about.is_empty(), "{}", scenario.name);
        read.plan.check().unwrap();
    }
}

#[test]
fn olios_shares_and_rate_are_known_before_the_run() {
    let text = read("olio-mix").to_text();
    // reference: the stationary distribution of the published matrix, and 25 users over 4.966 s
    // (a little less for the two that have a minimum).
    for row in [
        "26.15 %  home",
        "10.22 %  login",
        "33.45 %  tag_search",
        "24.68 %  event_detail",
        " 2.61 %  person_detail",
        " 0.84 %  add_person",
        " 2.04 %  add_event",
        "mean cycle 4.967 s; at most 5.0 operations/s",
    ] {
        assert!(text.contains(row), "{text}\nlacks\n{row}");
    }
}
