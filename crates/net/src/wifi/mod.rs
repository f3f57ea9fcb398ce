//! Wi-Fi: 802.11n, ac and ax basic service sets on shared channels. The unit of work is a channel access: one PPDU with all
//! its packets. docs/specs/wifi.md has the model and what it leaves out.
//!
//! A link whose transmitter is a [`Channel`] keeps its queue, its discipline and its accounts. The channel asks the queue
//! when a transmission begins, so the discipline decides at that time.

mod account;
mod block_ack;
mod config;
mod direction;
mod edca;
mod errors;
mod phy;
mod ppdu;
mod rates;
mod stations;

pub use crate::transmission::Access;
pub use account::{AGGREGATION_CLASSES, ChannelAccount, DirectionAccount};
pub use config::{ChannelOptions, DirectionOptions};
use direction::ChannelDirection;
pub use direction::{DirectionPlace, DirectionStreams};
pub use edca::{Category, CategoryOptions};
pub use errors::error_probability;
pub use phy::{Phy, Standard};
pub use rates::RateControl;
pub use stations::StationScheduler;

use crate::ids::LinkId;
use crate::signal::{Signal, SignalStreams};
use crate::transmission::{Content, Transmission};
use crate::turn::{Queues, Turn};
use edca::Contenders;
use engine::Stream;
use phy::{SIFS, eifs_without_aifs};
use ppdu::{Ppdu, Room};
use stations::Stations;
use units::{Span, Time};

/// For so long the signal at a receiver stays the same.
const SIGNAL_SLOT: Span = Span::from_ms(1);

/// What a device is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceOwner {
    /// The number of its node.
    pub node: u32,
    /// Its access category.
    pub access: Access,
}

/// A transmitting device: an access point, or a station.
#[derive(Clone, Debug)]
struct Device {
    contender: u32,
    owner: DeviceOwner,
    /// Its directions; the number within the device is that of the station.
    directions: Vec<u32>,
    stations: Stations,
    backoff: Stream,
    /// The direction and the MCS of a PPDU whose block ACK must be requested first.
    pending_request: Option<(u32, u8)>,
    /// When its contention for the next access began.
    contends_since: Time,
}

/// A device may transmit without contention.
#[derive(Clone, Copy, Debug)]
struct Txop {
    device: u32,
    /// When its next PPDU begins, and when the last one must have ended.
    next: Time,
    end: Time,
}

/// A channel with its devices.
#[derive(Clone, Debug)]
pub struct Channel {
    name: String,
    options: ChannelOptions,
    contenders: Contenders,
    devices: Vec<Device>,
    /// The devices that collide with one of a higher category of their node in this access.
    internal_collisions: Vec<u32>,
    /// The device that may transmit again without contention.
    txop: Option<Txop>,
    pub(crate) directions: Vec<ChannelDirection>,
    /// The signals at receivers; the access categories of a direction have one together.
    signals: Vec<Signal>,
    account: ChannelAccount,
}

impl Channel {
    /// A channel without devices.
    pub fn new(name: String, options: ChannelOptions) -> Channel {
        Channel {
            name,
            options,
            contenders: Contenders::default(),
            devices: Vec::new(),
            internal_collisions: Vec::new(),
            txop: None,
            directions: Vec::new(),
            signals: Vec::new(),
            account: ChannelAccount::default(),
        }
    }

    /// Adds a device with its access parameters, the part of a node for an access category; `scheduler` chooses among its
    /// directions. Returns its number.
    pub fn add_device(
        &mut self,
        owner: DeviceOwner,
        category: Category,
        scheduler: StationScheduler,
        backoff: Stream,
    ) -> u32 {
        let contender = self.contenders.add(category);
        self.devices.push(Device {
            contender,
            owner,
            directions: Vec::new(),
            stations: Stations::new(scheduler),
            backoff,
            pending_request: None,
            contends_since: Time::ZERO,
        });
        self.devices.len() as u32 - 1
    }

    /// Adds the signal of a direction of a link, and returns its number.
    pub fn add_signal(&mut self, options: &DirectionOptions, streams: SignalStreams) -> usize {
        self.signals.push(Signal::new(options.mean_snr(), &options.variation, SIGNAL_SLOT, streams));
        self.signals.len() - 1
    }

