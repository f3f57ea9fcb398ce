//! Every rule of the auditor can be broken, and what only looks like a violation is none.

use super::*;
use net::{DropReason, LinkId, Packet};

const MS: u64 = 1_000_000_000;

/// Two links of 8 Mb/s (1 ms for 1,000 bytes) and 5 ms, one packet may wait; flow 0 goes from node 0 to node 2.
fn auditor() -> Auditor {
    let link = |from: u32, to: u32| AuditedLink {
        name: format!("{from}->{to}"),
        from: from..from + 1,
        to: to..to + 1,
        rate: Rate::from_bps(8_000_000),
        delay: (Span::from_ms(5), Span::from_ms(5)),
        limit: Some(Limit::Packets(1)),
        ..AuditedLink::default()
    };
    Auditor::new(vec![link(0, 1), link(1, 2), link(2, 0)], &[[NodeId(0), NodeId(2)]], &[4])
}

/// An event of data packet `seq`, sent at `sent` ms, at `at` ps.
fn event(at: u64, link: u32, step: PacketStep, seq: u32, sent: u64) -> PacketEvent {
    let kind = if link == 2 { PacketKind::Ack } else { PacketKind::Data };
    let packet = Packet::new(kind, 0, 0, seq, 1000, Time::from_ps(sent * MS));
    PacketEvent { at: Time::from_ps(at), link: LinkId(link), step, packet, node: None }
}

/// The rules that a course of events breaks.
fn broken(events: &[PacketEvent]) -> Vec<&'static str> {
    broken_at(auditor(), events)
}

/// The rules that a course of events breaks at the links of an auditor.
fn broken_at(mut auditor: Auditor, events: &[PacketEvent]) -> Vec<&'static str> {
    let mut events = events.to_vec();
    events.sort_by_key(|event| event.at); // stable
    events.iter().for_each(|event| auditor.packet(event));
    auditor.violations.iter().map(|violation| violation.rule).collect()
}

