//! SEARCH: slow start ends when what was acknowledged falls behind what was sent a round trip before
//! (draft-chung-ccwg-search).
//!
//! Read: the text of version 3 (2024), and version 9 through the stack neqo, which ships it; the text of version 9 was not
//! available. Version 9 prints the interpolation between bins in the other direction, which neqo calls a mistake: here it is
//! as in version 3. `drain` is written from the behaviour that the authors describe.

use super::Step;
use crate::events::Ack;
use units::{Segments, Span, Time};

/// Bins of the window in which amounts are compared, which is 3.5 initial round-trip times long.
const BINS: u64 = 10;
/// A bin is this part of the initial round-trip time: 3.5/10.
const BIN: (u64, u64) = (35, 100);
/// Bins besides these that are kept: round-trip times up to 15 bins can be looked back.
const EXTRA: u64 = 15;
/// All bins that are kept.
const KEPT: usize = (BINS + EXTRA + 1) as usize;
/// The part that is missing at which slow start ends: of version 9, and of version 3.
const THRESHOLD: [f64; 2] = [0.26, 0.35];
/// Bins in which `rollback` counts what was acknowledged: two initial round-trip times.
const ROLLBACK: u64 = 6;
/// Bins in which `drain` counts what was acknowledged: one initial round-trip time.
const ROUND: u64 = 3;

/// What happens to the window at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Stop,
    Rollback,
    Drain,
}

/// The state of SEARCH. Amounts in segments.
#[derive(Clone, Debug)]
pub struct Search {
    exit: Exit,
    v3: bool,
    bin: Span,
    /// The end of the present bin; none before the first sample.
    end: Option<Time>,
    /// The number of the last bin that has ended.
    index: u64,
    /// What was acknowledged and sent up to the end of each bin.
    acked: [u64; KEPT],
    sent: [u64; KEPT],
    /// The part that was missing at the last comparison.
    norm: f64,
    /// The window before the first ACK, below which `drain` does not go.
    initial: Segments,
    /// The window down to which it drains.
    draining: Option<Segments>,
    done: bool,
}

impl Search {
    /// `exit`: stop, rollback or drain. `v3`: version 3.
    pub(super) fn new(exit: &str, v3: bool) -> Search {
        let exit = match exit {
            "rollback" => Exit::Rollback,
            "drain" => Exit::Drain,
            _ => Exit::Stop,
        };
        Search {
            exit,
            v3,
            bin: Span::ZERO,
            end: None,
            index: 0,
            acked: [0; KEPT],
            sent: [0; KEPT],
            norm: f64::NAN,
            initial: 0.0,
            draining: None,
            done: false,
        }
    }

    /// A loss, an ECN echo or a timeout has ended slow start.
    pub(super) fn end(&mut self) {
        (self.done, self.draining) = (true, None);
    }

    /// The part of what was sent that was missing at the last comparison; NaN before the first.
    pub fn norm(&self) -> f64 {
        self.norm
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, cwnd: Segments, slow_start: bool) -> Step {
        if let Some(target) = self.draining {
            return self.drain(ack, cwnd, target);
        }
        if self.done || !slow_start {
            return Step::None;
        }
        if self.end.is_none() {
            self.initial = cwnd;
        }
        let Some(rtt) = ack.rtt else { return Step::None };
        let acked = ack.delivered_total.max(ack.acked_through.wrapping_add(1));
        if !self.passes(ack.now, acked, ack.next, rtt) {
            return Step::None;
        }
        self.done = true;
        match self.exit {
            Exit::Stop => Step::End,
            Exit::Rollback => {
                let window = (cwnd - self.acknowledged(ROLLBACK) as f64).max(2.0);
                Step::Set { cwnd: window, ssthresh: window }
            }
            Exit::Drain => {
                let target = (self.acknowledged(ROUND) as f64).max(self.initial).max(2.0).min(cwnd);
                self.draining = Some(target);
                self.drain(ack, cwnd, target)
            }
        }
    }

    /// Lets the window follow what is in flight down to `target`: a third of what is acknowledged is sent again.
    fn drain(&mut self, ack: &Ack, cwnd: Segments, target: Segments) -> Step {
        let follows = ack.in_flight + f64::from(ack.newly_delivered) / 3.0;
        let window = follows.min(cwnd).max(target);
        if window <= target {
            self.draining = None;
        }
        Step::Set { cwnd: window, ssthresh: target }
    }

    /// What was acknowledged in the last `bins` bins.
    fn acknowledged(&self, bins: u64) -> u64 {
        let at = |index: u64| self.acked[index as usize % KEPT];
        at(self.index) - at(self.index.saturating_sub(bins))
    }

