//! Airtimes of 802.11n, ac and ax (IEEE 802.11-2020, 802.11ax). All times are whole picoseconds.

use params::named_values;
use units::Span;

const fn us(tenths: u64) -> Span {
    Span::from_ps(tenths * 100_000)
}

/// Slot of the 5 GHz band.
pub const SLOT: Span = us(90);
/// Short interframe space of the 5 GHz band.
pub const SIFS: Span = us(160);

/// Bytes of control frames, and what a packet has beside its own bytes.
const ACK: u32 = 14;
const RTS: u32 = 20;
const CTS: u32 = 14;
const BLOCK_ACK_REQUEST: u32 = 24;
const LLC: u32 = 8;
/// LLC, MAC header, FCS.
const MPDU_OVERHEAD: u32 = LLC + 26 + 4;
/// Of a packet in an A-MSDU: two addresses and a length, and LLC.
const AMSDU_OVERHEAD: u32 = 14 + LLC;
const DELIMITER: u32 = 4;

/// Bits of a subcarrier, and code rate, by MCS.
const MCS: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

named_values! {
    /// A generation of the standard.
    Standard {
        /// 802.11n, high throughput.
        N = "n",
        /// 802.11ac, very high throughput.
        Ac = "ac",
        /// 802.11ax, high efficiency.
        Ax = "ax",
    }
}

impl Standard {
    /// The highest MCS of a stream.
    pub const fn highest_mcs(self) -> u8 {
        match self {
            Standard::N => 7,
            Standard::Ac => 9,
            Standard::Ax => 11,
        }
    }

    /// Data subcarriers at a width in MHz.
    const fn carriers(self, width: u32) -> Option<u32> {
        match (self, width) {
            (Standard::N | Standard::Ac, 20) => Some(52),
            (Standard::N | Standard::Ac, 40) => Some(108),
            (Standard::Ac, 80) | (Standard::Ax, 20) => Some(234),
            (Standard::Ac, 160) | (Standard::Ax, 40) => Some(468),
            (Standard::Ax, 80) => Some(980),
            (Standard::Ax, 160) => Some(1960),
            _ => None,
        }
    }

    /// Guard intervals, in tenths of a microsecond.
    pub const fn guards(self) -> &'static [u64] {
        if matches!(self, Standard::Ax) { &[8, 16, 32] } else { &[4, 8] }
    }

    /// Largest number of bytes of an MPDU in an A-MPDU.
    const fn longest_mpdu(self) -> u32 {
        if matches!(self, Standard::N) { 4095 } else { 11_454 }
    }

    /// Largest number of bytes of an A-MPDU.
    const fn longest_ampdu(self) -> u32 {
        match self {
            Standard::N => 65_535,
            Standard::Ac => 1_048_575,
            Standard::Ax => 6_500_631,
        }
    }
}

/// The physical layer of a basic service set: what an airtime depends on besides MCS and size.
#[derive(Clone, Debug, PartialEq)]
pub struct Phy {
    /// The generation.
    pub standard: Standard,
    /// Width, MHz.
    pub width: u32,
    /// Spatial streams, 1 to 8.
    pub streams: u32,
    /// Guard interval.
    pub guard: Span,
    /// Largest rate of control frames, Mb/s: 6, 12 or 24.
    pub control: u32,
    /// Block ACK window; 1: no aggregation.
    pub window: u32,
    /// Packets that share an MPDU (A-MSDU); 1: each has its own.
    pub amsdu: u32,
    /// Bytes of encryption of an MPDU.
    pub security: u32,
    /// Longest PPDU.
    pub longest: Span,
    /// Data bits of a symbol by MCS; 0 if there is no such rate.
    bits: [u32; 12],
}

impl Phy {
    /// Fails if the standard has no such width or no rate at it.
    pub fn new(standard: Standard, width: u32, streams: u32, guard: Span) -> Result<Phy, String> {
        let Some(carriers) = standard.carriers(width) else {
            return Err(format!("802.11{} has no width of {width} MHz", standard.name()));
        };
        let mut bits = [0; 12];
        for (mcs, (of_carrier, above, below)) in MCS.iter().enumerate() {
            let whole = carriers * of_carrier * streams * above;
            let exists = mcs <= standard.highest_mcs() as usize
                && (standard != Standard::Ac
                    || whole.is_multiple_of(*below) && !excluded(width, streams, mcs));
            bits[mcs] = if exists { whole / below } else { 0 };
        }
        let window = if standard == Standard::Ax { 256 } else { 64 };
        Ok(Phy {
            standard,
            width,
            streams,
            guard,
            control: 24,
            window,
            amsdu: 1,
            security: 0,
            longest: us(54_840),
            bits,
        })
    }

