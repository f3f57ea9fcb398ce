//! The ideal time of a transfer: that over a path without other traffic, with all data ready, without a handshake and without a
//! window. Completion time over ideal time is the slowdown.

use units::{Rate, Span};

/// The time from the first bit of `bytes` bytes of data to the end of the ACK of the last byte at the sender.
///
/// `mss` is the data of a full segment, `header` what each segment has besides, `ack` the size of an ACK, bytes; `links` and
/// `back` have rate and propagation delay of each link of the path and of that of the ACK.
pub fn ideal_time(
    bytes: u64,
    mss: u64,
    header: u64,
    ack: u64,
    links: &[(Rate, Span)],
    back: &[(Rate, Span)],
) -> Span {
    let of_ack = back.iter().map(|(rate, delay)| rate.time_for(ack) + *delay);
    of_ack.fold(ideal_delivery_time(bytes, mss, header, links), |sum, time| sum + time)
}

/// The time from the first bit of `bytes` bytes of data to the arrival of the last byte at the receiver; as [`ideal_time`].
///
/// Each link transmits one segment at a time, to the nearest picosecond as [`Rate::time_for`]. All segments are full but the
/// last, so the time is that of the first segment on every link and of the others on the slowest link, where the last segment, if
/// it is short, takes its own time on the links behind. Nothing can be faster.
pub fn ideal_delivery_time(bytes: u64, mss: u64, header: u64, links: &[(Rate, Span)]) -> Span {
    let segments = bytes.div_ceil(mss.max(1)).max(1);
    let (full, last) = (mss + header, bytes - (segments - 1) * mss + header);
    let (mut first_done, mut slowest, mut last_done) = (Span::ZERO, Span::ZERO, Span::ZERO);
    for (rate, delay) in links {
        let time = rate.time_for(full);
        slowest = slowest.max(time);
        first_done = first_done + time + *delay;
        // The last full segment leaves the link one transmission on the slowest link after the one before it.
        let free = match segments {
            1 => Span::ZERO,
            _ => first_done + slowest * (segments - 2) - *delay,
        };
        last_done = last_done.max(free) + rate.time_for(last) + *delay;
    }
    last_done
}

/// The empty path of a flow, there and back.
#[derive(Clone, Debug)]
pub struct IdealPath {
    /// Data of a full segment, bytes.
    pub mss: u64,
    /// What a packet of data or a request has besides, bytes.
    pub header: u64,
    /// Size of an ACK, bytes.
    pub ack: u64,
    /// Rate and propagation delay of each link.
    pub links: Vec<(Rate, Span)>,
    /// The same of the way back.
    pub back: Vec<(Rate, Span)>,
}

impl IdealPath {
    /// The ideal time of a transfer of `bytes` bytes, to the ACK of the last one.
    pub fn transfer(&self, bytes: u64) -> Span {
        ideal_time(bytes, self.mss, self.header, self.ack, &self.links, &self.back)
    }

    /// The ideal time of a message of `bytes` bytes to its last byte at the receiver, from the beginning of a request with
    /// `request` bytes of payload if there is one.
    pub fn message(&self, bytes: u64, request: Option<u32>) -> Span {
        let way = |sum: Span, (rate, delay): &(Rate, Span), size| sum + rate.time_for(size) + *delay;
        let asked = request.map_or(Span::ZERO, |payload| {
            let size = u64::from(payload) + self.header;
            self.back.iter().fold(Span::ZERO, |sum, link| way(sum, link, size))
        });
        asked + ideal_delivery_time(bytes, self.mss, self.header, &self.links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MBPS: u64 = 1_000_000;

    fn link(bps: u64, delay_us: u64) -> (Rate, Span) {
        (Rate::from_bps(bps), Span::from_us(delay_us))
    }

    fn both_ways(bytes: u64, links: &[(Rate, Span)]) -> u64 {
        ideal_time(bytes, 1448, 52, 52, links, links).ps()
    }

    /// Calculated by hand: first segment, other segments, ACK, and twice the delay.
    #[test]
    fn times_of_paths() {
        assert_eq!(both_ways(14_480, &[link(10 * MBPS, 20_000)]), 52_041_600_000);
        assert_eq!(both_ways(1_000_000, &[link(1000 * MBPS, 50)]), 8_387_872_000);
        let two = [link(10 * MBPS, 20_000), link(100 * MBPS, 1_000)];
        assert_eq!(both_ways(300, &two), 42_355_520_000);
        // To the receiver: 0.2816 ms and 0.02816 ms of the segment, 21 ms of delay.
        assert_eq!(ideal_delivery_time(300, 1448, 52, &two).ps(), 21_309_760_000);
        // Two segments: 1.2 and 0.1216 ms on the first link, then 0.01216 ms of the short one on the second.
        assert_eq!(ideal_delivery_time(1548, 1448, 52, &two).ps(), 22_333_760_000);
        // The narrow link is the second: 0.12 and 1.2 ms, then 0.1216 ms.
        assert_eq!(ideal_delivery_time(1548, 1448, 52, &[two[1], two[0]]).ps(), 22_441_600_000);
        // Each byte takes 2,666,666,666,666.67 ps, rounded to the nearest picosecond.
        assert_eq!(ideal_delivery_time(3, 1, 0, &[link(3, 0)]).ps(), 3 * 2_666_666_666_667);
        assert_eq!(ideal_delivery_time(0, 1448, 52, &[link(MBPS, 0)]).ps(), 416_000_000);
        assert_eq!(ideal_delivery_time(1, 1448, 52, &[link(0, 0)]).ps(), u64::MAX);
        assert_eq!(ideal_delivery_time(1, 1448, 52, &[]), Span::ZERO);
    }

    /// When the last segment arrives, segment by segment and link by link.
    fn by_segment(bytes: u64, mss: u64, header: u64, links: &[(Rate, Span)]) -> Span {
        let mut free = vec![Span::ZERO; links.len()];
        let (mut left, mut arrived) = (bytes, Span::ZERO);
        while left > 0 {
            let data = left.min(mss);
            left -= data;
            arrived = Span::ZERO;
            for (free, (rate, delay)) in free.iter_mut().zip(links) {
                *free = arrived.max(*free) + rate.time_for(data + header);
                arrived = *free + *delay;
            }
        }
        arrived
    }

    proptest! {
        #[test]
        fn the_time_is_that_of_a_pipeline(
            bytes in 1u64..100_000,
            mss in 1u64..3_000,
            header in 0u64..60,
            rates in prop::collection::vec((1_000u64..1_000_000_000, 0u64..1_000_000), 1..6),
        ) {
            let links: Vec<_> = rates.into_iter().map(|(bps, us)| link(bps, us)).collect();
            let expected = by_segment(bytes, mss, header, &links);
            prop_assert_eq!(ideal_delivery_time(bytes, mss, header, &links), expected);
        }
    }
}
