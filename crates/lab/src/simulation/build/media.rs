//! Adds the media that links share: Wi-Fi channels with their devices, and cells with their terminals.

use super::plan::{BuildPlan, Layout, named_stream};
use crate::scenario::paths::FlowPath;
use crate::scenario::{Direction, Flow, FlowKind, RateVariation, Wifi, WifiQueue};
use engine::Stream;
use net::cellular::{Cell, UserOptions};
use net::qdisc::scheduled::Scheduler;
use net::wifi::{
    Access, Channel, DeviceOwner, DirectionOptions, DirectionPlace, DirectionStreams, StationScheduler,
};
use net::{Grants, LinkId, MediumDirection, MediumKind, Network, SignalStreams, Topology, Transmitter};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The numbers of media, devices and terminals by name.
#[derive(Default)]
pub(super) struct Media {
    channels: BTreeMap<String, u32>,
    cells: BTreeMap<String, u32>,
    /// Channel, node and access category to device.
    devices: BTreeMap<(u32, u32, &'static str), u32>,
    /// The last direction of a channel.
    last: Option<WifiLink>,
    /// Of the last direction of a cell: its link and its terminal.
    terminal: Option<(LinkId, u32)>,
}

/// A direction of a Wi-Fi link on its channel.
struct WifiLink {
    link: LinkId,
    channel: u32,
    /// The number of its first access category on the channel.
    first: u32,
    categories: Vec<Access>,
}

impl WifiLink {
    fn is_reverse_of(&self, other: &WifiLink) -> bool {
        (self.link.0 ^ 1, self.channel) == (other.link.0, other.channel)
    }
}

/// The access categories of a direction of a link: that of the link, then others of flows over it.
pub(super) struct Categories {
    accesses: Vec<Access>,
    /// Of each flow, by number, the place of its category.
    places: Arc<[u8]>,
}

impl Categories {
    /// The categories of link `link`, whose packets have category `default` if their flows have none.
    fn new(plan: &BuildPlan<'_>, layout: &Layout<'_>, link: LinkId, default: Access) -> Categories {
        let flows = || plan.numbered.iter().map(|index| &plan.scenario.flows[*index]);
        if flows().all(|flow| flow.access.is_none_or(|access| access == default)) {
            return Categories { accesses: vec![default], places: Arc::default() };
        }
        let category = |(flow, pair): (&Flow, &[FlowPath])| {
            // No packet of UDP takes the path back.
            let paths = if matches!(flow.kind, FlowKind::Udp { .. }) { &pair[..1] } else { pair };
            let crosses = paths.iter().flat_map(FlowPath::links).any(|other| *other == link);
            flow.access.filter(|_| crosses).unwrap_or(default)
        };
        let of_flows: Vec<Access> = flows().zip(layout.paths.chunks_exact(2)).map(category).collect();
        let others = Access::ALL.iter().map(|(access, _)| *access);
        let others = others.filter(|access| *access != default && of_flows.contains(access));
        let accesses: Vec<Access> = std::iter::once(default).chain(others).collect();
        let place = |access: &Access| accesses.iter().position(|other| other == access).unwrap_or(0) as u8;
        Categories { places: of_flows.iter().map(place).collect(), accesses }
    }

    /// Their number.
    pub fn count(&self) -> u64 {
        self.accesses.len() as u64
    }

    /// The queues of a direction; `queue` builds one with the streams of random numbers that it names.
    pub fn queues(
        &self,
        stream: &dyn Fn(&str) -> Stream,
        queue: impl Fn(&dyn Fn(&str) -> Stream) -> Scheduler,
    ) -> Scheduler {
        let of = |place: usize| queue(&|purpose| stream(&self.purpose(purpose, place)));
        Scheduler::for_categories((0..self.accesses.len()).map(of).collect(), Arc::clone(&self.places))
    }

    /// The name of a stream for a category.
    fn purpose(&self, purpose: &str, place: usize) -> String {
        match place {
            0 => purpose.into(),
            _ => format!("{purpose} {}", self.accesses[place].name()),
        }
    }
}

impl Media {
    /// Adds a direction of a link that shares its transmitter, and returns the transmitter and the access categories; none for
    /// another link. The links are added in order, forward and back.
    pub fn add(
        &mut self,
        plan: &BuildPlan<'_>,
        layout: &Layout<'_>,
        network: &mut Network,
        link: LinkId,
        direction: &Direction,
    ) -> Option<(Transmitter, Categories)> {
        if let Some(rate) = direction.wifi() {
            let categories = Categories::new(plan, layout, link, rate.access);
            let transmitter = self.add_wifi(plan, &layout.topology, network, link, rate, &categories);
            return Some((transmitter, categories));
        }
        let transmitter = match &direction.variation {
            Some(RateVariation::Grants(options)) => {
                let grants = MediumKind::Grants(Box::new(Grants::new(link.0, options.clone())));
                Transmitter::Medium(MediumDirection { medium: network.add_medium(grants), first: 0 })
            }
            Some(RateVariation::Cellular(user)) => {
                self.add_cellular(plan, &layout.topology, network, link, user)
            }
            _ => return None,
        };
        Some((transmitter, Categories { accesses: vec![Access::BestEffort], places: Arc::default() }))
    }

