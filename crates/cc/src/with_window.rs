//! A controller beside its window.

use crate::events::*;
use crate::{AnyController, Controller, Signals, Transitions};
use units::{Rate, Segments, Span, Time};

/// A controller with a copy of its window and threshold, renewed after each event: a transport reads them many times for each
/// packet.
#[derive(Clone, Debug)]
pub struct WithWindow {
    cwnd: Segments,
    ssthresh: Segments,
    controller: AnyController,
}

impl WithWindow {
    /// The controller.
    #[inline]
    pub fn get(&self) -> &AnyController {
        &self.controller
    }

    /// Changes the controller otherwise than by an event.
    pub fn edit<R>(&mut self, change: impl FnOnce(&mut AnyController) -> R) -> R {
        let result = change(&mut self.controller);
        self.renew();
        result
    }

    #[inline]
    fn renew(&mut self) {
        (self.cwnd, self.ssthresh) = (self.controller.cwnd(), self.controller.ssthresh());
    }
}

impl From<AnyController> for WithWindow {
    fn from(controller: AnyController) -> WithWindow {
        WithWindow { cwnd: controller.cwnd(), ssthresh: controller.ssthresh(), controller }
    }
}

macro_rules! pass_events {
    ([] $($(#[$doc:meta])+ $event:ident: fn $method:ident(
        &mut $self:ident, $argument:ident: $($copied:ident)? $(&$borrowed:ident)?
    ) $(-> $required:ident)?;)+) => {$(
        #[inline]
        fn $method(&mut $self, $argument: $($copied)? $(&$borrowed)?) {
            $self.controller.$method($argument);
            $self.renew();
        }
    )+};
}

macro_rules! pass_answers {
    ([] { $($(#[$copied_doc:meta])+ $copied:ident: $copied_type:ty => $copied_name:ident,)+ }
        { $($(#[$doc:meta])+ $answer:ident: $type:ty = $default:expr => $name:ident,)+ }
    ) => {
        $(#[inline] fn $copied(&self) -> $copied_type { self.$copied })+
        $(#[inline] fn $answer(&self) -> $type { self.controller.$answer() })+
    };
}

impl Controller for WithWindow {
    fn needs(&self) -> Signals {
        self.controller.needs()
    }
    fn initial_window(&self) -> Option<Segments> {
        self.controller.initial_window()
    }
    crate::controller_events!(pass_events);
    crate::controller_answers!(pass_answers);
    fn transitions(&self) -> Option<&Transitions> {
        self.controller.transitions()
    }
    fn probe(&self, out: &mut [f64]) {
        self.controller.probe(out)
    }
}
