//! Compares data structures for the pending events: the measurement behind docs/adr/0001.
//!
//! The workload is a ring of routers joined by N links that only forward, each with some packets in flight, with
//! equal or mixed delays. The structures are a binary heap with an entry per packet; a 4-ary heap and a winner tree
//! over the heads of per-link queues; and the lanes of `EventQueue`. The output is nanoseconds per packet-hop, median
//! of five.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use ackclock_engine::{EventQueue, LaneHint, Next, Tie};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hint::black_box;
use std::time::Instant;
use units::Time;

const HOPS: u64 = 2_000_000;

/// Delay of link `i`, ps: a few classes, or all different.
fn delay(i: u64, mixed: bool) -> u64 {
    if mixed { 10_000_000_000 + i * 7_919_000 } else { 10_000_000_000 + (i % 4) * 1_000_000_000 }
}

/// 1000 bytes at 1 Gb/s.
const TRANSMISSION: u64 = 8_000_000;

#[derive(Clone, Copy)]
struct Packet {
    link: u32,
    _body: [u32; 9],
}

/// Links that are busy until a time: the model that all structures share.
struct Links {
    free_at: Vec<u64>,
    mixed: bool,
}

impl Links {
    fn send(&mut self, link: u32, now: u64) -> u64 {
        let free = &mut self.free_at[link as usize];
        *free = now.max(*free) + TRANSMISSION;
        *free + delay(link as u64, self.mixed)
    }
}

fn seeds(links: u64, each: u64) -> impl Iterator<Item = (u32, u64)> {
    (0..links * each).map(move |i| ((i % links) as u32, i * 1_237_000))
}

fn heap_of_packets(links: u64, each: u64, mixed: bool) {
    let mut model = Links { free_at: vec![0; links as usize], mixed };
    let mut heap = BinaryHeap::new();
    let mut bodies = Vec::new();
    for (n, (link, at)) in seeds(links, each).enumerate() {
        bodies.push(Packet { link, _body: [0; 9] });
        heap.push(Reverse((model.send(link, at), n as u64, n as u32)));
    }
    let seeded = heap.len() as u64;
    for order in seeded..seeded + HOPS {
        let Some(Reverse((now, _, slot))) = heap.pop() else { return };
        let packet = &mut bodies[slot as usize];
        packet.link = (packet.link + 1) % links as u32;
        heap.push(Reverse((model.send(packet.link, now), order, slot)));
    }
    black_box(heap.len());
}

/// Per-link queues whose heads lie in a 4-ary heap or in a winner tree.
fn heads(links: u64, each: u64, mixed: bool, tree: bool) {
    let mut model = Links { free_at: vec![0; links as usize], mixed };
    let mut queues: Vec<VecDeque<(u64, Packet)>> = (0..links).map(|_| VecDeque::new()).collect();
    for (link, at) in seeds(links, each) {
        let arrival = model.send(link, at);
        queues[link as usize].push_back((arrival, Packet { link, _body: [0; 9] }));
    }
    let key = |at: u64, link: u64| (at as u128) << 64 | link as u128;
    let leaves = (links as usize).next_power_of_two();
    let mut winners = vec![u128::MAX; 2 * leaves];
    let mut heap: Vec<u128> = Vec::new();
    for (link, queue) in queues.iter().enumerate() {
        if let Some((at, _)) = queue.front() {
            update(&mut winners, leaves, link, key(*at, link as u64));
            push(&mut heap, key(*at, link as u64));
        }
    }
    for _ in 0..HOPS {
        let first = if tree { winners[1] } else { pop(&mut heap) };
        let (now, link) = ((first >> 64) as u64, first as u64);
        let Some((_, mut packet)) = queues[link as usize].pop_front() else { return };
        let head = queues[link as usize].front().map(|(at, _)| key(*at, link));
        match (tree, head) {
            (true, head) => update(&mut winners, leaves, link as usize, head.unwrap_or(u128::MAX)),
            (false, Some(head)) => push(&mut heap, head),
            (false, None) => {}
        }
        packet.link = (packet.link + 1) % links as u32;
        let arrival = model.send(packet.link, now);
        let queue = &mut queues[packet.link as usize];
        queue.push_back((arrival, packet));
        if queue.len() == 1 {
            let head = key(arrival, packet.link as u64);
            if tree {
                update(&mut winners, leaves, packet.link as usize, head)
            } else {
                push(&mut heap, head)
            }
        }
    }
    black_box(&queues);
}

fn update(winners: &mut [u128], leaves: usize, leaf: usize, key: u128) {
    let mut at = leaves + leaf;
    winners[at] = key;
    while at > 1 {
        winners[at / 2] = winners[at].min(winners[at ^ 1]);
        at /= 2;
    }
}

fn push(heap: &mut Vec<u128>, key: u128) {
    let mut at = heap.len();
    heap.push(key);
    while at > 0 && heap[(at - 1) / 4] > key {
        heap[at] = heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    heap[at] = key;
}

fn pop(heap: &mut Vec<u128>) -> u128 {
    let Some(&first) = heap.first() else { return u128::MAX };
    let Some(last) = heap.pop() else { return first };
    let mut at = 0;
    while let Some(least) = (4 * at + 1..(4 * at + 5).min(heap.len())).min_by_key(|i| heap[*i]) {
        if heap[least] >= last {
            break;
        }
        heap[at] = heap[least];
        at = least;
    }
    if let Some(place) = heap.get_mut(at) {
        *place = last;
    }
    first
}

fn lanes(links: u64, each: u64, mixed: bool) {
    let mut model = Links { free_at: vec![0; links as usize], mixed };
    let mut event_queue: EventQueue<Packet> = EventQueue::new();
    let mut hints: Vec<LaneHint> = (0..links).map(|i| LaneHint::new(i as usize % 4)).collect();
    for (link, at) in seeds(links, each) {
        let arrival = Time::from_ps(model.send(link, at));
        let tie = Tie::scheduled(arrival, Time::from_ps(at), link);
        event_queue.push(arrival, tie, &Packet { link, _body: [0; 9] }, &mut hints[link as usize], |_| ());
    }
    for _ in 0..HOPS {
        let Next::Item(packet) = event_queue.pop(Time::NEVER) else { return };
        let link = (packet.link + 1) % links as u32;
        let arrival = Time::from_ps(model.send(link, event_queue.now().ps()));
        let tie = Tie::scheduled(arrival, event_queue.now(), link);
        event_queue.push(arrival, tie, &packet, &mut hints[link as usize], |packet| packet.link = link);
    }
    black_box(event_queue.events());
}

fn median(run: impl Fn()) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed().as_nanos() as f64 / HOPS as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[2]
}

fn main() {
    println!("Order of events, ns per packet-hop, setting up included (median of 5)");
    println!(
        "{:>24} {:>12} {:>12} {:>12} {:>12}",
        "links x packets, delays", "packet heap", "heads heap", "heads tree", "lanes"
    );
    for mixed in [false, true] {
        for (links, each) in
            [(4, 1000), (16, 100), (64, 100), (256, 100), (1024, 20), (4096, 10), (65_536, 4)]
        {
            let what = format!("{links} x {each}, {}", if mixed { "mixed" } else { "alike" });
            println!(
                "{what:>24} {:>12.1} {:>12.1} {:>12.1} {:>12.1}",
                median(|| heap_of_packets(links, each, mixed)),
                median(|| heads(links, each, mixed, false)),
                median(|| heads(links, each, mixed, true)),
                median(|| lanes(links, each, mixed)),
            );
        }
    }
}
