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
use net::cut::{Cut, exchange_link, in_flight, packet_hops, set_elsewhere};
use part::{Part, receive};
pub use plan::PartFacts;
use plan::PartPlan;
use std::num::NonZero;
use std::sync::Arc;
use threads::{Shared, Threads};
use units::Time;

/// The parts of a run on several threads, but the first one, which is the simulation of the run.
pub struct Parts {
    others: Vec<Part>,
    plan: PartPlan,
    shared: Vec<Shared>,
    threads: usize,
    /// None for tests, which use all threads.
    speeds: Option<Speeds>,
    /// The run without parts, until its speed has been compared with that of the parts.
    whole: Option<Box<Part>>,
    is_whole: bool,
}

impl Parts {
    /// Divides a run that has not begun into at most `limit` parts, and not more than the machine has processors, for as many
    /// threads. From then on advance it by [`Parts::advance`] alone, and read its outcome when it has ended. Fails with the reason if one
    /// thread is faster; then the run is as it was.
    pub fn new(run: &mut Run, limit: usize) -> Result<Parts, String> {
        let processors = processors();
        if processors < 2 {
            return Err("the machine has one processor".into());
        }
        let mut whole = None;
        let mut parts = Parts::of(run, |simulation| {
            let plan = PartPlan::useful(simulation, limit.min(processors))?;
            let is_small = simulation.endpoints.len() <= MOST_COMPARED;
            whole = is_small.then(|| simulation.fork()).transpose().map_err(|error| error.to_string())?;
            Ok(plan)
        })?;
        (parts.speeds, parts.whole) = (Some(Speeds::default()), whole.map(Box::new));
        parts.plan.facts.compared = parts.whole.is_some();
        Ok(parts)
    }

    /// As [`Parts::new`], into at most `parts` parts whose traffic is nearly all between them, for tests.
    pub fn scattered(run: &mut Run, parts: usize) -> Result<Parts, String> {
        Parts::of(run, |simulation| PartPlan::scattered(simulation, parts))
    }

