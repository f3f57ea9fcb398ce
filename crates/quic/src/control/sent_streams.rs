//! How much of each stream was sent.

use crate::numbered::Numbered;

/// Bytes of streams that were sent at least once. Streams are numbered from 0 in the order of opening.
#[derive(Debug, Default)]
pub(super) struct SentStreams {
    /// The sum over all streams, also those forgotten.
    total: u64,
    /// The largest end of data sent, bytes, by stream.
    ends: Numbered<u64>,
}

impl SentStreams {
    /// The sum over all streams, bytes.
    pub fn total(&self) -> u64 {
        self.total
    }
    /// Bytes of stream `number`; zero if none, or if the stream is forgotten.
    pub fn of(&self, number: u64) -> u64 {
        self.ends.get(number).copied().unwrap_or(0)
    }
    /// Data of stream `number` up to offset `end` leaves, perhaps again.
    pub fn on_frame(&mut self, number: u64, end: u64) {
        if let Some(largest) = self.ends.get_or_insert(number)
            && end > *largest
        {
            self.total += end - *largest;
            *largest = end;
        }
    }
    /// Nothing of the streams before `number` will be sent any more.
    pub fn forget_before(&mut self, number: u64) {
        self.ends.forget_while(|stream, _| stream < number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_counts_each_byte_of_each_stream_once() {
        let mut sent = SentStreams::default();
        for (stream, end) in [(0, 100), (2, 50), (0, 100), (0, 40), (1, 0), (2, 60), (0, 130)] {
            sent.on_frame(stream, end);
        }
        assert_eq!((sent.total(), sent.of(0), sent.of(1), sent.of(2), sent.of(9)), (190, 130, 0, 60, 0));
        sent.forget_before(2);
        sent.on_frame(1, 70); // of a stream that is over
        sent.on_frame(2, 61);
        assert_eq!((sent.total(), sent.of(0), sent.of(2)), (191, 0, 61));
    }
}
