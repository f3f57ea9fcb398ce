//! Creates the controllers of connections.

use crate::controller::Controller;
use crate::provision::PROVISION;
use ackclock_cc::{
    AnyController, Arithmetic, Controller as _, ExternalFactory, FlowInfo, Growth, NativeFactory, ParamError,
    ParamValue, Params, Registration, Segments, Signals,
};
use quinn_proto::congestion;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The window before the first ACK, segments, of a controller that specifies none (RFC 9002 section 7.2).
const INITIAL_WINDOW: Segments = 10.0;
/// The smallest MTU of QUIC, bytes.
const BASE_MTU: u16 = 1200;

/// Why a controller cannot run. Its text is one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refused {
    /// No controller of [`crate::CONTROLLERS`] has this name.
    UnknownName(String),
    /// It does not accept the value of a parameter, or has no such parameter.
    Parameter {
        /// The controller.
        name: String,
        /// The parameter and what is wrong with its value.
        error: ParamError,
    },
    /// It needs a signal that quinn's interface does not give.
    Needs {
        /// The controller.
        name: String,
        /// The text after its name: which signal, and why it is missing.
        reason: &'static str,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::UnknownName(name) => {
                let known: Vec<&str> = crate::CONTROLLERS.iter().map(|known| known.descriptor.name).collect();
                write!(f, "there is no controller {name}; known: {}", known.join(", "))
            }
            Refused::Parameter { name, error: ParamError { name: parameter, reason: None } } => {
                write!(f, "{name} has no parameter {parameter}")
            }
            Refused::Parameter { name, error: ParamError { name: parameter, reason: Some(reason) } } => {
                write!(f, "{name}: {parameter}: {reason}")
            }
            Refused::Needs { name, reason } => write!(f, "{name} {reason}"),
        }
    }
}

impl std::error::Error for Refused {}

#[derive(Debug)]
enum Source {
    Registered(&'static Registration<AnyController>, Params),
    Native(NativeFactory),
}

impl Source {
    fn make(&self, flow: &FlowInfo) -> AnyController {
        match self {
            Source::Registered(registration, params) => registration.create(params, flow),
            Source::Native(factory) => factory.make(flow),
        }
    }
}

/// Creates a controller for each path of quinn's connections.
#[derive(Debug)]
pub struct Factory {
    name: String,
    source: Source,
    needs: Signals,
    initial_window: Segments,
    seed: u64,
    /// Controllers created so far.
    created: AtomicU64,
}

impl Factory {
    /// A factory for the controller `name` of [`crate::CONTROLLERS`] with the defaults of its parameters.
    ///
    /// # Errors
    /// If there is no such controller, or if it needs a signal that quinn's interface does not give.
    pub fn new(name: &str) -> Result<Factory, Refused> {
        Factory::with(name, [])
    }

    /// A factory for the controller `name` with values for some of its parameters, in the units of their declarations
    /// ([`ackclock_cc::Descriptor::params`]).
    ///
    /// # Errors
    /// As of [`Factory::new`], and if a parameter or its value is not accepted.
    pub fn with<'a>(
        name: &str,
        values: impl IntoIterator<Item = (&'a str, ParamValue)>,
    ) -> Result<Factory, Refused> {
        let registration = AnyController::registration(name);
        Factory::registered(registration.ok_or_else(|| Refused::UnknownName(name.into()))?, values)
    }

    /// A factory for a registered controller, which may be one of another crate.
    ///
    /// # Errors
    /// As of [`Factory::with`].
    pub fn registered<'a>(
        registration: &'static Registration<AnyController>,
        values: impl IntoIterator<Item = (&'a str, ParamValue)>,
    ) -> Result<Factory, Refused> {
        let name = registration.descriptor.name;
        let refuse = |error| Refused::Parameter { name: name.into(), error };
        let params = Params::new(registration.descriptor.params, values).map_err(refuse)?;
        registration.check(&params).map_err(refuse)?;
        Factory::from_source(name, Source::Registered(registration, params))
    }

    /// A factory for a controller in Rust of another crate.
    ///
    /// # Errors
    /// If it needs a signal that quinn's interface does not give.
    pub fn native(factory: NativeFactory) -> Result<Factory, Refused> {
        let name = factory.name().to_string();
        Factory::from_source(&name, Source::Native(factory))
    }

    fn from_source(name: &str, source: Source) -> Result<Factory, Refused> {
        let example = source.make(&flow_info(BASE_MTU, INITIAL_WINDOW, 0));
        let needs = example.needs();
        if let Some(reason) = PROVISION.missing(needs, &()) {
            return Err(Refused::Needs { name: name.into(), reason });
        }
        let initial_window = example.initial_window().unwrap_or(INITIAL_WINDOW);
        Ok(Factory { name: name.into(), source, needs, initial_window, seed: 1, created: AtomicU64::new(0) })
    }

    /// The same factory with another seed for controllers that draw random numbers: the n-th controller of two factories
    /// with equal seeds draws equal numbers. By default 1.
    #[must_use]
    pub fn seed(self, seed: u64) -> Factory {
        Factory { seed, ..self }
    }

    /// The same factory with another window before the first ACK, segments, at least 2. By default 10, or what the
    /// algorithm specifies.
    #[must_use]
    pub fn initial_window(self, segments: Segments) -> Factory {
        Factory { initial_window: segments.max(2.0), ..self }
    }

    /// The name of the controller.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the controller sets a pacing rate, which quinn does not use: it runs with its window only.
    pub fn is_unpaced(&self) -> bool {
        self.needs.has(Signals::PACING)
    }

    /// What the controller does without although it runs: texts after its name. Empty for most.
    pub fn lacks(&self) -> Vec<&'static str> {
        PROVISION.degraded(self.needs, &())
    }

    /// The controller of a path that begins at `now`, with an MTU in bytes.
    fn open(&self, now: Instant, mtu: u16) -> Controller {
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        let seed = self.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let controller = self.source.make(&flow_info(mtu, self.initial_window, seed));
        Controller::new(controller, now, mtu, self.initial_window)
    }
}

impl congestion::ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(self.open(now, current_mtu))
    }
}

/// The flow as Ackclock's own QUIC flows describe it: windows count acknowledged segments and are whole.
fn flow_info(mtu: u16, initial_window: Segments, seed: u64) -> FlowInfo {
    FlowInfo {
        packet: mtu.into(),
        initial_window,
        initial_ssthresh: f64::INFINITY,
        max_window: f64::INFINITY,
        fine_clock: false,
        abe: false,
        seed,
        hops: 0,
        arithmetic: Arithmetic {
            growth: Growth::Counted,
            integer_windows: true,
            reduce_on_every_timeout: false,
            rfc_variants: true,
        },
    }
}
