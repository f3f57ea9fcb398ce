//! The threads of a run: each advances its parts as far as the other parts permit.

use super::part::{Part, receive};
use super::plan::PartPlan;
use crate::clock::{cpu_time, wall_time};
use crate::simulation::border::Message;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::Time;

/// What the threads share of a part.
#[derive(Debug, Default)]
pub(super) struct Shared {
    times: CacheLine<Times>,
    messages: CacheLine<Mutex<Vec<Message>>>,
}

/// A value in cache lines that nothing else is in, so that threads wait only for what they need.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CacheLine<T>(T);

#[derive(Debug, Default)]
struct Times {
    /// All messages of the part from now on leave at this time (ps) or later.
    clock: AtomicU64,
    /// The time (ps) of the next event in the queue of the part, or an earlier one.
    next: AtomicU64,
}

impl Shared {
    /// The messages for the part.
    pub fn messages(&self) -> MutexGuard<'_, Vec<Message>> {
        self.messages.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clock(&self) -> u64 {
        self.times.0.clock.load(Ordering::Acquire)
    }
}

/// What the threads of one call have in common.
pub(super) struct Threads<'a> {
    plan: &'a PartPlan,
    shared: &'a [Shared],
    end: Time,
    stop: AtomicBool,
    /// Events of a part, and the wall time (ns), after which all threads stop.
    events: u64,
    until: u64,
    waiting: Mutex<Waiting>,
    /// How often all threads have waited at once.
    rounds: AtomicU64,
}

/// The threads that have nothing to do until others advance.
struct Waiting {
    /// Threads whose parts are not at the end of the run.
    active: usize,
    /// Those of them that wait.
    count: usize,
}

/// Rounds without an event after which a thread yields its processor.
const MANY_ROUNDS: u32 = 200_000;
/// Wall time of a call, ns: signals are looked at between calls.
const LONGEST: u64 = 50_000_000;
/// Steps without an event after which a thread waits until all do.
const EMPTY_STEPS: u32 = 32;

/// What a step has done.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// The parts before this one have not advanced.
    Waits,
    /// There was no event up to the horizon.
    Empty,
    Events,
}

