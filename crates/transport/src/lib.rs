//! Transport: the TCP sender and receiver, loss recovery, round-trip time and delivery rate estimation, UDP sources.
//!
//! It connects congestion control with the network. Each component is a state machine: a method receives an event,
//! and the component sends packets and sets timers through [`FlowContext`].
#![forbid(unsafe_code)]

mod accurate_ecn;
mod blocks;
mod change;
mod connection;
mod context;
mod options;
mod ranges;
mod rate;
mod receiver;
mod recording;
mod recovery;
mod rtt;
mod segments;
mod sender;
mod short;
#[cfg(test)]
mod standards;
pub mod start;
#[cfg(test)]
mod testing;
mod udp;

pub use blocks::{AckOptionPool, AckOptions, Block, Blocks, MAX_BLOCKS};
pub use change::WindowCause;
pub use connection::{SenderStats, Setup, missing_signal};
pub use context::{FlowContext, FlowTimer, Trigger, WindowRow};
pub use options::{
    EcnFeedback, IdleRestart, Options, Recovery, ReduceFrom, ReductionKind, ReorderingWindow, RtoEstimator,
    StackProfile, TimerClock, UndoBy, Validation,
};
pub use ranges::SegmentRanges;
pub use rate::RateSampler;
pub use receiver::{ArrivalDetail, PacketNumbers, Receiver, ReceiverStats};
pub use recording::RecordingContext;
pub use recovery::rack::{Snapshot, State};
pub use rtt::RttEstimator;
pub use sender::{LimitTimes, SendLimit, Sender};
pub use udp::UdpSource;