    /// Begins with the totals of this time.
    fn start(&mut self, now: Time, acked: u64, sent: u64, rtt: Span) {
        self.bin = Span::from_ps(rtt.ps() / BIN.1 * BIN.0);
        self.end = Some(now + self.bin);
        self.index = 0;
        (self.acked[0], self.sent[0]) = (acked, sent);
    }

    /// Processes the totals of what is acknowledged and sent. Returns whether the capacity is exceeded.
    fn passes(&mut self, now: Time, acked: u64, sent: u64, rtt: Span) -> bool {
        let Some(end) = self.end else {
            self.start(now, acked, sent, rtt);
            return false;
        };
        if now <= end {
            return false;
        }
        let passed = now.since(end).ps() / self.bin.ps().max(1) + 1;
        if passed > BINS {
            self.start(now, acked, sent, rtt); // a whole window without an ACK: what is kept says nothing
            return false;
        }
        let last = self.index as usize % KEPT;
        for _ in 1..passed {
            self.index += 1;
            let next = self.index as usize % KEPT;
            (self.acked[next], self.sent[next]) = (self.acked[last], self.sent[last]);
        }
        self.index += 1;
        let next = self.index as usize % KEPT;
        (self.acked[next], self.sent[next]) = (acked, sent);
        self.end = Some(end + self.bin * passed);
        self.compare(rtt)
    }

