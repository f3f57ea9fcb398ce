//! Logs with bounded memory: the run and its rows are the same, and the thinned curves keep the extremes.

use ackclock_lab::{Curves, PacketLog, Recording, Run, Scenario, Settings, TraceMode, WindowLog};
use units::{Span, Time};

const DUMBBELL: &str = include_str!("../../../scenarios/dumbbell.toml");

fn run(set: &[&str], recording: Recording) -> Run {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    let scenario = Scenario::parse("dumbbell.toml", DUMBBELL, &set).unwrap();
    let recording = Recording { trace: TraceMode::EveryAck, packets: true, fingerprint: true, ..recording };
    let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    run
}

fn bounded() -> Recording {
    Recording { bounded: true, rules: true, ..Recording::default() }
}

/// Times and values of a curve.
fn points<'a>(curves: &'a Curves, panel: &str, number: u32) -> (&'a [f64], &'a [f64]) {
    let of =
        |series: &&ackclock_lab::Series| series.panel == panel && series.flow.or(series.link) == Some(number);
    let series = curves.series.iter().find(of).unwrap();
    curves.data[series.start..series.start + 2 * series.points].split_at(series.points)
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), value| (a.min(*value), b.max(*value)))
}

#[test]
fn a_run_that_fits_has_the_same_rows_and_curves() {
    let (all, bounded) = (run(&["duration=10s"], Recording::default()), run(&["duration=10s"], bounded()));
    assert_eq!(all.fingerprint(), bounded.fingerprint());
    assert_eq!(all.logs().windows.cwnd, bounded.logs().windows.cwnd);
    assert_eq!(all.logs().packets.time, bounded.logs().packets.time);
    // Only the thinned curves have one-way delays.
    let bits = |run: &Run| {
        let curves = run.curves(2.0, 8.0, 300);
        let same = curves.series.iter().filter(|series| series.panel != "delay");
        same.flat_map(|series| &curves.data[series.start..series.start + 2 * series.points])
            .map(|x| x.to_bits())
            .collect::<Vec<_>>()
    };
    assert!(bits(&all) == bits(&bounded));
    let curves = bounded.curves(2.0, 8.0, 300);
    let (times, delays) = points(&curves, "delay", 0);
    assert!(times.len() > 100 && delays.iter().all(|delay| (0.02..0.2).contains(delay)));
    let ([from, to], [windows, packets]) = bounded.recorded();
    assert_eq!([from, to], [0.0, 10.0]);
    let rows = [windows, packets].map(|count| count as usize);
    assert_eq!(rows, [all.logs().windows.time_s.len(), all.logs().packets.time.len()]);
}

#[test]
fn a_range_alone_has_rows_and_the_rest_has_thinned_curves() {
    let within = [4.0, 5.0].map(|at| Time::ZERO + Span::from_seconds(at));
    let part =
        run(&["duration=10s"], Recording { packets_within: Some((within[0], within[1])), ..bounded() });
    let all = run(&["duration=10s"], Recording::default());
    assert_eq!(part.fingerprint(), all.fingerprint());
    assert_eq!(part.recorded().0, [4.0, 5.0]);
    assert!(part.logs().windows.time_s.iter().all(|at| (4.0..=5.0).contains(at)));
    assert!(part.logs().packets.time.iter().all(|at| (within[0]..=within[1]).contains(at)));
    let expected = all.logs().windows.time_s.iter().filter(|at| (4.0..=5.0).contains(*at)).count();
    assert_eq!(part.logs().windows.time_s.len(), expected);
    assert_eq!(part.recorded().1[1] as usize, all.logs().packets.time.len());
    // Within the range the curves are exact; over all the thinned ones keep the extremes.
    let link = all.shape().links.iter().position(|name| name == "r1->r2").unwrap() as u32;
    for (panel, number) in [("cwnd", 0), ("cwnd", 2), ("rtt", 1), ("queue", link)] {
        let (thin, full) = (part.curves(0.0, 10.0, 400), all.curves(0.0, 10.0, 400));
        let (found, expected) = (points(&thin, panel, number), points(&full, panel, number));
        assert_eq!(extremes(found.1), extremes(expected.1), "{panel} {number}");
        assert!(found.0.windows(2).all(|pair| pair[0] <= pair[1]), "{panel} {number}");
        assert_eq!(found.0.last(), expected.0.last(), "{panel} {number}");
    }
    let [found, expected] = [&part, &all].map(|run| run.curves(4.0, 5.0, 100));
    let bits = |curves: &Curves, of: &ackclock_lab::Series| -> Vec<u64> {
        curves.data[of.start..of.start + 2 * of.points].iter().map(|x| x.to_bits()).collect()
    };
    for series in expected.series.iter().filter(|series| series.panel != "goodput") {
        let key = |s: &ackclock_lab::Series| (s.panel, s.flow, s.link, s.name.clone());
        let other = found.series.iter().find(|other| key(other) == key(series));
        assert!(
            other.is_some_and(|other| bits(&found, other) == bits(&expected, series)),
            "{:?}",
            key(series)
        );
    }
    // The goodput of both records adds up to the same data.
    let volume = |run: &Run| {
        let curves = run.curves(0.0, 10.0, 400);
        let (at, rate) = points(&curves, "goodput", 0);
        at.windows(2).zip(rate).map(|(pair, rate)| (pair[1] - pair[0]) * rate).sum::<f64>()
    };
    let (found, expected) = (volume(&part), volume(&all));
    assert!((found / expected - 1.0).abs() < 0.03, "{found} {expected}");
}