    fn of(run: &mut Run, plan: impl FnOnce(&Part) -> Result<PartPlan, String>) -> Result<Parts, String> {
        let Inner::Plain(simulation) = &mut run.inner else {
            return Err("a recording needs one thread".into());
        };
        let plan = plan(simulation)?;
        let parts = plan.incoming.len();
        simulation.check_fork().map_err(|error| error.to_string())?;
        memory::room_for((parts - 1) * simulation.endpoints.len() / COPIED)?;
        let others = divide(simulation, &plan);
        let mut all = Parts {
            others,
            threads: parts.min(processors()),
            shared: Vec::new(),
            speeds: None,
            whole: None,
            is_whole: false,
            plan,
        };
        all.shared.resize_with(parts, Shared::default);
        let topology = &simulation.topology;
        let links = topology.link_ids();
        let ends: Arc<[u16]> = links.map(|link| all.plan.of[topology.ends(link).1.0 as usize]).collect();
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

    /// Whether the run without parts was faster and has taken the place of the parts.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Processes at most about `events` events in all parts of `run`, for at most some 50 ms. Returns whether the run has ended;
    /// then it has the results of all parts.
    pub fn advance(&mut self, run: &mut Run, events: u64) -> bool {
        let Inner::Plain(first) = &mut run.inner else { return true };
        if self.is_whole {
            return first.advance(events.min(OF_ONE_CALL), Time::NEVER);
        }
        if first.border.is_none() {
            return true;
        }
        let (threads, events) = match &self.speeds {
            Some(speeds) => speeds.choose(self.threads, events),
            None => (self.threads, events),
        };
        let (wall, before) = (wall_time(), self.events(first));
        let ended = self.advance_on(threads, first, events);
        let wall = wall_time() - wall;
        first.wall += wall;
        let done = self.events(first) - before;
        if let Some(speeds) = &mut self.speeds {
            speeds.measured(threads, done as f64 / wall.max(1) as f64);
        }
        first.reached = self.others.iter().fold(first.reached, |least, part| least.min(part.reached));
        if ended {
            self.collect(first);
        } else if self.speeds.as_ref().is_some_and(|speeds| speeds.calls == TRIALS) {
            self.compare(first);
        }
        ended
    }

    /// Puts the run without parts in the place of `first` if it is faster than the parts: with a small state the messages cost
    /// more than a second thread gains.
    fn compare(&mut self, first: &mut Part) {
        let (Some(mut whole), Some(speeds)) = (self.whole.take(), &self.speeds) else { return };
        let hops: u64 = self.others.iter().map(|part| packet_hops(&part.network)).sum();
        let hops_of_event = (hops + packet_hops(&first.network)) as f64 / self.events(first).max(1) as f64;
        whole.advance(TRIAL, Time::NEVER); // reads the copy into the caches
        let (wall, before) = (whole.wall, packet_hops(&whole.network));
        whole.advance(TRIAL, Time::NEVER);
        let speed = (packet_hops(&whole.network) - before) as f64 / (whole.wall - wall).max(1) as f64;
        if speed > GAIN * speeds.several.max(speeds.single) * hops_of_event {
            (whole.cpu, whole.wall) = (whole.cpu + first.cpu, whole.wall + first.wall);
            *first = *whole;
            self.others = Vec::new();
            self.is_whole = true;
        }
    }

    /// Events so far in all parts.
    fn events(&self, first: &Part) -> u64 {
        self.others.iter().map(|part| part.event_queue.events()).sum::<u64>() + first.event_queue.events()
    }

    /// Processes about `events` events on so many threads. Returns whether the run has ended.
    fn advance_on(&mut self, threads: usize, first: &mut Part, events: u64) -> bool {
        let end = first.end;
        let mut parts: Vec<(usize, &mut Part)> =
            std::iter::once(&mut *first).chain(&mut self.others).enumerate().collect();
        let each = parts.len().div_ceil(threads);
        let (count, events) = (parts.len().div_ceil(each), events / parts.len() as u64);
        let common = Threads::new(&self.plan, &self.shared, end, count, events);
        let work = |parts: &mut [(usize, &mut Part)]| {
            // A thread that panics must not let the others wait for its parts.
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| common.advance(parts)));
            if result.is_err() {
                common.stop();
            }
            result
        };
        let (results, started) = std::thread::scope(|scope| {
            let mut chunks = parts.chunks_mut(each);
            let first = chunks.next();
            let spawn = |chunk| std::thread::Builder::new().spawn_scoped(scope, || work(chunk));
            let spawned: Vec<_> = chunks.map(spawn).collect();
            let started = spawned.iter().all(Result::is_ok);
            if !started {
                common.stop();
            }
            let first = first.map(work);
            let joined = spawned.into_iter().flatten().map(|thread| thread.join().and_then(|result| result));
            (first.into_iter().chain(joined).collect::<Vec<_>>(), started)
        });
        let (mut cpu, mut done) = (0, started);
        for result in results {
            match result {
                Ok((used, ended)) => (cpu, done) = (cpu + used, done && ended),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        if !started {
            // The system has no more threads: the next call continues on one.
            self.threads = 1;
        }
        if done {
            parts.iter_mut().for_each(|(_, part)| part.reached = end);
        }
        first.cpu += cpu;
        done
    }

    /// Gives the first part the state of all links and flows at the end of the run.
    fn collect(&mut self, first: &mut Part) {
        let mut elsewhere = vec![0; first.topology.links()];
        for (part, shared) in std::iter::once(&mut *first).chain(&mut self.others).zip(&self.shared) {
            receive(part, &mut shared.messages());
            if let Some(border) = part.border.take() {
                border.cut.join(&mut part.network);
            }
        }
        for (number, mut part) in self.others.drain(..).enumerate() {
            let counts = in_flight(&part.network, &part.event_queue);
            elsewhere.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            first.other_events += part.event_queue.events();
            take_state(first, &mut part, number + 1, &self.plan.of);
            first.schedules.join(part.schedules);
            first.senders.join(part.senders);
            first.receivers.join(part.receivers);
        }
        set_elsewhere(&mut first.network, elsewhere);
    }
}

/// The speeds of several threads and of one, events per ns, by which calls choose the number of threads. No result depends on
/// it.
#[derive(Default)]
struct Speeds {
    calls: u32,
    several: f64,
    single: f64,
}

/// A copy of the links, the timers and the routes takes at most a quarter of the memory of the flows.
const COPIED: usize = 4;

/// Calls after which both speeds are measured again.
const CALLS: u32 = 16;
/// The first calls, which measure both speeds.
const TRIALS: u32 = 3;
/// Events of a call that measures a speed.
const TRIAL: u64 = 30_000;
/// Flows up to which the run without parts is compared. The state of more does not fit into a cache, and half of it does: what
/// such runs gain on two threads does not show at their begin.
const MOST_COMPARED: usize = 300;
/// How much faster the run without parts must be.
const GAIN: f64 = 1.05;
/// Events of a call without parts, some 10 ms.
const OF_ONE_CALL: u64 = 200_000;

impl Speeds {
    /// The number of threads of the next call, and its events, at most `events`.
    fn choose(&self, threads: usize, events: u64) -> (usize, u64) {
        match self.calls % CALLS {
            // The first call of several threads also reads the copies into their caches.
            0 | 2 => (threads, events.min(TRIAL)),
            1 => (1, events.min(TRIAL)),
            _ => (if self.single > self.several { 1 } else { threads }, events),
        }
    }

