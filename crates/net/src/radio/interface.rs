//! The interface queue of one node, between ARP and the MAC.

use super::store::QueuedFrame;
use std::collections::VecDeque;
use units::{Span, Time};

/// The interface queue, with the frames that reach it after the link delay.
#[derive(Clone, Debug)]
pub(super) struct InterfaceQueue {
    /// Frames that may wait.
    limit: usize,
    /// Time that a frame takes to the queue.
    delay: Span,
    queue: VecDeque<QueuedFrame>,
    /// Frames that have not reached the queue yet, and their times of arrival at the queue.
    arriving: VecDeque<(Time, QueuedFrame)>,
}

/// The result of [`InterfaceQueue::enqueue`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Enqueued {
    /// The MAC is free and loads the frame.
    Load(QueuedFrame),
    /// The frame waits in the queue.
    Queued,
    /// The queue is full and drops this frame: the new frame, or the last one if the new frame is priority.
    Full(QueuedFrame),
}

impl InterfaceQueue {
    pub fn new(limit: usize, delay: Span) -> InterfaceQueue {
        InterfaceQueue { limit, delay, queue: VecDeque::new(), arriving: VecDeque::new() }
    }

    /// Whether frames take no time to the queue.
    pub fn is_immediate(&self) -> bool {
        self.delay == Span::ZERO
    }

    /// Sends a frame, which reaches the queue after the delay. Returns the time of the timer, if it must be set.
    pub fn delay(&mut self, now: Time, frame: QueuedFrame) -> Option<Time> {
        let at = now + self.delay;
        self.arriving.push_back((at, frame));
        (self.arriving.len() == 1).then_some(at)
    }

    /// The next frame that is at the queue by `now`, or the time of the next one.
    pub fn arrived(&mut self, now: Time) -> Result<QueuedFrame, Option<Time>> {
        match self.arriving.front() {
            Some(&(at, frame)) if at <= now => {
                self.arriving.pop_front();
                Ok(frame)
            }
            next => Err(next.map(|(at, _)| *at)),
        }
    }

    /// A frame is at the queue.
    pub fn enqueue(&mut self, frame: QueuedFrame, mac_free: bool) -> Enqueued {
        if self.queue.is_empty() && mac_free {
            return Enqueued::Load(frame);
        }
        if frame.priority {
            self.queue.push_front(frame);
            let last = if self.queue.len() > self.limit { self.queue.pop_back() } else { None };
            return last.map_or(Enqueued::Queued, Enqueued::Full);
        }
        if self.queue.len() >= self.limit {
            return Enqueued::Full(frame);
        }
        self.queue.push_back(frame);
        Enqueued::Queued
    }

    /// The next frame for the MAC.
    pub fn pop(&mut self) -> Option<QueuedFrame> {
        self.queue.pop_front()
    }

    /// Removes the frames for a neighbour.
    pub fn remove(&mut self, neighbour: u32) -> Vec<QueuedFrame> {
        let gone = self.queue.iter().filter(|frame| frame.next == neighbour).copied().collect();
        self.queue.retain(|frame| frame.next != neighbour);
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(payload: u32, next: u32, priority: bool) -> QueuedFrame {
        QueuedFrame::message(payload, next, 100, 1, priority)
    }

    #[test]
    fn routing_messages_overtake_and_push_out() {
        let mut queue = InterfaceQueue::new(2, Span::ZERO);
        assert_eq!(queue.enqueue(frame(0, 1, false), true), Enqueued::Load(frame(0, 1, false)));
        assert_eq!(queue.enqueue(frame(1, 1, false), false), Enqueued::Queued);
        assert_eq!(queue.enqueue(frame(2, 1, false), false), Enqueued::Queued);
        assert_eq!(queue.enqueue(frame(3, 1, false), false), Enqueued::Full(frame(3, 1, false)));
        assert_eq!(queue.enqueue(frame(4, 1, true), false), Enqueued::Full(frame(2, 1, false)));
        assert_eq!(queue.pop(), Some(frame(4, 1, true)));
        assert_eq!(queue.pop(), Some(frame(1, 1, false)));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn frames_of_a_broken_link_are_removed() {
        let mut queue = InterfaceQueue::new(9, Span::ZERO);
        for (payload, next) in [(0, 1), (1, 2), (2, 1)] {
            queue.enqueue(frame(payload, next, false), false);
        }
        assert_eq!(queue.remove(1), [frame(0, 1, false), frame(2, 1, false)]);
        assert_eq!(queue.pop(), Some(frame(1, 2, false)));
    }

    #[test]
    fn frames_take_their_time_to_the_queue() {
        let mut queue = InterfaceQueue::new(9, Span::from_ms(2));
        let at = Time::ZERO + Span::from_ms(2);
        assert_eq!(queue.delay(Time::ZERO, frame(0, 1, false)), Some(at));
        assert_eq!(queue.delay(Time::ZERO, frame(1, 1, false)), None);
        assert_eq!(queue.arrived(Time::ZERO), Err(Some(at)));
        assert_eq!(queue.arrived(at), Ok(frame(0, 1, false)));
        assert_eq!(queue.arrived(at), Ok(frame(1, 1, false)));
        assert_eq!(queue.arrived(at), Err(None));
    }
}
