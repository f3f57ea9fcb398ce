//! In place of the border of a part where there are no threads: no run is divided.

use net::{Network, Packet};
use transport::AckOptionPool;
use units::Time;

/// No part has one.
#[derive(Debug)]
pub(super) enum PartBorder {}

impl PartBorder {
    pub fn takes(&mut self, _: &Network, _: &mut AckOptionPool, _: Time, _: &Packet) -> bool {
        match *self {}
    }
}
