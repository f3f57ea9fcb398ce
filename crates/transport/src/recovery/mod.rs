//! Loss recovery, one file for each algorithm: what to retransmit, and when. The controller sets the window.

mod newreno;
mod reno;
mod sack;
mod sack1;
mod tahoe;
mod vegas;
mod westwood_module;

pub(crate) use newreno::on_ack as newreno_ack;
pub(crate) use reno::on_ack as reno_ack;
pub(crate) use sack::{Sack, on_ack as sack_ack, send as sack_send};
pub(crate) use sack1::{on_ack as sack1_ack, send as sack1_send};
pub(crate) use tahoe::on_ack as tahoe_ack;
pub(crate) use vegas::{VegasClock, on_ack as vegas_ack};
pub(crate) use westwood_module::on_ack as westwood_module_ack;

/// Number of duplicate ACKs that indicates a loss.
const DUP_THRESH: u32 = 3;
