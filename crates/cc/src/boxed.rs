//! Controllers in Rust of other crates.

use crate::controller::Controller;
use std::any::Any;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

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
