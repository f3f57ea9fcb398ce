//! The transitions of a controller that is a state machine. A row of the window trace shows the state after an event; several
//! transitions can belong to one event, so a controller keeps the last ones with their times.

use units::Time;

/// A transition between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// When.
    pub at: Time,
    /// Name of the state before.
    pub from: &'static str,
    /// Name of the state after.
    pub to: &'static str,
    /// Why.
    pub why: &'static str,
}

/// The last transitions of a controller, and how many there were.
#[derive(Clone, Debug)]
pub struct Transitions {
    names: &'static [&'static str],
    count: u32,
    last: [Option<Transition>; Transitions::KEPT],
}

impl Transitions {
    /// More than belong to the events between two rows of the window trace.
    const KEPT: usize = 8;

    /// None so far. `names` are those of the states, the first state first ([`crate::Algorithm::STATES`]).
    pub const fn new(names: &'static [&'static str]) -> Transitions {
        Transitions { names, count: 0, last: [None; Transitions::KEPT] }
    }

    /// Records a transition between the states of these numbers. To the present state is none.
    pub fn record(&mut self, at: Time, from: u8, to: u8, why: &'static str) {
        if from != to {
            let (from, to) = (self.names[from as usize], self.names[to as usize]);
            self.last[self.count as usize % Transitions::KEPT] = Some(Transition { at, from, to, why });
            self.count += 1;
        }
    }

    /// Number of transitions so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The transitions after the first `seen` ones, in the order of time; at most the last eight.
    pub fn since(&self, seen: u32) -> impl Iterator<Item = Transition> + '_ {
        let first = seen.max(self.count.saturating_sub(Transitions::KEPT as u32));
        (first..self.count).filter_map(|number| self.last[number as usize % Transitions::KEPT])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    #[test]
    fn the_last_transitions_are_kept_in_order() {
        let mut transitions = Transitions::new(&["a", "b"]);
        let at = |number: u64| Time::ZERO + Span::from_ms(number);
        transitions.record(at(0), 1, 1, "no transition");
        for number in 0..10 {
            transitions.record(at(number), number as u8 % 2, (number as u8 + 1) % 2, "why");
        }
        assert_eq!(transitions.count(), 10);
        let last: Vec<_> = transitions.since(8).map(|t| (t.at, t.from, t.to)).collect();
        assert_eq!(last, [(at(8), "a", "b"), (at(9), "b", "a")]);
        assert_eq!(transitions.since(0).next().map(|t| t.at), Some(at(2)), "eight are kept");
    }
}