    /// Adds the packets of one access category of a link. The categories of a link follow each other. Returns the number of the
    /// direction.
    pub fn add_direction(
        &mut self,
        place: DirectionPlace,
        options: &DirectionOptions,
        phy: Phy,
        streams: DirectionStreams,
    ) -> u32 {
        let number = self.directions.len() as u32;
        let owner = &mut self.devices[place.device as usize];
        let station = owner.directions.len() as u32;
        owner.directions.push(number);
        owner.stations.add(options.weight);
        let attempts = self.options.retry_limit + 1;
        self.directions.push(ChannelDirection::new(place, station, options, phy, attempts, streams));
        number
    }

    /// Two directions belong to one station.
    pub fn pair(&mut self, down: u32, up: u32) {
        self.directions[up as usize].back = Some(down);
    }

    /// Whether a shared queue has no room for a packet of `direction`.
    pub(crate) fn refuses(&self, direction: u32) -> bool {
        self.devices[self.directions[direction as usize].device as usize].stations.full()
    }

    /// A packet of `direction` waits.
    pub(crate) fn arrived(&mut self, direction: u32, now: Time) {
        let ChannelDirection { device: number, station, .. } = self.directions[direction as usize];
        let device = &mut self.devices[number as usize];
        device.stations.arrived(station);
        let transmits = self.txop.is_some_and(|txop| txop.device == number);
        if !transmits && !self.contenders.waits(device.contender) {
            device.contends_since = now;
            let backoff = &mut device.backoff;
            self.contenders.join(device.contender, now, |cw| draw(backoff, cw));
        }
    }

    /// The time of the next access.
    pub(crate) fn next_access(&self) -> Option<Time> {
        // SIFS is shorter than any AIFS.
        self.txop.map(|txop| txop.next).or_else(|| self.contenders.next())
    }

    /// The next access at `now`: all devices whose turn it is transmit, of a node the one with the highest category.
    pub(crate) fn serve(&mut self, now: Time, queues: &mut dyn Queues, turn: &mut Turn) {
        if let Some(txop) = self.txop.take() {
            return self.transmit_again(now, txop, queues, turn);
        }
        let mut devices = self.contenders.begin(now); // contenders and devices have the same numbers
        devices.sort_by_key(|device| std::cmp::Reverse(self.devices[*device as usize].owner.access));
        let mut ppdus: Vec<(u32, Option<Ppdu>, Span)> = Vec::new();
        for device in devices.iter().copied() {
            if self.collides_internally(device, ppdus.iter().map(|(other, ..)| *other)) {
                continue;
            }
            if let Some(request) = self.request(device) {
                ppdus.push((device, None, request));
            } else if let Some(ppdu) = self.build(device, now, None, queues) {
                let waited = now.since(self.devices[device as usize].contends_since);
                self.directions[ppdu.direction as usize].account.accessed(waited);
                ppdus.push((device, Some(ppdu), Span::ZERO));
            }
        }
        if ppdus.is_empty() {
            self.contenders.cancel(); // none of them had anything to send
        } else {
            self.account.accesses += 1;
            self.account.collisions += u64::from(ppdus.len() > 1);
            self.access(now, ppdus, None, turn);
        }
        for device in devices {
            self.contend(device, queues);
        }
    }

    /// The device that has a TXOP transmits its next PPDU at `now`, or contends if it has none that fits.
    fn transmit_again(&mut self, now: Time, txop: Txop, queues: &mut dyn Queues, turn: &mut Turn) {
        let Txop { device, end, .. } = txop;
        if let Some(ppdu) = self.build(device, now, Some(end.since(now)), queues) {
            self.access(now, vec![(device, Some(ppdu), Span::ZERO)], Some(end), turn);
        } else {
            self.draw_backoff(device);
        }
        self.contend(device, queues);
    }

    /// Whether another device of its node transmits, of a higher category: then the device draws a new backoff as after a failure.
    fn collides_internally(&mut self, device: u32, transmitting: impl Iterator<Item = u32>) -> bool {
        let node = |device: u32| self.devices[device as usize].owner.node;
        let mut of_node = transmitting.filter(|other| node(*other) == node(device));
        let collides = of_node.next().is_some();
        if collides {
            self.internal_collisions.push(device);
        }
        collides
    }

