//! Movement files in ns-2's format, as `setdest` and BonnMotion write them.

use net::radio::Trajectory;
use units::{Span, Time};

/// Words that mark lines with positions and destinations.
const MEANT: [&str; 3] = ["X_", "Y_", "setdest"];

/// Parses the trajectories of `nodes` nodes. Ignores lines without positions or destinations of nodes. Fails with the
/// line of the error.
pub(crate) fn parse(text: &str, nodes: usize) -> Result<Vec<Trajectory>, String> {
    let mut places = vec![[None; 2]; nodes];
    let mut goals: Vec<(Time, usize, [f64; 3])> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let refuse = |what: String| format!("line {}: {what}", number + 1);
        // The quotes may stand alone: "$ns at 1.0 " $node_(0) setdest 1 2 3 "".
        let words = line.split_ascii_whitespace().map(|w| w.trim_matches(['"', '{', '}']));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let node = |word: &str| -> Result<usize, String> {
            let inner = word.strip_prefix("$node_(").and_then(|w| w.strip_suffix(')'));
            let node: usize = inner
                .and_then(|w| w.parse().ok())
                .ok_or_else(|| refuse(format!("\"{word}\" is not a node, such as $node_(0)")))?;
            if node < nodes {
                return Ok(node);
            }
            Err(refuse(format!("there is no node {node}: the scenario has {nodes}, counted from 0")))
        };
        let value = |word: &str| -> Result<f64, String> {
            let value: Option<f64> = word.parse().ok().filter(|v: &f64| v.abs() <= 1e7);
            value.ok_or_else(|| refuse(format!("\"{word}\" is not a number from -10000000 to 10000000")))
        };
        match words[..] {
            [who, "set", axis @ ("X_" | "Y_"), place] if who.starts_with("$node_(") => {
                places[node(who)?][(axis == "Y_") as usize] = Some(value(place)?);
            }
            ["$ns_" | "$ns", "at", when, who, "setdest", x, y, speed] => {
                let at = value(when)?;
                if !(0.0..=1e7).contains(&at) {
                    return Err(refuse(format!("time {when} is not from 0 to 10000000")));
                }
                let goal = [value(x)?, value(y)?, value(speed)?];
                if goal[2] < 0.0 {
                    return Err(refuse(format!("speed {speed} is negative")));
                }
                goals.push((Time::ZERO + Span::from_seconds(at), node(who)?, goal));
            }
            _ if !line.trim_start().starts_with('#') && MEANT.iter().any(|word| words.contains(word)) => {
                let forms =
                    "$node_(N) set X_ METRES, or $ns_ (or $ns) at SECONDS \"$node_(N) setdest X Y SPEED\"";
                return Err(refuse(format!("unknown form of line; write {forms}")));
            }
            _ => {}
        }
    }
    goals.sort_by_key(|(at, node, _)| (*node, *at)); // stable: the last of one instant counts
    let mut paths = Vec::with_capacity(nodes);
    for (node, place) in places.into_iter().enumerate() {
        let [Some(x), Some(y)] = place else {
            return Err(format!(
                "node {node} has no position; write \"$node_({node}) set X_ METRES\", and the same with Y_"
            ));
        };
        paths.push(Trajectory::new([x, y]));
    }
    for (at, node, [x, y, speed]) in goals {
        paths[node].go(at, [x, y], speed);
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
        # a comment\n$node_(0) set X_ 10.0\n$node_(0) set Y_ 20.0\n$node_(0) set Z_ 0.0\n\
        $node_(1) set X_ 0\n$node_(1) set Y_ 0\n$god_ set-dist 0 1 1\n\
        $ns_ at 2.0 \"$node_(0) setdest 20.0 20.0 5.0\"\n$ns_ at 3.0 \"$node_(0) setdest 15.0 20.0 0.0\"\n\
        $ns_ at 1.5 \"$god_ set-dist 0 1 2\"\n";

    #[test]
    fn places_and_goals_are_read() {
        let paths = parse(TEXT, 2).unwrap();
        let at = |node: usize, s: f64| paths[node].at(Time::ZERO + Span::from_seconds(s));
        assert_eq!((at(0, 0.0), at(1, 9.0)), ([10.0, 20.0], [0.0, 0.0]));
        assert!((at(0, 2.5)[0] - 12.5).abs() < 1e-9);
        // With speed zero the node does not move.
        assert_eq!(at(0, 9.0), [15.0, 20.0]);
    }

    #[test]
    fn the_simulator_may_be_called_ns() {
        let other = TEXT.replace("$ns_", "$ns").replace("\"$node", "\" $node").replace("\"\n", " \"\n");
        let at = |text: &str| parse(text, 2).unwrap()[0].at(Time::ZERO + Span::from_seconds(2.5));
        assert_eq!(at(&other), at(TEXT));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        assert!(parse(TEXT, 3).unwrap_err().contains("node 2 has no position"));
        assert!(parse(TEXT, 1).unwrap_err().starts_with("line 5: there is no node 1"));
        let bad = "$node_(0) set X_ ten\n";
        assert!(parse(bad, 1).unwrap_err().starts_with("line 1: \"ten\" is not a number"));
        for bad in [
            "$ns_ at 1.0 \"$node_(0) setdest 1.0 2.0\"",
            "$node_(0) set X_ 1000.0 ;# far",
            "$node_(0) set X_ 1e9",
        ] {
            assert!(parse(bad, 1).unwrap_err().starts_with("line 1: "), "{bad}");
        }
    }
}
