//! The combination of ACKs (compressed SACKs of Linux).

use units::{Span, Time};

/// The combination of ACKs of segments out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct Compression {
    /// The next segment expected, and how many ACKs for it were sent at once.
    pub(super) next: u32,
    pub(super) immediate: u32,
    /// The newest segment whose ACK waits.
    pub(super) newest: Option<u32>,
    /// When the first ACK was sent, and the round-trip time that follows.
    pub(super) first_ack: Option<Time>,
    pub(super) rtt: Option<Span>,
}

impl Compression {
    /// ACKs for one segment that are not combined.
    pub(super) const IMMEDIATE: u32 = 3;
    /// Most ACKs that are combined with the next one.
    pub(super) const MOST: u32 = 44;

    /// How long an ACK waits: 5 % of the round-trip time, at most 1 ms.
    pub(super) fn delay(&self) -> Span {
        let most = Span::from_ms(1);
        self.rtt.map_or(most, |rtt| Span::from_ps(rtt.ps() / 20).min(most))
    }
}
