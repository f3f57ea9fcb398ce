//! Accurate ECN feedback (RFC 9768): the field ACE, the counters of the AccECN option, and the number of CE packets that an ACK
//! reports.

/// Initial values of the counters of CE packets, of ECT bytes and of CE bytes (RFC 9768 section 3.2).
const INITIAL_PACKETS: u64 = 5;
const INITIAL_ECT_BYTES: u64 = 1;
const INITIAL_CE_BYTES: u64 = 0;
/// The bits of the field ACE and of a counter of bytes.
const ACE_MASK: u64 = 7;
const BYTES_MASK: u64 = 0xff_ffff;

/// The field ACE after `packets` CE packets.
pub(crate) fn ace(packets: u64) -> u8 {
    (packets.wrapping_add(INITIAL_PACKETS) & ACE_MASK) as u8
}

/// What an ACK newly acknowledges and reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// The field ACE.
    pub ace: u8,
    /// Segments that it newly reports as delivered.
    pub delivered: u32,
    /// The growth of the option's counter of CE bytes; `None` without the option.
    pub ce_bytes: Option<u64>,
}

/// New CE packets of an ACK after `known` ones, with segments of `mss` bytes (RFC 9768 section 3.2.2.5.2 and appendix A.2, as
/// in Linux). The field ACE repeats after eight packets: an ACK of more than seven can report `least`, or eight more, and so on
/// up to `greatest`. Without the option it counts as `greatest`. From sixteen segments on the bytes give the number of eights.
pub(crate) fn ce_packets(report: &Report, known: u64, mss: u32) -> u32 {
    let delivered = u64::from(report.delivered);
    let least = u64::from(report.ace).wrapping_sub(INITIAL_PACKETS).wrapping_sub(known) & ACE_MASK;
    if delivered <= ACE_MASK {
        return least as u32;
    }
    let greatest = delivered - (delivered.wrapping_sub(least) & ACE_MASK);
    let mss = u64::from(mss);
    let packets = match report.ce_bytes {
        None => greatest,
        Some(0) => least,
        Some(bytes) if delivered >= 2 * (ACE_MASK + 1) => {
            greatest.min(least + (bytes.div_ceil(mss) & !ACE_MASK))
        }
        Some(bytes) if bytes > least * mss => greatest,
        Some(bytes) if bytes < greatest * mss / 2 => least,
        Some(_) => greatest,
    };
    packets as u32
}

/// The growth of a counter of bytes from `before`, from its 24 bits in the option. That of an older ACK is negative.
fn growth(before: u64, field: u32, initial: u64) -> i64 {
    let growth = u64::from(field).wrapping_sub(initial).wrapping_sub(before) & BYTES_MASK;
    if growth > BYTES_MASK / 2 { growth as i64 - (BYTES_MASK as i64 + 1) } else { growth as i64 }
}

/// The counters of payload bytes by codepoint, without initial values: of the sender's ECT codepoint and of CE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByteCounters {
    pub ect: u64,
    pub ce: u64,
}

impl ByteCounters {
    /// The 24 bits of both in the option.
    pub fn fields(self) -> [u32; 2] {
        [self.ect + INITIAL_ECT_BYTES, self.ce + INITIAL_CE_BYTES].map(|bytes| (bytes & BYTES_MASK) as u32)
    }

    /// Takes the counters of an option. Returns the growth of the CE bytes; `None` of an older ACK.
    pub fn take(&mut self, ect: u32, ce: u32) -> Option<u64> {
        let ect = u64::try_from(growth(self.ect, ect, INITIAL_ECT_BYTES)).ok()?;
        let ce = u64::try_from(growth(self.ce, ce, INITIAL_CE_BYTES)).ok()?;
        (self.ect, self.ce) = (self.ect + ect, self.ce + ce);
        Some(ce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_counts_from_five() {
        assert_eq!([0, 1, 2, 3, 4].map(ace), [5, 6, 7, 0, 1]);
    }

    #[test]
    fn ce_packets_have_the_values_of_the_reference() {
        const MSS: u32 = 1448;
        let count = |field, known, delivered, ce_bytes| {
            ce_packets(&Report { ace: field, delivered, ce_bytes }, known, MSS)
        };
        assert_eq!(count(0, 0, 3, None), 3);
        assert_eq!(count(ace(9), 6, 7, None), 3);
        assert_eq!(count(ace(2), 0, 44, None), 42); // 2, 10, 18, 26, 34 or 42
        assert_eq!(count(ace(2), 0, 44, Some(2 * 1448)), 2);
        assert_eq!(count(ace(2), 0, 44, Some(42 * 1448)), 42);
        assert_eq!(count(ace(0), 0, 44, Some(0)), 0);
        // Between both the bytes of sixteen segments or more give the number.
        for marked in 0..=44 {
            assert_eq!(count(ace(100 + marked), 100, 44, Some(marked * 1448)) as u64, marked);
        }
        // Below sixteen it is one or the other.
        let fifteen = [0, 1, 8, 9, 15].map(|marked| count(ace(marked), 0, 15, Some(marked * 1448)));
        assert_eq!(fifteen, [0, 1, 8, 9, 15]);
        // More CE packets than segments acknowledged: copies.
        assert_eq!(count(ace(5), 0, 1, None), 5);
    }

    #[test]
    fn counters_of_24_bits_have_the_values_of_the_reference() {
        let counter = |before: u64, field| before.wrapping_add_signed(growth(before, field, 1));
        assert_eq!(counter(0xff_fffe, 5), 0x100_0004);
        assert_eq!(counter(100, 51), 50); // an older ACK
        let mut bytes = ByteCounters::default();
        assert_eq!(bytes.fields(), [1, 0]);
        assert_eq!(bytes.take(1449, 1448), Some(1448));
        assert_eq!(bytes.take(1449, 2896), Some(1448));
        assert_eq!(bytes.take(1, 0), None);
        assert_eq!((bytes.ect, bytes.ce), (1448, 2896));
    }
}
