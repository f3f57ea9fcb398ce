//! Round-trip and delivery-rate samples of an ACK.

use super::{Connection, LossRecovery};
use crate::options::StackProfile;
use crate::segments::SentSegments;
use net::Packet;
use units::{Span, Time};

impl Connection {
    /// Takes the round-trip samples of an ACK for new data. `una` is not updated yet.
    #[inline(always)] // otherwise a call saves and restores ten registers for every ACK
    pub(super) fn measure(&mut self, recovery: &impl LossRecovery, now: Time, packet: &Packet) {
        let newest = packet.seq - 1;
        let mut by_clock = None;
        // The echoed timestamp is that of the oldest segment that the ACK covers (RFC 7323), as the retransmission
        // timer needs it.
        let stamped = self.options.timestamps.then(|| now.since(packet.echo));
        if let Some(rtt) = stamped {
            by_clock = Some(self.rtt.stamped(&self.options, rtt));
            if self.options.stack == StackProfile::Linux {
                self.rtt.end_backoff(&self.options);
            }
        }
        let segment = self.segments.get(newest);
        self.sample = if segment.transmits == 1 && newest == self.una {
            Some(now.since(segment.sent))
        } else {
            Acknowledged { segments: &self.segments, recovery, oldest: self.una, newest, now }.sample(stamped)
        };
        if newest == 0 && self.options.syn {
            self.sample = None; // a sample of the handshake is not passed to the controller
        }
        if self.timing && newest >= self.timed_seq {
            self.timing = false;
            self.rtt.end_backoff(&self.options);
            if !self.options.timestamps {
                by_clock = Some(self.rtt.timed(&self.options, self.timed_at, now));
            }
        }
        if let Some(rtt) = self.sample {
            self.stats.count_rtt(rtt);
        }
        if self.options.clock_rtt {
            self.sample = by_clock;
        }
    }
}

/// The segments that an ACK acknowledges.
struct Acknowledged<'a, R> {
    segments: &'a SentSegments,
    recovery: &'a R,
    oldest: u32,
    newest: u32,
    now: Time,
}

impl<R: LossRecovery> Acknowledged<'_, R> {
    /// The sample for the controller: the age of the newest acknowledged segment, as in Linux. If one of the
    /// acknowledged segments was retransmitted, its arrival may have caused this ACK: then the sample is `stamped`, which
    /// comes from the timestamp, if there is one. (Without timestamps ns-2's Vegas uses the newest segment alone.)
    #[inline(never)] // keeps the path for an ACK of one segment short
    fn sample(&self, stamped: Option<Span>) -> Option<Span> {
        let segment = self.segments.get(self.newest);
        let age = (segment.transmits == 1).then(|| self.now.since(segment.sent));
        if stamped.is_none() && self.recovery.has_fine_clock() {
            return age;
        }
        let clean = (self.oldest..self.newest).all(|seq| self.segments.get(seq).transmits == 1);
        if clean && age.is_some() { self.unreported_age().or(age) } else { stamped }
    }

    /// The age of the newest segment that SACK has not reported before; `None` if that is the newest segment of the
    /// ACK.
    #[inline]
    fn unreported_age(&self) -> Option<Span> {
        if !self.recovery.reported(self.newest) {
            return None;
        }
        let seq = (self.oldest..self.newest).rev().find(|seq| !self.recovery.reported(*seq))?;
        Some(self.now.since(self.segments.get(seq).sent))
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{Options, Recovery};
    use crate::testing::Driver;
    use units::Span;

    #[test]
    fn clock_rtt_gives_the_controller_whole_ticks() {
        // Sent at 0 with the clock 3 ms into its tick; an ACK after 1 ms: within the same tick, which counts as one.
        let options = Options { clock_rtt: true, ..Options::ns2() };
        let mut d = Driver::new(options, 8.0);
        d.ack(1, &[]);
        assert_eq!(d.sender.stats().rtt_min, Span::from_ms(1));
        assert_eq!(d.sender.rtt_given(), Some(Span::from_ms(10)));
    }

    #[test]
    fn a_delayed_ack_gives_the_controller_its_newest_segment_and_the_timer_its_oldest() {
        let options = Options { recovery: Recovery::NewReno, max_burst: 1, ..Options::linux() };
        let mut d = Driver::new(options, 8.0);
        assert_eq!(d.sent(), [0]);
        d.context.now += Span::from_ms(10);
        d.sender.on_pace_timer(&mut d.context); // any event lets the next one go
        assert_eq!(d.sent(), [1]);
        d.context.now += Span::from_ms(39);
        // An ACK for both, with the first one's timestamp echoed (zero).
        d.ack(2, &[]);
        assert_eq!(d.sender.rtt_given(), Some(Span::from_ms(40)));
        assert_eq!(d.sender.smoothed_rtt(), Some(Span::from_ms(50)));
    }
}
