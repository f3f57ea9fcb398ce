//! Why a window changes otherwise than by growth.

/// The cause of a reduction of window or threshold, or of its undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowCause {
    /// Loss detected by duplicate ACKs, SACK or RACK.
    FastRetransmit,
    /// A retransmission timeout.
    Rto,
    /// An ECN echo.
    Ecn,
    /// The last reduction was spurious and is undone.
    Undo,
    /// The application wrote after an idle time longer than the retransmission timeout.
    Restart,
    /// The application has not used the window for a whole retransmission timeout.
    Validation,
    /// Recovery set the window: proportional rate reduction, deflation by a partial ACK, or the end of recovery.
    Recovery,
    /// A hand-off of an end of the flow.
    Handoff,
    /// The start with saved values came to another phase (RFC 9959).
    Resume,
    /// A loss or a mark of the jump of such a start: the window falls below what was acknowledged.
    Retreat,
    /// The controller reduced its window without one of these events.
    Controller,
}

impl WindowCause {
    /// All causes, in the order of their numbers.
    pub const ALL: [WindowCause; 11] = [
        WindowCause::FastRetransmit,
        WindowCause::Rto,
        WindowCause::Ecn,
        WindowCause::Undo,
        WindowCause::Restart,
        WindowCause::Validation,
        WindowCause::Recovery,
        WindowCause::Handoff,
        WindowCause::Resume,
        WindowCause::Retreat,
        WindowCause::Controller,
    ];
    /// Its name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            WindowCause::FastRetransmit => "fast_retransmit",
            WindowCause::Rto => "rto",
            WindowCause::Ecn => "ecn",
            WindowCause::Undo => "undo",
            WindowCause::Restart => "restart",
            WindowCause::Validation => "validation",
            WindowCause::Recovery => "recovery",
            WindowCause::Handoff => "handoff",
            WindowCause::Resume => "resume",
            WindowCause::Retreat => "retreat",
            WindowCause::Controller => "controller",
        }
    }
}

impl From<cc::Cause> for WindowCause {
    fn from(cause: cc::Cause) -> WindowCause {
        match cause {
            cc::Cause::FastRetransmit => WindowCause::FastRetransmit,
            cc::Cause::Ecn => WindowCause::Ecn,
            cc::Cause::Controller => WindowCause::Controller,
        }
    }
}
