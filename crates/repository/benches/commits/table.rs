//! The results as text: the table of `docs/performance.md`, and every round for other programs.

use crate::cases::Case;
use repository::Durability;
use std::time::Duration;

/// A case and what its rounds gave.
pub struct Row {
    case: Case,
    pub rounds: Vec<Round>,
}

/// One round of a case.
pub struct Round {
    pub per_second: f64,
    /// User and system time of the whole process for each transaction, in microseconds.
    pub cpu_us: f64,
    /// Tries that lost, for each 1,000 transactions.
    pub aborts: f64,
    /// Tries that were refused because the repository was overloaded.
    pub refused: u64,
}

impl Row {
    pub fn new(case: Case) -> Self {
        Self { case, rounds: Vec::new() }
    }

    /// The median, the lowest and the highest of what `read` finds.
    fn spread(&self, read: fn(&Round) -> f64) -> [f64; 3] {
        let mut values: Vec<f64> = self.rounds.iter().map(read).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        [median, values[0], values[values.len() - 1]]
    }
}

/// Markdown.
pub fn render(rows: &[Row], duration: Duration) -> String {
    let rounds = rows.first().map_or(0, |row| row.rounds.len());
    let mut text = format!(
        "Documents of about 300 bytes. Medians of {rounds} interleaved rounds of {:.1} s, lowest \
         and highest in brackets; CPU time is that of the whole process for each transaction; \
         aborts are for each 1,000 transactions.\n\n\
         | what | durability | outstanding | per second | CPU µs | aborts |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        duration.as_secs_f64()
    );
    for row in rows {
        let Case { name, durability, outstanding, .. } = row.case;
        let rate = cell(row.spread(|round| round.per_second), 0);
        let cpu = cell(row.spread(|round| round.cpu_us), 2);
        let aborts = cell(row.spread(|round| round.aborts), 1);
        let durability = word(durability);
        text += &format!("| {name} | {durability} | {outstanding} | {rate} | {cpu} | {aborts} |\n");
    }
    let refused: u64 = rows.iter().flat_map(|row| &row.rounds).map(|round| round.refused).sum();
    text + &format!("\nRefused as overloaded, and tried again after 1 ms: {refused}.\n")
}

pub fn csv(rows: &[Row]) -> String {
    let mut text =
        String::from("what,durability,outstanding,round,per_second,cpu_us,aborts,refused\n");
    for row in rows {
        let Case { name, durability, outstanding, .. } = row.case;
        for (i, Round { per_second, cpu_us, aborts, refused }) in row.rounds.iter().enumerate() {
            let durability = word(durability);
            let figures = format!("{per_second:.1},{cpu_us:.3},{aborts:.2},{refused}");
            text += &format!("\"{name}\",{durability},{outstanding},{i},{figures}\n");
        }
    }
    text
}

fn word(durability: Durability) -> &'static str {
    match durability {
        Durability::Synced => "synced",
        Durability::Written => "written",
        Durability::Volatile => "volatile",
    }
}

/// The lowest and highest are left out where they say the same.
fn cell([median, lowest, highest]: [f64; 3], digits: usize) -> String {
    let number = |value: f64| format!("{value:.digits$}");
    match number(lowest) == number(highest) {
        true => number(median),
        false => format!("{} ({}–{})", number(median), number(lowest), number(highest)),
    }
}
