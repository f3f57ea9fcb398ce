//! Times at which a link does not work.

use units::Time;

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
