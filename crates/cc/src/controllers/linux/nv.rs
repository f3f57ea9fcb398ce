//! TCP-NV in Linux: rates in hundreds of bits a second, round-trip times in microseconds.
//!
//! As in the kernel, a timeout stops growth until a round with twenty samples is two segments below the limit, so a long repair
//! takes a round trip and more for each segment.

use super::{Change, Clock, Module, State, microseconds};
use crate::window::Window;
use crate::{Ack, Sample, Signals};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Span, Time};

/// Segments below the limit at which growth is allowed again, and above it at which the window becomes the limit.
const ROOM: u64 = 2;
/// The part of the excess that the window gives up, in 1/128.
const GIVEN_UP: u64 = 38;
/// The part of the window that a loss leaves, in 1/1024.
const KEPT: u64 = 819;
/// Samples of a round that may lower the window in slow start, lower it later, and allow growth.
const FIRST_SAMPLES: u32 = 30;
const SAMPLES: u32 = 60;
const GROWTH_SAMPLES: u32 = 20;
/// Rounds before the window may be lowered, and after which a round with few samples stops growth.
const LEAST_ROUNDS: u32 = 2;
const STOP_ROUNDS: u32 = 10;
/// The smallest window that a decision leaves.
const LEAST_WINDOW: f64 = 2.0;
/// Windows that are too small for a decision: the least such bound, its step and the largest.
const SMALL: u64 = 4;
const SMALL_STEP: u64 = 2;
const LARGEST_SMALL: u64 = 81;
/// Good rounds after which growth is twice as fast again, and the most halvings of it.
const GOOD_ROUNDS: u32 = 8;
const MOST_HALVINGS: u32 = 8;
/// Jiffies of a second; the largest counts of samples and rounds.
const SECOND: u64 = 1000;
const LARGEST_COUNT: u32 = 255;
/// A bit a second and a segment of one byte a microsecond: 100 bit/s.
const SCALE: u64 = 80_000;

/// The module `nv`.
#[derive(Clone, Debug)]
pub struct Nv {
    clock: Clock,
    packet: u64,
    pad: u64,
    /// Jiffies of the period of the smallest round-trip time, times 512/512.
    period: u64,
    /// The averaged round-trip time, zero before the first sample; the smallest one, and that since the last renewal.
    rtt: u64,
    least: u64,
    next_least: u64,
    renewed_at: u64,
    /// The round ends when a segment above this number is acknowledged.
    end: u64,
    /// The first unacknowledged segment at the last sample.
    una: u64,
    /// The largest rate of the round.
    rate: u64,
    samples: u32,
    rounds: u32,
    good_rounds: u32,
    /// A window below this is too small for one sample a round to be a decision.
    small: u64,
    grows: bool,
    halvings: u32,
    disturbed: bool,
    random: Xoshiro256PlusPlus,
}