    fn add_wifi(
        &mut self,
        plan: &BuildPlan<'_>,
        topology: &Topology,
        network: &mut Network,
        link: LinkId,
        rate: &DirectionOptions,
        categories: &Categories,
    ) -> Transmitter {
        let set =
            plan.scenario.wifi_set(rate).expect("the reader has checked the name of the basic service set");
        let number = *self.channels.entry(set.channel.clone()).or_insert_with(|| {
            let channel = Channel::new(set.channel.clone(), set.options.clone());
            network.add_medium(MediumKind::Wifi(Box::new(channel)))
        });
        let MediumKind::Wifi(channel) = &mut network.media[number as usize].kind else {
            unreachable!("the number is that of a channel")
        };
        let from = topology.ends(link).0;
        let downlink = topology.node_name(from) == set.ap;
        let signal = channel.add_signal(rate, signal_streams(plan, topology, link));
        let mut first = None;
        for (place, access) in categories.accesses.iter().enumerate() {
            let device = *self.devices.entry((number, from.0, access.name())).or_insert_with(|| {
                let entity = format!("{} {}", topology.node_name(from), access.name());
                let backoff = Stream::new(plan.seed, "wifi-backoff", &entity);
                let category = set.category(*access, downlink);
                let owner = DeviceOwner { node: from.0, access: *access };
                channel.add_device(owner, category, scheduler(set, downlink), backoff)
            });
            let stream =
                |purpose: &str| named_stream(plan.seed, topology, link, &categories.purpose(purpose, place));
            let streams = DirectionStreams { errors: stream("wifi-errors"), rates: stream("wifi-rates") };
            let place = DirectionPlace { link, place, device, signal };
            let direction = channel.add_direction(place, rate, set.phy_of(rate), streams);
            first.get_or_insert(direction);
        }
        let first = first.unwrap_or_else(|| unreachable!("a link has its category"));
        let this = WifiLink { link, channel: number, first, categories: categories.accesses.clone() };
        if let Some(other) = self.last.take().filter(|other| other.is_reverse_of(&this)) {
            let (down, up) = if downlink { (&this, &other) } else { (&other, &this) };
            for (place, access) in up.categories.iter().enumerate() {
                let back = down.categories.iter().position(|of_down| of_down == access).unwrap_or(0);
                channel.pair(down.first + back as u32, up.first + place as u32);
            }
        }
        self.last = Some(this);
        Transmitter::Medium(MediumDirection { medium: number, first })
    }

    fn add_cellular(
        &mut self,
        plan: &BuildPlan<'_>,
        topology: &Topology,
        network: &mut Network,
        link: LinkId,
        user: &UserOptions,
    ) -> Transmitter {
        let name = user.medium.as_deref().unwrap_or_default();
        let options = plan.scenario.cells.iter().find(|cell| cell.name == name);
        let options = options.expect("the reader has checked the name of the cell");
        let number = *self
            .cells
            .entry(name.into())
            .or_insert_with(|| network.add_medium(MediumKind::Cell(Box::new(Cell::new(options.clone())))));
        let MediumKind::Cell(cell) = &mut network.media[number as usize].kind else {
            unreachable!("the number is that of a cell")
        };
        let up = topology.node_name(topology.ends(link).0) != options.station;
        let terminal = match self.terminal {
            Some((before, terminal)) if before.0 ^ 1 == link.0 => terminal,
            _ => {
                let other =
                    plan.scenario.links[link.0 as usize / 2].directions[1 - link.0 as usize % 2].cellular();
                cell.add_user(if up { other.unwrap_or(user) } else { user })
            }
        };
        self.terminal = Some((link, terminal));
        let streams = signal_streams(plan, topology, link);
        let harq = named_stream(plan.seed, topology, link, "harq");
        let direction = cell.add_direction(link, terminal, up, user, streams, harq);
        Transmitter::Medium(MediumDirection { medium: number, first: direction })
    }
}

fn scheduler(set: &Wifi, downlink: bool) -> StationScheduler {
    match set.queue {
        WifiQueue::Airtime(quantum) if downlink => StationScheduler::Airtime { quantum },
        WifiQueue::Shared(limit) if downlink => StationScheduler::Shared { limit },
        _ => StationScheduler::RoundRobin,
    }
}

/// The streams of random numbers of the signal of a direction.
fn signal_streams(plan: &BuildPlan<'_>, topology: &Topology, link: LinkId) -> SignalStreams {
    let stream = |purpose: &str| named_stream(plan.seed, topology, link, purpose);
    SignalStreams { fading: stream("fading"), shadowing: stream("shadowing"), blockage: stream("blockage") }
}
