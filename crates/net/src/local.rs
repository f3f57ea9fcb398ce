//! The packets of senders in the queues and devices of their hosts, for senders that limit them (TCP small queues).

use crate::packet::Packet;
use engine::EventQueue;
use std::collections::VecDeque;
use units::Time;

/// The packets of a sender at the first link of its path.
#[derive(Clone, Debug)]
struct LocalFlow {
    /// The first link.
    link: u32,
    /// The timer that wakes the sender.
    timer: u32,
    /// Bytes that have been queued and have not left.
    bytes: u64,
    /// When some of them leave that the device has begun to send.
    departures: VecDeque<(Time, u32)>,
    /// The sender waits until there are at most so many bytes.
    limit: Option<u64>,
}

impl LocalFlow {
    /// When at most `limit` bytes remain of those of which it is known when they leave.
    fn room_at(&self, limit: u64) -> Option<Time> {
        let mut bytes = self.bytes;
        let mut departures = self.departures.iter();
        departures.find_map(|(at, size)| {
            bytes -= u64::from(*size);
            (bytes <= limit).then_some(*at)
        })
    }
}

/// The senders that limit their packets in the queues of their hosts.
#[derive(Clone, Debug, Default)]
pub struct LocalQueues {
    /// By the numbers of the flows.
    flows: Vec<Option<Box<LocalFlow>>>,
    /// Timers that must be set.
    woken: Vec<(u32, Time)>,
}

impl LocalQueues {
    /// Sets the timers of senders that have room. After a drop at an arrival it is called at the next departure.
    #[inline(never)] // few senders limit their packets
    pub(crate) fn wake(&mut self, event_queue: &mut EventQueue<Packet>) {
        let now = event_queue.now();
        for (timer, at) in self.woken() {
            event_queue.set_timer(timer, at.max(now).min(event_queue.timer(timer)));
        }
    }

    /// Flow `flow` limits its packets at `link`, the first of its path; `timer` wakes its sender.
    pub(crate) fn add(&mut self, flow: u32, link: u32, timer: u32) {
        let local = LocalFlow { link, timer, bytes: 0, departures: VecDeque::new(), limit: None };
        self.flows.resize((flow as usize + 1).max(self.flows.len()), None);
        self.flows[flow as usize] = Some(Box::new(local));
    }

    /// Whether no sender limits its packets.
    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// The packets of flow `flow`, if `link` is the first of its path.
    fn at(&mut self, link: u32, flow: u32) -> Option<&mut LocalFlow> {
        self.flows.get_mut(flow as usize)?.as_deref_mut().filter(|local| local.link == link)
    }

    /// The queue of `link` has accepted a packet of `size` bytes.
    pub(crate) fn arrived(&mut self, link: u32, flow: u32, size: u32) {
        if let Some(local) = self.at(link, flow) {
            local.bytes += u64::from(size);
        }
    }

    /// A packet that the queue of `link` has accepted leaves the device at `at`.
    pub(crate) fn leaves(&mut self, link: u32, flow: u32, size: u32, at: Time) {
        let Some(local) = self.at(link, flow) else { return };
        // A packet that is dropped leaves before those that the device has begun to send.
        let place = local.departures.partition_point(|(other, _)| *other <= at);
        local.departures.insert(place, (at, size));
        let room = local.limit.and_then(|limit| local.room_at(limit));
        if let Some(at) = room {
            local.limit = None;
            let timer = local.timer;
            self.woken.push((timer, at));
        }
    }

    /// When flow `flow` has at most `limit` bytes at its first link; `None`: now. `NEVER`: its timer is set when it is known.
    pub fn room_at(&mut self, flow: u32, limit: u64, now: Time) -> Option<Time> {
        let local = self.flows.get_mut(flow as usize)?.as_deref_mut()?;
        while let Some(&(_, size)) = local.departures.front().filter(|(at, _)| *at <= now) {
            local.departures.pop_front();
            local.bytes -= u64::from(size);
        }
        local.limit = None;
        if local.bytes <= limit {
            return None;
        }
        let at = local.room_at(limit);
        if at.is_none() {
            local.limit = Some(limit);
        }
        Some(at.unwrap_or(Time::NEVER))
    }

    /// The timers that must be set now.
    pub(crate) fn woken(&mut self) -> std::vec::Drain<'_, (u32, Time)> {
        self.woken.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_woken_when_its_bytes_leave() {
        let at = Time::from_ps;
        let mut queues = LocalQueues::default();
        queues.add(3, 7, 42);
        for _ in 0..3 {
            queues.arrived(7, 3, 1000);
            queues.arrived(8, 3, 1000); // a later link of the path
        }
        assert_eq!(queues.room_at(3, 3000, at(0)), None);
        assert_eq!(queues.room_at(3, 1500, at(0)), Some(Time::NEVER));
        queues.leaves(7, 3, 1000, at(10));
        assert_eq!(queues.woken().count(), 0);
        queues.leaves(7, 3, 1000, at(20));
        assert_eq!(queues.woken().collect::<Vec<_>>(), [(42, at(20))]);
        assert_eq!(queues.room_at(3, 1500, at(19)), Some(at(20)));
        assert_eq!(queues.room_at(3, 1500, at(20)), None);
        // A packet is dropped while another one is being sent.
        (0..2).for_each(|_| queues.arrived(7, 3, 1000));
        queues.leaves(7, 3, 1000, at(40));
        queues.leaves(7, 3, 1000, at(30));
        assert_eq!(queues.room_at(3, 1500, at(30)), Some(at(40)));
    }
}
