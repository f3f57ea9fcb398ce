//! HyStart++ (RFC 9406).

use crate::events::Ack;
use units::Span;

/// HyStart++ (RFC 9406): a growing round-trip time first slows the growth of the window (conservative slow start); after
/// five such rounds slow start ends.
#[derive(Clone, Debug, Default)]
pub struct HyStartPlusPlus {
    last_min: Option<Span>,
    round_min: Option<Span>,
    samples: u32,
    end: u64,
    /// The baseline of conservative slow start and its rounds so far.
    conservative: Option<(Span, u32)>,
    pub(super) done: bool,
    paced: bool,
}

impl HyStartPlusPlus {
    /// MIN_RTT_THRESH and MAX_RTT_THRESH.
    const THRESHOLD: (Span, Span) = (Span::from_ms(4), Span::from_ms(16));
    const MIN_RTT_DIVISOR: u64 = 8;
    const N_RTT_SAMPLE: u32 = 8;
    const CSS_GROWTH_DIVISOR: f64 = 4.0;
    const CSS_ROUNDS: u32 = 5;
    /// Largest growth per ACK without pacing, segments.
    const L: f64 = 8.0;

    pub(super) fn on_ack(&mut self, ack: &Ack) -> bool {
        if self.done {
            return false;
        }
        self.paced = ack.paced;
        if ack.acked_through.wrapping_add(1) > self.end {
            self.last_min = self.round_min.take();
            self.samples = 0;
            self.end = ack.next;
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= HyStartPlusPlus::CSS_ROUNDS {
                    self.done = true;
                    return true;
                }
            }
        }
        let Some(rtt) = ack.rtt else { return false };
        let current = self.round_min.map_or(rtt, |least| least.min(rtt));
        self.round_min = Some(current);
        self.samples += 1;
        if self.samples >= HyStartPlusPlus::N_RTT_SAMPLE {
            match (self.conservative, self.last_min) {
                (Some((baseline, _)), _) if current < baseline => self.conservative = None,
                (None, Some(last)) if current >= last + HyStartPlusPlus::threshold(last) => {
                    self.conservative = Some((current, 0));
                }
                _ => {}
            }
        }
        false
    }

    fn threshold(last: Span) -> Span {
        let (least, largest) = HyStartPlusPlus::THRESHOLD;
        Span::from_ps(last.ps() / HyStartPlusPlus::MIN_RTT_DIVISOR).max(least).min(largest)
    }

    pub(super) fn growth(&mut self, acked: f64) -> f64 {
        if self.done {
            return acked;
        }
        let acked = if self.paced { acked } else { acked.min(HyStartPlusPlus::L) };
        if self.conservative.is_some() { acked / HyStartPlusPlus::CSS_GROWTH_DIVISOR } else { acked }
    }
}

impl HyStartPlusPlus {
    /// Whether conservative slow start is in progress.
    pub(super) fn is_conservative(&self) -> bool {
        self.conservative.is_some() && !self.done
    }
}
