//! The counters of a receiver or of the sink of a flow.

use net::Packet;
use units::{Span, Time};

/// The counters of a receiver or of a sink. They count data packets; SYNs are not included.
#[derive(Clone, Debug, Default)]
pub struct ReceiverStats {
    /// Data packets that arrived, duplicates included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Arrivals of segments or packets that had arrived before. Other flows than TCP need [`ArrivalDetail::numbers`].
    pub duplicates: u64,
    /// Their bytes on the wire.
    pub duplicate_bytes: u64,
    /// Distinct packets that were sent in the warm-up and arrived after it.
    pub carried: u64,
    /// Sum of one-way delays (RFC 7679), seconds.
    pub delay_sum: f64,
    /// Sum of absolute differences of consecutive delays, seconds.
    pub jitter_sum: f64,
    /// One-way delay of the first packet.
    pub first_delay: Span,
    /// One-way delay of the last packet, seconds.
    pub last_delay_s: f64,
    /// Time of the first arrival.
    pub first_at: Time,
    /// Time of the last arrival.
    pub last_at: Time,
    /// What is recorded of each packet; `None` if nothing is, which costs an arrival nothing.
    pub detail: Option<Box<ArrivalDetail>>,
}

/// What a receiver records of each packet besides its counters.
#[derive(Clone, Debug, Default)]
pub struct ArrivalDetail {
    /// The one-way delay of every packet, seconds, in the order of arrival.
    pub delays: Option<Vec<f64>>,
    /// The numbers of the packets that have arrived, for flows of which copies can arrive and that do not reassemble.
    pub numbers: Option<PacketNumbers>,
    /// The end of the warm-up, if there is one.
    pub warmup_end: Option<Time>,
}

impl ArrivalDetail {
    /// Whether a packet that arrives at `now` was sent in the warm-up and arrives after it.
    fn carries(&self, packet: &Packet, now: Time) -> bool {
        self.warmup_end.is_some_and(|end| packet.sent <= end && end < now)
    }
}

/// A set of packet numbers.
#[derive(Clone, Debug, Default)]
pub struct PacketNumbers {
    /// One bit for each number.
    words: Vec<u64>,
}

impl PacketNumbers {
    /// Adds a number. Returns whether it is new.
    pub fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1u64 << (number % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }
}

impl ReceiverStats {
    /// Counts an arrival.
    #[inline]
    pub fn arrived(&mut self, packet: &Packet, now: Time) {
        let delay = now.since(packet.sent);
        let seconds = delay.seconds();
        if self.packets == 0 {
            self.first_delay = delay;
            self.first_at = now;
        } else {
            self.jitter_sum += (seconds - self.last_delay_s).abs();
        }
        self.delay_sum += seconds;
        self.last_delay_s = seconds;
        self.last_at = now;
        self.packets += 1;
        self.wire_bytes += packet.size as u64;
        if self.detail.is_some() {
            self.record(packet, now);
        }
    }

    #[inline(never)] // most receivers record nothing
    fn record(&mut self, packet: &Packet, now: Time) {
        let Some(detail) = &mut self.detail else { return };
        if let Some(delays) = &mut detail.delays {
            delays.push(self.last_delay_s);
        }
        self.carried += detail.carries(packet, now) as u64;
        if detail.numbers.as_mut().is_some_and(|numbers| !numbers.insert(packet.seq)) {
            self.repeated(packet, now);
        }
    }

    /// Counts the packet that has just arrived as a duplicate.
    pub fn repeated(&mut self, packet: &Packet, now: Time) {
        self.duplicates += 1;
        self.duplicate_bytes += packet.size as u64;
        let carried = self.detail.as_ref().is_some_and(|detail| detail.carries(packet, now));
        self.carried -= carried as u64;
    }

    /// Distinct data packets that arrived.
    pub fn distinct_packets(&self) -> u64 {
        self.packets - self.duplicates
    }

    /// Their bytes on the wire.
    pub fn distinct_bytes(&self) -> u64 {
        self.wire_bytes - self.duplicate_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::PacketKind;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    fn packet(seq: u32, sent: u64) -> Packet {
        Packet::new(PacketKind::Udp, 0, 0, seq, 1500, ms(sent))
    }

    #[test]
    fn counters_of_arrivals() {
        let detail = ArrivalDetail { delays: Some(Vec::new()), ..ArrivalDetail::default() };
        let mut stats = ReceiverStats { detail: Some(Box::new(detail)), ..ReceiverStats::default() };
        for (sent, arrived) in [(0, 10), (5, 25), (20, 35)] {
            stats.arrived(&packet(1, sent), ms(arrived));
        }
        assert_eq!((stats.packets, stats.wire_bytes), (3, 4500));
        assert_eq!((stats.distinct_packets(), stats.carried), (3, 0));
        assert_eq!((stats.first_at, stats.last_at), (ms(10), ms(35)));
        assert_eq!((stats.first_delay, stats.last_delay_s), (Span::from_ms(10), 0.015));
        assert!((stats.delay_sum - 0.045).abs() < 1e-12 && (stats.jitter_sum - 0.015).abs() < 1e-12);
        assert_eq!(stats.detail.unwrap().delays.unwrap(), [0.01, 0.02, 0.015]);
    }

    #[test]
    fn copies_and_packets_of_the_warm_up_are_counted() {
        let numbers = Some(PacketNumbers::default());
        let detail = ArrivalDetail { numbers, warmup_end: Some(ms(100)), ..ArrivalDetail::default() };
        let mut stats = ReceiverStats { detail: Some(Box::new(detail)), ..ReceiverStats::default() };
        // A packet of the warm-up that arrives in it; one that arrives after it, twice; one that was sent at its end; a
        // later one, out of order and twice.
        for (seq, sent, arrived) in [
            (0, 0, 90),
            (1, 50, 110),
            (1, 50, 120),
            (2, 100, 130),
            (200, 101, 140),
            (64, 102, 141),
            (64, 102, 142),
        ] {
            stats.arrived(&packet(seq, sent), ms(arrived));
        }
        assert_eq!((stats.packets, stats.duplicates, stats.duplicate_bytes), (7, 2, 3000));
        assert_eq!((stats.distinct_packets(), stats.distinct_bytes(), stats.carried), (5, 7500, 2));
    }
}
