//! The slots of a cell: the users that are served, the contents of transport blocks, and their results.

use super::account::ATTEMPTS;
use super::direction::{CellDirection, Scheme, TransportBlock};
use super::order::{PACKET_HEADER, PART_HEADER, PacketPart};
use super::uplink::BufferStatus;
use super::{Cell, DOWNLINK, UPLINK};
use crate::ids::LinkId;
use crate::transmission::{Content, Transmission};
use crate::turn::{Queues, Released, Turn};
use std::cmp::Reverse;
use std::collections::VecDeque;
use units::Time;

/// Bytes of room that a grant has besides the bytes that are reported.
const SLACK: u32 = 16;

impl Cell {
    /// A packet of `direction` waits since `now`.
    pub(crate) fn arrived(&mut self, direction: u32, now: Time) {
        if self.last.is_none() {
            // Before its first slot a cell has served nothing, so a handover ends nothing.
            self.begin_handovers(now, &mut Turn::default());
        }
        let CellDirection { channel, user, .. } = self.directions[direction as usize];
        self.users[user as usize].active(now, channel == DOWNLINK);
        self.activate(direction);
        if channel == UPLINK
            && self.directions[direction as usize].buffer_status.as_ref().is_some_and(BufferStatus::is_empty)
        {
            self.request(direction, now);
        }
        let first = self.slot_from(now).max(self.last.map_or(0, |last| last + 1));
        if self.next.is_none_or(|next| next > first) {
            let earliest = self.earliest(direction, first, true);
            self.next = self.next.into_iter().chain(earliest).min();
        }
    }

    fn activate(&mut self, number: u32) {
        let direction = &mut self.directions[number as usize];
        if !std::mem::replace(&mut direction.active, true) {
            self.channels[direction.channel].active.push(number);
        }
    }

    /// A scheduling request at the terminal's next opportunity from `now` on.
    fn request(&mut self, number: u32, now: Time) {
        let CellDirection { user, .. } = self.directions[number as usize];
        let now = self.users[user as usize].ready(now, false);
        let period = self.slots(self.options.sr_period).max(1);
        let granted = self.options.first_grant;
        let first = self.slot_from(now);
        let Some(buffer_status) = &mut self.directions[number as usize].buffer_status else { return };
        buffer_status.wait_for_grant(now);
        let opportunity = first + (buffer_status.offset + period - first % period) % period;
        let from = self.granted_from(self.slot_of_channel(opportunity, UPLINK));
        let direction = &mut self.directions[number as usize];
        direction.account.requests += 1;
        if let Some(buffer_status) = &mut direction.buffer_status {
            buffer_status.report(granted, from);
        }
    }

    /// The first slot of a transmission that is granted for a request or a report in slot `slot`.
    fn granted_from(&self, slot: u64) -> u64 {
        let grant = slot + 1 + self.slots(self.options.decode);
        self.slot_of_channel(grant + 1 + self.slots(self.options.prepare), UPLINK)
    }

    /// The first slot from `slot` on in which a direction can send something; `waits`: its queue has a packet.
    fn earliest(&mut self, number: u32, slot: u64, waits: bool) -> Option<u64> {
        let processes = self.processes();
        let direction = &mut self.directions[number as usize];
        let user = &self.users[direction.user as usize];
        let down = direction.channel == DOWNLINK;
        let ready = user.ready(Time::ZERO, down).ps().div_ceil(self.slot.ps());
        let mut slot = slot.max(ready);
        let forwarded = direction.forwarded.as_ref().map(|(_, at)| at.ps().div_ceil(self.slot.ps()));
        let retransmission = direction.order.next_retransmission();
        let data = match forwarded {
            _ if direction.order.has_parts(slot) || waits && forwarded.is_none() => slot,
            Some(forwarded) => retransmission.map_or(forwarded, |slot| slot.min(forwarded)),
            None => retransmission?,
        };
        slot = slot.max(data);
        if let Err(free) = direction.process(slot, processes) {
            slot = slot.max(free?);
        }
        if let Some(buffer_status) = &direction.buffer_status {
            slot = buffer_status.next(slot)?;
        }
        Some(self.slot_of_channel(slot, self.directions[number as usize].channel))
    }

    fn processes(&self) -> usize {
        if self.options.is_nr() { 16 } else { 8 }
    }

