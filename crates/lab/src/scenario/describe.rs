//! A description of the network of a scenario for drawings: nodes, links with rate, delay, queue and loss, flows.

use super::model::{Direction, FlowKind, RateVariation, Scenario};
use serde::Serialize;

/// The network of a scenario. Serialised as JSON.
#[derive(Debug, Serialize)]
pub struct NetworkDescription {
    /// Duplex links in the order of the file.
    pub links: Vec<LinkDescription>,
    /// Flows in the order of the file, without flows that are drawn from the seed.
    pub flows: Vec<FlowDescription>,
    /// Ground terminals: name, latitude and longitude in degrees.
    pub terminals: Vec<(String, f64, f64)>,
    /// Number of satellites.
    pub satellites: usize,
    /// Links from and to satellites (up, down, between satellites), if there are any.
    pub satellite_links: Vec<(&'static str, DirectionDescription)>,
    /// Radio nodes: number, and width and height of their area in metres.
    pub radio: Option<(usize, f64, f64)>,
}

/// A duplex link.
#[derive(Debug, Serialize)]
pub struct LinkDescription {
    /// The nodes at its ends.
    pub ends: [String; 2],
    /// Forward and back.
    pub directions: [DirectionDescription; 2],
}

/// One direction of a link.
#[derive(Debug, PartialEq, Serialize)]
pub struct DirectionDescription {
    /// Bits per second.
    pub rate_bps: u64,
    /// Propagation delay, s.
    pub delay_s: f64,
    /// Discipline and limit, such as "drop-tail 50p", after the way in which the rate varies, if it does.
    pub queue: String,
    /// Losses as text; empty for none.
    pub loss: String,
    /// The kind of the router in front of the link; empty for none.
    pub router: &'static str,
}

/// A flow.
#[derive(Debug, Serialize)]
pub struct FlowDescription {
    /// Its name.
    pub name: String,
    /// The node that sends data.
    pub from: String,
    /// The node that receives it.
    pub to: String,
    /// "tcp", "quic" or "udp".
    pub kind: &'static str,
    /// Controller and recovery of TCP, controller of QUIC, or the rate of a UDP source.
    pub label: String,
    /// When it starts, s.
    pub start_s: f64,
}

impl Scenario {
    /// The network of this scenario.
    pub fn describe(&self) -> NetworkDescription {
        let links = self.links.iter().map(|link| LinkDescription {
            ends: link.ends.clone(),
            directions: link.directions.each_ref().map(describe_direction),
        });
        let flows = self.flows.iter().map(|flow| {
            let label = match &flow.kind {
                FlowKind::Tcp(tcp) => format!("{}, {}", tcp.control.name(), tcp.options.recovery.name()),
                FlowKind::Quic(quic) => quic.control.name().into(),
                FlowKind::Attached(_) => "ends outside the simulation".into(),
                FlowKind::Udp { schedule, period: Some(period), .. } => match schedule[..] {
                    [(_, peak), (burst, _)] => format!("{peak} for {burst} of every {period}"),
                    _ => String::new(),
                },
                FlowKind::Udp { schedule, .. } => {
                    schedule.iter().map(|(_, rate)| rate.to_string()).collect::<Vec<_>>().join(", ")
                }
            };
            FlowDescription {
                name: flow.name.clone(),
                from: flow.from.clone(),
                to: flow.to.clone(),
                kind: flow.kind.name(),
                label,
                start_s: flow.start.seconds(),
            }
        });
        let satellites = self.satellites.as_deref();
        let transmitters = satellites.map_or(Vec::new(), |s| {
            let kinds = [("up", &s.up), ("down", &s.down), ("between satellites", &s.isl)];
            let each = kinds.map(|(name, t)| {
                let described = DirectionDescription { delay_s: f64::NAN, ..describe_direction(t) };
                (name, described)
            });
            each.into()
        });
        NetworkDescription {
            links: links.collect(),
            flows: flows.collect(),
            terminals: satellites.map_or(Vec::new(), |s| {
                s.system.terminals.iter().map(|t| (t.name.clone(), t.lat, t.lon)).collect()
            }),
            satellites: satellites.map_or(0, |s| s.system.constellation.len()),
            satellite_links: transmitters,
            radio: self.radio.as_deref().map(|r| (r.nodes, r.area[0], r.area[1])),
        }
    }
}

pub(crate) fn describe_direction(direction: &Direction) -> DirectionDescription {
    DirectionDescription {
        rate_bps: direction.rate_alone().unwrap_or(direction.rate).bps(),
        delay_s: direction.delay.seconds(),
        queue: match &direction.variation {
            None => direction.queue.label(),
            Some(RateVariation::Trace(_)) => format!("rate by a trace, {}", direction.queue.label()),
            Some(RateVariation::Steps(_)) => format!("rate in steps, {}", direction.queue.label()),
            Some(RateVariation::RandomSteps { min, max, .. }) => {
                format!("{min} to {max} in random steps, {}", direction.queue.label())
            }
            Some(RateVariation::Wifi(rate)) => {
                let name = rate.medium.as_deref().unwrap_or_default();
                format!("Wi-Fi \"{name}\", {}", direction.queue.label())
            }
            Some(RateVariation::Cellular(user)) => {
                let cell = user.medium.as_deref().unwrap_or_default();
                format!("cell \"{cell}\", peak {}, {}", direction.rate, direction.queue.label())
            }
            Some(RateVariation::Grants(_)) => format!("by grants, {}", direction.queue.label()),
            Some(RateVariation::Shaper { .. }) => format!("token bucket, {}", direction.queue.label()),
        },
        loss: direction.losses.iter().map(|loss| loss.label()).collect::<Vec<_>>().join(", "),
        router: direction.router.as_ref().map_or("", |router| router.title()),
    }
}
