//! Runs of a scenario: set up in steps (`build`), advanced event by event (`event_loop`), read at the end (`results`).

mod build;
mod endpoints;
mod event_loop;
pub(crate) mod event_order;
mod memory;
mod outcome;
mod queue;
pub(crate) mod recorder;
mod results;
mod satellites;
mod warmup;

pub use outcome::{
    EngineCost, Fairness, FlowOutcome, HandoffOutcome, LinkOutcome, Outcome, SatelliteOutcome, to_json,
};
pub use recorder::{PacketLog, RadioLog, Recording, TraceMode, WindowLog};

use crate::audit::Violation;
use crate::capture::Captures;
use crate::error::ScenarioError;
use crate::scenario::Scenario;
use event_loop::Simulation;
use std::sync::atomic::AtomicBool;
use transport::Sender;

pub(crate) use event_loop::cpu_time;

/// How a run is to be made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Seed; the scenario's own if none.
    pub seed: Option<u64>,
    /// What to write down.
    pub recording: Recording,
    /// Give every hop an event of its own, where otherwise hops that cannot interfere are computed at once: for
    /// tests; the results are the same, but for ties between links (docs/adr/0002-ties.md).
    pub unfused: bool,
}

/// A run in progress.
pub struct Run {
    inner: Inner,
    /// Calls of [`Run::check_memory`].
    looks: u32,
}

/// Three ways to run, so that what is off costs nothing.
enum Inner {
    Plain(Box<Simulation<false, false>>),
    Windows(Box<Simulation<true, false>>),
    Full(Box<Simulation<true, true>>),
}

macro_rules! each {
    ($run:expr, $simulation:ident => $what:expr) => {
        match $run {
            Inner::Plain($simulation) => $what,
            Inner::Windows($simulation) => $what,
            Inner::Full($simulation) => $what,
        }
    };
}

impl Run {
    /// Sets up the run of a scenario. Fails if a controller in a file cannot be loaded or misses something.
    pub fn new(scenario: &Scenario, settings: Settings) -> Result<Run, ScenarioError> {
        Run::stoppable(scenario, settings, &AtomicBool::new(false))
    }

    /// The same. With many satellites over long times it takes long: it ends soon when `stop` is set, and the run is then of
    /// no use.
    pub fn stoppable(
        scenario: &Scenario,
        settings: Settings,
        stop: &AtomicBool,
    ) -> Result<Run, ScenarioError> {
        let loaded = scenario.loaded()?;
        let drawn = loaded.drawn(settings.seed.unwrap_or(scenario.seed));
        let scenario = &*drawn;
        let r = settings.recording;
        let inner = if r.packets || r.captures || r.audit || r.fingerprint || r.radio {
            Inner::Full(Box::new(Simulation::build(scenario, settings, stop)?))
        } else if r.trace != TraceMode::Off {
            Inner::Windows(Box::new(Simulation::build(scenario, settings, stop)?))
        } else {
            Inner::Plain(Box::new(Simulation::build(scenario, settings, stop)?))
        };
        Ok(Run { inner, looks: 0 })
    }

    /// Processes up to `events` events; whether the run has ended.
    pub fn advance(&mut self, events: u64) -> bool {
        each!(&mut self.inner, simulation => simulation.advance(events))
    }

    /// Runs to the end.
    pub fn finish(&mut self) {
        while !self.advance(u64::MAX) {}
    }

    /// Looks, once in a few calls, whether the memory lasts: for the run so far, and for what it records. Fails with what takes
    /// it and what to do. For callers that go on with [`Run::advance`] some ten thousand events at a time.
    pub fn check_memory(&mut self) -> Result<(), String> {
        self.looks += 1;
        if !self.looks.is_multiple_of(4) {
            return Ok(());
        }
        let needs = each!(&self.inner, simulation => simulation.memory_needs());
        let all: u64 = needs.iter().map(|need| need.1).sum();
        if all < memory::SMALL {
            return Ok(());
        }
        let Some(free) = memory::available() else { return Ok(()) };
        if all + memory::RESERVE < free {
            return Ok(());
        }
        let (what, most, remedy) = needs.into_iter().max_by_key(|need| need.1).unwrap_or_default();
        let (progress, most, free) = (100.0 * self.progress(), memory::told(most), memory::told(free));
        Err(format!(
            "out of memory at {progress:.0} % of the run: {what} {most} more, {free} are free; {remedy}"
        ))
    }

