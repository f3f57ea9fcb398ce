//! How the controllers of flows are created: those of this crate by name, others by a factory.

use crate::boxed::BoxedController;
use crate::controller::Controller;
use crate::controllers::{AnyController, CONTROLLERS};
use crate::flow::FlowInfo;
use crate::outside::{CachedExternal, Failure};
use crate::parameters::Params;
use crate::registry::Registration;
use crate::signals::Signals;
use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicU64, Ordering};
use units::Segments;

impl AnyController {
    /// The registration of the controller `name` of this crate; `None` if no controller has this name.
    pub fn registration(name: &str) -> Option<&'static Registration<AnyController>> {
        CONTROLLERS.iter().find(|registration| registration.descriptor.name == name)
    }

    /// The controller `name` of this crate with the defaults of its parameters; `None` if no controller has this name.
    pub fn with_defaults(name: &str, flow: &FlowInfo) -> Option<AnyController> {
        let registration = AnyController::registration(name)?;
        let params = Params::new(registration.descriptor.params, []).ok()?;
        Some(registration.create(&params, flow))
    }

    /// The error that stopped the controller; only controllers in other languages have one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            AnyController::ExternalController(cached) => cached.failure(),
            _ => None,
        }
    }

    /// The controller, if it is one of another crate of type `C`.
    pub fn downcast_mut<C: Controller + 'static>(&mut self) -> Option<&mut C> {
        match self {
            AnyController::Boxed(boxed) => boxed.downcast_mut(),
            _ => None,
        }
    }
}

impl From<BoxedController> for AnyController {
    fn from(boxed: BoxedController) -> AnyController {
        AnyController::Boxed(boxed)
    }
}

impl From<CachedExternal> for AnyController {
    fn from(cached: CachedExternal) -> AnyController {
        AnyController::ExternalController(cached)
    }
}

/// Creates the controllers of flows that this crate does not have: in Rust ([`NativeFactory`]) or in another language, one for each
/// flow.
pub trait ExternalFactory: Debug + Send + Sync {
    /// Its name in outcomes. The `Debug` output is its identity: in one process two factories with equal output give equal runs.
    fn name(&self) -> &str;
    /// The names of the internal values that its controllers write to the trace.
    fn probes(&self) -> &[String];
    /// The signals that its controllers require.
    fn needs(&self) -> Signals;
    /// The initial window that its controllers specify ([`Controller::initial_window`]).
    fn initial_window(&self) -> Option<Segments> {
        None
    }
    /// Creates a controller. If that fails, the controller's `failure` is set from the start.
    fn make(&self, flow: &FlowInfo) -> AnyController;
}

/// Creates controllers in Rust of another crate, one for each flow.
pub struct NativeFactory {
    name: &'static str,
    needs: Signals,
    initial_window: Option<Segments>,
    make: Box<dyn Fn(&FlowInfo) -> BoxedController + Send + Sync>,
    /// Different for each factory of a process: what a function does has no other identity, and none outside it.
    number: u64,
}

impl NativeFactory {
    /// A factory whose controllers `make` creates; `flow` is one of their flows. Their name is that of the type.
    pub fn new<C: Controller + Clone + Debug + Send + 'static>(
        flow: &FlowInfo,
        make: impl Fn(&FlowInfo) -> C + Send + Sync + 'static,
    ) -> NativeFactory {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = std::any::type_name::<C>().split('<').next().unwrap_or_default();
        let name = path.rsplit("::").next().unwrap_or(path);
        let example = make(flow);
        NativeFactory {
            name,
            needs: example.needs(),
            initial_window: example.initial_window(),
            make: Box::new(move |flow| BoxedController::new(name, make(flow))),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl Debug for NativeFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.number)
    }
}

impl ExternalFactory for NativeFactory {
    fn name(&self) -> &str {
        self.name
    }
    fn probes(&self) -> &[String] {
        &[]
    }
    fn needs(&self) -> Signals {
        self.needs
    }
    fn initial_window(&self) -> Option<Segments> {
        self.initial_window
    }
    fn make(&self, flow: &FlowInfo) -> AnyController {
        (self.make)(flow).into()
    }
}
