//! Whether the seed of a run can change it.

use super::links::flow_of;
use super::plan::BuildPlan;
use crate::scenario::{Action, CongestionControl, Direction, FlowKind, Loss, Queue, RateVariation, Scenario};
use crate::simulation::Settings;
use engine::Stream;
use net::impairment::BuildContext;
use std::cell::Cell;
use units::{Rate, Span};

impl Scenario {
    /// Whether the seed can change a run. True if that is not certain: of a controller that is not of this program, of QUIC, and
    /// of media, whose code is not examined. Queues and impairments are built to see whether they ask for random numbers, and
    /// controllers with two seeds to see whether they differ.
    pub fn seed_matters(&self) -> bool {
        let plan = BuildPlan::new(self, Settings::default());
        let with_media = self.radio.is_some() || !self.wifi.is_empty() || !self.cells.is_empty();
        let jittered = self.satellites.as_ref().is_some_and(|satellites| {
            let others = [&satellites.isl, &satellites.up, &satellites.down];
            satellites.rules.jitter > Span::ZERO
                || others.into_iter().any(|link| direction_draws(&plan, link))
        });
        let mut directions = self.links.iter().flat_map(|link| &link.directions);
        let mut actions = self.changes.iter().flat_map(|change| &change.actions);
        let mut apps = self.flows.iter().filter_map(|flow| flow.app.as_ref());
        with_media
            || jittered
            || apps.any(|app| app.draws())
            || self.ecmp
            || !self.traffic.is_empty()
            || directions.any(|direction| direction_draws(&plan, direction))
            || self.flows.iter().any(|flow| flow.start_jitter > Span::ZERO || flow_draws(&flow.kind))
            || actions.any(|action| match action {
                Action::Queue(_, queue) => queue_draws(queue),
                Action::Losses(_, losses) => losses_draw(&plan, losses),
                Action::Control(_, kind) => flow_draws(kind),
                _ => false,
            })
    }
}

fn flow_draws(kind: &FlowKind) -> bool {
    match kind {
        FlowKind::Udp { jitter, .. } => *jitter > 0.0,
        FlowKind::Quic(_) | FlowKind::Attached(_) => true,
        FlowKind::Tcp(tcp) => {
            let options = &tcp.options;
            let phase = options.clock_phase.is_none() && options.clock_tick > Span::ZERO;
            let registered = matches!(tcp.control, CongestionControl::Registered(..));
            let state = |seed| format!("{:?}", tcp.control.make(&tcp.flow_info(seed, 1)));
            phase || !registered || state(1) != state(2)
        }
    }
}

fn direction_draws(plan: &BuildPlan<'_>, direction: &Direction) -> bool {
    direction.has_medium()
        || matches!(direction.variation, Some(RateVariation::RandomSteps { .. }))
        || losses_draw(plan, &direction.losses)
        || queue_draws(&direction.queue)
}

fn losses_draw(plan: &BuildPlan<'_>, losses: &[Loss]) -> bool {
    let asked = Cell::new(false);
    let stream = || asking(&asked);
    let flow = |name: &str| flow_of(plan, name);
    losses.iter().for_each(|loss| drop(loss.build(&BuildContext { flow: &flow, stream: &stream })));
    asked.get()
}

/// Whether a queue draws, at arrivals or at departures.
fn queue_draws(queue: &Queue) -> bool {
    let asked = Cell::new(false);
    let stream = |_: &str| asking(&asked);
    let (rate, rtt) = (Rate::from_bps(1_000_000), Span::from_ms(100));
    drop((queue.at_arrival(rate, Span::ZERO, rtt, &stream), queue.at_departure(rate, rtt, &stream)));
    asked.get()
}

/// A stream, noted as asked for.
fn asking(asked: &Cell<bool>) -> Stream {
    asked.set(true);
    Stream::new(1, "", "")
}
