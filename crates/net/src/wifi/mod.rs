//! Wi-Fi: 802.11n, ac and ax basic service sets on shared channels. The unit of work is a channel access: one PPDU with all
//! its packets. docs/wifi.md has the model and what it leaves out.
//!
//! A link whose transmitter is a [`Channel`] keeps its queue, its discipline and its accounts. The channel asks the queue
//! when a transmission begins, so the discipline decides at that time.

mod account;
mod block_ack;
mod edca;
mod errors;
mod phy;
mod rates;
mod stations;

pub use account::{AGGREGATION_CLASSES, ChannelAccount, DirectionAccount};
use block_ack::{BlockAck, Mpdu};
pub use edca::{Access, Category, CategoryOptions};
pub use errors::error_probability;
pub use phy::{Phy, Standard};
pub use rates::RateControl;
pub use stations::StationScheduler;

use crate::ids::LinkId;
use crate::qdisc::scheduled::Waiting;
use crate::transmission::{Content, MpduResult, Transmission};
use crate::turn::{Queues, Released, Turn};
use edca::Contenders;
use engine::Stream;
use phy::{SIFS, appended, eifs_without_aifs, mpdu};
use rates::Rates;
use stations::Stations;
use units::{Span, Time};

/// The options of a channel that all its devices share.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelOptions {
    /// After a collision everyone waits EIFS, not AIFS.
    pub eifs: bool,
    /// A missing block ACK is requested in an access of its own before the data are sent again.
    pub request: bool,
    /// Repetitions of an MPDU.
    pub retry_limit: u32,
    /// Data of at least so many bytes are sent after RTS and CTS.
    pub rts_threshold: u32,
    /// A station also pays for what it sends upstream (airtime scheduler).
    pub charge_both: bool,
}

/// One direction of a Wi-Fi link.
#[derive(Clone, Debug)]
pub struct DirectionOptions {
    /// Its physical layer.
    pub phy: Phy,
    /// Signal-to-noise ratio, dB.
    pub snr: f64,
    /// A fixed error probability of an MPDU instead of that by SNR.
    pub errors: Option<f64>,
    /// How the MCS is chosen.
    pub rates: RateControl,
    /// Weight of the station in the airtime scheduler.
    pub weight: f64,
}

/// A transmitting device: an access point, or a station.
#[derive(Clone, Debug)]
struct Device {
    contender: u32,
    /// The node that it is a part of, and its access category.
    owner: (u32, Access),
    /// Its directions; the number within the device is that of the station.
    directions: Vec<u32>,
    stations: Stations,
    backoff: Stream,
    /// The direction and the MCS of a PPDU whose block ACK must be requested first.
    owes_request: Option<(u32, u8)>,
    /// When its contention for the next access began.
    contends_since: Time,
}

/// A direction: a link and what is between its queue and its far end.
#[derive(Clone, Debug)]
pub(crate) struct ChannelDirection {
    pub link: u32,
    device: u32,
    station: u32,
    phy: Phy,
    snr: f64,
    errors: Option<f64>,
    /// Error probability of a full packet by MCS: (bytes, probability) of the last packet size.
    memo: [(u32, f64); 12],
    rates: Rates,
    stream: Stream,
    pub block_ack: BlockAck,
    /// The packet that did not fit in the last PPDU.
    pub held: Option<Waiting>,
    pub account: DirectionAccount,
    /// The direction back: its airtime counts for this station too.
    back: Option<u32>,
}

