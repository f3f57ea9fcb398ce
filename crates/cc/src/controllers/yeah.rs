//! YeAH-TCP. Baiocchi, Castellani and Vacirca, PFLDnet 2007, with the constants and the order of Linux: Scalable's growth while
//! the queue of the flow is short; Reno's growth, and a window that drains its queue, while it is long (linux/yeah.rs).
//!
//! The queue is `window (RTT - base)/RTT` in whole segments, with the smallest round-trip time of a round and of the
//! connection. Times count in microseconds, windows in whole segments, in every profile. The constants are those of the paper:
//! queue 80, delay 1/8 of the base, 16 slow and 50 fast rounds. docs/specs/controllers-2.md section 8. Status: checked, equal to
//! the module of Linux.

use crate::controllers::linux::{self, Linux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::parameters::Params;
use crate::{Algorithm, FlowInfo};

/// Two modes, chosen by the queue.
pub type Yeah = Linux<linux::Yeah>;

impl Algorithm for Yeah {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "yeah",
        summary: "Scalable while its queue is short, Reno and a drained queue while it is long",
        source: "Baiocchi, Castellani and Vacirca, PFLDnet 2007; constants of Linux",
        family: Family::LossAndDelay,
        status: Status::Checked,
        params: &[crate::slow_start::PARAM, crate::slow_start::EXIT, crate::slow_start::VARIANT],
        probes: &["backlog"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Yeah {
        Linux::new(linux::Yeah::new(), params, flow)
    }
}
