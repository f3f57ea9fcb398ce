//! A run on several threads, each of which advances parts of the network.
//!
//! Each part is a simulation with a copy of the whole network. It has the events at its nodes, and a packet that leaves for a
//! node of another part becomes a message. A part processes events up to the time before which no message can arrive any
//! more: the time that the parts before it have reached, and the delay of the links between them. The order of events at
//! one time follows from the events alone (docs/adr/0002-ties.md), so the results do not depend on the parts. See
//! docs/adr/0007-threads.md.

mod part;
mod partition;
mod plan;
mod threads;

use super::border::Border;
use super::{Inner, Run, memory};
use crate::clock::wall_time;
use net::LinkId;
use net::cut::{Cut, exchange_link, in_flight, set_elsewhere};
use part::{Part, receive};
pub use plan::PartFacts;
use plan::Plan;
use std::num::NonZero;
use std::sync::Arc;
use threads::{Shared, Threads};
use units::Time;

/// The parts of a run on several threads, but the first one, which is the simulation of the run.
pub struct Parts {
    others: Vec<Part>,
    plan: Plan,
    shared: Vec<Shared>,
    threads: usize,
}

impl Parts {
    /// Divides a run that has not begun into at most `most` parts, and not more than the machine has processors, for as many threads.
    /// From then on advance it by [`Parts::advance`] alone. Fails with the reason if one thread is faster; then the run is as it
    /// was.
    pub fn new(run: &mut Run, most: usize) -> Result<Parts, String> {
        let processors = processors();
        if processors < 2 {
            return Err("the machine has one processor".into());
        }
        Parts::of(run, |simulation| Plan::useful(simulation, most.min(processors)))
    }

    /// As [`Parts::new`], into at most `parts` parts whose traffic is nearly all between them, for tests.
    pub fn scattered(run: &mut Run, parts: usize) -> Result<Parts, String> {
        Parts::of(run, |simulation| Plan::scattered(simulation, parts))
    }

    fn of(run: &mut Run, plan: impl FnOnce(&Part) -> Result<Plan, String>) -> Result<Parts, String> {
        let Inner::Plain(simulation) = &mut run.inner else {
            return Err("a recording is made by one thread".into());
        };
        let plan = plan(simulation)?;
        let parts = plan.incoming.len();
        memory::room_for((parts - 1) * simulation.endpoints.len())?;
        let forks = (1..parts).map(|_| simulation.fork().map_err(|error| error.to_string()));
        let others = forks.collect::<Result<Vec<Part>, String>>()?;
        let mut all = Parts { others, threads: parts.min(processors()), shared: Vec::new(), plan };
        all.shared.resize_with(parts, Shared::default);
        let topology = &simulation.topology;
        let links = 0..topology.links() as u32;
        let ends: Arc<[u16]> =
            links.map(|link| all.plan.of[topology.ends(LinkId(link)).1.0 as usize]).collect();
        let Parts { others, plan, .. } = &mut all;
        for (part, simulation) in std::iter::once(&mut **simulation).chain(others).enumerate() {
            set_up(simulation, part, plan, &ends);
        }
        Ok(all)
    }

    /// What the parts are.
    pub fn facts(&self) -> &PartFacts {
        &self.plan.facts
    }

    /// Processes about `events` events in all parts of `run`. Returns whether the run has ended; then it has the results of all
    /// parts.
    pub fn advance(&mut self, run: &mut Run, events: u64) -> bool {
        let Inner::Plain(first) = &mut run.inner else { return true };
        if first.border.is_none() {
            return true;
        }
        let wall = wall_time();
        let ended = self.advance_phases(first, events);
        first.wall += wall_time() - wall;
        first.reached = self.others.iter().fold(first.reached, |least, part| least.min(part.reached));
        if ended {
            self.exchange(first);
            first.border = None;
            first.other_events = self.others.iter().map(|part| part.event_queue.events()).sum();
        }
        ended
    }

    fn advance_phases(&mut self, first: &mut Part, events: u64) -> bool {
        if let Some(warmup) = first.warmup.as_ref().filter(|warmup| warmup.outcome.is_none()) {
            let until = Time::ZERO + warmup.duration;
            if !self.advance_to(first, events, until) {
                return false;
            }
            self.end_warmup(first);
        }
        let end = first.end;
        self.advance_to(first, events, end)
    }

