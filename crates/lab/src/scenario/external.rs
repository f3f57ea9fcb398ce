//! External controllers: loaded and checked when a run begins.

use super::control::loader;
use super::key::key_text;
use super::model::{Action, CongestionControl, ExternalSource, Flow, FlowKind, Scenario};
use super::paths::Routers;
use crate::error::{Origin, ScenarioError, nearest};
use cc::{Controller, FlowInfo, NativeFactory};
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

impl Scenario {
    /// Whether any flow has an external controller.
    pub fn has_external(&self) -> bool {
        self.kinds().filter_map(FlowKind::control).any(|control| {
            matches!(control, CongestionControl::ExternalController(_) | CongestionControl::ExternalSource(_))
        })
    }

    /// Whether runs in parallel need a process each: a controller shares an interpreter, or a program set it.
    pub fn needs_processes(&self) -> bool {
        self.kinds().filter_map(FlowKind::control).any(|control| match control {
            CongestionControl::Registered(..) => false,
            CongestionControl::ExternalController(_) => true,
            CongestionControl::ExternalSource(source) => source.language.needs_processes(),
        })
    }

    /// Loads the code of the external controllers, which runs it. Returns the scenario with their factories.
    pub fn loaded(&self) -> Result<Cow<'_, Scenario>, ScenarioError> {
        let waits = |control: &CongestionControl| matches!(control, CongestionControl::ExternalSource(_));
        if !self.kinds().filter_map(FlowKind::control).any(waits) {
            return Ok(Cow::Borrowed(self));
        }
        let mut loaded = self.clone();
        for flow in &mut loaded.flows {
            let Some(source) = load(&mut flow.kind)? else { continue };
            check(&source, self.lacks(flow))?;
        }
        for table in &mut loaded.traffic {
            let Some(source) = load(&mut table.kind)? else { continue };
            check(&source, table.kind.unmet_option().or_else(|| table.lacks_routers()))?;
        }
        for action in loaded.changes.iter_mut().flat_map(|change| &mut change.actions) {
            let Action::Control(flow, kind) = action else { continue };
            let Some(source) = load(kind)? else { continue };
            let conflict = || loaded.flows[*flow].kind.recovery_conflict(kind);
            check(&source, kind.unmet_option().or_else(conflict))?;
        }
        loaded.prepare();
        Ok(Cow::Owned(loaded))
    }

    /// The signal that the controller of a flow needs and the flow does not provide.
    fn lacks(&self, flow: &Flow) -> Option<String> {
        let routers = Routers::new(&self.links, self.radio.as_deref(), self.satellites.is_some());
        flow.kind.unmet_option().or_else(|| routers.missing([flow]).map(|(_, lacks)| lacks))
    }

    /// The transports of all flows, of all traffic sources, and those with the controllers that changes start.
    fn kinds(&self) -> impl Iterator<Item = &FlowKind> {
        let changed =
            self.changes.iter().flat_map(|change| &change.actions).filter_map(|action| match action {
                Action::Control(_, kind) => Some(kind),
                _ => None,
            });
        let flows = self.flows.iter().map(|flow| &flow.kind);
        flows.chain(self.traffic.iter().map(|source| &source.kind)).chain(changed)
    }

    /// The scenario in which `make` creates the controllers of the TCP or QUIC flow `flow`. Their name in outcomes is that of their
    /// type, and their internals ([`Controller::probe`]) are not traced. Fails if there is no such flow, or if the flow does not provide a signal that the controller needs.
    pub fn with_controller<C: Controller + Clone + Debug + Send + 'static>(
        mut self,
        flow: &str,
        make: impl Fn(&FlowInfo) -> C + Send + Sync + 'static,
    ) -> Result<Scenario, ScenarioError> {
        let (_, kind) = self.controlled(flow)?;
        let info = kind.flow_info().unwrap_or_else(|| unreachable!("a flow with a controller"));
        let factory = NativeFactory::new(&info, make);
        self.set_control(flow, CongestionControl::ExternalController(Arc::new(factory)))?;
        Ok(self)
    }

    /// Sets the controller of the TCP or QUIC flow `name`. Fails if there is no such flow.
    pub fn set_control(&mut self, name: &str, control: CongestionControl) -> Result<(), ScenarioError> {
        let (index, kind) = self.controlled(name)?;
        let mut changed = self.flows[index].clone();
        changed.kind = kind
            .with_control(control)
            .unwrap_or_else(|| unreachable!("a flow with a controller can have another"));
        if let Some(lacks) = self.lacks(&changed) {
            return Err(controller_error(&changed, lacks).unmet());
        }
        self.flows[index] = changed;
        Ok(())
    }

    /// The number and the transport of the flow `name`, which has a controller.
    fn controlled(&self, name: &str) -> Result<(usize, &FlowKind), ScenarioError> {
        let Some(index) = self.flows.iter().position(|flow| flow.name == name) else {
            let key = key_text(["flow", name]);
            let remark = nearest(name, self.flows.iter().map(|flow| flow.name.as_str()));
            let message = format!("there is no flow \"{name}\"; {remark}");
            return Err(ScenarioError::new(&Origin::command_line(&key), &key, message));
        };
        let flow = &self.flows[index];
        match flow.kind.control() {
            Some(_) => Ok((index, &flow.kind)),
            None => Err(controller_error(flow, "a UDP flow has no controller".into())),
        }
    }
}

/// An error about the controller of a flow, which a program sets.
fn controller_error(flow: &Flow, message: String) -> ScenarioError {
    let key = key_text(["flow", &flow.name, flow.kind.name(), "congestion_control"]);
    ScenarioError::new(&Origin::command_line(&key_text(["flow", &flow.name])), &key, message)
}

/// Puts the factory of a controller in place of its source, which it returns; `None` if the controller has no source.
fn load(kind: &mut FlowKind) -> Result<Option<Arc<ExternalSource>>, ScenarioError> {
    let Some(CongestionControl::ExternalSource(source)) = kind.control() else { return Ok(None) };
    let source = source.clone();
    let factory = loader(source.language).and_then(|loader| (loader.load)(&source));
    let factory = factory.map_err(|message| source.refuse(message))?;
    let loaded = kind.with_control(CongestionControl::ExternalController(factory));
    *kind = loaded.unwrap_or_else(|| unreachable!("a flow with a source of a controller has a controller"));
    Ok(Some(source))
}

/// Refuses a controller that lacks a signal.
fn check(source: &ExternalSource, lacks: Option<String>) -> Result<(), ScenarioError> {
    lacks.map_or(Ok(()), |lacks| Err(source.refuse(lacks).unmet()))
}
