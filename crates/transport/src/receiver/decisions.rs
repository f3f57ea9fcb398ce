//! When a Linux receiver acknowledges: at once, after a delay, or combined with other ACKs.

use super::compression::Compression;
use super::linux::{LinuxAcks, Merged, timeout};
use super::window_growth::Beyond;
use super::{GRO_BYTES, Receiver};
use crate::context::{FlowContext, FlowTimer};
use crate::options::EcnFeedback;
use net::{Ecn, EcnEcho, Packet};
use units::{Span, Time};

impl Receiver {
    /// Processes a data packet. `syn`: it is a SYN.
    pub(super) fn on_linux_data<W: FlowContext>(&mut self, context: &mut W, packet: &Packet, syn: bool) {
        let (now, seq) = (context.now(), packet.seq);
        let differs = |merged: Merged| merged.newest + 1 != seq || merged.ecn != packet.ecn || packet.cwr;
        if self.linux.merged.is_some_and(differs) {
            self.end_merge(context);
        }
        self.duplicate = None; // a duplicate that no ACK has reported yet is forgotten
        if seq < self.next {
            self.reassemble(packet, syn, now);
            self.duplicate = (self.options.dsack && self.reports()).then_some(seq);
            self.linux.leave_delay(&self.options, self.options.quick_acks);
            self.count_mark(packet);
            if seq + 1 < self.last_ack {
                return self.acknowledge_now(context); // its timestamp and its ECN field do not count
            }
        }
        self.store_stamp(packet);
        if self.options.timestamps && !syn {
            self.take_echo(now, packet);
        }
        if self.options.ecn {
            self.take_cwr(packet);
        }
        self.linux.due = true;
        if seq == self.next {
            self.take_next(context, packet, syn);
            self.linux.unread = self.next - seq;
        } else if seq > self.next {
            self.take_beyond(context, packet);
        }
        if self.options.gro && !syn {
            self.merge_arrivals(context, packet);
        } else {
            self.decide(context, syn);
        }
        self.linux.unread = 0;
    }

    /// The next segment expected arrived.
    #[inline]
    fn take_next<W: FlowContext>(&mut self, context: &mut W, packet: &Packet, syn: bool) {
        let now = context.now();
        if !syn {
            self.adapt_delay(now);
        }
        if self.options.ecn {
            self.take_linux_mark(context, packet);
        }
        let mut beyond = Beyond::default();
        if self.beyond.is_empty() {
            self.next += 1;
        } else {
            beyond.queued = self.beyond.total();
            self.reassemble(packet, syn, now);
            beyond.filled = self.next - (packet.seq + 1);
            beyond.highest = self.beyond.highest().unwrap_or(0);
            self.linux.reported.remove_below(self.next);
            self.linux.at_once |= self.beyond.is_empty(); // the gap is filled (RFC 5681 section 4.2)
        }
        if !syn && let Some(growth) = &mut self.linux.growth {
            self.linux.quick |= growth.arrived(now, packet.seq + 1, beyond) as u32;
        }
    }

    /// A segment arrived beyond the next one expected.
    #[cold]
    fn take_beyond<W: FlowContext>(&mut self, context: &mut W, packet: &Packet) {
        let seq = packet.seq;
        if self.options.ecn {
            self.take_linux_mark(context, packet);
        }
        let repeated = self.reassemble(packet, false, context.now());
        if repeated && self.options.dsack && self.reports() {
            self.duplicate = Some(seq);
        }
        let reports = self.reports();
        if reports {
            let place = self.linux.reported.extend(seq);
            if place >= Compression::BLOCKS && self.linux.compression.waiting > 0 {
                // The ACK that waits reports the blocks as they were: the segment itself has no ACK of its own.
                self.acknowledge_now(context);
            }
            self.linux.reported.move_to_front(place, seq);
        }
        if let Some(growth) = &mut self.linux.growth {
            let (highest, queued) = (self.beyond.highest().unwrap_or(self.next), self.beyond.total());
            // Without SACK the window stays, because its change would hide a duplicate ACK.
            let grows = reports && !repeated;
            self.linux.quick |= growth.arrived_beyond(self.next, highest, grows.then_some(queued)) as u32;
        }
    }

