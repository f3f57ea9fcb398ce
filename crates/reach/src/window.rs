//! The window of a flow outside the simulator: its trace and its mean.

use lab::WindowLog;
use units::Time;

/// Codes of the window trace, by the names that the trace uses.
pub(crate) struct WindowCodes {
    events: Vec<&'static str>,
    phases: Vec<&'static str>,
    causes: Vec<&'static str>,
}

impl WindowCodes {
    fn new() -> WindowCodes {
        let codes = lab::catalog::codes();
        WindowCodes { events: codes.trace_events, phases: codes.phases, causes: codes.causes }
    }
}

/// The number of a name in a list of names.
fn code(names: &[&'static str], name: &str) -> u8 {
    names.iter().position(|n| *n == name).map_or(WindowLog::NO_CAUSE, |place| place as u8)
}

/// What is known at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowSample {
    pub at: Time,
    /// Name of the event: `ack`, `rto`, ...
    pub event: &'static str,
    /// Segments.
    pub cwnd: f64,
    /// Segments; infinite until set.
    pub ssthresh: f64,
    /// Number of the highest segment acknowledged.
    pub ack: i64,
    /// Round-trip time, s.
    pub rtt_s: Option<f64>,
    /// Segments.
    pub in_flight: f64,
    /// Name of the phase: `open`, `cwr`, `recovery`, `loss`.
    pub phase: &'static str,
    /// Name of the cause of a reduction.
    pub cause: Option<&'static str>,
}

/// Collects the trace, and the integrals over time.
pub(crate) struct WindowTrace {
    codes: WindowCodes,
    pub log: WindowLog,
    /// The end of the warm-up: integrals and round-trip times are of what follows it.
    since: Time,
    last: Option<WindowSample>,
    /// Integrals of window and threshold, segments times seconds.
    areas: (f64, f64),
    rtt: (f64, u64),
    min_rtt_s: f64,
}

impl WindowTrace {
    /// No samples yet; the warm-up ends at `since`.
    pub fn new(since: Time) -> WindowTrace {
        WindowTrace {
            codes: WindowCodes::new(),
            log: WindowLog::default(),
            since,
            last: None,
            areas: (0.0, 0.0),
            rtt: (0.0, 0),
            min_rtt_s: f64::INFINITY,
        }
    }

    /// Adds a sample; a change of window, threshold or phase becomes a row.
    pub fn add(&mut self, sample: WindowSample) {
        self.integrate(sample.at);
        if let Some(rtt) = sample.rtt_s {
            if self.counts(sample.at) {
                self.rtt = (self.rtt.0 + rtt, self.rtt.1 + 1);
            }
            self.min_rtt_s = self.min_rtt_s.min(rtt);
        }
        let same = |last: &WindowSample| {
            (last.cwnd, last.ssthresh, last.phase) == (sample.cwnd, sample.ssthresh, sample.phase)
        };
        if !self.last.as_ref().is_some_and(same) {
            self.push(&sample);
        }
        self.last = Some(sample);
    }

    /// Whether what happens at `at` counts: the warm-up is over.
    pub fn counts(&self, at: Time) -> bool {
        at >= self.since
    }

    /// Whether it has no sample.
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    fn push(&mut self, sample: &WindowSample) {
        let log = &mut self.log;
        log.time_s.push(sample.at.seconds());
        log.flow.push(0);
        log.event.push(code(&self.codes.events, sample.event));
        log.cwnd.push(sample.cwnd);
        log.ssthresh.push(sample.ssthresh);
        log.ack.push(sample.ack);
        log.rtt_s.push(sample.rtt_s.unwrap_or(f64::NAN));
        log.in_flight.push(sample.in_flight);
        log.phase.push(code(&self.codes.phases, sample.phase));
        log.pacing_bps.push(f64::NAN);
        log.app_limited.push(WindowLog::UNKNOWN);
        log.cause.push(sample.cause.map_or(WindowLog::NO_CAUSE, |cause| code(&self.codes.causes, cause)));
    }

