//! All mistakes of a scenario are told, and none that follows from another.
//!
//! Mistakes are put into the scenarios of the repository, at random but the same every time. With `MISTAKES_OUT=FILE` the lines
//! of `MISTAKES_COUNT` such texts are written there, to compare two versions of the readers.

use ackclock_lab::{ErrorKind, Scenario};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A key with its value in a text: byte positions.
#[derive(Clone, Debug)]
struct Entry {
    key: std::ops::Range<usize>,
    value: std::ops::Range<usize>,
}

/// A linear congruential generator (Knuth's MMIX constants), so that the mistakes are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// The end of a value that begins at `start`: the first separator outside quotes and brackets.
fn end_of_value(text: &str, start: usize) -> usize {
    let (mut depth, mut quote) = (0i32, None);
    for (at, c) in text[start..].char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') if depth == 0 => return start + at,
            (None, ']' | '}') => depth -= 1,
            (None, ',' | '\n' | '#') if depth == 0 => return start + at,
            _ => {}
        }
    }
    text.len()
}

/// Every key of a text with its value, those in inline tables too.
fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let (mut quote, mut comment, mut begin) = (None, false, 0);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (_, '\n') => (quote, comment, begin) = (None, false, at + 1),
            _ if comment => {}
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => comment = true,
            (None, '{' | ',' | '[') => begin = at + 1,
            (None, '=') => {
                let key = text[begin..at].trim();
                let from = begin + text[begin..at].find(key).unwrap_or(0);
                let start = at + 1 + text[at + 1..].find(|c: char| c != ' ').unwrap_or(0);
                let end = end_of_value(text, start);
                let value = start..start + text[start..end].trim_end().len();
                if !key.is_empty() && !value.is_empty() {
                    entries.push(Entry { key: from..from + key.len(), value });
                }
            }
            _ => {}
        }
    }
    entries
}

/// The blocks of a text that begin with a header of a table.
fn blocks(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with('[') {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(text.len());
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn replaced(text: &str, range: std::ops::Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &text[..range.start], &text[range.end..])
}

/// The text with one mistake, and what it is.
fn with_mistake(text: &str, random: &mut Random) -> Option<(String, String)> {
    let entries = entries(text);
    if entries.is_empty() {
        return None;
    }
    let entry = random.pick(&entries).clone();
    let (key, value) = (&text[entry.key.clone()], &text[entry.value.clone()]);
    let (mistake, text) = match random.below(12) {
        0 => ("a number", replaced(text, entry.value.clone(), "17")),
        1 => ("a switch", replaced(text, entry.value.clone(), "true")),
        2 => ("text", replaced(text, entry.value.clone(), "\"nonsense\"")),
        3 => ("a list", replaced(text, entry.value.clone(), "[1, \"x\"]")),
        4 => ("a table", replaced(text, entry.value.clone(), "{ kind = \"nonsense\" }")),
        5 | 6 => {
            let plain = key.trim_matches('"');
            let middle = plain.len() / 2;
            let wrong = match random.below(3) {
                0 if plain.is_char_boundary(middle) => {
                    format!("{}{}", &plain[..middle], &plain[middle + 1..])
                }
                1 => format!("{plain}s"),
                _ => "zzz".into(),
            };
            let wrong = if wrong.is_empty() { "zzz".into() } else { wrong };
            ("a misspelt key", replaced(text, entry.key.clone(), &wrong.replace(['.', ' '], "_")))
        }
        7 | 8 => {
            // With the separator after it, or the line.
            let rest = &text[entry.value.end..];
            let end = entry.value.end + if rest.starts_with(',') { 1 } else { 0 };
            ("a removed key", replaced(text, entry.key.start..end, ""))
        }
        9 => {
            let negative = match value.strip_prefix('"') {
                Some(rest) => format!("\"-{rest}"),
                None if value.starts_with(|c: char| c.is_ascii_digit()) => format!("-{value}"),
                None => "-1".into(),
            };
            ("a negative value", replaced(text, entry.value.clone(), &negative))
        }
        10 => {
            let blocks = blocks(text);
            if blocks.is_empty() {
                return None;
            }
            let block = random.pick(&blocks).clone();
            if random.below(3) == 0 {
                ("a removed table", replaced(text, block, ""))
            } else {
                ("a table twice", replaced(text, block.end..block.end, &format!("\n{}", &text[block])))
            }
        }
        _ => {
            let other = random.pick(&entries).value.clone();
            ("the value of another key", replaced(text, entry.value.clone(), &text[other].replace('\n', " ")))
        }
    };
    Some((text, format!("{key}: {mistake}")))
}

/// The scenarios of the repository that can be read.
fn scenarios() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in [
        "scenarios",
        "scenarios/failures",
        "crates/lab/tests/fingerprints",
        "crates/lab/tests/findings",
        "fuzz/corpus/scenario",
        "python/ackclock/apps/suite/definitions",
    ] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        files.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    }
    files.sort();
    files
}

