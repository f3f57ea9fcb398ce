//! Runs of a scenario: set up in steps (`build`), advanced event by event (`event_loop`), read at the end (`results`).

mod account;
#[cfg(not(target_family = "wasm"))]
mod app_calls;
mod app_events;
mod apps;
mod attached;
#[cfg_attr(target_family = "wasm", path = "no_border.rs")]
mod border;
mod bounds;
mod build;
mod change;
mod datagram_events;
mod datagrams;
pub(crate) mod decimator;
mod drops;
mod endpoints;
mod event_loop;

pub(crate) mod event_order;
mod fingerprint;
mod flow_outcome;
mod fork;
mod ideal;
mod media_outcome;
mod memory;
mod outcome;
#[cfg(feature = "schema")]
mod outcome_schema;
pub(crate) mod overview;
#[cfg(not(target_family = "wasm"))]
mod parts;
mod per_flow;
mod planned_start;
pub(crate) mod policies;
mod probes;
#[cfg(not(feature = "quic"))]
#[path = "no_quic.rs"]
mod quic;
#[cfg(feature = "quic")]
mod quic;
#[cfg_attr(not(feature = "quic"), path = "no_quic_events.rs")]
mod quic_events;
mod radio_log;
pub(crate) mod recorder;
mod results;
mod satellites;
mod shape;
mod start;
mod transmission_log;

pub use account::{PortAccount, RunAccount};
#[cfg(not(target_family = "wasm"))]
pub(crate) use app_calls::drive as drive_application;
pub(crate) use apps::Handover;
pub use apps::{AppOutcome, AppRow, MessageRow, pooled_quantile};
pub use attached::{Application, DeliveredDatagram, FlowEnd, InjectError, PortFacts};
pub use bounds::FlowBounds;
pub use build::{ResolvedFlow, ResolvedLink, ResolvedNetwork, ResolvedTraffic};
pub use fork::NotForkable;
pub use ideal::{ideal_delivery_time, ideal_time};
pub use outcome::{
    BackOutcome, EngineCost, Fairness, FlowOutcome, HandoffOutcome, LinkDelayOutcome, LinkOutcome,
    LowLatencyOutcome, Outcome, SatelliteOutcome, to_json,
};
#[cfg(feature = "schema")]
pub use outcome_schema::outcome_schema;
#[cfg(not(target_family = "wasm"))]
pub use parts::{PartFacts, Parts};
pub use policies::Environment;
pub use radio_log::{RadioLog, RouteChange};
pub use recorder::{Logs, PacketLog, Recording, RuleRow, StateRow, TraceMode, WindowLog};
pub use shape::Shape;
pub use transmission_log::TransmissionLog;

use crate::audit::Violation;
use crate::capture::Captures;
use crate::error::ScenarioError;
use crate::scenario::{Action, Scenario};
use event_loop::Simulation;
use overview::Overview;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use units::{Span, Time};

/// The settings of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Seed; `None` for the seed of the scenario.
    pub seed: Option<u64>,
    /// What to record.
    pub recording: Recording,
    /// Give every hop and every arrival at a receiver an event of its own, for tests. The results are the same.
    pub unfused: bool,
}

/// A run in progress.
pub struct Run {
    inner: Inner,
    /// Calls of [`Run::check_memory`].
    memory_checks: u32,
}

/// A message of an application, and when it passed from hand to hand.
pub(crate) struct PassedMessage {
    pub row: MessageRow,
    /// The number of the flow of its connection.
    pub flow: u32,
    pub start: Time,
    /// [`Time::NEVER`] if it has no end.
    pub end: Time,
    pub handover: Handover,
    pub is_tcp: bool,
}

/// Three types of runs, so that a disabled recording has no cost. In a page, where each is a part of its size, there are two.
enum Inner {
    Plain(Box<Simulation<false, false>>),
    #[cfg(not(target_family = "wasm"))]
    Windows(Box<Simulation<true, false>>),
    Full(Box<Simulation<true, true>>),
}

macro_rules! each {
    ($run:expr, $simulation:ident => $what:expr) => {
        match $run {
            Inner::Plain($simulation) => $what,
            #[cfg(not(target_family = "wasm"))]
            Inner::Windows($simulation) => $what,
            Inner::Full($simulation) => $what,
        }
    };
}
use each;

