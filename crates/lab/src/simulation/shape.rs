//! What the numbers in the logs of a run stand for.

use super::per_flow::PerFlow;
use super::quic::QuicEndpoints;
use net::{Medium, NodeId, Topology};
use transport::Sender;

/// The links and flows of a run, by their numbers in its logs.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Names of the links.
    pub links: Vec<String>,
    /// For each link, the nodes at its begin and its end.
    pub link_ends: Vec<[String; 2]>,
    /// The shared channel of each link, and the part of the time that is for it; `None` for a link with a transmitter that it
    /// shares with no other. The downlink and the uplink of a cell are two channels.
    pub channels: Vec<Option<(usize, f64)>>,
    /// Names of the flows.
    pub flows: Vec<String>,
    /// For each flow, the nodes at which its data starts and ends.
    pub flow_ends: Vec<[String; 2]>,
    /// Payload of a full segment of each flow, bytes, of QUIC with its headers; `None` for a UDP flow.
    pub segment_bytes: Vec<Option<u32>>,
}

impl Shape {
    pub(super) fn new(
        topology: &Topology,
        media: &[Medium],
        senders: &PerFlow<Sender>,
        quic: &[QuicEndpoints],
        names: &[String],
        ends: &[[NodeId; 2]],
    ) -> Shape {
        let name = |node| topology.node_name(node).to_string();
        let mut channels = vec![None; topology.links()];
        for (number, medium) in media.iter().enumerate() {
            for (link, channel, share) in medium.links() {
                channels[link as usize] = Some((2 * number + channel, share));
            }
        }
        let tcp = senders.iter().map(|sender| Some(sender.options().packet));
        let quic = quic.iter().map(|flow| Some(flow.segment()));
        let mut segment_bytes: Vec<Option<u32>> = tcp.chain(quic).collect();
        segment_bytes.resize(names.len(), None);
        let link_ends = topology.link_ids().map(|link| topology.ends(link));
        Shape {
            links: topology.link_names(),
            link_ends: link_ends.map(|(from, to)| [name(from), name(to)]).collect(),
            channels,
            flows: names.to_vec(),
            flow_ends: ends.iter().map(|ends| ends.map(name)).collect(),
            segment_bytes,
        }
    }
}
