//! The packets in flight, and the delivery rates that follow from them (draft-ietf-ccwg-bbr section 4.1).
//!
//! quinn tells a controller no packet numbers of ACKs and losses, only when the packet was sent and its size. Packets have
//! numbers of their own here, in the order in which they were sent, through all packet number spaces.

use ackclock_cc::{RateSample, Span, Time};
use std::collections::VecDeque;

/// A packet that was sent, with the state of the connection then.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub number: u64,
    pub at: Time,
    /// Bytes.
    pub size: u64,
    /// Neither acknowledged nor lost.
    outstanding: bool,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// Packets in flight, with it.
    pub in_flight: u32,
    /// Packets marked as lost until then.
    pub lost: u64,
    pub app_limited: bool,
}

/// The packets sent that are neither acknowledged nor lost, and what is counted of them.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    packets: VecDeque<Packet>,
    next: u64,
    /// Packets delivered and lost since the start.
    pub delivered: u64,
    pub lost: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// The delivered count at which the last application-limited period ends; zero if there was none.
    app_limited_until: u64,
    /// The packet sent last among those that the present ACK delivers.
    newest: Option<Packet>,
}

impl Packets {
    /// The number of the next packet.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// A packet of `size` bytes is sent, with `in_flight` packets in flight before it. At most `most` packets are kept:
    /// quinn may never report what became of some.
    pub fn send(&mut self, now: Time, size: u64, in_flight: u32, most: usize) {
        if in_flight == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        self.packets.push_back(Packet {
            number: self.next,
            at: now,
            size,
            outstanding: true,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: in_flight + 1,
            lost: self.lost,
            app_limited: self.app_limited(),
        });
        self.next += 1;
        while self.packets.len() > most || self.packets.front().is_some_and(|packet| !packet.outstanding) {
            self.packets.pop_front();
        }
    }

    /// A packet of `size` bytes that was sent at `sent` is delivered. `None` if it is not known: a probe for a larger MTU, or
    /// a packet of another path.
    pub fn deliver(&mut self, now: Time, sent: Time, size: u64) -> Option<Packet> {
        self.delivered += 1;
        self.delivered_at = now;
        let first = self.packets.partition_point(|packet| packet.at < sent);
        let mut same = self.packets.range_mut(first..).take_while(|packet| packet.at == sent);
        // Datagrams that left in one turn may differ in size from what is known of them.
        let (mut any, mut exact) = (None, None);
        for packet in same.by_ref().filter(|packet| packet.outstanding) {
            if packet.size == size {
                exact = Some(packet);
                break;
            }
            any = any.or(Some(packet));
        }
        let packet = exact.or(any)?;
        packet.outstanding = false;
        let packet = *packet;
        if self.newest.is_none_or(|newest| newest.number < packet.number) {
            self.newest = Some(packet);
        }
        Some(packet)
    }

    /// Removes the packets sent until `sent` of which `bytes` bytes are lost: the oldest ones, as RFC 9002 section 6.1
    /// declares packets lost in the order in which they were sent. Appends the lost ones to `lost`.
    pub fn lose(&mut self, sent: Time, bytes: u64, lost: &mut Vec<Packet>) {
        let end = self.packets.partition_point(|packet| packet.at <= sent);
        let mut left = bytes;
        for packet in self.packets.range_mut(..end).filter(|packet| packet.outstanding) {
            if left >= packet.size.div_ceil(2) {
                left = left.saturating_sub(packet.size);
                packet.outstanding = false;
                lost.push(*packet);
            } else if packet.at < sent {
                packet.outstanding = false; // it did not count as in flight, or its keys were discarded
            }
        }
    }

    /// The number of the last packet sent until `sent` that is still kept.
    pub fn last_until(&self, sent: Time) -> Option<u64> {
        let end = self.packets.partition_point(|packet| packet.at <= sent);
        Some(self.packets.get(end.checked_sub(1)?)?.number)
    }

