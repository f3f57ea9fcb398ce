//! Packet captures in pcapng format: the packets that tcpdump would record at the sending hosts, at a node, or on a
//! link.
//!
//! A host records a packet that it sends at the time of sending, a packet that it receives at the arrival, and a
//! packet that it forwards once, at the arrival. A link records a packet when its last bit departs. Addresses are
//! from 10.0.0.0/8, one per node, with names; ports distinguish flows. The file has the headers and the length of the
//! whole packet. A file with datagrams of QUIC under TLS has the secrets with which Wireshark decrypts them.

mod datagrams;
mod headers;
mod pcapng;

use datagrams::CapturedDatagrams;
use headers::{FlowStack, TcpHeaderConfig, headers};
use net::{LinkId, NodeId, Packet, PacketEvent, PacketKind, PacketStep, Topology};
use std::collections::BTreeMap;
use transport::{AckOptionPool, AckOptions, Options};
use units::Time;

const RADIO_NOT_CAPTURED: &str = "and packets on the radio channel are not captured";
/// The comment of a file whose QUIC flows have no TLS.
const WITHOUT_TLS: &str = "QUIC without TLS (tls = false): the frames are not encrypted, and no keys of RFC 9001 exist. Wireshark \
                           shows addresses, ports, sizes, times, ECN and long headers, and reports the rest as not \
                           decrypted. Record with tls = true for a file that it decrypts.";
/// Nodes that a message lists.
const MOST_NAMED: usize = 20;

/// The location of a capture.
#[derive(Clone, Debug)]
enum Place {
    /// At every host that sends data: for each flow the number of its host's interface.
    Senders(Vec<u32>),
    /// At a node.
    Node(u32),
    /// On links.
    Links(Vec<LinkId>),
}

/// A capture in progress.
#[derive(Clone)]
struct Capture {
    place: Place,
    file: Vec<u8>,
    /// Bytes of the file before its packets.
    head: usize,
}

/// The current state of a flow.
#[derive(Clone)]
struct FlowState {
    stack: FlowStack,
    /// Nodes of source and destination.
    ends: [u32; 2],
    /// When the last ACK that reached the source had been sent.
    echo: Time,
    /// The last data packet that reached the destination was a SYN.
    syn: bool,
}

/// All captures of a run.
#[derive(Clone)]
pub(crate) struct Captures {
    captures: Vec<Capture>,
    flows: Vec<FlowState>,
    /// For each link, the nodes at its ends.
    links: Vec<[u32; 2]>,
    /// The last event if it was an arrival: time, flow and number of the packet.
    arrival: Option<(Time, u32, u32)>,
    /// For data packets in flight (flow, number, time of sending), the timestamp that they echo.
    echoes: BTreeMap<(u32, u32, Time), Time>,
    /// Options of ACKs in flight, by the index in the ACK.
    sent_options: Vec<AckOptions>,
    /// Options of ACKs in events that are reported and not yet processed.
    reported_options: AckOptionPool,
    datagrams: CapturedDatagrams,
    /// A QUIC flow has no TLS.
    without_tls: bool,
}

impl Captures {
    /// Creates a set without captures. `ends` are the nodes of each flow; `options` are the options of the TCP flows,
    /// which come first, with the largest receive window of each in the run (segments). `without_tls`: a QUIC flow has no TLS.
    pub fn new(
        topology: &Topology,
        ends: &[[NodeId; 2]],
        options: &[(&Options, u32)],
        without_tls: bool,
    ) -> Captures {
        let flow = |(number, nodes): (usize, &[NodeId; 2])| FlowState {
            stack: FlowStack {
                tcp: options.get(number).map(|(options, largest)| TcpHeaderConfig::new(options, *largest)),
                hosts: nodes.map(|node| address(node.0)),
                ports: [1024 + (number % 64_000) as u16, 5001 + (number / 64_000) as u16],
            },
            ends: nodes.map(|node| node.0),
            echo: Time::ZERO,
            syn: false,
        };
        Captures {
            captures: Vec::new(),
            flows: ends.iter().enumerate().map(flow).collect(),
            links: topology
                .link_ids()
                .map(|link| {
                    let (from, to) = topology.ends(link);
                    [from.0, to.0]
                })
                .collect(),
            arrival: None,
            echoes: BTreeMap::new(),
            sent_options: Vec::new(),
            reported_options: AckOptionPool::default(),
            datagrams: CapturedDatagrams::default(),
            without_tls,
        }
    }

