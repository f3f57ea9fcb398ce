//! The combination of ACKs (compressed SACKs of Linux).

use super::Receiver;
use crate::context::{FlowContext, FlowTimer};
use units::Span;

/// The combination of ACKs of segments out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct Compression {
    /// The next segment expected, and how many ACKs for it were sent at once.
    pub(super) next: u32,
    pub(super) immediate: u32,
    /// The newest segment whose ACK waits.
    pub(super) newest: Option<u32>,
}

impl Compression {
    /// ACKs for one segment that are not combined.
    pub(super) const IMMEDIATE: u32 = 3;
    /// Most ACKs that are combined with the next one.
    pub(super) const MOST: u32 = 44;

    /// How long an ACK waits: 5 % of the round-trip time, at most 1 ms, and the slack of the kernel's timer, 0.1 ms.
    pub(super) fn delay(rtt: Option<Span>) -> Span {
        let most = Span::from_ms(1);
        rtt.map_or(most, |rtt| Span::from_ps(rtt.ps() / 20).min(most)) + Span::from_ps(100_000_000)
    }
}

impl Receiver {
    /// Whether the ACK of a segment is combined with later ones while others are missing (`tcp_comp_sack_*` of Linux).
    #[cold]
    pub(super) fn compress<W: FlowContext>(&mut self, context: &mut W, seq: u32) -> bool {
        let rtt = self.rtt();
        let c = &mut self.compression;
        if c.next != self.next {
            (c.next, c.immediate) = (self.next, 0);
        }
        let quick = self.options.delayed_ack && self.quick_acks > 0;
        // The ACK that reports a duplicate does not wait: it reports only one of them.
        let may = self.reports && !quick && self.duplicate.is_none();
        if may && c.immediate < Compression::IMMEDIATE {
            c.immediate += 1;
        } else if may && self.delayed < Compression::MOST {
            if self.delayed == 0 {
                context.set_timer(FlowTimer::AckDelay, context.now() + Compression::delay(rtt));
            }
            self.delayed += 1;
            c.newest = Some(seq);
            self.note_block(seq);
            return true;
        } else if quick {
            self.quick_acks -= 1;
        }
        false
    }
}
