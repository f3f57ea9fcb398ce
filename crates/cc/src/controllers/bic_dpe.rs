//! BIC_DPE: BIC that divides the distance by three instead of four while the round-trip time falls, and keeps the
//! window constant during a hand-off. See [`crate::controllers::handoff_bic`]. Status: draft.

use crate::controllers::handoff_bic::{Answer, HandoffBic, algorithm};

algorithm! {
    /// BIC with a dynamic parameter.
    BicDpe, "bic_dpe", "BIC that divides by three while the round-trip time falls; frozen under hand-off", Answer::Divisor
}
