//! Transport: the TCP sender and receiver, loss recovery, round-trip and rate estimation, UDP sources.
//!
//! The one place where congestion control meets the network. Everything here is a state machine: it is told
//! an event and the time, and answers through [`FlowContext`] with packets and timers.
#![forbid(unsafe_code)]

mod blocks;
mod context;
mod options;
mod rate;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod segments;
mod sender;
mod udp;

pub use blocks::{AckOptionPool, AckOptions, Block, Blocks, MAX_BLOCKS};
pub use context::{FlowContext, FlowTimer, Trigger, WindowRow};
pub use options::{Options, Recovery, StackProfile};
pub use rate::RateSampler;
pub use receiver::{Receiver, ReceiverStats};
pub use rtt::RttEstimator;
pub use scoreboard::Scoreboard;
pub use sender::{Sender, SenderStats, Setup};
pub use udp::UdpSource;
