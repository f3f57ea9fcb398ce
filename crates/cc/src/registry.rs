//! The list of controllers. The command line, the Python interface, the documentation and the tests use it.

/// Defines the modules, the enum with static dispatch, and the list of descriptors.
macro_rules! controllers {
    ($($module:ident: $algorithm:ident),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::$algorithm;)*

        /// Any controller, dispatched by a `match`: a registered one, or an external one as a trait object.
        #[derive(Clone, Debug)]
        pub enum AnyController {
            $(#[doc = stringify!($algorithm)] $algorithm($algorithm),)*
            /// A controller outside the registry.
            ExternalController($crate::CachedExternal),
        }

        /// Every registered controller, in the order of the list.
        pub const CONTROLLERS: &[$crate::Descriptor] = &[$(<$algorithm as $crate::Algorithm>::DESCRIPTOR),*];

        impl AnyController {
            /// Its name in scenarios.
            pub fn name(&self) -> &str {
                match self {
                    $(AnyController::$algorithm(_) => <$algorithm as $crate::Algorithm>::DESCRIPTOR.name,)*
                    AnyController::ExternalController(cached) => cached.name(),
                }
            }
            /// The error that stopped the controller; only external controllers have one.
            pub fn failure(&self) -> Option<&$crate::Failure> {
                match self {
                    AnyController::ExternalController(cached) => cached.failure(),
                    _ => None,
                }
            }
            /// The window and the threshold, segments, after a reduction for a loss or an echo now; the controller itself does
            /// not change. `None` for an external controller, which cannot be copied.
            pub fn predict_reduction(&self, event: &$crate::Congestion) -> Option<(units::Segments, units::Segments)> {
                use $crate::Controller;
                match self {
                    $(AnyController::$algorithm(controller) => {
                        let mut controller = controller.clone();
                        controller.on_congestion(event);
                        Some((controller.cwnd(), controller.ssthresh()))
                    })*
                    AnyController::ExternalController(_) => None,
                }
            }
            /// Checks that the controller `name` accepts the combination of values in `params`.
            pub fn check(name: &str, params: &$crate::Params) -> Result<(), $crate::ParamError> {
                $(if name == <$algorithm as $crate::Algorithm>::DESCRIPTOR.name {
                    return <$algorithm as $crate::Algorithm>::check(params);
                })*
                Ok(())
            }
            /// Creates the controller `name` with `params` (see [`Params::new`]); `None` if no controller has this
            /// name.
            pub fn new(name: &str, params: &$crate::Params, flow: &$crate::FlowInfo) -> Option<AnyController> {
                $(if name == <$algorithm as $crate::Algorithm>::DESCRIPTOR.name {
                    return Some(AnyController::$algorithm(<$algorithm as $crate::Algorithm>::new(params, flow)));
                })*
                None
            }
        }

        impl $crate::Controller for AnyController {
            #[inline] fn needs(&self) -> $crate::Signals { match self { $(AnyController::$algorithm(c) => c.needs(),)* AnyController::ExternalController(c) => c.needs() } }
            #[inline] fn initial_window(&self) -> Option<units::Segments> { match self { $(AnyController::$algorithm(c) => c.initial_window(),)* AnyController::ExternalController(c) => c.initial_window() } }
            #[inline] fn on_open(&mut self, now: units::Time) { match self { $(AnyController::$algorithm(c) => c.on_open(now),)* AnyController::ExternalController(c) => c.on_open(now) } }
            #[inline] fn on_handshake(&mut self, now: units::Time, rtt: units::Span) { match self { $(AnyController::$algorithm(c) => c.on_handshake(now, rtt),)* AnyController::ExternalController(c) => c.on_handshake(now, rtt) } }
            #[inline] fn on_ack(&mut self, ack: &$crate::Ack) { match self { $(AnyController::$algorithm(c) => c.on_ack(ack),)* AnyController::ExternalController(c) => c.on_ack(ack) } }
            #[inline] fn on_lost(&mut self, lost: &$crate::Lost) { match self { $(AnyController::$algorithm(c) => c.on_lost(lost),)* AnyController::ExternalController(c) => c.on_lost(lost) } }
            #[inline] fn on_delivered(&mut self, delivered: &$crate::Delivered) { match self { $(AnyController::$algorithm(c) => c.on_delivered(delivered),)* AnyController::ExternalController(c) => c.on_delivered(delivered) } }
            #[inline] fn on_sent(&mut self, sent: &$crate::Sent) { match self { $(AnyController::$algorithm(c) => c.on_sent(sent),)* AnyController::ExternalController(c) => c.on_sent(sent) } }
            #[inline] fn on_congestion(&mut self, event: &$crate::Congestion) { match self { $(AnyController::$algorithm(c) => c.on_congestion(event),)* AnyController::ExternalController(c) => c.on_congestion(event) } }
            #[inline] fn ecn_response(&self) -> $crate::EcnResponse { match self { $(AnyController::$algorithm(c) => c.ecn_response(),)* AnyController::ExternalController(c) => c.ecn_response() } }
            #[inline] fn on_rto(&mut self, event: &$crate::Timeout) { match self { $(AnyController::$algorithm(c) => c.on_rto(event),)* AnyController::ExternalController(c) => c.on_rto(event) } }
            #[inline] fn on_recovery_exit(&mut self, now: units::Time) { match self { $(AnyController::$algorithm(c) => c.on_recovery_exit(now),)* AnyController::ExternalController(c) => c.on_recovery_exit(now) } }
            #[inline] fn on_undo(&mut self, now: units::Time) { match self { $(AnyController::$algorithm(c) => c.on_undo(now),)* AnyController::ExternalController(c) => c.on_undo(now) } }
            #[inline] fn on_restart(&mut self, event: &$crate::Restart) { match self { $(AnyController::$algorithm(c) => c.on_restart(event),)* AnyController::ExternalController(c) => c.on_restart(event) } }
            #[inline] fn on_transmit_start(&mut self, event: &$crate::TransmitStart) { match self { $(AnyController::$algorithm(c) => c.on_transmit_start(event),)* AnyController::ExternalController(c) => c.on_transmit_start(event) } }
            #[inline] fn on_timer(&mut self, now: units::Time) { match self { $(AnyController::$algorithm(c) => c.on_timer(now),)* AnyController::ExternalController(c) => c.on_timer(now) } }
            #[inline] fn on_hint(&mut self, now: units::Time, hint: &$crate::PathHint) { match self { $(AnyController::$algorithm(c) => c.on_hint(now, hint),)* AnyController::ExternalController(c) => c.on_hint(now, hint) } }
            #[inline] fn set_window(&mut self, cwnd: units::Segments) { match self { $(AnyController::$algorithm(c) => c.set_window(cwnd),)* AnyController::ExternalController(c) => c.set_window(cwnd) } }
            #[inline] fn set_ssthresh(&mut self, ssthresh: units::Segments) { match self { $(AnyController::$algorithm(c) => c.set_ssthresh(ssthresh),)* AnyController::ExternalController(c) => c.set_ssthresh(ssthresh) } }
            #[inline] fn cwnd(&self) -> units::Segments { match self { $(AnyController::$algorithm(c) => c.cwnd(),)* AnyController::ExternalController(c) => c.cwnd() } }
            #[inline] fn ssthresh(&self) -> units::Segments { match self { $(AnyController::$algorithm(c) => c.ssthresh(),)* AnyController::ExternalController(c) => c.ssthresh() } }
            #[inline] fn pacing(&self) -> Option<units::Rate> { match self { $(AnyController::$algorithm(c) => c.pacing(),)* AnyController::ExternalController(c) => c.pacing() } }
            #[inline] fn send_quantum(&self) -> u32 { match self { $(AnyController::$algorithm(c) => c.send_quantum(),)* AnyController::ExternalController(c) => c.send_quantum() } }
            #[inline] fn wake_at(&self) -> units::Time { match self { $(AnyController::$algorithm(c) => c.wake_at(),)* AnyController::ExternalController(c) => c.wake_at() } }
            #[inline] fn owns_window(&self) -> bool { match self { $(AnyController::$algorithm(c) => c.owns_window(),)* AnyController::ExternalController(c) => c.owns_window() } }
            #[inline] fn limits_application(&self) -> bool { match self { $(AnyController::$algorithm(c) => c.limits_application(),)* AnyController::ExternalController(c) => c.limits_application() } }
            #[inline] fn fine_timeout(&self) -> Option<units::Span> { match self { $(AnyController::$algorithm(c) => c.fine_timeout(),)* AnyController::ExternalController(c) => c.fine_timeout() } }
            #[inline] fn probe(&self, out: &mut [f64]) { match self { $(AnyController::$algorithm(c) => c.probe(out),)* AnyController::ExternalController(c) => c.probe(out) } }
        }
    };
}
pub(crate) use controllers;
