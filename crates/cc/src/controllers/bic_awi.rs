//! BIC_AWI: BIC with steps of two segments while the round-trip time does not rise, and with a constant window during
//! a hand-off. See [`crate::controllers::handoff_bic`]. Status: draft.

use crate::controllers::handoff_bic::{Answer, HandoffBic, algorithm};

algorithm! {
    /// BIC with an adaptive window increment.
    BicAwi, "bic_awi", "BIC with steps of two while the round-trip time does not rise; frozen under hand-off", Answer::Step
}
