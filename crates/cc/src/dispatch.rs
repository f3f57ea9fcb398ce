//! Enums of controllers, dispatched by a `match`: [`crate::AnyController`], and controllers with variants. [`crate::Algorithm::tune`] for
//! parameters that are fields.

/// Defines [`Algorithm::tune`] for parameters that are fields.
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

/// What a variant of [`AnyController`] holds.
macro_rules! variant {
    ($algorithm:ident) => { $algorithm };
    ($algorithm:ident Box) => { Box<$algorithm> };
}
pub(crate) use variant;

/// Defines the enum with static dispatch and the list of controllers. Each sender has room for the largest variant, so a large
/// controller is in a box: `Type in Box`.
macro_rules! register {
    ($($algorithm:ident $(in $place:ident)?),* $(,)?) => {
        /// Any controller, dispatched by a `match`: one of this crate, or another behind a pointer.
        #[derive(Clone, Debug)]
        pub enum AnyController {
            $(#[doc = stringify!($algorithm)] $algorithm($crate::dispatch::variant!($algorithm $($place)?)),)*
            /// A controller in Rust of another crate.
            Boxed($crate::BoxedController),
            /// A controller in another language.
            ExternalController($crate::CachedExternal),
        }

        $(impl From<$algorithm> for AnyController {
            fn from(controller: $algorithm) -> AnyController {
                AnyController::$algorithm(controller.into())
            }
        })*

        /// Every controller of this crate, in the order of the list.
        pub const CONTROLLERS: &[$crate::Registration<AnyController>] = &[$($crate::Registration::of::<$algorithm>()),*];

        impl AnyController {
            /// Its name in scenarios and outcomes.
            pub fn name(&self) -> &str {
                match self {
                    $(AnyController::$algorithm(_) => <$algorithm as $crate::Algorithm>::DESCRIPTOR.name,)*
                    AnyController::Boxed(boxed) => boxed.name(),
                    AnyController::ExternalController(cached) => cached.name(),
                }
            }
            /// The window and the threshold, segments, after a reduction for a loss or an echo now; the controller itself does
            /// not change. `None` for an external controller, which cannot be copied.
            pub fn predict_reduction(&self, event: &$crate::Congestion) -> Option<(units::Segments, units::Segments)> {
                use $crate::Controller;
                if let AnyController::ExternalController(_) = self {
                    return None;
                }
                $crate::dispatch::each!([AnyController $($algorithm)* Boxed ExternalController] self, controller => {
                    let mut controller = controller.clone();
                    controller.on_congestion(event);
                    Some((controller.cwnd(), controller.ssthresh()))
                })
            }
            /// Sets a tunable parameter ([`crate::Registration::tunable`]) to a value within its bounds.
            pub fn tune(&mut self, name: &str, value: f64) {
                match self {
                    $(AnyController::$algorithm(controller) => <$algorithm as $crate::Algorithm>::tune(controller, name, value),)*
                    AnyController::Boxed(_) | AnyController::ExternalController(_) => {}
                }
            }
        }

        $crate::dispatch::forward_controller!(AnyController $($algorithm)* Boxed ExternalController);
    };
}
pub(crate) use register;

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
    ) $(-> $required:ident)?;)+) => {$(
        #[inline]
        fn $method(&mut $self, $argument: $($copied)? $(&$borrowed)?) {
            $crate::dispatch::each!($variants $self, controller => controller.$method($argument))
        }
    )+};
}

/// Forwards each answer of the controller.
macro_rules! forward_answers {
    ($variants:tt { $($(#[$required_doc:meta])+ $required:ident: $required_type:ty => $required_name:ident,)+ }
        { $($(#[$doc:meta])+ $answer:ident: $type:ty = $default:expr => $name:ident,)+ }
    ) => {
        $(#[inline] fn $required(&self) -> $required_type {
            $crate::dispatch::each!($variants self, controller => controller.$required())
        })+
        $(#[inline] fn $answer(&self) -> $type {
            $crate::dispatch::each!($variants self, controller => controller.$answer())
        })+
    };
}

/// Implements [`crate::Controller`] for an enum of controllers.
macro_rules! forward_controller {
    ($any_controller:ident $($variant:ident)+) => {
        const _: () = {
            use $crate::*;
            use units::{Rate, Segments, Span, Time};

            impl Controller for $any_controller {
                #[inline]
                fn needs(&self) -> Signals {
                    $crate::dispatch::each!([$any_controller $($variant)+] self, controller => controller.needs())
                }
                #[inline]
                fn initial_window(&self) -> Option<Segments> {
                    $crate::dispatch::each!([$any_controller $($variant)+] self, controller => controller.initial_window())
                }
                $crate::controller_events!(forward_events, $any_controller $($variant)+);
                $crate::controller_answers!(forward_answers, $any_controller $($variant)+);
                #[inline]
                fn transitions(&self) -> Option<&Transitions> {
                    $crate::dispatch::each!([$any_controller $($variant)+] self, controller => controller.transitions())
                }
                #[inline]
                fn probe(&self, out: &mut [f64]) {
                    $crate::dispatch::each!([$any_controller $($variant)+] self, controller => controller.probe(out))
                }
            }
        };
    };
}
pub(crate) use forward_controller;

/// Defines a controller with variants that are controllers themselves.
macro_rules! controller_variants {
    ($(#[$about:meta])+ $name:ident { $($(#[$doc:meta])+ $variant:ident($type:ty),)+ }) => {
        $(#[$about])+
        #[derive(Clone, Debug)]
        pub enum $name { $($(#[$doc])+ $variant($type),)+ }

        $crate::dispatch::forward_controller!($name $($variant)+);
    };
}
