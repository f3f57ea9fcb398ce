//! The timer of the recovery: which one is set, and when it expires.

use crate::connection::Connection;
use crate::context::{FlowContext, FlowTimer};
use crate::options::TimerClock;
use units::{Span, Time};

/// Shortest timeout of the probe and the reordering timer.
pub(super) const TIMEOUT_MIN: Span = Span::from_ms(2);
const RENEGING_MIN: Span = Span::from_ms(10);

/// The timer that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    None,
    Rto,
    Probe,
    Reordering,
    /// The receiver has discarded reported segments.
    Reneging,
}

/// A tail loss probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// `next` after the probe.
    pub(super) high: u32,
    /// The probe is a retransmission.
    pub(super) retransmission: bool,
}

/// The timer of the recovery. The timer of the engine follows it at the end of an event.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    pub(super) pending: Pending,
    /// When it expires.
    pub(super) deadline: Time,
}

impl Timer {
    /// Sets the timer. The engine learns of it at the end of the event, in [`Timer::apply`].
    #[inline]
    pub(super) fn set<W: FlowContext>(&mut self, c: &Connection, context: &W, pending: Pending, after: Span) {
        self.pending = pending;
        let after = match c.options.timer {
            TimerClock::Exact => after,
            TimerClock::Linux => kernel_timeout(after),
        };
        self.deadline = context.now() + after;
    }

    pub(super) fn disarm(&mut self) {
        self.pending = Pending::None;
        self.deadline = Time::NEVER;
    }

    /// Sets or stops the engine's timer after an event: one call, however often the event changed its mind.
    #[inline]
    pub(super) fn apply<W: FlowContext>(&self, context: &mut W) {
        if context.timer(FlowTimer::Retransmit) != self.deadline {
            context.set_timer(FlowTimer::Retransmit, self.deadline);
        }
    }

    /// Sets the retransmission timer to a whole timeout, after the oldest segment was retransmitted.
    pub(super) fn restart_rto<W: FlowContext>(&mut self, c: &Connection, context: &mut W) {
        if self.pending != Pending::Reordering {
            self.set(c, context, Pending::Rto, c.rtt.rto());
        }
    }

    pub(super) fn arm_reordering<W: FlowContext>(&mut self, c: &Connection, context: &mut W, wait: Span) {
        self.set(c, context, Pending::Reordering, wait + TIMEOUT_MIN);
    }

    pub(super) fn arm_reneging<W: FlowContext>(&mut self, c: &Connection, context: &mut W) {
        let half = c.rtt.smoothed(&c.options).map_or(Span::ZERO, |srtt| Span::from_ps(srtt.ps() / 2));
        self.set(c, context, Pending::Reneging, half.max(RENEGING_MIN));
    }
}

/// A timeout as a Linux kernel with 250 Hz keeps it: rounded up to jiffies of 4 ms, plus one tick; beyond 63 ticks rounded
/// up to the granularity of the timer wheel's level.
fn kernel_timeout(after: Span) -> Span {
    const JIFFY: u64 = 4_000_000_000;
    let ticks = after.ps().div_ceil(JIFFY) + 1;
    let mut granularity = 1;
    let mut reach = 63;
    while ticks > reach {
        granularity *= 8;
        reach *= 8;
    }
    Span::from_ps(ticks.div_ceil(granularity) * granularity * JIFFY)
}