    /// The slot that begins at `now`.
    pub(crate) fn serve(&mut self, now: Time, queues: &mut dyn Queues, turn: &mut Turn) {
        let slot = now.ps() / self.slot.ps();
        self.last = Some(slot);
        self.begin_handovers(now, turn);
        while let Some(Reverse((_, number))) = self.timers.peek().filter(|timer| timer.0.0 <= slot).copied() {
            self.timers.pop();
            self.release(number, now, turn);
        }
        self.total_blocks = self.blocks.at(now).0;
        let all = self.total_blocks;
        let mut sent = false;
        for channel in [DOWNLINK, UPLINK] {
            if self.symbols(slot, channel) == 0 {
                continue;
            }
            let left = self.send_repeats(channel, slot, all, turn);
            let left = self.send_blocks(channel, slot, left, queues, turn);
            let used = self.slot.part((all - left) as f64 / all as f64);
            self.account.used[channel] = self.account.used[channel] + used;
            sent |= left < all;
        }
        self.account.slots += u64::from(sent);
        self.next = self.following(slot + 1, queues);
    }

    /// The first slot from `slot` on in which something is to be done. Directions without data leave the lists.
    fn following(&mut self, slot: u64, queues: &dyn Queues) -> Option<u64> {
        let handover = self.handovers.peek().map(|next| self.slot_from(next.0.0).max(slot));
        let timer = self.timers.peek().map(|timer| timer.0.0.max(slot));
        let mut next = handover.into_iter().chain(timer).min();
        for channel in [DOWNLINK, UPLINK] {
            if let Some((repeat, _)) = self.channels[channel].repeats.front() {
                next = next.into_iter().chain([self.slot_of_channel((*repeat).max(slot), channel)]).min();
            }
            let first = self.slot_of_channel(slot, channel);
            let mut active = std::mem::take(&mut self.channels[channel].active);
            active.retain(|number| {
                let direction = &mut self.directions[*number as usize];
                let waits = queues.waiting(direction.link) > 0;
                if !waits && direction.forwarded.is_none() && direction.order.is_sent() {
                    direction.active = false;
                    direction.buffer_status.iter_mut().for_each(BufferStatus::clear);
                    return false;
                }
                if next.is_none_or(|next| next > first) {
                    next = next.into_iter().chain(self.earliest(*number, slot, waits)).min();
                }
                true
            });
            self.channels[channel].active = active;
        }
        next
    }

    /// Begins the handovers whose time has come: blocks in progress end.
    fn begin_handovers(&mut self, now: Time, turn: &mut Turn) {
        while let Some(Reverse((at, user))) = self.handovers.peek().filter(|next| next.0.0 <= now).copied() {
            self.handovers.pop();
            let user = &mut self.users[user as usize];
            let (lossless, directions) = (user.begin_handover(at), user.directions);
            let resumes = user.resumes;
            for number in directions.into_iter().flatten() {
                self.end_blocks(number, now, lossless, resumes, turn);
            }
        }
    }

    /// Ends the blocks of a direction at a handover, whose interruption ends at `resumes`; what they carried is sent again
    /// if the handover is `lossless`, and lost otherwise.
    fn end_blocks(&mut self, number: u32, now: Time, lossless: bool, resumes: Time, turn: &mut Turn) {
        let from = self.slot_from(resumes);
        let channel = &mut self.channels[self.directions[number as usize].channel];
        let mut ended = Vec::new();
        channel.repeats.retain_mut(|(_, block)| {
            let ends = block.direction == number;
            if ends {
                ended.push(std::mem::take(&mut block.parts));
            }
            !ends
        });
        let direction = &mut self.directions[number as usize];
        direction.account.handovers += 1;
        direction.clear_processes();
        ended.into_iter().for_each(|parts| direction.order.send_again(parts, from));
        if !lossless {
            direction.order.lose_all(now);
        }
        let waits = direction.active || !direction.order.is_sent();
        direction.buffer_status.iter_mut().for_each(BufferStatus::clear);
        if !lossless {
            self.release(number, now, turn);
        }
        if waits {
            self.activate(number);
            if self.directions[number as usize].buffer_status.is_some() {
                self.request(number, resumes);
            }
        }
    }

    /// Sends the blocks of a channel that are due again. Returns how many of `left` resource blocks are left.
    fn send_repeats(&mut self, channel: usize, slot: u64, mut left: u32, turn: &mut Turn) -> u32 {
        let mut waiting = std::mem::take(&mut self.channels[channel].repeats);
        let mut postponed = VecDeque::new();
        while let Some((at, mut block)) = waiting.pop_front() {
            let width = block.width.min(self.total_blocks);
            if at > slot || width > left {
                postponed.push_back((at, block));
                continue;
            }
            left -= width;
            (block.attempt, block.width) = (block.attempt + 1, width);
            self.send(block, slot, turn);
        }
        // What `send` has added comes later than what was there.
        postponed.append(&mut self.channels[channel].repeats);
        self.channels[channel].repeats = postponed;
        left
    }

