//! The applications of a simulation, and the flows that have them.

use super::Application;
use crate::audit::AppEvent;
use crate::simulation::recorder::AUDITS;
use units::Time;

/// Where the application of a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppPlace {
    /// Index of the application.
    pub app: u32,
    /// Index of the connection in it.
    pub connection: u32,
    /// The start of the route of its requests.
    pub route: u32,
    /// Bytes on the wire of a request besides its payload.
    pub header: u32,
}

/// The applications of a simulation.
#[derive(Clone, Default)]
pub struct Apps {
    pub apps: Vec<Application>,
    /// Of each flow, if any flow has an application; otherwise empty.
    pub places: Vec<Option<AppPlace>>,
    /// With an auditor: the events of the applications, with time and index of the application, that it has not processed.
    log: Option<Vec<(Time, u32, AppEvent)>>,
}

impl Apps {
    /// Adds an application. `connections` has the flow of each of its connections, its place and the number of all flows.
    pub fn add(
        &mut self,
        app: Application,
        connections: impl Iterator<Item = (u32, AppPlace)>,
        flows: usize,
    ) {
        self.places.resize(flows, None);
        for (flow, place) in connections {
            self.places[flow as usize] = Some(AppPlace { app: self.apps.len() as u32, ..place });
        }
        self.apps.push(app);
    }

    /// Events are for an auditor from now on.
    pub fn audit(&mut self) {
        self.log = AUDITS.then(Vec::new);
    }

    /// An event of application `app` for the auditor, if there is one.
    #[inline]
    pub fn report(&mut self, at: Time, app: u32, event: AppEvent) {
        if AUDITS && let Some(log) = &mut self.log {
            log.push((at, app, event));
        }
    }

    /// Removes the events for the auditor.
    pub fn take_events(&mut self) -> Vec<(Time, u32, AppEvent)> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Whether no flow has an application.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.apps.is_empty()
    }

    /// Where the application of a flow is, if it has one.
    #[inline]
    pub fn place(&self, flow: u32) -> Option<AppPlace> {
        self.places.get(flow as usize).copied().flatten()
    }
}