    /// The first controller that could not go on, with its flow's name; only guests fail. A run with such a one is to
    /// be given up.
    pub fn failure(&self) -> Option<(&str, &cc::Failure)> {
        each!(&self.inner, simulation => simulation.failure())
    }

    /// Whether any controller is a guest: then one may fail, and an event may take long.
    pub fn has_external(&self) -> bool {
        each!(&self.inner, simulation => simulation.has_external)
    }

    /// Simulated time so far over the whole, 0 to 1.
    pub fn progress(&self) -> f64 {
        each!(&self.inner, simulation => simulation.event_queue.now().seconds() / simulation.end.seconds())
    }

    /// The result. Call when the run has ended.
    pub fn outcome(&mut self) -> Outcome {
        let mut outcome = each!(&mut self.inner, simulation => simulation.outcome());
        outcome.links.retain(|link| !link.unused);
        outcome
    }

    /// What the run cost so far, and the goodput of all TCP flows together, bit/s: the outcome without its lists.
    pub fn cost(&self) -> (EngineCost, f64) {
        each!(&self.inner, simulation => simulation.cost())
    }

    /// The window trace.
    pub fn windows(&self) -> &WindowLog {
        each!(&self.inner, simulation => &simulation.recorder.windows)
    }

    /// The packet events so far, in order; all of them when the run has ended.
    pub fn packets(&self) -> &PacketLog {
        each!(&self.inner, simulation => &simulation.recorder.packets)
    }

    /// Every step of the radio, in order.
    pub fn radio_log(&self) -> &RadioLog {
        each!(&self.inner, simulation => &simulation.recorder.radio_log)
    }

    /// What the auditor found, the first of it, and how much there is. Call once, when the run has ended.
    pub fn audit(&mut self) -> (Vec<Violation>, u64) {
        each!(&mut self.inner, simulation => {
            let accounts = simulation.network.account(&simulation.event_queue, simulation.duration);
            let end = simulation.end;
            let wired = simulation.recorder.auditor.take().map(|auditor| auditor.close(end, &accounts));
            let air = simulation.recorder.radio_auditor.take();
            let air = air.zip(simulation.network.radio()).map(|(auditor, radio)| auditor.close(end, radio));
            let (mut found, mut count) = wired.unwrap_or_default();
            if let Some((more, number)) = air {
                found.extend(more);
                count += number;
            }
            (found, count)
        })
    }

    /// A hash of every packet event, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        each!(&self.inner, simulation => simulation.recorder.hasher.finalize().to_hex().to_string())
    }

    /// Names of the links, by number.
    pub fn link_names(&self) -> Vec<String> {
        each!(&self.inner, simulation => simulation.link_names())
    }

    /// Names of the flows, by the numbers in the logs.
    pub fn flow_names(&self) -> Vec<String> {
        each!(&self.inner, simulation => simulation.names.clone())
    }

    /// Adds a capture at the node or the link of this name (`a->b`; `a-b` for both directions), at all sending hosts if it
    /// is empty. Call before the run, which records captures. Fails with what there is.
    pub fn capture(&mut self, place: &str) -> Result<(), String> {
        each!(&mut self.inner, simulation => {
            let names = simulation.link_names();
            let Simulation { topology, recorder, ends, senders, given_names, .. } = &mut **simulation;
            let options: Vec<_> = senders.iter().map(Sender::options).collect();
            let captures = recorder.captures.get_or_insert_with(|| Captures::new(topology, ends, &options));
            captures.add(topology, &names, given_names, place)
        })
    }

    /// The captures as pcapng files, in the order in which they were added. Call once, when the run has ended.
    pub fn captured(&mut self) -> Vec<Vec<u8>> {
        each!(&mut self.inner, simulation => simulation.recorder.captures.take().map(Captures::files).unwrap_or_default())
    }
}
