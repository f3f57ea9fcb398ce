//! The vectors and closed forms of the model.

use super::blocks::BlockSizes;
use super::config::{CellOptions, Drx, Handover, UserOptions};
use super::modulation::{Modulation, error_probability};
use super::schedulers::{Average, SlotScheduler};
use super::user::User;
use super::{Cell, UserAccount};
use crate::ids::LinkId;
use crate::signal::{Fading, Signal, SignalStreams, Variation, fading_correlation};
use crate::turn::Turn;
use crate::turn::testing::PlainQueues;
use engine::Stream;
use params::{Value, Values};
use std::collections::VecDeque;
use units::{Rate, Span, Time};

fn options(kind: &'static str) -> CellOptions {
    let mut values = Values::defaults(CellOptions::KEYS, 0);
    values.set("name", Value::Text("cell".into()));
    values.set("station", Value::Text("station".into()));
    CellOptions { kind, ..CellOptions::new(&values) }
}

fn user(snr: f64, mcs: Option<u8>) -> UserOptions {
    UserOptions { snr: vec![(Span::ZERO, snr)], mcs, ..UserOptions::with_defaults(0) }
}

fn streams(entity: &str) -> SignalStreams {
    let stream = |purpose: &str| Stream::new(1, purpose, entity);
    SignalStreams { fading: stream("fading"), shadowing: stream("shadowing"), blockage: stream("blockage") }
}

fn fading_of(kmph: f64, carrier: f64) -> Variation {
    Variation { fading: Some(fading(kmph, carrier)), ..Variation::default() }
}

fn fading(kmph: f64, carrier: f64) -> Fading {
    let speed = format!("{kmph}kmph").parse().unwrap();
    Fading { speed, carrier, ..Fading::with_defaults(0) }
}

fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

fn span(us: u64) -> Span {
    Span::from_ps(us * 1_000_000)
}

/// A cell with one direction of one user; link 0.
fn single(options: &CellOptions, user: &UserOptions, up: bool) -> Cell {
    let mut cell = Cell::new(options.clone());
    let number = cell.add_user(user);
    cell.add_direction(LinkId(0), number, up, user, streams("u"), Stream::new(1, "harq", "u"));
    cell
}

/// Packets of `size` bytes arrive at these times, us: when each is released, us, or nothing if it is lost.
fn release_times(cell: &mut Cell, size: u32, arrivals: &[u64]) -> Vec<Option<u64>> {
    let mut queues = PlainQueues(vec![VecDeque::new()]);
    let mut released = Vec::new();
    let mut arrivals = arrivals.iter().map(|at| us(*at)).peekable();
    let mut seq = 0;
    loop {
        let slot = cell.next_slot();
        if let Some(at) = arrivals.next_if(|at| slot.is_none_or(|slot| *at <= slot)) {
            queues.push(0, seq, size, at);
            seq += 1;
            cell.arrived(0, at);
        } else if let Some(slot) = slot {
            let mut turn = Turn::default();
            cell.serve(slot, &mut queues, &mut turn);
            for (_, at, packet) in turn.released {
                assert_eq!(packet.packet.packet.seq as usize, released.len(), "in order");
                released.push(packet.lost.is_none().then_some(at.ps() / 1_000_000));
            }
        } else {
            return released;
        }
    }
}

fn account(cell: &Cell) -> UserAccount {
    cell.directions().next().unwrap().2
}

#[test]
fn block_sizes_are_those_of_the_standards() {
    let lte = |mcs, blocks, layers| {
        let options = options("lte");
        BlockSizes::new(&options, &Modulation::new(&options), layers, 12).bytes(mcs, blocks) * 8
    };
    let widths = [6, 15, 25, 50, 75, 100];
    assert_eq!(widths.map(|blocks| lte(28, blocks, 1)), [4392, 11064, 18336, 36696, 55056, 75376]);
    assert_eq!(lte(28, 100, 2), 150_752);
    let schemes = [20, 16, 12, 8, 6, 4, 2];
    let recorded_in_ns3 = [39232, 30576, 19848, 14112, 10296, 7224, 4584];
    assert_eq!(schemes.map(|mcs| lte(mcs, 100, 1)), recorded_in_ns3);
    // TBS index 26, 110 blocks; index 6, one block, which breaks the row.
    assert_eq!([lte(28, 110, 1), lte(6, 1, 1), lte(0, 1, 1)], [75376, 328, 16]);
    let nr = |mcs, blocks, layers| {
        let options = options("nr");
        BlockSizes::new(&options, &Modulation::new(&options), layers, 12).bytes(mcs, blocks) * 8
    };
    let cases = [(27, 273, 4), (0, 1, 1), (10, 50, 2), (27, 273, 1), (5, 20, 1)];
    assert_eq!(
        cases.map(|(mcs, blocks, layers)| nr(mcs, blocks, layers)),
        [1_081_512, 24, 33_816, 270_576, 3904]
    );
}

