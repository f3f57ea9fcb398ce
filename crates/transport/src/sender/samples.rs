//! Round-trip and delivery-rate samples of an ACK.

use super::{RecoveryState, Sender};
use crate::options::StackProfile;
use net::Packet;
use units::{Span, Time};

impl Sender {
    /// Takes the round-trip samples of an ACK for new data. `una` is not updated yet.
    #[inline(always)] // otherwise a call saves and restores ten registers for every ACK
    pub(super) fn measure(&mut self, now: Time, packet: &Packet) {
        let newest = packet.seq - 1;
        let mut by_clock = None;
        // The echoed timestamp is that of the oldest segment that the ACK covers (RFC 7323), as the retransmission
        // timer needs it.
        let oldest = self.options.timestamps.then(|| now.since(packet.echo));
        if let Some(rtt) = oldest {
            by_clock = Some(self.rtt.stamped(&self.options, rtt));
            if self.options.stack == StackProfile::Linux {
                self.rtt.end_backoff(&self.options);
            }
        }
        self.sample = self.newest_sample(now, newest, oldest);
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
            self.stats.rtt_sum += rtt.seconds();
            self.stats.rtt_min = if self.stats.rtt_count == 0 { rtt } else { self.stats.rtt_min.min(rtt) };
            self.stats.rtt_count += 1;
        }
        if self.options.clock_rtt {
            self.sample = by_clock;
        }
    }

    /// The sample for the controller: the age of the newest acknowledged segment, as in Linux. If one of the
    /// acknowledged segments was retransmitted, its arrival may have caused this ACK: then the sample comes from the
    /// timestamp, if there is one. (Without timestamps ns-2's Vegas uses the newest segment alone.)
    #[inline]
    fn newest_sample(&self, now: Time, newest: u32, oldest: Option<Span>) -> Option<Span> {
        let segment = self.segments.get(newest);
        if segment.transmits == 1 && newest == self.una {
            return Some(now.since(segment.sent));
        }
        self.sample_of_several(now, newest, oldest)
    }

    #[inline(never)] // keeps the path for an ACK of one segment short
    fn sample_of_several(&self, now: Time, newest: u32, oldest: Option<Span>) -> Option<Span> {
        let segment = self.segments.get(newest);
        let age = (segment.transmits == 1).then(|| now.since(segment.sent));
        if oldest.is_none() && matches!(self.recovery_state, RecoveryState::Vegas(_)) {
            return age;
        }
        let clean = (self.una..newest).all(|seq| self.segments.get(seq).transmits == 1);
        if clean && age.is_some() { self.unreported_age(now, newest).or(age) } else { oldest }
    }

    /// The age of the newest segment that SACK has not reported before; `None` if that is the newest segment of the
    /// ACK.
    #[inline]
    fn unreported_age(&self, now: Time, newest: u32) -> Option<Span> {
        let sack = self.recovery_state.scoreboard()?;
        if !sack.board.has(newest) {
            return None;
        }
        let seq = (self.una..newest).rev().find(|seq| !sack.board.has(*seq))?;
        Some(now.since(self.segments.get(seq).sent))
    }

    /// Called after an event of a sender with rate samples: checks whether the application limits the sender, and not
    /// the window.
    #[inline(never)] // most controllers need no rate samples
    pub(super) fn note_application_limit(&mut self) {
        if self.next < self.limit || self.in_flight() >= self.window() {
            return;
        }
        self.reports.application_limits(self.in_flight().max(1));
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
        assert_eq!(d.sender.stats.rtt_min, Span::from_ms(1));
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