#[test]
fn every_rule_can_be_broken() {
    use PacketStep::{Deliver, Depart, Drop, Enqueue};
    let sent = [event(0, 0, Enqueue, 0, 0), event(MS, 0, Depart, 0, 0)];
    let arrived = [sent[0], sent[1], event(6 * MS, 0, Deliver, 0, 0)];
    assert!(broken(&arrived).is_empty());
    let with = |more: &[PacketEvent]| broken(&[&arrived[..], more].concat());
    assert!(with(&[event(6 * MS, 1, Enqueue, 0, 0), event(7 * MS, 1, Depart, 0, 0)]).is_empty());
    assert!(with(&[event(6 * MS, 1, Drop(DropReason::Queue), 0, 0)]).is_empty());
    // Too soon, too late, over the wrong link, from nowhere, twice, never departed.
    assert_eq!(broken(&[sent[0], sent[1], event(6 * MS - 1, 0, Deliver, 0, 0)]), ["causality"]);
    assert_eq!(broken(&[sent[0], sent[1], event(6 * MS + 1, 0, Deliver, 0, 0)]), ["causality"]);
    assert_eq!(broken(&[event(0, 1, Enqueue, 0, 0)]), ["causality"]);
    assert_eq!(broken(&[event(MS, 0, Enqueue, 0, 0)]), ["causality"]);
    assert_eq!(with(&[event(6 * MS, 0, Deliver, 0, 0)])[0], "conservation");
    assert_eq!(broken(&[sent[0], event(MS, 0, Drop(DropReason::Loss), 0, 0)]), ["conservation"]);
    // Faster or slower than the rate.
    assert_eq!(broken(&[sent[0], event(MS - 2, 0, Depart, 0, 0)]), ["link rate"]);
    assert_eq!(broken(&[sent[0], event(2 * MS, 0, Depart, 0, 0)]), ["link rate"]);
    // A second one waits; a third has no room.
    let departs = |seq: u32| event((seq as u64 + 1) * MS, 0, Depart, seq, 0);
    let queued = [sent[0], sent[1], event(0, 0, Enqueue, 1, 0), departs(1)];
    assert!(broken(&queued).is_empty());
    let third = [event(0, 0, Enqueue, 2, 0), departs(2)];
    assert_eq!(broken(&[&queued[..], &third[..]].concat()), ["queue bound"]);
    // ACKs go back; data beyond the window of four.
    let ack = |at: u64, seq| {
        [event(at * 10 * MS, 2, Enqueue, seq, at * 10), event((at * 10 + 1) * MS, 2, Depart, seq, at * 10)]
    };
    assert_eq!(broken(&[ack(1, 3), ack(2, 2)].concat()), ["cumulative ack"]);
    assert_eq!(broken(&[event(0, 0, Enqueue, 4, 0)]), ["window"]);
    // Told too late.
    let mut late = auditor();
    [sent[1], sent[0]].iter().for_each(|event| late.packet(event));
    assert!(late.violations.iter().any(|v| v.what.contains("too late")));
    // Out of order; at a node where the link does not end; more in flight than the window.
    let second = [event(0, 0, Enqueue, 1, 0), event(MS, 0, Depart, 1, 0)];
    assert_eq!(broken(&[sent[0], second[0], second[1]]), ["conservation"]);
    let wrong_node = PacketEvent { node: Some(7), ..arrived[2] };
    let mut astray = auditor();
    [sent[0], sent[1], wrong_node].iter().for_each(|event| astray.packet(event));
    assert!(astray.violations[0].what.contains("arrives at node 7, where 0->1 does not end"));
    let mut eager = auditor();
    eager.sending(Time::ZERO, 0, 4, 4);
    assert!(eager.violations.is_empty());
    eager.sending(Time::ZERO, 0, 5, 4);
    assert_eq!(eager.violations[0].rule, "window");
    // What passed no second link and did not stay is missed at the end.
    let mut open = auditor();
    arrived.iter().for_each(|event| open.packet(event));
    assert!(open.close(Time::from_ps(9 * MS), &[]).0.iter().any(|v| v.rule == "conservation"));
    // The network's account of a link must be what was seen.
    let accounts = |delivered: u64, in_flight: u64| {
        let first = net::LinkAccount { offered: 1, accepted: 1, delivered, in_flight, ..Default::default() };
        [first, net::LinkAccount::default(), net::LinkAccount::default()]
    };
    let closed = |events: &[PacketEvent], accounts: &[net::LinkAccount]| {
        let mut auditor = auditor();
        events.iter().for_each(|event| auditor.packet(event));
        auditor.close(Time::from_ps(9 * MS), accounts).1
    };
    assert_eq!(closed(&sent, &accounts(0, 1)), 0);
    assert_eq!(closed(&sent, &accounts(1, 0)), 1);
    assert_eq!(closed(&sent, &accounts(0, 0)), 1);
}

/// One scheduled link of 8 Mb/s (1 ms for 1,000 bytes), with a queue for each flow or without. Packets of flow 0 can be
/// offered to it at any time.
fn scheduled(keeps_flow_order: bool) -> Auditor {
    let link = AuditedLink {
        name: "0->1".into(),
        from: 0..1,
        to: 1..2,
        rate: Rate::from_bps(8_000_000),
        delay: (Span::from_ms(5), Span::from_ms(5)),
        scheduled: true,
        keeps_flow_order,
        ..AuditedLink::default()
    };
    let mut auditor = Auditor::new(vec![link], &[[NodeId(0), NodeId(1)]], &[9]);
    auditor.expect_radio_hop(0);
    auditor
}

