//! The sender's record of each outstanding segment.

use smallvec::{SmallVec, smallvec};
use units::Time;

/// One outstanding segment.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// When it was last sent.
    pub sent: Time,
    /// How often it was sent.
    pub transmits: u32,
}

/// The outstanding segments by number, in a ring that grows with the window. A small ring needs no allocation.
#[derive(Clone, Debug)]
pub struct SentSegments {
    ring: SmallVec<[Segment; SMALL]>,
}

const SMALL: usize = 8;
const UNSENT: Segment = Segment { sent: Time::ZERO, transmits: 0 };

impl Default for SentSegments {
    fn default() -> SentSegments {
        SentSegments { ring: smallvec![UNSENT; SMALL] }
    }
}

impl SentSegments {
    /// Segment `seq`, which is outstanding.
    #[inline]
    pub fn get(&self, seq: u32) -> Segment {
        self.ring[seq as usize & (self.ring.len() - 1)]
    }

    /// Records that segment `seq` is sent at `now`; the records of `una..seq` remain.
    #[inline]
    pub fn sent(&mut self, una: u32, high: u32, seq: u32, now: Time) {
        if (seq.max(high) - una) as usize >= self.ring.len() {
            self.grow(una, high, (seq.max(high) - una) as usize + 1);
        }
        let mask = self.ring.len() - 1;
        let segment = &mut self.ring[seq as usize & mask];
        let transmits = if seq >= high { 1 } else { segment.transmits + 1 };
        *segment = Segment { sent: now, transmits };
    }

    #[cold]
    fn grow(&mut self, una: u32, high: u32, needed: usize) {
        let mut ring = smallvec![UNSENT; needed.next_power_of_two()];
        let mask = ring.len() - 1;
        for seq in una..high {
            ring[seq as usize & mask] = self.get(seq);
        }
        self.ring = ring;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_across_growth() {
        let mut segments = SentSegments::default();
        for seq in 10..20 {
            segments.sent(10, seq, seq, Time::from_ps(seq as u64));
        }
        segments.sent(10, 20, 12, Time::from_ps(99));
        segments.sent(10, 20, 40, Time::from_ps(40));
        assert_eq!((segments.get(12).transmits, segments.get(12).sent.ps()), (2, 99));
        assert_eq!((segments.get(19).transmits, segments.get(19).sent.ps()), (1, 19));
    }
}
