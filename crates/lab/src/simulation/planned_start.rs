//! A flow that is to start with saved values of its path, or with a jump.

use transport::start::StartOptions;

/// What it starts with.
#[derive(Clone)]
pub(super) struct PlannedStart {
    pub flow: u32,
    pub options: StartOptions,
    /// Its initial window, segments.
    pub initial: f64,
    /// The flow whose values it uses.
    pub source: Option<u32>,
    /// The payload of a segment of that flow over that of a segment of this one.
    pub scale: f64,
    /// It has taken those values: one flow only may use them (RFC 9959).
    pub used: bool,
}