#[test]
fn a_dropped_copy_is_not_taken_for_the_packet_in_transmission() {
    use PacketStep::{Depart, Drop, Enqueue};
    let accepted = |seq| event(0, 0, Enqueue, seq, 0);
    let departs = |ms: u64, seq| event(ms * MS, 0, Depart, seq, 0);
    let dropped = |at, seq| event(at, 0, Drop(DropReason::Aqm), seq, 0);
    for keeps_flow_order in [true, false] {
        let violations = |events: &[PacketEvent]| {
            let mut auditor = scheduled(keeps_flow_order);
            events.iter().for_each(|event| auditor.packet(event));
            let state = &auditor.link_states[0];
            (auditor.violations.len(), state.packets(), state.bytes)
        };
        // Packet 0 is in transmission; its copy waits and is dropped.
        let waiting = [accepted(0), accepted(0), accepted(1), dropped(MS / 2, 0)];
        assert_eq!(violations(&waiting), (0, 2, 2000));
        assert_eq!(violations(&[&waiting[..], &[departs(1, 0), departs(2, 1)]].concat()), (0, 0, 0));
        // Packet 0 and its copy wait behind packet 7, with packet 1 between them. Packet 0 is dropped.
        let behind = [accepted(7), accepted(0), accepted(1), accepted(0), departs(1, 7), dropped(MS, 0)];
        assert_eq!(violations(&[&behind[..], &[departs(2, 1), departs(3, 0)]].concat()), (0, 0, 0));
        // Both are dropped; then one more, which did not wait.
        let both = [&behind[..], &[dropped(MS, 0)]].concat();
        assert_eq!(violations(&both), (0, 1, 1000));
        assert_eq!(violations(&[&both[..], &[dropped(MS, 0)]].concat()).0, 1);
    }
}

#[test]
fn packets_that_arrive_at_one_time_are_forwarded_in_any_order() {
    use PacketStep::{Deliver, Depart, Drop, Enqueue};
    let over_first = |seq: u32| {
        let sent = seq as u64;
        let at = |ms: u64, step| event((sent + ms) * MS, 0, step, seq, sent);
        [at(0, Enqueue), at(1, Depart), at(6, Deliver)]
    };
    let over_second = |ms: u64, step, seq: u32| event(ms * MS, 1, step, seq, seq as u64);
    // Packet 2 arrives at the second link at the time at which its discipline drops packet 1; the drop is reported first.
    let events = [
        &[over_first(0), over_first(1), over_first(2)].concat()[..],
        &[over_second(6, Enqueue, 0), over_second(7, Enqueue, 1), over_second(7, Depart, 0)],
        &[over_second(8, Drop(DropReason::Aqm), 1), over_second(8, Enqueue, 2), over_second(9, Depart, 2)],
    ]
    .concat();
    let mut scheduled = auditor();
    scheduled.links[1].scheduled = true;
    assert!(broken_at(scheduled, &events).is_empty());
    // A packet that is not forwarded is reported when time goes on.
    let mut lost = auditor();
    over_first(0).iter().for_each(|event| lost.packet(event));
    assert!(lost.violations.is_empty());
    lost.packet(&event(6 * MS + 1, 0, Enqueue, 1, 0));
    assert!(lost.violations[0].what.contains("was not forwarded to its next link"));
    assert_eq!(lost.violations[0].at, Time::from_ps(6 * MS));
}

#[test]
fn packets_that_depart_at_one_time_arrive_in_any_order() {
    use PacketStep::{Deliver, Depart, Enqueue};
    let arrivals = |second_departs: u64| {
        let mut auditor = auditor();
        auditor.links[0].varies = true;
        let at = |at: u64, step, seq| event(at, 0, step, seq, 0);
        for event in [
            at(0, Enqueue, 0),
            at(0, Enqueue, 1),
            at(MS, Depart, 0),
            at(second_departs, Depart, 1),
            at(6 * MS, Deliver, 1),
            at(6 * MS, Deliver, 0),
        ] {
            auditor.packet(&event);
        }
        auditor.violations.len()
    };
    assert_eq!(arrivals(MS), 0);
    assert!(arrivals(MS + 1) > 0);
}