    /// Begins the PPDU of a device: chooses the direction and takes what fits; `left`: for how long it may transmit, if this
    /// is not its first PPDU. `None` if there is nothing to send.
    fn build(&mut self, device: u32, now: Time, left: Option<Span>, queues: &mut dyn Queues) -> Option<Ppdu> {
        let Channel { devices, directions, signals, options, contenders, .. } = self;
        let owner = &mut devices[device as usize];
        let ready = |station: u32| directions[owner.directions[station as usize] as usize].is_ready(queues);
        let station = owner.stations.pick(ready)?;
        let number = owner.directions[station as usize];
        let direction = &mut directions[number as usize];
        let snr = signals[direction.signal].snr(now.ps() / SIGNAL_SLOT.ps());
        let mcs = direction.choose_rate(now, snr);
        let txop = contenders.category(owner.contender).txop;
        let room = Room {
            mcs,
            longest: direction.phy.longest,
            txop: left.or((txop > Span::ZERO).then_some(txop)),
            rts_threshold: if left.is_some() { u32::MAX } else { options.rts_threshold },
            first: left.is_none(),
        };
        let (mpdus, bytes, fresh) = direction.fill(&room, queues);
        owner.stations.left(station, fresh);
        if mpdus.is_empty() {
            return None;
        }
        let protection = room.protection(&direction.phy, bytes);
        let duration = direction.phy.ppdu(mcs, bytes);
        Some(Ppdu { direction: number, mcs, duration, mpdus, protection })
    }

    /// The duration of the request for a block ACK that a device must send first, if any.
    fn request(&self, device: u32) -> Option<Span> {
        let (direction, mcs) = self.devices[device as usize].pending_request?;
        Some(self.directions[direction as usize].phy.request(mcs))
    }

    /// Transmissions at `now` with these PPDUs; a device without one sent a request of that duration. `txop`: the end of the
    /// TXOP of its device, if it has begun before.
    fn access(
        &mut self,
        now: Time,
        ppdus: Vec<(u32, Option<Ppdu>, Span)>,
        txop: Option<Time>,
        turn: &mut Turn,
    ) {
        let alone = ppdus.len() == 1;
        let (mut idle, mut answered) = (now, false);
        let mut transmitters = Vec::with_capacity(ppdus.len());
        for (device, ppdu, request) in ppdus {
            transmitters.push(device);
            let used = match ppdu {
                Some(ppdu) => {
                    let (used, arrived) = self.transmit(now, device, ppdu, alone, turn);
                    answered |= arrived;
                    used
                }
                None => {
                    // The receiver answers with what it has.
                    answered |= alone;
                    self.requested(now, device, request, alone, turn)
                }
            };
            idle = idle.max(now + used);
        }
        self.account.busy = self.account.busy + idle.since(now);
        if !answered && self.options.eifs {
            idle += eifs_without_aifs();
        }
        self.contenders.set_idle(idle);
        let internal_collisions =
            std::mem::take(&mut self.internal_collisions).into_iter().map(|device| (device, false));
        for (device, succeeded) in
            transmitters.into_iter().map(|device| (device, answered)).chain(internal_collisions)
        {
            let Device { contender, .. } = &self.devices[device as usize];
            if succeeded {
                self.contenders.succeeded(*contender);
                let limit = self.contenders.category(*contender).txop;
                let (next, end) = (idle + SIFS, txop.unwrap_or(now + limit));
                if alone && limit > Span::ZERO && next < end {
                    self.txop = Some(Txop { device, next, end });
                    continue;
                }
            } else {
                self.contenders.failed(*contender, self.options.retry_limit);
            }
            self.draw_backoff(device);
        }
    }

    /// Draws the backoff of a device after its transmissions.
    fn draw_backoff(&mut self, device: u32) {
        let Device { contender, backoff, .. } = &mut self.devices[device as usize];
        self.contenders.draw(*contender, |cw| draw(backoff, cw));
    }

    /// A device has requested a block ACK, `alone` or in a collision. Returns how long it uses the channel.
    fn requested(&mut self, now: Time, device: u32, request: Span, alone: bool, turn: &mut Turn) -> Span {
        let pending = &mut self.devices[device as usize].pending_request;
        let Some((number, mcs)) = *pending else { return request };
        let mut used = request;
        if alone {
            *pending = None;
            used = request + SIFS + self.directions[number as usize].phy.answer(mcs);
        }
        let link = LinkId(self.directions[number as usize].link);
        let access = self.devices[device as usize].owner.access;
        let content = Content::BlockAckRequest { access, collided: !alone };
        turn.transmitted(|| Transmission { link, begin: now, end: now + used, content });
        self.charge(number, used, turn);
        used
    }