impl Run {
    /// Builds a run of a scenario. Fails if an external controller cannot be loaded, or requires something that the
    /// scenario does not provide, or if the memory that is left does not suffice for its flows.
    pub fn new(scenario: &Scenario, settings: Settings) -> Result<Run, ScenarioError> {
        Run::stoppable(scenario, settings, &AtomicBool::new(false))
    }

    /// As [`Run::new`], with a flag. With many satellites and a long duration the construction takes long: it ends
    /// soon after `stop` is set, and the run is then not usable.
    pub fn stoppable(
        scenario: &Scenario,
        settings: Settings,
        stop: &AtomicBool,
    ) -> Result<Run, ScenarioError> {
        let loaded = scenario.loaded()?;
        let drawn = loaded.drawn(settings.seed.unwrap_or(scenario.seed));
        let scenario = &*drawn;
        memory::room_for(scenario.flows.len()).map_err(|message| ScenarioError {
            key: "flow".into(),
            message,
            ..ScenarioError::default()
        })?;
        let r = settings.recording;
        let events = r.packets || r.captures || r.audit || r.fingerprint || r.radio || r.rules;
        let inner = match r.trace {
            TraceMode::Off if !events => Inner::Plain(Box::new(Simulation::build(scenario, settings, stop)?)),
            #[cfg(not(target_family = "wasm"))]
            _ if !events => Inner::Windows(Box::new(Simulation::build(scenario, settings, stop)?)),
            _ => Inner::Full(Box::new(Simulation::build(scenario, settings, stop)?)),
        };
        Ok(Run { inner, memory_checks: 0 })
    }

    /// Processes up to `events` events. Returns whether the run has ended.
    pub fn advance(&mut self, events: u64) -> bool {
        each!(&mut self.inner, simulation => simulation.advance(events, Time::NEVER))
    }

    /// Processes up to `events` events, none after `until`. Returns whether it has processed all of them up to `until`, or
    /// the run has ended.
    pub fn advance_within(&mut self, events: u64, until: Time) -> bool {
        each!(&mut self.inner, simulation => {
            let before = simulation.event_queue.events();
            simulation.advance(events, until) || simulation.event_queue.events() - before < events
        })
    }

    /// Processes all events up to and including simulated time `until`. Returns whether the run has ended.
    pub fn advance_to(&mut self, until: Time) -> bool {
        each!(&mut self.inner, simulation => simulation.advance(u64::MAX, until))
    }

    /// Runs to the end.
    pub fn finish(&mut self) {
        while !self.advance(u64::MAX) {}
    }

    /// Checks at every fourth call whether the memory is sufficient for the run and its recordings so far. Fails with
    /// a message that names the largest need and a remedy. For callers that call [`Run::advance`] with some ten
    /// thousand events at a time.
    pub fn check_memory(&mut self) -> Result<(), String> {
        self.memory_checks += 1;
        if !self.memory_checks.is_multiple_of(4) {
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
        let (what, bytes, remedy) = needs.into_iter().max_by_key(|need| need.1).unwrap_or_default();
        let (progress, bytes, free) =
            (100.0 * self.progress(), memory::format_bytes(bytes), memory::format_bytes(free));
        Err(format!(
            "not enough memory at {progress:.0} % of the run: {what} {bytes} more, and {free} are free; {remedy}"
        ))
    }

    /// Processes all events up to `now`, or to the end of the run if it is earlier, and sets the clock to that time, at which
    /// [`Run::inject`] then sends. Returns whether the run has ended.
    pub fn catch_up(&mut self, now: Time) -> bool {
        each!(&mut self.inner, simulation => simulation.catch_up(now))
    }

    /// Sends a datagram from an end of an attached flow (see [`Scenario::attach`]), at the time of the last
    /// [`Run::catch_up`]. It occupies `bytes.len()` bytes on the wire, and the header of the flow's [`crate::Ends`]. Does not
    /// say whether a queue drops it: no socket does.
    pub fn inject(
        &mut self,
        flow: u32,
        end: FlowEnd,
        bytes: &[u8],
        ecn: net::Ecn,
    ) -> Result<(), InjectError> {
        each!(&mut self.inner, simulation => simulation.inject(flow, end, bytes, ecn))
    }

    /// A time before which nothing happens in the network unless a datagram is sent: for the caller's timer, with
    /// [`Run::catch_up`] after it. [`Time::NEVER`] if nothing is pending.
    pub fn next_at(&self) -> Time {
        each!(&self.inner, simulation => simulation.event_queue.next_at())
    }

    /// Removes and returns the next datagram that has reached an end of an attached flow, in the order of time.
    pub fn receive(&mut self) -> Option<DeliveredDatagram<'_>> {
        each!(&mut self.inner, simulation => simulation.take_received())
    }