    /// Adds a capture at the node or on the link `name`, or at every sending host if `name` is empty. A link is named
    /// as in the scenario, or `a-b` for both directions, or `a->b`. `names` are the names of the directions, `given`
    /// those in the scenario. Fails with a list of the known names.
    pub fn add(
        &mut self,
        topology: &Topology,
        names: &[String],
        link_names: &[Option<String>],
        name: &str,
    ) -> Result<(), String> {
        let wired = |node: u32| self.links.iter().any(|ends| ends.contains(&node));
        let node_name = |node: u32| topology.node_name(NodeId(node)).to_string();
        let (place, interfaces) = if name.is_empty() {
            let mut hosts: Vec<u32> = Vec::new();
            let interface = |flow: &FlowState| {
                let source = flow.ends[0];
                hosts.iter().position(|host| *host == source).unwrap_or_else(|| {
                    hosts.push(source);
                    hosts.len() - 1
                }) as u32
            };
            let by_flow = self.flows.iter().map(interface).collect();
            if !hosts.iter().any(|host| wired(*host)) {
                return Err(format!("no sending host has a link, {RADIO_NOT_CAPTURED}"));
            }
            (Place::Senders(by_flow), hosts.into_iter().map(node_name).collect())
        } else if let Some(node) = (0..topology.nodes() as u32).find(|node| node_name(*node) == name) {
            if !wired(node) {
                return Err(format!("{name} has no link, {RADIO_NOT_CAPTURED}"));
            }
            (Place::Node(node), vec![name.to_string()])
        } else {
            let both = |link: usize| {
                let [from, to] = self.links[link].map(node_name);
                let link_name = link_names.get(link / 2).and_then(|link_names| link_names.as_deref());
                link_name == Some(name) || format!("{from}-{to}") == name || format!("{to}-{from}") == name
            };
            let matching: Vec<LinkId> = (0..names.len())
                .filter(|link| names[*link] == name || both(*link))
                .map(|link| LinkId(link as u32))
                .collect();
            if matching.is_empty() {
                return Err(self.no_place(name, &node_name));
            }
            (Place::Links(matching), vec![name.to_string()])
        };
        let mut seen: Vec<u32> = self.flows.iter().flat_map(|flow| flow.ends).collect();
        seen.sort_unstable();
        seen.dedup();
        let names: Vec<_> = seen.into_iter().map(|node| (address(node), node_name(node))).collect();
        let file = pcapng::begin(&interfaces, &names, self.without_tls.then_some(WITHOUT_TLS));
        self.captures.push(Capture { place, head: file.len(), file });
        Ok(())
    }

    /// The error for an unknown name. It lists the nodes; those at the ends of flows come first.
    fn no_place(&self, name: &str, node_name: &dyn Fn(u32) -> String) -> String {
        let mut nodes: Vec<u32> = Vec::new();
        for node in self.flows.iter().flat_map(|flow| flow.ends).chain(self.links.iter().flatten().copied()) {
            if !nodes.contains(&node) && nodes.len() <= MOST_NAMED {
                nodes.push(node);
            }
        }
        let more = if nodes.len() > MOST_NAMED { ", ..." } else { "" };
        let names: Vec<String> = nodes.into_iter().take(MOST_NAMED).map(node_name).collect();
        let nodes = names.join(", ");
        format!(
            "no node or link \"{name}\" to capture at; nodes: {nodes}{more}; a link has its name, or is a->b or a-b"
        )
    }

    /// Updates the flow after a packet reached the end of its path: the values that later packets in the other
    /// direction carry.
    pub fn arrived(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        match packet.kind {
            PacketKind::Data => {
                flow.syn = packet.seq == 0 && flow.stack.tcp.as_ref().is_some_and(|tcp| tcp.syn);
            }
            PacketKind::Ack => flow.echo = packet.sent,
            PacketKind::Request => {
                if let Some(tcp) = &mut flow.stack.tcp {
                    tcp.requested(packet.seq);
                }
            }
            PacketKind::Udp | PacketKind::Datagram | PacketKind::ReverseDatagram => {}
        }
    }

    /// Called before a packet is sent: stores the values that only captures need, or sets them in the packet. It must
    /// not change a field that a host or a router uses.
    pub fn sends(&mut self, packet: &mut Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        if let Some(tcp) = &mut flow.stack.tcp {
            tcp.sends(packet);
        }
        match packet.kind {
            PacketKind::Data if flow.stack.tcp.as_ref().is_some_and(|tcp| tcp.timestamps) => {
                self.echoes.insert((packet.flow, packet.seq, packet.sent), flow.echo);
            }
            PacketKind::Ack => packet.cwr = flow.syn,
            _ => {}
        }
    }

    /// The receiver of a TCP flow advertises another window from `at` on, segments.
    pub fn change_window(&mut self, flow: u32, at: Time, segments: u32) {
        if let Some(tcp) = &mut self.flows[flow as usize].stack.tcp {
            tcp.change_window(at, segments);
        }
    }

    /// Bytes of all files so far.
    pub fn bytes(&self) -> u64 {
        self.captures.iter().map(|capture| capture.file.len() as u64).sum()
    }

