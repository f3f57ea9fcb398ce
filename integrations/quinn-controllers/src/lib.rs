//! The congestion controllers of Ackclock in quinn.
//!
//! [`Factory`] is a [`quinn_proto::congestion::ControllerFactory`] for a controller by its name, and [`Controller`] is the
//! [`quinn_proto::congestion::Controller`] of a connection. A segment is a datagram of the path's MTU.
//!
//! ```
//! use ackclock_quinn_controllers::{Factory, ParamValue};
//! use std::sync::Arc;
//!
//! let factory = Factory::with("cubic", [("beta", ParamValue::Number(0.8))])?;
//! assert!(!factory.is_unpaced());
//! let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(factory));
//! # Ok::<(), ackclock_quinn_controllers::Refused>(())
//! ```

#![allow(
    clippy::disallowed_types,
    reason = "quinn's times are those of the standard library; no clock is read"
)]

mod connection;
mod controller;
mod factory;
mod packets;
mod provision;

pub use ackclock_cc::{AnyController, CONTROLLERS, NativeFactory, ParamValue, Registration};
pub use controller::Controller;
pub use factory::{Factory, Refused};
