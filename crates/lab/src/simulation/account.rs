//! What a run has counted until some time.
//!
//! The difference of two accounts is what the run has counted between their times, and an outcome is made of an account: a
//! warm-up is one subtraction. What cannot be subtracted, such as a window at the end, is not in an account.

use net::cellular::{CellAccount, UserAccount};
use net::counters::{Counter, counters};
use net::radio::{PacketFate, Radio};
use net::wifi::{ChannelAccount, DirectionAccount};
use net::{DropReason, GrantAccount, LinkAccount, SojournTimes};
use transport::SendLimit;

/// A mean and its weight: the number of the samples, or the time in seconds. The difference of two is the mean over what
/// the first has and the second has not.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    mean: f64,
    weight: f64,
}

impl Mean {
    /// A mean with its weight; without weight there is none.
    pub fn new(mean: f64, weight: f64) -> Mean {
        if weight > 0.0 { Mean { mean, weight } } else { Mean { mean: 0.0, weight: 0.0 } }
    }

    /// The mean of `number` samples with this sum.
    pub fn of_samples(sum: f64, number: u64) -> Mean {
        Mean::new(sum / number as f64, number as f64)
    }

    /// The mean; `None` of nothing, and if a value was infinite.
    pub fn value(&self) -> Option<f64> {
        (self.weight > 0.0 && self.mean.is_finite()).then_some(self.mean)
    }

    fn total(&self) -> f64 {
        self.mean * self.weight
    }
}

impl Counter for Mean {
    fn subtract(&self, early: &Mean) -> Mean {
        let weight = self.weight - early.weight;
        Mean::new((self.total() - early.total()) / weight, weight)
    }
    fn add(&self, other: &Mean) -> Mean {
        let weight = self.weight + other.weight;
        Mean::new((self.total() + other.total()) / weight, weight)
    }
}

counters! {
    /// What a run has counted.
    #[derive(Clone, Debug)]
    pub struct RunAccount {
        /// The time, seconds.
        seconds: f64,
        /// In the order of the scenario.
        flows: Vec<FlowAccount>,
        /// Two per link, forward then back, in the order of the scenario.
        links: Vec<LinkCounters>,
        /// Of each Wi-Fi channel.
        wifi: Vec<ChannelAccount>,
        /// Of each cell.
        cells: Vec<CellAccount>,
        /// Of the radio network, if there is one.
        radio: Option<RadioAccount>,
    }
}

counters! {
    /// What a flow has counted.
    #[derive(Clone, Debug)]
    pub struct FlowAccount {
        /// Payload delivered in order, without duplicates, bytes.
        delivered_bytes: u64,
        /// Data packets sent.
        sent: u64,
        /// The time from its start to its completion, its stop or the end, seconds.
        active_s: f64,
        /// What its sink has counted.
        arrivals: ArrivalAccount,
        /// What its sender has counted; only of a flow with a controller.
        sender: Option<SenderAccount>,
        /// What only QUIC counts.
        quic: Option<QuicAccount>,
        /// Of an attached flow, what its source and its destination have sent.
        ports: Option<[PortAccount; 2]>,
    }
}

counters! {
    /// What the sink of a flow has counted: data packets, with duplicates if nothing else is said.
    #[derive(Clone, Debug)]
    pub struct ArrivalAccount {
        /// Packets.
        packets: u64,
        /// Their bytes on the wire.
        wire_bytes: u64,
        /// Distinct packets.
        distinct: u64,
        /// Those of them that were sent in the warm-up and arrived after it.
        carried: u64,
        /// One-way delay, seconds.
        delay: Mean,
        /// Time between arrivals, seconds.
        gap: Mean,
        /// Signed delay differences, seconds.
        jitter1: Mean,
        /// Absolute delay differences, seconds.
        jitter2: Mean,
    }
}

counters! {
    /// What was counted of the datagrams that an end has sent. Bytes are those handed to the network, without the header.
    #[derive(Clone, Debug)]
    pub struct PortAccount {
        /// Datagrams sent, those that were too long included.
        sent: u64,
        /// Their bytes.
        sent_bytes: u64,
        /// Datagrams that the first queue has accepted, or that wait on a medium for it.
        accepted: u64,
        /// Datagrams above the MTU, which are dropped before the first queue.
        too_long: u64,
        /// Arrivals with Congestion Experienced.
        marked: u64,
        /// Datagrams dropped by links, by reason.
        dropped: [u64; DropReason::ALL.len()],
        /// Distinct datagrams that arrived.
        received: u64,
        /// Their bytes.
        received_bytes: u64,
        /// Arrivals of datagrams that had arrived before; counted if a link of the path makes copies.
        duplicates: u64,
        /// Arrivals, duplicates included.
        arrivals: ArrivalAccount,
        /// One-way delays.
        delays: SojournTimes,
    }
}