/// The lines of the mistakes of a text.
fn lines(file: &Path, text: &str) -> Vec<String> {
    let read = std::panic::catch_unwind(|| Scenario::parse(&file.to_string_lossy(), text, &[]));
    match read {
        Ok(Ok(_)) => Vec::new(),
        Ok(Err(error)) => std::iter::once(error.to_string()).chain(error.others).collect(),
        Err(_) => vec!["PANIC".into()],
    }
}

#[test]
fn mistakes_in_scenarios_have_their_places() {
    let count = std::env::var("MISTAKES_COUNT").map_or(400, |count| count.parse().unwrap());
    let valid: Vec<(PathBuf, String)> = scenarios()
        .into_iter()
        .filter_map(|file| Some((file.clone(), std::fs::read_to_string(&file).ok()?)))
        .filter(|(file, text)| text.len() < 20_000 && lines(file, text).is_empty())
        .collect();
    assert!(valid.len() > 30, "{} scenarios", valid.len());
    let mut random = Random(1);
    let mut report = String::new();
    for number in 0..count {
        let (file, text) = &valid[number % valid.len()];
        let Some((mut wrong, mut mistake)) = with_mistake(text, &mut random) else { continue };
        // Every fourth text has two mistakes.
        if number / valid.len() % 4 == 3 {
            let Some((both, second)) = with_mistake(&wrong, &mut random) else { continue };
            (wrong, mistake) = (both, format!("{mistake}; {second}"));
        }
        let lines = lines(file, &wrong);
        let _ = writeln!(report, "## {number} {} {mistake}", file.file_name().unwrap().to_string_lossy());
        for line in &lines {
            let _ = writeln!(report, "{line}");
        }
        let name = file.to_string_lossy();
        assert!(lines.iter().all(|line| line.starts_with(&*name)), "{mistake}: {lines:#?}");
        let distinct: BTreeSet<&String> = lines.iter().collect();
        assert_eq!(distinct.len(), lines.len(), "{mistake}: {lines:#?}");
    }
    if let Ok(out) = std::env::var("MISTAKES_OUT") {
        std::fs::write(out, &report).unwrap();
    }
    assert!(!report.contains("PANIC"));
}

const GOOD: &str = "duration = \"1s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\n\
                    delay = \"1ms\"\nqueue = { kind = \"droptail\", limit = \"9p\" }\n[[flow]]\nname = \"f\"\n\
                    from = \"a\"\nto = \"b\"\ntcp = { receive_window = 9 }\n";

fn told(text: &str) -> Vec<String> {
    let error = Scenario::parse("s", text, &[]).unwrap_err();
    std::iter::once(error.to_string()).chain(error.others).collect()
}

#[test]
fn every_mistake_is_told_once_in_the_order_of_lines() {
    let text = GOOD
        .replace("duration = \"1s\"", "duration = \"1s\"\nsed = 2\nwarmup = \"1p\"")
        .replace("delay", "dealy")
        .replace("limit = \"9p\"", "limit = \"9p\", depth = 1")
        .replace(
            "receive_window = 9",
            "receive_window = \"9\", congestion_control = { kind = \"vegas\", alfa = 1 }",
        );
    let lines = told(&text);
    let heads: Vec<String> =
        lines.iter().map(|line| line.splitn(4, [':', ';']).take(3).collect::<Vec<_>>().join(":")).collect();
    let expected = [
        "s:2: sed",
        "s:3: warmup",
        "s:8: link.l.dealy",
        "s:9: link.l.queue.depth",
        "s:14: flow.f.tcp.congestion_control.alfa",
        "s:14: flow.f.tcp.receive_window",
    ];
    assert_eq!(heads, expected, "{lines:#?}");
    assert!(lines[2].ends_with("unknown key; did you mean \"delay\"?"), "{}", lines[2]);
}

#[test]
fn a_misspelt_table_is_no_missing_table() {
    let lines = told(&GOOD.replace("[[flow]]", "[[flows]]"));
    assert_eq!(lines, ["s:8: flows: unknown key; did you mean \"flow\"?"]);
    let kind = |text: &str| Scenario::parse("s", text, &[]).unwrap_err().kind;
    let misspelt = kind(&GOOD.replace("[[flow]]", "[[flows]]"));
    assert_eq!(misspelt, ErrorKind::UnknownKey);
    assert_eq!(kind(&GOOD.replace("delay = \"1ms\"", "")), ErrorKind::MissingKey);
    assert_eq!(kind(&GOOD.replace("\"1ms\"", "1")), ErrorKind::Other);
}