impl ChannelDirection {
    /// The end of a PPDU at `end`: errors, repetitions, release. Returns how many MPDUs arrived; appends the result of each to
    /// `results`, if there is one.
    fn settle(
        &mut self,
        ppdu: Ppdu,
        alone: bool,
        end: Time,
        released: &mut Vec<(u32, Time, Released)>,
        mut results: Option<&mut Vec<MpduResult>>,
    ) -> u32 {
        let sent = ppdu.mpdus.len() as u32;
        let by = (self.errors, self.snr, ppdu.mcs);
        let (memo, stream) = (&mut self.memo, &mut self.stream);
        let mut packets = Vec::new();
        let good = self.block_ack.settle(
            ppdu.mpdus,
            |mpdu| {
                let arrived = alone && survives(memo, stream, by, mpdu.packet.packet.size);
                if let Some(results) = &mut results {
                    results.push(MpduResult { number: mpdu.number, attempt: mpdu.attempts, arrived });
                }
                arrived
            },
            &mut packets,
        );
        self.rates.report(ppdu.mcs, sent, good);
        self.account.failed += (sent - good) as u64;
        for packet in packets {
            self.account.given_up += u64::from(!packet.delivered);
            self.account.delivered += u64::from(packet.delivered);
            released.push((self.link, end, packet));
        }
        good
    }
}

/// A PPDU in progress.
#[derive(Debug)]
pub(crate) struct Ppdu {
    pub direction: u32,
    pub mcs: u8,
    pub mpdus: Vec<Mpdu>,
    /// Duration of the data, and of what comes before them.
    duration: Span,
    protection: Span,
}

