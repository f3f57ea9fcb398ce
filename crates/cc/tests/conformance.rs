//! Every controller of this crate has the properties of a controller.

extern crate ackclock_cc as cc;

use cc::CONTROLLERS;

mod suite;