counters! {
    /// What the sender of a flow with a controller has counted.
    #[derive(Clone, Debug)]
    pub struct SenderAccount {
        /// Highest cumulative ACK, in data segments; QUIC: packets acknowledged.
        acked: u64,
        /// Data packets sent again; QUIC: packets declared lost.
        retransmitted: u64,
        /// Retransmission timeouts; QUIC: probe timeouts.
        timeouts: u64,
        /// Reductions of the window.
        window_cuts: u64,
        /// Round-trip samples, seconds.
        rtt: Mean,
        /// Congestion window over time, segments.
        cwnd: Mean,
        /// Slow-start threshold over time, segments.
        ssthresh: Mean,
        /// Time under each limit, seconds, in the order of [`SendLimit::NAMES`].
        limited_s: [f64; SendLimit::NAMES.len()],
    }
}

counters! {
    /// What only a QUIC flow counts.
    #[derive(Clone, Debug)]
    pub struct QuicAccount {
        /// Times of persistent congestion.
        persistent_congestion: u64,
        /// CE marks that ACK frames reported.
        ce_marks: u64,
    }
}

counters! {
    /// What one direction of a link has counted.
    #[derive(Clone, Debug)]
    pub struct LinkCounters {
        /// Packets that arrived at its end.
        delivered: u64,
        /// Packets whose transmission has begun.
        transmitted: u64,
        /// Packets marked.
        marked: u64,
        /// Packets dropped, in the order of [`DropReason::ALL`].
        dropped: [u64; DropReason::ALL.len()],
        /// Busy time over the time that was offered.
        utilisation: Mean,
        /// Packets waiting.
        queue: Mean,
        /// Waiting times, seconds.
        sojourn: Mean,
        /// The low-latency queue of DualPI2.
        low_latency: Option<LowLatencyAccount>,
        /// Its access categories on a Wi-Fi channel.
        wifi: Vec<DirectionAccount>,
        /// Its part of a cell.
        cell: Option<UserAccount>,
        /// What it was granted.
        grants: Option<GrantAccount>,
    }
}

counters! {
    /// What the low-latency queue of DualPI2 has counted.
    #[derive(Clone, Debug)]
    pub struct LowLatencyAccount {
        /// Packets that it sent.
        sent: u64,
        /// Those that it marked.
        marked: u64,
        /// Their waiting times, seconds.
        sojourn: Mean,
    }
}

counters! {
    /// What the radio network has counted.
    #[derive(Clone, Debug)]
    pub struct RadioAccount {
        /// Data packets that were handed to it.
        offered: u64,
        /// Distinct data packets that reached the end of their radio path.
        received: u64,
        /// Transmissions of routing messages.
        routing: u64,
        /// Hops of the received packets.
        hops: Mean,
        /// In the order of [`super::drops::MAC_DROPS`].
        mac_drops: [u64; super::drops::MAC_DROPS.len()],
        /// Data packets without a delivered copy, in the order of [`PacketFate::DROPS`].
        dropped: [u64; PacketFate::DROPS.len()],
    }
}

impl LinkCounters {
    /// What a link has counted in the first `seconds`, without its part of a medium.
    pub fn of(account: &LinkAccount, seconds: f64) -> LinkCounters {
        let low_latency = account.low_latency.as_ref().map(|low| LowLatencyAccount {
            sent: low.packets,
            marked: low.marked,
            sojourn: Mean::new(low.mean_wait_s(), low.packets as f64),
        });
        LinkCounters {
            delivered: account.delivered,
            transmitted: account.transmitted,
            marked: account.marked,
            dropped: account.dropped,
            utilisation: Mean::new(account.utilisation, account.offered_s),
            queue: Mean::new(account.mean_queue_packets, seconds),
            sojourn: Mean::new(account.mean_sojourn_s.unwrap_or(0.0), account.transmitted as f64),
            low_latency,
            wifi: Vec::new(),
            cell: None,
            grants: None,
        }
    }

    /// Packets that the queue dropped.
    pub fn queue_drops(&self) -> u64 {
        let reasons = DropReason::ALL.into_iter().filter(|reason| reason.by_queue());
        reasons.map(|reason| self.dropped[reason as usize]).sum()
    }
}

impl RadioAccount {
    /// What a radio network has counted.
    pub fn of(radio: &Radio) -> RadioAccount {
        let counts = radio.counts();
        RadioAccount {
            offered: counts.offered,
            received: counts.received,
            routing: counts.routing,
            hops: Mean::of_samples(counts.received_hops as f64, counts.received),
            mac_drops: [counts.retries_exhausted, counts.collisions, counts.busy, counts.duplicates],
            dropped: counts.dropped_data,
        }
    }

    /// Packets that have left the network: received or lost.
    pub fn ended(&self) -> u64 {
        self.received + self.dropped.iter().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_of_means_is_the_mean_of_the_rest() {
        let (all, early) = (Mean::of_samples(60.0, 6), Mean::of_samples(10.0, 2));
        assert_eq!(all.subtract(&early).value(), Some(12.5));
        assert_eq!(all.subtract(&early).add(&early).value(), Some(10.0));
        assert_eq!(all.subtract(&all).value(), None);
        assert_eq!(all.subtract(&Mean::of_samples(0.0, 0)).value(), Some(10.0));
        let infinite = Mean::new(f64::INFINITY, 3.0);
        assert_eq!((infinite.value(), infinite.subtract(&Mean::new(1.0, 1.0)).value()), (None, None));
    }
}