    /// The same with another number of streams.
    pub fn with_streams(&self, streams: u32) -> Phy {
        let other = Phy::new(self.standard, self.width, streams, self.guard);
        let bits = other.map_or(self.bits, |phy| phy.bits);
        Phy { streams, bits, ..self.clone() }
    }

    /// Data bits of a symbol; none if the standard has no such rate.
    pub fn bits(&self, mcs: u8) -> Option<u32> {
        self.bits.get(mcs as usize).copied().filter(|bits| *bits > 0)
    }

    /// The MCS that exist.
    pub fn rates(&self) -> impl Iterator<Item = u8> + '_ {
        (0..12).filter(|mcs| self.bits(*mcs).is_some())
    }

    /// Bits a second of an MCS.
    pub fn rate_bps(&self, mcs: u8) -> f64 {
        self.bits[mcs as usize] as f64 / self.symbol().seconds()
    }

    /// A symbol with its guard interval.
    fn symbol(&self) -> Span {
        self.guard + if self.standard == Standard::Ax { us(128) } else { us(32) }
    }

    /// The preamble of a data PPDU.
    pub fn preamble(&self) -> Span {
        let fields = [1, 2, 4, 4, 6, 6, 8, 8][self.streams as usize - 1];
        match self.standard {
            Standard::N => us(320 + 40 * fields),
            Standard::Ac => us(360 + 40 * fields),
            Standard::Ax => {
                let training = match self.guard {
                    guard if guard == us(8) => 72,
                    guard if guard == us(16) => 80,
                    _ => 160,
                };
                us(360 + training * fields)
            }
        }
    }

    /// Duration of a data PPDU of `bytes` bytes, delimiters and padding included.
    #[inline]
    pub fn ppdu(&self, mcs: u8, bytes: u32) -> Span {
        // A convolutional code has six tail bits, LDPC none.
        let tail = if self.standard == Standard::Ax { 0 } else { 6 };
        let symbols = (16 + 8 * bytes as u64 + tail).div_ceil(self.bits[mcs as usize].max(1) as u64);
        let mut data = symbols * self.symbol().ps();
        if self.guard == us(4) {
            data = data.next_multiple_of(us(40).ps());
        }
        self.preamble() + Span::from_ps(data)
    }

    /// Largest number of bytes of a PPDU.
    pub fn longest_ampdu(&self) -> u32 {
        self.standard.longest_ampdu()
    }

    /// Bytes of the MPDU of a packet.
    pub fn mpdu(&self, packet: u32) -> u32 {
        packet + MPDU_OVERHEAD + self.security
    }

    /// Bytes of the MPDU of an A-MSDU whose packets have so many bytes, see `amsdu`.
    pub fn amsdu_mpdu(&self, packets: u32) -> u32 {
        self.mpdu(packets) - LLC
    }

    /// Largest number of bytes of an MPDU.
    pub fn longest_mpdu(&self) -> u32 {
        self.standard.longest_mpdu()
    }

    /// Rate of the answer to a PPDU of this MCS, Mb/s.
    fn reply_rate(&self, mcs: u8) -> u32 {
        let (bits, above, below) = MCS[mcs as usize];
        // The non-HT rate of the same modulation and code; above 64-QAM the highest one.
        let reference = [6, 12, 0, 24, 0, 48]
            .get(bits as usize - 1)
            .map_or(54, |base| (base * 2 * above / below).min(54));
        [24, 12, 6].into_iter().find(|rate| *rate <= reference.min(self.control)).unwrap_or(6)
    }

    /// Duration of the answer to a PPDU: a block ACK, or an ACK without aggregation.
    pub fn answer(&self, mcs: u8) -> Span {
        let bitmap = if self.window <= 64 { 8 } else { self.window / 8 };
        legacy(self.reply_rate(mcs), if self.window == 1 { ACK } else { 24 + bitmap })
    }

    /// Duration of RTS and CTS with the two spaces after them, and of the RTS alone.
    pub fn protection(&self, mcs: u8) -> (Span, Span) {
        let rate = self.reply_rate(mcs);
        let rts = legacy(rate, RTS);
        (rts + SIFS + legacy(rate, CTS) + SIFS, rts)
    }

    /// Duration of a block ACK request.
    pub fn request(&self, mcs: u8) -> Span {
        legacy(self.reply_rate(mcs), BLOCK_ACK_REQUEST)
    }
}

