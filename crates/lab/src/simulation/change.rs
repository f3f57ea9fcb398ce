//! Changes during a run.

use super::build::links::{audited_limit, longer, permit_losses};
use super::build::plan::named_stream;
use super::endpoints::{Endpoints, SimulationContext, flow_context};
use super::event_loop::Simulation;
use super::{Inner, Run, each};
use crate::scenario::{Action, Change, FlowKind, Loss, PacketSelection, Queue, Scenario};
use net::impairment::BuildContext;
use net::impairment::PacketsOf;
use net::{LinkId, NotPrepared};
use transport::FlowTimer;
use units::{Span, Time};

impl Run {
    /// Processes all events before `at`, and none at that time: the run is then where a change at `at` applies. Returns whether
    /// it has ended.
    pub fn advance_before(&mut self, at: Time) -> bool {
        self.advance_to(Time::from_ps(at.ps().saturating_sub(1)))
    }

    /// Sets the clock to `at`, before which all events are processed ([`Run::advance_before`]), unless the run has ended.
    pub fn wait_until(&mut self, at: Time) {
        each!(&mut self.inner, simulation => {
            let at = at.min(simulation.end);
            simulation.event_queue.wait_until(at);
            simulation.reached = simulation.reached.max(at);
        });
    }

    /// For each TCP or QUIC flow its name, window and threshold now, segments.
    pub fn present_windows(&self) -> Vec<(String, f64, f64)> {
        each!(&self.inner, simulation => {
            let tcp = simulation.senders.iter().map(transport::Sender::shown_window);
            let quic = simulation.quic.iter().map(|flow| flow.shown_window());
            let windows = tcp.chain(quic).zip(simulation.names.iter());
            windows.map(|((cwnd, ssthresh), name)| (name.clone(), cwnd, ssthresh)).collect()
        })
    }

    /// The run continues as one of `scenario`, which has the changes of the run's scenario up to the present time, and others
    /// after it. Fails if the run was not built for these changes: begin it with this scenario, then.
    pub fn adopt(&mut self, scenario: &Scenario) -> Result<(), NotPrepared> {
        let loaded = scenario.loaded().map_err(|_| NotPrepared)?;
        each!(&mut self.inner, simulation => simulation.adopt(&loaded))
    }
}

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// Applies the changes whose time is the present bound of the event loop.
    #[cold]
    pub(super) fn apply_due(&mut self) {
        let Some(change) = self.changes.get(self.next_change).cloned() else { return };
        self.next_change += 1;
        if (ChangeApplier { simulation: self, change: &change.name }).apply(&change).is_err() {
            unreachable!("a run is built for the changes of its scenario");
        }
    }

    fn adopt(&mut self, scenario: &Scenario) -> Result<(), NotPrepared> {
        let past = self.next_change;
        let same = |(a, b): (&Change, &Change)| a.name == b.name && a.at == b.at;
        let begins_alike =
            scenario.changes.len() >= past && scenario.changes.iter().zip(&self.changes[..past]).all(same);
        let now = self.event_queue.now();
        let later = scenario.changes.iter().skip(past).all(|change| change.at >= now);
        if *self.prepared != scenario.prepared || !begins_alike || !later {
            return Err(NotPrepared);
        }
        self.changes = scenario.changes.clone();
        self.has_external |= scenario.has_external();
        Ok(())
    }
}

/// Applies a change to a simulation.
struct ChangeApplier<'a, const WINDOWS: bool, const PACKETS: bool> {
    simulation: &'a mut Simulation<WINDOWS, PACKETS>,
    /// The name of the change, for its random streams.
    change: &'a str,
}

