//! The growth of the receive window in Linux (tcp_moderate_rcvbuf): while it grows, ACKs are not delayed.

use units::{Span, Time};

/// The window that a Linux receiver advertises, bytes. It limits no sender here; its growth decides which ACKs are
/// delayed. As recorded of Linux 6.18 (docs/specs/linux-sender.md section 11).
#[derive(Clone, Debug)]
pub(super) struct WindowGrowth {
    mss: u64,
    window: u64,
    /// What the last ACK advertised. It never takes back what an earlier one permitted.
    advertised: u64,
    /// The window that the socket's buffer permits, and the largest one.
    limit: u64,
    most: u64,
    /// The most bytes that arrived within a round trip.
    bytes: u64,
    /// When the present round trip began, and its first segment.
    since: Time,
    first: u32,
    /// The round-trip time.
    rtt: Option<Span>,
    /// The newest ACK that data has echoed, in ticks of the timestamps.
    echoed: Option<Time>,
    /// When the window began that is being timed, and the segment at which it ends.
    window_at: Time,
    window_end: u32,
}

/// What has arrived beyond a segment in order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beyond {
    /// Segments beyond it, and how many of them follow it without a gap.
    pub(super) queued: u32,
    pub(super) filled: u32,
    /// One past the last segment that has arrived.
    pub(super) highest: u32,
}

impl WindowGrowth {
    /// Segments of the first round trip that do not raise the limit.
    const INITIAL: u64 = 10;
    /// The unit of the window in ACKs.
    const UNIT: u64 = 1024;
    /// The largest window after the handshake.
    const WINDOW: u64 = 65_535;
    /// The buffer at the start, and the largest one (tcp_rmem).
    const BUFFERS: [u64; 2] = [131_072, 32 << 20];

    /// The windows before the first of segments of `mss` bytes.
    pub(super) fn new(mss: u32) -> WindowGrowth {
        let mss = mss as u64;
        // A segment occupies a power of two, or pages, with its headers, and the kernel's description of it.
        let size = mss + 438;
        let memory = 256 + if size > 8192 { size.next_multiple_of(4096) } else { size.next_power_of_two() };
        let share = (256 * mss / memory).max(1);
        let [limit, most] = WindowGrowth::BUFFERS.map(|buffer| buffer * share / 256);
        let advertised = WindowGrowth::WINDOW / mss * mss;
        WindowGrowth {
            mss,
            window: advertised.min(limit),
            advertised,
            limit,
            most,
            bytes: 0,
            since: Time::ZERO,
            first: 0,
            rtt: None,
            echoed: None,
            window_at: Time::ZERO,
            window_end: 0,
        }
    }

    /// Half the segments of the window, but 2 if there are none.
    pub(super) fn quick_acks(&self) -> u32 {
        match self.advertised / (2 * self.mss) {
            0 => 2,
            acks => acks.min(u32::MAX as u64) as u32,
        }
    }

    /// The round-trip time, once it is known.
    pub(super) fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// Data arrives at `now` and echoes the ACK of `echo`; `quantum` is the tick of the timestamps. Each tick is one sample.
    pub(super) fn echoed(&mut self, now: Time, echo: Time, quantum: Span) {
        if self.echoed.is_some_and(|tick| tick <= echo && echo < tick + quantum) {
            return;
        }
        let tick = |at: Time| Time::from_ps(at.ps() - at.ps().checked_rem(quantum.ps()).unwrap_or(0));
        self.echoed = Some(tick(echo));
        let sample = tick(now).since(tick(echo));
        if sample == Span::ZERO {
            return;
        }
        self.rtt = Some(match self.rtt {
            Some(rtt) if rtt <= sample => Span::from_ps(rtt.ps() - rtt.ps() / 8 + sample.ps() / 8),
            _ => sample,
        });
    }

    /// The segment before `next` arrived in order at `now`. Returns whether the window grows.
    pub(super) fn arrived(&mut self, now: Time, next: u32, beyond: Beyond) -> bool {
        if self.bytes == 0 {
            let room = 65_536_u64.saturating_sub(self.mss).max(2 * self.mss);
            let bytes = (WindowGrowth::INITIAL * self.mss).min(room);
            (self.bytes, self.since, self.first) = (bytes, now, next - 1);
        }
        self.measure(now, next);
        let grows = self.grow(1 + beyond.queued as u64);
        if self.rtt.is_some_and(|rtt| now.since(self.since) >= rtt) {
            // The application reads the first segment; what follows it counts for the next round trip.
            let bytes = ((next - self.first).saturating_sub(beyond.filled) as u64 * self.mss).min(self.most);
            if bytes > self.bytes {
                // Twice what arrived, and room for a sender that goes on growing as it did.
                let twice = 2 * bytes;
                self.raise_limit(twice + 2 * twice * (bytes - self.bytes) / self.bytes, next, beyond.highest);
                self.bytes = bytes;
            }
            (self.since, self.first) = (now, next);
        }
        grows
    }

    /// A segment arrived beyond segment `next`, the last of `queued` ones that are; `None`: it does not raise the window. Returns
    /// whether the window grows.
    pub(super) fn arrived_beyond(&mut self, next: u32, highest: u32, queued: Option<u32>) -> bool {
        let grows = queued.is_some_and(|queued| self.grow(queued as u64 - 1));
        self.raise_limit(2 * self.bytes, next, highest);
        grows
    }

    /// The window to advertise while `held` segments are in the buffer: out of order, or not read yet.
    fn selected(&self, held: u32) -> u64 {
        let room = self.limit.saturating_sub(held as u64 * self.mss);
        room.min(self.window).next_multiple_of(WindowGrowth::UNIT)
    }

