//! Cells of mobile networks: LTE and NR. The unit of work is a slot in which somebody has data. docs/specs/cellular.md has the
//! model and what it leaves out.
//!
//! A link whose transmitter is a [`Cell`] keeps its queue, its discipline and its accounts. The cell asks the queue when it
//! fills a transport block, so the discipline decides at that time.

mod account;
mod blocks;
mod config;
mod direction;
mod lte;
mod modulation;
mod nr;
mod order;
mod schedulers;
mod slot;
#[cfg(test)]
mod tests;
mod uplink;
mod user;

pub use account::{ATTEMPTS, CellAccount, SCHEMES, UserAccount};
pub use config::{CellOptions, Drx, Handover, UserOptions};

use crate::ids::LinkId;
use crate::signal::{Signal, SignalStreams};
use crate::transmitter::Steps;
use blocks::BlockSizes;
use direction::{CellDirection, DirectionNumbers, Reporting, TransportBlock};
use engine::Stream;
use modulation::Modulation;
use schedulers::SlotScheduler;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use units::{Rate, Span, Time};
use uplink::BufferStatus;
use user::User;

/// The shared channels.
const DOWNLINK: usize = 0;
const UPLINK: usize = 1;

/// The shared channel of the downlink or of the uplink.
#[derive(Clone, Debug)]
struct SharedChannel {
    /// The directions with data.
    active: Vec<u32>,
    /// Blocks to send again, with their slots.
    repeats: VecDeque<(u64, TransportBlock)>,
    scheduler: SlotScheduler,
    /// The part of the slots that are for it.
    share: f64,
    /// For each slot of a period, how many before it are for it.
    before: Vec<u64>,
}

/// A cell with its terminals.
#[derive(Clone, Debug)]
pub struct Cell {
    options: CellOptions,
    modulation: Modulation,
    /// Resource blocks over time, and those of the present slot.
    blocks: Steps<u32>,
    total_blocks: u32,
    /// Symbols of the slots of a period, down and up.
    pattern: Vec<[u32; 2]>,
    slot: Span,
    sizes: Vec<Arc<BlockSizes>>,
    users: Vec<User>,
    directions: Vec<CellDirection>,
    channels: [SharedChannel; 2],
    /// Slots at which a direction may release packets behind a lost one.
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    /// Handovers that are still to come: their times and terminals.
    handovers: BinaryHeap<Reverse<(Time, u32)>>,
    /// Resource blocks of a group.
    group: u32,
    /// The next slot in which something is to be done, and the last one.
    next: Option<u64>,
    last: Option<u64>,
    account: CellAccount,
}

impl Cell {
    /// A cell without terminals.
    ///
    /// # Panics
    /// If [`CellOptions::check`] fails.
    pub fn new(options: CellOptions) -> Cell {
        let checked = "the options were checked";
        let pattern = options.pattern().expect(checked);
        let channel = |channel: usize| SharedChannel {
            active: Vec::new(),
            repeats: VecDeque::new(),
            scheduler: SlotScheduler::new(&options),
            before: (0..=pattern.len())
                .map(|end| pattern[..end].iter().filter(|symbols| symbols[channel] > 0).count() as u64)
                .collect(),
            share: pattern.iter().filter(|symbols| symbols[channel] > 0).count() as f64
                / pattern.len() as f64,
        };
        let blocks = options.resource_blocks().expect(checked);
        let group =
            group_size(options.is_nr(), blocks.steps.iter().map(|(_, blocks)| *blocks).max().unwrap_or(1));
        Cell {
            modulation: Modulation::new(&options),
            blocks,
            total_blocks: 0,
            channels: [channel(DOWNLINK), channel(UPLINK)],
            slot: options.slot(),
            pattern,
            options,
            sizes: Vec::new(),
            users: Vec::new(),
            directions: Vec::new(),
            timers: BinaryHeap::new(),
            handovers: BinaryHeap::new(),
            group,
            next: None,
            last: None,
            account: CellAccount::default(),
        }
    }

    /// Adds a terminal, and returns its number. Its sleep and its handovers are those of `options`.
    pub fn add_user(&mut self, options: &UserOptions) -> u32 {
        let number = self.users.len() as u32;
        let user = User::new(options.drx.clone(), options.handover.clone());
        self.handovers.extend(user.handovers().map(|at| Reverse((at, number))));
        self.users.push(user);
        number
    }

    /// Adds the direction of link `link` to a terminal, or from it if it is `up`. Returns its number.
    pub fn add_direction(
        &mut self,
        link: LinkId,
        user: u32,
        up: bool,
        options: &UserOptions,
        streams: SignalStreams,
        harq: Stream,
    ) -> u32 {
        let (number, channel) = (self.directions.len() as u32, usize::from(up));
        for symbols in self.pattern.iter().map(|symbols| symbols[channel]).filter(|symbols| *symbols > 0) {
            if !self.sizes.iter().any(|sizes| sizes.are_of(options.layers, symbols)) {
                let sizes = BlockSizes::new(&self.options, &self.modulation, options.layers, symbols);
                self.sizes.push(Arc::new(sizes));
            }
        }
        let offset = user as u64 % self.slots(self.options.sr_period).max(1);
        let signal = Signal::new(options.mean_snr(), &options.variation, self.slot, streams);
        let buffer_status = up.then(|| BufferStatus::new(offset));
        let period = self.slots(self.options.cqi_period).max(1);
        let reporting = Reporting { period, delay: self.slots(self.options.cqi_delay) };
        let numbers = DirectionNumbers { link: link.0, channel, user };
        self.directions.push(CellDirection::new(numbers, options, signal, harq, reporting, buffer_status));
        self.users[user as usize].directions[channel] = Some(number);
        number
    }

