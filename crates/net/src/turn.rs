//! A turn of a medium: the queues that it asks, the packets that leave it, and how much of it each link uses.

use crate::qdisc::scheduled::Waiting;
use crate::tap::DropReason;
use crate::transmission::Transmission;
use units::{Span, Time};

/// The queues of links.
pub(crate) trait Queues {
    /// Number of packets of link `link` that wait.
    fn waiting(&self, link: u32) -> u64;
    /// Their bytes.
    fn bytes(&self, link: u32) -> u64;
    /// Takes the next packet of link `link`.
    fn next(&mut self, link: u32) -> Option<Waiting> {
        self.next_of(link, 0)
    }
    /// Whether packets of link `link` wait whose access category is the one at `place`.
    fn waits(&self, link: u32, place: usize) -> bool;
    /// Takes the next of these packets.
    fn next_of(&mut self, link: u32, place: usize) -> Option<Waiting>;
}

/// A packet that leaves the receiver of a medium: delivered, or lost after its attempts.
#[derive(Clone, Debug)]
pub(crate) struct Released {
    pub packet: Waiting,
    /// Why it is lost; `None`: it is delivered.
    pub lost: Option<DropReason>,
}

/// What a medium has done in a turn.
#[derive(Default)]
pub(crate) struct Turn {
    /// Packets that leave receivers, with their link and the time at which they leave.
    pub released: Vec<(u32, Time, Released)>,
    /// Links that used the medium, and for how long they count as busy.
    pub usage: Vec<(u32, Span)>,
    /// Its transmissions, if an observer wants them.
    pub transmissions: Option<Vec<Transmission>>,
}

impl Turn {
    /// A turn; with `observed`, its transmissions are listed.
    pub fn new(observed: bool) -> Turn {
        Turn { transmissions: observed.then(Vec::new), ..Turn::default() }
    }

    /// Lists a transmission, if an observer wants it.
    pub fn transmitted(&mut self, transmission: impl FnOnce() -> Transmission) {
        if let Some(list) = &mut self.transmissions {
            list.push(transmission());
        }
    }
}

/// Queues without limits, for tests.
#[cfg(test)]
pub(crate) mod testing {
    use super::{Queues, Waiting};
    use crate::impairment::Effect;
    use crate::packet::{Packet, PacketKind};
    use std::collections::VecDeque;
    use units::Time;

    /// The queues of links, by number.
    #[derive(Default)]
    pub(crate) struct PlainQueues(pub Vec<VecDeque<Waiting>>);

    impl PlainQueues {
        /// A packet arrives at the queue of link `link`.
        pub(crate) fn push(&mut self, link: usize, seq: u32, size: u32, arrived: Time) {
            let packet = Packet::new(PacketKind::Udp, 0, 0, seq, size, Time::ZERO);
            self.0[link].push_back(Waiting { packet, arrived, effect: Effect::default(), marked: None });
        }
    }

    impl Queues for PlainQueues {
        fn waiting(&self, link: u32) -> u64 {
            self.0[link as usize].len() as u64
        }
        fn bytes(&self, link: u32) -> u64 {
            self.0[link as usize].iter().map(|waiting| waiting.packet.size as u64).sum()
        }
        fn waits(&self, link: u32, _place: usize) -> bool {
            !self.0[link as usize].is_empty()
        }
        fn next_of(&mut self, link: u32, _place: usize) -> Option<Waiting> {
            self.0[link as usize].pop_front()
        }
    }
}
