//! Flows whose decisions an environment makes.

use super::endpoints::{Endpoints, SimulationContext, flow_context};
use super::{Inner, Run, each};
use crate::scenario::Action;
use cc::Signals;
use policy::{Measured, Policy, PolicyFile};
use std::sync::Arc;
use transport::missing_signal;
use units::Time;

/// A run whose policies wait for actions.
pub struct Environment {
    run: Run,
    /// The numbers of the flows, in the order of the actions.
    flows: Vec<u32>,
    file: Arc<PolicyFile>,
    /// When the last decision was due.
    at: Time,
    active: Vec<bool>,
}

impl Environment {
    /// The flows `names` of a run that has not begun observe and act as `file` says. `first`: their first rate,
    /// segments a second. Fails if one of them has no policy, or if it lacks a signal that the controller between the
    /// actions needs.
    pub fn new(
        mut run: Run,
        names: &[String],
        file: Arc<PolicyFile>,
        first: Option<f64>,
    ) -> Result<Environment, String> {
        let flows = numbers(&run, names)?;
        let kind = file.action.kind;
        if first.is_some() && !kind.paces() {
            return Err(format!("first_rate: an action {} sets no rate; write first_rate=None", kind.name()));
        }
        for (name, flow) in names.iter().zip(&flows) {
            let opened = with_policy(&mut run, *flow, |policy| policy.open(file.clone(), first));
            opened.ok_or_else(|| format!("flow \"{name}\": its congestion_control is not \"policy\""))?;
            let controller = file.action.controller.unwrap_or("policy");
            serve_policy(&mut run, *flow)
                .map_err(|lacks| format!("flow \"{name}\": {controller} {lacks}"))?;
        }
        Ok(Environment { run, flows, file, at: Time::ZERO, active: Vec::new() })
    }

    /// As [`Environment::new`], but the flows keep their controllers, whose decisions become the actions. Fails for a flow
    /// that is not TCP with recovery `rack`, and for actions that set a parameter.
    pub fn observing(mut run: Run, names: &[String], file: Arc<PolicyFile>) -> Result<Environment, String> {
        if file.action.parameter.is_some() {
            return Err(
                "an action that sets a parameter cannot be recorded: no controller has such actions".into()
            );
        }
        let flows = numbers(&run, names)?;
        for (name, flow) in names.iter().zip(&flows) {
            if !observe_controller(&mut run, *flow, &file) {
                return Err(format!(
                    "flow \"{name}\": only a TCP flow with recovery \"rack\" and a registered controller can be recorded"
                ));
            }
        }
        Ok(Environment { run, flows, file, at: Time::ZERO, active: Vec::new() })
    }

    /// A copy; fails with the reason if the run cannot be copied.
    pub fn fork(&self) -> Result<Environment, String> {
        let run = self.run.fork().map_err(|reason| reason.to_string())?;
        let (flows, file, active) = (self.flows.clone(), self.file.clone(), self.active.clone());
        Ok(Environment { run, flows, file, at: self.at, active })
    }

    /// The run.
    pub fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Sets the actions of the decision that is due, one for each flow.
    pub fn act(&mut self, actions: &[f64]) {
        for (flow, action) in self.flows.clone().into_iter().zip(actions) {
            with_policy(&mut self.run, flow, |policy| policy.act(*action));
        }
    }

    /// Runs until the next decision is due, at the end of the longest interval of the flows, and measures the intervals.
    /// Appends the observations and the measured values, flow by flow; a flow that has not begun or has ended shows an empty
    /// interval. Returns whether there is a decision: the run goes on.
    pub fn advance(&mut self, observations: &mut Vec<f32>, measured: &mut Vec<f64>) -> bool {
        let flows = self.flows.clone();
        let due = self.next_decision(&flows);
        self.active.clear();
        for flow in flows {
            let seen = due.and_then(|due| {
                with_policy(&mut self.run, flow, |policy| {
                    (policy.due() == due).then(|| (policy.observe(due), *policy.measured()))
                })
            });
            let seen = seen.flatten();
            self.active.push(seen.is_some());
            let (observation, values) =
                seen.unwrap_or_else(|| (Policy::observe_nothing(&self.file), Measured::default()));
            observations.extend(observation);
            measured.extend(values.values());
        }
        due.is_some()
    }

    /// Whether all flows have sent everything that they had to send.
    pub fn completed(&self) -> bool {
        self.flows.iter().all(|flow| has_completed(&self.run, *flow))
    }

    /// Of each flow, whether it had an interval at the last decision.
    pub fn active(&self) -> &[bool] {
        &self.active
    }

