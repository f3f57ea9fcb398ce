//! The controller `policy` has the properties of a controller.

use ackclock_policy::REGISTRATION;

const CONTROLLERS: &[cc::Registration] = &[REGISTRATION];

#[path = "../../cc/tests/suite/mod.rs"]
mod suite;
