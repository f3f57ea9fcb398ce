//! Packet captures: what tcpdump would see at the sending hosts, at a node, or on a link, as pcapng.
//!
//! A host sees a packet that it sends when it sends it, and one that comes to it when it arrives; one that it forwards it
//! sees once, on arrival. A link shows a packet when its last bit leaves. Addresses are from 10.0.0.0/8, one for each node,
//! with names; ports tell flows apart. The file has the headers and the length of the whole packet.

mod headers;
mod pcapng;

use headers::{FlowWire, Sight, TcpWire, headers};
use net::{Kind, LinkId, NodeId, PacketEvent, PacketStep, Topology};
use transport::{BlockPool, Blocks, Options};
use units::Time;

/// Where a capture is made.
#[derive(Debug)]
enum Place {
    /// At every host that sends data: for each flow the number of its host's interface.
    Senders(Vec<u32>),
    /// At a node.
    Node(u32),
    /// On links.
    Links(Vec<LinkId>),
}

/// A capture in progress.
struct Capture {
    place: Place,
    file: Vec<u8>,
}

/// What is known of a flow at the present moment.
struct FlowSight {
    wire: FlowWire,
    /// Nodes of source and destination.
    ends: [u32; 2],
    syn: bool,
    /// When its first segment after the SYN arrived: ACKs that were sent before answer the SYN.
    first_data: Time,
    /// When the last ACK that reached the source had been sent.
    echo: Time,
}

/// All captures of a run.
pub(crate) struct Captures {
    captures: Vec<Capture>,
    flows: Vec<FlowSight>,
    /// Of each link the node at its end.
    heads: Vec<u32>,
    /// SACK blocks of ACKs on their way, by the place that the ACK names.
    sent_blocks: Vec<Blocks>,
    /// Those of ACKs that were told and are not settled yet.
    told_blocks: BlockPool,
}

impl Captures {
    /// No captures yet. `ends` are the nodes of each flow, `options` the options of the TCP flows, which come first.
    pub fn new(topology: &Topology, ends: &[[NodeId; 2]], options: &[&Options]) -> Captures {
        let flow = |(number, nodes): (usize, &[NodeId; 2])| FlowSight {
            wire: FlowWire {
                tcp: options.get(number).map(|options| TcpWire::new(options)),
                hosts: nodes.map(|node| address(node.0)),
                ports: [1024 + (number % 64_000) as u16, 5001 + (number / 64_000) as u16],
            },
            ends: nodes.map(|node| node.0),
            syn: options.get(number).is_some_and(|options| options.syn),
            first_data: Time::NEVER,
            echo: Time::ZERO,
        };
        Captures {
            captures: Vec::new(),
            flows: ends.iter().enumerate().map(flow).collect(),
            heads: (0..topology.links()).map(|link| topology.ends(LinkId(link as u32)).1.0).collect(),
            sent_blocks: Vec::new(),
            told_blocks: BlockPool::default(),
        }
    }

    /// Adds a capture at the node, or on the link (`a->b`; both directions: `a-b`), of this name; at every sending host if it
    /// is empty. Fails with the names that there are.
    pub fn add(&mut self, topology: &Topology, name: &str) -> Result<(), String> {
        let nodes = || (0..topology.nodes() as u32).map(NodeId);
        let links = || (0..topology.links() as u32).map(LinkId);
        let named = |link: &LinkId| {
            let (from, to) = topology.ends(*link);
            let (from, to) = (topology.node_name(from), topology.node_name(to));
            topology.link_name(*link) == name
                || format!("{from}-{to}") == name
                || format!("{to}-{from}") == name
        };
        let (place, interfaces) = if name.is_empty() {
            let mut hosts: Vec<u32> = Vec::new();
            let interface = |flow: &FlowSight| {
                let source = flow.ends[0];
                hosts.iter().position(|host| *host == source).unwrap_or_else(|| {
                    hosts.push(source);
                    hosts.len() - 1
                }) as u32
            };
            let by_flow = self.flows.iter().map(interface).collect();
            let names = hosts.iter().map(|host| topology.node_name(NodeId(*host)).to_string()).collect();
            (Place::Senders(by_flow), names)
        } else if let Some(node) = nodes().find(|node| topology.node_name(*node) == name) {
            (Place::Node(node.0), vec![name.to_string()])
        } else {
            let found: Vec<LinkId> = links().filter(named).collect();
            if found.is_empty() {
                let known: Vec<&str> = nodes().map(|node| topology.node_name(node)).take(20).collect();
                return Err(format!(
                    "no node or link \"{name}\" to capture at; nodes: {}; a link is \"a->b\", or \"a-b\" for both directions",
                    known.join(", ")
                ));
            }
            (Place::Links(found), vec![name.to_string()])
        };
        let mut seen: Vec<u32> = self.flows.iter().flat_map(|flow| flow.ends).collect();
        seen.sort_unstable();
        seen.dedup();
        let names: Vec<_> = seen
            .into_iter()
            .map(|node| (address(node), topology.node_name(NodeId(node)).to_string()))
            .collect();
        self.captures.push(Capture { place, file: pcapng::begin(&interfaces, &names) });
        Ok(())
    }