    fn compare(&mut self, rtt: Span) -> bool {
        let (back, rest) = (rtt.ps() / self.bin.ps().max(1), rtt.ps() % self.bin.ps().max(1));
        if back >= EXTRA || self.index <= back + BINS {
            return false;
        }
        let fraction = rest as f64 / self.bin.ps() as f64;
        let amount = |of: &[u64; KEPT], index: u64| {
            (of[index as usize % KEPT] - of[(index - BINS) as usize % KEPT]) as f64
        };
        let delivered = amount(&self.acked, self.index);
        let (of, times) = if self.v3 { (&self.acked, 2.0) } else { (&self.sent, 1.0) };
        let before = self.index - back;
        let earlier = times * (amount(of, before - 1) * fraction + amount(of, before) * (1.0 - fraction));
        if earlier <= 0.0 {
            return false;
        }
        self.norm = (earlier - delivered).max(0.0) / earlier;
        self.norm >= THRESHOLD[usize::from(self.v3)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    fn search(exit: &str) -> Search {
        Search::new(exit, false)
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn bins_keep_totals_and_begin_again_after_a_window_without_an_ack() {
        let (mut s, at) = (search("stop"), ms);
        let rtt = Span::from_ms(100);
        s.passes(at(0), 0, 0, rtt);
        assert_eq!(s.bin, Span::from_ms(35));
        s.passes(at(20), 1, 1, rtt);
        assert_eq!(s.index, 0);
        s.passes(at(36), 10, 20, rtt);
        assert_eq!((s.index, s.acked[1], s.end), (1, 10, Some(at(70))));
        s.passes(at(150), 30, 40, rtt); // three bins: those between keep the last value
        assert_eq!((s.index, &s.acked[..5]), (4, &[0, 10, 10, 10, 30][..]));
        s.passes(at(5000), 99, 99, Span::from_ms(200));
        assert_eq!((s.index, s.bin, s.acked[0]), (0, Span::from_ms(70), 99));
    }

    /// When and how slow start as a fluid ends: times in round-trip times, windows in bandwidth-delay products.
    struct Exited {
        full: f64,
        exit: f64,
        window: f64,
        norm: f64,
        rtt: f64,
        before: f64,
        target: f64,
    }

    /// Slow start from ten segments as a fluid through a link of `rate` bytes/s with an unlimited queue.
    fn fluid(rate: f64, rtt: f64, v3: bool) -> Exited {
        const LAG: usize = 400;
        let (step, bdp) = (rtt / LAG as f64, rate * rtt);
        let (mut sent, mut acked, mut queue, mut cwnd, mut t) = (0.0, 0.0, 0.0, 14_480.0, 0.0);
        let (mut delivered, mut history, mut first): (Vec<f64>, Vec<(f64, f64)>, usize) = Default::default();
        let (mut s, mut full, mut before) = (Search::new("stop", v3), None, 0f64);
        for _ in 0..LAG * 25 {
            let arrived = if delivered.len() > LAG { delivered[delivered.len() - LAG] } else { 0.0 };
            cwnd += arrived - acked;
            acked = arrived;
            let new = f64::max(0.0, acked + cwnd - sent);
            sent += new;
            history.push((t, sent));
            queue += new;
            let out = f64::min(queue, rate * step);
            queue -= out;
            delivered.push(delivered.last().copied().unwrap_or(0.0) + out);
            t += step;
            while first + 1 < history.len() && history[first].1 < acked {
                first += 1;
            }
            let sample = f64::max(rtt, t - history[first].0);
            if full.is_none() && cwnd >= bdp {
                full = Some(t);
            }
            if acked <= 0.0 {
                continue;
            }
            // In thousandths of a byte: totals are whole numbers.
            let totals = [acked, sent].map(|bytes| (bytes * 1e3) as u64);
            let ends = s.passes(
                Time::ZERO + Span::from_seconds(t),
                totals[0],
                totals[1],
                Span::from_seconds(sample),
            );
            if full.is_none() && s.norm.is_finite() {
                before = before.max(s.norm);
            }
            if ends {
                let full = full.unwrap_or(f64::NAN);
                return Exited {
                    full: full / rtt,
                    exit: (t - full) / rtt,
                    window: cwnd / bdp,
                    norm: s.norm,
                    rtt: sample / rtt,
                    before,
                    target: s.acknowledged(ROUND) as f64 / 1e3 / bdp,
                };
            }
        }
        panic!("no end");
    }

    #[test]
    fn it_ends_five_round_trips_after_the_capacity_at_5_4_to_6_1_times_it() {
        for (mbps, rtt, full, exit, window, norm, last, target) in [
            (20.0, 0.04, 3.43, 4.97, 5.55, 0.267, 2.77, 1.055),
            (100.0, 0.1, 7.26, 5.00, 5.74, 0.296, 2.87, 1.055),
            (150.0, 0.6, 10.35, 5.08, 5.74, 0.286, 2.87, 1.055),
            (1000.0, 0.03, 9.01, 5.00, 5.99, 0.298, 3.00, 1.055),
            (10_000.0, 0.1, 14.06, 4.89, 5.84, 0.281, 2.92, 1.055),
        ] {
            let e = fluid(mbps * 1e6 / 8.0, rtt, false);
            for (got, expected, digits) in [
                (e.full, full, 0.0051),
                (e.exit, exit, 0.0051),
                (e.window, window, 0.0051),
                (e.norm, norm, 0.00051),
                (e.rtt, last, 0.0051),
                (e.target, target, 0.00051),
            ] {
                assert!((got - expected).abs() <= digits, "{mbps} Mb/s: {got} in place of {expected}");
            }
            assert!(e.before < 0.08, "{}", e.before);
        }
        let v3 = fluid(12.5e6, 0.1, true);
        assert!(
            (v3.exit - 6.06).abs() < 0.006 && (v3.window - 6.80).abs() < 0.006,
            "{} {}",
            v3.exit,
            v3.window
        );
        assert!((v3.rtt - 3.40).abs() < 0.006 && v3.norm >= 0.35);
    }

    /// The same ACK at which `exit` decides, with a window of 600 segments and 500 in flight.
    fn ending(exit: &str) -> (Search, Step) {
        let mut s = search(exit);
        let rtt = Span::from_ms(100);
        // One hundred segments are acknowledged in each bin, ever more are sent.
        let each = |n: u64| Ack {
            now: ms(35 * n + n),
            acked_through: 100 * n,
            next: 100 * n + n * n * 40,
            rtt: Some(rtt),
            in_flight: 500.0,
            ..ack(3)
        };
        let step = (0..40).find_map(|n| {
            let step = s.on_ack(&each(n), if n == 0 { 10.0 } else { 600.0 }, true);
            (step != Step::None).then_some(step)
        });
        (s, step.expect("it ends"))
    }

    #[test]
    fn the_window_stays_or_falls_as_the_exit_says() {
        assert_eq!(ending("stop").1, Step::End);
        assert_eq!(ending("rollback").1, Step::Set { cwnd: 2.0, ssthresh: 2.0 }); // six bins, the whole window
        let (mut s, step) = ending("drain");
        assert_eq!(step, Step::Set { cwnd: 501.0, ssthresh: 300.0 }); // three bins; 500 + 3/3
        let next = |in_flight: f64| Ack { in_flight, ..ack(3) };
        assert_eq!(s.on_ack(&next(320.0), 501.0, false), Step::Set { cwnd: 321.0, ssthresh: 300.0 });
        assert_eq!(s.on_ack(&next(400.0), 321.0, false), Step::Set { cwnd: 321.0, ssthresh: 300.0 });
        assert_eq!(s.on_ack(&next(290.0), 321.0, false), Step::Set { cwnd: 300.0, ssthresh: 300.0 });
        assert_eq!(s.on_ack(&next(290.0), 300.0, false), Step::None);
    }

    #[test]
    fn a_loss_ends_it_first() {
        let mut s = search("drain");
        s.end();
        for n in 0..60 {
            let late = Ack { now: ms(40 * n), next: n * n, rtt: Some(Span::from_ms(100)), ..ack(1) };
            assert_eq!(s.on_ack(&late, 100.0, true), Step::None);
        }
    }
}