    /// Sends new blocks of a channel. Returns how many of `left` resource blocks are left.
    fn send_blocks(
        &mut self,
        channel: usize,
        slot: u64,
        mut left: u32,
        queues: &mut dyn Queues,
        turn: &mut Turn,
    ) -> u32 {
        let mut candidates: Vec<(f64, u32, Scheme)> = Vec::new();
        let users = self.users.len() as u32;
        let served = self.slots_before(slot, channel);
        for index in 0..self.channels[channel].active.len() {
            let number = self.channels[channel].active[index];
            let Some(scheme) = self.scheme(number, slot, queues) else { continue };
            let symbols = self.symbols(slot, channel);
            let rate = self
                .sizes(self.directions[number as usize].layers, symbols)
                .bytes(scheme.mcs, self.total_blocks);
            let CellDirection { user, average, .. } = &mut self.directions[number as usize];
            let scheduler = &self.channels[channel].scheduler;
            candidates.push((scheduler.metric(served, *user, users, rate as f64, average), number, scheme));
        }
        while left > 0 && !candidates.is_empty() {
            let mut best = 0;
            for index in 1..candidates.len() {
                if candidates[index].0 > candidates[best].0 {
                    best = index;
                }
            }
            let (_, number, scheme) = candidates.swap_remove(best);
            let (width, bytes) = self.send_block(number, slot, scheme, left, queues, turn);
            left -= width;
            self.served(number, bytes);
        }
        candidates.into_iter().for_each(|(_, number, ..)| self.served(number, 0));
        left
    }

    /// A direction with data got so many bytes in this slot.
    fn served(&mut self, number: u32, bytes: u32) {
        let users = self.users.len() as u32;
        let CellDirection { user, average, channel, .. } = &mut self.directions[number as usize];
        self.channels[*channel].scheduler.served(*user, users, bytes, average);
    }

    /// The scheme of a direction that can send in `slot`.
    fn scheme(&mut self, number: u32, slot: u64, queues: &dyn Queues) -> Option<Scheme> {
        let waits = queues.waiting(self.directions[number as usize].link) > 0;
        if self.earliest(number, slot, waits) != Some(slot) {
            return None;
        }
        let direction = &mut self.directions[number as usize];
        if direction.buffer_status.as_mut().is_some_and(|buffer_status| buffer_status.grantable(slot) == 0) {
            return None;
        }
        direction.report(slot);
        direction.scheme(&self.modulation)
    }

    /// Fills a block with what a direction has, in at most `limit` resource blocks, and sends it. Returns its resource blocks
    /// and bytes.
    fn send_block(
        &mut self,
        number: u32,
        slot: u64,
        scheme: Scheme,
        limit: u32,
        queues: &mut dyn Queues,
        turn: &mut Turn,
    ) -> (u32, u32) {
        let Scheme { mcs, .. } = scheme;
        let direction = &self.directions[number as usize];
        let sizes = self.sizes(direction.layers, self.symbols(slot, direction.channel)).clone();
        let direction = &mut self.directions[number as usize];
        let mut width = limit;
        if let Some(buffer_status) = &mut direction.buffer_status {
            let reported = buffer_status.grantable(slot).min(u32::MAX as u64 - SLACK as u64) as u32;
            width = self.grouped(sizes.blocks_for(mcs, reported + SLACK, limit), limit);
        }
        let room = sizes.bytes(mcs, width);
        let (parts, used) = self.fill(number, slot, room, queues);
        if parts.is_empty() {
            self.release(number, self.start(slot), turn); // what a handover has lost
            return (0, 0);
        }
        let direction = &mut self.directions[number as usize];
        if direction.channel == DOWNLINK {
            width = self.grouped(sizes.blocks_for(mcs, used, limit), limit);
        }
        let start = self.start(slot);
        let direction = &mut self.directions[number as usize];
        direction.account.mcs[mcs as usize] += 1;
        self.users[direction.user as usize].active(start, false);
        if let Some(buffer_status) = &mut direction.buffer_status
            && let Some(since) = buffer_status.sent(used as u64)
        {
            direction.account.grant_wait = direction.account.grant_wait + start.since(since);
        }
        self.report_buffer(number, slot, queues);
        self.send(
            TransportBlock { direction: number, parts, scheme, width, attempt: 1, first: slot },
            slot,
            turn,
        );
        (width, used)
    }

    /// A number of resource blocks in whole groups, at most `limit`.
    fn grouped(&self, width: u32, limit: u32) -> u32 {
        (width.div_ceil(self.group) * self.group).min(limit)
    }

