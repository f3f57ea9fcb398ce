//! What a sender shows of its state.

use super::{SendLimit, Sender};
use crate::connection::SenderStats;
use crate::options::Options;
use crate::recovery::rack::Snapshot;
use cc::{AnyController, Phase};
use units::{Span, Time};

impl Sender {
    /// Number of the flow.
    pub fn flow(&self) -> u32 {
        self.connection.flow
    }
    /// Number of the highest segment acknowledged cumulatively; -1 before the first.
    pub fn highest_ack(&self) -> i64 {
        self.connection.una as i64 - 1
    }
    /// Data segments acknowledged cumulatively, the SYN left out.
    pub fn acked_segments(&self) -> u32 {
        self.connection.una - self.connection.options.syn.min(self.connection.una > 0) as u32
    }
    /// Payload of the segments below number `seq`, which are not below the lowest outstanding one, bytes; the SYN has none.
    pub fn bytes_below(&self, seq: u32) -> u64 {
        let connection = &self.connection;
        let segments = u64::from(seq - u32::from(connection.options.syn && seq > 0));
        let missing = connection.short.as_ref().map_or(0, |short| short.missing_below(seq));
        segments * u64::from(connection.options.packet) - missing
    }
    /// Number of the segment after the last one that the application has written.
    pub fn written(&self) -> u32 {
        self.connection.limit
    }
    /// Number of the next new segment.
    pub fn next(&self) -> u32 {
        self.connection.next
    }
    /// The counts of the scoreboard; `None` unless the recovery is `rack`.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.recovery.snapshot(&self.connection)
    }
    /// The retransmission timeout, with backoff.
    pub fn rto(&self) -> Span {
        self.connection.rtt.rto()
    }
    /// How often the timeout was doubled since the last valid round-trip sample.
    pub fn backoff(&self) -> u32 {
        self.connection.rtt.backoff()
    }
    /// The recovery phase.
    pub fn phase(&self) -> Phase {
        self.recovery.phase(&self.connection)
    }
    /// The congestion controller.
    pub fn controller(&self) -> &AnyController {
        self.connection.controller.get()
    }
    /// Changes the congestion controller.
    pub fn edit_controller<R>(&mut self, change: impl FnOnce(&mut AnyController) -> R) -> R {
        self.connection.controller.edit(change)
    }
    /// The time at which the last byte was acknowledged; `None` before that.
    pub fn completed(&self) -> Option<Time> {
        self.connection.done.then_some(self.connection.completed)
    }
    /// The round-trip sample that the controller got with the last ACK.
    pub fn rtt_given(&self) -> Option<Span> {
        self.connection.sample
    }
    /// The smoothed round-trip time of the retransmission timer.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.connection.rtt.smoothed(&self.connection.options)
    }
    /// The TCP options of the flow.
    pub fn options(&self) -> &Options {
        &self.connection.options
    }
    /// The counters.
    pub fn stats(&self) -> &SenderStats {
        &self.connection.stats
    }
    /// The congestion window and the threshold in the window trace, segments.
    pub fn shown_window(&self) -> (f64, f64) {
        self.trace.shown
    }
    /// The receiver's window, segments.
    pub fn receive_window(&self) -> u32 {
        self.connection.receive_window
    }
    /// Segments in flight: with SACK the estimate of the recovery ("pipe"), otherwise the segments outstanding.
    pub fn in_flight(&self) -> u32 {
        self.recovery.in_flight(&self.connection)
    }
    /// What keeps the sender from sending more since its last event.
    pub fn limited_by(&self) -> SendLimit {
        self.limit_times.present
    }
    /// The time under each limit, seconds, in the order of [`SendLimit::NAMES`]; complete after [`Sender::finish`].
    pub fn limited_s(&self) -> [f64; SendLimit::NAMES.len()] {
        self.limit_times.seconds()
    }
}
