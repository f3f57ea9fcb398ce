//! The list of controllers. The command line, the Python interface, the documentation and the tests use it.

/// Defines [`crate::Algorithm::tune`] for parameters that are fields.
macro_rules! tunable {
    ($($name:literal => $field:ident),+) => {
        const TUNABLE: &'static [&'static str] = &[$($name),+];
        fn tune(&mut self, name: &str, value: f64) {
            match name {
                $($name => self.$field = value,)+
                _ => {}
            }
        }
    };
}
/// What a variant of [`crate::AnyController`] holds.
macro_rules! variant {
    ($algorithm:ident) => { $algorithm };
    ($algorithm:ident Box) => { Box<$algorithm> };
}
pub(crate) use variant;

/// Defines the modules, the enum with static dispatch, and the list of descriptors. Each sender has room for the largest
/// variant, so large controllers are in a box: `module: Type in Box`.
macro_rules! controllers {
    ($($module:ident: $algorithm:ident $(in $place:ident)?),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::$algorithm;)*

        /// Any controller, dispatched by a `match`: a registered one, or an external one as a trait object.
        #[derive(Clone, Debug)]
        pub enum AnyController {
            $(#[doc = stringify!($algorithm)] $algorithm($crate::registry::variant!($algorithm $($place)?)),)*
            /// A controller outside the registry.
            ExternalController($crate::CachedExternal),
        }

        const _: () = assert!(size_of::<AnyController>() <= 208, "a large controller is not in a box");

        /// Every registered controller, in the order of the list.
        pub const CONTROLLERS: &[$crate::Descriptor] = &[$(<$algorithm as $crate::Algorithm>::DESCRIPTOR),*];

        impl AnyController {
            /// The description of the controller `name`; `None` if no controller has this name.
            pub fn descriptor(name: &str) -> Option<&'static $crate::Descriptor> {
                CONTROLLERS.iter().find(|descriptor| descriptor.name == name)
            }
            /// Its name in scenarios.
            pub fn name(&self) -> &str {
                match self {
                    $(AnyController::$algorithm(_) => <$algorithm as $crate::Algorithm>::DESCRIPTOR.name,)*
                    AnyController::ExternalController(cached) => cached.name(),
                }
            }
            /// The policy that the controller is, if it is one.
            pub fn as_policy_mut(&mut self) -> Option<&mut $crate::Policy> {
                match self {
                    AnyController::Policy(policy) => Some(policy),
                    _ => None,
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
            /// The parameters of the controller `name` that [`AnyController::tune`] can change; `None` if no controller has
            /// this name.
            pub fn tunable(name: &str) -> Option<&'static [&'static str]> {
                $(if name == <$algorithm as $crate::Algorithm>::DESCRIPTOR.name {
                    return Some(<$algorithm as $crate::Algorithm>::TUNABLE);
                })*
                None
            }
            /// Sets a tunable parameter to a value within its bounds.
            pub fn tune(&mut self, name: &str, value: f64) {
                match self {
                    $(AnyController::$algorithm(controller) => <$algorithm as $crate::Algorithm>::tune(controller, name, value),)*
                    AnyController::ExternalController(_) => {}
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
                    let controller = <$algorithm as $crate::Algorithm>::new(params, flow);
                    return Some(AnyController::$algorithm(controller.into()));
                })*
                None
            }
        }

        impl $crate::Controller for AnyController {
            #[inline]
            fn needs(&self) -> $crate::Signals {
                $crate::registry::each!([AnyController $($algorithm)* ExternalController] self, controller => controller.needs())
            }
            #[inline]
            fn initial_window(&self) -> Option<units::Segments> {
                $crate::registry::each!([AnyController $($algorithm)* ExternalController] self, controller => controller.initial_window())
            }
            controller_events!(forward_events, AnyController $($algorithm)* ExternalController);
            controller_answers!(forward_answers, AnyController $($algorithm)* ExternalController);
            #[inline]
            fn probe(&self, out: &mut [f64]) {
                $crate::registry::each!([AnyController $($algorithm)* ExternalController] self, controller => controller.probe(out))
            }
        }
    };
}
pub(crate) use controllers;

/// Calls a method of the controller that an enum of controllers is; the list has the enum and its variants.
macro_rules! each {
    ([$any_controller:ident $($algorithm:ident)+] $any:ident, $controller:ident => $call:expr) => {
        match $any { $($any_controller::$algorithm($controller) => $call,)+ }
    };
}
pub(crate) use each;

/// Forwards each event to the controller.
macro_rules! forward_events {
    ($variants:tt $($(#[$doc:meta])+ $event:ident: fn $method:ident(
        &mut $self:ident, $argument:ident: $($copied:ident)? $(&$borrowed:ident)?
    ) $($default:block)?;)+) => {$(
        #[inline]
        fn $method(&mut $self, $argument: $($copied)? $(&$borrowed)?) {
            $crate::registry::each!($variants $self, controller => controller.$method($argument))
        }
    )+};
}

/// Forwards each answer of the controller.
macro_rules! forward_answers {
    ($variants:tt { $($(#[$must_doc:meta])+ $must:ident: $must_type:ty = $first:expr => $must_name:ident needs $must_signal:ident,)+ }
        { $($(#[$doc:meta])+ $answer:ident: $type:ty = $default:expr => $name:ident needs $signal:ident,)+ }
    ) => {
        $(#[inline] fn $must(&self) -> $must_type { $crate::registry::each!($variants self, controller => controller.$must()) })+
        $(#[inline] fn $answer(&self) -> $type { $crate::registry::each!($variants self, controller => controller.$answer()) })+
    };
}

/// Defines a controller with variants that are controllers themselves.
macro_rules! controller_variants {
    ($(#[$about:meta])+ $name:ident { $($(#[$doc:meta])+ $variant:ident($type:ty),)+ }) => {
        $(#[$about])+
        #[derive(Clone, Debug)]
        pub enum $name { $($(#[$doc])+ $variant($type),)+ }

        const _: () = {
            use $crate::*;
            use units::{Rate, Segments, Span, Time};

            impl Controller for $name {
                fn needs(&self) -> Signals {
                    $crate::registry::each!([$name $($variant)+] self, controller => controller.needs())
                }
                fn initial_window(&self) -> Option<Segments> {
                    $crate::registry::each!([$name $($variant)+] self, controller => controller.initial_window())
                }
                controller_events!(forward_events, $name $($variant)+);
                controller_answers!(forward_answers, $name $($variant)+);
                fn probe(&self, out: &mut [f64]) {
                    $crate::registry::each!([$name $($variant)+] self, controller => controller.probe(out))
                }
            }
        };
    };
}
