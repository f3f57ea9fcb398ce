//! Random losses, marks and reordering: what must hold for every controller on every path.

mod common;

use ackclock_quic::{Config, Pacing, missing_signal};
use cc::{CONTROLLERS, Controller, Phase};
use common::{Path, Pipe, Treatment, chance, controller};
use proptest::prelude::*;
use units::{Rate, Span, Time};

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    name: usize,
    drop: u64,
    mark: u64,
    late: u64,
    queue: usize,
    pacing: Pacing,
    ecn: bool,
    bytes: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let numbers = (any::<u64>(), 0..CONTROLLERS.len(), 0..80_u64, 0..200_u64, 0..50_u64, 3..60_usize);
    let rest = (prop::sample::select(Pacing::ALL.to_vec()), any::<bool>(), 1..400_000_u64);
    (numbers, rest).prop_map(|((seed, name, drop, mark, late, queue), ((pacing, _), ecn, bytes))| Case {
        seed,
        name,
        drop,
        mark,
        late,
        queue,
        pacing,
        ecn,
        bytes,
    })
}

fn run(case: &Case) -> Option<Pipe> {
    let config = Config {
        ecn: case.ecn,
        l4s: case.ecn && case.seed & 1 == 1,
        pacing: case.pacing,
        seed: case.seed,
        ..Config::default()
    };
    let quic_controller = controller(CONTROLLERS[case.name].descriptor.name, &config, &[]);
    if missing_signal(quic_controller.needs(), &config).is_some() {
        return None;
    }
    let Case { seed, drop, mark, late, .. } = *case;
    let path = Path {
        rate: Rate::from_bps(10_000_000),
        queue: case.queue,
        plan: Box::new(move |n, _| Treatment {
            drop: chance(seed, n, 1) < drop,
            mark: chance(seed, n, 2) < mark,
            extra: if chance(seed, n, 3) < late {
                Span::from_ms(chance(seed, n, 4) / 50)
            } else {
                Span::ZERO
            },
        }),
        ..Path::default()
    };
    let mut pipe = Pipe::new(&config, quic_controller, path);
    pipe.watch = Some(Box::new(|now, handle| {
        let state = handle.lock();
        assert!(state.controller().cwnd() >= 0.0 && state.window_bytes() >= 2 * 1472, "{now:?}");
        assert!(state.in_flight().bytes >= state.in_flight().packets as u64);
        let stats = state.stats();
        let known = stats.acked_packets + stats.lost_packets + state.in_flight().packets as u64;
        assert_eq!(stats.sent_packets, known, "{now:?} {stats:?}");
    }));
    pipe.ends[0].write(case.bytes, true);
    pipe.open();
    pipe.run(Time::ZERO + Span::from_ms(200_000));
    Some(pipe)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn all_bytes_arrive_and_all_packets_are_accounted_for(case in cases()) {
        let Some(pipe) = run(&case) else { return Ok(()) };
        let stats = pipe.stats();
        prop_assert_eq!(pipe.ends.each_ref().map(|end| end.connection_error()), [None; 2]);
        prop_assert_eq!(pipe.delivered(), case.bytes, "{:?}", stats);
        prop_assert!(pipe.ends[0].completed().is_some());
        let stack = pipe.ends[0].stack_stats().map(|stats| stats.path.lost_packets);
        let state = pipe.handle.lock();
        prop_assert_eq!((state.in_flight().bytes, state.in_flight().packets), (0, 0));
        prop_assert_eq!(stats.unmatched_acks, 0);
        prop_assert!(stack.is_some_and(|lost| lost >= stats.lost_packets), "{:?} {:?}", stack, stats);
        prop_assert!(stats.ce_marks <= pipe.marked);
        // CDG asks for reductions by itself (`Controller::reduce_now`), and no other controller does.
        let asks = CONTROLLERS[case.name].descriptor.name == "cdg";
        prop_assert!(asks || stats.cwnd_reductions <= stats.loss_events + stats.ce_marks);
        prop_assert!(stats.rtt_count == 0 || stats.rtt_min >= Span::from_ms(20));
        prop_assert!(state.phase() != Phase::Cwr || case.ecn || asks);
        drop(state);
        let again = run(&case).expect("it ran before");
        prop_assert_eq!(&again.log, &pipe.log);
        prop_assert_eq!(again.stats(), stats);
    }
}
