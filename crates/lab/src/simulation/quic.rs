//! QUIC flows: two endpoints of a QUIC stack for each, whose datagrams cross the network.

use super::account::{ArrivalAccount, FlowAccount, Mean, QuicAccount, SenderAccount};
use super::apps::{Piece, SenderView};
use super::bounds::FlowBounds;
use super::endpoints::{FlowSchedule, QuicSetup};
use super::flow_outcome::{ConnectionFacts, FlowFacts, SenderFacts, recorded_delays};
use super::outcome::{ResumeOutcome, SavedOutcome};
use ::quic::{Config, ControllerHandle, Endpoint, Pacing, ReceivedDatagram, StreamProgress};
use cc::{Controller, Failure};
use std::collections::BTreeMap;
use transport::start::{CarefulResume, Observed};
use transport::{LimitTimes, ReceiverStats, SendLimit};
use units::{Span, Time, VirtualClock};

/// The endpoints of a QUIC flow: 0 is the sender, 1 the receiver.
pub(super) struct QuicEndpoints {
    pub ends: [Endpoint; 2],
    pub controller: ControllerHandle,
    pub setup: QuicSetup,
    /// Datagrams sent by sender and receiver.
    pub sent: [u32; 2],
    /// Datagrams that have reached the receiver.
    pub arrived: ReceiverStats,
    /// Time integrals of window and threshold, segment-seconds, up to `integrated`.
    pub areas: [f64; 2],
    /// Window and threshold, segments.
    pub window: [f64; 2],
    pub integrated: Time,
    /// The time under each limit.
    pub limits: LimitTimes,
    pub under_handoff: bool,
    /// The application has stopped, perhaps before all of its data was sent.
    pub stopped: bool,
    /// The failure of an external controller.
    pub failure: Option<Failure>,
    /// Of a flow with an application.
    pub application: QuicApplication,
}

/// What the streams of an application need besides the stack.
#[derive(Default)]
pub(super) struct QuicApplication {
    /// The application's number of each stream that is opened, by its number in the stack.
    pub opened: Vec<u32>,
    /// The number in the stack of each of them.
    pub numbers: BTreeMap<u32, u32>,
    /// What the stack has not taken of the last piece, because the receiver does not permit it yet.
    pub held: Option<Piece>,
    /// Empty lists, to be filled.
    pub progress: Vec<StreamProgress>,
    pub datagrams: Vec<ReceivedDatagram>,
}

impl QuicEndpoints {
    /// `seeds` are those of the stack and of the controller; the path has `hops` links.
    pub fn new(setup: QuicSetup, [seed, controller]: [u64; 2], hops: u32) -> QuicEndpoints {
        let controller = setup.options.control.make(&setup.options.flow_info(controller, hops));
        let config =
            Config { seed, qlog: setup.qlog.clone(), streams: setup.streams, ..setup.options.config.clone() };
        let (clock, handle) = (VirtualClock::new(), ControllerHandle::new(&config, controller));
        let ends = [Endpoint::sender(&config, clock, handle.clone()), Endpoint::receiver(&config, clock)];
        QuicEndpoints {
            ends: ends
                .map(|end| end.unwrap_or_else(|error| unreachable!("the options of a scenario: {error}"))),
            controller: handle,
            sent: [0; 2],
            arrived: setup.counters.clone(),
            setup,
            areas: [0.0; 2],
            window: [0.0; 2],
            integrated: Time::ZERO,
            limits: LimitTimes::default(),
            under_handoff: false,
            stopped: false,
            failure: None,
            application: QuicApplication::default(),
        }
    }

    /// What an application can see of its sender.
    pub fn sender_view(&self) -> SenderView {
        let unsent = self.ends[0].unsent_bytes();
        let state = self.controller.lock();
        SenderView {
            window: state.window_bytes() as f64,
            smoothed_rtt: state.smoothed_rtt(),
            pacing: state.controller().pacing(),
            unsent,
        }
    }

    /// Window and threshold, segments.
    pub fn shown_window(&self) -> (f64, f64) {
        (self.window[0], self.window[1])
    }

    /// Calls `use_policy` with the sender's controller, if that is a policy.
    pub fn with_policy<T>(&mut self, use_policy: impl FnOnce(&mut policy::Policy) -> T) -> Option<T> {
        self.ends[0]
            .controller()
            .and_then(|handle| handle.lock().controller_mut().downcast_mut().map(use_policy))
    }

