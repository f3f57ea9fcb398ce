//! Routing protocols: a trait, and one folder or file for each protocol.

mod aodv;
mod protocol;
mod static_routing;

pub use aodv::AodvConfig;
pub(crate) use protocol::{Deferred, Routing, RoutingContext, RoutingOutput};

/// The routing protocol of a radio network.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutingConfig {
    /// Every source sends directly to the destination, which must be a neighbour.
    Static,
    /// Ad-hoc on-demand distance vector routing (RFC 3561).
    Aodv(AodvConfig),
}

impl RoutingConfig {
    /// The protocol of one node.
    pub(crate) fn protocol(&self) -> Box<dyn Routing> {
        match self {
            RoutingConfig::Static => Box::new(static_routing::StaticRouting),
            RoutingConfig::Aodv(config) => Box::new(aodv::Aodv::new(config.clone())),
        }
    }
}