/// VHT combinations that the standard leaves out besides those without whole bits.
fn excluded(width: u32, streams: u32, mcs: usize) -> bool {
    matches!((width, streams, mcs), (80, 3 | 7, 6) | (80, 6, 9) | (160, 3, 9))
}

/// Duration of a non-HT frame.
pub fn legacy(mbps: u32, bytes: u32) -> Span {
    us(200 + 40 * (16 + 8 * bytes as u64 + 6).div_ceil(4 * mbps as u64))
}

/// What a collision adds to AIFS: SIFS and an ACK at 6 Mb/s.
pub fn eifs_without_aifs() -> Span {
    SIFS + legacy(6, ACK)
}

/// Bytes of the packets of an A-MSDU of `before` bytes with one more, which is the last one and has no padding: addresses,
/// length and LLC before each.
pub fn amsdu(before: u32, packet: u32) -> u32 {
    before.next_multiple_of(4) + AMSDU_OVERHEAD + packet
}

/// Bytes of an A-MPDU of `before` bytes with one more MPDU, which is the last one and has no padding.
pub fn appended(before: u32, mpdu: u32) -> u32 {
    before.next_multiple_of(4) + DELIMITER + mpdu
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phy(standard: Standard, width: u32, streams: u32, guard: u64) -> Phy {
        Phy::new(standard, width, streams, us(guard)).unwrap()
    }

    fn ampdu(packet: u32, count: u32) -> u32 {
        (0..count).fold(0, |bytes, _| appended(bytes, packet + MPDU_OVERHEAD))
    }

    fn micros(span: Span) -> f64 {
        span.ps() as f64 / 1e6
    }

    #[test]
    fn rates_of_the_standard() {
        let ht = phy(Standard::N, 20, 1, 8);
        let rates: Vec<f64> = ht.rates().map(|mcs| ht.rate_bps(mcs) / 1e6).collect();
        assert_eq!(rates, [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0]);
        let near =
            |phy: Phy, mcs: u8, mbps: f64| assert!((phy.rate_bps(mcs) / 1e6 - mbps).abs() < 0.05, "{mbps}");
        near(phy(Standard::N, 20, 2, 4), 7, 144.4);
        near(phy(Standard::Ac, 80, 2, 4), 9, 866.67);
        near(phy(Standard::Ax, 80, 2, 8), 11, 1200.96);
        near(phy(Standard::Ax, 160, 2, 8), 11, 2401.91);
        near(phy(Standard::Ax, 20, 1, 8), 11, 143.38);
        assert_eq!(phy(Standard::Ac, 20, 1, 8).bits(9), None, "no whole number of bits");
        assert!(phy(Standard::Ac, 20, 3, 8).bits(9).is_some());
        assert_eq!((phy(Standard::Ac, 80, 3, 8).bits(6), phy(Standard::Ac, 160, 3, 8).bits(9)), (None, None));
        assert!(Phy::new(Standard::N, 80, 1, us(8)).is_err());
    }

    #[test]
    fn preambles_and_control_frames() {
        let of = |standard| [1, 2, 3, 4].map(|streams| micros(phy(standard, 20, streams, 8).preamble()));
        assert_eq!(of(Standard::N), [36.0, 40.0, 48.0, 48.0]);
        assert_eq!(of(Standard::Ac), [40.0, 44.0, 52.0, 52.0]);
        assert_eq!(of(Standard::Ax), [43.2, 50.4, 64.8, 64.8]);
        for (mbps, times) in
            [(6, [44.0, 52.0, 68.0, 100.0]), (12, [32.0, 36.0, 44.0, 60.0]), (24, [28.0, 28.0, 32.0, 40.0])]
        {
            assert_eq!([14, 20, 32, 56].map(|bytes| micros(legacy(mbps, bytes))), times);
        }
    }

    #[test]
    fn durations_of_data() {
        let vht = phy(Standard::Ac, 20, 1, 8);
        let of = |phy: &Phy, mcs: u8, count: u32| micros(phy.ppdu(mcs, ampdu(1500, count)));
        assert_eq!([1, 2, 28].map(|count| of(&vht, 7, count)), [232.0, 424.0, 5364.0]);
        let ht = phy(Standard::N, 20, 1, 8);
        assert_eq!((of(&ht, 0, 2), of(&ht, 7, 28)), (3840.0, 5360.0));
        assert_eq!(of(&phy(Standard::Ax, 80, 2, 8), 11, 256), 2688.8);
        assert_eq!(of(&phy(Standard::Ac, 80, 2, 4), 9, 64), 960.0);
    }
}
