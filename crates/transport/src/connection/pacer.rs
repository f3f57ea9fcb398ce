//! The pacer of a sender.

use units::{Span, Time};

/// When packets may leave at the pacing rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// When the next burst may begin.
    at: Time,
    /// When the last burst began, and the segments that it may still send at that time.
    burst_at: Time,
    burst_left: u32,
    /// What the last segment was charged.
    charged: Span,
}

impl Pacer {
    /// Takes a segment from the burst at `now`, or begins one of `burst` segments if the time of the next one has come. If not,
    /// returns when it comes.
    #[inline]
    pub fn take(&mut self, now: Time, burst: impl FnOnce() -> u32) -> Result<(), Time> {
        if self.burst_left == 0 || self.burst_at != now {
            if self.at > now {
                return Err(self.at);
            }
            self.burst_at = now;
            self.burst_left = burst();
        }
        self.burst_left -= 1;
        Ok(())
    }

    /// A segment leaves at `now`, which takes `interval` at the pacing rate.
    #[inline]
    pub fn charge(&mut self, now: Time, interval: Option<Span>) {
        if let Some(interval) = interval {
            self.at = self.at.max(now) + interval;
        }
        self.charged = interval.unwrap_or(Span::ZERO);
    }

    /// The segment that was charged at `now` has `missing` bytes less than `full`.
    pub fn give_back(&mut self, now: Time, missing: u32, full: u32) {
        let back = u128::from(self.charged.ps()) * u128::from(missing) / u128::from(full.max(1));
        self.at = now + (self.wait(now) - Span::from_ps(back as u64));
    }

    /// The time until the next burst may begin.
    #[inline]
    pub fn wait(&self, now: Time) -> Span {
        if self.at > now { self.at.since(now) } else { Span::ZERO }
    }
}