    /// Whether an ACK would advertise less than the last one, with `held` segments in the buffer.
    pub(super) fn shrinks(&self, held: u32) -> bool {
        self.selected(held) < self.advertised
    }

    /// An ACK is sent that acknowledges `segments` more than the last one.
    pub(super) fn advertise(&mut self, segments: u32, held: u32) {
        let permitted = self.advertised.saturating_sub(segments as u64 * self.mss);
        self.advertised = self.selected(held).max(permitted.next_multiple_of(WindowGrowth::UNIT));
    }

    /// The window grows by two segments, up to what the buffer permits beside `queued` segments. Returns whether it grows.
    fn grow(&mut self, queued: u64) -> bool {
        let room = self.limit.saturating_sub(queued * self.mss).saturating_sub(self.window);
        self.window += room.min(2 * self.mss);
        room > 0
    }

    /// Raises the limit to `window` and the segments beyond `next`.
    fn raise_limit(&mut self, window: u64, next: u32, highest: u32) {
        let beyond = highest.saturating_sub(next) as u64 * self.mss;
        self.limit = self.limit.max((window + beyond).min(self.most));
    }

    /// Measures the time in which a window arrives: the round-trip time is no longer.
    fn measure(&mut self, now: Time, next: u32) {
        if self.window_at != Time::ZERO {
            if next < self.window_end {
                return;
            }
            let sample = now.since(self.window_at);
            self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt.min(sample)));
        }
        (self.window_at, self.window_end) = (now, next + (self.window / self.mss) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(answers: impl Iterator<Item = bool>) -> Vec<(bool, u32)> {
        let mut runs: Vec<(bool, u32)> = Vec::new();
        for answer in answers {
            match runs.last_mut() {
                Some((last, count)) if *last == answer => *count += 1,
                _ => runs.push((answer, 1)),
            }
        }
        runs
    }

    /// Which of the segments that arrive in a slow start of a Linux sender raise the window, as runs of equal answers: at
    /// 10 Mb/s a segment takes 1.2 ms; a round trip takes 41.2 ms.
    #[test]
    fn the_window_grows_as_was_recorded() {
        let mut growth = WindowGrowth::new(1448);
        let rtt = Span::from_ps(41_200_000_000);
        let mut next = 1;
        let arrivals = [10, 20, 40].into_iter().enumerate().flat_map(|(round, segments)| {
            (0..segments).map(move |segment| {
                Time::ZERO + rtt * (round as u64 + 1) + Span::from_ps(1_200_000_000) * segment
            })
        });
        let answers = arrivals.map(|now| {
            next += 1;
            growth.echoed(now, Time::ZERO + now.since(Time::ZERO + rtt), Span::ZERO);
            growth.arrived(now, next, Beyond::default())
        });
        // The kernel: 6 segments, none of 25, 25 of the next 26.
        assert_eq!(runs(answers)[..3], [(true, 6), (false, 25), (true, 25)]);
    }

    #[test]
    fn the_round_trip_time_falls_at_once_and_rises_slowly() {
        let mut growth = WindowGrowth::new(1448);
        let at = |ms: u64| Time::ZERO + Span::from_ms(ms);
        let mut sample = |now, echo| {
            growth.echoed(at(now), at(echo), Span::from_ms(1));
            growth.rtt().map(|rtt| rtt.ps() / 1_000_000_000)
        };
        assert_eq!(sample(40, 40), None); // less than a tick
        assert_eq!(sample(100, 60), Some(40));
        assert_eq!(sample(190, 60), Some(40)); // the same echo
        assert_eq!(sample(200, 80), Some(50));
        assert_eq!(sample(230, 210), Some(20));
    }

    #[test]
    fn without_timestamps_the_limit_waits_for_a_window_of_data() {
        let mut growth = WindowGrowth::new(1460);
        let mut next = 1;
        let answers = (0..60).map(|number| {
            next += 1;
            growth.arrived(Time::ZERO + Span::from_ps(60_000_000) * (number + 1), next, Beyond::default())
        });
        // The kernel: 6 segments at the start; the limit rises with the 44th after the first.
        assert_eq!(runs(answers)[..2], [(true, 6), (false, 39)]);
        assert_eq!(growth.rtt, Some(Span::from_ps(60_000_000) * 44));
    }

    #[test]
    fn segments_out_of_order_raise_the_limit_and_occupy_the_buffer() {
        let mut growth = WindowGrowth::new(1448);
        for seq in 1..7 {
            assert!(growth.arrived(Time::ZERO + Span::from_ms(1), seq + 1, Beyond::default()));
        }
        assert_eq!((growth.window, growth.limit), (80_472, 81_920));
        assert!(growth.arrived_beyond(7, 9, Some(1)));
        assert!(!growth.arrived_beyond(7, 10, Some(2)));
        growth.arrived_beyond(7, 7 + 50, None);
        assert_eq!(growth.limit, (20 + 50) * 1448);
    }

    #[test]
    fn the_window_stops_at_the_largest_buffer() {
        let mut growth = WindowGrowth::new(1448);
        let mut next = 1;
        for round in 1..8u64 {
            let now = Time::ZERO + Span::from_ms(100) * round;
            for _ in 0..10 * 4u32.pow(round as u32) {
                next += 1;
                growth.echoed(now, Time::ZERO + now.since(Time::ZERO + Span::from_ms(100)), Span::from_ms(1));
                growth.arrived(now, next, Beyond::default());
            }
        }
        assert_eq!(growth.limit, growth.most);
    }

    #[test]
    fn the_quick_acks_are_half_the_window() {
        assert_eq!([1448, 8948, 65_000].map(|mss| WindowGrowth::new(mss).quick_acks()), [22, 3, 2]);
    }
}