    /// An ACK with SACK blocks sets out; it names this place.
    pub fn sends_blocks(&mut self, place: u32, blocks: &Blocks) {
        let place = place as usize;
        if place >= self.sent_blocks.len() {
            self.sent_blocks.resize(place + 1, Blocks::NONE);
        }
        self.sent_blocks[place] = *blocks;
    }

    /// An event was told, ahead of its time perhaps: keeps the SACK blocks of its packet, whose place may be used again.
    pub fn tell(&mut self, event: &PacketEvent) -> PacketEvent {
        let mut event = *event;
        if event.packet.has_blocks() {
            let blocks = self.sent_blocks.get(event.packet.blocks as usize).copied().unwrap_or(Blocks::NONE);
            event.packet.blocks = self.told_blocks.put(&blocks);
        }
        event
    }

    /// The next event in the order of time.
    pub fn packet(&mut self, event: &PacketEvent) {
        let packet = &event.packet;
        let blocks = if packet.has_blocks() { self.told_blocks.take(packet.blocks) } else { Blocks::NONE };
        let ack = packet.kind == Kind::Ack;
        let flow = &mut self.flows[packet.flow as usize];
        let [source, destination] = if ack { [flow.ends[1], flow.ends[0]] } else { flow.ends };
        let arrived = (event.step == PacketStep::Deliver)
            .then(|| event.node.unwrap_or_else(|| self.heads[event.link.0 as usize]));
        if arrived == Some(destination) {
            match packet.kind {
                Kind::Data if packet.seq > 0 => flow.first_data = flow.first_data.min(event.at),
                Kind::Ack => flow.echo = packet.sent,
                _ => {}
            }
        }
        let refused = matches!(event.step, PacketStep::Drop(reason) if !reason.after_queue());
        let sent = event.at == packet.sent && (event.step == PacketStep::Enqueue || refused);
        let flow = &self.flows[packet.flow as usize];
        let mut encoded = None;
        for capture in &mut self.captures {
            let interface = match &capture.place {
                Place::Senders(hosts) if sent && !ack || arrived == Some(destination) && ack => {
                    hosts[packet.flow as usize]
                }
                Place::Node(node) if sent && source == *node || arrived == Some(*node) => 0,
                Place::Links(links) if event.step == PacketStep::Depart && links.contains(&event.link) => 0,
                _ => continue,
            };
            let (header, size) = encoded.get_or_insert_with(|| {
                let syn_ack = ack && flow.syn && packet.seq == 1 && packet.sent < flow.first_data;
                headers(&flow.wire, packet, &Sight { syn_ack, echo: flow.echo, blocks: blocks.as_slice() })
            });
            pcapng::packet(&mut capture.file, interface, event.at, header, *size);
        }
    }

    /// The files, in the order in which they were added.
    pub fn files(self) -> Vec<Vec<u8>> {
        self.captures.into_iter().map(|capture| capture.file).collect()
    }
}

/// 10.0.0.0/8, one address for each node.
fn address(node: u32) -> [u8; 4] {
    (0x0a00_0001 + node).to_be_bytes()
}
