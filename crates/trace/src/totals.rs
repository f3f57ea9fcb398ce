//! Counts of one direction of a connection.

use crate::reasons::Reason;

/// Counts of one direction.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Segments with data.
    pub data: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets on the wire: a super-segment counts as its segments.
    pub packets: u64,
    /// Packets sent again.
    pub again: u64,
    /// Their bytes.
    pub again_bytes: u64,
    /// Captured segments that repeat data.
    pub again_segments: u64,
    /// Packets sent again, by reason.
    pub reasons: [u64; Reason::ALL.len()],
    /// First transmissions that came below the highest byte.
    pub out_of_order: u64,
    /// D-SACK blocks.
    pub dsack: u64,
    /// Retransmissions that a D-SACK or a timestamp proved needless.
    pub needless: u64,
    /// ACKs of this direction's data.
    pub acks: u64,
    /// ACKs with a window of zero.
    pub zero_windows: u64,
    /// Packets with CE.
    pub ce: u64,
    /// ACKs that report marks.
    pub ece: u64,
    /// Packets with CWR.
    pub cwr: u64,
    /// Packets that can carry marks.
    pub ect: u64,
    /// Bytes acknowledged that the capture never saw.
    pub unseen: u64,
    /// Bytes delivered.
    pub delivered: u64,
    /// The longest segment, bytes.
    pub longest: u32,
    /// Segments longer than the MSS.
    pub super_segments: u64,
    /// Full segments that one ACK reports, summed, and such ACKs.
    pub ack_segments: [u64; 2],
    /// Reductions of what is in flight.
    pub reductions: u64,
    /// The first and the last segment with data.
    pub first: u64,
    /// See `first`.
    pub last: u64,
    /// The last ACK that delivered data.
    pub last_delivery: u64,
    /// Lowest round-trip time of segments sent once, ns; zero: none.
    pub min_rtt: u64,
    /// Round-trip times: their number and their sum, ns.
    pub rtts: [u64; 2],
    /// The largest number of bytes in flight.
    pub largest_flight: u64,
    /// Largest window of the receiver.
    pub largest_window: u64,
    /// SYNs and FINs sent again.
    pub handshake_again: u64,
    /// Why the direction was not analysed further.
    pub given_up: Option<&'static str>,
}

impl Totals {
    /// The mean round-trip time, ns; zero without a sample.
    pub fn mean_rtt(&self) -> u64 {
        self.rtts[1].checked_div(self.rtts[0]).unwrap_or(0)
    }
}
