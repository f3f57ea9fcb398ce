//! The network: packets, links with queues and impairments, nodes and routes.
//!
//! A link computes the departure and the arrival of a packet when it enqueues the packet, so a hop costs one event.
//! Every packet is delivered, or dropped at a link for a reason ([`DropReason`]), or still in flight when the run
//! ends; [`Network::account`] returns the counts.
#![deny(unsafe_code)]

pub mod buckets;
pub mod cellular;
pub mod counters;
mod grants;
mod ids;
pub mod impairment;
mod link;
mod links;
mod local;
mod medium;
mod network;
mod next_hop;
mod normal;
mod packet;
pub mod qdisc;
mod quick_start;
pub mod radio;
mod rates;
mod rcp;
mod rule;
mod satellites;
mod service;
mod signal;
mod sojourn;
mod tap;
mod topology;
mod transmission;
mod transmitter;
mod turn;
pub mod wifi;
mod xcp;

pub use grants::{GrantAccount, GrantOptions, Grants, REQUEST_GRANT};
pub use ids::{LinkId, NodeId};
pub use link::{LinkAccount, LinkSpec, ROUTERS, RouterConfig, RouterKind};
pub use links::{DatagramDrop, Links, NotPrepared, PayloadChanges};
pub use local::LocalQueues;
pub use medium::{Medium, MediumKind};
pub use network::{Arrival, EarlyArrivals, Network, cut};
pub use next_hop::PathSegment;
pub use normal::normal;
pub use packet::{Ecn, EcnEcho, Packet, PacketKind, RateHeader, RouterReply, XcpHeader};
pub use quick_start::{QUICK_START_LEAST, QuickStartConfig, QuickStartRouter};
pub use rates::{LOG_COLUMNS, RATES, REPEAT};
pub use rcp::{RcpConfig, RcpRouter};
pub use rule::{LossProcess, Rule, RuleEvent};
pub use satellites::{Ends, HandoffLoss, SatelliteNetwork};
pub use signal::{Blockage, Fading, Schedule, Shadowing, SignalStreams, Variation};
pub use sojourn::SojournTimes;
pub use tap::{DropReason, NoTap, PacketEvent, PacketStep, Tap};
pub use topology::{Route, RouteError, Topology};
pub use transmission::{Content, MpduResult, Transmission};
pub use transmitter::{
    DeliveryTrace, MediumDirection, RateSteps, Steps, TokenBucket, TraceCursor, Transmitter,
};
pub use xcp::{XcpConfig, XcpRouter};