    /// A direction has used the channel for `airtime`: in its account, for its link, and for its station.
    fn charge(&mut self, number: u32, airtime: Span, turn: &mut Turn) {
        let direction = &mut self.directions[number as usize];
        direction.account.airtime = direction.account.airtime + airtime;
        turn.usage.push((direction.link, airtime));
        self.devices[direction.device as usize].stations.charge(direction.station, airtime);
    }

    /// A device transmits a PPDU at `now`, `alone` or in a collision. Returns how long it uses the channel, with the answer,
    /// and whether there is an answer.
    fn transmit(&mut self, now: Time, device: u32, ppdu: Ppdu, alone: bool, turn: &mut Turn) -> (Span, bool) {
        let number = ppdu.direction;
        let direction = &mut self.directions[number as usize];
        direction.account.collisions += u64::from(!alone);
        let protected = ppdu.protection > Span::ZERO;
        if alone || !protected {
            direction.account.transmitted(ppdu.mpdus.len() as u32, ppdu.mcs);
        }
        // In a collision there is no CTS, so an RTS is all that is lost.
        let length = match (alone, protected) {
            (false, true) => direction.phy.protection(ppdu.mcs).1,
            _ => ppdu.protection + ppdu.duration,
        };
        let (end, mcs, data) = (now + length, ppdu.mcs, ppdu.duration);
        let mut mpdus = Vec::new();
        let good = if alone || !protected {
            let results = turn.transmissions.is_some().then_some(&mut mpdus);
            direction.settle(ppdu, alone, end, &mut turn.released, results)
        } else {
            direction.block_ack.put_back(ppdu.mpdus);
            0
        };
        let answer = if good > 0 { SIFS + direction.phy.answer(mcs) } else { Span::ZERO };
        if good == 0 && self.options.request && !protected && direction.phy.window > 1 {
            self.devices[device as usize].pending_request = Some((number, mcs));
        }
        let used = length + answer;
        let access = self.devices[device as usize].owner.access;
        let (link, content) =
            (LinkId(direction.link), Content::Ppdu { access, mcs, data, collided: !alone, mpdus });
        turn.transmitted(|| Transmission { link, begin: now, end: now + used, content });
        let (station, back) = (direction.station, direction.back);
        self.charge(number, used, turn);
        self.devices[device as usize].stations.served(station);
        if self.options.charge_both
            && let Some(down) = back
        {
            let ChannelDirection { device, station, .. } = self.directions[down as usize];
            self.devices[device as usize].stations.charge_waiting(station, used);
        }
        (used, good > 0)
    }

    /// After an access: the device goes on contending if it has something to send, and no TXOP.
    fn contend(&mut self, device: u32, queues: &dyn Queues) {
        if self.txop.is_some_and(|txop| txop.device == device) {
            return;
        }
        let owner = &mut self.devices[device as usize];
        let pending = |number: &u32| self.directions[*number as usize].has_data(queues);
        if owner.directions.iter().any(pending) || owner.pending_request.is_some() {
            owner.contends_since = self.contenders.idle_from();
            self.contenders.enter(owner.contender);
        }
    }

    /// Packets of link `link` that have left its queue and not yet the receiver.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = (u32, u64)> {
        let of = |direction: &ChannelDirection| {
            (direction.link, direction.block_ack.outstanding() + u64::from(direction.held.is_some()))
        };
        self.directions.iter().map(of)
    }

    /// The links whose packets it sends.
    pub(crate) fn links(&self) -> impl Iterator<Item = u32> {
        self.directions.iter().filter(|direction| direction.place == 0).map(|direction| direction.link)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the channel has done.
    pub fn account(&self) -> &ChannelAccount {
        &self.account
    }

    /// What the directions have done, with the numbers of their links and their access categories.
    pub fn directions(&self) -> impl Iterator<Item = (u32, Access, &DirectionAccount)> {
        self.directions.iter().map(|direction| {
            let access = self.devices[direction.device as usize].owner.access;
            (direction.link, access, &direction.account)
        })
    }
}

/// A backoff from 0 to `cw` slots.
fn draw(stream: &mut Stream, cw: u32) -> u32 {
    (stream.uniform() * (cw + 1) as f64) as u32
}
