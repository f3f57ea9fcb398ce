//! Entry points of the fuzz targets; ordinary tests replay their corpora.

use crate::scenario::controllers;
use crate::{Ends, FlowEnd, Page, Recording, Run, Scenario, Settings, SizeTable};
use cc::{Controller, FlowInfo, Params};
use net::{Packet, PacketKind};
use std::sync::Arc;
use transport::{AckOptions, Block, FlowContext, FlowTimer, Options, Recovery, Sender, Setup, WindowRow};
use units::{Span, Time};

/// Parses any text as a scenario. If it is valid, builds it and runs a part of it with the auditor.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(mut scenario) = Scenario::parse("fuzz.toml", text, &[]) else { return };
    scenario.duration = scenario.duration.min(Span::from_ms(2_000));
    scenario.warmup = scenario.warmup.min(Span::from_ps(scenario.duration.ps() / 2));
    if scenario.flows.len() > 50 {
        return;
    }
    let settings = Settings {
        seed: Some(1),
        recording: Recording { audit: true, ..Recording::default() },
        ..Settings::default()
    };
    if let Ok(mut run) = Run::new(&scenario, settings)
        && run.advance(20_000)
    {
        let outcome = run.outcome();
        assert!(outcome.shares().all(|share| (0.0..=1.0).contains(&share)), "{outcome:?}");
        let (violations, count) = run.audit();
        assert_eq!(count, 0, "{violations:?}");
    }
}

/// Parses any text as a movement file of five nodes. If it is valid, reads the positions.
pub fn movement(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for path in crate::scenario::movement::parse(text, 5).into_iter().flatten() {
        for second in 0..100 {
            let place = path.at(Time::ZERO + Span::from_ms(500 * second));
            assert!(place.iter().all(|x| x.is_finite()), "{place:?}");
        }
    }
}

/// Parses any text as two-line elements, for a minute.
pub fn elements(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = crate::scenario::tle::read(text, Span::ZERO, Span::from_ms(60_000));
}

/// Parses any text as a log of a rate: its first line has the keys, such as `unit=1e6 column=2 time=1 every=0.1`.
pub fn rates(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (keys, log) = text.split_once('\n').unwrap_or(("", text));
    if let Some(rows) = crate::scenario::rate_rows(keys, log) {
        assert!(rows.first().is_some_and(|row| row.0 == 0.0));
        assert!(rows.is_sorted_by(|a, b| a.0 < b.0));
        assert!(rows.iter().all(|row| (0.0..=8e12).contains(&row.1)));
    }
}

/// Parses any text as a HAR file. If it has a page, checks the objects.
pub fn har(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(page) = Page::from_har(text) else { return };
    let objects = page.objects();
    assert!((1..=2_000).contains(&objects.len()));
    for (index, object) in objects.iter().enumerate() {
        assert!(object.bytes >= 1 && object.parse <= Span::from_ms(5_000), "{object:?}");
        assert!(object.parent.is_none_or(|parent| (parent as usize) < index), "{object:?}");
    }
}

/// Parses any text as a distribution of sizes. If it is one, draws from it.
pub fn sizes(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match SizeTable::parse(text) {
        Ok(table) => {
            let mut largest = 1;
            for part in 0..100 {
                let size = table.pick(f64::from(part) / 100.0);
                assert!(size >= largest, "{size} after {largest}");
                largest = size;
            }
            assert!((0.0..=1.000001e15).contains(&table.mean()) && largest <= 1_000_000_000_000_000);
        }
        Err((line, _)) => assert!(line >= 1 && line <= text.lines().count().max(1)),
    }
}

/// Calls an application in any order of requests, pieces, arrivals, resets and timers: the first byte chooses it, then each call
/// takes three. The auditor has nothing to say.
#[cfg(not(target_family = "wasm"))]
pub fn app(data: &[u8]) {
    crate::simulation::drive_application(data);
}

/// Parses any text as a study: its first line as an assignment (`--set`), the rest as the file.
pub fn study(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (set, file) = text.split_once('\n').unwrap_or(("", text));
    let sets = if set.is_empty() { vec![] } else { vec![set.to_string()] };
    let Ok(study) = crate::Study::parse("fuzz.toml", file, &sets) else { return };
    let last = study.points().saturating_sub(1);
    assert_eq!(study.labels(last).len(), study.axes.len());
    assert_ne!(study.run_id(last, 1), study.run_id(last, 2));
}

