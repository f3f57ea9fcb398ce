//! One direction of a link of a cell: its signal, its choice of the MCS, its HARQ processes, its packets on their channel.

use super::account::UserAccount;
use super::config::{CellOptions, UserOptions};
use super::modulation::{Modulation, error_probability};
use super::order::{Order, PacketPart};
use super::schedulers::Average;
use super::uplink::BufferStatus;
use crate::qdisc::scheduled::Waiting;
use crate::signal::Signal;
use engine::Stream;
use std::collections::VecDeque;
use units::Time;

/// The step of the outer loop at an error, dB, and its limit.
const STEP: f64 = 0.5;
const MOST_OFFSET: f64 = 20.0;
/// Below the resolution of a draw there are no errors.
const NO_ERRORS: f64 = f64::EPSILON / 2.0;

/// The CQI by which a transport block is sent, and its MCS.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    pub cqi: usize,
    pub mcs: u8,
}

/// A transport block.
#[derive(Clone, Debug)]
pub struct TransportBlock {
    pub direction: u32,
    pub parts: Vec<PacketPart>,
    pub scheme: Scheme,
    /// Resource blocks.
    pub width: u32,
    pub attempt: u32,
    /// The slot of its first attempt.
    pub first: u64,
}

/// The numbers of a direction of a link.
pub struct DirectionNumbers {
    pub link: u32,
    /// The shared channel that it uses, 0: downlink, 1: uplink.
    pub channel: usize,
    pub user: u32,
}

/// The reports of a signal.
#[derive(Clone, Copy, Debug)]
pub struct Reporting {
    /// Their interval, slots.
    pub period: u64,
    /// The time until they are used, slots.
    pub delay: u64,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct CellDirection {
    pub link: u32,
    /// The shared channel that it uses, 0: downlink, 1: uplink.
    pub channel: usize,
    pub user: u32,
    pub layers: u32,
    mcs: Option<u8>,
    pub signal: Signal,
    harq: Stream,
    /// Reports of the signal that are not used yet: their slots and the SNR.
    reports: VecDeque<(u64, f64)>,
    /// The SNR of the report in use, and the slot of the next report.
    reported: Option<f64>,
    next_report: u64,
    reporting: Reporting,
    /// What the outer loop adds to it, dB.
    offset: f64,
    /// The scheme that follows from both, until one of them changes.
    choice: Option<Option<Scheme>>,
    pub average: Average,
    /// When the HARQ processes of blocks that arrived or were given up become free, slots.
    processes: VecDeque<u64>,
    /// Number of processes whose blocks are to be sent again.
    repeating: usize,
    pub order: Order,
    /// A packet from the queue that is forwarded from the old cell, with its time at the new one.
    pub forwarded: Option<(Waiting, Time)>,
    /// Of an uplink: what the base station knows.
    pub buffer_status: Option<BufferStatus>,
    /// It is among those with data.
    pub active: bool,
    pub account: UserAccount,
}

impl CellDirection {
    pub fn new(
        numbers: DirectionNumbers,
        options: &UserOptions,
        signal: Signal,
        harq: Stream,
        reporting: Reporting,
        buffer_status: Option<BufferStatus>,
    ) -> CellDirection {
        let DirectionNumbers { link, channel, user } = numbers;
        CellDirection {
            link,
            channel,
            user,
            layers: options.layers,
            mcs: options.mcs,
            signal,
            harq,
            reports: VecDeque::new(),
            reported: None,
            next_report: 0,
            reporting,
            offset: 0.0,
            choice: None,
            average: Average::default(),
            processes: VecDeque::new(),
            repeating: 0,
            order: Order::default(),
            forwarded: None,
            buffer_status,
            active: false,
            account: UserAccount::default(),
        }
    }

    /// Reports of the signal up to slot `slot`.
    pub fn report(&mut self, slot: u64) {
        let Reporting { period, delay } = self.reporting;
        let usable = slot.saturating_sub(delay);
        self.next_report = self.next_report.max(usable / period * period);
        while self.next_report <= slot {
            let snr = self.signal.snr(self.next_report);
            self.reports.push_back((self.next_report, snr));
            self.next_report += period;
        }
        while let Some((_, snr)) = self.reports.front().filter(|(at, _)| *at <= usable) {
            (self.reported, self.choice) = (Some(*snr), None);
            self.reports.pop_front();
        }
    }

    /// The scheme of the next block; none if the terminal is out of range.
    pub fn scheme(&mut self, modulation: &Modulation) -> Option<Scheme> {
        match self.choice {
            Some(choice) => choice,
            None => *self.choice.insert(self.choose(modulation)),
        }
    }

    fn choose(&self, modulation: &Modulation) -> Option<Scheme> {
        if let Some(mcs) = self.mcs {
            return Some(Scheme { cqi: modulation.cqi_of(mcs), mcs });
        }
        let reported = self.reported?;
        let cqi = match modulation.cqi(reported + self.offset) {
            0 => modulation.cqi(reported).min(1), // errors alone do not put it out of range
            cqi => cqi,
        };
        (cqi > 0).then(|| Scheme { cqi, mcs: modulation.mcs_of(cqi) })
    }

    /// Whether a HARQ process is free in `slot`, of so many; otherwise the first slot in which one becomes free, or none if that
    /// is after a repetition.
    pub fn process(&self, slot: u64, processes: usize) -> Result<(), Option<u64>> {
        let used = self.processes.len() + self.repeating;
        let Some(place) = used.checked_sub(processes) else { return Ok(()) };
        match self.processes.get(place) {
            Some(free) if *free <= slot => Ok(()),
            free => Err(free.copied()),
        }
    }

    /// Sends a block in slot `slot` and draws whether it arrives.
    pub fn attempt(
        &mut self,
        block: &TransportBlock,
        slot: u64,
        options: &CellOptions,
        modulation: &Modulation,
    ) -> bool {
        self.report(slot); // the signal is asked in the order of slots
        let above = self.signal.snr(slot) - modulation.threshold(block.scheme.cqi);
        let p = error_probability(above, block.attempt);
        let failed = p >= NO_ERRORS && self.harq.uniform() < p;
        if block.attempt == 1 {
            self.account.blocks += 1;
            self.account.cqi += block.scheme.cqi as u64;
            self.account.first_failures += u64::from(failed);
            let target = options.bler_target;
            if self.mcs.is_none() && target > 0.0 {
                self.offset += if failed { -STEP } else { STEP * target / (1.0 - target) };
                self.offset = self.offset.clamp(-MOST_OFFSET, MOST_OFFSET);
                self.choice = None;
            }
        }
        self.repeating -= usize::from(block.attempt > 1);
        if failed && block.attempt < options.attempts {
            self.repeating += 1;
        } else {
            while self.processes.front().is_some_and(|free| *free <= slot) {
                self.processes.pop_front();
            }
            self.processes.push_back(slot + options.harq_rtt);
        }
        if !failed {
            self.account.attempts[block.attempt as usize - 1] += 1;
        }
        !failed
    }

    /// No process is in use any more.
    pub fn clear_processes(&mut self) {
        self.processes.clear();
        self.repeating = 0;
    }
}