    /// Processes about `events` events, none after `target`. Returns whether all up to `target` are processed.
    fn advance_to(&mut self, first: &mut Part, events: u64, target: Time) -> bool {
        let Parts { others, plan, shared, threads } = self;
        let mut parts: Vec<(usize, &mut Part)> = std::iter::once(first).chain(others).enumerate().collect();
        let each = parts.len().div_ceil(*threads);
        let common =
            Threads::new(plan, shared, target, (parts.len().div_ceil(each), events / parts.len() as u64));
        let work = |parts: &mut [(usize, &mut Part)]| {
            // A thread that panics must not let the others wait for its parts.
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| common.advance(parts)));
            if result.is_err() {
                common.stop();
            }
            result
        };
        let results: Vec<_> = std::thread::scope(|scope| {
            let mut chunks = parts.chunks_mut(each);
            let mine = chunks.next();
            let handles: Vec<_> = chunks.map(|chunk| scope.spawn(|| work(chunk))).collect();
            let mine = mine.map(work);
            mine.into_iter().chain(handles.into_iter().map(|handle| handle.join().flatten())).collect()
        });
        let (mut cpu, mut done) = (0, true);
        for result in results {
            match result {
                Ok((used, ended)) => (cpu, done) = (cpu + used, done && ended),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        if let Some((_, first)) = parts.first_mut() {
            first.cpu += cpu;
        }
        if done {
            parts.iter_mut().for_each(|(_, part)| part.reached = target);
        }
        done
    }

    /// Ends the warm-up, up to which all parts have come.
    fn end_warmup(&mut self, first: &mut Part) {
        self.exchange(first);
        first.store_warmup();
        self.exchange(first);
        for part in self.others.iter_mut().chain([&mut *first]) {
            part.network.end_warmup();
        }
    }

    /// Exchanges the state of links and flows between the first part and those to which they belong: after the first of two
    /// calls the first part has all of it, after the second each has again what belongs to it.
    fn exchange(&mut self, first: &mut Part) {
        let mut elsewhere = vec![0; first.topology.links()];
        for (number, part) in self.others.iter_mut().enumerate() {
            take_messages(&self.shared[number + 1], part);
            exchange_cut(part);
            let counts = in_flight(&part.network, &part.event_queue);
            elsewhere.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            exchange_state(first, part, number + 1, &self.plan.of);
        }
        take_messages(&self.shared[0], first);
        exchange_cut(first);
        set_elsewhere(&mut first.network, elsewhere);
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Makes a copy of a simulation part number `part`: it has the events at its nodes.
fn set_up(simulation: &mut Part, part: usize, plan: &Plan, ends: &Arc<[u16]>) {
    use transport::FlowTimer;
    let is_mine = |node: net::NodeId| plan.of[node.0 as usize] as usize == part;
    for (flow, [from, _]) in simulation.ends.iter().enumerate() {
        if !is_mine(*from) {
            let timer = flow as u32 * FlowTimer::COUNT + FlowTimer::Application as u32;
            simulation.event_queue.set_timer(timer, Time::NEVER);
        }
    }
    // The end of the warm-up is an event of all parts together.
    for number in 0..simulation.network_timers.len() as u32 {
        let timer = simulation.first_network_timer() + number;
        simulation.event_queue.set_timer(timer, Time::NEVER);
    }
    let topology = &simulation.topology;
    let leaves = |link: LinkId| is_mine(topology.ends(link).0) && ends[link.0 as usize] as usize != part;
    let cut = Cut::new(&mut simulation.network, leaves);
    let outgoing = vec![Vec::new(); plan.incoming.len()];
    simulation.border = Some(Box::new(Border { part, cut, ends: ends.clone(), outgoing }));
}

fn exchange_cut(part: &mut Part) {
    if let Some(border) = &mut part.border {
        border.cut.exchange(&mut part.network);
    }
}

/// Exchanges between the first part and part `number` what belongs to the latter; `of` has the part of each node.
fn exchange_state(first: &mut Part, part: &mut Part, number: usize, of: &[u16]) {
    use std::mem::swap;
    let is_theirs = |node: net::NodeId| of[node.0 as usize] as usize == number;
    for link in (0..first.topology.links() as u32).map(LinkId) {
        if is_theirs(first.topology.ends(link).0) {
            exchange_link(&mut first.network, &mut part.network, link);
        }
    }
    let tcp = first.senders.len();
    for (flow, [from, to]) in first.ends.iter().copied().enumerate() {
        if is_theirs(from) {
            swap(&mut first.schedules[flow], &mut part.schedules[flow]);
            if flow < tcp {
                swap(&mut first.senders[flow], &mut part.senders[flow]);
            } else {
                swap(&mut first.udp[flow - tcp].0, &mut part.udp[flow - tcp].0);
            }
        }
        if is_theirs(to) {
            if flow < tcp {
                swap(&mut first.receivers[flow], &mut part.receivers[flow]);
            } else {
                swap(&mut first.udp[flow - tcp].1, &mut part.udp[flow - tcp].1);
            }
        }
    }
}

fn take_messages(shared: &Shared, part: &mut Part) {
    receive(part, &mut shared.messages());
}
