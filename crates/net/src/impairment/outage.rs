//! Times at which a link does not work.

use super::kind::{Kind, Permits, TIMES, check_times, intervals};
use super::{Effect, Impair, Impairment};
use crate::packet::Packet;
use crate::rule::Rule;
use crate::tap::DropReason;
use units::{Span, Time};

/// Packets that arrive during an outage are dropped.
pub(super) const BLACKOUT: Kind = Kind {
    model: params::model!("loss", "blackout", "drops packets that arrive at given times", "", [&[TIMES]]),
    check: check_times,
    build: |values, _| Some(Impairment::Blackout(Blackout(Outages::new(intervals(values))))),
    label: |values| format!("{} blackouts", intervals(values).len()),
    ..Kind::PLAIN
};

/// No transmission begins during an outage.
pub(super) const STALL: Kind = Kind {
    model: params::model!(
        "loss",
        "stall",
        "begins no transmission at given times; packets wait",
        "",
        [&[TIMES]]
    ),
    check: check_times,
    build: |values, _| Some(Impairment::Stall(Stall(Outages::new(intervals(values))))),
    label: |values| format!("{} stalls", intervals(values).len()),
    permits: |values| {
        let lengths = intervals(values).into_iter().map(|(begin, end)| end.since(begin));
        Permits { pause: lengths.fold(Span::ZERO, |sum, length| sum + length), ..Permits::NOTHING }
    },
    can_change: false,
    ..Kind::PLAIN
};

/// Intervals in the order of time; each begins at its first time and ends before its second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outages(Vec<(Time, Time)>);

impl Outages {
    /// The given intervals, in any order; those that overlap or touch are one.
    pub fn new(mut intervals: Vec<(Time, Time)>) -> Outages {
        intervals.sort_unstable();
        let mut merged: Vec<(Time, Time)> = Vec::new();
        for (begin, end) in intervals {
            match merged.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((begin, end)),
            }
        }
        Outages(merged)
    }
    /// The end of the outage at `now`, if there is one.
    pub fn end(&self, now: Time) -> Option<Time> {
        let after = self.0.partition_point(|(begin, _)| *begin <= now);
        self.0[..after].last().map(|(_, end)| *end).filter(|end| now < *end)
    }
}

/// Packets that arrive during an outage are dropped.
#[derive(Clone, Debug)]
pub struct Blackout(Outages);

impl Impair for Blackout {
    #[inline]
    fn before(&mut self, now: Time, _packet: &Packet, _effect: &mut Effect) -> Option<DropReason> {
        self.0.end(now).map(|_| DropReason::List)
    }

    fn rule(&self, now: Time, _packet: &Packet, reason: DropReason) -> Option<Rule> {
        let until = self.0.end(now).filter(|_| reason == DropReason::List)?;
        Some(Rule::Blackout { until })
    }
}

/// No transmission begins during an outage; packets wait.
#[derive(Clone, Debug)]
pub struct Stall(Outages);

impl Impair for Stall {
    #[inline]
    fn stalled_until(&self, start: Time) -> Option<Time> {
        self.0.end(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_before_its_second_time() {
        let [a, b, c, d] = [10, 20, 30, 40].map(Time::from_ps);
        let outages = Outages::new(vec![(c, d), (a, b)]);
        assert_eq!(
            Outages::new(vec![(a, d), (b, c), (d, Time::from_ps(50))]),
            Outages(vec![(a, Time::from_ps(50))])
        );
        let at = |ps| outages.end(Time::from_ps(ps));
        assert_eq!(
            [at(9), at(10), at(19), at(20), at(35), at(40)],
            [None, Some(b), Some(b), None, Some(d), None]
        );
    }
}
