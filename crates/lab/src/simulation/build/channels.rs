//! Adds the Wi-Fi channels and their devices.

use super::plan::{Plan, named_stream};
use crate::scenario::{Wifi, WifiQueue, WifiRate};
use engine::Stream;
use net::wifi::{DirectionOptions, StationScheduler};
use net::{LinkId, Network, Topology, Transmitter};
use std::collections::BTreeMap;

/// The numbers of channels and devices by name.
#[derive(Default)]
pub(super) struct Channels {
    channels: BTreeMap<String, u32>,
    /// Channel, node and access category to device.
    devices: BTreeMap<(u32, u32, &'static str), u32>,
    /// Of the last link: its channel and its direction.
    last: Option<(LinkId, u32, u32, bool)>,
}

impl Channels {
    /// Adds the direction of a Wi-Fi link and returns its transmitter. The links are added in order, forward and back.
    pub fn add(
        &mut self,
        plan: &Plan<'_>,
        topology: &Topology,
        network: &mut Network,
        link: LinkId,
        rate: &WifiRate,
    ) -> Transmitter {
        let set = plan.scenario.wifi.iter().find(|set| set.name == rate.medium);
        let set = set.expect("the reader has checked the name of the basic service set");
        let known = self.channels.get(&set.channel).copied();
        let channel = known.unwrap_or_else(|| network.add_channel(&set.channel, set.options.clone()));
        self.channels.insert(set.channel.clone(), channel);
        let from = topology.ends(link).0;
        let downlink = topology.node_name(from) == set.ap;
        let access = rate.access.name();
        let device = *self.devices.entry((channel, from.0, access)).or_insert_with(|| {
            let entity = format!("{} {access}", topology.node_name(from));
            let backoff = Stream::new(plan.seed, "wifi-backoff", &entity);
            let category = rate.access.category(downlink);
            network.add_channel_device(
                channel,
                (from.0, rate.access),
                category,
                scheduler(set, downlink),
                backoff,
            )
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
        let direction = network.add_channel_direction(channel, device, link, options, streams);
        if let Some((LinkId(before), other, first, first_is_down)) = self.last
            && (before ^ 1, other) == (link.0, channel)
        {
            let (down, up) = if first_is_down { (first, direction) } else { (direction, first) };
            network.pair_channel_directions(channel, down, up);
        }
        self.last = Some((link, channel, direction, downlink));
        Transmitter::Channel(channel, direction)
    }
}

fn scheduler(set: &Wifi, downlink: bool) -> StationScheduler {
    match set.queue {
        WifiQueue::Airtime(quantum) if downlink => StationScheduler::Airtime { quantum },
        WifiQueue::Shared(limit) if downlink => StationScheduler::Shared { limit },
        _ => StationScheduler::RoundRobin,
    }
}
