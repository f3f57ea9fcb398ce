//! The controller of a flow in real time.

use cc::{AnyController, Controller, Signals};

/// Controllers that react to losses and marks only.
const LOSS_BASED: [&str; 5] = ["reno", "bic", "hstcp", "scalable", "dctcp"];

/// Whether lateness of a packet time may change what a controller does: all but those that react to losses and marks only.
/// CUBIC measures delays to end slow start (HyStart); of an external controller nothing is known.
pub(crate) fn measures_delay(controller: &AnyController) -> bool {
    let reacts_to_losses = match controller {
        AnyController::ExternalController(_) | AnyController::Boxed(_) => false,
        registered => LOSS_BASED.contains(&registered.name()),
    };
    !reacts_to_losses || controller.needs().has(Signals::FINE_CLOCK)
}

/// The same for an algorithm of the kernel.
pub(crate) fn kernel_measures_delay(algorithm: &str) -> bool {
    !matches!(algorithm, "reno" | "bic" | "highspeed" | "scalable" | "dctcp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_losses_and_marks_leave_delays_out() {
        for name in ["cubic", "bbr", "vegas", "yeah", "westwood", "unknown"] {
            assert!(kernel_measures_delay(name), "{name}");
        }
        assert!(!kernel_measures_delay("reno"));
    }

    #[test]
    fn the_list_has_names_of_controllers() {
        for name in LOSS_BASED {
            assert!(cc::AnyController::registration(name).is_some(), "{name}");
        }
    }
}
