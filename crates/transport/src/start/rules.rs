//! What the start of a flow and the limit by its flight do to the window of its controller, for TCP and QUIC.

use super::{CarefulResume, PathObserver, Phase, RateLimit};
use crate::change::WindowCause;
use crate::options::Validation;
use cc::{Ack, Controller, EcnResponse};
use units::{Segments, Span, Time};

/// The rules of a flow that has some.
#[derive(Clone, Debug, Default)]
pub struct WindowRules {
    /// The limit by what was in flight.
    pub rate_limit: Option<RateLimit>,
    /// The start with saved values.
    pub resume: Option<CarefulResume>,
    /// What a later flow may use of the path.
    pub observer: Option<PathObserver>,
    /// The window before the ACK that is processed, segments, and whether it was below the threshold.
    before: Segments,
    slow_start: bool,
}

/// What an ACK or a reduction has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RuleChange {
    /// Why the window changed.
    pub cause: Option<WindowCause>,
    /// The phase of the start changed: from now on it sets the time of a segment at the pacing rate, or does not.
    pub pace: Option<Option<Span>>,
    /// The window that holds during a retreat, segments.
    pub held: Option<Segments>,
}

impl WindowRules {
    /// The rules that `validation` names, for a flow with an initial window of `initial` segments.
    pub fn of(validation: Validation, initial: Segments) -> Option<WindowRules> {
        let literal = validation == Validation::RatelimitedLiteral;
        let limits = literal || validation == Validation::Ratelimited;
        let rate_limit = limits.then(|| RateLimit::new(initial, literal));
        limits.then(|| WindowRules { rate_limit, ..WindowRules::default() })
    }

    /// An ACK is about to be processed.
    pub fn before_ack(&mut self, controller: &impl Controller) {
        self.before = controller.cwnd();
        self.slow_start = self.before < controller.ssthresh();
    }

    /// The controller has processed an ACK. `more`: the application has more data.
    pub fn after_ack(&mut self, controller: &mut impl Controller, ack: &Ack, more: bool) -> RuleChange {
        let (before, mut change) = (self.before, RuleChange::default());
        if let Some(limit) = &mut self.rate_limit
            && !controller.owns_window()
        {
            let after = controller.cwnd();
            let limited = limit.limited(ack, before, after, self.slow_start);
            if limited != after {
                change.cause = (limited < before).then_some(WindowCause::Validation);
                controller.set_window(limited);
            }
        }
        if let Some(observer) = &mut self.observer {
            // A controller that sets its window itself has no threshold, and what it uses is not its window.
            let own = controller.owns_window();
            let used = if own { ack.window_limited } else { ack.prior_in_flight + 1.0 > before };
            observer.on_ack(ack, self.slow_start && !own, used);
        }
        if let Some(resume) = &mut self.resume {
            let phase = resume.phase();
            let progress = resume.on_ack(ack, before, controller.cwnd(), more);
            if let Some(cwnd) = progress.cwnd {
                controller.set_window(cwnd);
            }
            if let Some(ssthresh) = progress.ssthresh {
                controller.set_ssthresh(ssthresh);
            }
            // In a retreat the window is held: the cause was the loss or the mark.
            let moved = phase != Phase::Retreat && progress.cwnd.is_some_and(|cwnd| cwnd != before);
            if moved || progress.ssthresh.is_some() {
                change.cause = Some(WindowCause::Resume);
            }
            if resume.phase() != phase {
                change.pace = Some(resume.pacing_interval());
            }
        }
        // A controller that answers marks itself gets no reduction from the transport.
        if ack.ce > 0 && controller.ecn_response() != EcnResponse::Reduce {
            let retreat = self.reduced(controller, ack.now, ack.next);
            if retreat.held.is_some() {
                return retreat;
            }
        }
        change
    }

    /// A loss or an ECN echo is about to reduce the window, which becomes what it reduces.
    pub fn begin_reduction(&mut self, controller: &mut impl Controller) {
        if let Some(limit) = &mut self.rate_limit {
            limit.on_reduction();
        }
        if let Some(window) = self.resume.as_ref().and_then(CarefulResume::before_reduction) {
            controller.set_window(window);
        }
    }

    /// The controller has reduced the window; `next` is the next packet to send.
    pub fn reduced(&mut self, controller: &mut impl Controller, now: Time, next: u64) -> RuleChange {
        let held = self.resume.as_mut().and_then(|resume| resume.on_congestion(now, next));
        let Some(window) = held else { return RuleChange::default() };
        controller.set_window(window);
        RuleChange { cause: Some(WindowCause::Retreat), pace: Some(None), held }
    }

    /// A retransmission timeout.
    pub fn timed_out(&mut self, now: Time) -> RuleChange {
        let pace = self.resume.as_mut().map(|resume| {
            resume.on_rto(now);
            None
        });
        RuleChange { pace, ..RuleChange::default() }
    }

    /// So many segments are in flight after a transmission.
    pub fn sent(&mut self, controller: &impl Controller, in_flight: u32) {
        if let Some(limit) = &mut self.rate_limit {
            limit.on_flight(in_flight.into(), controller.cwnd());
        }
    }

    /// Whether a retreat holds the window.
    pub fn retreats(&self) -> bool {
        self.resume.as_ref().is_some_and(|resume| resume.phase() == Phase::Retreat)
    }
}
