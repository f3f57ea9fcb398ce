//! Numbers as text.

/// `x` with at most `digits` significant digits, at least one, without zeros at its end and without an exponent.
pub fn significant(x: f64, digits: usize) -> String {
    let scientific = format!("{x:.*e}", digits.max(1) - 1);
    let Some(exponent) = scientific.split_once('e').and_then(|(_, e)| e.parse::<i64>().ok()) else {
        return x.to_string(); // infinite, or not a number
    };
    let decimals = (digits as i64 - 1 - exponent).max(0) as usize;
    let text = format!("{x:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').into() }
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (12.34, "12.3"),
            (5.0, "5"),
            (0.08, "0.08"),
            (0.012345, "0.0123"),
            (100.0, "100"),
            (99.96, "100"),
            (1234.6, "1235"),
            (-7.204, "-7.2"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(significant(x, 3), text);
        }
        assert_eq!(significant(42.974, 6), "42.974");
    }
}
