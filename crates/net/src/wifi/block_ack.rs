//! A block ACK agreement: the window of the transmitter, attempts, and the order at the receiver.

use crate::qdisc::scheduled::Waiting;
use crate::tap::DropReason;
use crate::turn::Released;
use std::collections::VecDeque;

/// An MPDU: one packet, or several (A-MSDU), with its number, its attempts and its bytes.
#[derive(Clone, Debug)]
pub struct Mpdu {
    pub number: u32,
    pub attempts: u32,
    pub bytes: u32,
    packets: Packets,
}

/// The packets of an MPDU. Most have one.
#[derive(Clone, Debug)]
struct Packets {
    first: Waiting,
    others: Vec<Waiting>,
}

impl Mpdu {
    /// The number of its packets.
    pub fn packets(&self) -> u32 {
        1 + self.packets.others.len() as u32
    }
}

impl Packets {
    fn release(self, lost: Option<DropReason>, released: &mut Vec<Released>) {
        let packets = std::iter::once(self.first).chain(self.others);
        released.extend(packets.map(|packet| Released { packet, lost }));
    }
}

/// What the receiver has of a number from the next expected one on.
#[derive(Clone, Debug)]
enum Place {
    Missing,
    Arrived(Packets),
    /// The transmitter gave it up.
    GivenUp(Packets),
}

/// The MPDUs from one device to another.
#[derive(Clone, Debug)]
pub struct BlockAck {
    window: u32,
    /// Attempts of an MPDU.
    limit: u32,
    /// MPDUs to send again, by number.
    retransmissions: VecDeque<Mpdu>,
    next: u32,
    /// The receiver's packets from `expected` on.
    places: VecDeque<Place>,
    expected: u32,
    /// Packets that have a number and have not left the receiver.
    outstanding: u64,
}

impl BlockAck {
    pub fn new(window: u32, limit: u32) -> BlockAck {
        BlockAck {
            window,
            limit,
            retransmissions: VecDeque::new(),
            next: 0,
            places: VecDeque::new(),
            expected: 0,
            outstanding: 0,
        }
    }

    /// The next MPDU to send again.
    pub fn first_retransmission(&self) -> Option<&Mpdu> {
        self.retransmissions.front()
    }

    pub fn take_retransmission(&mut self) -> Option<Mpdu> {
        self.retransmissions.pop_front()
    }

    /// Whether a new number is within the window; `oldest` is the first number of the A-MPDU in progress.
    pub fn has_room(&self, oldest: Option<u32>) -> bool {
        let start = oldest.or(self.retransmissions.front().map(|mpdu| mpdu.number)).unwrap_or(self.next);
        self.next - start < self.window
    }

    /// Gives an MPDU of `bytes` bytes with a packet, and `others` after it, the next number.
    pub fn number(&mut self, first: Waiting, others: Vec<Waiting>, bytes: u32) -> Mpdu {
        let number = self.next;
        self.next += 1;
        self.places.push_back(Place::Missing);
        self.outstanding += 1 + others.len() as u64;
        Mpdu { number, attempts: 0, bytes, packets: Packets { first, others } }
    }

    /// Whether there is something to send again.
    pub fn has_retransmission(&self) -> bool {
        !self.retransmissions.is_empty()
    }

