//! ACKs that no receiver sends: the sender with recovery `rack` keeps its counts consistent and never stops.

use ackclock_transport::{AckOptions, Block, EcnFeedback, Options, RecordingContext, Sender, Setup};
use cc::{AnyController, FlowInfo};
use net::{EcnEcho, Packet, PacketKind, RouterReply};
use proptest::prelude::*;
use std::sync::Arc;
use units::{Span, Time};

fn sender(options: Options) -> (Sender, RecordingContext) {
    let options = Options { syn: false, delay_growth: false, ecn: true, ..options };
    let flow = FlowInfo {
        initial_window: 10.0,
        initial_ssthresh: f64::INFINITY,
        max_window: f64::INFINITY,
        arithmetic: options.arithmetic(),
        fine_clock: false,
        abe: false,
        packet: 1448,
        seed: 1,
        hops: 0,
    };
    let controller = AnyController::with_defaults("cubic", &flow).unwrap();
    let setup = Setup { flow: 0, route: 0, segments: None, clock_phase: Span::ZERO, quick_start_path: false };
    let mut sender = Sender::new(setup, Arc::new(options), controller);
    let mut host = RecordingContext::default();
    sender.on_start(&mut host);
    (sender, host)
}

/// An input: milliseconds before it; then an ACK (number, blocks, timestamp echo in ms, ECN echo) or a timer.
type Input = (u64, u32, Vec<(u32, u32)>, u64, bool, bool);

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let block = (0u32..60, 0u32..60);
    let blocks = prop::collection::vec(block, 0..4);
    prop::collection::vec((0u64..80, 0u32..50, blocks, any::<u64>(), any::<bool>(), any::<bool>()), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn counts_stay_consistent(
        inputs in inputs(), sack in any::<bool>(), timestamps in any::<bool>(), accurate in any::<bool>(),
    ) {
        let ecn_feedback = if accurate { EcnFeedback::Accurate } else { EcnFeedback::Classic };
        let (mut sender, mut host) = sender(Options { sack, timestamps, ecn_feedback, ..Options::linux() });
        for (wait, ack, blocks, echo, ece, fires) in inputs {
            host.now += Span::from_ms(wait);
            if let Some((_, at)) = host.first_timer()
                && fires
            {
                host.now = host.now.max(at);
                host.take_timer();
                sender.on_retransmit_timer(&mut host);
            } else {
                let mut options = AckOptions::NONE;
                for (start, end) in blocks {
                    options.blocks.push(Block { start, end });
                }
                // Any field and any counters.
                let mut feedback = EcnEcho::from_flag(ece);
                if accurate {
                    feedback = EcnEcho::from_ace(wait as u8);
                    let counters = RouterReply::EcnBytes { fields: 3, ect: echo as u32, ce: (echo >> 32) as u32 };
                    options.reply = if ece { counters } else { RouterReply::None };
                }
                // Echoes of any time: also of the future, as after a wrap of the clock.
                let echo = Time::from_ps(echo % (1 << 60));
                let packet = Packet { ece: feedback, echo, ..Packet::new(PacketKind::Ack, 0, 0, ack, 52, host.now) };
                sender.on_ack(&mut host, &packet, &options);
            }
            let counts = sender.snapshot().unwrap();
            prop_assert!(counts.sacked_out + counts.lost_out <= counts.packets_out, "{:?}", counts);
            prop_assert!(counts.retrans_out <= counts.packets_out, "{:?}", counts);
            prop_assert!(counts.packets_out == 0 || host.first_timer().is_some(), "data is outstanding without a timer");
        }
    }
}

#[test]
fn an_ack_of_data_never_sent_changes_nothing() {
    let (mut sender, mut host) = sender(Options::linux());
    let before = sender.snapshot().unwrap();
    let packet = Packet::new(PacketKind::Ack, 0, 0, 5000, 52, host.now);
    sender.on_ack(&mut host, &packet, &AckOptions::NONE);
    assert_eq!((sender.snapshot().unwrap(), host.sent.len()), (before, 10));
}

#[test]
fn a_storm_of_dsacks_is_not_believed() {
    let (mut sender, mut host) = sender(Options::linux());
    let mut options = AckOptions::NONE;
    options.blocks.push(Block { start: 0, end: 1 });
    for ms in 1..50 {
        host.now = Time::ZERO + Span::from_ms(ms);
        let packet = Packet::new(PacketKind::Ack, 0, 0, 1, 52, host.now);
        sender.on_ack(&mut host, &packet, &options);
    }
    // Nothing was retransmitted, so no duplicate can have arrived.
    assert_eq!(sender.snapshot().unwrap().dsacks, 0);
}
