//! Changes during a run.

use super::build::links::{audited_limit, impairment_of, named_stream};
use super::endpoints::{Endpoints, SimulationContext, flow_context};
use super::event_loop::Simulation;
use super::{Inner, Run};
use crate::scenario::{Action, Change, FlowKind, Loss, Queue};
use net::{LinkId, NotPrepared};
use transport::FlowTimer;
use units::{Limit, Span, Time};

impl Run {
    /// Processes all events before `at`, and none at that time: the run is then where a change at `at` applies. Returns whether
    /// it has ended.
    pub fn advance_before(&mut self, at: Time) -> bool {
        self.advance_to(Time::from_ps(at.ps().saturating_sub(1)))
    }

    /// Applies a change at its time, up to which the run has advanced ([`Run::advance_before`]). The run continues as one of
    /// the scenario with this change. Fails if the run was not built for it: begin it with the scenario that has the change,
    /// without it ([`crate::Scenario::unchanged_from`]). Discard the run then.
    pub fn apply(&mut self, change: &Change) -> Result<(), NotPrepared> {
        match &mut self.inner {
            Inner::Plain(simulation) => simulation.apply(change),
            Inner::Windows(simulation) => simulation.apply(change),
            Inner::Full(simulation) => simulation.apply(change),
        }
    }
}

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// Applies the changes whose time is the present bound of the event loop.
    #[cold]
    pub(super) fn apply_due(&mut self) {
        let Some(change) = self.changes.get(self.next_change).cloned() else { return };
        self.next_change += 1;
        if self.apply(&change).is_err() {
            unreachable!("a run is built for the changes of its scenario");
        }
    }

    pub(super) fn apply(&mut self, change: &Change) -> Result<(), NotPrepared> {
        self.event_queue.wait_until(change.at);
        if PACKETS {
            self.recorder.reach(change.at);
        }
        self.network.timer_event();
        self.reached = self.reached.max(change.at);
        change.actions.iter().try_for_each(|action| self.act(&change.name, action))
    }

    fn act(&mut self, name: &str, action: &Action) -> Result<(), NotPrepared> {
        match action {
            Action::Rate(link, rate) => self.network.change_rate(&self.event_queue, LinkId(*link), *rate),
            Action::Delay(link, delay, _) => self.change_delay(*link, *delay),
            Action::Queue(link, queue) => self.change_queue(name, *link, queue),
            Action::Losses(link, losses) => self.change_losses(name, *link, losses),
            Action::DropNext(link, flow, count) => {
                let flow = flow.map(|index| self.order[index]);
                self.network.on_demand(LinkId(*link), |wanted| wanted.drop_next(flow, *count))
            }
            Action::KeepNext(link, flow, count) => {
                let flow = flow.map(|index| self.order[index]);
                if let Some(auditor) = &mut self.recorder.auditor {
                    auditor.change_link(*link, |link| {
                        link.limit = link.limit.map(|limit| longer(limit, *count))
                    });
                }
                self.network.on_demand(LinkId(*link), |wanted| wanted.keep_next(flow, *count))
            }
            Action::Blackout(link, end) => {
                self.network.on_demand(LinkId(*link), |wanted| wanted.black_out(*end))
            }
            Action::Schedule(flow, schedule) => {
                let number = self.order[*flow];
                let Endpoints::Udp(index) = self.endpoints[number as usize] else { return Err(NotPrepared) };
                self.udp[index].0.change_schedule(&mut flow_context!(self, number), schedule.clone());
                Ok(())
            }
            Action::Start(flow, at) => {
                let number = self.order[*flow];
                self.schedules[number as usize].start = *at;
                let timer = number * FlowTimer::COUNT + FlowTimer::Application as u32;
                self.event_queue.set_timer(timer, *at);
                Ok(())
            }
            Action::Stop(flow, at) => self.change_stop(*flow, *at),
            Action::ReceiveWindow(flow, segments) => {
                let number = self.order[*flow];
                let Endpoints::Tcp(index) = self.endpoints[number as usize] else { return Err(NotPrepared) };
                if let Some(auditor) = &mut self.recorder.auditor {
                    auditor.allow_window(number, *segments);
                }
                self.senders[index].change_receive_window(&mut flow_context!(self, number), *segments);
                Ok(())
            }
            Action::Control(flow, kind) => self.change_control(*flow, kind),
        }
    }

    fn change_delay(&mut self, link: u32, delay: Span) -> Result<(), NotPrepared> {
        let old = self.network.delay(LinkId(link));
        self.network.change_delay(LinkId(link), delay)?;
        if let Some(auditor) = &mut self.recorder.auditor {
            auditor.change_link(link, |link| {
                let (least, most) = link.delay;
                link.delay = (least.min((least + delay) - old.min(least)), most.max((most + delay) - old));
            });
        }
        Ok(())
    }

    fn change_queue(&mut self, name: &str, link: u32, queue: &Queue) -> Result<(), NotPrepared> {
        let id = LinkId(link);
        let (rate, rtt) = (self.network.rate(id), self.round_trips[link as usize]);
        let purpose = format!("{}/{name}", queue.purpose());
        let stream = || named_stream(self.seed, &self.topology, id, &purpose);
        let scheduler = queue.build_scheduled(rate, rtt, stream);
        if let Some(auditor) = &mut self.recorder.auditor {
            auditor.change_link(link, |link| {
                link.limit = audited_limit(queue, rate, rtt);
                link.limit_before = queue.limits_before();
                link.keeps_flow_order &= !matches!(queue, Queue::DualPi2 { .. });
            });
        }
        self.network.change_queue(&self.event_queue, &mut self.recorder, id, scheduler)
    }

    fn change_losses(&mut self, name: &str, link: u32, losses: &[Loss]) -> Result<(), NotPrepared> {
        let flows: Vec<(&str, u32, u32)> = self
            .names
            .iter()
            .enumerate()
            .map(|(number, name)| {
                let syn = self.senders.get(number).is_some_and(|sender| sender.options().syn);
                (name.as_str(), number as u32, syn as u32)
            })
            .collect();
        let flow = |wanted: &str| flows.iter().find(|flow| flow.0 == wanted).map(|flow| (flow.1, flow.2));
        let mut impairments = Vec::new();
        for (index, loss) in losses.iter().enumerate() {
            let stream =
                || named_stream(self.seed, &self.topology, LinkId(link), &format!("loss/{name}/{index}"));
            impairments.extend(impairment_of(loss, flow, stream));
        }
        let stalls = losses.iter().filter_map(|loss| match loss {
            Loss::Stall { times } => {
                Some(times.iter().fold(Span::ZERO, |sum, (begin, end)| sum + (*end - *begin)))
            }
            _ => None,
        });
        let pause = stalls.fold(Span::ZERO, |sum, stall| sum + stall);
        if let Some(auditor) = &mut self.recorder.auditor {
            auditor.change_link(link, |link| link.pause = link.pause + pause);
        }
        self.network.change_impairments(LinkId(link), impairments)
    }

    fn change_stop(&mut self, flow: usize, at: Time) -> Result<(), NotPrepared> {
        let number = self.order[flow];
        let schedule = &mut self.schedules[number as usize];
        schedule.stop = at;
        let started = schedule.started;
        match self.endpoints[number as usize] {
            Endpoints::Udp(index) => self.udp[index].0.change_stop(&mut flow_context!(self, number), at),
            _ if started => self.set_application_timer(number),
            _ => {}
        }
        Ok(())
    }

    fn change_control(&mut self, flow: usize, kind: &FlowKind) -> Result<(), NotPrepared> {
        let number = self.order[flow];
        let (Endpoints::Tcp(index), FlowKind::Tcp(tcp)) = (self.endpoints[number as usize], kind) else {
            return Err(NotPrepared);
        };
        let seed = engine::Stream::new(self.seed, "controller", &self.names[number as usize]).bits();
        let controller = tcp.control.make(&tcp.flow_info(seed));
        let sender = &mut self.senders[index];
        if !sender.accepts(cc::Controller::needs(&controller)) {
            return Err(NotPrepared);
        }
        self.recorder.change_probes(number, &tcp.control.probes());
        sender.change_controller(&mut flow_context!(self, number), controller);
        Ok(())
    }
}

/// A limit with room for `count` packets more.
fn longer(limit: Limit, count: u32) -> Limit {
    match limit {
        Limit::Packets(packets) => Limit::Packets(packets + count as u64),
        Limit::Bytes(bytes) => Limit::Bytes(bytes + 65_535 * count as u64),
        Limit::Bdp(_) => limit,
    }
}
