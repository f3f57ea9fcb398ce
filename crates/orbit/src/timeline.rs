//! The links of a satellite system over time. They do not depend on packets, so they are computed in advance for a
//! whole run.

use crate::constellation::IslKind;
use crate::earth::Horizon;
use crate::system::SatelliteSystem;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Span, Time};

params::named_values! {
    /// The rule by which a terminal selects its satellite.
    SelectionRule {
        /// As in ns-2: the current satellite while it is above the mask; then the satellite behind it in its plane, if
        /// that is above the mask; otherwise the highest. Before the first check every terminal uses satellite 0, as in
        /// ns-2's script.
        Ns2 = "ns2",
        /// Always the highest.
        Best = "best",
        /// Every satellite above the mask: the shortest path decides which one a packet takes.
        Every = "every",
    }
}

/// The rules for hand-offs and for links between satellites.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Smallest elevation at which a terminal can use a satellite, degrees.
    pub mask: f64,
    /// Links between planes are down if either end is above this latitude (north or south), degrees.
    pub isl_latitude: f64,
    /// Links across the seam are down if the longitudes of the ends differ by less than this, degrees.
    pub cross_seam_longitude: f64,
    /// Which satellite a terminal uses.
    pub rule: SelectionRule,
    /// Time between two checks; zero for changes at the exact time.
    pub check: Span,
    /// Maximum deviation of the time of a check, earlier or later.
    pub jitter: Span,
}

/// A terminal uses a satellite, or none, from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// From when.
    pub at: Time,
    /// Which satellite.
    pub satellite: Option<usize>,
}

/// The satellite of a terminal, or none, in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// From when.
    pub from: Time,
    /// End of the period, exclusive.
    pub until: Time,
    /// Which satellite.
    pub satellite: Option<usize>,
}

/// A hand-off: a change of a terminal's satellite after the first attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// When.
    pub at: Time,
    /// Which terminal.
    pub terminal: usize,
    /// From which satellite.
    pub from: Option<usize>,
    /// To which.
    pub to: Option<usize>,
}

/// A link between satellites goes up or down, or its far end changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IslChange {
    /// When.
    pub at: Time,
    /// Number of the link in the constellation.
    pub isl: usize,
    /// Its new far end; `None` if the link is down.
    pub far: Option<usize>,
}

/// All changes from the start to a time. The initial state is a set of changes at time 0.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// For each terminal its attachments in the order of time; the first is at time 0.
    pub attachments: Vec<Vec<Attachment>>,
    /// Changes of links between satellites, in order of time.
    pub isls: Vec<IslChange>,
    /// With [`SelectionRule::Every`], for each terminal the satellites that it can use from a time on, in the order of time; empty
    /// with the other rules.
    pub visible: Vec<Vec<(Time, Vec<usize>)>>,
}

/// Sampling interval for changes at exact times, s. A change between two samples is located by bisection. A state
/// that begins and ends between two samples is not detected.
const SAMPLE_INTERVAL_S: f64 = 1.0;
/// How exactly, s.
const EXACT_S: f64 = 1e-6;

/// The state of a link between satellites.
#[derive(Clone, Copy, PartialEq)]
struct IslState {
    /// The satellite at its far end.
    far: usize,
    /// Whether it can carry packets.
    up: bool,
}

/// The state at the time up to which the timeline is computed.
struct TimelineState<'a> {
    system: &'a SatelliteSystem,
    rules: &'a Rules,
    sin_mask: f64,
    /// Of each link between satellites.
    isls: Vec<IslState>,
    attached: Vec<Option<usize>>,
}

