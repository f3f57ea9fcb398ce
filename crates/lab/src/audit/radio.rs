//! The auditor of the radio channel: checks every transmission against the rules of carrier sense. It shares no code
//! with the MAC.
//!
//! It computes from the node positions and the propagation model which node senses which frame. No station contends
//! while the medium or its NAV is busy or before DIFS has passed, no station sends two frames at once, routes have no
//! loops, and every packet handed to the radio is delivered, dropped or in flight at the end.

use super::Violation;
use net::radio::{
    FrameContents, FrameKind, PacketFate, Propagation, PropagationModel, Radio, RadioEvent, RadioStep,
    Trajectory,
};
use std::collections::VecDeque;
use units::{Span, Time};

/// A recent frame on the radio channel.
#[derive(Clone)]
struct Sent {
    node: u32,
    to: Option<u32>,
    start: Time,
    end: Time,
    duration: Span,
    place: [f64; 2],
}

/// Audits the radio channel of one run.
#[derive(Clone)]
pub(crate) struct RadioAuditor {
    paths: Vec<Trajectory>,
    propagation: Propagation,
    /// Frames that can still affect others, in the order of their start.
    recent: VecDeque<Sent>,
    /// The longest time so far from the start of a frame to the end of its reservation.
    longest: Span,
    violations: Vec<Violation>,
    count: u64,
}

const DIFS: Span = Span::from_ps(50_000_000);
const LIGHT: f64 = 3e8;
/// Upper bound of the propagation delay across the network of radio nodes.
const CROSSING: Span = Span::from_ms(1);
const MOST: usize = 20;

impl RadioAuditor {
    pub fn new(paths: Vec<Trajectory>, propagation: Propagation) -> RadioAuditor {
        RadioAuditor {
            paths,
            propagation,
            recent: VecDeque::new(),
            longest: Span::ZERO,
            violations: Vec::new(),
            count: 0,
        }
    }

    fn report_violation(&mut self, at: Time, rule: &'static str, what: String) {
        self.count += 1;
        if self.violations.len() < MOST {
            self.violations.push(Violation { at, rule, what });
        }
    }

    /// Checks radio events.
    pub fn watch(&mut self, events: &[RadioEvent]) {
        for event in events {
            match &event.step {
                RadioStep::Transmit { kind, to, until, duration, contended, load } => {
                    if to.is_none() && matches!(load, FrameContents::Data { .. }) {
                        self.report_violation(
                            event.at,
                            "addressed",
                            format!("n{} broadcasts data", event.node),
                        );
                    }
                    self.check(event.at, event.node, *kind, *contended);
                    let place = self.paths[event.node as usize].at(event.at);
                    let (node, to, start) = (event.node, *to, event.at);
                    self.longest = self.longest.max(until.since(start) + *duration);
                    self.recent.push_back(Sent { node, to, start, end: *until, duration: *duration, place });
                }
                RadioStep::Route { to, circle: Some(nodes), .. } => {
                    self.report_violation(event.at, "route loop", format!("to n{to} over {nodes:?}"));
                }
                RadioStep::Route { .. } | RadioStep::Deliver { .. } | RadioStep::Drop { .. } => {}
            }
        }
    }

    /// Start, end and power of frame `sent` at `node`.
    fn reception_at(&self, node: u32, sent: &Sent) -> (Time, Time, f64) {
        let position = self.paths[node as usize].at(sent.start);
        let (dx, dy) = (position[0] - sent.place[0], position[1] - sent.place[1]);
        let distance = (dx * dx + dy * dy).sqrt();
        let delay = Span::from_seconds(distance / LIGHT);
        (sent.start + delay, sent.end + delay, self.propagation.mean_power(distance))
    }

    fn check(&mut self, at: Time, node: u32, kind: FrameKind, contended: bool) {
        // Keep frames whose reservation can still hold, and earlier ones that can have disturbed them.
        let horizon = self.longest + self.longest + CROSSING;
        while self.recent.front().is_some_and(|sent| at.since(sent.start) > horizon) {
            self.recent.pop_front();
        }
        let mut violations = Vec::new();
        if self.recent.iter().any(|sent| sent.node == node && sent.end > at) {
            violations.push(("one frame at a time", format!("n{node} sends {kind:?} while it sends")));
        }
        // With shadowing the received power is random, and the auditor does not know it.
        let deterministic = !matches!(self.propagation.model, PropagationModel::Shadowing { .. });
        if deterministic && contended {
            let late = |sent: &&Sent| sent.node != node && sent.end + CROSSING + DIFS > at;
            for sent in self.recent.iter().filter(late) {
                let (from, until, power) = self.reception_at(node, sent);
                // Powers at the threshold, and events within a picosecond of the arrival of the signal, are not
                // checked.
                if power < self.propagation.sense_threshold * (1.0 + 1e-9) || from + Span::from_ps(2) >= at {
                    continue;
                }
                if until + DIFS > at + Span::from_ps(2) {
                    let what =
                        format!("n{node} sends {kind:?} while it senses n{} until {until:?}", sent.node);
                    violations.push(("carrier sense", what));
                }
            }
        }
        if deterministic && (contended || kind == FrameKind::Cts) {
            let reserved = self.recent.iter().find(|sent| self.reserves(sent, node, at));
            if let Some(sent) = reserved {
                let what = format!("n{node} sends {kind:?} though n{} has reserved the medium", sent.node);
                violations.push(("nav", what));
            }
        }
        for (rule, what) in violations {
            self.report_violation(at, rule, what);
        }
    }

