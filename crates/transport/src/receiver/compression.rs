//! The combination of ACKs (compressed SACKs of Linux).

use super::Receiver;
use crate::context::{FlowContext, FlowTimer};
use units::{Span, Time};

/// The combination of ACKs of segments out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct Compression {
    /// The next segment expected, and how many ACKs for it were sent at once.
    next: u32,
    immediate: u32,
    /// The newest segment whose ACK waits.
    pub(super) newest: Option<u32>,
    /// When the first ACK was sent, and the round-trip time that follows.
    first_ack: Option<Time>,
    pub(super) rtt: Option<Span>,
}

impl Compression {
    /// ACKs for one segment that are not combined.
    const IMMEDIATE: u32 = 3;
    /// Most ACKs that are combined with the next one.
    const MOST: u32 = 44;

    /// How long an ACK waits: 5 % of the round-trip time, at most 1 ms.
    pub(super) fn delay(&self) -> Span {
        let most = Span::from_ms(1);
        self.rtt.map_or(most, |rtt| Span::from_ps(rtt.ps() / 20).min(most))
    }
}

impl Receiver {
    /// Whether the ACK of a segment out of order is combined with later ones (`tcp_comp_sack_*` of Linux).
    #[cold]
    pub(super) fn compress<W: FlowContext>(&mut self, context: &mut W, seq: u32) -> bool {
        let now = context.now();
        let c = &mut self.compression;
        if c.rtt.is_none() && self.options.syn && self.stats.packets > 0 {
            // The time from the SYN-ACK to the first data, whose ACK may have been delayed.
            c.rtt = c.first_ack.map(|at| self.stats.first_at.since(at));
        }
        c.first_ack.get_or_insert(now);
        if c.next != self.next {
            (c.next, c.immediate) = (self.next, 0);
        }
        let quick = self.options.delayed_ack && self.quick_acks > 0;
        // The ACK that reports a duplicate does not wait: it reports only one of them.
        let may = self.reports && !self.beyond.is_empty() && !quick && self.duplicate.is_none();
        if may && c.immediate < Compression::IMMEDIATE {
            c.immediate += 1;
        } else if may && self.delayed < Compression::MOST {
            if self.delayed == 0 {
                context.set_timer(FlowTimer::AckDelay, now + c.delay());
            }
            self.delayed += 1;
            c.newest = Some(seq);
            self.note_block(seq);
            return true;
        } else if quick && !self.beyond.is_empty() {
            self.quick_acks -= 1;
        }
        c.newest = None;
        false
    }
}