impl Timeline {
    /// Computes the changes from the start of the run up to and including `until`. `jitter(node)` returns random
    /// numbers from -1 to 1. The result is incomplete if `stop` is set.
    pub fn new(
        system: &SatelliteSystem,
        rules: &Rules,
        until: Time,
        stop: &AtomicBool,
        mut jitter: impl FnMut(usize) -> f64,
    ) -> Timeline {
        let mut state = TimelineState {
            system,
            rules,
            sin_mask: libm::sin(rules.mask.to_radians()),
            isls: system.constellation.isls.iter().map(|isl| IslState { far: isl.b, up: true }).collect(),
            attached: vec![(rules.rule == SelectionRule::Ns2).then_some(0); system.terminals.len()],
        };
        // The state at the start does not depend on `stop`.
        let mut line = Timeline::default();
        for (number, isl) in system.constellation.isls.iter().enumerate() {
            if isl.kind == IslKind::CrossSeam {
                state.isls[number].far = state.nearest_across(isl.a, isl.b);
            }
        }
        for isl in 0..state.isls.len() {
            state.isls[isl] = state.isl(isl, 0.0);
            let IslState { far, up } = state.isls[isl];
            line.isls.push(IslChange { at: Time::ZERO, isl, far: up.then_some(far) });
        }
        for terminal in 0..system.terminals.len() {
            let satellite = state.choose(terminal, 0.0);
            state.attached[terminal] = satellite;
            line.attachments.push(vec![Attachment { at: Time::ZERO, satellite }]);
            if rules.rule == SelectionRule::Every {
                line.visible.push(vec![(Time::ZERO, state.visible(terminal, 0.0))]);
            }
        }
        if rules.check == Span::ZERO {
            line.run_exactly(&mut state, until, stop);
        } else {
            line.run_checks(&mut state, until, stop, &mut jitter);
        }
        line
    }

