//! Westwood+ in Linux: bytes a millisecond, once in a round-trip time of at least 50 ms, through two averages.

use super::{Clock, Module, State, jiffies_up};
use crate::window::Window;
use crate::{Ack, Sample};
use units::{Span, Time};

/// The shortest interval of a sample, and the round-trip time before the first one, jiffies.
const SHORTEST: u64 = 50;
const FIRST_RTT: u64 = 20_000;

/// The module `westwood`.
#[derive(Clone, Debug)]
pub struct Westwood {
    clock: Clock,
    packet: u64,
    /// The first average and the average of it, bytes a jiffy.
    inner: u64,
    estimate: u64,
    /// The last sample.
    last: u64,
    /// Start of the interval, and the bytes acknowledged in it.
    began: u64,
    bytes: u64,
    /// Bytes that duplicate ACKs stood for, and that later ACKs do not count again.
    accounted: u64,
    /// The last round-trip time and the smallest one, jiffies.
    rtt: u64,
    least: u64,
    /// The next ACK sets the smallest round-trip time.
    reset: bool,
    /// Everything up to here was counted, segments; none before the first ACK.
    counted: Option<u64>,
}

/// An average with gain 1/8.
fn average(old: u64, new: u64) -> u64 {
    (7 * old + new) >> 3
}

impl Westwood {
    pub fn new(packet: u32) -> Westwood {
        Westwood {
            clock: Clock::default(),
            packet: packet.into(),
            inner: 0,
            estimate: 0,
            last: 0,
            began: 0,
            bytes: 0,
            accounted: 0,
            rtt: FIRST_RTT,
            least: FIRST_RTT,
            reset: true,
            counted: None,
        }
    }

    /// The estimate times the smallest round-trip time, segments.
    fn fair(&self) -> f64 {
        ((self.estimate * self.least) / self.packet).max(2) as f64
    }

    fn update(&mut self, now: u64, acked_through: u64) {
        self.counted.get_or_insert(acked_through);
        let interval = now - self.began;
        if interval <= self.rtt.max(SHORTEST) {
            return;
        }
        self.last = self.bytes / interval;
        if (self.inner, self.estimate) == (0, 0) {
            (self.inner, self.estimate) = (self.last, self.last);
        } else {
            self.inner = average(self.inner, self.last);
            self.estimate = average(self.estimate, self.inner);
        }
        (self.bytes, self.began) = (0, now);
    }

    /// The bytes of an ACK that acknowledges `bytes`: a duplicate one stands for a segment, which a later one does not count
    /// again.
    fn acked(&mut self, bytes: u64) -> u64 {
        if bytes == 0 {
            self.accounted += self.packet;
            return self.packet;
        }
        if bytes <= self.packet {
            return bytes;
        }
        if self.accounted >= bytes {
            self.accounted -= bytes;
            return self.packet;
        }
        bytes - std::mem::take(&mut self.accounted)
    }
}

impl Module for Westwood {
    fn open(&mut self, now: Time) {
        self.clock = Clock { opened: now };
    }

    fn init(&mut self, _window: &mut Window, now: Time, _rtt: Option<Span>) {
        self.began = self.clock.jiffies(now);
    }

    fn sample(&mut self, _window: &mut Window, sample: &Sample, _state: State) {
        self.update(self.clock.jiffies(sample.now), sample.acked_through);
        let bytes = sample.acked_through.saturating_sub(self.counted.unwrap_or(0)) * self.packet;
        // An ACK for new data without SACK blocks or an echo takes the fast path of the kernel.
        let fast = sample.newly_acked > 0 && sample.sacked == 0 && !sample.ece;
        self.bytes += if fast { bytes } else { self.acked(bytes) };
        self.counted = Some(sample.acked_through);
        self.least = if std::mem::take(&mut self.reset) { self.rtt } else { self.least.min(self.rtt) };
        if let Some(rtt) = sample.rtt {
            self.rtt = jiffies_up(rtt); // for the next ACK
        }
    }

    fn ssthresh(&mut self, cwnd: u64, _lost: bool, _now: Time) -> u64 {
        (cwnd / 2).max(2)
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool) {
        if limited {
            window.grow(ack);
        }
    }

    fn complete(&mut self, window: &mut Window) {
        window.ssthresh = self.fair();
        window.set(window.ssthresh);
    }

    fn lost(&mut self, window: &mut Window) {
        window.ssthresh = self.fair();
        self.reset = true;
    }

    fn probe(&self, out: &mut [f64]) {
        let bits = |bytes: u64| bytes as f64 * 8000.0;
        out[..3].copy_from_slice(&[bits(self.estimate), bits(self.last), self.least as f64 / 1000.0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_averages_of_whole_numbers() {
        let mut module = Westwood::new(1000);
        module.least = 100;
        for (n, (sample, inner, estimate)) in
            [(100, 100, 100), (200, 112, 101), (200, 123, 103), (400, 157, 109)].into_iter().enumerate()
        {
            module.bytes = sample * 100;
            module.rtt = 90;
            module.update(100 * (n as u64 + 1), 0);
            assert_eq!((module.inner, module.estimate), (inner, estimate));
            assert_eq!(module.fair(), 10.0);
        }
    }

    #[test]
    fn a_duplicate_stands_for_a_segment_that_is_not_counted_again() {
        let mut module = Westwood::new(1000);
        assert_eq!([0, 0, 5000, 1000, 0].map(|bytes| module.acked(bytes)), [1000, 1000, 3000, 1000, 1000]);
        assert_eq!(module.accounted, 1000);
    }
}
