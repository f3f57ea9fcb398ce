//! The controller `policy` has the properties of a controller.

use ackclock_policy::REGISTRATION;

const CONTROLLERS: &[cc::Registration<cc::AnyController>] = &[REGISTRATION];

#[path = "../../cc/tests/suite/mod.rs"]
mod suite;
