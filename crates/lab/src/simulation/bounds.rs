//! What bounds a TCP or QUIC flow besides its congestion window.

use transport::{Recovery, SendLimit, Sender, StackProfile, Validation};
use units::Time;

/// What bounds a TCP or QUIC flow besides its congestion window. Windows in segments.
#[derive(Clone, Debug)]
pub struct FlowBounds {
    /// Whether it is a QUIC flow, whose ACKs name packet numbers of their own.
    pub quic: bool,
    /// Name of the congestion controller.
    pub control: String,
    /// The receiver's window.
    pub receive_window: f64,
    /// The configured bound of the congestion window.
    pub max_cwnd: Option<f64>,
    /// Whether a window that is not used does not grow (RFC 7661).
    pub validated: bool,
    /// What keeps the sender from sending more now.
    pub limited_by: SendLimit,
    /// What the application waits for now, in words, if the flow has one and it has nothing to send.
    pub application: Option<String>,
    /// When all data was acknowledged.
    pub completed: Option<Time>,
}

impl FlowBounds {
    pub(super) fn of(sender: &Sender) -> FlowBounds {
        let options = sender.options();
        FlowBounds {
            quic: false,
            control: sender.controller().name().into(),
            receive_window: sender.receive_window() as f64,
            max_cwnd: (options.max_cwnd > 0.0).then_some(options.max_cwnd),
            validated: options.stack == StackProfile::Linux
                && !(options.recovery == Recovery::Rack && options.validation == Validation::None),
            limited_by: sender.limited_by(),
            application: None,
            completed: sender.completed(),
        }
    }
}
