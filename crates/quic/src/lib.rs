//! QUIC: one end of a connection as a state machine in virtual time, with a congestion controller of [`cc`].
//!
//! The protocol is that of quinn-proto ("the stack"). Nothing here does I/O or reads a clock: the owner of an [`Endpoint`]
//! gives it events and the time and carries its datagrams. The same code thus runs over a simulated network and over UDP
//! sockets, and the same events give the same bytes.
//!
//! # Use
//!
//! 1. [`Config`] has the settings of a connection, [`missing_signal`] says whether a controller can run on it.
//! 2. [`Endpoint::sender`] and [`Endpoint::receiver`] make the ends, with one [`units::VirtualClock`]; the sender takes a
//!    [`ControllerHandle`].
//! 3. [`Endpoint::open`], [`Endpoint::on_datagram`], [`Endpoint::on_timeout`], [`Endpoint::on_wake_timer`],
//!    [`Endpoint::write`], [`Endpoint::write_endlessly`] and [`Endpoint::stop`] are the events. After each of them [`Endpoint::transmit`] gives the
//!    datagrams that leave and the next [`Deadlines`].
//! 4. With [`Config::streams`] the sender's application has streams of its own. [`Endpoint::transmit_from`] takes the place of
//!    [`Endpoint::transmit`] and calls the application before each datagram: it writes with [`Endpoint::write_stream`] what
//!    the datagram needs and no more, so it decides late what is interleaved or dropped. The receiver tells how far each
//!    stream has come with [`Endpoint::take_progress`].
//! 5. [`ControllerHandle::lock`] gives the [`ControllerState`]: window, phase, bytes in flight, counters, and with
//!    [`ControllerState::take_change`] what changed since the last call.
//!
//! # What differs from TCP
//!
//! - A window counts segments of [`Config::packet`] bytes of UDP payload; in flight are bytes over that size.
//! - There are no duplicate ACKs: `dupacks` is zero, and each [`cc::Ack`] acknowledges something.
//! - A probe timeout reduces no window (RFC 9002 section 6.2); persistent congestion is the retransmission timeout of a
//!   controller. The window is never less than two segments.
//! - A reduction takes effect at once, and no reduction is undone.
#![forbid(unsafe_code)]

mod clock;
mod config;
mod control;
mod ecn;
mod endpoint;
mod frames;
mod numbered;
mod observer;
mod packets;
mod qlog;
mod session;
mod signals;

pub use config::{Config, ConfigError, Pacing};
pub use control::{ControllerChange, ControllerHandle, ControllerState, ControllerStats, InFlight};
pub use ecn::Ecn;
pub use endpoint::{
    ConnectionError, Deadlines, Endpoint, ReceivedDatagram, StreamEvent, StreamProgress, WriteError,
    connection_error,
};
pub use signals::{degraded_signals, missing_signal, provided_signals};