    /// Computes the changes if every node checks at its own times.
    fn run_checks(
        &mut self,
        state: &mut TimelineState<'_>,
        until: Time,
        stop: &AtomicBool,
        jitter: &mut impl FnMut(usize) -> f64,
    ) {
        let satellites = state.system.constellation.len();
        let mut next = |node: usize, at: Time| {
            let (check, largest) = (state.rules.check.ps() as f64, state.rules.jitter.ps() as f64);
            let moved = if largest > 0.0 { jitter(node) * largest } else { 0.0 };
            at + Span::from_ps((check + moved).max(1.0) as u64)
        };
        // Satellites are checked before terminals, because they have lower numbers.
        let mut due: BTreeSet<(Time, usize)> =
            (0..state.system.nodes()).map(|node| (next(node, Time::ZERO), node)).collect();
        let mut owned = vec![Vec::new(); satellites];
        for (number, isl) in state.system.constellation.isls.iter().enumerate() {
            if isl.kind != IslKind::Intraplane {
                owned[isl.a].push(number);
            }
        }
        let mut following = Vec::new();
        while let Some((at, node)) = due.pop_first().filter(|(at, _)| *at <= until) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            following.push((next(node, at), node));
            if let Some(terminal) = node.checked_sub(satellites) {
                self.check_terminal(state, at, terminal, at.seconds());
            } else {
                for &isl in &owned[node] {
                    let now = state.isl(isl, at.seconds());
                    self.link(state, at, isl, now);
                }
            }
            due.extend(following.drain(..));
        }
    }

    /// Computes the changes at their exact times.
    fn run_exactly(&mut self, state: &mut TimelineState<'_>, until: Time, stop: &AtomicBool) {
        let moving: Vec<usize> = (0..state.isls.len())
            .filter(|isl| state.system.constellation.isls[*isl].kind != IslKind::Intraplane)
            .collect();
        let end = until.seconds();
        let mut from = 0.0;
        while from < end && !stop.load(Ordering::Relaxed) {
            let to = (from + SAMPLE_INTERVAL_S).min(end);
            let mut entries: Vec<(f64, usize, bool)> = Vec::new();
            for &isl in &moving {
                if state.isl(isl, to) != state.isls[isl] {
                    entries.push((halve(from, to, |t| state.isl(isl, t) != state.isls[isl]), isl, true));
                }
            }
            for terminal in 0..state.attached.len() {
                let wants = |t: f64| match self.visible.get(terminal).and_then(|list| list.last()) {
                    Some((_, seen)) => state.visible(terminal, t) != *seen,
                    None => state.wants(terminal, t),
                };
                if wants(to) {
                    entries.push((halve(from, to, wants), terminal, false));
                }
            }
            entries.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (at, number, is_link) in entries {
                let time = (Time::ZERO + Span::from_seconds(at)).min(until);
                if is_link {
                    let now = state.isl(number, at);
                    self.link(state, time, number, now);
                } else {
                    self.check_terminal(state, time, number, at);
                }
            }
            from = to;
        }
    }

    /// Checks which satellites a terminal uses; `t` is the exact time, s.
    fn check_terminal(&mut self, state: &mut TimelineState<'_>, at: Time, terminal: usize, t: f64) {
        let Some(list) = self.visible.get_mut(terminal) else {
            let satellite = state.choose(terminal, t);
            return self.attach(state, at, terminal, satellite);
        };
        let seen = state.visible(terminal, t);
        if list.last().is_none_or(|(_, before)| *before != seen) {
            list.push((at, seen));
        }
    }

    fn attach(&mut self, state: &mut TimelineState<'_>, at: Time, terminal: usize, satellite: Option<usize>) {
        if state.attached[terminal] != satellite {
            state.attached[terminal] = satellite;
            self.attachments[terminal].push(Attachment { at, satellite });
        }
    }

    fn link(&mut self, state: &mut TimelineState<'_>, at: Time, isl: usize, now: IslState) {
        let before = state.isls[isl];
        state.isls[isl] = now;
        if before != now && (before.up || now.up) {
            self.isls.push(IslChange { at, isl, far: now.up.then_some(now.far) });
        }
    }

    /// The satellite of a terminal at a time, with the start and the end of its attachment.
    pub fn held(&self, terminal: usize, at: Time) -> Held {
        let list = &self.attachments[terminal];
        let next = list.partition_point(|a| a.at <= at);
        let Attachment { at: from, satellite } = list[next - 1];
        Held { from, until: list.get(next).map_or(Time::NEVER, |a| a.at), satellite }
    }

    /// The satellite of a terminal at a moment.
    pub fn attached(&self, terminal: usize, at: Time) -> Option<usize> {
        self.held(terminal, at).satellite
    }

    /// Whether terminals can use every visible satellite, so that there are no hand-offs.
    pub fn uses_every(&self) -> bool {
        !self.visible.is_empty()
    }

    /// The satellites that a terminal can use at a time, in the order of their numbers.
    pub fn usable(&self, terminal: usize, at: Time) -> Vec<usize> {
        if self.uses_every() {
            return self.visible_at(terminal, at).to_vec();
        }
        self.attached(terminal, at).into_iter().collect()
    }

    /// With [`SelectionRule::Every`], the satellites that a terminal can use at a time, in the order of their numbers.
    pub fn visible_at(&self, terminal: usize, at: Time) -> &[usize] {
        let list = &self.visible[terminal];
        &list[list.partition_point(|(from, _)| *from <= at) - 1].1
    }

    /// The far end of each link at a time, after the changes of that time; `None` if the link is down.
    pub fn isls_at(&self, at: Time, count: usize) -> Vec<Option<usize>> {
        let mut far = vec![None; count];
        for change in self.isls.iter().take_while(|change| change.at <= at) {
            far[change.isl] = change.far;
        }
        far
    }

    /// The times after the start at which a change happens.
    pub fn changes(&self) -> Vec<Time> {
        let attached = self.attachments.iter().flatten().map(|a| a.at);
        let visible = self.visible.iter().flatten().map(|(at, _)| *at);
        let all: BTreeSet<Time> = attached.chain(visible).chain(self.isls.iter().map(|c| c.at)).collect();
        all.into_iter().filter(|at| *at > Time::ZERO).collect()
    }

    /// All hand-offs in the order of time.
    pub fn handoffs(&self) -> Vec<Handoff> {
        let mut entries = Vec::new();
        for (terminal, list) in self.attachments.iter().enumerate() {
            let first = list.iter().position(|a| a.satellite.is_some()).unwrap_or(list.len());
            let pairs = list[first.min(list.len())..].windows(2);
            entries.extend(pairs.map(|pair| Handoff {
                at: pair[1].at,
                terminal,
                from: pair[0].satellite,
                to: pair[1].satellite,
            }));
        }
        entries.sort_by_key(|handoff| (handoff.at, handoff.terminal));
        entries
    }
}

/// The time in `from`..`to` at which `changed` becomes true, by bisection; it must be true at `to`.
fn halve(mut from: f64, mut to: f64, changed: impl Fn(f64) -> bool) -> f64 {
    while to - from > EXACT_S {
        let middle = 0.5 * (from + to);
        if changed(middle) {
            to = middle;
        } else {
            from = middle;
        }
    }
    to
}