/// Drives a sender with ACKs, SACK blocks and timers taken from `data`, valid or not. The first bytes choose
/// controller, recovery and profile; then each event takes three bytes.
pub fn sender(data: &[u8]) {
    let [which, how, events @ ..] = data else { return };
    let Some(registration) = controllers().cycle().nth(*which as usize) else { return };
    let base = if how & 1 == 0 { Options::ns2() } else { Options::linux() };
    let options = Options {
        recovery: Recovery::ALL[(how >> 1) as usize % Recovery::ALL.len()].0,
        window: 1 + (how >> 3) as u32 * 4,
        pacing: how & 128 != 0,
        ..base
    };
    let flow = FlowInfo {
        initial_window: 1.0,
        initial_ssthresh: options.initial_ssthresh,
        max_window: f64::INFINITY,
        arithmetic: options.arithmetic(),
        fine_clock: options.recovery == Recovery::Reno,
        abe: false,
        packet: 1000,
        seed: 1,
        hops: 0,
    };
    let Ok(params) = Params::new(registration.descriptor.params, []) else { return };
    let controller = registration.create(&params, &flow);
    let setup = Setup {
        flow: 0,
        route: 0,
        segments: (how & 64 != 0).then_some(200),
        clock_phase: Span::ZERO,
        quick_start_path: how & 32 != 0,
    };
    let mut sender = Sender::new(setup, Arc::new(options), controller);
    let mut context = Bench { now: Time::ZERO, timers: [Time::NEVER; FlowTimer::COUNT as usize], sent: 0 };
    sender.on_start(&mut context);
    for event in events.chunks_exact(3).take(2_000) {
        let (kind, a, b) = (event[0], event[1] as u32, event[2] as u32);
        context.now += Span::from_ps(1 + (kind as u64 >> 3) * 3_000_000_000);
        match kind & 7 {
            0 => context.expire(&mut sender),
            1 => sender.on_stop(&mut context),
            _ => {
                let acked = (sender.highest_ack() + 1) as u32;
                let block = Block { start: acked + b % 16, end: acked + b % 16 + b / 32 };
                // ACKs that a receiver could send, and some old or invalid ones.
                let seq = if kind & 4 == 0 { acked + a % 4 } else { acked.saturating_sub(a / 100) };
                let packet = ack(seq, context.now);
                let mut options = AckOptions::NONE;
                if b > 0 {
                    options.blocks.push(block);
                }
                sender.on_ack(&mut context, &packet, &options);
            }
        }
        let (cwnd, ssthresh) = (sender.controller().cwnd(), sender.controller().ssthresh());
        assert!(cwnd.is_finite() && cwnd >= 1.0 && ssthresh >= 1.0, "cwnd {cwnd}, ssthresh {ssthresh}");
    }
    assert!(context.sent < 10_000_000, "a flood");
}

fn ack(seq: u32, now: Time) -> Packet {
    Packet::new(PacketKind::Ack, 0, 0, seq, 40, now)
}

/// A context without a network.
struct Bench {
    now: Time,
    timers: [Time; FlowTimer::COUNT as usize],
    sent: u64,
}

impl Bench {
    /// Lets the first timer expire, if one is set.
    fn expire(&mut self, sender: &mut Sender) {
        let first = (0..FlowTimer::COUNT).min_by_key(|t| self.timers[*t as usize]);
        let Some(timer) = first.filter(|t| self.timers[*t as usize] != Time::NEVER) else { return };
        self.now = self.now.max(self.timers[timer as usize]);
        self.timers[timer as usize] = Time::NEVER;
        match FlowTimer::from_number(timer) {
            FlowTimer::Retransmit => sender.on_retransmit_timer(self),
            FlowTimer::Pace => sender.on_pace_timer(self),
            FlowTimer::Wake => sender.on_wake_timer(self),
            FlowTimer::AckDelay | FlowTimer::Application => {}
        }
    }
}

impl FlowContext for Bench {
    const WINDOWS: bool = true;
    const SENDS: bool = true;
    fn now(&self) -> Time {
        self.now
    }
    fn send(&mut self, _packet: Packet, _options: &AckOptions) {
        self.sent += 1;
    }
    fn set_timer(&mut self, timer: FlowTimer, at: Time) {
        assert!(at >= self.now, "a deadline in the past");
        self.timers[timer as usize] = at;
    }
    fn timer(&self, timer: FlowTimer) -> Time {
        self.timers[timer as usize]
    }
    fn window(&mut self, _row: &WindowRow) {}
    fn sending(&mut self, in_flight: u32, window: u32) {
        assert!(in_flight <= window, "{in_flight} in flight with a window of {window}");
    }
}