    /// Notes the speed of a call.
    fn measured(&mut self, threads: usize, speed: f64) {
        *(if threads == 1 { &mut self.single } else { &mut self.several }) = speed;
        self.calls += 1;
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Divides a simulation, which becomes the first part; returns the others. Each has the ends of flows at its nodes.
fn divide(simulation: &mut Part, plan: &PartPlan) -> Vec<Part> {
    let (parts, ends) = (plan.incoming.len(), simulation.ends.clone());
    let part_of = |flow: usize, end: usize| plan.of[ends[flow][end].0 as usize] as usize;
    let schedules = simulation.schedules.divide(parts, |flow| part_of(flow, 0));
    let senders = simulation.senders.divide(parts, |flow| part_of(flow, 0));
    let receivers = simulation.receivers.divide(parts, |flow| part_of(flow, 1));
    let mut own = schedules.into_iter().zip(senders).zip(receivers);
    if let Some(((schedules, senders), receivers)) = own.next() {
        (simulation.schedules, simulation.senders, simulation.receivers) = (schedules, senders, receivers);
    }
    own.map(|((schedules, senders), receivers)| simulation.copy_with(schedules, senders, receivers)).collect()
}

/// Makes a copy of a simulation part number `part`: it has the events at its nodes.
fn set_up(simulation: &mut Part, part: usize, plan: &PartPlan, ends: &Arc<[u16]>) {
    use transport::FlowTimer;
    let is_mine = |node: net::NodeId| plan.of[node.0 as usize] as usize == part;
    for (flow, [from, _]) in simulation.ends.iter().enumerate() {
        if !is_mine(*from) {
            let timer = flow as u32 * FlowTimer::COUNT + FlowTimer::Application as u32;
            simulation.event_queue.set_timer(timer, Time::NEVER);
        }
    }
    let topology = &simulation.topology;
    let leaves = |link: LinkId| is_mine(topology.ends(link).0) && ends[link.0 as usize] as usize != part;
    let cut = Cut::new(&mut simulation.network, leaves);
    let outgoing = vec![Vec::new(); plan.incoming.len()];
    simulation.border = Some(Box::new(Border { part, cut, ends: ends.clone(), outgoing }));
}

/// Gives the first part the links and the ends of UDP flows of part `number`; `of` has the part of each node.
fn take_state(first: &mut Part, part: &mut Part, number: usize, of: &[u16]) {
    use std::mem::swap;
    let is_theirs = |node: net::NodeId| of[node.0 as usize] as usize == number;
    for link in first.topology.link_ids() {
        if is_theirs(first.topology.ends(link).0) {
            exchange_link(&mut first.network, &mut part.network, link);
        }
    }
    let ends = first.ends.iter().skip(first.senders.len());
    for ((own, other), [from, to]) in first.udp.iter_mut().zip(&mut part.udp).zip(ends) {
        if is_theirs(*from) {
            swap(&mut own.0, &mut other.0);
        }
        if is_theirs(*to) {
            swap(&mut own.1, &mut other.1);
        }
    }
}
