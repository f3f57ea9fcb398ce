//! The TCP sender: the events of the application, the network and timers, and its accessors. It has two parts side by side:
//! the [`Connection`], which every sender has, and its loss recovery.

mod accessors;
mod changes;
mod limits;
#[cfg(test)]
mod tests;
mod trace;

use crate::blocks::AckOptions;
use crate::connection::{Connection, Setup};
use crate::context::{FlowContext, FlowTimer, Trigger, WindowRow};
use crate::options::{Options, Recovery};
use crate::recovery::AnyRecovery;
use cc::{AnyController, Controller, Signals};
pub use limits::{LimitTimes, SendLimit};
use net::Packet;
use std::sync::Arc;
use trace::WindowTrace;
use units::{Span, Time};

/// A TCP sender. What every event accesses comes first, in the memory that [`Sender::prefetch`] reads.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Sender {
    trace: WindowTrace,
    limit_times: LimitTimes,
    under_handoff: bool,
    pub(crate) recovery: AnyRecovery,
    pub(crate) connection: Connection,
}

impl Sender {
    /// A sender that has not started.
    pub fn new(setup: Setup, options: Arc<Options>, controller: AnyController) -> Sender {
        Sender {
            trace: WindowTrace::new(&controller),
            limit_times: LimitTimes::default(),
            under_handoff: false,
            recovery: AnyRecovery::new(&options, controller.needs()),
            connection: Connection::new(setup, options, controller),
        }
    }

    /// Prefetches the memory that an ACK accesses.
    #[inline]
    pub fn prefetch(&self) {
        engine::prefetch_item(self, std::mem::offset_of!(Sender, connection.controller) + 64);
    }

    /// Completes the integrals of window and threshold, and the times under limits, at the end of the run.
    pub fn finish(&mut self, now: Time) {
        self.trace.integrate(&mut self.connection.stats, now);
        self.limit_times.add_time(now.min(self.connection.completed));
    }

    // ---- events -----------------------------------------------------------------------------------------

    /// The application starts.
    pub fn on_start<W: FlowContext>(&mut self, context: &mut W) {
        self.trace.since = context.now();
        self.limit_times.since = context.now();
        let connection = &mut self.connection;
        connection.controller.on_open(context.now());
        if !connection.options.delay_growth {
            connection.opened = true;
        }
        self.note(context, Trigger::Start);
        self.recovery.send(&mut self.connection, context);
        self.after(context);
    }

    /// The application will write its data in portions, with [`Sender::on_write`]; there is none yet.
    pub fn write_in_portions(&mut self) {
        self.connection.limit = self.connection.options.syn as u32;
        self.connection.more_to_write = true;
    }

    /// The application writes `segments` segments. `last`: it writes no more.
    pub fn on_write<W: FlowContext>(&mut self, context: &mut W, segments: u32, last: bool) {
        self.recovery.before_write(&mut self.connection);
        self.take_written(context, segments, last);
    }

    /// The application has written `segments` segments.
    fn take_written<W: FlowContext>(&mut self, context: &mut W, segments: u32, last: bool) {
        let Sender { connection, recovery, .. } = self;
        connection.limit = connection.limit.saturating_add(segments);
        connection.more_to_write = !last;
        if connection.done {
            return;
        }
        if connection.high > 0 || !connection.options.syn {
            recovery.on_write(connection, context);
        }
        connection.complete(context);
        self.note_limit(context.now());
        self.after(context);
    }

    /// The application writes `bytes` bytes, which end with a short segment if the option says so. `last`: it writes no more.
    pub fn on_write_bytes<W: FlowContext>(&mut self, context: &mut W, bytes: u64, last: bool) {
        let segments = self.connection.options.segments(bytes);
        self.shorten(self.connection.limit.saturating_add(segments), bytes);
        self.on_write(context, segments, last);
    }