    /// A block carries the report of what waits behind it.
    fn report_buffer(&mut self, number: u32, slot: u64, queues: &dyn Queues) {
        let from = self.granted_from(slot);
        let direction = &mut self.directions[number as usize];
        let Some(buffer_status) = &mut direction.buffer_status else { return };
        let headers = queues.waiting(direction.link) * (PACKET_HEADER + PART_HEADER) as u64;
        let forwarded = direction.forwarded.as_ref().map_or(0, |(packet, _)| packet.packet.size as u64);
        let bytes = queues.bytes(direction.link) + headers + forwarded + direction.order.bytes();
        if bytes > 0 {
            buffer_status.report(bytes, from);
        }
    }

    /// Takes what fits in `room` bytes from a direction. Returns the parts and their bytes with headers.
    fn fill(&mut self, number: u32, slot: u64, room: u32, queues: &mut dyn Queues) -> (Vec<PacketPart>, u32) {
        let start = self.start(slot);
        let direction = &mut self.directions[number as usize];
        let user = &self.users[direction.user as usize];
        let (mut parts, mut left) = (Vec::new(), room);
        loop {
            left = direction.order.fill(slot, left, &mut parts);
            if left <= PART_HEADER {
                break;
            }
            let (packet, at) = match direction.forwarded.take() {
                Some(forwarded) => forwarded,
                None => {
                    let Some(packet) = queues.next(direction.link) else { break };
                    // The queue of the uplink is in the terminal: it does not change its place.
                    let at_cell = match direction.channel {
                        DOWNLINK => user.at_cell(packet.arrived),
                        _ => Some(packet.arrived),
                    };
                    match at_cell {
                        Some(at) => (packet, at),
                        None => {
                            direction.order.push_lost(packet, start);
                            continue;
                        }
                    }
                }
            };
            if at > start {
                direction.forwarded = Some((packet, at));
                break;
            }
            direction.order.push(packet);
        }
        (parts, room - left)
    }

    /// Sends a block in slot `slot`; what becomes of it is known at the end of the slot.
    fn send(&mut self, block: TransportBlock, slot: u64, turn: &mut Turn) {
        let end = self.start(slot + 1);
        let number = block.direction;
        let direction = &mut self.directions[number as usize];
        let used = self.slot.part(block.width as f64 / self.total_blocks as f64);
        direction.account.used = direction.account.used + used;
        turn.usage.push((direction.link, used.part(1.0 / self.channels[direction.channel].share)));
        let arrived = direction.attempt(&block, slot, &self.options, &self.modulation);
        let link = LinkId(direction.link);
        turn.transmitted(|| {
            let TransportBlock { scheme: Scheme { mcs, .. }, width, attempt, ref parts, .. } = block;
            let (all, parts) = (self.total_blocks, parts.len() as u32);
            let first = Time::ZERO + self.slot * block.first;
            let content = Content::Block { mcs, width, all, attempt, first, parts, arrived };
            Transmission { link, begin: Time::ZERO + self.slot * slot, end, content }
        });
        if arrived {
            direction.order.arrived(&block.parts, end);
        } else if block.attempt < self.options.attempts {
            let channel = direction.channel;
            let at = self.slot_of_channel(slot + self.options.harq_rtt, channel);
            self.channels[channel].repeats.push_back((at, block));
        } else {
            self.give_up(block, slot);
        }
        self.release(number, end, turn);
    }

    /// A block has failed in its last attempt, in slot `slot`.
    fn give_up(&mut self, block: TransportBlock, slot: u64) {
        let delay = self.options.recovery_delay();
        let from = slot + 1 + self.slots(delay);
        let reported = self.start(slot + 1).max(self.start(block.first + 1) + delay);
        let timer = self.slot_from(reported);
        let direction = &mut self.directions[block.direction as usize];
        direction.account.attempts[ATTEMPTS - 1] += 1;
        if self.options.rlc == "um" {
            direction.order.lose(&block.parts, reported);
            self.timers.push(Reverse((timer, block.direction)));
            return;
        }
        let before = direction.order.bytes();
        direction.order.send_again(block.parts, from);
        let bytes = direction.order.bytes() - before;
        if let Some(buffer_status) = &mut direction.buffer_status {
            buffer_status.returned(bytes);
        }
        self.activate(block.direction);
    }

    /// Releases the packets of a direction that are complete at `at`.
    fn release(&mut self, number: u32, at: Time, turn: &mut Turn) {
        let CellDirection { order, link, account, .. } = &mut self.directions[number as usize];
        let link = *link;
        order.release(at, |packet: Released| {
            account.delivered += u64::from(packet.lost.is_none());
            account.lost += u64::from(packet.lost.is_some());
            turn.released.push((link, at, packet));
        });
    }
}
