//! Adds the media that links share: Wi-Fi channels with their devices, and cells with their terminals.

use super::plan::{Plan, named_stream};
use crate::scenario::{Direction, RateVariation, Wifi, WifiQueue, WifiRate};
use engine::Stream;
use net::cellular::{Cell, SignalStreams, UserOptions};
use net::wifi::{Channel, DirectionOptions, StationScheduler};
use net::{Grants, LinkId, MediumKind, Network, Topology, Transmitter};
use std::collections::BTreeMap;

/// The numbers of media, devices and terminals by name.
#[derive(Default)]
pub(super) struct Media {
    channels: BTreeMap<String, u32>,
    cells: BTreeMap<String, u32>,
    /// Channel, node and access category to device.
    devices: BTreeMap<(u32, u32, &'static str), u32>,
    /// Of the last direction of a channel: its link, its channel, its number, and whether it is a downlink.
    last: Option<(LinkId, u32, u32, bool)>,
    /// Of the last direction of a cell: its link and its terminal.
    terminal: Option<(LinkId, u32)>,
}

impl Media {
    /// Adds a direction of a link that shares its transmitter, and returns the transmitter; none for another link. The links
    /// are added in order, forward and back.
    pub fn add(
        &mut self,
        plan: &Plan<'_>,
        topology: &Topology,
        network: &mut Network,
        link: LinkId,
        direction: &Direction,
    ) -> Option<Transmitter> {
        if let Some(rate) = direction.wifi() {
            return Some(self.add_wifi(plan, topology, network, link, rate));
        }
        if let Some(RateVariation::Grants(options)) = &direction.variation {
            let grants = Grants::new(link.0, options.clone());
            return Some(Transmitter::Medium(network.add_medium(MediumKind::Grants(Box::new(grants))), 0));
        }
        direction.cellular().map(|user| self.add_cellular(plan, topology, network, link, user))
    }

    fn add_wifi(
        &mut self,
        plan: &Plan<'_>,
        topology: &Topology,
        network: &mut Network,
        link: LinkId,
        rate: &WifiRate,
    ) -> Transmitter {
        let set = plan.scenario.wifi.iter().find(|set| set.name == rate.medium);
        let set = set.expect("the reader has checked the name of the basic service set");
        let number = *self.channels.entry(set.channel.clone()).or_insert_with(|| {
            let channel = Channel::new(set.channel.clone(), set.options.clone());
            network.add_medium(MediumKind::Wifi(Box::new(channel)))
        });
        let MediumKind::Wifi(channel) = network.medium_mut(number) else {
            unreachable!("the number is that of a channel")
        };
        let from = topology.ends(link).0;
        let downlink = topology.node_name(from) == set.ap;
        let access = rate.access.name();
        let device = *self.devices.entry((number, from.0, access)).or_insert_with(|| {
            let entity = format!("{} {access}", topology.node_name(from));
            let backoff = Stream::new(plan.seed, "wifi-backoff", &entity);
            let category = set.category(rate.access, downlink);
            channel.add_device((from.0, rate.access), category, scheduler(set, downlink), backoff)
        });
        let options = DirectionOptions {
            phy: rate.phy(set),
            snr: rate.snr,
            errors: rate.errors,
            rates: rate.control,
            weight: rate.weight,
        };
        let stream = |purpose: &str| named_stream(plan.seed, topology, link, purpose);
        let streams = [stream("wifi-errors"), stream("wifi-rates")];
        let direction = channel.add_direction(link.0, device, options, streams);
        if let Some((LinkId(before), other, first, first_is_down)) = self.last
            && (before ^ 1, other) == (link.0, number)
        {
            let (down, up) = if first_is_down { (first, direction) } else { (direction, first) };
            channel.pair(down, up);
        }
        self.last = Some((link, number, direction, downlink));
        Transmitter::Medium(number, direction)
    }

    fn add_cellular(
        &mut self,
        plan: &Plan<'_>,
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
        let MediumKind::Cell(cell) = network.medium_mut(number) else {
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
        let stream = |purpose: &str| named_stream(plan.seed, topology, link, purpose);
        let streams = SignalStreams {
            fading: stream("fading"),
            shadowing: stream("shadowing"),
            blockage: stream("blockage"),
        };
        let direction = cell.add_direction((link.0, terminal, up), user, streams, stream("harq"));
        Transmitter::Medium(number, direction)
    }
}

fn scheduler(set: &Wifi, downlink: bool) -> StationScheduler {
    match set.queue {
        WifiQueue::Airtime(quantum) if downlink => StationScheduler::Airtime { quantum },
        WifiQueue::Shared(limit) if downlink => StationScheduler::Shared { limit },
        _ => StationScheduler::RoundRobin,
    }
}
