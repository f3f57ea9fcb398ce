//! Controllers in Rust of other crates.

use crate::controller::Controller;
use crate::controllers::AnyController;
use crate::flow::FlowInfo;
use crate::outside::ExternalFactory;
use crate::signals::Signals;
use std::any::Any;
use std::fmt::{self, Debug};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use units::Segments;

/// A controller that can be copied behind a pointer.
trait Boxable: Controller + Debug + Send {
    fn copy(&self) -> Box<dyn Boxable>;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<C: Controller + Clone + Debug + Send + 'static> Boxable for C {
    fn copy(&self) -> Box<dyn Boxable> {
        Box::new(self.clone())
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// A controller in Rust of another crate, behind a pointer.
#[derive(Debug)]
pub struct BoxedController {
    name: &'static str,
    controller: Box<dyn Boxable>,
}

impl BoxedController {
    /// A controller with its name in outcomes.
    pub fn new(
        name: &'static str,
        controller: impl Controller + Clone + Debug + Send + 'static,
    ) -> BoxedController {
        BoxedController { name, controller: Box::new(controller) }
    }

    /// Its name in outcomes.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The controller, if it is of type `C`.
    pub fn downcast_mut<C: Controller + 'static>(&mut self) -> Option<&mut C> {
        (*self.controller).as_any_mut().downcast_mut()
    }
}

impl Clone for BoxedController {
    fn clone(&self) -> BoxedController {
        BoxedController { name: self.name, controller: (*self.controller).copy() }
    }
}

impl Deref for BoxedController {
    type Target = dyn Controller;
    fn deref(&self) -> &(dyn Controller + 'static) {
        &*self.controller
    }
}

impl DerefMut for BoxedController {
    fn deref_mut(&mut self) -> &mut (dyn Controller + 'static) {
        &mut *self.controller
    }
}

/// Creates controllers in Rust of another crate, one for each flow.
pub struct NativeFactory {
    name: &'static str,
    needs: Signals,
    initial_window: Option<Segments>,
    make: Box<dyn Fn(&FlowInfo) -> BoxedController + Send + Sync>,
    /// Different for each factory: what a function does has no other identity.
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

impl From<BoxedController> for AnyController {
    fn from(boxed: BoxedController) -> AnyController {
        AnyController::Boxed(boxed)
    }
}