    /// Gives the controller, whose needs have changed to `needs`, its signals; before the flow starts. Fails with what is
    /// missing.
    pub fn serve(&self, needs: cc::Signals) -> Result<(), &'static str> {
        let config = &self.setup.options.config;
        if let Some(lacks) = ::quic::missing_signal(needs, config) {
            return Err(lacks);
        }
        self.controller.lock().renew_needs(config.pacing);
        Ok(())
    }

    /// Adds to the integrals up to `now`.
    pub fn integrate(&mut self, now: Time) {
        let span = now.since(self.integrated).seconds();
        for (area, value) in self.areas.iter_mut().zip(self.window) {
            *area += value * span;
        }
        self.integrated = now;
    }

    /// The qlogs of sender and receiver, if they are recorded; once.
    pub fn take_qlogs(&mut self) -> Option<[String; 2]> {
        let [sender, receiver] = &mut self.ends;
        Some([sender.take_qlog()?, receiver.take_qlog()?])
    }

    /// Whether its packets are encrypted by TLS.
    pub fn has_tls(&self) -> bool {
        self.setup.options.config.tls
    }

    /// The secrets of its TLS session, in the SSLKEYLOGFILE format; empty without TLS.
    pub fn tls_secrets(&self) -> String {
        self.ends[0].tls_secrets()
    }

    /// What keeps the sender from sending more. `holds_data`: its application has more than the stack has taken.
    pub fn limited_by(&self, holds_data: bool) -> SendLimit {
        let state = self.controller.lock();
        let blocked =
            state.in_flight().bytes + self.setup.options.config.packet as u64 > state.window_bytes();
        match state.highest_acked() {
            -1 => SendLimit::Handshake,
            _ if blocked => SendLimit::CongestionWindow,
            _ if state.pacing() != Pacing::None && (holds_data || !self.setup.written) => SendLimit::Pacing,
            _ => SendLimit::Application,
        }
    }

    /// Called after an event at the sender: another limit may hold.
    pub fn note_limit(&mut self, now: Time, holds_data: bool) {
        let completed = self.ends[0].completed().unwrap_or(Time::NEVER);
        self.limits.set(self.limited_by(holds_data), now, completed);
    }

    /// What bounds the flow besides its congestion window.
    pub fn bounds(&self) -> FlowBounds {
        let (options, state) = (&self.setup.options, self.controller.lock());
        let limited_by = self.limits.present;
        FlowBounds {
            quic: true,
            control: state.controller().name().into(),
            receive_window: options.config.receive_window as f64 / options.config.packet as f64,
            max_cwnd: (options.common.max_cwnd > 0.0).then_some(options.common.max_cwnd),
            validated: true,
            limited_by,
            application: None,
            completed: self.ends[0].completed(),
        }
    }

    /// What the flow has counted in the first `span` of the run.
    pub fn account(&mut self, schedule: &FlowSchedule, span: Span) -> FlowAccount {
        if schedule.started {
            self.integrate(Time::ZERO + span);
            let completed = self.ends[0].completed().unwrap_or(Time::NEVER);
            self.limits.add_time((Time::ZERO + span).min(completed));
        }
        let (stats, seconds) = (*self.controller.lock().stats(), span.seconds());
        FlowAccount {
            delivered_bytes: self.delivered_bytes(),
            sent: self.sent[0] as u64,
            active_s: schedule.active_s(span, self.ends[0].completed()),
            arrivals: ArrivalAccount::of(&self.arrived),
            sender: Some(SenderAccount {
                acked: stats.acked_packets,
                retransmitted: stats.lost_packets,
                timeouts: stats.probe_timeouts,
                window_cuts: stats.cwnd_reductions,
                rtt: Mean::of_samples(stats.rtt_sum, stats.rtt_count),
                cwnd: Mean::new(self.areas[0] / seconds, seconds),
                ssthresh: Mean::new(self.areas[1] / seconds, seconds),
                limited_s: self.limits.seconds(),
            }),
            ports: None,
            quic: Some(QuicAccount {
                persistent_congestion: stats.persistent_congestion,
                ce_marks: stats.ce_marks,
            }),
        }
    }

    /// What the outcome of the flow says besides its account.
    pub fn facts(&self, schedule: &FlowSchedule) -> FlowFacts {
        let transfer = schedule.writes.is_some() || self.setup.bytes.is_some();
        let state = self.controller.lock();
        let stats = state.stats();
        FlowFacts {
            kind: "quic",
            delays: recorded_delays(&self.arrived),
            sender: Some(SenderFacts {
                control: state.controller().name().into(),
                recovery: None,
                started: schedule.started,
                cwnd: state.controller().cwnd(),
                ssthresh: state.controller().ssthresh(),
                min_rtt: (stats.rtt_count > 0).then_some(stats.rtt_min),
                completion: self.ends[0].completed().filter(|_| transfer).map(|at| at.since(schedule.start)),
            }),
            connection: Some(ConnectionFacts {
                error: self.connection_error(),
                lost: self.connection_lost(),
            }),
            resume: state.start_outcome().map(|start| ResumeOutcome::new(start, self.segment())),
            observed: state.observed().map(|observed| SavedOutcome::new(observed.path, self.segment())),
        }
    }

    /// The flow starts with saved values or a jump.
    pub fn begin_start(&mut self, start: CarefulResume) {
        self.controller.lock().begin_start(start);
    }

    /// A later flow may use what this one observes of its path.
    pub fn observe_path(&mut self) {
        self.controller.lock().observe_path();
    }

    /// What a later flow may use of the path, if this one is complete.
    pub fn saved_path(&self) -> Option<Observed> {
        self.ends[0].completed().and_then(|_| self.controller.lock().observed())
    }

    /// Bytes in which windows are counted: a full datagram.
    pub fn segment(&self) -> u32 {
        self.setup.options.segment()
    }

    /// Payload that the receiver has read, bytes.
    pub fn delivered_bytes(&self) -> u64 {
        self.ends[1].delivered_bytes()
    }

    /// The first failure of its controller.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// How the connection was lost, in words.
    pub fn connection_error(&self) -> Option<String> {
        let [sender, receiver] = &self.ends;
        ::quic::connection_error(sender, receiver)
    }

    /// When the end that knew first lost the connection.
    pub fn connection_lost(&self) -> Option<Time> {
        self.ends.iter().filter_map(|end| end.connection_error()).map(|error| error.at).min()
    }

    /// What a finished transfer or a lost connection must not show, if anything.
    pub fn check(&self) -> Result<(), String> {
        if let Some(error) = self.connection_error() {
            return Err(format!("flow {} has lost its connection: {error}", self.setup.flow));
        }
        let (delivered, written) = (self.delivered_bytes(), self.setup.bytes);
        let all = self.ends[0].completed().is_some() && !self.stopped;
        match written {
            Some(bytes) if delivered > bytes || all && delivered < bytes => {
                Err(format!("flow {} has delivered {delivered} of {bytes} bytes", self.setup.flow))
            }
            _ => Ok(()),
        }
    }
}