#[test]
fn an_idle_flow_keeps_its_window_in_a_range_alone() {
    let set = ["duration=10s", "flow.reno.writes=[[\"0s\", \"100kB\"], [\"9s\", \"100kB\"]]"];
    let within = [4.0, 5.0].map(|at| Time::ZERO + Span::from_seconds(at));
    let part = run(&set, Recording { packets_within: Some((within[0], within[1])), ..bounded() });
    let all = run(&set, Recording::default());
    let [found, expected] = [&part, &all].map(|run| run.curves(4.0, 5.0, 100));
    assert_eq!(points(&found, "cwnd", 0), points(&expected, "cwnd", 0));
    assert_eq!(points(&found, "cwnd", 0).0, [4.0, 5.0]);
    // What was acknowledged before the range is no goodput of it.
    let most = |curves: &Curves| {
        (0..3).map(|flow| extremes(points(curves, "goodput", flow).1).1).fold(0.0, f64::max)
    };
    assert!(most(&found) <= 1.05 * most(&expected), "{} {}", most(&found), most(&expected));
}

#[test]
fn logs_end_when_one_is_full_and_curves_go_on() {
    let set = ["duration=60s", "link.bottleneck.rate=60Mbps"];
    let bounded = run(&set, bounded());
    let ([from, to], [windows, packets]) = bounded.recorded();
    assert!(packets as usize > PacketLog::MOST_ROWS && windows as usize > 1000, "{packets}");
    assert!(from == 0.0 && to > 1.0 && to < 59.0, "{to}");
    assert!(bounded.logs().packets.time.len() == PacketLog::MOST_ROWS);
    assert!(bounded.logs().windows.time_s.len() <= WindowLog::MOST_ROWS);
    assert!(bounded.logs().windows.time_s.iter().all(|at| *at <= to));
    let curves = bounded.curves(0.0, 60.0, 500);
    assert_eq!(points(&curves, "cwnd", 0).0.last(), Some(&60.0));
    assert!(bounded.flights(to + 1.0, 60.0).rows.is_empty());
}

#[test]
fn many_flows_have_percentiles_of_their_windows() {
    let scenario = ackclock_lab::dumbbell(300, units::Rate::from_bps(100_000_000), Span::from_seconds(3.0));
    let recording = Recording { trace: TraceMode::EveryAck, packets: true, ..bounded() };
    let mut run = Run::new(&scenario, Settings { recording, ..Settings::default() }).unwrap();
    let mut seen = 0;
    while !run.advance(20_000) {
        // Curves of a run that has not ended reach its present time.
        let curves = run.curves(0.0, 3.0, 200);
        for series in curves.series.iter().filter(|series| series.panel == "cwnd") {
            assert!(curves.data[series.start + series.points - 1] <= run.now().seconds());
            seen += 1;
        }
    }
    assert!(seen > 300);
    let curves = run.curves(0.0, 3.0, 200);
    let series: Vec<_> = curves.series.iter().filter(|series| series.panel == "percentile").collect();
    assert_eq!(series.len(), 3);
    let middle = |number: usize| curves.data[series[number].start + series[number].points + 100];
    assert!(middle(0) <= middle(1) && middle(1) <= middle(2));
    assert!(curves.series.iter().filter(|series| series.panel == "cwnd").count() >= 256);
}
