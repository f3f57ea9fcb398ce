//! One list of controllers; the command line, the Python interface, the docs and the tests read it.

/// Makes the modules, the enum that dispatches without a table, and the list.
macro_rules! controllers {
    ($($module:ident: $law:ident),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::$law;)*

        /// Any controller, dispatched by a `match`: a registered one, or a guest behind a pointer.
        #[derive(Debug)]
        pub enum AnyController {
            $(#[doc = stringify!($law)] $law($law),)*
            /// One from outside the registry.
            Guest($crate::Hosted),
        }

        /// Every registered controller, in the order of the list.
        pub const CONTROLLERS: &[$crate::Descriptor] = &[$(<$law as $crate::Law>::DESCRIPTOR),*];

        impl AnyController {
            /// Its name in scenarios.
            pub fn name(&self) -> &str {
                match self {
                    $(AnyController::$law(_) => <$law as $crate::Law>::DESCRIPTOR.name,)*
                    AnyController::Guest(hosted) => hosted.guest.name(),
                }
            }
            /// Why it cannot go on; only guests fail.
            pub fn failure(&self) -> Option<&$crate::Failure> {
                match self {
                    AnyController::Guest(hosted) => hosted.guest.failure(),
                    _ => None,
                }
            }
            /// Whether the controller called `name` takes these `params` together.
            pub fn check(name: &str, params: &$crate::Params) -> Result<(), $crate::ParamError> {
                $(if name == <$law as $crate::Law>::DESCRIPTOR.name {
                    return <$law as $crate::Law>::check(params);
                })*
                Ok(())
            }
            /// The controller called `name` with `params` (see [`Params::new`]); `None` if there is none of that name.
            pub fn new(name: &str, params: &$crate::Params, flow: &$crate::FlowInfo) -> Option<AnyController> {
                $(if name == <$law as $crate::Law>::DESCRIPTOR.name {
                    return Some(AnyController::$law(<$law as $crate::Law>::new(params, flow)));
                })*
                None
            }
        }

        impl $crate::Controller for AnyController {
            #[inline] fn needs(&self) -> $crate::Signals { match self { $(AnyController::$law(c) => c.needs(),)* AnyController::Guest(c) => c.needs() } }
            #[inline] fn on_open(&mut self, now: units::Time) { match self { $(AnyController::$law(c) => c.on_open(now),)* AnyController::Guest(c) => c.on_open(now) } }
            #[inline] fn on_ack(&mut self, ack: &$crate::Ack) { match self { $(AnyController::$law(c) => c.on_ack(ack),)* AnyController::Guest(c) => c.on_ack(ack) } }
            #[inline] fn on_congestion(&mut self, event: &$crate::Congestion) { match self { $(AnyController::$law(c) => c.on_congestion(event),)* AnyController::Guest(c) => c.on_congestion(event) } }
            #[inline] fn echo_answer(&self) -> $crate::EchoAnswer { match self { $(AnyController::$law(c) => c.echo_answer(),)* AnyController::Guest(c) => c.echo_answer() } }
            #[inline] fn on_rto(&mut self, event: &$crate::Timeout) { match self { $(AnyController::$law(c) => c.on_rto(event),)* AnyController::Guest(c) => c.on_rto(event) } }
            #[inline] fn on_recovery_exit(&mut self, now: units::Time) { match self { $(AnyController::$law(c) => c.on_recovery_exit(now),)* AnyController::Guest(c) => c.on_recovery_exit(now) } }
            #[inline] fn on_undo(&mut self, now: units::Time) { match self { $(AnyController::$law(c) => c.on_undo(now),)* AnyController::Guest(c) => c.on_undo(now) } }
            #[inline] fn on_restart(&mut self, event: &$crate::Restart) { match self { $(AnyController::$law(c) => c.on_restart(event),)* AnyController::Guest(c) => c.on_restart(event) } }
            #[inline] fn on_timer(&mut self, now: units::Time) { match self { $(AnyController::$law(c) => c.on_timer(now),)* AnyController::Guest(c) => c.on_timer(now) } }
            #[inline] fn on_hint(&mut self, now: units::Time, hint: &$crate::Hint) { match self { $(AnyController::$law(c) => c.on_hint(now, hint),)* AnyController::Guest(c) => c.on_hint(now, hint) } }
            #[inline] fn set_window(&mut self, cwnd: units::Segments) { match self { $(AnyController::$law(c) => c.set_window(cwnd),)* AnyController::Guest(c) => c.set_window(cwnd) } }
            #[inline] fn cwnd(&self) -> units::Segments { match self { $(AnyController::$law(c) => c.cwnd(),)* AnyController::Guest(c) => c.cwnd() } }
            #[inline] fn ssthresh(&self) -> units::Segments { match self { $(AnyController::$law(c) => c.ssthresh(),)* AnyController::Guest(c) => c.ssthresh() } }
            #[inline] fn pacing(&self) -> Option<units::Rate> { match self { $(AnyController::$law(c) => c.pacing(),)* AnyController::Guest(c) => c.pacing() } }
            #[inline] fn wake_at(&self) -> units::Time { match self { $(AnyController::$law(c) => c.wake_at(),)* AnyController::Guest(c) => c.wake_at() } }
            #[inline] fn fine_timeout(&self) -> Option<units::Span> { match self { $(AnyController::$law(c) => c.fine_timeout(),)* AnyController::Guest(c) => c.fine_timeout() } }
            #[inline] fn probe(&self, out: &mut [f64]) { match self { $(AnyController::$law(c) => c.probe(out),)* AnyController::Guest(c) => c.probe(out) } }
        }
    };
}
pub(crate) use controllers;
