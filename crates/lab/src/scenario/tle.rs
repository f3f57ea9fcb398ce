//! Converts two-line elements into tables of positions, so that the engine does not depend on the crate `sgp4`.
//!
//! Time 0 is the latest epoch in the file. The frame of SGP4 (TEME) is rotated so that longitude 0 is on the x axis
//! at that time. The crate uses `libm`, so the tables are equal on every machine.

use orbit::{Ephemeris, Motion, Vector};
use std::sync::Arc;
use units::Span;

/// Time between two states of a table, s. With it the error of cubic interpolation is a few centimetres.
const STEP_S: f64 = 30.0;

/// Characters of a line of elements.
const LONGEST: usize = 69;
/// The shortest line that is taken for one of elements, so that one which was cut is told.
const SHORTEST: usize = 30;

/// Vanguard 1, the first case of the verification set of SGP4, epoch 2000-06-27 18:50:19.7.
pub(crate) const VANGUARD: &str = "VANGUARD 1
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667
";

/// Reads the satellites of `text`, with or without name lines, for `length` from `epoch` on, which is relative to
/// time 0.
pub(crate) fn read(text: &str, epoch: Span, length: Span) -> Result<Vec<Motion>, String> {
    let mut lines = text.lines().map(str::trim_end).enumerate().filter(|(_, line)| !line.is_empty());
    let mut elements = Vec::new();
    while let Some((number, line)) = lines.next() {
        let refuse = |what: &str| format!("line {}: {what}", number + 1);
        // A line of elements has 69 characters; "1 22" can also be a header or a name.
        match line.get(..2).filter(|_| line.len() >= SHORTEST) {
            Some("1 ") => {}
            Some("2 ") => return Err(refuse("the second of two lines without the first")),
            _ => continue, // a name
        }
        let (second_number, second) = lines.next().unwrap_or((number, ""));
        let second = Some(second).filter(|line| line.starts_with("2 "));
        let second = second.ok_or_else(|| refuse("the first of two lines without the second"))?;
        // The crate expects ASCII text and a digit at the end.
        let plain = |line: &str| {
            line.bytes().all(|b| (b' '..=b'~').contains(&b)) && line.ends_with(|c: char| c.is_ascii_digit())
        };
        for (number, line) in [(number, line), (second_number, second)] {
            if !plain(line) {
                let message = "no two-line elements: a line must be plain text and end with its checksum";
                return Err(format!("line {}: {message}", number + 1));
            }
        }
        // Some programs write one digit more for the number of revolutions, so that the line has 70 characters.
        let [line, second] = [line, second].map(|line| line.get(..LONGEST.min(line.len())).unwrap_or(line));
        let state = sgp4::Elements::from_tle(None, line.as_bytes(), second.as_bytes())
            .map_err(|error| refuse(&format!("no two-line elements: {error}")))?;
        elements.push(state);
    }
    let start = elements.iter().max_by_key(|e| e.datetime).ok_or("has no two-line elements")?;
    let turned = sgp4::iau_epoch_to_sidereal_time(start.epoch());
    let steps = (length.seconds() / STEP_S).ceil() as usize + 1;
    elements.iter().map(|e| table(e, start, turned, epoch.seconds(), steps)).collect()
}

fn table(
    e: &sgp4::Elements,
    start: &sgp4::Elements,
    turned: f64,
    from: f64,
    steps: usize,
) -> Result<Motion, String> {
    let refuse = |error: &dyn std::fmt::Display| format!("satellite {}: {error}", e.norad_id);
    // Elements are fitted with WGS 72, so they are propagated with its constants.
    let model = sgp4::Constants::from_elements_afspc_compatibility_mode(e).map_err(|error| refuse(&error))?;
    let late = e.datetime_to_minutes_since_epoch(&start.datetime).map_err(|error| refuse(&error))?;
    let states = (0..=steps).map(|i| {
        let at = sgp4::MinutesSinceEpoch(late.0 + (from + i as f64 * STEP_S) / 60.0);
        let state = model.propagate(at).map_err(|error| refuse(&error))?;
        let turn = |[x, y, z]: [f64; 3]| Vector::new(x, y, z).turned(-turned);
        Ok((turn(state.position), turn(state.velocity)))
    });
    Ok(Motion::Table(Arc::new(Ephemeris::new(from, STEP_S, states.collect::<Result<_, String>>()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_satellite() {
        let motions = read(VANGUARD, Span::ZERO, Span::from_ms(21_600_000)).unwrap();
        assert_eq!(motions.len(), 1);
        // At the epoch and after 360 minutes: (7022.46529266, -1400.08296755, 0.03995155) and (-7154.03120202,
        // -3783.17682504, -3536.19412294) km; lengths and heights do not depend on how the frame is turned.
        for (t, [x, y, z]) in [
            (0.0, [7022.46529266, -1400.08296755, 0.03995155]),
            (21_600.0, [-7154.03120202, -3783.17682504, -3536.19412294]),
        ] {
            let (state, published) = (motions[0].at(t), Vector::new(x, y, z));
            assert!((state.norm() - published.norm()).abs() < 1e-3, "{t}");
            assert!((state.z - published.z).abs() < 1e-3, "{t}");
        }
    }

    #[test]
    fn broken_elements_are_told() {
        let refused = |text: &str| read(text, Span::ZERO, Span::ZERO).unwrap_err();
        assert!(refused("").contains("no two-line elements"));
        assert!(refused(&VANGUARD[..VANGUARD.len() - 30]).contains("line 2: no two-line elements"));
        let short = VANGUARD.replace("  28098-4 0  4753", "");
        assert!(
            refused(&VANGUARD.replace("4753", "475\u{1}")).contains("line 2: no two-line elements: a line")
        );
        assert!(refused(&short).contains("line 2: no two-line elements"));
        let lines: Vec<&str> = VANGUARD.lines().collect();
        assert!(refused(lines[1]).contains("line 1: the first of two lines"));
        assert!(refused(lines[2]).contains("line 1: the second of two lines"));
    }
}
