//! What an algorithm sees.

use super::estimate::Estimate;

/// What an algorithm knows when a chunk is to be asked for.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The rates, bit/s, rising.
    pub ladder_bps: &'a [f64],
    /// Media in a chunk, s.
    pub chunk_s: f64,
    /// Media in the buffer, s.
    pub buffer_s: f64,
    /// The quality of the chunk before.
    pub previous: Option<usize>,
    /// The network as the chunks so far measured it; none before the first one is complete.
    pub estimate: Option<Estimate>,
}