    /// The application writes `bytes` bytes, because the sender takes data. `waiting`: it has more than that.
    pub fn on_write_of_waiting<W: FlowContext>(&mut self, context: &mut W, bytes: u64, waiting: bool) {
        // The time before is that of an application without data, or of a window that was full.
        self.recovery.before_write(&mut self.connection);
        self.set_more_waiting(context.now(), waiting);
        let segments = self.connection.options.segments(bytes);
        self.shorten(self.connection.limit.saturating_add(segments), bytes);
        self.take_written(context, segments, false);
    }

    /// The segments before number `end` are the last of `bytes` bytes that the application writes, or has at the start.
    fn shorten(&mut self, end: u32, bytes: u64) {
        let connection = &mut self.connection;
        let missing = connection.options.missing(bytes);
        if missing > 0 && connection.options.short_segments && end < u32::MAX {
            let short = connection.short.get_or_insert_default();
            short.add(connection.una, end - 1, missing);
        }
    }

    /// The application has `bytes` bytes at the start, which are all that it writes.
    pub fn has_bytes(&mut self, bytes: u64) {
        self.shorten(self.connection.limit, bytes);
    }

    /// The application has more data, but does not write it before [`Sender::takes_data`].
    pub fn set_more_waiting(&mut self, now: Time, waiting: bool) {
        self.connection.more_waiting = waiting;
        self.connection.more_to_write |= waiting;
        self.note_limit(now);
    }

    /// The time under each limit up to `now`, in the order of [`SendLimit::NAMES`].
    pub fn limited_until(&self, now: Time) -> [Span; SendLimit::NAMES.len()] {
        self.limit_times.until(now.min(self.connection.completed))
    }

    /// Whether the sender has no data that it has not sent, and its windows permit another segment.
    pub fn takes_data(&self) -> bool {
        let Sender { connection, recovery, .. } = self;
        connection.next >= connection.limit
            && !connection.done
            && !connection.handshake_pending()
            && connection.outstanding() < connection.receive_window
            && recovery.in_flight(connection) < recovery.allowance(connection)
    }

    /// The receiver advertises a window of `segments` segments (recovery `rack` only).
    pub fn set_receive_window(&mut self, segments: u32) {
        let connection = &mut self.connection;
        connection.window_update = segments != connection.receive_window; // until the next ACK
        connection.receive_window = segments;
    }

    /// The application has no more data.
    pub fn on_stop<W: FlowContext>(&mut self, context: &mut W) {
        let connection = &mut self.connection;
        connection.limit = connection.limit.min(connection.high.max(connection.options.syn as u32));
        connection.more_to_write = false;
        connection.complete(context);
    }

    /// Processes an ACK, which acknowledges everything below `packet.seq`.
    pub fn on_ack<W: FlowContext>(&mut self, context: &mut W, packet: &Packet, options: &AckOptions) {
        let Sender { connection, recovery, .. } = self;
        if connection.done || packet.seq > connection.high {
            return; // the flow is complete, or the ACK is for data never sent
        }
        connection.sample = None;
        if connection.uses_router_feedback {
            if packet.ece.is_ece() {
                let in_flight = recovery.in_flight(connection);
                connection.process_echo(context, in_flight, packet);
            }
            connection.process_router_feedback(context, packet, options.reply);
        }
        let trigger = if packet.seq > connection.una { Trigger::Ack } else { Trigger::DupAck };
        if connection.reports.has(Signals::SAMPLES)
            && packet.seq == connection.una
            && connection.opened
            && connection.next > connection.una
            && connection.options.recovery != Recovery::Rack
        {
            connection.notify_sample(context.now(), packet, 0);
        }
        // With nothing outstanding it is no duplicate (RFC 5681 section 2); RACK distinguishes that itself.
        let stray = packet.seq == connection.una
            && connection.una == connection.high
            && connection.options.recovery != Recovery::Rack;
        if !stray {
            recovery.on_ack(connection, context, packet, options);
        }
        self.note(context, trigger);
        self.after(context);
    }

