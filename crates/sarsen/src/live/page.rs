//! How a run stands, as text: a page for a screen, and one line. What is not known is a dash.

use super::chart;
use super::figures::{Figures, Target};
use lab::engine::Phase;
use lab::measure::{ErrorClass, Latency};
use lab::progress::Tick;

/// Columns and lines of the chart.
const CHART: (usize, usize) = (66, 4);

/// A page of at most 80 columns.
pub fn lines(figures: &Figures) -> Vec<String> {
    let Some(tick) = figures.tick else { return Vec::new() };
    let (now, measured) = (figures.now(), figures.measured());
    let mut lines = vec![
        format!("{}   ({})", figures.name, figures.model()),
        progress(&tick),
        String::new(),
        rate(figures, &tick, measured.successes()),
        format!(
            "errors     {} so far, {} in the last second",
            figures.all().errors().total(),
            now.errors().total()
        ),
        mix(figures),
        generator(figures, &tick),
        String::new(),
        format!("{:18} {:>12} {:>12}", "", "p50", "p99"),
        latency("service    now", now.service()),
        latency("           so far", measured.service()),
        latency("response   now", now.response()),
        latency("           so far", measured.response()),
        String::new(),
    ];
    let most = figures.rates.iter().copied().fold(0.0, f64::max);
    let (width, height) = CHART;
    for (i, line) in chart::draw(&figures.rates, width, height).into_iter().enumerate() {
        let label = match i {
            0 => format!("{most:.0}/s"),
            _ if i + 1 == height => "0/s".to_owned(),
            _ => String::new(),
        };
        lines.push(format!("{label:>12} {line}"));
    }
    lines.extend(errors(figures));
    lines
}

/// The same in a line, for where no page can be shown.
pub fn line(figures: &Figures) -> String {
    let Some(tick) = figures.tick else { return String::new() };
    let now = figures.now();
    let p99 = now.response().percentile_ms(0.99).map(|ms| format!(", p99 {ms:.1} ms"));
    format!(
        "{:.0} of {:.0} s, {}: {:.0} req/s{}, {} errors",
        tick.elapsed.as_secs_f64(),
        tick.planned.as_secs_f64(),
        phase(tick.phase),
        tick.requests_per_second,
        p99.unwrap_or_default(),
        tick.errors
    )
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::RampUp => "ramp-up",
        Phase::Measured => "measuring",
        Phase::Drain => "waiting for the last replies",
    }
}

fn progress(tick: &Tick) -> String {
    let (elapsed, planned) = (tick.elapsed.as_secs_f64(), tick.planned.as_secs_f64());
    let left = (planned - elapsed).max(0.0);
    format!("{}: {elapsed:.0} of {planned:.0} s, {left:.0} s left", phase(tick.phase))
}

fn rate(figures: &Figures, tick: &Tick, successes: u64) -> String {
    let target = match figures.target() {
        Target::Rate(rate) => format!("target {rate:.0}/s"),
        Target::Users(users) => format!("{users:.0} users"),
        Target::Recorded => "recorded arrivals".to_owned(),
    };
    format!(
        "rate       {:.0}/s now, {target}, {:.1} in flight, {successes} measured so far",
        tick.requests_per_second,
        figures.in_flight()
    )
}

fn mix(figures: &Figures) -> String {
    match figures.drift() {
        Some((name, share, planned)) => {
            let name: String = name.chars().take(24).collect();
            let points = (share - planned) * 100.0;
            format!(
                "mix        {name} is {:.1} % of all, planned are {:.1} % ({points:+.1} points)",
                share * 100.0,
                planned * 100.0
            )
        }
        None => "mix        one operation".to_owned(),
    }
}

fn generator(figures: &Figures, tick: &Tick) -> String {
    let cores = tick.generator_cores.map_or("-".to_owned(), |cores| format!("{cores:.2}"));
    let threads = figures.threads;
    let lag = figures.send_lag_ms().map_or("-".to_owned(), |ms| format!("{ms:.3} ms"));
    format!(
        "generator  {cores} cores for {threads} threads, send lag p99 {lag}, {} dropped",
        figures.dropped()
    )
}

fn latency(label: &str, latency: &Latency) -> String {
    let cell = |quantile| match latency.percentile_ms(quantile) {
        Some(ms) => format!("{ms:.3} ms"),
        None => "-".to_owned(),
    };
    format!("{label:18} {:>12} {:>12}", cell(0.5), cell(0.99))
}

/// The first error of each class, in words.
fn errors(figures: &Figures) -> Vec<String> {
    let all = figures.all();
    let errors = all.errors();
    let line = |class: ErrorClass| {
        let first = errors.first(class)?;
        Some(format!("{}: {} (first: {first})", class.name(), errors.count(class)))
    };
    ErrorClass::ALL.into_iter().filter_map(line).collect()
}