    /// Whether the samples of packets sent now are limited by the application.
    pub fn app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// The application has too little data, with `in_flight` packets in flight.
    pub fn limit_by_application(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Packets delivered since the newest packet that the present ACK delivers was sent.
    pub fn since_sent(&self) -> Option<u64> {
        Some(self.delivered - self.newest?.delivered)
    }

    /// The rate sample of the packets that were delivered since the last call. `min_rtt`: no rate follows from a shorter
    /// interval.
    pub fn sample(&mut self, now: Time, min_rtt: Option<Span>) -> Option<RateSample> {
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let packet = self.newest.take()?;
        let send_interval = packet.at.since(packet.first_sent_at);
        let ack_interval = now.since(packet.delivered_at);
        self.first_sent_at = packet.at;
        let interval = send_interval.max(ack_interval);
        let too_short = min_rtt.is_some_and(|least| interval < least);
        Some(RateSample {
            delivered: self.delivered - packet.delivered,
            interval: if too_short { Span::ZERO } else { interval },
            app_limited: packet.app_limited,
            prior_delivered: packet.delivered,
            tx_in_flight: packet.in_flight,
            lost: self.lost - packet.lost,
            send_interval,
            ack_interval,
            retransmission: false, // QUIC sends data again in a new packet
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_ns(n * 1_000_000)
    }

    /// Packets of 1200 bytes, one every `spacing` ms.
    fn sent(count: u64, spacing: u64) -> Packets {
        let mut packets = Packets::default();
        (0..count).for_each(|n| packets.send(ms(n * spacing), 1200, n as u32, 1000));
        packets
    }

    #[test]
    fn the_rate_is_that_of_the_slower_of_sending_and_acknowledging() {
        let mut packets = sent(10, 1);
        (0..10).for_each(|n| assert!(packets.deliver(ms(100 + 2 * n), ms(n), 1200).is_some()));
        let sample = packets.sample(ms(118), None).unwrap();
        assert_eq!((sample.delivered, sample.interval, sample.tx_in_flight), (10, Span::from_ms(118), 10));
        assert_eq!(packets.sample(ms(118), None), None);
        assert!(
            packets.deliver(ms(120), ms(77), 1200).is_none(),
            "an unknown packet counts, without a sample"
        );
        assert_eq!((packets.delivered, packets.sample(ms(120), None)), (11, None));
    }

    #[test]
    fn no_rate_follows_from_an_interval_below_the_round_trip_time() {
        let mut packets = sent(1, 1);
        packets.deliver(ms(30), ms(0), 1200);
        assert_eq!(packets.sample(ms(30), Some(Span::from_ms(40))).unwrap().interval, Span::ZERO);
    }

    #[test]
    fn losses_are_the_oldest_packets() {
        let mut packets = sent(6, 1);
        packets.deliver(ms(40), ms(1), 1200);
        let mut lost = Vec::new();
        packets.lose(ms(3), 3600, &mut lost);
        assert_eq!(lost.iter().map(|packet| packet.number).collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!((packets.last_until(ms(3)), packets.last_until(ms(9))), (Some(3), Some(5)));
        lost.clear();
        packets.lose(ms(5), 1200, &mut lost); // what is left over before the last one has not counted
        assert_eq!(lost[0].number, 4);
        assert!(packets.deliver(ms(50), ms(4), 1200).is_none());
    }

    #[test]
    fn packets_of_one_turn_are_told_apart_by_their_size() {
        let mut packets = Packets::default();
        [1200, 1200, 300].into_iter().for_each(|size| packets.send(ms(0), size, 0, 1000));
        let numbers = [300, 1200, 700].map(|size| packets.deliver(ms(40), ms(0), size).unwrap().number);
        assert_eq!(numbers, [2, 0, 1]);
    }

    #[test]
    fn an_application_limit_lasts_until_its_data_is_delivered() {
        let mut packets = sent(2, 0);
        packets.limit_by_application(2);
        packets.send(ms(1), 1200, 2, 1000);
        packets.deliver(ms(40), ms(0), 1200);
        packets.deliver(ms(40), ms(0), 1200);
        assert!(!packets.sample(ms(40), None).unwrap().app_limited);
        packets.deliver(ms(41), ms(1), 1200);
        assert!(packets.app_limited());
        assert!(packets.sample(ms(41), None).unwrap().app_limited);
        assert!(!packets.app_limited());
    }

    #[test]
    fn the_table_has_a_bound() {
        let mut packets = Packets::default();
        (0..1000).for_each(|n| packets.send(ms(n), 70, 1, 100));
        assert_eq!((packets.packets.len(), packets.next()), (100, 1000));
    }
}
