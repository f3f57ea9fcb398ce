//! Transmissions on Wi-Fi channels and in cells: the log, and the curves of the use of a medium.

mod common;

use ackclock_lab::{Curves, Recording, Run};
use common::{finished, scenario_with};

const WIFI: &str = include_str!("../../../scenarios/wifi.toml");
const LTE: &str = include_str!("../../../scenarios/lte.toml");

/// A run of so many seconds, without a warm-up.
fn run(text: &str, seconds: u32, bounded: bool) -> Run {
    let scenario = scenario_with(text, &[&format!("duration={seconds}s"), "warmup=0s"]);
    finished(&scenario, Recording { packets: true, bounded, ..Recording::default() })
}

/// The mean of the use of a link over the run, percent, by its steps.
fn mean_use(curves: &Curves, link: usize, end: f64) -> f64 {
    let series = curves.series.iter().find(|s| s.panel == "use" && s.link == Some(link as u32));
    let Some(series) = series else { return 0.0 };
    let (times, values) = curves.data[series.start..series.start + 2 * series.points].split_at(series.points);
    let steps = times.windows(2).zip(values);
    steps.map(|(at, value)| (at[1] - at[0]) * value).sum::<f64>() / end
}

#[test]
fn the_use_of_a_channel_is_its_airtime() {
    let mut run = run(WIFI, 3, false);
    let curves = run.curves(0.0, 3.0, 500);
    let outcome = run.outcome();
    for (number, link) in outcome.links.iter().enumerate().filter(|(_, link)| link.wifi.is_some()) {
        let wifi = link.wifi.as_ref().unwrap();
        assert!((mean_use(&curves, number, 3.0) - 100.0 * wifi.airtime_share).abs() < 0.2, "{}", link.name);
        let log = &run.logs().transmissions;
        let of_link =
            (0..log.link.len()).filter(|row| log.link[*row] == number as u32 && log.packets[*row] > 0);
        let (ppdus, mpdus) = of_link.fold((0, 0), |sum, row| (sum.0 + 1, sum.1 + log.packets[row] as u64));
        assert_eq!((ppdus, mpdus), (wifi.ppdus, wifi.mpdus), "{}", link.name);
    }
}

#[test]
fn the_use_of_a_cell_is_that_of_its_blocks() {
    let tdd = r#"
duration = "3s"
cell = [{ name = "c", station = "b", kind = "nr", width = "20MHz", tdd = "DDDSU" }]
link = [{ ends = ["b", "u"], rate = { kind = "cellular", medium = "c" } }]
flow = [
  { name = "down", from = "b", to = "u", udp = { rate = "20Mbps" } },
  { name = "up", from = "u", to = "b", udp = { rate = "5Mbps" } },
]
"#;
    for text in [LTE, tdd] {
        let mut run = run(text, 3, false);
        let curves = run.curves(0.0, 3.0, 500);
        let outcome = run.outcome();
        for (number, link) in outcome.links.iter().enumerate().filter(|(_, link)| link.cell.is_some()) {
            let cell = link.cell.as_ref().unwrap();
            assert!((mean_use(&curves, number, 3.0) - 100.0 * cell.block_share).abs() < 0.1, "{}", link.name);
        }
    }
}

/// What the transmissions of a run break of the rules of the auditor: handovers end blocks, also where a repetition takes
/// longer than all processes.
#[test]
fn handovers_and_long_repetitions_keep_the_rules() {
    for (cell, interruption) in [
        ("kind = \"lte\", harq_rtt = 12", "0ms"),
        ("kind = \"nr\", width = \"20MHz\", tdd = \"DDDSU\", harq_rtt = 64", "2ms"),
    ] {
        for mode in ["lossless", "seamless"] {
            let text = format!(
                r#"
duration = "4s"
cell = [{{ name = "c", station = "b", {cell} }}]
[[link]]
ends = ["b", "u"]
rate = {{ kind = "cellular", medium = "c", snr = 12, fading = {{}}, handover = {{ at = ["1s", "2s", "3s"], mode = "{mode}", interruption = "{interruption}" }} }}
[[flow]]
name = "f"
from = "b"
to = "u"
"#
            );
            common::audited(&text);
        }
    }
}

#[test]
fn thinned_curves_of_a_long_run_have_the_same_use() {
    // A log that is full has no curve of the whole run.
    let (all, part) = (run(WIFI, 12, false), run(WIFI, 12, true));
    assert!(part.recorded().0[1] < 12.0);
    let [whole, thinned] = [&all, &part].map(|run| run.curves(0.0, 12.0, 500));
    for (number, name) in all.shape().links.iter().enumerate() {
        let [expected, use_of_link] = [&whole, &thinned].map(|curves| mean_use(curves, number, 12.0));
        assert!((use_of_link - expected).abs() < 0.05, "{name}: {use_of_link} {expected}");
    }
}