    /// Stores the options of an ACK that is sent; the ACK carries index `place`.
    pub fn record_options(&mut self, place: u32, options: &AckOptions) {
        let place = place as usize;
        if place >= self.sent_options.len() {
            self.sent_options.resize(place + 1, AckOptions::NONE);
        }
        self.sent_options[place] = *options;
    }

    /// Stores the bytes of a datagram that is sent; its packet carries index `place`.
    pub fn record_datagram(&mut self, place: u32, bytes: &[u8]) {
        self.datagrams.record(place, bytes);
    }

    /// Copies the options or the bytes of the packet of a reported event, which can be in the future, because their
    /// index can be reused before that.
    pub fn preserve_payload(&mut self, event: &PacketEvent) -> PacketEvent {
        let mut event = *event;
        if event.packet.has_options() {
            let options = self.sent_options.get(event.packet.options as usize).unwrap_or(&AckOptions::NONE);
            event.packet.options = self.reported_options.put(options);
        }
        if event.packet.kind.is_datagram() {
            event.packet.options = self.datagrams.report(event.packet.options);
        }
        event
    }

    /// Processes the next event in the order of time.
    pub fn packet(&mut self, event: &PacketEvent) {
        let packet = &event.packet;
        let options =
            if packet.has_options() { self.reported_options.take(packet.options) } else { AckOptions::NONE };
        let contents = packet.kind.is_datagram().then(|| self.datagrams.take(packet.options));
        let ack = packet.kind.is_reverse();
        let flow = &self.flows[packet.flow as usize];
        let [source, destination] = if ack { [flow.ends[1], flow.ends[0]] } else { flow.ends };
        let [from, to] = self.links[event.link.0 as usize];
        let arrived = (event.step == PacketStep::Deliver).then(|| event.node.unwrap_or(to));
        let refused = matches!(event.step, PacketStep::Drop(reason) if !reason.after_queue());
        let came = event.step == PacketStep::Enqueue || refused;
        let sent = came && event.at == packet.sent;
        // A packet that is offered to a link, was not sent at this node and did not arrive over another link has
        // arrived by radio.
        let last = self.arrival.take();
        let forwarded =
            last.is_some_and(|(at, flow, seq)| (at, flow, seq) == (event.at, packet.flow, packet.seq));
        let from_radio = (came && !sent && !forwarded).then_some(from);
        self.arrival = arrived.map(|_| (event.at, packet.flow, packet.seq));
        let key = (packet.flow, packet.seq, packet.sent);
        let echo = if ack { packet.echo } else { self.echoes.get(&key).copied().unwrap_or(Time::ZERO) };
        let mut encoded = None;
        for capture in &mut self.captures {
            let interface = match &capture.place {
                Place::Senders(hosts) if sent && !ack || arrived == Some(destination) && ack => {
                    hosts[packet.flow as usize]
                }
                Place::Node(node)
                    if sent && source == *node || arrived == Some(*node) || from_radio == Some(*node) =>
                {
                    0
                }
                Place::Links(links) if event.step == PacketStep::Depart && links.contains(&event.link) => 0,
                _ => continue,
            };
            let (header, size) = encoded.get_or_insert_with(|| match &contents {
                Some(bytes) => datagram(&flow.stack, packet, bytes),
                None => headers(&flow.stack, packet, echo, &options),
            });
            pcapng::packet(&mut capture.file, interface, event.at, header, *size);
        }
        if !ack && (arrived == Some(destination) || matches!(event.step, PacketStep::Drop(_))) {
            self.echoes.remove(&key);
        }
    }

    /// The files, in the order in which they were added. `secrets`: those of the TLS sessions, in the SSLKEYLOGFILE format.
    pub fn files(self, secrets: &str) -> Vec<Vec<u8>> {
        let block = if secrets.is_empty() { Vec::new() } else { pcapng::secrets(secrets) };
        let file = |mut capture: Capture| {
            capture.file.splice(capture.head..capture.head, block.iter().copied());
            capture.file
        };
        self.captures.into_iter().map(file).collect()
    }
}

/// A datagram with its contents: an IP packet if nothing is added to it on the wire, otherwise the payload of UDP.
fn datagram(stack: &FlowStack, packet: &Packet, bytes: &[u8]) -> (Vec<u8>, u32) {
    if packet.size as usize == bytes.len() {
        return (bytes.to_vec(), packet.size);
    }
    let (mut header, size) = headers(stack, packet, Time::ZERO, &AckOptions::NONE);
    header.extend_from_slice(bytes);
    (header, size)
}

/// 10.0.0.0/8, one address for each node.
fn address(node: u32) -> [u8; 4] {
    (0x0a00_0001 + node).to_be_bytes()
}