    /// Whether `node` must have received `sent`, so that its NAV is set at `at`.
    fn reserves(&self, sent: &Sent, node: u32, at: Time) -> bool {
        let over = sent.end >= at || sent.end + CROSSING + sent.duration <= at;
        if sent.node == node || sent.to == Some(node) || over {
            return false;
        }
        let (from, until, power) = self.reception_at(node, sent);
        let holds = until + Span::from_ps(2) < at && at + Span::from_ps(2) < until + sent.duration;
        // The power that can be decoded where no other signal arrives. A capture model without noise decodes less power, and
        // then the rule is weaker.
        let least =
            self.propagation.receive_threshold.max(self.propagation.capture_ratio * self.propagation.noise);
        if !holds || power < least * (1.0 + 1e-9) {
            return false;
        }
        // No other frame arrives at `node` in that time, and `node` does not transmit.
        let near = |other: &&Sent| other.start <= until && other.end + CROSSING >= from;
        !self.recent.iter().filter(near).any(|other| {
            let (begins, ends, power) = if other.node == node {
                (other.start, other.end, f64::INFINITY)
            } else {
                self.reception_at(node, other)
            };
            let same = other.node == sent.node && other.start == sent.start;
            let audible = power >= self.propagation.sense_threshold * (1.0 - 1e-9);
            !same && audible && begins <= until && ends >= from
        })
    }

    /// Checks that every packet handed to the radio was delivered, dropped, or is in flight.
    pub fn close(mut self, at: Time, radio: &Radio) -> (Vec<Violation>, u64) {
        let counts = radio.counts();
        let (sent, received) = counts.packets;
        let dropped: u64 = counts.dropped.iter().sum();
        let flying = radio.in_flight();
        if sent != received + dropped + flying {
            let by: Vec<String> = PacketFate::DROPS
                .iter()
                .zip(counts.dropped)
                .map(|(fate, n)| format!("{} {n}", fate.name()))
                .collect();
            let what = format!(
                "{sent} handed to the radio, {received} delivered, {flying} in flight, dropped: {by:?}"
            );
            self.report_violation(at, "conservation", what);
        }
        (self.violations, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::PacketKind;

    const MS: u64 = 1_000_000_000;

    /// Four nodes in a row, 200 m apart: each receives its neighbours and senses the nodes two hops away.
    fn auditor() -> RadioAuditor {
        let paths = (0..4).map(|n| Trajectory::new([200.0 * n as f64, 0.0])).collect();
        RadioAuditor::new(paths, Propagation::with_defaults(0))
    }

    /// `node` sends a frame to `to` from `at` for 1 ms, and reserves the medium for 2 ms after it.
    fn frame(at: u64, node: u32, to: Option<u32>, kind: FrameKind, contended: bool) -> RadioEvent {
        let (at, until) = (Time::from_ps(at), Time::from_ps(at + MS));
        let step = RadioStep::Transmit {
            kind,
            to,
            until,
            duration: Span::from_ms(2),
            contended,
            load: FrameContents::Routing,
        };
        RadioEvent { at, node, step }
    }

    fn broken(events: &[RadioEvent]) -> Vec<&'static str> {
        let mut auditor = auditor();
        auditor.watch(events);
        auditor.violations.iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn every_rule_can_be_broken() {
        let first = frame(0, 0, Some(1), FrameKind::Data, true);
        assert!(broken(std::slice::from_ref(&first)).is_empty());
        // A station that sends two frames at once, one that senses a frame, one that is too far away to sense it.
        let with = |second: RadioEvent| broken(&[first.clone(), second]);
        assert_eq!(with(frame(MS / 2, 0, Some(1), FrameKind::Ack, false)), ["one frame at a time"]);
        assert_eq!(with(frame(MS / 2, 2, Some(3), FrameKind::Data, true)), ["carrier sense"]);
        assert!(with(frame(MS / 2, 3, None, FrameKind::Data, true)).is_empty());
        // Before DIFS has passed; after it; while a neighbour's reservation lasts.
        assert_eq!(with(frame(MS + 40_000_000, 2, Some(3), FrameKind::Data, true)), ["carrier sense"]);
        assert!(with(frame(MS + 60_000_000, 2, Some(3), FrameKind::Data, true)).is_empty());
        let reserved = frame(0, 0, Some(2), FrameKind::Rts, true);
        let neighbour = |at: u64| broken(&[reserved.clone(), frame(at, 1, Some(2), FrameKind::Data, true)]);
        assert_eq!(neighbour(2 * MS), ["nav"]);
        assert!(neighbour(4 * MS).is_empty());
        // Data to everybody, a loop of routes.
        let load = FrameContents::Data { kind: PacketKind::Data, flow: 0, seq: 0 };
        let mut everybody = frame(0, 0, None, FrameKind::Data, true);
        if let RadioStep::Transmit { load: own, .. } = &mut everybody.step {
            *own = load;
        }
        assert_eq!(broken(&[everybody]), ["addressed"]);
        let step = RadioStep::Route { to: 3, next: Some(1), circle: Some(vec![0, 1]) };
        assert_eq!(broken(&[RadioEvent { at: Time::ZERO, node: 0, step }]), ["route loop"]);
    }
}
