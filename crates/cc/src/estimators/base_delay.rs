//! The smallest delay of the last minutes, and the queueing delay above it.

use std::collections::VecDeque;
use units::{Span, Time};

const MINUTE: Span = Span::from_ms(60_000);

/// One minimum a minute, of a number of minutes (RFC 6817 section 2.4.2).
#[derive(Clone, Debug)]
struct BaseDelay {
    minutes: usize,
    began: Time,
    least: VecDeque<f64>,
}

impl BaseDelay {
    /// A history of `minutes`, at least one.
    fn new(minutes: usize) -> BaseDelay {
        BaseDelay { minutes: minutes.max(1), began: Time::ZERO, least: VecDeque::new() }
    }
    /// Adds a delay, seconds, and returns the smallest one of the history.
    fn add(&mut self, now: Time, delay: f64) -> f64 {
        if self.least.is_empty() || now.since(self.began) >= MINUTE {
            self.began = now;
            self.least.push_back(delay);
            if self.least.len() > self.minutes {
                self.least.pop_front();
            }
        }
        if let Some(last) = self.least.back_mut() {
            *last = last.min(delay);
        }
        self.least.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The smallest of the last delays less the smallest of the last minutes.
#[derive(Clone, Debug)]
pub struct QueueingDelay {
    base: BaseDelay,
    samples: usize,
    current: VecDeque<f64>,
}

impl QueueingDelay {
    /// Of the last `samples` delays, above the smallest one of `minutes`.
    pub fn new(minutes: usize, samples: usize) -> QueueingDelay {
        QueueingDelay { base: BaseDelay::new(minutes), samples, current: VecDeque::new() }
    }
    /// Adds a delay, seconds. Returns the base delay and the queueing delay.
    pub fn add(&mut self, now: Time, delay: f64) -> (f64, f64) {
        let base = self.base.add(now, delay);
        self.current.push_back(delay);
        if self.current.len() > self.samples {
            self.current.pop_front();
        }
        (base, self.current.iter().copied().fold(f64::INFINITY, f64::min) - base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_after_its_minutes() {
        let mut base = BaseDelay::new(2);
        let at = |s: u64| Time::ZERO + Span::from_ms(1000 * s);
        let bases = [(0, 5.0), (30, 3.0), (70, 4.0), (131, 6.0), (192, 7.0)].map(|(s, d)| base.add(at(s), d));
        assert_eq!(bases, [5.0, 3.0, 3.0, 4.0, 6.0]);
    }
}