    /// What the scenario says of the application of attached flow `flow`; `None` of another flow.
    pub fn application(&self, flow: u32) -> Option<Application> {
        each!(&self.inner, simulation => {
            let attached = simulation.attached.iter().find(|attached| attached.flow == flow);
            attached.map(|attached| attached.application.clone())
        })
    }

    /// Number of datagrams that [`Run::receive`] will return now.
    pub fn waiting(&self) -> usize {
        each!(&self.inner, simulation => simulation.outbox.len())
    }

    /// Bytes of the datagrams in flight and of those that wait to be received.
    pub fn datagram_bytes(&self) -> u64 {
        each!(&self.inner, simulation => simulation.datagrams.stored_bytes())
    }

    /// What was counted of the datagrams that an end of an attached flow has sent, after the warm-up if there is one, and
    /// what is known of it besides. `None` of another flow.
    pub fn port_account(&self, flow: u32, end: FlowEnd) -> Option<(PortAccount, PortFacts)> {
        each!(&self.inner, simulation => simulation.port_account(flow, end))
    }

    /// Numbers of the attached flows, in the order of the scenario.
    pub fn attached_flows(&self) -> Vec<u32> {
        each!(&self.inner, simulation => simulation.attached.iter().map(|flow| flow.flow).collect())
    }

    /// The first failed controller, with the name of its flow; only external controllers fail. Discard a run with a
    /// failed controller.
    pub fn failure(&self) -> Option<(&str, &cc::Failure)> {
        each!(&self.inner, simulation => simulation.failure())
    }

    /// Whether any controller is external; then it can fail, and an event can take long.
    pub fn has_external(&self) -> bool {
        each!(&self.inner, simulation => simulation.has_external)
    }

    /// Simulated time so far over the duration, 0 to 1.
    pub fn progress(&self) -> f64 {
        each!(&self.inner, simulation => simulation.reached.seconds() / simulation.end.seconds())
    }

    /// Simulated time so far: all events before it are processed.
    pub fn now(&self) -> Time {
        each!(&self.inner, simulation => simulation.reached)
    }

    /// What is recorded.
    pub fn recording(&self) -> Recording {
        each!(&self.inner, simulation => simulation.recorder.recording)
    }

    /// The interval, s, whose window rows, packet events and rules are recorded, up to the simulated time so far; with
    /// [`Recording::bounded`] it ends when a log is full. And the number of window rows and packet events of the run so
    /// far, recorded or not (zero unless bounded).
    pub fn recorded(&self) -> ([f64; 2], [u64; 2]) {
        let (from, to) = self.recording().packets_within.unwrap_or((Time::ZERO, Time::NEVER));
        let (full, counts) = each!(&self.inner, simulation => {
            (simulation.recorder.full, simulation.recorder.counts)
        });
        let to = to.min(self.now()).min(full.unwrap_or(Time::NEVER));
        ([from.seconds(), to.seconds()], counts)
    }

    /// Whether all events are processed.
    pub(crate) fn has_ended(&self) -> bool {
        each!(&self.inner, simulation => simulation.reached >= simulation.end)
    }

    /// Curves of the whole run, with [`Recording::bounded`].
    pub(crate) fn overview(&self) -> Option<&Overview> {
        each!(&self.inner, simulation => simulation.recorder.overview.as_deref())
    }

    /// The messages of all applications so far, with the name of the flow that has the application.
    pub fn messages(&self) -> Vec<(&str, MessageRow)> {
        each!(&self.inner, simulation => {
            let apps = simulation.apps.apps.iter();
            let rows = apps.flat_map(|app| {
                let name = simulation.names[app.flow(0) as usize].as_str();
                app.message_rows().map(move |row| (name, row))
            });
            rows.collect()
        })
    }

