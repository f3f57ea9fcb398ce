//! The event queue compared with a sorted list: both give the same events in the same order.

use ackclock_engine::{EventQueue, LaneHint, Next, Tie};
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::{Span, Time};

#[derive(Clone, Debug)]
enum Op {
    /// Push an item this many picoseconds ahead, from source 0 to 5, with this rank among the items of its time.
    Push(u64, usize, u64),
    /// Set timer 0 to 3 this many picoseconds ahead.
    Set(u32, u64),
    Stop(u32),
    Pop,
}

fn op() -> impl Strategy<Value = Op> {
    // Spans of every size, ties among them, some beyond the timers' near stretch.
    let ahead = prop_oneof![4 => 0u64..50, 2 => 0u64..100_000, 1 => (0u64..64).prop_map(|n| n << 31), 1 => (0u64..40).prop_map(|n| n << 40)];
    prop_oneof![
        5 => (ahead.clone(), 0usize..6, 0u64..4).prop_map(|(t, s, r)| Op::Push(t, s, r)),
        2 => (0u32..4, ahead).prop_map(|(id, t)| Op::Set(id, t)),
        1 => (0u32..4).prop_map(Op::Stop),
        5 => Just(Op::Pop),
    ]
}

/// The expected order: by time, then timers in the order in which they were set, then items by their tie. A timer that was
/// moved to a later time is set again when its older entry is processed.
#[derive(Default)]
struct Model {
    events: BTreeMap<(u64, bool, u64), What>,
    due: [Option<u64>; 4],
    entry: [Option<u64>; 4],
    order: u64,
    now: u64,
}

#[derive(Clone, Copy)]
enum What {
    Item(u64),
    Timer(u32),
}

impl Model {
    fn add(&mut self, at: u64, id: u32) {
        self.events.insert((at, false, self.order), What::Timer(id));
        self.order += 1;
    }
    fn set(&mut self, id: u32, at: u64) {
        self.due[id as usize] = Some(at);
        if self.entry[id as usize].is_none_or(|entry| at < entry) {
            self.entry[id as usize] = Some(at);
            self.add(at, id);
        }
    }
    fn pop(&mut self) -> Option<(u64, Next<u64>)> {
        while let Some(((at, _, _), what)) = self.events.pop_first() {
            self.now = at;
            match what {
                What::Item(item) => return Some((at, Next::Item(item))),
                What::Timer(id) => {
                    let i = id as usize;
                    if self.entry[i] != Some(at) {
                        continue;
                    }
                    self.entry[i] = None;
                    match self.due[i] {
                        Some(due) if due == at => {
                            self.due[i] = None;
                            return Some((at, Next::Timer(id)));
                        }
                        Some(due) => {
                            self.entry[i] = Some(due);
                            self.add(due, id);
                        }
                        None => {}
                    }
                }
            }
        }
        None
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn same_order_as_a_sorted_list(ops in prop::collection::vec(op(), 0..400)) {
        let (mut event_queue, mut model) = (EventQueue::new(), Model::default());
        event_queue.add_timers(4);
        let mut hints = [LaneHint::default(); 6];
        let mut name = 0u64;
        let check = |event_queue: &mut EventQueue<u64>, model: &mut Model| {
            let got = event_queue.pop(Time::from_ps(u64::MAX - 1));
            match model.pop() {
                Some((at, expected)) => {
                    prop_assert_eq!(got, expected);
                    prop_assert_eq!(event_queue.now().ps(), at);
                }
                None => prop_assert_eq!(got, Next::Nothing),
            }
            Ok(())
        };
        for op in ops {
            // Both clocks stand at the last event.
            match op {
                Op::Push(ahead, source, rank) => {
                    name += 1;
                    let (at, tie) = (event_queue.now() + Span::from_ps(ahead), rank << 32 | name);
                    event_queue.push(at, Tie::counted(tie), &0, &mut hints[source], |item| *item = name);
                    model.events.insert((at.ps(), true, tie), What::Item(name));
                }
                Op::Set(id, ahead) => {
                    event_queue.set_timer(id, event_queue.now() + Span::from_ps(ahead));
                    model.set(id, event_queue.now().ps() + ahead);
                }
                Op::Stop(id) => {
                    event_queue.set_timer(id, Time::NEVER);
                    model.due[id as usize] = None;
                }
                Op::Pop => check(&mut event_queue, &mut model)?,
            }
            let first = model.events.first_key_value().map_or(u64::MAX, |((at, ..), _)| *at);
            prop_assert!(event_queue.next_at().ps() <= first); // a border of timers can come before it
        }
        while !model.events.is_empty() {
            check(&mut event_queue, &mut model)?;
        }
    }
}

#[test]
fn more_sources_than_lanes() {
    // Decreasing times: every item needs a lane of its own; the last ones go to the calendar.
    let mut event_queue = EventQueue::new();
    let n = 600u64;
    for i in 0..n {
        event_queue.push(Time::from_ps(10_000 - i), Tie::counted(i), &i, &mut LaneHint::default(), |_| ());
    }
    assert_eq!(event_queue.in_flight().count(), n as usize);
    for i in (0..n).rev() {
        assert_eq!(event_queue.pop(Time::from_ps(20_000)), Next::Item(i));
    }
    assert_eq!(event_queue.pop(Time::from_ps(20_000)), Next::Nothing);
}

#[test]
fn nothing_beyond_the_horizon() {
    let mut event_queue = EventQueue::new();
    event_queue.push(Time::from_ps(11), Tie::counted(0), &1u64, &mut LaneHint::default(), |_| ());
    assert_eq!(event_queue.pop(Time::from_ps(10)), Next::Nothing);
    assert_eq!(event_queue.pop(Time::from_ps(11)), Next::Item(1));
}

#[test]
fn items_of_one_source_and_one_tie_stay_in_their_order() {
    let mut stream = ackclock_engine::Stream::new(1, "order", "test");
    for round in 0..200 {
        let mut event_queue = EventQueue::new();
        if round % 2 == 1 {
            // No lane is free: later items precede those in all lanes, and go to the calendar.
            for lane in 0..63 {
                let at = Time::from_ps(1_000_000 - lane);
                event_queue.push(at, Tie::counted(0), &(4, 0), &mut LaneHint::default(), |_| ());
            }
        }
        let mut hints = [LaneHint::default(); 4];
        let mut times = [0u64; 4]; // a link delivers in the order in which it sends
        let mut expected = Vec::new();
        for number in 0..40u32 {
            let source = (stream.uniform() * 4.0) as usize;
            let later = (stream.uniform() * 1.5) as u64;
            hints[source].set_repeats(later == 0);
            times[source] += later;
            let at = Time::from_ps(times[source]);
            expected.push((at, source, number));
            event_queue.push(at, Tie::counted(1), &(source, number), &mut hints[source], |_| ());
        }
        expected.sort_by_key(|(at, ..)| *at);
        let mut popped = Vec::new();
        while let Next::Item((source, number)) = event_queue.pop(Time::NEVER) {
            popped.push((event_queue.now(), source, number));
        }
        for source in 0..4 {
            let of = |list: &[(Time, usize, u32)]| -> Vec<_> {
                list.iter().filter(|i| i.1 == source).copied().collect()
            };
            assert_eq!(of(&popped), of(&expected));
        }
    }
}