impl Threads<'_> {
    /// `threads` threads that advance parts to the end of the run, and stop after `events` events of a part or after [`LONGEST`].
    pub fn new<'a>(
        plan: &'a PartPlan,
        shared: &'a [Shared],
        end: Time,
        threads: usize,
        events: u64,
    ) -> Threads<'a> {
        Threads {
            plan,
            shared,
            end,
            stop: AtomicBool::new(false),
            events: events + 1,
            until: wall_time() + LONGEST,
            waiting: Mutex::new(Waiting { active: threads, count: 0 }),
            rounds: AtomicU64::new(0),
        }
    }

    /// Has all threads stop soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Advances parts to the end of the run, or until a thread stops all. Returns the CPU time of the thread, ns, and whether the parts
    /// are at the end.
    pub fn advance(&self, parts: &mut [(usize, &mut Part)]) -> (u64, bool) {
        let cpu = cpu_time();
        let lasts: Vec<u64> = parts.iter().map(|(_, part)| part.event_queue.events() + self.events).collect();
        let (mut messages, mut idle, mut empty, mut rounds) = (Vec::new(), 0, 0, 0u32);
        while !self.stop.load(Ordering::Relaxed) && !self.have_ended(parts) {
            let (mut processed, mut advanced) = (false, false);
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(256) && wall_time() > self.until {
                self.stop();
            }
            for ((number, part), last) in parts.iter_mut().zip(&lasts) {
                let step = self.step(*number, part, &mut messages);
                processed |= step == Step::Events;
                advanced |= step != Step::Waits;
                if part.event_queue.events() > *last {
                    self.stop();
                }
            }
            empty = if processed { 0 } else { empty + u32::from(advanced) };
            idle = if advanced { 0 } else { idle + 1 };
            if empty > EMPTY_STEPS && !advanced {
                self.wait_for_all(parts);
            }
            pause(idle);
        }
        let done = self.have_ended(parts);
        let mut waiting = self.waiting();
        waiting.active -= 1;
        self.end_wait(&mut waiting);
        (cpu_time() - cpu, done)
    }

    fn have_ended(&self, parts: &[(usize, &mut Part)]) -> bool {
        parts.iter().all(|(number, _)| self.has_ended(*number))
    }

    fn has_ended(&self, number: usize) -> bool {
        self.shared[number].clock() > self.end.ps()
    }

    /// The time (ps) before which no message arrives at a part that does not wait there already.
    fn horizon(&self, number: usize) -> u64 {
        let incoming = self.plan.incoming[number].iter();
        let clocks = incoming.map(|(from, delay)| self.shared[*from].clock().saturating_add(delay.ps()));
        clocks.min().unwrap_or(u64::MAX)
    }

    /// Advances a part as far as is certain now.
    fn step(&self, number: usize, part: &mut Part, messages: &mut Vec<Message>) -> Step {
        let shared = &self.shared[number];
        let clock = shared.clock();
        // The clocks before the messages: a message that is not there then arrives at the horizon or later.
        let horizon = self.horizon(number);
        if horizon <= clock || clock > self.end.ps() {
            return Step::Waits;
        }
        std::mem::swap(&mut *shared.messages(), messages);
        receive(part, messages);
        // Not more than the lookahead at once: otherwise the parts do twice as much in turns, and one waits for the other.
        let until = horizon.min(clock.saturating_add(self.plan.lookahead.ps()));
        let limit = self.end.min(Time::from_ps(until - 1));
        let before = part.event_queue.events();
        part.advance_unmeasured(u64::MAX, limit);
        self.send(part);
        let next = part.event_queue.next_at().ps();
        let clock = next.min(horizon).min(self.end.ps() + 1);
        shared.times.0.next.store(next, Ordering::Relaxed);
        shared.times.0.clock.store(clock, Ordering::Release);
        if part.event_queue.events() > before { Step::Events } else { Step::Empty }
    }

    /// Puts the messages of a part where the other parts take them.
    fn send(&self, part: &mut Part) {
        let Some(border) = &mut part.border else { return };
        for (shared, outgoing) in self.shared.iter().zip(&mut border.outgoing) {
            if outgoing.is_empty() {
                continue;
            }
            let mut waiting = shared.messages();
            if waiting.is_empty() {
                std::mem::swap(&mut *waiting, outgoing); // without a copy
            } else {
                waiting.append(outgoing);
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all threads do, whereupon all clocks advance to the next event, or until another part advances. Without
    /// this, clocks between two distant events advance by the delay of a link at each step.
    fn wait_for_all(&self, parts: &[(usize, &mut Part)]) {
        let mut waiting = self.waiting();
        let number = self.rounds.load(Ordering::Acquire);
        waiting.count += 1;
        self.end_wait(&mut waiting);
        drop(waiting);
        let cannot_advance =
            |part: usize| self.horizon(part) <= self.shared[part].clock() || self.has_ended(part);
        let mut idle = 0;
        while self.rounds.load(Ordering::Acquire) == number
            && !self.stop.load(Ordering::Relaxed)
            && parts.iter().all(|(part, _)| cannot_advance(*part))
        {
            idle += 1;
            pause(idle);
        }
        let mut waiting = self.waiting();
        if self.rounds.load(Ordering::Acquire) == number {
            waiting.count -= 1;
        }
    }

    /// If all threads wait, advances all clocks to the next event: nothing happens before the first event in a queue or a message.
    fn end_wait(&self, waiting: &mut Waiting) {
        if waiting.count == 0 || waiting.count < waiting.active {
            return;
        }
        let first_message = |shared: &Shared| shared.messages().iter().map(|message| message.at.ps()).min();
        let next = |shared: &Shared| {
            shared.times.0.next.load(Ordering::Relaxed).min(first_message(shared).unwrap_or(u64::MAX))
        };
        let first = self.shared.iter().map(next).min().unwrap_or(u64::MAX).min(self.end.ps() + 1);
        for shared in self.shared {
            shared.times.0.clock.fetch_max(first, Ordering::AcqRel);
        }
        waiting.count = 0;
        self.rounds.fetch_add(1, Ordering::AcqRel);
    }
}

fn pause(idle: u32) {
    if idle > MANY_ROUNDS {
        std::thread::yield_now();
    } else if idle > 0 {
        std::hint::spin_loop();
    }
}