    /// When message `number` of the application of flow `flow` passed from hand to hand.
    pub(crate) fn handover(&self, flow: &str, number: u32) -> Option<PassedMessage> {
        each!(&self.inner, simulation => {
            let named = |app: &&apps::Application| simulation.names[app.flow(0) as usize] == flow;
            let app = simulation.apps.apps.iter().find(named)?;
            let (message, handover) = app.handover(number)?;
            let row = app.message_rows().find(|row| row.number == number)?;
            let of = app.flow(message.connection);
            let is_tcp = (of as usize) < simulation.senders.len();
            Some(PassedMessage { row, flow: of, start: message.start, end: message.end, handover, is_tcp })
        })
    }

    /// How long the transmission of `size` bytes takes on a link, by its number; none if its rate varies.
    pub(crate) fn transmission_time(&self, link: u32, size: u64) -> Option<Span> {
        each!(&self.inner, simulation => {
            let rate = simulation.network.links.rate(net::LinkId(link));
            (rate.bps() > 0).then(|| rate.time_for(size))
        })
    }

    /// The applications.
    pub fn applications(&self) -> Vec<AppRow> {
        each!(&self.inner, simulation => {
            let apps = simulation.apps.apps.iter();
            apps.map(|app| app.row(&simulation.names[app.flow(0) as usize])).collect()
        })
    }

    /// Visits the messages of all applications so far, with the number of the application in [`Run::applications`].
    pub fn visit_messages(&self, mut visit: impl FnMut(usize, MessageRow)) {
        each!(&self.inner, simulation => {
            for (number, app) in simulation.apps.apps.iter().enumerate() {
                app.message_rows().for_each(|row| visit(number, row));
            }
        });
    }

    /// What the run has counted up to `now`, at which it is.
    pub fn account(&mut self, now: Time) -> RunAccount {
        each!(&mut self.inner, simulation => simulation.account(now.since(Time::ZERO)))
    }

    /// The outcome so far: rates and means are over the time up to `now`, at which the run is, after that of the account
    /// `since` at an earlier time.
    pub fn outcome_so_far(&mut self, now: Time, since: Option<&RunAccount>) -> Outcome {
        let span = now.since(Time::ZERO);
        let whole = self.account(now);
        each!(&self.inner, simulation => simulation.outcome_of(span, &whole, since))
    }

    /// The outcome. Call it after the end of the run.
    pub fn outcome(&mut self) -> Outcome {
        let mut outcome = each!(&mut self.inner, simulation => simulation.outcome());
        outcome.links.retain(|link| !link.unused);
        outcome
    }

    /// The cost of the run so far, and the total goodput of all TCP flows, bit/s: the outcome without its lists.
    pub fn cost(&self) -> (EngineCost, f64) {
        each!(&self.inner, simulation => simulation.cost())
    }

    /// What is recorded so far; complete after the end of the run.
    pub fn logs(&self) -> &Logs {
        each!(&self.inner, simulation => &simulation.recorder.logs)
    }

    /// The logs of a run that has ended. The run has none afterwards.
    pub fn take_logs(&mut self) -> Logs {
        each!(&mut self.inner, simulation => std::mem::take(&mut simulation.recorder.logs))
    }

    /// The end of the run.
    pub fn end(&self) -> Time {
        each!(&self.inner, simulation => simulation.end)
    }

    /// What bounds each TCP or QUIC flow, by the numbers in the logs; these flows have the first numbers.
    pub fn flow_bounds(&self) -> Vec<FlowBounds> {
        each!(&self.inner, simulation => {
            let quic = simulation.quic.iter().map(|flow| flow.bounds());
            let bounds = simulation.senders.iter().map(FlowBounds::of).chain(quic).zip(0..);
            let with_application = |(bounds, flow): (FlowBounds, u32)| FlowBounds {
                application: simulation.apps.place(flow).map(|place| {
                    simulation.apps.apps[place.app as usize].waits_for(place.connection)
                }),
                ..bounds
            };
            bounds.map(with_application).collect()
        })
    }

