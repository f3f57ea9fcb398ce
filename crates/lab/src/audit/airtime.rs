//! Airtimes of 802.11n, ac and ax for the auditor, in tenths of a microsecond, independent of the code of the channels.

use net::wifi::{Phy, Standard};
use units::Span;

const SIFS: u64 = 160;
/// Bits of a subcarrier times twelve, code rate included, by MCS.
const TWELFTHS: [u64; 12] = [6, 12, 18, 24, 36, 48, 54, 60, 72, 80, 90, 100];
/// The largest control rate by MCS, Mb/s: that of the same modulation and code at 20 MHz of 802.11a, of 6, 12 and 24.
const CONTROL: [u64; 12] = [6, 12, 12, 24, 24, 24, 24, 24, 24, 24, 24, 24];

/// The airtimes of the PPDUs of a link.
#[derive(Clone, Debug)]
pub struct Airtimes {
    standard: Standard,
    /// Twelfths of the bits of a symbol of an MCS with one bit a subcarrier.
    carriers: u64,
    guard: u64,
    streams: usize,
    control: u64,
    pub(super) window: u64,
    pub(super) longest: Span,
    /// Packets of an MPDU.
    amsdu: u32,
}

fn tenths(n: u64) -> Span {
    Span::from_ps(n * 100_000)
}

/// A frame of `bytes` bytes at a rate of 802.11a, Mb/s.
fn control_frame(mbps: u64, bytes: u64) -> u64 {
    200 + 40 * (22 + 8 * bytes).div_ceil(4 * mbps)
}

impl Airtimes {
    /// Those of a physical layer.
    pub fn new(phy: &Phy) -> Airtimes {
        let carriers = match (phy.standard, phy.width) {
            (Standard::N | Standard::Ac, 20) => 52,
            (Standard::N | Standard::Ac, 40) => 108,
            (Standard::Ac, 80) => 234,
            (Standard::Ac, _) => 468,
            (Standard::Ax, 20) => 234,
            (Standard::Ax, 40) => 468,
            (Standard::Ax, 80) => 980,
            _ => 1960,
        };
        Airtimes {
            standard: phy.standard,
            carriers: carriers * phy.streams as u64,
            guard: phy.guard.ps() / 100_000,
            streams: phy.streams as usize,
            control: phy.control as u64,
            window: phy.window as u64,
            longest: phy.longest,
            amsdu: phy.amsdu,
        }
    }

    /// The bytes of a PPDU with MPDUs of these bytes: without aggregation those of the MPDU.
    pub(super) fn bytes(&self, mpdus: impl Iterator<Item = u32>) -> u64 {
        let (mut padded, mut last) = (0, None);
        for mpdu in mpdus {
            padded += last.replace(mpdu as u64).map_or(0, |before: u64| 4 + before.div_ceil(4) * 4);
        }
        padded + last.unwrap_or(0) + if self.window > 1 { 4 } else { 0 }
    }

    /// Whether an MPDU may have so many packets in so many bytes: each has a header of 22 bytes beside the 30 of the MPDU.
    pub(super) fn permits(&self, packets: u32, bytes: u32) -> bool {
        let longest = if self.standard == Standard::N { 4095 } else { 11_454 };
        packets == 1 || packets <= self.amsdu && (30 + 23 * packets..=longest).contains(&bytes)
    }

    /// The largest number of bytes of a PPDU.
    pub(super) fn most_bytes(&self) -> u64 {
        match self.standard {
            Standard::N => 65_535,
            Standard::Ac => 1_048_575,
            Standard::Ax => 6_500_631,
        }
    }

    /// A PPDU of `bytes` bytes.
    pub(super) fn data(&self, mcs: u8, bytes: u64) -> Span {
        let fields = [1, 2, 4, 4, 6, 6, 8, 8][self.streams - 1];
        let bits = self.carriers * TWELFTHS[mcs as usize] / 12;
        let symbols = |tail: u64| (16 + 8 * bytes + tail).div_ceil(bits.max(1));
        let legacy = |preamble: u64| {
            let data = symbols(6) * (32 + self.guard);
            preamble + 40 * fields + if self.guard < 8 { data.div_ceil(40) * 40 } else { data }
        };
        tenths(match self.standard {
            Standard::N => legacy(320),
            Standard::Ac => legacy(360),
            Standard::Ax => {
                let field = [72, 80, 160][usize::from(self.guard > 8) + usize::from(self.guard > 16)];
                360 + field * fields + symbols(0) * (128 + self.guard)
            }
        })
    }

    fn control_rate(&self, mcs: u8) -> u64 {
        CONTROL[mcs as usize].min(self.control)
    }

    /// The space before an answer, and the answer: an ACK, or a block ACK.
    pub(super) fn answer(&self, mcs: u8) -> Span {
        let bytes = match self.window {
            1 => 14,
            ..=64 => 32,
            window => 24 + window / 8,
        };
        tenths(SIFS + control_frame(self.control_rate(mcs), bytes))
    }

    /// RTS, CTS and the spaces after them.
    pub(super) fn protection(&self, mcs: u8) -> Span {
        let rate = self.control_rate(mcs);
        tenths(control_frame(rate, 20) + control_frame(rate, 14) + 2 * SIFS)
    }
}

/// The space between PPDUs of one TXOP.
pub(super) const BETWEEN_PPDUS: Span = Span::from_ps(SIFS * 100_000);

/// By how much EIFS is longer than AIFS: a space, and an ACK at 6 Mb/s.
pub(super) fn after_a_failure() -> Span {
    tenths(SIFS + control_frame(6, 14))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the model: VHT 20 MHz MCS 7 with 1, 2, 28 packets of 1500 bytes, and HE 80 MHz 2x2 MCS 11 with 256.
    #[test]
    fn airtimes_of_the_standard() {
        let airtimes = |standard, width, streams| {
            Airtimes::new(&Phy::new(standard, width, streams, Span::from_ps(800_000)).unwrap())
        };
        let us = |airtimes: &Airtimes, mcs: u8, count: usize| {
            airtimes.data(mcs, airtimes.bytes(std::iter::repeat_n(1538, count))).ps() as f64 / 1e6
        };
        let vht = airtimes(Standard::Ac, 20, 1);
        assert_eq!([1, 2, 28].map(|count| us(&vht, 7, count)), [232.0, 424.0, 5364.0]);
        assert_eq!(us(&airtimes(Standard::Ax, 80, 2), 11, 256), 2688.8);
        assert_eq!(us(&airtimes(Standard::N, 20, 1), 0, 2), 3840.0);
    }
}
