//! The interface of a congestion controller.

use crate::descriptor::Descriptor;
use crate::events::*;
use crate::flow::Signals;
use crate::parameters::{ParamError, Params};
use units::{Rate, Segments, Span, Time};

/// Declares the method of each event.
macro_rules! declare_events {
    ([] $($(#[$doc:meta])+ $event:ident: fn $method:ident(&mut $self:ident, $argument:ident: $($copied:ident)? $(&$borrowed:ident)?)
        $($default:block)?;)+
    ) => {
        $(declare_event!($(#[$doc])+ $method($self, $argument: $($copied)? $(&$borrowed)?) $($default)?);)+
    };
}

/// Declares the method of an event, with its default if it has one.
macro_rules! declare_event {
    ($(#[$doc:meta])+ $method:ident($self:ident, $argument:ident: $type:ty)) => {
        $(#[$doc])+
        fn $method(&mut $self, $argument: $type);
    };
    ($(#[$doc:meta])+ $method:ident($self:ident, $argument:ident: $type:ty) $default:block) => {
        $(#[$doc])+
        fn $method(&mut $self, $argument: $type) {
            let _ = &$argument;
            $default
        }
    };
}

/// Declares the method of each answer.
macro_rules! declare_answers {
    ([] { $($(#[$must_doc:meta])+ $must:ident: $must_type:ty = $first:expr => $must_name:ident needs $must_signal:ident,)+ }
        { $($(#[$doc:meta])+ $answer:ident: $type:ty = $default:expr => $name:ident needs $signal:ident,)+ }
    ) => {
        $($(#[$must_doc])+ fn $must(&self) -> $must_type;)+
        $($(#[$doc])+ fn $answer(&self) -> $type { $default })+
    };
}

/// A congestion controller of one flow: it processes events and keeps the congestion window. All windows are in
/// segments. `interface.rs` has the tables of the events and of the answers.
pub trait Controller {
    /// The signals that the controller requires. A scenario that does not provide one of them is refused.
    fn needs(&self) -> Signals {
        Signals::NONE
    }
    /// The initial window that the algorithm specifies, segments, read once; `None`: that of the transport. A value in
    /// the scenario has precedence.
    fn initial_window(&self) -> Option<Segments> {
        None
    }
    controller_events!(declare_events);
    controller_answers!(declare_answers);
    /// Writes the internals named in [`Descriptor::probes`], in that order; NaN where there is no value yet.
    fn probe(&self, _out: &mut [f64]) {}
}

/// A controller that can be registered.
pub trait Algorithm: Controller + Sized {
    /// Name, source, parameters, internals.
    const DESCRIPTOR: Descriptor;
    /// Checks the combination of parameter values. Fails if values that are valid alone are not valid together.
    fn check(_params: &Params) -> Result<(), ParamError> {
        Ok(())
    }
    /// Creates the controller of a flow. `params` were checked against this descriptor.
    fn new(params: &Params, flow: &FlowInfo) -> Self;
    /// The numbers among its parameters that [`Algorithm::tune`] can change.
    const TUNABLE: &'static [&'static str] = &[];
    /// Sets a parameter of [`Algorithm::TUNABLE`] to a value within its bounds; its state stays.
    fn tune(&mut self, _name: &str, _value: f64) {}
}