    /// Advances to the next decision and returns its time; `None` if the run or every flow has ended before it.
    fn next_decision(&mut self, flows: &[u32]) -> Option<Time> {
        // The timers of the last decision take the actions.
        if advance_unmeasured(&mut self.run, u64::MAX, self.at) {
            return None;
        }
        let due = loop {
            let dues: Vec<Time> = flows
                .iter()
                .filter_map(|flow| with_policy(&mut self.run, *flow, |policy| policy.due()))
                .collect();
            let active = |due: &Time| *due > self.at && *due != Time::NEVER;
            if let Some(due) = dues.iter().copied().filter(active).max() {
                break due;
            }
            // No flow has a round-trip sample yet.
            if !dues.contains(&Time::NEVER) || advance_unmeasured(&mut self.run, 1, Time::NEVER) {
                return None;
            }
        };
        for flow in flows {
            with_policy(&mut self.run, *flow, |policy| {
                if policy.due() > self.at && policy.due() != Time::NEVER {
                    policy.postpone(due);
                }
            });
        }
        self.at = due;
        // All events before `due`, and none at that time.
        let ended = advance_unmeasured(&mut self.run, u64::MAX, Time::from_ps(due.ps().saturating_sub(1)));
        (!ended).then_some(due)
    }
}

/// The numbers of flows. Fails with the names that there are, and for a flow whose controller does not stay.
fn numbers(run: &Run, names: &[String]) -> Result<Vec<u32>, String> {
    let flow_names = run.shape().flows;
    let number = |name: &String| {
        let number = flow_names.iter().position(|flow| flow == name);
        let number = number
            .ok_or_else(|| format!("there is no flow \"{name}\"; there are {}", flow_names.join(", ")))?;
        Ok(number as u32)
    };
    let numbers = names.iter().map(number).collect::<Result<Vec<u32>, String>>()?;
    match names.iter().zip(&numbers).find(|(_, flow)| is_replaced(run, **flow)) {
        Some((name, _)) => Err(format!("flow \"{name}\": a change of the scenario replaces its controller")),
        None => Ok(numbers),
    }
}

/// Processes up to `events` events, none after `until`. Returns whether the run has ended. An outcome has no CPU time of
/// it.
fn advance_unmeasured(run: &mut Run, events: u64, until: Time) -> bool {
    each!(&mut run.inner, simulation => simulation.advance_unmeasured(events, until))
}

/// Gives the policy of a flow that has not begun the signals that it needs. Fails with what is missing.
fn serve_policy(run: &mut Run, flow: u32) -> Result<(), &'static str> {
    let needs = with_policy(run, flow, |policy| cc::Controller::needs(policy)).unwrap_or(Signals::NONE);
    if needs.has(Signals::ROUTER_RATE) || needs.has(Signals::ROUTER_FEEDBACK) {
        return Err("needs the routers of its path, which no environment sets up");
    }
    each!(&mut run.inner, simulation => match simulation.endpoints[flow as usize] {
        Endpoints::Tcp(index) => {
            let sender = &mut simulation.senders[index];
            if let Some(lacks) = missing_signal(needs, sender.options()) {
                return Err(lacks);
            }
            sender.prepare(needs);
            if !sender.accepts(needs) {
                return Err("needs another loss recovery");
            }
            let policy = sender.controller().clone();
            sender.change_controller(&mut flow_context!(simulation, flow), policy);
            Ok(())
        }
        Endpoints::Quic(index) => simulation.quic[index].serve(needs),
        Endpoints::Udp(_) | Endpoints::Attached(_) => Ok(()),
    })
}

/// Whether a change of the scenario will replace the controller of a flow.
fn is_replaced(run: &Run, flow: u32) -> bool {
    each!(&run.inner, simulation => {
        let is_flow = |index: &usize| simulation.order[*index] == flow;
        let actions = simulation.changes.iter().flat_map(|change| &change.actions);
        actions.into_iter().any(|action| matches!(action, Action::Control(index, _) if is_flow(index)))
    })
}

/// Measures the intervals of a flow that has not begun; its controller stays. Returns whether that is possible.
fn observe_controller(run: &mut Run, flow: u32, file: &Arc<PolicyFile>) -> bool {
    each!(&mut run.inner, simulation => {
        let Endpoints::Tcp(index) = simulation.endpoints[flow as usize] else { return false };
        let sender = &mut simulation.senders[index];
        let observed = sender.controller().clone();
        let registered = !matches!(observed, cc::AnyController::ExternalController(_));
        let policy = Policy::observing(file.clone(), observed, sender.options().packet);
        let needs = cc::Controller::needs(&policy);
        sender.prepare(needs);
        let possible = registered && sender.accepts(needs);
        if possible {
            let context = &mut flow_context!(simulation, flow);
            sender.change_controller(context, policy.into());
        }
        possible
    })
}

/// Whether everything that a flow had to send is acknowledged.
fn has_completed(run: &Run, flow: u32) -> bool {
    each!(&run.inner, simulation => match simulation.endpoints[flow as usize] {
        Endpoints::Tcp(index) => simulation.senders[index].completed().is_some(),
        Endpoints::Quic(_) | Endpoints::Udp(_) | Endpoints::Attached(_) => false,
    })
}

/// Calls `use_policy` with the controller of a flow; `None` if that is not a policy.
fn with_policy<T>(run: &mut Run, flow: u32, use_policy: impl FnOnce(&mut Policy) -> T) -> Option<T> {
    each!(&mut run.inner, simulation => match simulation.endpoints[flow as usize] {
        Endpoints::Tcp(index) => {
            simulation.senders[index].edit_controller(|controller| controller.downcast_mut().map(use_policy))
        },
        Endpoints::Quic(index) => simulation.quic[index].with_policy(use_policy),
        Endpoints::Udp(_) | Endpoints::Attached(_) => None,
    })
}
