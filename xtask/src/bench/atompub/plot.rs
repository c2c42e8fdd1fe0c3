//! A chart of cost by size, both in powers of ten, as SVG.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 20.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 50.0;

/// Powers of ten that are shown: entries, and microseconds.
const X: (i32, i32) = (3, 6);
const Y: (i32, i32) = (0, 6);

const COLOURS: [&str; 3] = ["#0b6e4f", "#b4472f", "#3b4f8a"];

/// A line for each name, in the order in which they come.
pub fn render(points: &[(&str, u64, f64)]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    for power in Y.0..=Y.1 {
        let y = at_y(f64::from(power));
        line(&mut svg, (LEFT, y), (WIDTH - RIGHT, y));
        text(&mut svg, (LEFT - 6.0, y + 4.0), "end", &format!("10^{power}"));
    }
    for power in X.0..=X.1 {
        let x = at_x(f64::from(power));
        line(&mut svg, (x, TOP), (x, HEIGHT - BOTTOM));
        text(&mut svg, (x, HEIGHT - BOTTOM + 16.0), "middle", &format!("10^{power}"));
    }
    text(&mut svg, (WIDTH / 2.0, HEIGHT - 12.0), "middle", "entries of the publication");
    text(&mut svg, (LEFT, TOP - 6.0), "start", "CPU µs of the server for a GET of the feed");
    let mut names: Vec<&str> = points.iter().map(|(name, _, _)| *name).collect();
    names.dedup();
    for (number, name) in names.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let its = points.iter().filter(|(other, _, _)| other == name);
        let places: Vec<String> = its
            .map(|(_, entries, cost)| {
                let (x, y) = (at_x((*entries as f64).log10()), at_y(cost.max(1.0).log10()));
                format!("{x:.1},{y:.1}")
            })
            .collect();
        let _a_string_takes_all = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>",
            places.join(" "),
            LEFT + 10.0,
            TOP + 16.0 * (number as f64 + 1.0)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn at_x(power: f64) -> f64 {
    let share = (power - f64::from(X.0)) / f64::from(X.1 - X.0);
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn at_y(power: f64) -> f64 {
    let share = (power - f64::from(Y.0)) / f64::from(Y.1 - Y.0);
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _a_string_takes_all = writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#ddd\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, text: &str) {
    let _a_string_takes_all = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>",
        at.0, at.1
    );
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn each_side_has_its_line() {
        let svg = render(&[("a", 1_000, 10.0), ("a", 10_000, 10.0), ("b", 1_000, 100.0)]);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("points=\"70.0,261.7 253.3,261.7\""), "{svg}");
    }
}
