//! How the window is used, and whether that validates it (RFC 7661, or as in Linux).

use super::pipe_ack::PipeAck;
use super::prr::Reduction;
use super::window_rules::RackRules;
use crate::connection::Connection;
use crate::options::{Options, Validation};
use cc::{Ack, Controller};
use units::Time;

/// How the window was used in the last window of data.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowUse {
    /// The window was what limited the sender.
    pub(super) limited: bool,
    /// Most segments outstanding.
    pub(super) most_out: u32,
    /// The observation ends when this segment is acknowledged.
    pub(super) until: u32,
    /// Most segments outstanding since the window was last full.
    pub(super) used: u32,
    /// When the window was last full or changed by a reduction.
    pub(super) full_at: Time,
}

impl WindowUse {
    /// The window was changed other than by growth.
    pub(super) fn changed(&mut self, now: Time) {
        self.full_at = now;
    }

    /// Whether the window was the limit, or slow start has not used twice what was outstanding.
    #[inline]
    pub(super) fn limits(&self, c: &Connection) -> bool {
        self.limited || {
            let cwnd = c.controller.cwnd();
            cwnd < c.controller.ssthresh() && cwnd < 2.0 * self.most_out as f64
        }
    }
}

/// Whether the window is used, and what follows if it is not.
#[derive(Clone, Debug)]
pub(super) struct WindowValidation {
    pub(super) window_use: WindowUse,
    /// What else decides about the window; most flows have nothing.
    pub(super) rules: Option<Box<RackRules>>,
    /// The window of Linux alone decides, and there are no rules.
    pub(super) plain: bool,
}

impl WindowValidation {
    pub(super) fn new(options: &Options) -> WindowValidation {
        let rules = RackRules::new(options);
        let plain = options.validation == Validation::Linux && rules.is_none();
        WindowValidation { window_use: WindowUse::default(), rules, plain }
    }

    /// The rules, which are added if there are none.
    pub(super) fn rules_mut(&mut self) -> &mut RackRules {
        self.plain = false;
        self.rules.get_or_insert_default()
    }

    /// Whether the window may grow: it was the limit, or slow start has not used twice what was outstanding.
    #[inline]
    pub(super) fn window_limited(&self, c: &Connection) -> bool {
        if self.plain { self.window_use.limits(c) } else { self.ruled_window_limited(c) }
    }

    #[cold]
    fn ruled_window_limited(&self, c: &Connection) -> bool {
        match c.options.validation {
            Validation::None | Validation::Ratelimited | Validation::RatelimitedLiteral => true,
            Validation::Linux => self.window_use.limits(c),
            Validation::Rfc7661 => self.pipe_ack().is_none_or(|pipe_ack| {
                pipe_ack.validates(c.cwnd(), c.controller.cwnd() < c.controller.ssthresh())
            }),
        }
    }

    pub(super) fn pipe_ack(&self) -> Option<&PipeAck> {
        self.rules.as_ref()?.pipe_ack.as_ref()
    }

    pub(super) fn pipe_ack_mut(&mut self) -> Option<&mut PipeAck> {
        self.rules.as_mut()?.pipe_ack.as_mut()
    }

    /// A loss or an ECN echo is about to reduce the window: if the window is not validated, what
    /// was used takes its place.
    pub(super) fn discard(&mut self, c: &mut Connection, now: Time) {
        let Some(rules) = &mut self.rules else { return };
        rules.window.begin_reduction(&mut c.controller);
        let Some(pipe_ack) = &mut rules.pipe_ack else { return };
        let (cwnd, slow_start) = (c.cwnd(), c.controller.cwnd() < c.controller.ssthresh());
        pipe_ack.turn(now, c.rtt.smoothed(&c.options));
        pipe_ack.reduced = None;
        if !c.controller.owns_window() && !pipe_ack.validates(cwnd, slow_start) {
            let used = pipe_ack.largest().max(c.outstanding()).min(cwnd).max(1);
            pipe_ack.reduced = Some((used, c.stats.retransmitted));
            c.controller.set_window(used as f64);
        }
    }

    /// The end of a recovery: takes what was retransmitted out of a window that was not validated, if the reduction
    /// stands. The measure begins again.
    pub(super) fn end(&mut self, c: &mut Connection, reduction: &mut Reduction, stands: bool) {
        let Some(pipe_ack) = self.pipe_ack_mut() else { return };
        let reduced = pipe_ack.reduced.take().filter(|_| stands);
        pipe_ack.restart();
        if let Some((used, before)) = reduced {
            let retransmitted = (c.stats.retransmitted - before).min(used);
            let target = reduction.target as u64 * (used - retransmitted) as u64 / used as u64;
            reduction.target = (target as u32).max(1);
            c.controller.set_ssthresh((target as f64).max(2.0));
        }
    }

    /// An ACK, with `delivered` segments delivered so far: measures what is used.
    #[cold]
    pub(super) fn measure(&mut self, c: &Connection, delivered: u64, now: Time) {
        if let Some(rules) = &mut self.rules {
            rules.window.before_ack(&c.controller);
        }
        let Some(pipe_ack) = self.pipe_ack_mut() else { return };
        pipe_ack.on_ack(now, c.una, c.next, delivered, c.rtt.smoothed(&c.options));
        if pipe_ack.validates(c.cwnd(), c.controller.cwnd() < c.controller.ssthresh()) {
            pipe_ack.validated();
        }
    }

    /// The controller has processed an ACK.
    #[cold]
    pub(super) fn after_ack(&mut self, c: &mut Connection, ack: &Ack) {
        if let Some(rules) = &mut self.rules {
            rules.after_ack(c, ack);
        }
    }

    /// How often a window that was not validated is to be halved now: once for each five minutes.
    pub(super) fn halvings(&mut self, c: &Connection, now: Time) -> u32 {
        let Some(pipe_ack) = self.pipe_ack_mut() else { return 0 };
        pipe_ack.turn(now, c.rtt.smoothed(&c.options));
        if pipe_ack.validates(c.cwnd(), c.controller.cwnd() < c.controller.ssthresh()) {
            pipe_ack.validated();
            return 0;
        }
        pipe_ack.halvings(now)
    }
}
