//! A chart of a few lines of text: a column for each value, the newest on the right.

/// Eighths of a line.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last `width` of `values` from 0 to the largest of them, in `height` lines.
pub fn draw(values: &[f64], width: usize, height: usize) -> Vec<String> {
    let values = &values[values.len().saturating_sub(width)..];
    let most = values.iter().copied().fold(0.0, f64::max);
    let eighths = |value: f64| match most > 0.0 {
        true => (value / most * 8.0 * height as f64).round() as usize,
        false => 0,
    };
    let line = |from_top: usize| {
        let below = (height - 1 - from_top) * 8;
        let block = |value: &f64| BLOCKS[eighths(*value).saturating_sub(below).min(8)];
        values.iter().map(block).collect::<String>().trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_as_high_as_the_chart() {
        assert_eq!(draw(&[0.0, 1.0, 2.0, 4.0], 10, 2), ["   █", " ▄██"]);
        assert_eq!(draw(&[9.0, 1.0, 8.0], 2, 1), ["▁█"]);
        assert_eq!(draw(&[0.0, 0.0], 5, 1), [""]);
        assert_eq!(draw(&[], 5, 2), ["", ""]);
    }
}
