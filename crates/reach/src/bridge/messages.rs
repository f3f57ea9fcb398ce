//! What the BPF program and the bridge exchange: events through the ring buffer, decisions through a map.

/// The kernel's values of `event.kind`.
pub const OPEN: u32 = 1;
pub const ACK: u32 = 2;
pub const SSTHRESH: u32 = 3;
pub const STATE: u32 = 4;
pub const UNDO: u32 = 5;
pub const CLOSE: u32 = 6;

/// An event of the kernel, as `struct event` of the BPF program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    pub time_ns: u64,
    pub flow: u64,
    pub sequence: u64,
    pub kind: u32,
    pub value: u32,
    pub snd_una: u32,
    pub snd_nxt: u32,
    pub in_flight: u32,
    pub sacked_out: u32,
    pub lost_out: u32,
    pub delivered: u32,
    pub lost: u32,
    pub mss: u32,
    pub state: u32,
    pub receiver_tsval: u32,
    pub rate_delivered: i32,
    pub rtt_us: i32,
    pub losses: u32,
    pub acked_sacked: u32,
    pub interval_us: u32,
    pub prior_delivered: u32,
    pub prior_in_flight: u32,
    pub app_limited: u32,
    /// Data segments sent, retransmissions included.
    pub sent: u32,
}

impl Event {
    /// From the bytes of the ring buffer; `None` if there are too few.
    pub fn read(bytes: &[u8]) -> Option<Event> {
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let word = |index: usize| {
            let at = 24 + 4 * index;
            Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
        };
        Some(Event {
            time_ns: long(0)?,
            flow: long(8)?,
            sequence: long(16)?,
            kind: word(0)?,
            value: word(1)?,
            snd_una: word(2)?,
            snd_nxt: word(3)?,
            in_flight: word(4)?,
            sacked_out: word(5)?,
            lost_out: word(6)?,
            delivered: word(7)?,
            lost: word(8)?,
            mss: word(9)?,
            state: word(10)?,
            receiver_tsval: word(11)?,
            rate_delivered: word(12)? as i32,
            rtt_us: word(13)? as i32,
            losses: word(14)?,
            acked_sacked: word(15)?,
            interval_us: word(16)?,
            prior_delivered: word(17)?,
            prior_in_flight: word(18)?,
            app_limited: word(19)?,
            sent: word(20)?,
        })
    }
}

/// What the kernel does until the next decision, as `struct decision` of the BPF program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The event that it follows: the kernel ignores decisions that are older than its last reduction.
    pub sequence: u64,
    pub cwnd: u32,
    pub ssthresh: u32,
    /// The answer to a loss: window and threshold.
    pub loss: [u32; 2],
    /// The answer to an ECN echo.
    pub echo: [u32; 2],
    /// Bytes per second; zero for none.
    pub pacing: u64,
}

impl Decision {
    pub fn bytes(&self) -> [u8; 40] {
        let words = [self.cwnd, self.ssthresh, self.loss[0], self.loss[1], self.echo[0], self.echo[1]];
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&self.sequence.to_ne_bytes());
        for (place, word) in bytes[8..32].chunks_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes[32..].copy_from_slice(&self.pacing.to_ne_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_decisions_have_the_layout_of_the_program() {
        let mut bytes = vec![0; 112];
        bytes[16..24].copy_from_slice(&(1u64 << 40).to_ne_bytes());
        bytes[24..28].copy_from_slice(&ACK.to_ne_bytes());
        bytes[100..104].copy_from_slice(&7u32.to_ne_bytes());
        bytes[104..108].copy_from_slice(&9u32.to_ne_bytes());
        let read = Event::read(&bytes).unwrap();
        assert_eq!((read.sequence, read.kind, read.app_limited, read.sent), (1 << 40, ACK, 7, 9));
        assert!(Event::read(&bytes[..104]).is_none());
        let decision = Decision { sequence: 1, cwnd: 2, echo: [5, 6], pacing: 9, ..Decision::default() };
        let bytes = decision.bytes();
        assert_eq!((bytes[0], bytes[8], bytes[24], bytes[28], bytes[32]), (1, 2, 5, 6, 9));
    }
}
