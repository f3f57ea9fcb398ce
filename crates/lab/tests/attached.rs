//! Flows whose ends are outside the simulation: datagrams that enter and leave a network while it runs.

use ackclock_lab::{Ends, FlowEnd, InjectError, Outcome, Recording, Run, Scenario, Settings};
use net::Ecn;
use units::{Span, Time};

const FLOW: &str = "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n";

fn ms(time: u64) -> Time {
    Time::ZERO + Span::from_ms(time)
}

/// What an end has received, with its bytes.
struct Arrived {
    flow: u32,
    end: FlowEnd,
    bytes: Vec<u8>,
    ecn: Ecn,
    number: u64,
    sent: Time,
    at: Time,
}

fn received(run: &mut Run) -> Vec<Arrived> {
    let mut all = Vec::new();
    while let Some(d) = run.receive() {
        let bytes = d.bytes.to_vec();
        all.push(Arrived {
            flow: d.flow,
            end: d.end,
            bytes,
            ecn: d.ecn,
            number: d.number,
            sent: d.sent,
            at: d.at,
        });
    }
    all
}

fn parse(text: &str) -> Scenario {
    Scenario::parse("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(scenario: &Scenario) -> Run {
    let recording = Recording { audit: true, packets: true, ..Recording::default() };
    Run::new(scenario, Settings { recording, ..Settings::default() }).unwrap()
}

fn attached(text: &str) -> Run {
    run(&parse(text).attach("f", Ends::UDP).unwrap())
}

/// The bytes of the n-th datagram: 1,200 to 1,204 bytes that differ from those of the others.
fn contents(n: u32) -> Vec<u8> {
    let rest = (4..1200 + n % 5).map(|i| (n.wrapping_mul(31) + i) as u8);
    n.to_le_bytes().into_iter().chain(rest).collect()
}

fn end(run: &mut Run) -> Outcome {
    run.finish();
    let (violations, count) = run.audit();
    assert_eq!(count, 0, "{violations:#?}");
    run.outcome()
}

/// Sends a datagram from the source each `every` and answers each arrival at the destination. Returns what arrived at the
/// source, the number of datagrams sent, and the outcome.
fn exchange(run: &mut Run, every: Span, count: u32) -> (Vec<Arrived>, u32, Outcome) {
    let flow = run.attached_flows()[0];
    let (mut back, mut sent, mut due) = (Vec::new(), 0, Time::ZERO + every);
    let last = run.end();
    while !run.catch_up(due.min(run.next_at()).min(last)) {
        for arrived in received(run) {
            assert_eq!(arrived.flow, flow);
            assert_eq!(arrived.at, run.now(), "the caller was told of the arrival too late");
            match arrived.end {
                FlowEnd::Destination => {
                    run.inject(flow, FlowEnd::Destination, &arrived.bytes, Ecn::NotEct).unwrap();
                }
                FlowEnd::Source => back.push(arrived),
            }
        }
        if run.now() == due && sent < count {
            run.inject(flow, FlowEnd::Source, &contents(sent), Ecn::Ect0).unwrap();
            sent += 1;
            due += every;
        } else if sent == count {
            due = Time::NEVER;
        }
    }
    let outcome = end(run);
    (back, sent, outcome)
}

fn number(datagram: &Arrived) -> u32 {
    let number = u32::from_le_bytes(datagram.bytes[..4].try_into().unwrap());
    assert!(contents(number) == datagram.bytes, "other bytes arrive than were sent");
    number
}

fn wired(more: &str) -> String {
    format!(
        "duration = \"3s\"\n[[link]]\nname = \"x\"\nends = [\"a\", \"r\"]\nrate = \"10Mbps\"\ndelay = \"5ms\"\n{more}\n\
         [[link]]\nends = [\"r\", \"b\"]\nrate = \"20Mbps\"\ndelay = \"2ms\"\n{FLOW}"
    )
}

#[test]
fn datagrams_cross_wires_at_the_exact_time_with_their_bytes() {
    let mut run = attached(&wired(""));
    run.catch_up(ms(100));
    assert_eq!((run.now(), run.next_at()), (ms(100), Time::NEVER));
    run.inject(0, FlowEnd::Source, &contents(0)[..972], Ecn::Ect1).unwrap();
    assert_eq!(run.inject(1, FlowEnd::Source, &[0], Ecn::NotEct), Err(InjectError::NotAttached));
    assert_eq!(run.inject(0, FlowEnd::Source, &[0; 65_508], Ecn::NotEct), Err(InjectError::TooLong(65_507)));
    run.inject(0, FlowEnd::Source, &[0; 1_473], Ecn::NotEct).unwrap(); // above the MTU
    // 1,000 bytes: 0.8 ms and 0.4 ms of transmission, 7 ms of propagation.
    let at = ms(100) + Span::from_seconds(0.0082);
    run.catch_up(ms(108));
    assert!(received(&mut run).is_empty());
    run.catch_up(ms(109));
    let [arrived] = &received(&mut run)[..] else { panic!("one datagram arrives") };
    assert_eq!((arrived.at, arrived.end, arrived.ecn), (at, FlowEnd::Destination, Ecn::Ect1));
    assert_eq!((&arrived.bytes[..], arrived.sent), (&contents(0)[..972], ms(100)));
    assert_eq!((arrived.number, run.port_account(0, FlowEnd::Source).unwrap().0.too_long), (0, 1));
    run.inject(0, FlowEnd::Destination, &[7; 10], Ecn::NotEct).unwrap();
    assert!(run.catch_up(ms(4000)), "the run ends at its duration");
    assert_eq!(received(&mut run)[0].bytes, [7; 10]);
    assert_eq!(run.inject(0, FlowEnd::Source, &[0], Ecn::NotEct), Err(InjectError::Ended));
    let log = &run.logs().packets;
    assert_eq!((&log.kind[..2], log.kind.last()), (&[0u8, 0][..], Some(&1)));
    let outcome = end(&mut run);
    let flow = &outcome.flows[0];
    assert_eq!((flow.kind, flow.sent_packets, flow.delivered_bytes), ("attached", 2, 972));
    assert_eq!(outcome.links[0].delivered_packets, 1);
    assert_eq!(outcome.links[1].delivered_packets, 1);
}

#[test]
fn losses_copies_and_queues_free_the_bytes() {
    for more in [
        "loss = { kind = \"bernoulli\", rate = 0.1 }",
        "loss = { kind = \"duplicate\", rate = 0.2 }",
        "loss = { kind = \"scripted\", flow = \"f\", packets = [3, 4, 7] }",
        "queue = { kind = \"droptail\", limit = \"4p\" }",
        "queue = { kind = \"red\", min = \"2p\", max = \"6p\", limit = \"10p\", ecn = true }",
        "queue = { kind = \"codel\", limit = \"20p\", ecn = true }",
        "queue = { kind = \"fq_codel\", limit = \"6p\" }\nloss = { kind = \"duplicate\", rate = 0.3 }",
        "queue = { kind = \"dualpi2\", limit = \"40p\" }",
        "queue = { kind = \"droptail\", limit = \"5p\" }\nloss = { kind = \"duplicate\", rate = 0.3 }",
    ] {
        // 13 Mb/s into 10 Mb/s.
        let mut run = attached(&wired(more));
        let (back, sent, outcome) = exchange(&mut run, Span::from_seconds(0.00075), 2000);
        assert_eq!(sent, 2000);
        assert!(back.len() > 1000, "{more}: {}", back.len());
        let numbers: Vec<u32> = back.iter().map(number).collect();
        assert!(numbers.is_sorted(), "{more}");
        let changed = outcome.links[0].dropped_packets[net::DropReason::Queue] > 0
            || outcome.links[0].marked_packets > 0
            || numbers.len() != 2000;
        assert!(changed, "{more}: nothing happened to the datagrams");
        let flow = &outcome.flows[0];
        assert_eq!(flow.sent_packets, 2000);
        // Every datagram has arrived or was dropped for a reason.
        let lost: u64 =
            net::DropReason::ALL.iter().map(|reason| flow.dropped_packets.unwrap()[*reason]).sum();
        let (port, _) = run.port_account(0, FlowEnd::Source).unwrap();
        // Copies that are dropped count too.
        assert!(
            if more.contains("duplicate") {
                port.received + lost >= 2000
            } else {
                port.received + lost == 2000
            },
            "{more}"
        );
        assert!(port.duplicates > 0 || port.arrivals.packets == port.received, "{more}");
        assert_eq!(flow.back.as_ref().unwrap().sent_packets, port.arrivals.packets);
    }
}

#[test]
fn marks_reach_the_end() {
    let mut run = attached(&wired(
        "queue = { kind = \"red\", min = \"1p\", max = \"30p\", limit = \"40p\", max_p = 1.0, mark_p = 1.0, weight = 0.5, ecn = true }",
    ));
    for _ in 0..20 {
        run.inject(0, FlowEnd::Source, &[0; 1200], Ecn::Ect0).unwrap();
    }
    run.catch_up(ms(2000));
    let arrived = received(&mut run);
    let marked = arrived.iter().filter(|datagram| datagram.ecn == Ecn::Ce).count();
    assert!((1..arrived.len()).contains(&marked), "{marked} of {}", arrived.len());
    let outcome = end(&mut run);
    assert_eq!(
        (outcome.links[0].marked_packets, outcome.flows[0].marked_packets),
        (marked as u64, Some(marked as u64))
    );
}

#[test]
fn other_flows_of_the_scenario_share_the_links() {
    let text = format!(
        "{}[[flow]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\ntcp = {{ congestion_control = \"reno\" }}\n",
        wired("queue = { kind = \"droptail\", limit = \"30p\" }")
    );
    let (back, sent, outcome) = exchange(&mut attached(&text), Span::from_ms(5), 500);
    assert!(sent == 500 && back.len() > 400 && back.len() <= 500);
    let delay = back[back.len() / 2].at.since(Time::ZERO);
    assert!(delay > Span::ZERO);
    assert_eq!((outcome.flows[0].kind, outcome.flows[1].kind), ("attached", "tcp"));
    assert!(outcome.flows[1].goodput_bps > 5e6, "{}", outcome.flows[1].goodput_bps);
    let whole_packets = Ends { header: 0, mtu: 1500 };
    let all = run(&parse(&text).attach_prefix("", whole_packets).unwrap());
    assert_eq!(all.attached_flows(), [0, 1]);
    let refused = |scenario: Scenario, name| scenario.attach(name, whole_packets).unwrap_err().to_string();
    assert!(refused(parse(&text), "h").contains("there is no flow \"h\""));
    let change = format!("{text}[[change]]\nat = \"1s\"\nset = {{ \"flow.f.stop\" = \"2s\" }}\n");
    assert!(
        refused(parse(&change), "f").contains("the change at 1s is about this flow"),
        "{}",
        refused(parse(&change), "f")
    );
    let not_copied = attached(&text).fork().err().unwrap().to_string();
    assert_eq!(not_copied, "the ends of flow \"f\" are outside the simulation and cannot be copied");
}

#[test]
fn datagrams_cross_satellites() {
    let text = "duration = \"60s\"\n[constellation]\nkind = \"iridium\"\n\
         [[terminal]]\nname = \"a\"\nlat = 28.6\nlon = 77.2\n[[terminal]]\nname = \"b\"\nlat = 37.9\nlon = -122.3\n";
    let (back, sent, outcome) = exchange(&mut attached(&format!("{text}{FLOW}")), Span::from_ms(40), 1200);
    assert!(sent == 1200 && back.len() > 1000, "{sent} {}", back.len());
    assert!(outcome.flows[0].mean_delay_s.unwrap() > 0.03);
    assert!(back.iter().map(number).collect::<Vec<_>>().is_sorted());
}

#[test]
fn datagrams_cross_a_radio_network() {
    for routing in ["aodv", "static"] {
        let positions = if routing == "aodv" { "[[0, 0], [200, 0], [400, 0]]" } else { "[[0, 0], [200, 0]]" };
        let nodes = if routing == "aodv" { 3 } else { 2 };
        let text = format!(
            "duration = \"20s\"\n[radio]\nnodes = {nodes}\nmobility = {{ kind = \"static\", positions = {positions} }}\n\
             routing = {{ kind = \"{routing}\" }}\n[[flow]]\nname = \"f\"\nfrom = \"n0\"\nto = \"n{}\"\n",
            nodes - 1
        );
        let (back, sent, outcome) = exchange(&mut attached(&text), Span::from_ms(50), 300);
        assert_eq!(sent, 300);
        assert!(back.len() > 250, "{routing}: {}", back.len());
        let radio = outcome.radio.unwrap();
        assert_eq!(radio.offered_packets, 300, "only datagrams from the source count as data");
    }
}

#[test]
fn drops_of_waiting_datagrams_are_those_of_the_flow() {
    for (warmup, most) in [("0s", 600), ("2s", 500)] {
        let text =
            wired("queue = { kind = \"codel\", limit = \"1000p\", target = \"1ms\", interval = \"10ms\" }");
        let mut run = attached(&format!("warmup = \"{warmup}\"\n{text}").replace("3s", "4s"));
        for step in 0..1200u64 {
            run.catch_up(ms(3 * step));
            for _ in 0..5 {
                run.inject(0, FlowEnd::Source, &[0; 1200], Ecn::NotEct).unwrap();
            }
        }
        run.catch_up(ms(3999));
        let (port, _) = run.port_account(0, FlowEnd::Source).unwrap();
        run.finish();
        let outcome = run.outcome();
        let [of_flow, of_link] =
            [outcome.flows[0].dropped_packets.unwrap(), outcome.links[0].dropped_packets];
        assert!(of_link[net::DropReason::Aqm] > most, "{}", of_link[net::DropReason::Aqm]);
        assert_eq!(of_flow[net::DropReason::Aqm], of_link[net::DropReason::Aqm]);
        assert!(of_flow[net::DropReason::Aqm] - port.dropped[net::DropReason::Aqm as usize] <= 1);
    }
}

#[test]
fn random_calls_break_nothing() {
    let mut state = 70u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    for round in 0..160u8 {
        let calls = (0..600).map(|_| byte());
        let data: Vec<u8> = std::iter::once(round).chain(calls).collect();
        ackclock_lab::fuzzing::network(&data);
    }
}
