//! The configuration of a radio network.

use super::mac::MacConfig;
use super::mobility::Trajectory;
use super::propagation::Propagation;
use super::routing::RoutingConfig;
use units::Span;

/// A radio network.
#[derive(Clone, Debug)]
pub struct RadioConfig {
    /// The position of each node over time.
    pub nodes: Vec<Trajectory>,
    /// Propagation, the same for every node.
    pub propagation: Propagation,
    /// The MAC of every node.
    pub mac: MacConfig,
    /// Whether ARP resolves the addresses of neighbours.
    pub arp: bool,
    /// Limit of the interface queue of a node, packets.
    pub queue: usize,
    /// Time that a packet takes from the link layer to the interface queue.
    pub link_delay: Span,
    /// The routing protocol.
    pub routing: RoutingConfig,
    /// Seed of all random streams.
    pub seed: u64,
}