#[test]
fn each_broken_flow_is_told() {
    let second = "[[flow]]\nname = \"g\"\nfrom = \"a\"\nto = \"q\"\nbytes = \"10MiB\"\n";
    let lines = told(&(GOOD.replace("from = \"a\"", "from = \"c\"") + second));
    let expected = [
        "s:10: flow.f.from: there is no node \"c\"; did you mean \"a\"?",
        "s:16: flow.g.to: there is no node \"q\"; did you mean \"a\"?",
        "s:17: flow.g.bytes: \"10MiB\" is not a number of bytes; write \"10485760B\"",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn each_broken_table_of_a_network_is_told() {
    let broken = "[[topology]]\nkind = \"leaf_spine\"\nspines = 0\n[[wifi]]\nname = \"w\"\nstandard = \"ag\"\n\
                  [[cell]]\nname = \"c\"\n";
    let lines = told(&(GOOD.replace("\"1Mbps\"", "\"1Mbp\"") + broken));
    let keys = [
        "link.l.rate",
        "topology[0].host_rate",
        "topology[0].fabric_rate",
        "topology[0].delay",
        "topology[0].spines",
        "wifi[0].ap",
        "wifi[0].standard",
        "cell[0].station",
    ];
    assert_eq!(lines.len(), keys.len(), "{lines:#?}");
    assert!(lines.iter().zip(keys).all(|(line, key)| line.contains(key)), "{lines:#?}");
}

#[test]
fn each_broken_source_of_traffic_is_told() {
    let source = "[[traffic]]\nname = \"t\"\nfrom = \"a\"\nto = \"q\"\n";
    let lines = told(&(GOOD.replace("from = \"a\"", "from = \"c\"") + source));
    let keys = ["flow.f.from", "traffic.t.load", "traffic.t.size", "traffic.t.to"];
    assert_eq!(lines.len(), keys.len(), "{lines:#?}");
    assert!(lines.iter().zip(keys).all(|(line, key)| line.contains(key)), "{lines:#?}");
}

#[test]
fn a_value_that_cannot_be_read_causes_no_second_mistake() {
    let link = |old: &str, new: &str| GOOD.replace(old, new);
    let scripted = "loss = { kind = \"scripted\", flow = \"f\", packets = [1] }\ndelay";
    for (text, key) in [
        (link("rate =", "shaper = { rate = \"1Mbps\", burst = \"9kB\" }\nrat ="), "link.l.rat"),
        (link("delay", scripted).replace("[[flow]]", "[[flo]]"), "flo"),
        (link("delay", scripted).replace("name = \"f\"", "name = 3"), "flow[0].name"),
        (link("name = \"f\"", "name = \"f\"\naccess = \"vi\"") + "[[wfi]]\nname = \"w\"\n", "wfi"),
        (link("receive_window = 9", "recovery = \"rak\", undo = [\"dsack\"]"), "flow.f.tcp.recovery"),
        (link("name = \"f\"", "count = 0\nname = \"f\""), "flow[0].count"),
        (link("name = \"l\"", "name = \"l\"\ncount = \"x\""), "link[0].count"),
        (
            link(
                "[[flow]]",
                "[radio]\nnodes = 3\nara = 3\nmobility = { kind = \"random_waypoint\", max_speed = \"9mps\" }\n[[flow]]",
            ),
            "radio.ara",
        ),
    ] {
        let lines = told(&text);
        assert!(lines.len() == 1 && lines[0].contains(&format!(": {key}: ")), "{text}{lines:#?}");
    }
}

#[test]
fn no_mistake_follows_from_another() {
    let (links, flows) = GOOD.split_at(GOOD.find("[[flow]]").unwrap());
    let topology = "[topology]\nkind = \"fat_tree\"\nk = 4\n";
    for text in [format!("duration = \"1s\"\n{flows}"), format!("{links}{topology}{flows}")] {
        let lines = told(&text);
        assert_eq!(lines.len(), 1, "{lines:#?}");
    }
    let lines = told(
        &(GOOD.replace("\"1Mbps\"", "{ kind = \"wifi\", medium = \"w\" }")
            + &GOOD[GOOD.find("[[link]]").unwrap()..GOOD.find("[[flow]]").unwrap()]
                .replace("\"l\"", "\"m\"")
                .replace("\"1Mbps\"", "{ kind = \"wifi\", medium = \"v\" }")),
    );
    assert_eq!(lines.len(), 2, "{lines:#?}");
}

#[test]
fn a_broken_duration_gives_traffic_no_mistake() {
    let source = "[[traffic]]\nname = \"t\"\nfrom = \"a\"\nto = \"b\"\nload = \"6Mbps\"\nsize = \"9kB\"\n";
    let lines = told(&(GOOD.replace("\"1s\"", "\"1p\"") + source));
    assert_eq!(lines.len(), 1, "{lines:#?}");
}

#[test]
fn each_broken_link_is_told() {
    let second = "[[link]]\nname = \"m\"\nends = [\"b\", \"c\"]\nrate = \"1Mbps\"\n";
    let lines = told(&(GOOD.replace("\"1Mbps\"", "\"1Mbp\"") + second));
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].starts_with("s:5: link.l.rate") && lines[1].contains("link.m.delay: is missing"));
}