/// Networks for [`network`]: a plain one, losses, copies, queues that drop or mark later, a change, a warm-up, a radio network.
const NETWORKS: [&str; 8] = [
    "link = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"5ms\", queue = { kind = \"droptail\", limit = \"4p\" } }]",
    "link = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"5ms\", loss = { kind = \"bernoulli\", rate = 0.3 } }]",
    "link = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"0ms\", loss = { kind = \"duplicate\", rate = 0.5 } }]",
    "link = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"5ms\", queue = { kind = \"fq_codel\", limit = \"6p\", ecn = true } }]",
    "link = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"5ms\", queue = { kind = \"dualpi2\", limit = \"6p\" } }]",
    "link = [{ name = \"l\", ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"5ms\" }]\nchange = [{ at = \"300ms\", set = { \"link.l.rate\" = \"9kbps\" } }]",
    "warmup = \"200ms\"\nlink = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"5ms\", loss = { kind = \"reorder\", rate = 0.3, by = \"9ms\" } }]",
    "[radio]\nnodes = 3\nmobility = { kind = \"static\", positions = [[0, 0], [200, 0], [400, 0]] }\nrouting = { kind = \"aodv\" }",
];

/// Calls a network with attached flows as the bytes say: what to send, when to advance, what to receive. Nothing panics, the
/// auditor has nothing to say, and every datagram that arrives was sent.
pub fn network(data: &[u8]) {
    let Some((first, calls)) = data.split_first() else { return };
    let which = *first as usize % NETWORKS.len();
    let (from, to) = if which == 7 { ("n0", "n2") } else { ("a", "b") };
    let flow = format!("[[flow]]\nname = \"x\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
    let text = format!("duration = \"1s\"\n{}\n{flow}{}", NETWORKS[which], flow.replace("\"x\"", "\"y\""));
    let parsed = Scenario::parse("fuzz.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let scenario = parsed.attach_prefix("", Ends::UDP).unwrap_or_else(|error| panic!("{error}"));
    let recording = Recording { audit: true, packets: true, ..Recording::default() };
    let settings = Settings { recording, ..Settings::default() };
    let mut run = Run::new(&scenario, settings).unwrap_or_else(|error| panic!("{error}"));
    let (flows, mut sent) = (run.attached_flows(), [[0u64; 2]; 2]);
    for call in calls.chunks_exact(3) {
        let (place, end) =
            (call[0] as usize & 1, if call[0] & 2 == 0 { FlowEnd::Source } else { FlowEnd::Destination });
        match call[0] % 5 {
            0 | 1 => {
                let length = (call[1] as usize) << (call[2] % 9);
                let ecn = net::Ecn::from_bits(call[2]);
                if run.inject(flows[place], end, &vec![call[2]; length], ecn).is_ok() {
                    sent[place][end as usize] += 1;
                }
            }
            2 => {
                run.catch_up(run.now() + Span::from_ps(u64::from(call[1]) << (call[2] % 32)));
            }
            3 => {
                let next = run.next_at().min(run.end());
                run.catch_up(next.max(run.now()));
            }
            _ => {
                while let Some(datagram) = run.receive() {
                    let place = flows.iter().position(|flow| *flow == datagram.flow).unwrap_or(usize::MAX);
                    assert!(datagram.number < sent[place][datagram.end.other() as usize]);
                    assert!(datagram.sent <= datagram.at && datagram.at <= run_end(&scenario));
                    assert!(datagram.bytes.iter().all(|byte| Some(byte) == datagram.bytes.first()));
                }
            }
        }
    }
    run.finish();
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{violations:?}");
    let outcome = run.outcome();
    for (place, flow) in flows.iter().enumerate() {
        for end in [FlowEnd::Source, FlowEnd::Destination] {
            let (account, _) =
                run.port_account(*flow, end).unwrap_or_else(|| unreachable!("an attached flow"));
            assert!(account.sent <= sent[place][end as usize]);
            let dropped: u64 = account.dropped.iter().sum();
            let counted = account.received + account.too_long + if which == 2 { 0 } else { dropped };
            // In the warm-up sent and afterwards received is counted as received alone.
            assert!(which == 6 || counted <= account.sent, "{account:?}");
        }
    }
    assert_eq!(outcome.substrate, "attached");
}

fn run_end(scenario: &Scenario) -> Time {
    Time::ZERO + scenario.duration
}