#[test]
fn the_smallest_width_that_carries_the_bytes() {
    for kind in ["lte", "nr"] {
        let options = options(kind);
        let sizes = BlockSizes::new(&options, &Modulation::new(&options), 1, 12);
        for bytes in [1, 40, 1500, 4000] {
            let width = sizes.blocks_for(20, bytes, 100);
            assert!(sizes.bytes(20, width) >= bytes);
            assert!(width == 1 || sizes.bytes(20, width - 1) < bytes);
        }
        assert_eq!(sizes.blocks_for(20, 1_000_000, 100), 100);
    }
}

#[test]
fn peak_rates() {
    let nr = CellOptions { width: Some("100MHz"), ..options("nr") };
    let four = UserOptions { layers: 4, ..user(40.0, None) };
    assert_eq!(Cell::peak_rate(&nr, &four, false), Rate::from_bps(2_163_024_000));
    let lte = CellOptions { width: Some("20MHz"), ..options("lte") };
    let two = UserOptions { layers: 2, ..user(40.0, None) };
    assert_eq!(Cell::peak_rate(&lte, &two, true), Rate::from_bps(150_752_000));
    let tdd = CellOptions { tdd: Some("DDDSU".into()), ..nr.clone() };
    let share = |up| Cell::peak_rate(&tdd, &four, up).bps() as f64 / 2_163_024_000.0;
    assert_eq!(share(true), 0.2);
    let sizes = |symbols| BlockSizes::new(&nr, &Modulation::new(&nr), 4, symbols).bytes(27, 273) as f64;
    let down = (3.0 + sizes(8) / sizes(12)) / 5.0;
    assert!((share(false) - down).abs() < 1e-9, "three slots and a special one");
}

#[test]
fn reported_quality() {
    let of =
        |map: &'static str, snr| Modulation::new(&CellOptions { cqi_map: map, ..options("lte") }).cqi(snr);
    let snrs = [-10.0, 0.0, 5.0, 10.0, 15.0, 20.0];
    assert_eq!(snrs.map(|snr| of("awgn", snr)), [0, 4, 7, 9, 12, 15]);
    assert_eq!(snrs.map(|snr| of("gap", snr)), [0, 2, 4, 7, 10, 12]);
    let lte = Modulation::new(&options("lte"));
    assert_eq!([1, 2, 3, 9, 15].map(|cqi| lte.mcs_of(cqi)), [0, 0, 2, 15, 28]);
    assert_eq!(lte.cqi_of(28), 15);
    let nr = Modulation::new(&options("nr"));
    assert_eq!([1, 2, 15].map(|cqi| nr.mcs_of(cqi)), [0, 1, 27]);
    for kind in ["lte", "nr"] {
        let (options, last) = (options(kind), options(kind).highest_mcs());
        let modulation = Modulation::new(&options);
        assert!(modulation.coding(last).is_some() && modulation.coding(last + 1).is_none());
    }
    // 256-QAM needs more than 64-QAM, at the same distance to capacity.
    assert!((25.0..26.0).contains(&nr.threshold(15)), "{}", nr.threshold(15));
    assert!((error_probability(0.0, 1) - 0.1).abs() < 1e-12);
    assert!(error_probability(0.0, 2) < 1e-4);
}

#[test]
fn fading_is_correlated_and_has_the_mean_of_one() {
    let rho = |kmph, carrier, us| fading_correlation(&fading(kmph, carrier), span(us));
    for (kmph, carrier, slot, expected) in
        [(3.0, 2.0, 1000, 0.999_695), (60.0, 2.0, 1000, 0.881_656), (3.0, 28.0, 125, 0.999_066)]
    {
        assert!((rho(kmph, carrier, slot) - expected).abs() < 1e-6);
    }
    let options = UserOptions { variation: fading_of(60.0, 2.0), ..user(0.0, None) };
    let mut signal = Signal::new(options.mean_snr(), &options.variation, span(1000), streams("f"));
    let mut power = |slot| libm::pow(10.0, signal.snr(slot) / 10.0);
    let n = 100_000;
    let powers: Vec<f64> = (0..n).map(|slot| power(3 * slot)).collect();
    let mean = powers.iter().sum::<f64>() / n as f64;
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
    let below = powers.iter().filter(|power| **power < 0.1).count() as f64 / n as f64;
    assert!((below - 0.095_163).abs() < 0.005, "exponential power: {below}");
    // The power's correlation over k slots is rho^2k.
    let pairs = powers.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum::<f64>() / (n - 1) as f64;
    let expected = libm::pow(rho(60.0, 2.0, 1000), 6.0);
    assert!((pairs - expected).abs() < 0.03, "{pairs} is not {expected}");
}