    /// Packets that have a number and have not left the receiver.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// The end of a transmission; `survives` says of each MPDU whether it arrived. Appends the packets that leave the
    /// receiver to `released`, and returns how many arrived.
    pub fn settle(
        &mut self,
        sent: Vec<Mpdu>,
        mut survives: impl FnMut(&Mpdu) -> bool,
        released: &mut Vec<Released>,
    ) -> u32 {
        let mut failed = Vec::new();
        let mut arrived = 0;
        for mut mpdu in sent {
            mpdu.attempts += 1;
            let place = (mpdu.number - self.expected) as usize;
            if survives(&mpdu) {
                arrived += 1;
                self.places[place] = Place::Arrived(mpdu.packets);
            } else if mpdu.attempts >= self.limit {
                self.places[place] = Place::GivenUp(mpdu.packets);
            } else {
                failed.push(mpdu);
            }
        }
        self.put_back(failed);
        let before = released.len();
        while let Some(place) = self.places.pop_front() {
            match place {
                Place::Missing => {
                    self.places.push_front(place);
                    break;
                }
                Place::Arrived(packets) => packets.release(None, released),
                Place::GivenUp(packets) => packets.release(Some(DropReason::Retry), released),
            }
            self.expected += 1;
        }
        self.outstanding -= (released.len() - before) as u64;
        arrived
    }

    /// Puts MPDUs among those to send again; both are in the order of their numbers.
    pub fn put_back(&mut self, mpdus: Vec<Mpdu>) {
        if let (Some(last), Some(first)) = (mpdus.last(), self.retransmissions.front())
            && last.number > first.number
        {
            let mut all: Vec<Mpdu> = mpdus.into_iter().chain(self.retransmissions.drain(..)).collect();
            all.sort_by_key(|mpdu| mpdu.number);
            self.retransmissions = all.into();
            return;
        }
        for mpdu in mpdus.into_iter().rev() {
            self.retransmissions.push_front(mpdu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impairment::Effect;
    use crate::packet::{Packet, PacketKind};
    use units::Time;

    fn packet(seq: u32) -> Waiting {
        let packet = Packet::new(PacketKind::Udp, 0, 0, seq, 1500, Time::ZERO);
        Waiting { packet, arrived: Time::ZERO, effect: Effect::default(), marked: None }
    }

    /// The numbers of the next A-MPDU of at most `limit`.
    fn take(ack: &mut BlockAck, limit: usize) -> Vec<Mpdu> {
        let mut sent: Vec<Mpdu> = Vec::new();
        while sent.len() < limit
            && let Some(mpdu) = ack.take_retransmission()
        {
            sent.push(mpdu);
        }
        while sent.len() < limit && ack.has_room(sent.first().map(|mpdu| mpdu.number)) {
            let mpdu = ack.number(packet(ack.next), Vec::new(), 1538);
            sent.push(mpdu);
        }
        sent
    }

    fn numbers(sent: &[Mpdu]) -> Vec<u32> {
        sent.iter().map(|mpdu| mpdu.number).collect()
    }

    fn settle(ack: &mut BlockAck, sent: Vec<Mpdu>, lost: &[u32]) -> Vec<(u32, bool)> {
        let mut released = Vec::new();
        ack.settle(sent, |mpdu| !lost.contains(&mpdu.number), &mut released);
        released.iter().map(|packet| (packet.packet.packet.seq, packet.lost.is_none())).collect()
    }

    #[test]
    fn a_hole_stops_the_window_and_holds_what_follows() {
        let mut ack = BlockAck::new(8, 8);
        let sent = take(&mut ack, 8);
        assert_eq!(numbers(&sent), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(settle(&mut ack, sent, &[1]), [(0, true)]);
        let sent = take(&mut ack, 8);
        assert_eq!(numbers(&sent), [1, 8], "the window begins at the oldest hole");
        let released: Vec<u32> = settle(&mut ack, sent, &[]).iter().map(|one| one.0).collect();
        assert_eq!(released, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(ack.outstanding(), 0);
    }

    #[test]
    fn an_mpdu_is_given_up_after_its_attempts() {
        let mut ack = BlockAck::new(4, 2);
        let sent = take(&mut ack, 3);
        assert_eq!(settle(&mut ack, sent, &[0]), []);
        let sent = take(&mut ack, 1);
        assert_eq!(numbers(&sent), [0]);
        assert_eq!(settle(&mut ack, sent, &[0]), [(0, false), (1, true), (2, true)]);
    }
}