impl Nv {
    /// `pad`: segments; `period`: seconds.
    pub fn new(packet: u32, pad: f64, period: f64, seed: u64) -> Nv {
        Nv {
            clock: Clock::default(),
            packet: packet.into(),
            pad: pad as u64,
            period: (period * SECOND as f64) as u64,
            rtt: 0,
            least: u64::MAX,
            next_least: u64::MAX,
            renewed_at: 2 * SECOND,
            end: 0,
            una: 0,
            rate: 0,
            samples: 0,
            rounds: 0,
            good_rounds: 0,
            small: SMALL,
            grows: true,
            halvings: 0,
            disturbed: false,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Sets the segments by which the window may exceed the need of the rate.
    pub fn set_pad(&mut self, pad: f64) {
        self.pad = pad as u64;
    }

    /// The measurements begin anew.
    fn reset(&mut self, una: u64) {
        (self.disturbed, self.good_rounds, self.rounds, self.samples) = (false, 0, 0, 0);
        (self.rtt, self.rate, self.end, self.una) = (0, 0, una, una);
    }

    /// Takes a round-trip time with the segments delivered since its segment was sent.
    fn measure(&mut self, now: u64, rtt: u64, in_flight: u64) {
        if self.rtt > 0 {
            self.rtt = (rtt * 128 + self.rtt * 128) >> 8;
        } else {
            self.rtt = rtt;
            self.least = rtt << 1;
        }
        self.rate = self.rate.max(in_flight * self.packet * SCALE / self.rtt.max(1));
        self.samples = (self.samples + 1).min(LARGEST_COUNT);
        self.least = self.least.min(self.rtt);
        self.next_least = self.next_least.min(self.rtt);
        if now >= self.renewed_at {
            (self.least, self.next_least) = (self.next_least, u64::MAX);
            let drawn = 384 + (self.random.next_u64() >> 56);
            self.renewed_at = now + ((self.period * drawn) >> 9);
            self.small = (self.small / 2).max(SMALL);
        }
    }

    /// The end of a round.
    fn decide(&mut self, window: &mut Window) {
        let cwnd = window.cwnd as u64;
        let limit = self.rate * self.least / (SCALE * self.packet) + self.pad;
        if cwnd > limit {
            if self.rounds < LEAST_ROUNDS {
                return;
            }
            let first = window.ssthresh.is_infinite();
            if self.samples < if first { FIRST_SAMPLES } else { SAMPLES } {
                self.grows &= first || self.rounds <= STOP_ROUNDS;
                return;
            }
            (self.grows, self.good_rounds) = (false, 0);
            window.ssthresh = limit as f64;
            let over = cwnd - limit;
            let left = if over > ROOM { cwnd - ((over * GIVEN_UP) >> 7).max(2) } else { limit };
            window.set(left as f64);
        } else if cwnd + ROOM <= limit {
            if self.samples < GROWTH_SAMPLES {
                return;
            }
            self.grows = true;
            self.good_rounds += 1;
            if self.halvings > 0 && self.good_rounds > GOOD_ROUNDS {
                (self.halvings, self.good_rounds) = (self.halvings - 1, 0);
            }
        } else {
            return;
        }
        (self.samples, self.rounds, self.rate) = (0, 0, 0);
        window.set(window.cwnd.max(LEAST_WINDOW));
    }
}

impl Module for Nv {
    const NEEDS: Signals = Signals::RATE;

    fn open(&mut self, now: Time) {
        self.clock = Clock { opened: now };
    }

    fn init(&mut self, _window: &mut Window, now: Time, _rtt: Option<Span>) {
        self.renewed_at = self.clock.jiffies(now) + 2 * SECOND;
    }

    fn sample(&mut self, window: &mut Window, sample: &Sample, state: State) {
        let (Some(rtt), State::Open | State::Disorder) = (sample.rtt, state) else { return };
        let una = sample.acked_through.wrapping_add(1);
        let acked = una.saturating_sub(std::mem::replace(&mut self.una, una));
        let in_flight = sample.since_sent.unwrap_or(sample.next - una);
        if in_flight == 0 {
            return;
        }
        self.measure(self.clock.jiffies(sample.now), microseconds(rtt), in_flight);
        if una <= self.end {
            return;
        }
        self.end = sample.next;
        self.rounds = (self.rounds + 1).min(LARGEST_COUNT);
        if self.samples == 1 && acked + 1 >= self.small && self.small < LARGEST_SMALL {
            // The host delivers the whole window at once: a window that is so small decides nothing.
            self.small = (self.small + SMALL_STEP).min(LARGEST_SMALL);
            self.end = sample.next + self.small;
            (self.samples, self.grows) = (0, true);
            return;
        }
        self.decide(window);
    }

    fn ssthresh(&mut self, cwnd: u64, _lost: bool, _now: Time) -> u64 {
        ((cwnd * KEPT) >> 10).max(2)
    }

    fn state(&mut self, _window: &mut Window, Change { to, una, .. }: Change) {
        match to {
            State::Open if self.disturbed => self.reset(una),
            State::Open | State::Disorder => {}
            State::Cwr | State::Recovery | State::Loss => {
                (self.disturbed, self.grows) = (true, false);
                if to == State::Loss {
                    self.halvings = (self.halvings + 1).min(MOST_HALVINGS);
                }
            }
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool) {
        if !limited || !self.grows {
            return;
        }
        let left = window.slow_start_step(ack);
        if left <= 0.0 {
            return;
        }
        let per = match self.halvings {
            0 => window.cwnd.max(4.0),
            halvings => window.cwnd * f64::from(1u32 << halvings),
        };
        window.count(left, per);
    }

    fn probe(&self, out: &mut [f64]) {
        let seconds = |rtt: u64| if rtt == u64::MAX { f64::NAN } else { rtt as f64 / 1e6 };
        // A rate of one segment a second is `packet` times 8 bit/s.
        out[0] = self.rate as f64 * 100.0 / (self.packet as f64 * 8.0);
        out[1] = seconds(self.least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::linux_flow;

    #[test]
    fn a_window_above_the_limit_gives_up_a_part_of_the_excess() {
        let mut window = Window::new(&linux_flow(100.0, 200.0));
        let mut module = Nv::new(1000, 10.0, 5.0, 1);
        // 40 segments in 100 ms at a smallest round-trip time of 100 ms need 40 segments.
        module.measure(0, 100_000, 40);
        assert_eq!(module.rate, 40 * 1000 * 80_000 / 100_000);
        (module.least, module.samples, module.rounds) = (100_000, 60, 2);
        module.decide(&mut window);
        assert_eq!((window.cwnd, window.ssthresh, module.grows), (100.0 - 14.0, 50.0, false)); // (100 - 50) x 38/128
        module.measure(0, 100_000, 100);
        (module.samples, module.rounds) = (20, 2);
        module.decide(&mut window);
        assert!(module.grows);
    }

    #[test]
    fn a_timeout_halves_growth_until_eight_good_rounds() {
        let mut window = Window::new(&linux_flow(20.0, 10.0));
        let mut module = Nv::new(1000, 10.0, 5.0, 1);
        let change = Change { from: State::Open, to: State::Loss, now: Time::ZERO, next: 0, una: 0 };
        module.state(&mut window, change);
        assert_eq!((module.halvings, module.grows), (1, false));
        for _ in 0..=GOOD_ROUNDS {
            (module.least, module.samples) = (100_000, GROWTH_SAMPLES);
            module.rate = 40 * 1000 * SCALE / 100_000;
            module.decide(&mut window);
        }
        assert_eq!((module.halvings, module.grows), (0, true));
    }
}