#[test]
fn blockage_has_its_share_of_time() {
    let blockage = crate::Blockage { clear: span(700_000), blocked: span(300_000), loss: 20.0 };
    let options = UserOptions {
        variation: Variation { blockage: Some(blockage), ..Variation::default() },
        ..user(10.0, None)
    };
    let mut signal = Signal::new(options.mean_snr(), &options.variation, span(1000), streams("b"));
    let blocked = (0..1_000_000u64).filter(|slot| signal.snr(*slot) < 0.0).count();
    assert!((blocked as f64 / 1e6 - 0.3).abs() < 0.03, "{blocked}");
}

/// Throughput of `users` with Rayleigh fading and equal means under a scheduler, over that of one alone.
fn gain(users: u32, rate: impl Fn(f64) -> f64) -> (f64, f64) {
    let slots = 150_000u64;
    let moving = UserOptions { variation: fading_of(300.0, 6.0), ..user(10.0, None) };
    let mut signals: Vec<Signal> = (0..users)
        .map(|n| Signal::new(moving.mean_snr(), &moving.variation, span(1000), streams(&format!("g{n}"))))
        .collect();
    let mut scheduler = SlotScheduler::new(&CellOptions { pf_window: 1000.0, ..options("lte") });
    let mut averages = vec![Average::default(); users as usize];
    let (mut total, mut alone, mut turns) = (0.0, 0.0, vec![0u64; users as usize]);
    for slot in 0..slots {
        let rates: Vec<f64> = signals.iter_mut().map(|signal| rate(signal.snr(slot))).collect();
        alone += rates[0];
        let metric = |n: usize, averages: &mut [Average], scheduler: &SlotScheduler| {
            scheduler.metric(slot, n as u32, users, rates[n], &mut averages[n])
        };
        let mut best = (0, f64::MIN);
        for n in 0..users as usize {
            let value = metric(n, &mut averages, &scheduler);
            if value > best.1 {
                best = (n, value);
            }
        }
        for n in 0..users as usize {
            let got = if n == best.0 { rates[n] } else { 0.0 };
            scheduler.served(n as u32, users, got as u32, &mut averages[n]);
        }
        total += rates[best.0];
        turns[best.0] += 1;
    }
    let spread = turns.iter().max().unwrap() - turns.iter().min().unwrap();
    (total / alone, spread as f64 / slots as f64 * users as f64)
}

#[test]
fn proportional_fairness_gains_as_in_the_closed_forms() {
    // Rates are whole bytes, so they are scaled. A window of 100 slots gains less with 16 users: 1.68 (the model too).
    let linear = |snr: f64| 1e4 * libm::pow(10.0, snr / 10.0);
    let capacity = |snr: f64| 1e5 * libm::log2(1.0 + libm::pow(10.0, snr / 10.0));
    for (users, harmonic, log) in [(1, 1.0, 1.0), (4, 2.0833, 1.4597), (16, 3.3807, 1.7320)] {
        let ((by_power, spread), (by_capacity, _)) = (gain(users, linear), gain(users, capacity));
        assert!((by_power / harmonic - 1.0).abs() < 0.03, "{users}: {by_power} is not {harmonic}");
        assert!((by_capacity / log - 1.0).abs() < 0.03, "{users}: {by_capacity} is not {log}");
        assert!(spread < 0.06, "equal time: {spread}");
    }
}

