//! What a stack says of itself.

use super::port::Port;
use std::borrow::Cow;
use units::{Span, Time};

/// What a stack says of itself at some time; `None` of what it does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Payload that the application has received, in order: of an end that receives.
    pub delivered_bytes: Option<u64>,
    /// Congestion window.
    pub cwnd_bytes: Option<u64>,
    /// Slow-start threshold.
    pub ssthresh_bytes: Option<u64>,
    /// Bytes in flight.
    pub in_flight_bytes: Option<u64>,
    /// Pacing rate, bit/s.
    pub pacing_bps: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Packets that it has declared lost so far.
    pub lost_packets: Option<u64>,
    /// Whether the application limits it now.
    pub app_limited: Option<bool>,
    /// The state of its controller, by the name that the stack uses.
    pub state: Option<Cow<'static, str>>,
}

impl Sample {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Sample::default()
    }
}

/// A sample with its time and its port.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SampleRow {
    /// When.
    pub at: Time,
    /// Whose.
    pub port: Port,
    /// What was said.
    pub sample: Sample,
}

/// Most rows.
const MOST_ROWS: usize = 1 << 19;

/// The samples of a network.
#[derive(Debug)]
pub(super) struct SampleLog {
    rows: Vec<SampleRow>,
    /// The last sample of each port.
    last: Vec<Option<Sample>>,
    /// One of so many changes is recorded.
    stride: u64,
    changes: u64,
}

impl SampleLog {
    pub fn new(ports: usize) -> SampleLog {
        SampleLog { rows: Vec::new(), last: vec![None; ports], stride: 1, changes: 0 }
    }

    /// Adds a row if a value has changed.
    pub fn record(&mut self, at: Time, port: Port, sample: &Sample) {
        let last = &mut self.last[port.number() as usize];
        if sample.is_empty() || last.as_ref() == Some(sample) {
            return;
        }
        *last = Some(sample.clone());
        self.changes += 1;
        if !self.changes.is_multiple_of(self.stride) {
            return;
        }
        if self.rows.len() == MOST_ROWS {
            let mut place = 0;
            self.rows.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.stride *= 2;
        }
        self.rows.push(SampleRow { at, port, sample: sample.clone() });
    }

    pub fn last(&self, port: Port) -> Option<&Sample> {
        self.last.get(port.number() as usize)?.as_ref()
    }

    pub fn rows(&self) -> &[SampleRow] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_changes_and_are_thinned() {
        let mut log = SampleLog::new(2);
        let sample = |cwnd| Sample { cwnd_bytes: Some(cwnd), ..Sample::default() };
        for at in 0..10 {
            log.record(Time::from_ns(at), Port(0), &sample(at / 5));
            log.record(Time::from_ns(at), Port(1), &Sample::default());
        }
        assert_eq!(log.rows().iter().map(|row| row.at.ns()).collect::<Vec<_>>(), [0, 5]);
        for at in 10..2 * MOST_ROWS as u64 {
            log.record(Time::from_ns(at), Port(0), &sample(at));
        }
        assert!(log.rows().len() > MOST_ROWS / 2 && log.rows().len() <= MOST_ROWS);
        assert!(log.rows().is_sorted_by_key(|row| row.at));
    }
}