    /// Decides when to acknowledge what has arrived. `syn`: it is a SYN.
    fn decide<W: FlowContext>(&mut self, context: &mut W, syn: bool) {
        if !self.linux.due {
            return;
        }
        let enough = if self.options.delayed_ack { self.options.ack_every } else { 1 };
        let enough = self.next - self.last_ack >= enough;
        let delay = if syn || self.linux.at_once || self.linux.quick > 0 {
            None
        } else if self.beyond.is_empty() {
            (!enough).then(|| self.linux_delay())
        } else {
            let shrinks = self.linux.growth.as_ref().is_some_and(|growth| growth.shrinks(self.held()));
            let combines = self.options.ack_compression && self.reports() && (!enough || shrinks);
            let waits = combines && self.linux.compression.combines(self.next);
            (waits && !enough).then(|| Compression::delay(self.short_rtt()))
        };
        match delay {
            None => self.acknowledge_now(context),
            Some(delay) => {
                if self.linux.deadline == Time::NEVER {
                    self.linux.deadline = context.now() + delay;
                }
                context.set_timer(FlowTimer::AckDelay, self.linux.deadline);
            }
        }
    }

    /// Sends an ACK; none waits any more.
    fn acknowledge_now<W: FlowContext>(&mut self, context: &mut W) {
        let linux = &mut self.linux;
        let due = linux.due;
        linux.acked_at = context.now();
        (linux.due, linux.at_once, linux.compression.waiting) = (false, false, 0);
        if linux.quick > 0 && due {
            linux.quick -= 1;
            if linux.quick == 0 {
                linux.delay = self.options.ack_delay;
            }
        }
        if std::mem::replace(&mut linux.deadline, Time::NEVER) != Time::NEVER {
            context.set_timer(FlowTimer::AckDelay, Time::NEVER);
        }
        let held = self.held();
        if self.stats.packets > 0
            && let Some(growth) = &mut self.linux.growth
        {
            growth.advertise(self.next - self.last_ack, held);
        }
        self.acknowledge(context, self.next);
    }

    /// Segments in the buffer.
    fn held(&self) -> u32 {
        self.linux.unread + if self.beyond.is_empty() { 0 } else { self.beyond.total() }
    }

    /// The timer of delayed ACKs expired, or the instant of segments that GRO merges has passed.
    pub(super) fn on_linux_ack_delay<W: FlowContext>(&mut self, context: &mut W) {
        if self.linux.merged.is_some() {
            return self.end_merge(context);
        }
        if std::mem::replace(&mut self.linux.deadline, Time::NEVER) == Time::NEVER {
            return;
        }
        if self.linux.compression.waiting == 0 && self.linux.adapts {
            let most = self.options.ack_delay_max.min(timeout(self.rtt(), &self.options));
            self.linux.delay = (self.linux.delay * 2).min(most);
        }
        self.acknowledge_now(context);
    }

    /// Merged segments are one segment for the decisions, which are made a picosecond later.
    fn merge_arrivals<W: FlowContext>(&mut self, context: &mut W, packet: &Packet) {
        let segments = 1 + self.linux.merged.map_or(0, |merged| merged.segments);
        if (segments + 1) * self.options.packet as u64 > GRO_BYTES {
            self.linux.merged = None;
            return self.decide(context, false);
        }
        self.linux.merged = Some(Merged { newest: packet.seq, segments, ecn: packet.ecn });
        context.set_timer(FlowTimer::AckDelay, context.now() + Span::from_ps(1));
    }

    fn end_merge<W: FlowContext>(&mut self, context: &mut W) {
        self.linux.merged = None;
        context.set_timer(FlowTimer::AckDelay, self.linux.deadline);
        self.decide(context, false);
    }

    /// The round-trip time that bounds how long combined ACKs wait: that of the handshake, or a shorter one. Without timestamps
    /// none is known until a window of data has arrived, and they do not wait.
    fn short_rtt(&self) -> Option<Span> {
        let rtt = self.rtt()?;
        match &self.linux.growth {
            Some(growth) => Some(growth.rtt().unwrap_or(Span::ZERO).min(rtt)),
            None => Some(rtt),
        }
    }