#[test]
fn repetitions_delay_as_in_the_closed_forms() {
    // At its threshold a tenth of the blocks fails once; 16 processes, so repetitions do not take the place of new blocks.
    let mut cell =
        single(&CellOptions { mu: 0, table: Some("64qam"), ..options("nr") }, &user(19.83, Some(28)), false);
    let slots = 100_000;
    let arrivals: Vec<u64> = (0..slots).map(|slot| slot * 1000).collect();
    let released = release_times(&mut cell, 544, &arrivals);
    let delays: Vec<u64> = released
        .iter()
        .zip(&arrivals)
        .map(|(at, arrival)| {
            let delay = at.unwrap() - arrival - 1000;
            assert_eq!(delay % 1000, 0, "whole slots");
            delay
        })
        .collect();
    let n = slots as f64;
    let mean = delays.iter().sum::<u64>() as f64 / n / 1000.0;
    let on_time = delays.iter().filter(|delay| **delay == 0).count() as f64 / n;
    assert!((mean / 2.8742 - 1.0).abs() < 0.02, "{mean}");
    assert!((on_time / 0.4305 - 1.0).abs() < 0.02, "{on_time}");
    let account = account(&cell);
    assert!((account.first_failures as f64 / n / 0.1 - 1.0).abs() < 0.02);
    assert!((account.held_back.seconds() * 1000.0 / n / (2.8742 - 0.8) - 1.0).abs() < 0.03);
}

#[test]
fn a_flow_at_a_few_packets_waits_for_its_own_repetitions_alone() {
    let mut cell = single(&options("lte"), &user(19.83, Some(28)), false);
    let arrivals: Vec<u64> = (0..20_000).map(|packet| packet * 20_000).collect();
    let released = release_times(&mut cell, 1000, &arrivals);
    let mean = released.iter().zip(&arrivals).map(|(at, arrival)| at.unwrap() - arrival - 1000).sum::<u64>()
        as f64
        / arrivals.len() as f64;
    assert!((mean / 800.0 - 1.0).abs() < 0.1, "p R = 0.8 ms: {mean} us");
}

#[test]
fn the_outer_loop_settles_at_its_target() {
    for (target, kmph) in [(0.1, 3.0), (0.01, 30.0)] {
        let moving = UserOptions { variation: fading_of(kmph, 2.0), ..user(15.0, None) };
        let mut cell = single(&CellOptions { bler_target: target, ..options("lte") }, &moving, false);
        release_times(&mut cell, 1500, &vec![0; 200_000]);
        let account = account(&cell);
        let rate = account.first_failures as f64 / account.blocks as f64;
        assert!((rate / target - 1.0).abs() < 0.05, "{rate} is not {target}");
    }
}

#[test]
fn what_is_given_up_is_sent_again_or_lost() {
    // One attempt, and a signal with which a tenth of the blocks fails.
    let of = |rlc: &'static str| {
        let options = CellOptions { attempts: 1, rlc, ..options("lte") };
        let mut cell = single(&options, &user(19.83, Some(28)), false);
        let arrivals: Vec<u64> = (0..2000).map(|packet| packet * 300_000).collect();
        let released = release_times(&mut cell, 1000, &arrivals);
        let delay = |(at, arrival): (&Option<u64>, &u64)| at.map(|at| at - arrival);
        (released.iter().zip(&arrivals).map(delay).collect::<Vec<_>>(), account(&cell))
    };
    let (delays, account) = of("am");
    let late = delays.iter().flatten().filter(|delay| **delay > 1000).count();
    assert!(delays.iter().all(|delay| delay.is_some_and(|delay| delay % 31_000 == 1000 || delay == 1000)));
    assert!((150..250).contains(&late) && account.lost == 0, "{late}");
    let (delays, account) = of("um");
    assert_eq!(delays.iter().filter(|delay| delay.is_none()).count() as u64, account.lost);
    assert!((150..250).contains(&account.lost) && account.attempts[8] == account.lost);
    // A packet behind a lost one waits for 35 ms.
    let options = CellOptions { attempts: 1, rlc: "um", ..options("lte") };
    let mut cell = single(&options, &user(19.83, Some(28)), false);
    let released = release_times(&mut cell, 1000, &(0..200).map(|packet| packet * 1000).collect::<Vec<_>>());
    let first = released.iter().position(Option::is_none).unwrap();
    assert_eq!(released[first + 1], Some((first as u64 + 1 + 35) * 1000));
}