    /// The retransmission timer expired.
    pub fn on_retransmit_timer<W: FlowContext>(&mut self, context: &mut W) {
        let Sender { connection, recovery, .. } = self;
        if connection.una == connection.high || connection.done {
            return; // nothing outstanding
        }
        connection.sample = None;
        let timeouts = connection.stats.timeouts;
        recovery.on_timer(connection, context);
        let is_timeout = connection.stats.timeouts > timeouts;
        self.note(context, if is_timeout { Trigger::Rto } else { Trigger::LossTimer });
        self.after(context);
    }

    /// The pacing timer expired.
    pub fn on_pace_timer<W: FlowContext>(&mut self, context: &mut W) {
        if !self.connection.done {
            self.recovery.send(&mut self.connection, context);
            self.note_limit(context.now());
        }
    }

    /// The controller's timer expired.
    pub fn on_wake_timer<W: FlowContext>(&mut self, context: &mut W) {
        if self.connection.done {
            return;
        }
        self.connection.controller.on_timer(context.now());
        self.recovery.send(&mut self.connection, context);
        self.note(context, Trigger::FlowTimer);
        self.after(context);
    }

    /// A hand-off of an end of the flow begins or ends.
    pub fn on_handoff<W: FlowContext>(&mut self, context: &mut W, begins: bool) {
        self.under_handoff = begins;
        if self.connection.done {
            return;
        }
        let kind = if begins { cc::Hint::HandoffBegins } else { cc::Hint::HandoffEnds };
        self.connection.controller.on_hint(&cc::PathHint { now: context.now(), kind });
        if self.connection.high > 0 {
            self.note(context, Trigger::Handoff);
            self.after(context);
        }
    }

    // ---- bookkeeping ------------------------------------------------------------------------------------

    /// Called after an event: integrates the window over time and writes the window trace.
    #[inline(always)] // or an ACK pays a call for it
    fn note<W: FlowContext>(&mut self, context: &mut W, trigger: Trigger) {
        let controller = &self.connection.controller;
        let window = (controller.cwnd(), controller.ssthresh());
        let before = if W::WINDOWS { self.trace.shown } else { window };
        let changed = window != self.trace.shown || matches!(trigger, Trigger::Start | Trigger::Handoff);
        if changed {
            self.trace.integrate(&mut self.connection.stats, context.now());
            self.trace.shown = window;
        }
        self.note_limit(context.now());
        if !W::WINDOWS {
            return;
        }
        let phase = self.phase();
        let cause = self.trace.take_cause(&mut self.connection, phase, trigger, before);
        if changed || matches!(trigger, Trigger::Ack | Trigger::DupAck) {
            let (cwnd, ssthresh) = self.trace.shown;
            context.window(&WindowRow {
                flow: self.connection.flow,
                trigger,
                rtt: self.connection.sample,
                changed,
                cause,
                cwnd,
                ssthresh,
                highest_ack: self.highest_ack(),
                in_flight: self.in_flight(),
                phase,
                under_handoff: self.under_handoff,
                app_limited: self.connection.reports.app_limited(),
                controller: self.connection.controller.get(),
            });
        }
    }

    /// Called after an event: if another limit holds now, adds the time since the last change to the previous one.
    #[inline(always)]
    fn note_limit(&mut self, now: Time) {
        self.limit_times.set(
            SendLimit::of(&self.connection, &self.recovery, now),
            now,
            self.connection.completed,
        );
    }

    /// Called after an event: sets the controller's timer.
    #[cfg_attr(target_family = "wasm", inline(never))] // the page has a bound on its size
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    fn after<W: FlowContext>(&mut self, context: &mut W) {
        let Sender { connection, recovery, .. } = self;
        if connection.reports.has_rate() {
            recovery.note_application_limit(connection);
        }
        if connection.reports.has(Signals::TIMER) && !connection.done {
            let at = connection.controller.wake_at();
            if at != context.timer(FlowTimer::Wake) {
                context
                    .set_timer(FlowTimer::Wake, if at == Time::NEVER { at } else { at.max(context.now()) });
            }
        }
    }
}
