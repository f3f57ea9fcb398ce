//! Flows whose ends are outside the simulation: datagrams that enter and leave a network while it runs.

use ackclock_lab::{
    AttachmentOptions, DeliveredDatagram, FlowEnd, Outcome, Recording, Run, Scenario, Settings,
};
use net::Ecn;
use units::{Span, Time};

const FLOW: &str = "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n";

fn ms(time: u64) -> Time {
    Time::ZERO + Span::from_ms(time)
}

fn run(text: &str, attachment: AttachmentOptions) -> Run {
    let scenario = Scenario::parse("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let recording = Recording { audit: true, packets: true, ..Recording::default() };
    Run::new(&scenario, Settings { recording, attachment: Some(attachment), ..Settings::default() }).unwrap()
}

fn attached(text: &str) -> Run {
    run(text, AttachmentOptions { first_only: true, header: 28 })
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
fn exchange(run: &mut Run, every: Span, count: u32) -> (Vec<DeliveredDatagram>, u32, Outcome) {
    let flow = run.attached_flows()[0];
    let (mut back, mut sent, mut due) = (Vec::new(), 0, Time::ZERO + every);
    let last = run.end();
    while !run.catch_up(due.min(run.next_at()).min(last)) {
        for arrived in run.outbox() {
            assert_eq!(arrived.flow, flow);
            assert_eq!(arrived.at, run.now(), "the caller was told of the arrival too late");
            match arrived.end {
                FlowEnd::Destination => {
                    run.inject(flow, FlowEnd::Destination, &arrived.bytes, Ecn::NotEct);
                }
                FlowEnd::Source => back.push(arrived),
            }
        }
        if run.now() == due && sent < count {
            run.inject(flow, FlowEnd::Source, &contents(sent), Ecn::Ect0);
            sent += 1;
            due += every;
        } else if sent == count {
            due = Time::NEVER;
        }
    }
    let outcome = end(run);
    (back, sent, outcome)
}

fn number(datagram: &DeliveredDatagram) -> u32 {
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
    assert!(run.inject(0, FlowEnd::Source, &contents(0)[..972], Ecn::Ect1));
    assert!(!run.inject(1, FlowEnd::Source, &[0], Ecn::NotEct), "there is no such flow");
    // 1,000 bytes: 0.8 ms and 0.4 ms of transmission, 7 ms of propagation.
    let at = ms(100) + Span::from_seconds(0.0082);
    run.catch_up(ms(108));
    assert!(run.outbox().is_empty());
    run.catch_up(ms(109));
    let [arrived] = &run.outbox()[..] else { panic!("one datagram arrives") };
    assert_eq!((arrived.at, arrived.end, arrived.ecn), (at, FlowEnd::Destination, Ecn::Ect1));
    assert_eq!((&arrived.bytes[..], arrived.sent), (&contents(0)[..972], ms(100)));
    run.inject(0, FlowEnd::Destination, &[7; 10], Ecn::NotEct);
    assert!(run.catch_up(ms(4000)), "the run ends at its duration");
    assert_eq!(run.outbox()[0].bytes, [7; 10]);
    let log = &run.logs().packets;
    assert_eq!((&log.kind[..2], log.kind.last()), (&[0u8, 0][..], Some(&1)));
    let outcome = end(&mut run);
    let flow = &outcome.flows[0];
    assert_eq!((flow.kind, flow.sent_packets, flow.delivered_bytes), ("attached", 1, 972));
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
        let (back, sent, outcome) = exchange(&mut attached(&wired(more)), Span::from_seconds(0.00075), 2000);
        assert_eq!(sent, 2000);
        assert!(back.len() > 1000, "{more}: {}", back.len());
        let numbers: Vec<u32> = back.iter().map(number).collect();
        assert!(numbers.is_sorted(), "{more}");
        let changed = outcome.links[0].dropped_packets[net::DropReason::Queue] > 0
            || outcome.links[0].marked_packets > 0
            || numbers.len() != 2000;
        assert!(changed, "{more}: nothing happened to the datagrams");
        assert_eq!(outcome.flows[0].sent_packets, 2000);
    }
}

#[test]
fn marks_reach_the_end() {
    let mut run = attached(&wired(
        "queue = { kind = \"red\", min = \"1p\", max = \"30p\", limit = \"40p\", max_p = 1.0, mark_p = 1.0, weight = 0.5, ecn = true }",
    ));
    for _ in 0..20 {
        run.inject(0, FlowEnd::Source, &[0; 1200], Ecn::Ect0);
    }
    run.catch_up(ms(2000));
    let arrived = run.outbox();
    let marked = arrived.iter().filter(|datagram| datagram.ecn == Ecn::Ce).count();
    assert!((1..arrived.len()).contains(&marked), "{marked} of {}", arrived.len());
    assert_eq!(end(&mut run).links[0].marked_packets, marked as u64);
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
    let all = run(&text, AttachmentOptions { first_only: false, header: 0 });
    assert_eq!(all.attached_flows(), [0, 1]);
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
