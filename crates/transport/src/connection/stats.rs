//! The counters of a sender.

use units::Span;

/// The counters of a sender.
#[derive(Clone, Debug, Default)]
pub struct SenderStats {
    /// Data packets sent, retransmissions included, SYNs left out.
    pub sent: u32,
    /// Data packets sent again.
    pub retransmitted: u32,
    /// Retransmission timeouts with data outstanding.
    pub timeouts: u32,
    /// Reductions of the window.
    pub cwnd_reductions: u32,
    /// Sum of the round-trip samples given to the controller, seconds.
    pub rtt_sum: f64,
    /// Smallest round-trip sample; not valid if there was none.
    pub rtt_min: Span,
    /// Number of round-trip samples.
    pub rtt_count: u32,
    /// Integrals of window and threshold over time, segment seconds.
    pub cwnd_area: f64,
    /// See `cwnd_area`.
    pub ssthresh_area: f64,
}

impl SenderStats {
    /// Counts a round-trip sample.
    #[inline]
    pub(crate) fn count_rtt(&mut self, rtt: Span) {
        self.rtt_sum += rtt.seconds();
        self.rtt_min = if self.rtt_count == 0 { rtt } else { self.rtt_min.min(rtt) };
        self.rtt_count += 1;
    }
}