#[test]
fn an_idle_terminal_asks_for_its_grant() {
    // One user, whose opportunities are at 0, 10, 20 ms.
    let wait = |options: &CellOptions, size, arrival| {
        let mut cell = single(options, &user(20.0, None), true);
        release_times(&mut cell, size, &[arrival])[0].unwrap() - arrival
    };
    let lte = options("lte");
    assert_eq!([0, 1, 5000, 10_000].map(|at| wait(&lte, 80, at)), [9000, 18_999, 14_000, 9000]);
    let mean = (0..1000).map(|k| wait(&lte, 80, 10 * k)).sum::<u64>() as f64 / 1000.0;
    assert!((mean / 14_000.0 - 1.0).abs() < 0.01, "{mean}");
    // What the first grant does not carry waits for one cycle more.
    assert_eq!(wait(&lte, 1000, 0), 17_000);
    let tdd = CellOptions {
        tdd: Some("DDDDU".into()),
        sr_period: span(2500),
        decode: span(1000),
        prepare: span(1000),
        ..options("nr")
    };
    assert_eq!(wait(&tdd, 80, 0), 7500);
}

#[test]
fn an_upload_is_served_by_its_reports() {
    let mut cell = single(&options("lte"), &user(22.0, None), true);
    let released = release_times(&mut cell, 1500, &vec![0; 1000]);
    assert_eq!(released.len(), 1000);
    let account = account(&cell);
    assert_eq!(account.requests, 1, "reports ride along");
    let seconds = released.last().unwrap().unwrap() as f64 / 1e6;
    let rate = 1000.0 * 1505.0 * 8.0 / seconds;
    assert!(rate > 0.9 * 36.696e6, "{rate}");
}

#[test]
fn a_sleeping_terminal_waits_for_its_on_duration() {
    let mut user = User::new(Some(Drx::with_defaults(0)), None);
    let ready = [15, 325, 400, 600].map(|ms| {
        let now = us(ms * 1000);
        user.active(now, true);
        user.ready(now, true).ps() / 1_000_000_000
    });
    assert_eq!(ready, [320, 325, 400, 640]);
}

#[test]
fn packets_wait_for_a_handover_or_are_lost() {
    let handover = |mode: &'static str| Handover {
        at: vec![span(15_000)],
        interruption: span(30_000),
        forwarding: span(5000),
        mode,
    };
    let moving = |mode, mcs| UserOptions { handover: Some(handover(mode)), ..user(40.0, mcs) };
    let arrivals: Vec<u64> = (0..7).map(|k| k * 10_000).collect();
    let starts = |released: Vec<Option<u64>>, slots: u64| -> Vec<u64> {
        released.into_iter().map(|at| at.map_or(0, |at| at / 1000 - slots)).collect()
    };
    let mut cell = single(&options("lte"), &moving("lossless", None), false);
    let released = starts(release_times(&mut cell, 100, &arrivals), 1);
    assert_eq!(released, [0, 10, 45, 45, 45, 50, 60]);
    assert_eq!(account(&cell).handovers, 1);
    // Packets that fill two blocks each.
    let narrow = CellOptions { width: Some("1.4MHz"), ..options("lte") };
    let mut cell = single(&narrow, &moving("lossless", Some(0)), false);
    let released = starts(release_times(&mut cell, 30, &arrivals), 2);
    assert_eq!(released, [0, 10, 45, 47, 49, 51, 60]);
    let mut cell = single(&options("lte"), &moving("seamless", None), false);
    let released = release_times(&mut cell, 100, &arrivals);
    let lost: Vec<bool> = released.iter().map(Option::is_none).collect();
    assert_eq!(lost, [false, false, true, true, true, false, false]);
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let check = |options: CellOptions| options.check(|_| false).unwrap_err().0;
    assert_eq!(check(CellOptions { mu: 2, ..options("nr") }), "mu");
    assert_eq!(check(CellOptions { table: Some("256qam"), ..options("lte") }), "table");
    assert_eq!(check(CellOptions { width: Some("100MHz"), ..options("lte") }), "width");
    assert_eq!(check(CellOptions { tdd: Some("DDD".into()), ..options("nr") }), "tdd");
    assert_eq!(check(CellOptions { tdd: Some("DXU".into()), ..options("nr") }), "tdd");
    let blocks = Some(vec![(Span::ZERO, 200)]);
    assert_eq!(check(CellOptions { blocks, ..options("lte") }), "blocks");
    assert_eq!(options("lte").check(|key| key == "tdd").unwrap_err().0, "tdd");
    assert_eq!(user(15.0, Some(28)).check(&options("nr")).unwrap_err().0, "mcs");
    let late = UserOptions { snr: vec![(span(5), 15.0)], ..user(15.0, None) };
    assert_eq!(late.check(&options("lte")).unwrap_err().0, "snr");
}