/// A channel with its devices.
#[derive(Clone, Debug)]
pub struct Channel {
    name: String,
    options: ChannelOptions,
    contenders: Contenders,
    devices: Vec<Device>,
    /// The devices that give way to another one of their node in this access.
    yielding: Vec<u32>,
    pub(crate) directions: Vec<ChannelDirection>,
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
            yielding: Vec::new(),
            directions: Vec::new(),
            account: ChannelAccount::default(),
        }
    }

    /// Adds a device with its access parameters, the part of a node for an access category; `scheduler` chooses among its
    /// directions. Returns its number.
    pub fn add_device(
        &mut self,
        owner: (u32, Access),
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
            owes_request: None,
            contends_since: Time::ZERO,
        });
        self.devices.len() as u32 - 1
    }

    /// Adds a direction of link `link`, which `device` transmits. Returns its number.
    pub fn add_direction(
        &mut self,
        link: u32,
        device: u32,
        options: DirectionOptions,
        streams: [Stream; 2],
    ) -> u32 {
        let number = self.directions.len() as u32;
        let owner = &mut self.devices[device as usize];
        let station = owner.directions.len() as u32;
        owner.directions.push(number);
        owner.stations.add(options.weight);
        let [errors, sampling] = streams;
        self.directions.push(ChannelDirection {
            link,
            device,
            station,
            rates: Rates::new(options.rates, &options.phy, options.snr, sampling),
            block_ack: BlockAck::new(options.phy.window, self.options.retry_limit + 1),
            phy: options.phy,
            snr: options.snr,
            errors: options.errors,
            memo: [(0, 0.0); 12],
            stream: errors,
            held: None,
            account: DirectionAccount::default(),
            back: None,
        });
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
        let ChannelDirection { device, station, .. } = self.directions[direction as usize];
        let device = &mut self.devices[device as usize];
        device.stations.arrived(station);
        if !self.contenders.waits(device.contender) {
            device.contends_since = now;
            let backoff = &mut device.backoff;
            self.contenders.join(device.contender, now, |cw| draw(backoff, cw));
        }
    }

    /// The time of the next access.
    pub(crate) fn next_access(&self) -> Option<Time> {
        self.contenders.next()
    }

    /// The next access at `now`: all devices whose turn it is transmit, of a node the one with the highest category.
    pub(crate) fn serve(&mut self, now: Time, queues: &mut dyn Queues, turn: &mut Turn) {
        let mut devices = self.contenders.begin(now); // contenders and devices have the same numbers
        devices.sort_by_key(|device| std::cmp::Reverse(self.devices[*device as usize].owner.1));
        let mut ppdus: Vec<(u32, Option<Ppdu>, Span)> = Vec::new();
        for device in devices.iter().copied() {
            if self.gives_way(device, ppdus.iter().map(|(other, ..)| *other)) {
                continue;
            }
            if let Some(request) = self.request(device) {
                ppdus.push((device, None, request));
            } else if let Some(ppdu) = self.build(device, now, queues) {
                ppdus.push((device, Some(ppdu), Span::ZERO));
            }
        }
        if ppdus.is_empty() {
            self.contenders.cancel(); // none of them had anything to send
        } else {
            self.access(now, ppdus, turn);
        }
        for device in devices {
            self.contend(device, queues);
        }
    }

    /// A device whose turn it is gives way to another one of its node that transmits: it draws a new backoff as after a failure.
    /// Returns whether it does.
    fn gives_way(&mut self, device: u32, transmitting: impl Iterator<Item = u32>) -> bool {
        let node = |device: u32| self.devices[device as usize].owner.0;
        let mut of_node = transmitting.filter(|other| node(*other) == node(device));
        let gives_way = of_node.next().is_some();
        if gives_way {
            self.yielding.push(device);
        }
        gives_way
    }

    /// Begins the PPDU of a device: chooses the direction and takes what fits. `None` if there is nothing to send.
    fn build(&mut self, device: u32, now: Time, queues: &mut dyn Queues) -> Option<Ppdu> {
        let Channel { devices, directions, options, contenders, .. } = self;
        let owner = &mut devices[device as usize];
        let ready = |station: u32| {
            let direction = &directions[owner.directions[station as usize] as usize];
            let fresh = direction.held.is_some() || queues.waiting(direction.link) > 0;
            direction.block_ack.has_again() || fresh && direction.block_ack.has_room(None)
        };
        let station = owner.stations.pick(ready)?;
        let number = owner.directions[station as usize];
        let direction = &mut directions[number as usize];
        let mcs = direction.rates.choose(now, &direction.phy);
        let phy = &direction.phy;
        let txop = contenders.category(owner.contender).txop;
        let longest = if txop > Span::ZERO {
            let answer = SIFS + phy.answer(mcs);
            phy.longest.min(if txop > answer { txop - answer } else { Span::ZERO })
        } else {
            phy.longest
        };
        let protection =
            |bytes: u32| if bytes >= options.rts_threshold { phy.protection(mcs).0 } else { Span::ZERO };
        let fits = |bytes: u32| {
            let before = if txop > Span::ZERO { protection(bytes) } else { Span::ZERO };
            bytes <= phy.longest_ampdu() && before + phy.ppdu(mcs, bytes) <= longest
        };
        let mut mpdus: Vec<Mpdu> = Vec::new();
        let (mut bytes, mut fresh) = (0, 0);
        while (mpdus.len() as u32) < phy.window {
            let again = direction.block_ack.first_again().map(|mpdu| mpdu.packet.packet.size);
            let oldest = mpdus.first().map(|mpdu| mpdu.number);
            let packet = match again {
                Some(_) => None,
                None if direction.block_ack.has_room(oldest) => {
                    let Some(packet) = direction.held.take().or_else(|| queues.next(direction.link)) else {
                        break;
                    };
                    Some(packet)
                }
                None => break,
            };
            let size = packet.as_ref().map_or(again.unwrap_or(0), |packet| packet.packet.size);
            let longer = if phy.window == 1 { mpdu(size) } else { appended(bytes, mpdu(size)) };
            if !mpdus.is_empty() && !fits(longer) {
                direction.held = packet.or(direction.held.take());
                break;
            }
            bytes = longer;
            match packet {
                Some(packet) => {
                    fresh += 1;
                    mpdus.push(direction.block_ack.number(packet));
                }
                None => mpdus.extend(direction.block_ack.take_again()),
            }
        }
        owner.stations.left(station, fresh);
        if mpdus.is_empty() {
            return None;
        }
        let protection = protection(bytes);
        Some(Ppdu { direction: number, mcs, duration: phy.ppdu(mcs, bytes), mpdus, protection })
    }

    /// The device owes a request for a block ACK: its duration.
    fn request(&self, device: u32) -> Option<Span> {
        let (direction, mcs) = self.devices[device as usize].owes_request?;
        Some(self.directions[direction as usize].phy.request(mcs))
    }

    /// An access at `now` with these PPDUs; a device without one sent a request of that duration.
    fn access(&mut self, now: Time, ppdus: Vec<(u32, Option<Ppdu>, Span)>, turn: &mut Turn) {
        let alone = ppdus.len() == 1;
        self.account.accesses += 1;
        self.account.collisions += u64::from(!alone);
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
        let yielding = std::mem::take(&mut self.yielding).into_iter().map(|device| (device, false));
        for (device, succeeded) in transmitters.into_iter().map(|device| (device, answered)).chain(yielding) {
            let Device { contender, backoff, .. } = &mut self.devices[device as usize];
            if succeeded {
                self.contenders.succeeded(*contender);
            } else {
                self.contenders.failed(*contender, self.options.retry_limit);
            }
            self.contenders.draw(*contender, |cw| draw(backoff, cw));
        }
    }

    /// A device has requested a block ACK, `alone` or in a collision. Returns how long it uses the channel.
    fn requested(&mut self, now: Time, device: u32, request: Span, alone: bool, turn: &mut Turn) -> Span {
        let owed = &mut self.devices[device as usize].owes_request;
        let Some((number, mcs)) = *owed else { return request };
        let mut used = request;
        if alone {
            *owed = None;
            used = request + SIFS + self.directions[number as usize].phy.answer(mcs);
        }
        let link = LinkId(self.directions[number as usize].link);
        let content = Content::BlockAckRequest { collided: !alone };
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
        let waited = now.since(self.devices[device as usize].contends_since);
        let number = ppdu.direction;
        let direction = &mut self.directions[number as usize];
        direction.account.access_delay = direction.account.access_delay + waited;
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
            self.devices[device as usize].owes_request = Some((number, mcs));
        }
        let used = length + answer;
        let (link, content) = (LinkId(direction.link), Content::Ppdu { mcs, data, collided: !alone, mpdus });
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

    /// After an access: the device goes on contending if it has something to send.
    fn contend(&mut self, device: u32, queues: &dyn Queues) {
        let owner = &mut self.devices[device as usize];
        let pending = |number: &u32| {
            let direction = &self.directions[*number as usize];
            direction.held.is_some() || direction.block_ack.has_again() || queues.waiting(direction.link) > 0
        };
        if owner.directions.iter().any(pending) || owner.owes_request.is_some() {
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

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the channel has done.
    pub fn account(&self) -> &ChannelAccount {
        &self.account
    }

    /// What the directions have done, with the numbers of their links.
    pub fn directions(&self) -> impl Iterator<Item = (u32, &DirectionAccount)> {
        self.directions.iter().map(|direction| (direction.link, &direction.account))
    }
}

/// A backoff from 0 to `cw` slots.
fn draw(stream: &mut Stream, cw: u32) -> u32 {
    (stream.uniform() * (cw + 1) as f64) as u32
}

/// Draws whether an MPDU with a packet of `size` bytes arrives.
fn survives(
    memo: &mut [(u32, f64); 12],
    stream: &mut Stream,
    (errors, snr, mcs): (Option<f64>, f64, u8),
    size: u32,
) -> bool {
    let p = errors.unwrap_or_else(|| {
        let known = &mut memo[mcs as usize];
        if known.0 != size {
            *known = (size, error_probability(snr, mcs, mpdu(size)));
        }
        known.1
    });
    // Below the resolution of a draw there are no errors.
    p < f64::EPSILON / 2.0 || stream.uniform() >= p
}
