//! `sarsen run --grid`: a run for each combination of values, one after the other, and one table.

use super::{Attempt, ScenarioError, ScenarioFile, words_of_one};
use crate::bench::{Finished, exit_with};
use crate::cli::RunArguments;
use crate::exit::Exit;
use lab::grid::{Axis, Cell, Row, cells, to_json, to_text};
use lab::scenario::Scenario;

/// Runs to the end, or until one is ended before its time.
pub fn run(
    arguments: &RunArguments,
    file: &ScenarioFile,
    axes: &[Axis],
) -> Result<Finished, ScenarioError> {
    let cells = cells(axes)?;
    // All mistakes come before the first run.
    let scenarios = cells.iter().map(|cell| read(arguments, file, cell));
    let scenarios = scenarios.collect::<Result<Vec<Scenario>, _>>()?;
    if arguments.check {
        let shown = cells.iter().zip(&scenarios);
        let shown =
            shown.map(|(cell, scenario)| format!("{}\n{}", cell.name(), scenario.to_text()));
        let text = shown.collect::<Vec<_>>().join("\n");
        return Ok(Finished { text, exit: Exit::Success });
    }
    let mut rows: Vec<Row> = Vec::new();
    for (i, (cell, scenario)) in cells.iter().zip(&scenarios).enumerate() {
        if !arguments.common.quiet {
            eprintln!("cell {} of {}: {}", i + 1, cells.len(), cell.name());
        }
        let attempt = Attempt { arguments, file, words: words_of_one(cell.flags()) };
        attempt.set_up(scenario)?;
        let report = attempt.measure(scenario)?;
        attempt.tear_down(scenario)?;
        let is_ended = report.is_stopped;
        rows.push(Row { cell: cell.clone(), report });
        if is_ended {
            break;
        }
    }
    let text = match arguments.common.json {
        true => format!("{}\n", to_json(&rows)),
        false => to_text(&rows),
    };
    Ok(Finished { text, exit: worst(rows.iter().map(|row| exit_with(&row.report))) })
}

fn read(
    arguments: &RunArguments,
    file: &ScenarioFile,
    cell: &Cell,
) -> Result<Scenario, ScenarioError> {
    let mut overrides = arguments.overrides()?;
    cell.apply(&mut overrides)?;
    Ok(Scenario::read(file.source(), &overrides)?)
}

/// A failure weighs more than a run that cannot be believed.
fn worst(exits: impl Iterator<Item = Exit>) -> Exit {
    let weight = |exit: &Exit| match exit {
        Exit::Success => 0,
        Exit::Invalid => 1,
        _ => 2,
    };
    exits.max_by_key(weight).unwrap_or(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_cell_says_how_it_ends() {
        let all = [Exit::Success, Exit::Failure, Exit::Invalid];
        assert_eq!(worst(all.into_iter()), Exit::Failure);
        assert_eq!(worst([Exit::Invalid, Exit::Success].into_iter()), Exit::Invalid);
        assert_eq!(worst([].into_iter()), Exit::Success);
    }
}
