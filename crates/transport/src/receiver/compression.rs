//! The combination of ACKs (compressed SACKs of Linux).

use units::Span;

/// The combination of ACKs of segments out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct Compression {
    /// The next segment expected, and how many ACKs for it were sent at once.
    next: u32,
    immediate: u32,
    /// ACKs that wait.
    pub(super) waiting: u32,
}

impl Compression {
    /// ACKs for one segment that are not combined.
    const IMMEDIATE: u32 = 3;
    /// Most ACKs that are combined with the next one.
    const MOST: u32 = 44;
    /// Blocks that an ACK is sure to report even if one is lost. The waiting ACKs are sent before a further one changes.
    pub(super) const BLOCKS: usize = 2;

    /// How long an ACK waits: 5 % of the round-trip time, at most 1 ms, and the slack of the kernel's timer, 0.1 ms.
    pub(super) fn delay(rtt: Option<Span>) -> Span {
        let most = Span::from_ms(1);
        rtt.map_or(most, |rtt| Span::from_ps(rtt.ps() / 20).min(most)) + Span::from_ps(100_000_000)
    }

    /// Whether an ACK waits while segment `next` is missing.
    pub(super) fn combines(&mut self, next: u32) -> bool {
        if self.waiting >= Compression::MOST {
            return false;
        }
        if self.next != next {
            (self.next, self.immediate) = (next, 0);
        }
        if self.immediate < Compression::IMMEDIATE {
            self.immediate += 1;
            return false;
        }
        self.waiting += 1;
        true
    }
}
