//! External controllers: loaded and checked when a run begins.

use super::control::{LOADER, NO_LOADER};
use super::model::{CongestionControl, ExternalSource, Flow, FlowKind, Scenario, TcpFlow};
use super::paths::Routers;
use crate::error::{Origin, ScenarioError, nearest};
use std::borrow::Cow;
use std::sync::Arc;

type Result<T> = std::result::Result<T, ScenarioError>;

impl Scenario {
    /// Whether any flow has an external controller.
    pub fn has_external(&self) -> bool {
        let external = |tcp: &TcpFlow| {
            matches!(
                tcp.control,
                CongestionControl::ExternalController(_) | CongestionControl::ExternalSource(_)
            )
        };
        let flows = self.flows.iter().any(|flow| matches!(&flow.kind, FlowKind::Tcp(tcp) if external(tcp)));
        flows || self.traffic.iter().any(|source| external(&source.tcp))
    }

    /// Loads the code of the external controllers, which runs it. Returns the scenario with their factories.
    pub(crate) fn loaded(&self) -> Result<Cow<'_, Scenario>> {
        let waits = |tcp: &TcpFlow| matches!(tcp.control, CongestionControl::ExternalSource(_));
        let flows = self.flows.iter().any(|flow| matches!(&flow.kind, FlowKind::Tcp(tcp) if waits(tcp)));
        if !flows && !self.traffic.iter().any(|table| waits(&table.tcp)) {
            return Ok(Cow::Borrowed(self));
        }
        let mut loaded = self.clone();
        for flow in &mut loaded.flows {
            let FlowKind::Tcp(tcp) = &flow.kind else { continue };
            let CongestionControl::ExternalSource(source) = &tcp.control else { continue };
            let source = source.clone();
            flow.kind = FlowKind::Tcp(Arc::new(load(tcp, &source)?));
            self.lacks(flow).map_or(Ok(()), |lacks| Err(source.refuse(lacks).unmet()))?;
        }
        for table in &mut loaded.traffic {
            let CongestionControl::ExternalSource(source) = &table.tcp.control else { continue };
            let source = source.clone();
            table.tcp = Arc::new(load(&table.tcp, &source)?);
            let lacks = table.tcp.unmet_option().or_else(|| table.lacks_routers());
            lacks.map_or(Ok(()), |lacks| Err(source.refuse(lacks).unmet()))?;
        }
        Ok(Cow::Owned(loaded))
    }

    /// The signal that the controller of a flow needs and the flow does not provide.
    fn lacks(&self, flow: &Flow) -> Option<String> {
        let FlowKind::Tcp(tcp) = &flow.kind else { return None };
        let routers = Routers::new(&self.links, self.radio.as_deref(), self.satellites.is_some());
        tcp.unmet_option().or_else(|| routers.missing([flow]).map(|(_, lacks)| lacks))
    }

    /// Sets the controller of the TCP flow `name`. Fails if there is no such TCP flow.
    pub fn set_control(&mut self, name: &str, control: CongestionControl) -> Result<()> {
        let origin = Origin::Set(format!("flow.{name}").into());
        let key = format!("flow.{name}.tcp.congestion_control");
        let known: Vec<String> = self.flows.iter().map(|flow| flow.name.clone()).collect();
        let Some(index) = self.flows.iter().position(|flow| flow.name == name) else {
            let remark = nearest(name, known.iter().map(String::as_str));
            return Err(ScenarioError::new(&origin, &key, format!("there is no flow \"{name}\"; {remark}")));
        };
        let FlowKind::Tcp(tcp) = &self.flows[index].kind else {
            return Err(ScenarioError::new(&origin, &key, "a UDP flow has no controller"));
        };
        let mut changed = self.flows[index].clone();
        changed.kind = FlowKind::Tcp(Arc::new(tcp.with_control(control)));
        if let Some(lacks) = self.lacks(&changed) {
            return Err(ScenarioError::new(&origin, &key, lacks).unmet());
        }
        self.flows[index] = changed;
        Ok(())
    }
}

/// The TCP configuration of the flow with the factory in place of its source.
fn load(tcp: &TcpFlow, source: &ExternalSource) -> Result<TcpFlow> {
    let factory = LOADER.get().map_or_else(|| Err(NO_LOADER.into()), |loader| (loader.load)(source));
    let factory = factory.map_err(|message| source.refuse(message))?;
    Ok(tcp.with_control(CongestionControl::ExternalController(factory)))
}