impl TimelineState<'_> {
    fn isl(&self, number: usize, t: f64) -> IslState {
        let isl = self.system.constellation.isls[number];
        let (mut far, limit) = (self.isls[number].far, self.rules.isl_latitude);
        let up = match isl.kind {
            IslKind::Intraplane => {
                let (start, end) = (self.system.position(isl.a, t), self.system.position(far, t));
                self.system.constellation.earth.clear(start, end)
            }
            IslKind::Interplane => self.system.interplane(isl.a, far, limit, t),
            IslKind::CrossSeam => {
                let near = self.system.position(isl.a, t);
                let distance = |node| near.distance(self.system.position(node, t));
                let next = self.system.constellation.behind(far);
                if distance(next) < distance(far) {
                    far = next;
                }
                let apart = (self.system.place(isl.a, t).lon - self.system.place(far, t).lon).abs();
                let gap = self.rules.cross_seam_longitude;
                let beside = (gap..=360.0 - gap).contains(&apart);
                beside && self.system.interplane(isl.a, far, limit, t)
            }
        };
        IslState { far, up }
    }

    /// The satellite nearest to `near`, at the start, in the plane of `far`.
    fn nearest_across(&self, near: usize, far: usize) -> usize {
        let here = self.system.position(near, 0.0);
        let distance = |node| here.distance(self.system.position(node, 0.0));
        let behind = |node: &usize| Some(self.system.constellation.behind(*node)).filter(|next| *next != far);
        let plane = std::iter::successors(Some(far), behind);
        plane.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(far)
    }

    fn usable(&self, satellite: usize, horizon: &Horizon, t: f64) -> bool {
        horizon.sin_elevation(self.system.position(satellite, t)) > self.sin_mask
    }

    /// The satellites above the mask of a terminal.
    fn visible(&self, terminal: usize, t: f64) -> Vec<usize> {
        let satellites = self.system.constellation.len();
        let horizon = self.system.horizon(terminal, t);
        (0..satellites).filter(|satellite| self.usable(*satellite, &horizon, t)).collect()
    }

    /// Whether the satellite of a terminal would change at `t`.
    fn wants(&self, terminal: usize, t: f64) -> bool {
        if self.rules.rule == SelectionRule::Ns2
            && let Some(present) = self.attached[terminal]
        {
            return !self.usable(present, &self.system.horizon(terminal, t), t);
        }
        self.choose(terminal, t) != self.attached[terminal]
    }

    /// The satellite of a terminal after a check at `t`.
    fn choose(&self, terminal: usize, t: f64) -> Option<usize> {
        let satellites = self.system.constellation.len();
        let horizon = self.system.horizon(terminal, t);
        if self.rules.rule == SelectionRule::Ns2
            && let Some(present) = self.attached[terminal]
        {
            let behind = self.system.constellation.behind(present);
            for satellite in [present, behind] {
                if self.usable(satellite, &horizon, t) {
                    return Some(satellite);
                }
            }
        }
        let heights = (0..satellites).map(|s| (horizon.sin_elevation(self.system.position(s, t)), s));
        let best = heights.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
        (best.0 > self.sin_mask).then_some(best.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Constellation, Terminal, Walker};

    fn system(terminals: &[(f64, f64)]) -> SatelliteSystem {
        let terminals = terminals.iter().map(|&(lat, lon)| Terminal { name: String::new(), lat, lon });
        SatelliteSystem {
            constellation: Constellation::walker(&Walker::iridium(), false),
            terminals: terminals.collect(),
            epoch: 0.0,
        }
    }

    fn rules(rule: SelectionRule, check: u64) -> Rules {
        Rules {
            mask: 8.2,
            isl_latitude: 60.0,
            cross_seam_longitude: 10.0,
            rule,
            check: Span::from_ms(check),
            jitter: Span::ZERO,
        }
    }

    fn seconds(n: u64) -> Time {
        Time::ZERO + Span::from_ms(1000 * n)
    }

    #[test]
    fn published_handoffs() {
        // Berkeley, Boston, Coimbatore, London, Delhi over 600 s.
        let system = system(&[(37.9, -122.3), (42.3, -71.1), (11.0, 77.0), (51.5, -0.1), (28.6, 77.2)]);
        let line = Timeline::new(
            &system,
            &rules(SelectionRule::Ns2, 10_000),
            seconds(600),
            &AtomicBool::new(false),
            |_| 0.0,
        );
        let entries: Vec<_> =
            line.handoffs().iter().map(|h| (h.at.seconds(), h.terminal, h.from, h.to)).collect();
        let expected = [
            (100.0, 3, Some(2), Some(1)),
            (240.0, 4, Some(23), Some(22)),
            (390.0, 1, Some(48), Some(47)),
            (440.0, 2, Some(22), Some(43)),
            (520.0, 0, Some(26), Some(25)),
        ];
        assert_eq!(entries, expected);
        let times: BTreeSet<_> = line.isls.iter().map(|c| c.at).collect();
        let times: Vec<_> = times.into_iter().filter(|t| *t > Time::ZERO).collect();
        assert_eq!(times, [90, 190, 370, 460].map(seconds));
    }

    #[test]
    fn a_day_over_berkeley_and_boston() {
        let system = system(&[(37.9, -122.3), (42.3, -71.1)]);
        let line = Timeline::new(
            &system,
            &rules(SelectionRule::Ns2, 10_000),
            seconds(86_399),
            &AtomicBool::new(false),
            |_| 0.0,
        );
        let counts = [0, 1].map(|t| line.handoffs().iter().filter(|h| h.terminal == t).count());
        assert_eq!(counts, [165, 163]);
    }

    #[test]
    fn exact_changes_come_before_those_that_wait_for_a_check() {
        let system = system(&[(37.9, -122.3), (42.3, -71.1)]);
        let checked = Timeline::new(
            &system,
            &rules(SelectionRule::Ns2, 10_000),
            seconds(600),
            &AtomicBool::new(false),
            |_| 0.0,
        );
        let exact = Timeline::new(
            &system,
            &rules(SelectionRule::Ns2, 0),
            seconds(600),
            &AtomicBool::new(false),
            |_| 0.0,
        );
        assert_eq!(exact.handoffs().len(), checked.handoffs().len());
        for (a, b) in exact.handoffs().iter().zip(checked.handoffs()) {
            assert_eq!((a.terminal, a.from, a.to), (b.terminal, b.from, b.to));
            assert!(a.at <= b.at && b.at.since(a.at) <= Span::from_ms(10_000), "{a:?} {b:?}");
            // At that moment the old one is at the mask.
            let old = system.position(a.from.unwrap(), a.at.seconds());
            let horizon = system.horizon(a.terminal, a.at.seconds());
            let elevation = libm::asin(horizon.sin_elevation(old)).to_degrees();
            assert!((elevation - 8.2).abs() < 1e-4, "{elevation}");
        }
    }

    #[test]
    fn the_best_rule_keeps_to_the_highest() {
        let system = system(&[(37.9, -122.3)]);
        let line = Timeline::new(
            &system,
            &rules(SelectionRule::Best, 0),
            seconds(1200),
            &AtomicBool::new(false),
            |_| 0.0,
        );
        assert!(line.handoffs().len() >= 2);
        for t in 0..1200 {
            let at = Time::ZERO + Span::from_ms(1000 * t + 500);
            let horizon = system.horizon(0, at.seconds());
            let height = |s| horizon.sin_elevation(system.position(s, at.seconds()));
            let best = (0..66).map(height).fold(f64::MIN, f64::max);
            assert_eq!(line.attached(0, at).map(height), Some(best));
        }
    }

    #[test]
    fn jitter_moves_checks_within_its_bounds() {
        let system = system(&[(37.9, -122.3), (42.3, -71.1)]);
        let rules = Rules { jitter: Span::from_ms(5000), ..rules(SelectionRule::Ns2, 10_000) };
        let mut draws = 0.37;
        let line = Timeline::new(&system, &rules, seconds(3600), &AtomicBool::new(false), |_| {
            draws = (draws * 997.0) % 1.0;
            2.0 * draws - 1.0
        });
        assert!(line.handoffs().iter().any(|h| h.at.ps() % 10_000_000_000_000 != 0));
        assert!(line.handoffs().len() > 10);
    }
}
