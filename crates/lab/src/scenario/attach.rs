//! Flows whose ends are outside the simulation.

use super::key::key_text;
use super::model::{Action, Ends, FlowKind, Scenario};
use crate::error::{Origin, ScenarioError, nearest};

impl Scenario {
    /// The scenario in which the ends of flow `name` are outside the simulation. The flow keeps its path, and the times and
    /// bytes of its application for the caller; the network enforces none of them, and its transport has no effect. Fails if
    /// there is no such flow, or if a change is about it.
    pub fn attach(mut self, name: &str, ends: Ends) -> Result<Scenario, ScenarioError> {
        let Some(index) = self.flows.iter().position(|flow| flow.name == name) else {
            let remark = match self.flows.is_empty() {
                true => "the scenario has no [[flow]]".into(),
                false => nearest(name, self.flows.iter().map(|flow| flow.name.as_str())),
            };
            return Err(attach_error(name, format!("there is no flow \"{name}\"; {remark}")));
        };
        if let Some(change) =
            self.changes.iter().find(|change| change.actions.iter().any(|a| a.flow() == Some(index)))
        {
            return Err(attach_error(
                name,
                format!(
                    "the change at {} is about this flow, whose ends are outside the simulation; change links instead",
                    change.at.since(units::Time::ZERO)
                ),
            ));
        }
        if let Some(app) = &self.flows[index].app {
            let message = format!(
                "its application (kind = \"{}\") runs only in the simulation; write bytes or writes in place of app",
                app.name()
            );
            return Err(attach_error(name, message));
        }
        self.flows[index].kind = FlowKind::Attached(ends);
        self.prepare();
        Ok(self)
    }

    /// The same for every flow whose name starts with `prefix`, those of `[[traffic]]` tables too. Fails if there is none.
    pub fn attach_prefix(mut self, prefix: &str, ends: Ends) -> Result<Scenario, ScenarioError> {
        let names: Vec<String> = self.flows.iter().map(|flow| flow.name.clone()).collect();
        let tables = self.traffic.iter_mut().filter(|table| table.name.starts_with(prefix));
        let of_tables = tables.map(|table| table.kind = FlowKind::Attached(ends)).count();
        let named: Vec<&String> = names.iter().filter(|name| name.starts_with(prefix)).collect();
        if of_tables + named.len() == 0 {
            return Err(attach_error(prefix, format!("no name of a flow starts with \"{prefix}\"")));
        }
        named.into_iter().try_fold(self, |scenario, name| scenario.attach(name, ends))
    }
}

impl Action {
    /// The place of the flow that it changes.
    fn flow(&self) -> Option<usize> {
        match self {
            Action::Schedule(flow, _)
            | Action::Start(flow, _)
            | Action::Stop(flow, _)
            | Action::ReceiveWindow(flow, _)
            | Action::Control(flow, _)
            | Action::App(flow, _) => Some(*flow),
            Action::Rate(..)
            | Action::Delay(..)
            | Action::Queue(..)
            | Action::Losses(..)
            | Action::DropNext(..)
            | Action::KeepNext(..)
            | Action::UnmarkNext(..)
            | Action::Blackout(..) => None,
        }
    }
}

fn attach_error(name: &str, message: String) -> ScenarioError {
    let key = key_text(["flow", name]);
    ScenarioError::new(&Origin::command_line(&key), &key, message)
}
