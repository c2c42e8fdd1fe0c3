//! Results as a picture: panels of lines in one SVG file, readable on light and dark pages.

use std::fmt::Write;

/// Pixels of a panel, and inside it around the plotted area.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 30.0;

/// Pixels above the panels.
const HEAD: f64 = 34.0;

/// Colours are those of the Okabe-Ito palette, darker on light pages.
const STYLE: &str = "\
<style>
text { font: 11px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.name { font-weight: 600 }
.page { fill: #ffffff }
.grid { stroke: #d8dee4; stroke-width: 1 }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round }
.s0 { stroke: #0072b2 } .s1 { stroke: #d55e00 } .s2 { stroke: #00795a } .s3 { stroke: #a3498b }
text.s0, circle.s0 { fill: #0072b2; stroke: none }
text.s1, circle.s1 { fill: #d55e00; stroke: none }
text.s2, circle.s2 { fill: #00795a; stroke: none }
text.s3, circle.s3 { fill: #a3498b; stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.page { fill: #0d1117 }
.grid { stroke: #30363d }
.s0 { stroke: #56b4e9 } .s1 { stroke: #ff9d5c } .s2 { stroke: #3ddba8 } .s3 { stroke: #e39ccb }
text.s0, circle.s0 { fill: #56b4e9 } text.s1, circle.s1 { fill: #ff9d5c }
text.s2, circle.s2 { fill: #3ddba8 } text.s3, circle.s3 { fill: #e39ccb }
}
</style>
";

/// How values are spread along an axis.
#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    /// From 0 on.
    Linear,
    /// Values above 0.
    Log,
}

/// Named points that are joined.
pub struct Line {
    pub name: &'static str,
    pub points: Vec<(f64, f64)>,
}

/// One diagram, in which at most four lines can be told apart.
pub struct Panel {
    pub name: &'static str,
    pub x: Scale,
    pub y: Scale,
    pub lines: Vec<Line>,
}

/// The whole picture, so many panels side by side.
pub fn render(title: &str, panels: &[Panel], columns: usize) -> String {
    let rows = panels.len().div_ceil(columns);
    let (width, height) = (WIDTH * columns as f64, HEAD + HEIGHT * rows as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{title}</title>\n{STYLE}\
         <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"{LEFT}\" y=\"22\">{title}</text>\n"
    );
    for (i, panel) in panels.iter().enumerate() {
        let (x, y) = ((i % columns) as f64 * WIDTH, HEAD + (i / columns) as f64 * HEIGHT);
        writeln!(svg, "<g transform=\"translate({x} {y})\">").unwrap();
        panel.render(&mut svg);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

impl Panel {
    fn render(&self, svg: &mut String) {
        let points = |of: fn(&(f64, f64)) -> f64| {
            let all = self.lines.iter().flat_map(|line| &line.points);
            all.map(of).collect::<Vec<f64>>()
        };
        let x = Axis::over(self.x, &points(|p| p.0), (LEFT, WIDTH - RIGHT));
        let y = Axis::over(self.y, &points(|p| p.1), (HEIGHT - BOTTOM, TOP));
        writeln!(svg, "<text class=\"name\" x=\"{LEFT}\" y=\"13\">{}</text>", self.name).unwrap();
        self.render_names(svg);
        for tick in x.ticks() {
            let (at, label, end) = (x.place(tick), short(tick), HEIGHT - BOTTOM);
            let text_at = end + 15.0;
            writeln!(svg, "<path class=\"grid\" d=\"M{at:.1} {TOP}V{end}\"/>").unwrap();
            let anchor = "text-anchor=\"middle\"";
            writeln!(svg, "<text x=\"{at:.1}\" y=\"{text_at}\" {anchor}>{label}</text>").unwrap();
        }
        for tick in y.ticks() {
            let (at, label, end) = (y.place(tick), short(tick), WIDTH - RIGHT);
            let (text_x, text_y) = (LEFT - 6.0, at + 4.0);
            writeln!(svg, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{end}\"/>").unwrap();
            let anchor = "text-anchor=\"end\"";
            writeln!(svg, "<text x=\"{text_x}\" y=\"{text_y:.1}\" {anchor}>{label}</text>")
                .unwrap();
        }
        for (i, line) in self.lines.iter().enumerate() {
            line.render(i, (&x, &y), svg);
        }
    }

    /// Names the lines in their colours, where there are several.
    fn render_names(&self, svg: &mut String) {
        if self.lines.len() < 2 {
            return;
        }
        let mut at = LEFT;
        for (i, line) in self.lines.iter().enumerate() {
            writeln!(svg, "<text class=\"s{i}\" x=\"{at}\" y=\"27\">{}</text>", line.name).unwrap();
            at += 12.0 + 6.2 * line.name.chars().count() as f64;
        }
    }
}

impl Line {
    fn render(&self, i: usize, (x, y): (&Axis, &Axis), svg: &mut String) {
        let can_show = |p: &&(f64, f64)| x.can_show(p.0) && y.can_show(p.1);
        let places = self.points.iter().filter(can_show).map(|p| (x.place(p.0), y.place(p.1)));
        let places: Vec<(f64, f64)> = places.collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        if path.is_empty() {
            return;
        }
        writeln!(svg, "<path class=\"line s{i}\" d=\"M{}\"/>", path.join("L")).unwrap();
        // Few points are results of their own, many are a course.
        if places.len() <= 20 {
            for (x, y) in places {
                writeln!(svg, "<circle class=\"s{i}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>")
                    .unwrap();
            }
        }
    }
}

/// Where values are, in pixels.
struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    pixels: (f64, f64),
}

impl Axis {
    fn over(scale: Scale, values: &[f64], pixels: (f64, f64)) -> Self {
        let is_shown = |v: &&f64| v.is_finite() && (scale == Scale::Linear || **v > 0.0);
        let shown = || values.iter().filter(is_shown).copied();
        let most = shown().fold(f64::MIN_POSITIVE, f64::max);
        let (from, to) = match scale {
            Scale::Linear => (0.0, most * 1.05),
            // At least a decade, so that what hardly changes looks like it.
            Scale::Log => {
                let (least, most) = (shown().fold(most, f64::min), most);
                let middle = (least * most).sqrt();
                ((least * 0.8).min(middle / 3.2), (most * 1.25).max(middle * 3.2))
            }
        };
        Self { scale, from, to, pixels }
    }

    fn can_show(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    fn place(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// Round values between the ends.
    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = self.to / 5.0;
                let power = 10_f64.powf(rough.log10().floor());
                let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
                let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(power * 10.0);
                (0..).map(|i| f64::from(i) * step).take_while(|tick| *tick <= self.to).collect()
            }
            Scale::Log => {
                let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
                // A wide axis has a tick each decade, a narrow one more.
                let steps: &[f64] =
                    if decades.clone().count() > 4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
                let ticks = decades.flat_map(|d| steps.iter().map(move |s| s * 10_f64.powi(d)));
                ticks.filter(|tick| (self.from..=self.to).contains(tick)).collect()
            }
        }
    }
}

/// A number as an axis shows it: 20k, 1M, 0.5.
fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Ticks are round, but doubles are not.
    let text = format!("{scaled:.4}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}
