//! The two laws of a run that is copied: a copy that continues equals the run, and a copy that is changed equals the run of
//! the scenario with this change. Byte for byte: packets, windows, outcome. `ACKCLOCK_FORKS` gives the times for each
//! scenario; the nightly job takes five.

mod common;

use ackclock_lab::{Recording, Run, Scenario, ScenarioError, Settings, Study, TraceMode};
use common::without_cost;
use engine::Stream;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Time;

/// Packets, windows and outcome of a run that has ended.
fn all_of(mut run: Run) -> [String; 3] {
    run.finish();
    let windows = blake3::hash(format!("{:?}", run.logs().windows).as_bytes()).to_hex().to_string();
    let outcome = without_cost(&run.outcome().to_json());
    [run.fingerprint(), windows, outcome]
}

fn begin(scenario: &Scenario) -> Run {
    let recording = Recording { fingerprint: true, trace: TraceMode::EveryAck, ..Recording::default() };
    Run::new(scenario, Settings { recording, ..Settings::default() }).unwrap()
}

/// A time within the run.
fn some_time(stream: &mut Stream, scenario: &Scenario) -> Time {
    let ms = (scenario.duration.seconds() * 1000.0 * (0.02 + 0.95 * stream.uniform())) as u64;
    Time::ZERO + units::Span::from_ms(ms.max(1))
}

