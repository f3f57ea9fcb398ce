//! The growth of the receive window in Linux (tcp_moderate_rcvbuf): while it grows, no ACK is delayed.

use units::{Span, Time};

/// The window that a Linux receiver advertises, bytes. It limits no sender here; its growth decides which ACKs are
/// delayed. Measured on Linux 6.18 (docs/specs/linux-sender.md section 11).
#[derive(Clone, Debug)]
pub(super) struct WindowGrowth {
    window: u64,
    /// The window that the socket's buffer permits.
    limit: u64,
    /// The most bytes that arrived within a round trip.
    most: u64,
    /// When the present round trip began, and its first segment.
    since: Time,
    first: u32,
}

impl Default for WindowGrowth {
    /// The windows of a buffer of 131,072 bytes: after the handshake, and after the first full segments.
    fn default() -> WindowGrowth {
        WindowGrowth { window: 65_160, limit: 80_896, most: 0, since: Time::ZERO, first: 0 }
    }
}

impl WindowGrowth {
    /// Segments of the first round trip that do not raise the limit.
    const INITIAL: u64 = 10;
    /// The window that a buffer of 32 MiB permits, the largest by default (tcp_rmem).
    const MOST: u64 = 80_896 * 256;

    /// A segment of `mss` bytes arrived in order at `now`; `next` is expected next. Returns whether the window grows: by two
    /// segments for each one, up to the limit.
    pub(super) fn arrived(&mut self, now: Time, next: u32, mss: u32, rtt: Option<Span>) -> bool {
        let mss = mss as u64;
        if self.most == 0 {
            (self.most, self.since, self.first) = (WindowGrowth::INITIAL * mss, now, next - 1);
        }
        let grows = self.window < self.limit;
        self.window += 2 * mss * grows as u64;
        if rtt.is_some_and(|rtt| now.since(self.since) >= rtt) {
            let bytes = ((next - self.first) as u64 * mss).min(WindowGrowth::MOST);
            if bytes > self.most {
                // Twice what arrived, and room for a sender that goes on growing as it did.
                let twice = 2 * bytes;
                let limit = twice + 2 * twice * (bytes - self.most) / self.most;
                self.limit = self.limit.max(limit).min(WindowGrowth::MOST);
                self.most = bytes;
            }
            (self.since, self.first) = (now, next);
        }
        grows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the segments that arrive in a slow start of a Linux sender raise the window, as runs of equal answers: at
    /// 10 Mb/s a segment takes 1.2 ms; a round trip takes 41.2 ms.
    #[test]
    fn the_window_grows_as_was_measured() {
        let mut growth = WindowGrowth::default();
        let rtt = Span::from_ps(41_200_000_000);
        let (mut next, mut runs) = (1, Vec::new());
        for (round, segments) in [10, 20, 40].into_iter().enumerate() {
            for segment in 0..segments {
                next += 1;
                let now = Time::ZERO + rtt * (round as u64 + 1) + Span::from_ps(1_200_000_000) * segment;
                let grows = growth.arrived(now, next, 1448, Some(rtt));
                match runs.last_mut() {
                    Some((last, count)) if *last == grows => *count += 1,
                    _ => runs.push((grows, 1)),
                }
            }
        }
        // The kernel: 6 segments, none of 25, 25 of the next 26.
        assert_eq!(runs[..3], [(true, 6), (false, 25), (true, 25)]);
    }

    #[test]
    fn the_window_stops_at_the_largest_buffer() {
        let mut growth = WindowGrowth::default();
        let rtt = Span::from_ps(1_000_000_000_000);
        let mut next = 1;
        let grew = (0..100_000).filter(|number| {
            next += 1;
            growth.arrived(Time::ZERO + Span::from_ps(100_000_000) * *number, next, 65_000, Some(rtt))
        });
        assert!(grew.count() < 1000);
        assert_eq!(growth.limit, WindowGrowth::MOST);
    }
}