    /// Takes the round-trip time that the timestamp echo of a segment shows. Data carries no echo here. The sender had received
    /// the ACKs that the receiver sent before the time of the way back, which is the round-trip time of the handshake without
    /// the way of the first segment, and it echoed the newest of them.
    fn take_echo(&mut self, now: Time, packet: &Packet) {
        let (Some(rtt), Some(growth)) = (self.rtt(), &mut self.linux.growth) else { return };
        let way_back = rtt.min(self.options.initial_rto).ps().saturating_sub(self.stats.first_delay.ps());
        let at_most = Time::from_ps(packet.sent.ps().saturating_sub(way_back));
        growth.echoed(now, self.linux.acked_at.min(at_most), self.options.timestamp_quantum);
    }

    /// How long an ACK is delayed: where that adapts, not for longer than the round-trip time or the shortest delay.
    fn linux_delay(&self) -> Span {
        let shortest = self.options.ack_delay;
        let most = self.rtt().map_or(self.options.ack_delay_max, |rtt| rtt.max(shortest));
        if self.linux.adapts { self.linux.delay.min(most) } else { shortest }
    }

    /// The delay follows the time between two arrivals in order. After a long pause ACKs are not delayed, as at the start.
    fn adapt_delay(&mut self, now: Time) {
        let last = std::mem::replace(&mut self.linux.last_data, now);
        if self.linux.delay == Span::ZERO {
            self.linux.delay = self.options.ack_delay;
            return self.linux.enter_quick(&self.options, self.options.quick_acks);
        }
        let gap = if last == Time::ZERO { Span::ZERO } else { now.since(last) };
        let shortest = self.options.ack_delay;
        let half = Span::from_ps(shortest.ps() / 2);
        if gap <= half && self.linux.delay == shortest {
            return; // most often the delay is the shortest, and stays
        }
        let halved = Span::from_ps(self.linux.delay.ps() / 2);
        let timeout = timeout(self.rtt(), &self.options);
        if gap <= half {
            self.linux.delay = halved + half;
        } else if gap < self.linux.delay {
            self.linux.delay = (halved + gap).min(timeout).min(self.options.ack_delay_max);
        } else if gap > timeout {
            self.linux.enter_quick(&self.options, self.options.quick_acks);
        }
    }

    /// A sender that has reduced its window gets an ACK at once, because the window can be very small.
    #[cold]
    fn take_cwr(&mut self, packet: &Packet) {
        if packet.cwr && self.options.ecn_feedback == EcnFeedback::Classic {
            (self.echoing, self.linux.at_once) = (EcnEcho::NONE, true);
        }
    }

    /// Takes the ECN field of a new segment. The first mark of an echo, and a segment that is not ECN-capable and therefore
    /// probably a retransmission, are acknowledged at once, and so is the next one.
    #[cold]
    fn take_linux_mark<W: FlowContext>(&mut self, context: &mut W, packet: &Packet) {
        let marked = packet.ecn == Ecn::Ce;
        let begins = match self.options.ecn_feedback {
            EcnFeedback::Classic => marked && self.echoing.is_none(),
            EcnFeedback::PerPacket => {
                if marked != self.echoing.is_ece() && self.linux.deadline != Time::NEVER {
                    self.acknowledge_now(context); // what waits has an ACK of its own
                    self.linux.due = true;
                }
                self.echoing = EcnEcho::from_flag(marked);
                self.linux.at_once |= marked;
                return self.linux.capable_seen |= packet.ecn != Ecn::NotEct;
            }
            EcnFeedback::Accurate => {
                self.count_mark(packet);
                false
            }
        };
        if begins || packet.ecn == Ecn::NotEct && self.linux.capable_seen {
            if begins {
                self.echoing = EcnEcho::ECE;
            }
            self.linux.leave_delay(&self.options, LinuxAcks::AFTER_MARK);
        }
        self.linux.capable_seen |= packet.ecn != Ecn::NotEct;
    }
}