impl<const WINDOWS: bool, const PACKETS: bool> ChangeApplier<'_, WINDOWS, PACKETS> {
    fn apply(&mut self, change: &Change) -> Result<(), NotPrepared> {
        let simulation = &mut *self.simulation;
        simulation.event_queue.wait_until(change.at);
        if PACKETS {
            simulation.recorder.reach(change.at);
        }
        simulation.network.links.timer_event();
        simulation.reached = simulation.reached.max(change.at);
        change.actions.iter().try_for_each(|action| self.act(action))
    }

    fn act(&mut self, action: &Action) -> Result<(), NotPrepared> {
        let simulation = &mut *self.simulation;
        match action {
            Action::Rate(link, rate) => {
                simulation.network.links.change_rate(&simulation.event_queue, LinkId(*link), *rate)
            }
            Action::Delay(link, delay, ordered) => self.change_delay(*link, *delay, *ordered),
            Action::Queue(link, queue) => self.change_queue(*link, queue),
            Action::Losses(link, losses) => self.change_losses(*link, losses),
            Action::DropNext(link, packets) => {
                let (demand, count) = demand(&simulation.order, packets);
                simulation
                    .network
                    .links
                    .on_demand(LinkId(*link), |on_demand| on_demand.drop_next(demand, count))
            }
            Action::KeepNext(link, packets) => {
                let (demand, count) = demand(&simulation.order, packets);
                if let Some(auditor) = simulation.recorder.auditor() {
                    auditor.change_link(*link, |link| {
                        link.allowance += count;
                        link.limit = link.limit.map(|limit| longer(limit, count));
                    });
                }
                simulation
                    .network
                    .links
                    .on_demand(LinkId(*link), |on_demand| on_demand.keep_next(demand, count))
            }
            Action::UnmarkNext(link, packets) => {
                let (demand, count) = demand(&simulation.order, packets);
                simulation
                    .network
                    .links
                    .on_demand(LinkId(*link), |on_demand| on_demand.unmark_next(demand, count))
            }
            Action::Blackout(link, end) => {
                simulation.network.links.on_demand(LinkId(*link), |on_demand| on_demand.black_out(*end))
            }
            Action::Schedule(flow, schedule) => {
                let number = simulation.order[*flow];
                let Endpoints::Udp(index) = simulation.endpoints[number as usize] else {
                    return Err(NotPrepared);
                };
                simulation.udp[index]
                    .0
                    .change_schedule(&mut flow_context!(simulation, number), schedule.clone());
                Ok(())
            }
            Action::Start(flow, at) => {
                let number = simulation.order[*flow];
                simulation.schedules[number as usize].start = *at;
                let timer = number * FlowTimer::COUNT + FlowTimer::Application as u32;
                simulation.event_queue.set_timer(timer, *at);
                Ok(())
            }
            Action::Stop(flow, at) => self.change_stop(*flow, *at),
            Action::ReceiveWindow(flow, segments) => {
                let number = simulation.order[*flow];
                let Endpoints::Tcp(index) = simulation.endpoints[number as usize] else {
                    return Err(NotPrepared);
                };
                if let Some(auditor) = simulation.recorder.auditor() {
                    auditor.allow_window(number, *segments);
                }
                let now = simulation.event_queue.now();
                if let Some(captures) = &mut simulation.recorder.captures {
                    captures.change_window(number, now, *segments);
                }
                simulation.senders[index]
                    .change_receive_window(&mut flow_context!(simulation, number), *segments);
                Ok(())
            }
            Action::App(flow, app) => {
                let number = simulation.order[*flow];
                if let Some(place) = simulation.apps.place(number) {
                    let now = simulation.event_queue.now();
                    simulation.apps.apps[place.app as usize].change(now, app);
                }
                Ok(())
            }
            Action::Control(flow, kind) => self.change_control(*flow, kind),
        }
    }

    fn change_delay(&mut self, link: u32, delay: Span, ordered: bool) -> Result<(), NotPrepared> {
        let simulation = &mut *self.simulation;
        let old = simulation.network.links.delay(LinkId(link));
        simulation.network.links.change_delay(LinkId(link), delay, ordered)?;
        if let Some(auditor) = simulation.recorder.auditor() {
            auditor.change_link(link, |link| {
                let (least, largest) = link.delay;
                link.delay =
                    (least.min((least + delay) - old.min(least)), largest.max((largest + delay) - old));
            });
        }
        Ok(())
    }

    fn change_queue(&mut self, link: u32, queue: &Queue) -> Result<(), NotPrepared> {
        let simulation = &mut *self.simulation;
        let id = LinkId(link);
        let (rate, rtt) = (simulation.network.links.rate(id), simulation.round_trips[link as usize]);
        let stream = |purpose: &str| {
            named_stream(simulation.seed, &simulation.topology, id, &format!("{purpose}/{}", self.change))
        };
        let scheduler = queue.at_departure(rate, rtt, &stream);
        if let Some(auditor) = simulation.recorder.auditor() {
            auditor.change_link(link, |link| {
                link.limit = audited_limit(queue, rate, rtt).map(|limit| longer(limit, link.allowance));
                link.limit_before = queue.limits_before();
                link.keeps_flow_order &= queue.keeps_flow_order();
            });
        }
        simulation.network.links.change_queue(
            &mut simulation.event_queue,
            &mut simulation.recorder,
            id,
            scheduler,
        )
    }

    fn change_losses(&mut self, link: u32, losses: &[Loss]) -> Result<(), NotPrepared> {
        let simulation = &mut *self.simulation;
        let flows: Vec<(&str, u32, u32)> = simulation
            .names
            .iter()
            .enumerate()
            .map(|(number, name)| {
                let syn = simulation.senders.get(number).is_some_and(|sender| sender.options().syn);
                (name.as_str(), number as u32, syn as u32)
            })
            .collect();
        let flow = |wanted: &str| flows.iter().find(|flow| flow.0 == wanted).map(|flow| (flow.1, flow.2));
        let mut impairments = Vec::new();
        for (index, loss) in losses.iter().enumerate() {
            let stream = || {
                named_stream(
                    simulation.seed,
                    &simulation.topology,
                    LinkId(link),
                    &format!("loss/{}/{index}", self.change),
                )
            };
            impairments.extend(loss.build(&BuildContext { flow: &flow, stream: &stream }));
        }
        if let Some(auditor) = simulation.recorder.auditor() {
            auditor.change_link(link, |link| permit_losses(link, losses));
        }
        simulation.network.links.change_impairments(LinkId(link), impairments)
    }

    fn change_stop(&mut self, flow: usize, at: Time) -> Result<(), NotPrepared> {
        let simulation = &mut *self.simulation;
        let number = simulation.order[flow];
        let schedule = &mut simulation.schedules[number as usize];
        schedule.stop = at;
        let started = schedule.started;
        match simulation.endpoints[number as usize] {
            Endpoints::Udp(index) => {
                simulation.udp[index].0.change_stop(&mut flow_context!(simulation, number), at)
            }
            _ if started => schedule.set_timer(&mut simulation.event_queue, number),
            _ => {}
        }
        Ok(())
    }

    fn change_control(&mut self, flow: usize, kind: &FlowKind) -> Result<(), NotPrepared> {
        let simulation = &mut *self.simulation;
        let number = simulation.order[flow];
        let (Endpoints::Tcp(index), FlowKind::Tcp(tcp)) = (simulation.endpoints[number as usize], kind)
        else {
            return Err(NotPrepared);
        };
        let seed =
            engine::Stream::new(simulation.seed, "controller", &simulation.names[number as usize]).bits();
        let controller = tcp.control.make(&tcp.flow_info(seed, simulation.paths[number as usize].links));
        let sender = &mut simulation.senders[index];
        if !sender.accepts(cc::Controller::needs(&controller)) {
            return Err(NotPrepared);
        }
        simulation.recorder.change_controller(number, &tcp.control.probes());
        sender.change_controller(&mut flow_context!(simulation, number), controller);
        Ok(())
    }
}

/// Which packets an action means in a run whose flows have the numbers `order`, and how many.
fn demand(order: &[u32], selection: &PacketSelection) -> (PacketsOf, u32) {
    let flow = selection.flow.map(|index| order[index]);
    (PacketsOf { flow, number: selection.packet }, selection.count)
}
