//! Scenarios in real time: the network of a scenario, advanced by the wall clock, between programs and protocol stacks of
//! this machine. All input and output of the laboratory besides files is here. Linux only.
#![cfg(target_os = "linux")]

#[cfg(feature = "kernel")]
mod bridge;
mod controller;
mod emulate;
mod error;
mod ipv4;
mod kernel;
mod live;
mod namespaces;
mod network;
mod quic_flow;
mod sys;
mod tun;
mod udp;
mod validity;
mod wall;
mod window;

pub use emulate::{Emulated, Emulation, EndCounts, emulate};
pub use error::Error;
pub use kernel::{KernelControl, run_kernel};
pub use live::LiveRun;
pub use namespaces::{Command, Side};
pub use network::Recorded;
pub use quic_flow::run_udp;
pub use sys::ProgramOutput;
pub use validity::{LatenessSummary, Validity};