    /// The first violations that the auditor found, and their total number. Call it once, after the end of the run.
    pub fn audit(&mut self) -> (Vec<Violation>, u64) {
        each!(&mut self.inner, simulation => {
            let accounts = simulation.network.account(&simulation.event_queue, simulation.duration).collect::<Vec<_>>();
            let end = simulation.end;
            simulation.close_applications();
            let wired = simulation.recorder.auditor.take().map(|auditor| auditor.close(end, &accounts));
            let radio = simulation.recorder.radio_auditor.take();
            let radio = radio.zip(simulation.network.radio.as_deref()).map(|(auditor, radio)| auditor.close(end, radio));
            let (mut found, mut count) = wired.unwrap_or_default();
            if let Some((more, number)) = radio {
                found.extend(more);
                count += number;
            }
            if let Err(what) = simulation.check_datagrams() {
                found.push(Violation { at: end, rule: "conservation", what });
                count += 1;
            }
            for what in simulation.quic.iter().filter_map(|flow| flow.check().err()) {
                found.push(Violation { at: end, rule: "conservation", what });
                count += 1;
            }
            (found, count)
        })
    }

    /// A hash of every packet event, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        each!(&self.inner, simulation => simulation.recorder.fingerprint.hex())
    }

    /// For each link whose rate varies, its number and the bits that it could have sent until each of so many equal times, from
    /// the start to the end. Call it after the end of the run.
    pub fn capacities(&self, times: usize) -> Vec<(usize, Vec<f64>)> {
        each!(&self.inner, simulation => {
            let links = &simulation.network.links;
            let end = simulation.end.ps() as u128;
            let each = (0..times).map(|i| Time::from_ps((end * i as u128 / (times.max(2) - 1) as u128) as u64));
            let mut capacities: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
            for (link, bits) in each.flat_map(|at| links.varying(at)) {
                capacities.entry(link).or_default().push(bits);
            }
            capacities.into_iter().collect()
        })
    }

    /// What the numbers in the logs stand for.
    pub fn shape(&self) -> Shape {
        each!(&self.inner, simulation => {
            let Simulation { topology, network, senders, quic, names, ends, .. } = &**simulation;
            Shape::new(topology, &network.media, senders, quic, names, ends)
        })
    }

    /// Adds a capture at the node or link `place` (`a->b`; `a-b` for both directions), or at all sending hosts if
    /// `place` is empty. Call it before the run, with captures enabled in its recording. Fails with a list of the
    /// known names.
    pub fn capture(&mut self, place: &str) -> Result<(), String> {
        each!(&mut self.inner, simulation => {
            let names = simulation.topology.link_names();
            let Simulation { topology, recorder, ends, senders, quic, given_names, changes, order, .. } = &mut **simulation;
            let largest = |flow: usize| {
                let windows = changes.iter().flat_map(|change| &change.actions).filter_map(|action| match action {
                    Action::ReceiveWindow(number, window) if order[*number] as usize == flow => Some(*window),
                    _ => None,
                });
                windows.max().unwrap_or(0)
            };
            let options: Vec<_> =
                senders.iter().enumerate().map(|(flow, sender)| (sender.options(), largest(flow))).collect();
            let without_tls = quic.iter().any(|flow| !flow.has_tls());
            let captures = recorder
                .captures
                .get_or_insert_with(|| Captures::new(topology, ends, &options, without_tls));
            captures.add(topology, &names, given_names, place)
        })
    }

    /// The qlogs of the QUIC flows: name of the flow, sender's and receiver's file (`.sqlog`). Call it once, after the end of
    /// the run, with qlogs enabled in its recording.
    pub fn qlogs(&mut self) -> Vec<(String, [String; 2])> {
        each!(&mut self.inner, simulation => {
            let names = simulation.names.iter().skip(simulation.senders.len());
            let each = names.zip(&mut simulation.quic);
            each.filter_map(|(name, flow)| Some((name.clone(), flow.take_qlogs()?))).collect()
        })
    }

    /// The captures as pcapng files, in the order in which they were added, with the secrets of QUIC flows under TLS. Call it
    /// once, after the end of the run.
    pub fn captured(&mut self) -> Vec<Vec<u8>> {
        each!(&mut self.inner, simulation => {
            let secrets: String = simulation.quic.iter().map(|flow| flow.tls_secrets()).collect();
            simulation.recorder.captures.take().map(|captures| captures.files(&secrets)).unwrap_or_default()
        })
    }
}