    /// The largest rate at which a direction transmits.
    pub fn peak_rate(options: &CellOptions, user: &UserOptions, up: bool) -> Rate {
        Cell::rate_at(options, user, up, f64::INFINITY)
    }

    /// The rate of a direction that has the cell to itself, at its mean SNR at the start.
    pub fn rate_alone(options: &CellOptions, user: &UserOptions, up: bool) -> Rate {
        Cell::rate_at(options, user, up, user.mean_snr().at(Time::ZERO).0)
    }

    /// The rate in all resource blocks at an SNR, dB, without repetitions.
    fn rate_at(options: &CellOptions, user: &UserOptions, up: bool, snr: f64) -> Rate {
        let cell = Cell::new(options.clone());
        let by_snr = || match cell.modulation.cqi(snr) {
            0 => None,
            cqi => Some(cell.modulation.mcs_of(cqi)),
        };
        let Some(mcs) = user.mcs.or_else(by_snr) else { return Rate::from_bps(0) };
        let blocks = cell.blocks.steps.iter().map(|(_, blocks)| *blocks).max().unwrap_or(1);
        let bytes = |symbols: u32| match symbols {
            0 => 0,
            symbols => {
                BlockSizes::new(options, &cell.modulation, user.layers, symbols).bytes(mcs, blocks) as u64
            }
        };
        let all: u64 = cell.pattern.iter().map(|symbols| bytes(symbols[usize::from(up)])).sum();
        let period = cell.slot * cell.pattern.len() as u64;
        Rate::from_bps((8.0 * all as f64 / period.seconds()) as u64)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// What it has done.
    pub fn account(&self) -> &CellAccount {
        &self.account
    }

    /// The parts of the slots of the downlink and of the uplink.
    pub fn shares(&self) -> [f64; 2] {
        [self.channels[DOWNLINK].share, self.channels[UPLINK].share]
    }

    /// What the directions have done, with the numbers of their links and whether they are up.
    pub fn directions(&self) -> impl Iterator<Item = (u32, bool, UserAccount)> {
        self.directions.iter().map(|direction| {
            let account = UserAccount { held_back: direction.order.held_back, ..direction.account.clone() };
            (direction.link, direction.channel == UPLINK, account)
        })
    }

    /// The links, and how many packets of each have left the queue and not yet the receiver.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = (u32, u64)> {
        let held = |direction: &CellDirection| {
            direction.order.outstanding() + u64::from(direction.forwarded.is_some())
        };
        self.directions.iter().map(move |direction| (direction.link, held(direction)))
    }

    /// The next slot in which something is to be done.
    pub(crate) fn next_slot(&self) -> Option<Time> {
        self.next.map(|slot| self.start(slot))
    }

    fn start(&self, slot: u64) -> Time {
        Time::ZERO + self.slot * slot
    }

    /// The first slot that does not begin before `at`.
    fn slot_from(&self, at: Time) -> u64 {
        at.ps().div_ceil(self.slot.ps())
    }

    /// A span in slots, rounded up.
    fn slots(&self, span: Span) -> u64 {
        span.ps().div_ceil(self.slot.ps())
    }

    /// Symbols of a slot for the downlink or uplink.
    fn symbols(&self, slot: u64, channel: usize) -> u32 {
        self.pattern[(slot % self.pattern.len() as u64) as usize][channel]
    }

    /// The number of slots of the downlink or uplink before `slot`.
    fn slots_before(&self, slot: u64, channel: usize) -> u64 {
        let (period, before) = (self.pattern.len() as u64, &self.channels[channel].before);
        slot / period * before[period as usize] + before[(slot % period) as usize]
    }

    /// The first slot of the downlink or uplink from `slot` on.
    fn slot_of_channel(&self, slot: u64, channel: usize) -> u64 {
        (slot..).find(|slot| self.symbols(*slot, channel) > 0).unwrap_or(slot)
    }

    fn sizes(&self, layers: u32, symbols: u32) -> &Arc<BlockSizes> {
        let sizes = self.sizes.iter().find(|sizes| sizes.are_of(layers, symbols));
        sizes.expect("each direction has added its sizes")
    }
}

/// Resource blocks of a group, in a cell with so many.
fn group_size(is_nr: bool, blocks: u32) -> u32 {
    match (is_nr, blocks) {
        (true, 145..) => 16,
        (true, 73..) => 8,
        (true, 37..) => 4,
        (true, _) => 2,
        (false, 64..) => 4,
        (false, 27..) => 3,
        (false, 11..) => 2,
        (false, _) => 1,
    }
}