fn times() -> u64 {
    std::env::var("ACKCLOCK_FORKS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn a_copy_of_a_run_continues_as_the_run() {
    let copied = AtomicUsize::new(0);
    common::each_fingerprint_scenario(|name, point, text| {
        let scenario = Study::parse(name, text, &[]).unwrap().scenario(point).unwrap();
        let mut stream = Stream::new(point as u64, "fork", name);
        let mut at: Vec<Time> = (0..times()).map(|_| some_time(&mut stream, &scenario)).collect();
        at.sort();
        let mut run = begin(&scenario);
        let mut copies = Vec::new();
        for at in at {
            run.advance_before(at);
            match run.fork() {
                Ok(copy) => copies.push(copy),
                Err(error) => assert!(error.to_string().contains("QUIC"), "{name} {point}: {error}"),
            }
        }
        let whole = all_of(run);
        for copy in copies {
            copied.fetch_add(1, Ordering::Relaxed);
            assert!(all_of(copy) == whole, "{name} {point}: a copy differs");
        }
    });
    assert!(copied.into_inner() as u64 >= 150 * times());
}

/// A change at `at` for a scenario, as a value of its key `change`: one of several kinds.
fn some_change(stream: &mut Stream, scenario: &Scenario, at: Time) -> String {
    let mut pick = |count: usize| (stream.uniform() * count as f64) as usize;
    let link = &scenario.links.get(pick(scenario.links.len().max(1)));
    let link_name =
        link.map_or(String::new(), |link| link.name.clone().unwrap_or_else(|| link.ends.join("->")));
    let direction = link.map(|link| &link.directions[0]);
    let flow = &scenario.flows.get(pick(scenario.flows.len().max(1)));
    let flow_name = flow.map_or("", |flow| &flow.name);
    let rate = direction.map_or(1_000_000, |d| d.rate.bps()) * (1 + pick(4) as u64) / 3;
    let controller = ["cubic", "reno", "bbr", "vegas", "westwood", "copa", "htcp"][pick(7)];
    let action = match pick(11) {
        0 | 1 => format!("set = {{ 'link.\"{link_name}\".rate' = \"{rate}bps\" }}"),
        2 => format!("set = {{ 'link.\"{link_name}\".delay' = \"{}ms\" }}", 1 + pick(80)),
        3 => format!(
            "set = {{ 'link.\"{link_name}\".queue' = {{ kind = \"codel\", limit = \"{}p\" }} }}",
            5 + pick(60)
        ),
        4 => format!(
            "set = {{ 'link.\"{link_name}\".loss' = {{ kind = \"bernoulli\", rate = 0.0{} }} }}",
            1 + pick(5)
        ),
        5 | 6 => format!("set = {{ 'flow.\"{flow_name}\".tcp.congestion_control' = \"{controller}\" }}"),
        7 => format!("set = {{ 'flow.\"{flow_name}\".tcp.receive_window' = {} }}", 2 + pick(60)),
        8 => format!("set = {{ 'flow.\"{flow_name}\".stop' = \"{}s\" }}", at.seconds() + 0.5),
        9 => format!("do = \"drop_next\", link = \"{link_name}\", count = {}", 1 + pick(3)),
        _ => format!("do = \"blackout\", link = \"{link_name}\", duration = \"{}ms\"", 1 + pick(400)),
    };
    format!("change=[{{ name = \"c\", at = \"{}ps\", {action} }}]", at.ps())
}

#[test]
fn a_changed_copy_is_the_run_of_the_changed_scenario() {
    let (compared, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    common::each_fingerprint_scenario(|name, point, text| {
        let plain = Study::parse(name, text, &[]).unwrap().scenario(point).unwrap();
        let mut stream = Stream::new(point as u64, "change", name);
        for _ in 0..times() {
            let at = some_time(&mut stream, &plain);
            let change = some_change(&mut stream, &plain, at);
            let read = |set: &str| -> Result<Scenario, ScenarioError> {
                Study::parse(name, text, &[set.to_string()])?.scenario(point)
            };
            let Ok(changed) = read(&change) else {
                refused.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let mut base = begin(&changed.unchanged_from(at));
            base.advance_before(at);
            let mut branch = base.fork().unwrap_or(base);
            branch.adopt(&changed).unwrap();
            compared.fetch_add(1, Ordering::Relaxed);
            assert!(all_of(branch) == all_of(begin(&changed)), "{name} {point}: {change}");
        }
    });
    let (compared, refused) = (compared.into_inner(), refused.into_inner());
    println!("{compared} compared, {refused} refused");
    assert!(compared as u64 >= 80 * times(), "{compared} compared, {refused} refused");
}

#[test]
fn a_drop_that_is_taken_back_is_the_run_without_it_in_the_script() {
    let segments: Vec<u32> = (0..20).map(|n| 40 + 97 * n).collect();
    let text = |listed: &[u32]| {
        let listed: Vec<String> = listed.iter().map(|segment| format!("[{segment}, 1]")).collect();
        format!(
            "duration = \"30s\"\n[tcp]\ncongestion_control = \"cubic\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\n\
             rate = \"4Mbps\"\ndelay = \"20ms\"\nqueue = {{ kind = \"droptail\", limit = \"60p\" }}\n\
             loss = {{ kind = \"scripted\", flow = \"f\", segments = [{}] }}\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n",
            listed.join(", ")
        )
    };
    let packets = |run: Run| run.fingerprint();
    let mut compared = 0;
    for (index, segment) in segments.iter().enumerate() {
        let mut others = segments.clone();
        others.remove(index);
        let number = segment + 1; // the SYN is number 0
        let keep = format!(
            "change.c={{ at = \"1ps\", do = \"keep_next\", link = \"l\", flow = \"f\", packet = {number} }}"
        );
        let without_drop = Scenario::parse("s", &text(&segments), &[keep]).unwrap();
        let removed = common::scenario(&text(&others));
        let run = |scenario: &Scenario| {
            let mut run = begin(scenario);
            run.finish();
            run
        };
        assert_eq!(packets(run(&without_drop)), packets(run(&removed)), "segment {segment}");
        assert_ne!(packets(run(&without_drop)), packets(run(&common::scenario(&text(&segments)))));
        compared += 1;
    }
    assert_eq!(compared, 20);
}

#[test]
fn a_sweep_over_the_time_of_a_change_gives_the_outcomes_of_single_runs() {
    let text = "duration = \"10s\"\nsweep = { seed = [1, 2], \"change.cut.at\" = [\"8s\", \"8.5s\", \"9s\", \"4s\"] }\n\
        [[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"4Mbps\"\ndelay = \"20ms\"\n\
        queue = { kind = \"droptail\", limit = \"20p\" }\nloss = { kind = \"bernoulli\", rate = 0.001 }\n\
        [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
        [[change]]\nname = \"cut\"\nat = \"8s\"\nset = { \"link.l.rate\" = \"1Mbps\" }\n";
    let study = Study::parse("s", text, &[]).unwrap();
    assert_eq!(study.points(), 4);
    let jobs: Vec<ackclock_lab::Job> =
        (0..4).flat_map(|point| [1, 2].map(|seed| ackclock_lab::Job { point, seed })).collect();
    for threads in [1, 3] {
        let pool = ackclock_lab::Pool::new(study.clone(), jobs.clone(), threads);
        let mut count = 0;
        while let Some(done) = pool.collect(std::time::Duration::from_millis(50)) {
            for done in done {
                let job = jobs[done.job];
                let settings = Settings { seed: Some(job.seed), ..Settings::default() };
                let mut run = Run::new(&study.scenario(job.point).unwrap(), settings).unwrap();
                run.finish();
                assert_eq!(without_cost(&done.outcome.unwrap()), without_cost(&run.outcome().to_json()));
                count += 1;
            }
        }
        assert_eq!(count, 8);
    }
}

#[test]
fn a_controller_that_takes_over_has_the_smallest_round_trip_time() {
    // CUBIC keeps the queue long, so a new BBR could not measure this time.
    let text = "duration = \"6s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
        queue = { kind = \"droptail\", limit = \"4bdp\" }\n[[flow]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\nstart = \"1s\"\n\
        [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = { congestion_control = \"bbr\" }\n\
        [[change]]\nat = \"5s\"\nset = { \"flow.f.tcp.congestion_control\" = { kind = \"bbr\", min_rtt_window = 20 } }\n";
    let recording = Recording { trace: TraceMode::EveryAck, ..Recording::default() };
    let mut run = Run::new(&common::scenario(text), Settings { recording, ..Settings::default() }).unwrap();
    run.finish();
    let (log, flow) =
        (&run.logs().windows, run.shape().flows.iter().position(|name| name == "f").unwrap() as u32);
    let (_, min_rtt) = log.internals.iter().find(|(name, _)| name == "min_rtt").unwrap();
    let later = |row: &usize| log.flow[*row] == flow && log.time_s[*row] > 5.0;
    let rows: Vec<usize> = (0..log.time_s.len()).filter(later).take(50).collect();
    assert!(rows.iter().all(|row| log.rtt_s[*row].is_nan() || log.rtt_s[*row] > 0.06));
    assert!(rows.iter().all(|row| (0.04..0.0425).contains(&min_rtt[*row])), "{}", min_rtt[rows[0]]);
}