    fn integrate(&mut self, now: Time) {
        if let Some(last) = &mut self.last {
            let span = now.since(last.at.max(self.since).min(now)).seconds();
            self.areas.0 += last.cwnd * span;
            self.areas.1 += last.ssthresh * span;
            last.at = last.at.max(now);
        }
    }

    /// Writes window and round-trip times into a flow's outcome over `duration` seconds, which follow the warm-up; the flow was
    /// sampled until `end`.
    pub fn write(&mut self, flow: &mut lab::FlowOutcome, end: Time, duration: f64) {
        self.integrate(end);
        let finite = |x: f64| x.is_finite().then_some(x);
        let Some(last) = self.last else { return };
        flow.mean_cwnd = finite(self.areas.0 / duration);
        flow.mean_ssthresh = finite(self.areas.1 / duration);
        flow.final_cwnd = finite(last.cwnd);
        flow.final_ssthresh = finite(last.ssthresh);
        flow.mean_rtt_s = (self.rtt.1 > 0).then(|| self.rtt.0 / self.rtt.1 as f64);
        flow.min_rtt_s = flow.min_rtt_s.or(finite(self.min_rtt_s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, cwnd: f64) -> WindowSample {
        WindowSample {
            at: Time::from_ps(ms * 1_000_000_000),
            event: "ack",
            cwnd,
            ssthresh: f64::INFINITY,
            ack: 0,
            rtt_s: Some(cwnd / 100.0),
            in_flight: cwnd,
            phase: "open",
            cause: None,
        }
    }

    #[test]
    fn the_mean_is_over_the_whole_duration() {
        let mut trace = WindowTrace::new(Time::ZERO);
        for (ms, cwnd) in [(500, 10.0), (600, 10.0), (1000, 20.0)] {
            trace.add(sample(ms, cwnd));
        }
        assert_eq!(trace.log.time_s, [0.5, 1.0]);
        let mut flow = lab::FlowOutcome::default();
        trace.write(&mut flow, Time::from_ps(2_000_000_000_000), 2.0);
        assert_eq!(flow.mean_cwnd, Some((0.5 * 10.0 + 1.0 * 20.0) / 2.0));
        assert_eq!((flow.mean_ssthresh, flow.final_cwnd, flow.min_rtt_s), (None, Some(20.0), Some(0.1)));
    }

    #[test]
    fn the_mean_excludes_the_warm_up() {
        let at = |ms: u64| Time::from_ps(ms * 1_000_000_000);
        let mut trace = WindowTrace::new(at(600));
        for (ms, cwnd) in [(500, 10.0), (800, 20.0), (900, 30.0)] {
            trace.add(sample(ms, cwnd));
        }
        assert_eq!(trace.log.time_s, [0.5, 0.8, 0.9]);
        assert!(trace.counts(at(600)) && !trace.counts(at(599)));
        let mut flow = lab::FlowOutcome::default();
        trace.write(&mut flow, at(1000), 0.4);
        let mean = (0.2 * 10.0 + 0.1 * 20.0 + 0.1 * 30.0) / 0.4;
        assert!((flow.mean_cwnd.unwrap() - mean).abs() < 1e-9);
        assert_eq!((flow.mean_rtt_s, flow.min_rtt_s), (Some(0.25), Some(0.1)));
    }

    #[test]
    fn the_names_have_codes() {
        let codes = WindowCodes::new();
        assert_ne!(code(&codes.events, "ack"), WindowLog::NO_CAUSE);
        for phase in ["open", "cwr", "recovery", "loss"] {
            assert_ne!(code(&codes.phases, phase), WindowLog::NO_CAUSE, "{phase}");
        }
        for cause in ["fast_retransmit", "rto", "ecn"] {
            assert_ne!(code(&codes.causes, cause), WindowLog::NO_CAUSE, "{cause}");
        }
    }
}
