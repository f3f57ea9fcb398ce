//! A network of fixed links, from `send` to `account`.

use ackclock_net::qdisc::{DropTail, Qdisc};
use ackclock_net::{Arrival, LinkSpec, Network, NoTap, Packet, PacketKind, PathSegment};
use engine::{EventQueue, Next};
use units::{Rate, Span, Time};

fn packet(route: u32, seq: u32) -> Packet {
    Packet::new(PacketKind::Udp, 0, route, seq, 1000, Time::ZERO)
}

#[test]
fn two_hops_take_their_exact_time_and_every_packet_is_accounted_for() {
    let horizon = Time::ZERO + Span::from_ms(100);
    let fuse_hops = true;
    let (mut net, mut event_queue) = (Network::new(horizon, 2, 3, fuse_hops), EventQueue::new());
    // 8 ms and 1 ms for 1000 bytes; one may wait at the second.
    let slow = net.add_link(LinkSpec {
        rate: Rate::from_bps(8_000_000),
        delay: Span::from_ms(5),
        ..LinkSpec::default()
    });
    let queue = Qdisc::DropTail(DropTail::new(1, u64::MAX));
    let next = net.add_link(LinkSpec {
        rate: Rate::from_bps(1_000_000),
        delay: Span::from_ms(5),
        qdisc: queue,
        ..LinkSpec::default()
    });
    let route = net.add_route(&[PathSegment::Links(vec![slow, next])]);
    net.complete_routes([].into_iter());
    for seq in 0..4 {
        net.send(&mut event_queue, &mut NoTap, Time::ZERO, &packet(route, seq));
    }
    let mut got = Vec::new();
    loop {
        match event_queue.pop(horizon) {
            Next::Item(p) => {
                if let Arrival::Delivered = net.arrive(&mut event_queue, &mut NoTap, &p) {
                    got.push((p.seq, event_queue.now().ps()));
                }
            }
            Next::Timer(_) => unreachable!(),
            Next::Nothing => break,
        }
    }
    // Arrivals at the second link at 6, 7, 8, 9 ms; it sends 6-14 and 14-22, refuses the last two.
    assert_eq!(got, [(0, 19_000_000_000), (1, 27_000_000_000)]);
    let account: Vec<_> = net.account(&event_queue, Span::from_ms(100)).collect();
    assert_eq!((account[0].delivered, account[0].in_flight), (4, 0));
    assert_eq!((account[1].offered, account[1].delivered, account[1].dropped[0]), (4, 2, 2));
    assert!((account[1].utilisation - 0.16).abs() < 1e-12);
    assert!((account[1].mean_queue_packets - 0.07).abs() < 1e-12);
    assert!((account[0].mean_queue_packets - 0.06).abs() < 1e-12);
}
