//! UDP sources: constant bit rate, with a schedule of steps.

use crate::blocks::Blocks;
use crate::wire::{Timer, Wire};
use net::{Kind, Packet};
use units::{Rate, Time};

/// Sends packets of one size at a constant rate.
#[derive(Clone, Debug)]
pub struct UdpSource {
    flow: u32,
    route: u32,
    size: u32,
    /// From when on which rate holds, in order; the first at or before the start.
    schedule: Vec<(Time, Rate)>,
    stop: Time,
    sent: u32,
}

impl UdpSource {
    /// `schedule` gives the rate from each time on; rate zero is silence.
    pub fn new(flow: u32, route: u32, size: u32, schedule: Vec<(Time, Rate)>, stop: Time) -> UdpSource {
        UdpSource { flow, route, size, schedule, stop, sent: 0 }
    }

    /// Packets sent so far.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// Sends a packet if it is time, and asks for the next.
    pub fn on_timer<W: Wire>(&mut self, wire: &mut W) {
        let now = wire.now();
        if now >= self.stop {
            return;
        }
        let step = self.schedule.partition_point(|(from, _)| *from <= now);
        let rate = step.checked_sub(1).map_or(Rate::from_bps(0), |i| self.schedule[i].1);
        let change = self.schedule.get(step).map_or(Time::NEVER, |(from, _)| *from);
        let next = if rate.bps() == 0 {
            change
        } else {
            let packet = Packet {
                sent: now,
                echo: Time::ZERO,
                began: Time::ZERO,
                route: self.route,
                flow: self.flow,
                seq: self.sent,
                blocks: Packet::NO_BLOCKS,
                size: self.size,
                kind: Kind::Udp,
                marked: false,
            };
            self.sent += 1;
            wire.send(packet, &Blocks::NONE);
            // The gap is the packet's own; a new rate begins with the first packet after the step.
            now + rate.time_for(self.size as u64)
        };
        if next < self.stop {
            wire.set_timer(Timer::Application, next);
        }
    }
}
